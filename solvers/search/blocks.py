"""Lower bounds for graphs too large to search: relaxed games on disjoint blocks, searched, add up.

Every I/O acts on one vertex, so a schedule's I/O is the sum, over disjoint blocks of vertices, of the I/O of
its moves there. docs/bounds.md (block projection) has the rules that these moves obey, docs/exact.md says
how the searches play by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pebble.result import Limit
from solvers.search.budget import Budget
from solvers.search.hong_kung import HongKungSearch
from solvers.search.one_shot import OneShotSearch
from solvers.search.problem import Problem
from solvers.search.segments import segments_of

__all__ = ["Block", "block_of", "partitions", "prove_block", "sum_over_blocks"]

# Vertices per block that are tried.
_SIZES = (12, 16, 24, 32, 44)
# States per block of 24 vertices, and partitions that remain, in each round of their comparison.
_LEAST_STATES = 500
_ROUNDS = ((5_000, 6), (40_000, 3), (400_000, 1))
# While passes over a block take fewer states than this the threshold rises in growing strides.
_TRIVIAL_PASS = 500
# Sets up to which the bound by segments is worked out for a block.
_SEGMENT_SETS = 6_000
_SEGMENT_SECONDS = 0.3


@dataclass(frozen=True, eq=False)
class Block:
    """The relaxed game on some vertices.

    Attributes
    ----------
    problem : Problem or None
        What is to be searched: the block's vertices that have neighbours in it, its ends as outputs. None
        if there are none.
    constant : int
        What the block's I/O is above the problem's: compulsory I/O of the vertices left out, less the stores
        of ends that are no outputs.
    """

    problem: Problem | None
    constant: int


def block_of(whole: Problem, members: Sequence[int]) -> Block:
    """The relaxed game on `members`; O(|V| + |E|).

    Predecessors outside need room, and no I/O. A vertex that has successors, all of them outside, must be
    red at least once: it becomes an output whose store costs nothing.
    """
    inside = np.zeros(whole.n, np.bool_)
    inside[np.asarray(members, np.int64)] = True
    tail, head = whole.edges[:, 0], whole.edges[:, 1]
    own = whole.edges[inside[tail] & inside[head]]
    entering = inside[head] & ~inside[tail]
    outside = np.zeros(whole.n, np.int64)
    np.add.at(outside, head[entering], whole.weights[tail[entering]])
    joined = np.zeros(whole.n, np.bool_)
    joined[own.ravel()] = True
    alone = inside & ~joined
    constant = int(whole.weights[alone & (whole.is_source | whole.is_output)].sum())
    kept = np.flatnonzero(joined)
    if not len(kept):
        return Block(None, constant)
    is_end = joined.copy()
    is_end[own[:, 0]] = False
    unpaid = is_end & ~whole.is_output
    new = np.full(whole.n, -1, np.int64)
    new[kept] = np.arange(len(kept))
    problem = Problem(
        instance=whole.instance,
        original=whole.original[kept],
        edges=new[own],
        weights=whole.weights[kept],
        is_source=whole.is_source[kept],
        is_output=(whole.is_output | unpaid)[kept],
        outside=outside[kept],
    )
    return Block(problem, constant - int(whole.weights[unpaid].sum()))


def prove_block(block: Block, budget: Budget) -> tuple[int, bool]:
    """A lower bound on the block's I/O in words, and whether it is the relaxed game's optimum.

    Passes with higher and higher thresholds, as in a search of the whole graph.
    """
    problem = block.problem
    if problem is None:
        return block.constant, True
    lower = problem.compulsory
    if budget.exhausted():
        return block.constant + lower, False
    recomputation = problem.instance.rules.recomputation
    search = HongKungSearch(problem) if recomputation else OneShotSearch(problem)
    search.segments = segments_of(problem, seconds=_SEGMENT_SECONDS, most_sets=_SEGMENT_SETS)
    stride = 0
    while not budget.exhausted():
        outcome = search.run(lower + stride, budget)
        if not outcome.complete:
            if not stride or budget.exhausted():
                break
            stride = 0
            continue
        if outcome.cost is not None:
            return block.constant + outcome.cost, True
        lower += stride + 1
        stride = 2 * stride + 1 if outcome.states < _TRIVIAL_PASS else 0
    return block.constant + lower, False


def partitions(whole: Problem) -> Iterator[list[list[int]]]:
    """Ways to cut the vertices into blocks: bands of levels, parts of orders, growth from seeds."""
    yield from _bands(whole)
    orders = [list(range(whole.n)), _depth_first(whole)]
    for size in _SIZES:
        if 2 * size > whole.n + size // 2:
            return
        for order in orders:
            yield [order[i : i + size] for i in range(0, whole.n, size)]
        for backward in (False, True):
            yield _grown(whole, size, backward=backward)


def sum_over_blocks(whole: Problem, budget: Budget) -> tuple[int, int]:
    """The best lower bound that some partition into blocks gives, and the size of its largest block.

    Parameters
    ----------
    whole : Problem
    budget : Budget
        How long to search; its states are counted.

    Returns
    -------
    tuple of int
        I/Os, in words, of every schedule.
    """
    known: dict[bytes, tuple[int, bool]] = {}
    going: list[tuple[int, list[list[int]]]] = [(0, partition) for partition in partitions(whole)]
    best: tuple[int, int] = (whole.compulsory, 0)
    for (states, stay), share in zip(_ROUNDS, (0.3, 0.5, 1.0), strict=True):
        # What few states said of a partition is not the last word: the better ones get more.
        budget.share(share)
        standing: list[tuple[int, list[list[int]]]] = []
        for i, (value, partition) in enumerate(going):
            if budget.exhausted():
                standing += going[i:]
                break
            value = max(value, _total(whole, partition, budget, states, known))
            standing.append((value, partition))
            best = max(best, (value, max(map(len, partition))))
        budget.share(None)
        going = sorted(standing, key=lambda at: -at[0])[:stay]
        known = {key: found for key, found in known.items() if found[1]}
        if budget.hit != "time" or budget.remaining <= 0:
            if budget.exhausted():
                break
        else:
            budget.hit = None
    return best


def _total(
    whole: Problem,
    partition: list[list[int]],
    budget: Budget,
    states: int,
    known: dict[bytes, tuple[int, bool]],
) -> int:
    """The sum over the blocks; equal ones are searched once."""
    total = 0
    for i, members in enumerate(partition):
        block = block_of(whole, members)
        key = _key(block)
        if key not in known:
            seconds = budget.until_share_ends / (len(partition) - i)
            nodes = max(_LEAST_STATES, states * len(members) // _SIZES[2])
            if budget.nodes is not None:
                nodes = max(1, min(nodes, budget.nodes - budget.spent))
            part = Budget(Limit(None if seconds == float("inf") else seconds, nodes, budget.memory / 1e6))
            known[key] = prove_block(block, part)
            budget.spend(part.spent)
        total += known[key][0]
    return total


def _key(block: Block) -> bytes:
    """Equal for blocks that are equal but for the names of their vertices."""
    p = block.problem
    if p is None:
        return str(block.constant).encode()
    arrays = (np.array([block.constant, p.n]), p.edges, p.weights, p.is_source, p.is_output, p.rooms)
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def _depth_first(whole: Problem) -> list[int]:
    """The vertices, operands before the vertex that first needs them, from the outputs down."""
    order: list[int] = []
    seen = np.zeros(whole.n, np.bool_)
    rows = _neighbours(whole)[0]
    for sink in np.flatnonzero(whole.is_output).tolist():
        stack = [(sink, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif not seen[v]:
                seen[v] = True
                stack.append((v, True))
                stack += [(u, False) for u in reversed(rows[v]) if not seen[u]]
    return order + np.flatnonzero(~seen).tolist()


def _grown(whole: Problem, size: int, *, backward: bool) -> list[list[int]]:
    """Blocks that grow by the vertex with the largest part of its neighbours inside."""
    below, above = _neighbours(whole)
    near: NDArray[np.float64] = np.zeros(whole.n)
    degree = np.array([len(a) + len(b) for a, b in zip(below, above, strict=True)], np.float64)
    free = np.ones(whole.n, np.bool_)
    blocks: list[list[int]] = []
    while free.any():
        block: list[int] = []
        near[:] = 0
        while len(block) < size and free.any():
            candidates = np.flatnonzero(free & (near > 0))
            if not len(candidates):
                candidates = np.flatnonzero(free)
                if block and len(block) >= size // 2:
                    break
            if backward:
                candidates = candidates[::-1]
            v = int(candidates[np.argmax(near[candidates] / degree[candidates])])
            block.append(v)
            free[v] = False
            near[below[v] + above[v]] += 1
        blocks.append(block)
    return blocks


def _bands(whole: Problem) -> Iterator[list[list[int]]]:
    """Blocks that are the connected parts of bands of levels: an FFT falls into smaller ones."""
    below, above = _neighbours(whole)
    level = np.zeros(whole.n, np.int64)
    for v in range(whole.n):
        level[v] = max((level[u] + 1 for u in below[v]), default=0)
    depth = int(level.max(initial=0)) + 1
    for height in range(depth - 1, 1, -1):
        for shift in {0, depth % height}:
            band = (level - shift) // height
            blocks: list[list[int]] = []
            seen = np.zeros(whole.n, np.bool_)
            for root in range(whole.n):
                if seen[root]:
                    continue
                seen[root] = True
                part = [root]
                for v in part:
                    for u in below[v] + above[v]:
                        if not seen[u] and band[u] == band[v]:
                            seen[u] = True
                            part.append(u)
                blocks.append(sorted(part))
            if len(blocks) > 1 and max(map(len, blocks)) <= _SIZES[-1]:
                yield blocks


def _neighbours(whole: Problem) -> tuple[list[list[int]], list[list[int]]]:
    below: list[list[int]] = [[] for _ in range(whole.n)]
    above: list[list[int]] = [[] for _ in range(whole.n)]
    for u, v in whole.edges.tolist():
        below[v].append(u)
        above[u].append(v)
    return below, above
