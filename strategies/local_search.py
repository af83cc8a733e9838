"""Local search over an order: annealing with block moves, each priced by playing only what it changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Limit
from strategies.replaying import Plan, plan_io, prepare
from strategies.variant_replaying import VariantPlan
from strategies.variant_search import OnBetter, anneal

if TYPE_CHECKING:
    from strategies.local_search_play_kernels import Board

__all__ = ["search_order"]

# Temperatures in words of I/O; most moves change it by one to three.
_HOTTEST, _COLDEST = 0.35, 0.05
# Blocks are moved no further than this many positions.
_WIDEST = 4096
# The temperature falls in so many steps, and the order is replayed in full after each.
_ROUNDS = 40
_MOST_STEPS = 2**29
_FIRST_CHUNK = 256
# Ctrl-C is heard between two chunks, so none takes longer than this many seconds.
_PATIENCE = 0.5


def search_order(
    instance: Instance,
    order: ArrayLike,
    *,
    limit: Limit | None = None,
    seed: int = 0,
    on_better: OnBetter | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """A cheaper order of the same computes, or `order` itself.

    Parameters
    ----------
    instance : Instance
    order : array_like of int
        Non-source vertices, each after its operands; repeats mean recomputation and stay.
    limit : Limit, optional
        `time` in seconds, `nodes` in moves tried, 20,000 if neither is given. With `nodes` alone the result
        depends on the seed only.
    seed : int
    on_better : callable, optional
        Called with better orders as they are found; an error that it raises ends the search.

    Returns
    -------
    order : ndarray of int
    stats : dict
        ``moves`` tried, ``played`` positions, ``io`` at the start and at the end by a full replay.

    Raises
    ------
    InfeasibleInstanceError, InvalidOrderError, UnsupportedInstanceError

    Notes
    -----
    Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983). A move pulls a segment up to an earlier place
    together with what it needs, or pushes one down with what needs it, so that every order stays
    topological. A move costs the positions between the two places and some more around them, not |V|; under
    rules that are not plain it costs a replay of the whole order (`strategies.variant_search`).

    Examples
    --------
    >>> import graphs
    >>> instance = Instance(graphs.build("grid:8x8"), M=4)
    >>> order, stats = search_order(instance, range(1, 64), limit=Limit(nodes=3000))
    >>> stats["io"][1] < stats["io"][0]
    True
    """
    instance.require_feasible()
    plan = prepare(instance, order)
    steps = plan.steps[plan.first_step :]
    start = plan_io(plan, instance.M)
    stats: dict[str, Any] = {"moves": 0, "played": 0, "io": (start, start)}
    if len(steps) < 3:
        return steps, stats
    board = _board(instance, plan, seed)
    if isinstance(plan, VariantPlan):
        return anneal(instance, plan, board, limit or Limit(), seed, on_better)
    return _anneal(instance, board, steps, start, limit or Limit(), stats, on_better)


def _anneal(
    instance: Instance,
    board: Board,
    steps: NDArray[Any],
    start: int,
    limit: Limit,
    stats: dict[str, Any],
    on_better: OnBetter | None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    from strategies.local_search_kernels import search
    from strategies.local_search_play_kernels import play_all

    nodes = limit.nodes
    if nodes is None and limit.time is None:
        nodes = 20_000
    best_order, best_io = steps, start

    def keep(seq: NDArray[Any]) -> None:
        nonlocal best_order, best_io
        order = board.vertex[seq]
        exact = plan_io(prepare(instance.cdag, order, instance.rules), instance.M)
        if exact < best_io:
            best_order, best_io = order, exact
            if on_better is not None:
                on_better(order)

    plain = play_all(board, False)
    given = board.seq.copy()
    board.seq[:] = _by_group(board)
    io = play_all(board, True)
    grouped = len(np.unique(board.group)) < 0.8 * len(steps)
    if grouped:
        keep(board.seq)
    # Groups are moved about first if that start is not far behind.
    groups = grouped and io <= 1.1 * plain
    if not groups:
        board.seq[:] = given
        io = play_all(board, False)
    found = board.seq.copy()
    standing = np.array([io, io, 0])
    # Compiled, or fetched from the cache, before the clock starts.
    search(board, 0, 0.0, 1, groups, found, standing)
    began = time.monotonic()
    tried, fraction, chunk, rounds = 0, 0.0, _FIRST_CHUNK, 0
    while fraction < 1.0:
        if nodes is not None:
            chunk = min(max(1, nodes // _ROUNDS), nodes - tried) if limit.time is None else chunk
            chunk = min(chunk, nodes - tried)
        heat = 2 * fraction % 1 if groups or grouped else fraction
        temperature = _HOTTEST * (_COLDEST / _HOTTEST) ** heat if heat < 0.95 else 0.0
        before = time.monotonic()
        stats["played"] += int(
            search(board, chunk, temperature, min(_WIDEST, len(steps)), groups, found, standing)
        )
        tried += chunk
        now = time.monotonic()
        fraction = 0.0 if nodes is None else tried / nodes
        if limit.time is not None:
            fraction = max(fraction, (now - began) / max(limit.time, 1e-9))
            # A chunk is a fortieth of the time at most, so that the limit is met.
            pace = chunk / max(now - before, 1e-6)
            seconds = min(limit.time / _ROUNDS, _PATIENCE)
            chunk = int(min(max(_FIRST_CHUNK, pace * seconds), 4 * chunk))
        if fraction * _ROUNDS >= rounds + 1 or fraction >= 1.0:
            rounds = int(fraction * _ROUNDS)
            keep(found)
        if groups and fraction >= 0.5:
            # From here on single steps move.
            groups = False
            board.seq[:] = found
            io = play_all(board, False)
            standing[:] = io, io, 0
    stats |= {"moves": tried, "io": (start, best_io)}
    return best_order, stats


def _by_group(board: Board) -> NDArray[Any]:
    """The sequence with every group in one piece, where its last step was."""
    last = np.zeros(len(board.seq), dtype=np.int64)
    np.maximum.at(last, board.group, board.pos)
    return np.lexsort((board.pos, last[board.group])).astype(board.seq.dtype)


def _groups(
    instance: Instance, vertex: NDArray[Any], users: NDArray[Any], used: NDArray[Any]
) -> NDArray[Any]:
    """The group of each step, named by its last step: a leaf belongs to the one step that uses it.

    A leaf is a value used once, and no output, whose own operands are sources or used more often.
    """
    g = instance.cdag
    uses = np.bincount(used[: len(used) - len(vertex)], minlength=g.num_vertices)
    repeated = np.bincount(vertex, minlength=g.num_vertices) > 1
    once = (uses == 1) & ~g.is_output & ~g.is_source & ~repeated
    needs_once = np.zeros(len(vertex), dtype=np.bool_)
    slots = slice(0, len(used) - len(vertex))
    needs_once[users[slots][once[used[slots]]]] = True
    user_of = np.full(g.num_vertices, -1)
    user_of[used[slots]] = users[slots]
    group = np.arange(len(vertex), dtype=np.int32)
    leaf = once[vertex] & ~needs_once
    group[leaf] = user_of[vertex[leaf]]
    return group


def _board(instance: Instance, plan: Plan | VariantPlan, seed: int) -> Board:
    from strategies.local_search_play_kernels import Board

    g = instance.cdag
    n, M = g.num_vertices, instance.M
    vertex = plan.steps[plan.first_step :].astype(np.int32)
    total = len(vertex)
    if max(total, n) > _MOST_STEPS:
        raise UnsupportedInstanceError(f"local search takes up to {_MOST_STEPS} computes, got {total}")
    # Events: the operands of every step, then what it computes.
    degree = g.in_degree[vertex].astype(np.int64)
    users = np.concatenate((np.repeat(np.arange(total), degree), np.arange(total)))
    used = np.concatenate((plan.operands[plan.first_use :], vertex))
    if len(used) != len(users):
        rows = np.repeat(g.indptr[vertex].astype(np.int64) - np.cumsum(degree) + degree, degree)
        used = np.concatenate((g.indices[rows + np.arange(int(degree.sum()))], vertex))
    by_vertex = np.argsort(used, kind="stable")
    slots = min(M, n)
    stride = max(8, M // 4)
    lines = total // stride + 1
    rng = np.random.PCG64(seed)
    hashes = np.asarray(rng.random_raw(n), dtype=np.uint64) | np.uint64(1)
    return Board(
        indptr=g.indptr,
        indices=g.indices,
        words=np.ones(n, dtype=np.int64) if g.weights is None else g.weights.copy(),
        is_output=g.is_output.copy(),
        vertex=vertex,
        group=_groups(instance, vertex, users, used),
        event_ptr=np.concatenate(([0], np.cumsum(np.bincount(used, minlength=n)))).astype(np.int64),
        event_step=users[by_vertex].astype(np.int32),
        seq=np.arange(total, dtype=np.int32),
        pos=np.arange(total, dtype=np.int32),
        cost=np.zeros(total, dtype=np.int64),
        before=np.zeros(total, dtype=np.uint64),
        full_vertex=np.zeros((lines, slots), dtype=np.int32),
        full_dirty=np.zeros((lines, slots), dtype=np.bool_),
        full_size=np.zeros(lines, dtype=np.int32),
        slot_vertex=np.zeros(slots, dtype=np.int32),
        slot_next=np.zeros(slots, dtype=np.int32),
        slot_dirty=np.zeros(slots, dtype=np.bool_),
        where=np.full(n, -1, dtype=np.int32),
        mark=np.zeros(n, dtype=np.int64),
        hashes=hashes,
        old=np.zeros(total, dtype=np.int32),
        moved=np.zeros(total, dtype=np.int32),
        kept=np.zeros(total, dtype=np.int32),
        key=np.zeros(total, dtype=np.int64),
        now=np.array([0, 0, int(rng.random_raw() >> 2) | 1, stride, M], dtype=np.int64),
    )
