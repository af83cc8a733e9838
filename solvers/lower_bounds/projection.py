"""Block projection: the exact optima of relaxed games on disjoint blocks of vertices add up."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["PROJECTION", "block_optimum", "blocks_in_order", "projected_io"]

# Vertices per block: a block's game has at most 5^b states.
_BLOCK = 7
_LARGEST_BLOCK = 9


def block_optimum(instance: Instance, block: Sequence[int] | NDArray[np.int64]) -> int:
    """Least I/O, in words, of an instance's game as seen by some of its vertices.

    The relaxed game on a block: only the graph's own sources start blue. Computing a vertex takes its
    predecessors within the block red, and room for all: red words of the block, plus the words of the
    predecessors outside, plus its own, at most M. The graph's outputs within the block end blue, and every
    other vertex with a successor is red at least once. Without recomputation each is computed at most once.

    Raises
    ------
    ValueError
        More than 9 vertices, or a repeated one.

    Examples
    --------
    >>> g = CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    >>> block_optimum(Instance(g, M=2), [0, 1]), block_optimum(Instance(g, M=2), [2, 3])
    (1, 1)
    """
    from solvers.lower_bounds import projection_kernels as kernels

    cdag = instance.cdag
    members = [int(v) for v in block]
    if len(members) > _LARGEST_BLOCK or len(set(members)) < len(members):
        raise ValueError(f"a block has at most {_LARGEST_BLOCK} vertices, each once; got {members}")
    place = {v: i for i, v in enumerate(members)}
    preds = np.zeros(len(members), dtype=np.int64)
    outside = np.zeros(len(members), dtype=np.int64)
    blue_goal = red_goal = 0
    sptr, _ = cdag.successors
    for v, i in place.items():
        for u in cdag.preds(v).tolist():
            if u in place:
                preds[i] |= 1 << place[u]
            else:
                outside[i] += cdag.weight(u)
        if cdag.is_output[v] and not cdag.is_source[v]:
            blue_goal |= 1 << i
        elif sptr[v + 1] > sptr[v]:
            red_goal |= 1 << i
    value = kernels.least_block_io(
        preds,
        outside,
        np.array([cdag.weight(v) for v in members], dtype=np.int64),
        cdag.is_source[members],
        blue_goal,
        red_goal,
        instance.M,
        not instance.rules.recomputation,
    )
    return max(int(value), 0)


def blocks_in_order(cdag: CDAG, size: int, *, deep: bool) -> list[list[int]]:
    """The vertices cut into blocks of `size`, along a topological order or along a depth-first one.

    The depth-first order visits the operands of a vertex before it, from the outputs down.
    """
    if not deep:
        order = cdag.topological_order.tolist()
    else:
        order = []
        seen = np.zeros(cdag.num_vertices, dtype=np.bool_)
        for sink in cdag.outputs.tolist():
            stack = [(sink, False)]
            while stack:
                v, done = stack.pop()
                if done:
                    order.append(v)
                elif not seen[v]:
                    seen[v] = True
                    stack.append((v, True))
                    stack += [(u, False) for u in reversed(cdag.preds(v).tolist()) if not seen[u]]
    return [order[i : i + size] for i in range(0, len(order), size)]


def projected_io(instance: Instance, blocks: Sequence[Sequence[int]], limit: Limit | None = None) -> int:
    """Sum of `block_optimum` over disjoint blocks: a lower bound on the I/O of any schedule, in words.

    Blocks that a time limit leaves unsolved count nothing.
    """
    end = None if limit is None or limit.time is None else time.monotonic() + limit.time
    total = 0
    for block in blocks:
        if end is not None and time.monotonic() > end:
            break
        total += block_optimum(instance, block)
    return total


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    instance = subject.graph
    assert instance is not None
    found = []
    share = Limit(time=None if limit.time is None else limit.time / 2)
    for deep in (True, False):
        blocks = blocks_in_order(instance.cdag, _BLOCK, deep=deep)
        found.append((projected_io(instance, blocks, share), deep, len(blocks)))
    value, deep, count = max(found)
    rules = instance.rules.name
    return Bound(
        value,
        "block-projection",
        f"any graph, {rules}; {BLUE_SOURCES}",
        "every I/O acts on one vertex, so the projections of a schedule to disjoint blocks add up; "
        "docs/bounds.md",
        details={"blocks": count, "vertices_per_block": _BLOCK, "order": "depth-first" if deep else "given"},
    )


PROJECTION = LowerBound("block-projection", _compute, needs_graph=True, up_to=120)
