"""Players for several levels of memory: Belady level by level, and tile programs inside tile programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.hierarchy import Hierarchy, HierarchySchedule, verify_hierarchy
from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.playing import parse_strategy, play
from strategies.replaying import replay

__all__ = ["add_levels", "play_hierarchy"]


def play_hierarchy(
    spec: str, cdag: CDAG, hierarchy: Hierarchy, *, limit: Limit | None = None, seed: int = 0
) -> HierarchySchedule:
    """Play a graph on several levels of memory.

    Parameters
    ----------
    spec : str
        A strategy, which plays level 1; each further level keeps what it is asked for by Belady's rule. Or
        ``outer/inner``: the outer strategy plays the largest level, all of it, three quarters or half, and
        what it computes between its loads, one such run or several together, is done in the order in which
        the inner strategy, of level 1, does it. How many runs go together is tried in powers of two, up to
        the inner strategy alone; the schedule of least total cost is kept.
    cdag : CDAG
    hierarchy : Hierarchy
    limit : Limit, optional
        Passed on to the strategies.
    seed : int

    Returns
    -------
    HierarchySchedule
        For ``outer/inner``, `info` has the outer strategy's words and the number of runs together.

    Raises
    ------
    InfeasibleInstanceError
        Level 1 is below the graph's least M.
    UnsupportedInstanceError
        A strategy does not play this graph with that many words.

    Notes
    -----
    Belady (1966) is optimal for the reads of one level; that levels are filled one after the other is a
    heuristic. The strategies' time, then O(k T log T) for T moves and k levels; for ``outer/inner`` times the
    logarithm of the number of runs.

    Examples
    --------
    >>> from graphs.linear_algebra import matmul
    >>> s = play_hierarchy("belady", matmul(4, 4, 4), Hierarchy((8, 24), costs=(1, 10)))
    >>> verify_hierarchy(s).peak
    (8, 16)
    """
    Instance(cdag, hierarchy.sizes[0]).require_feasible()
    outer, slash, inner = spec.partition("/")
    if not slash:
        return add_levels(
            play(spec, Instance(cdag, hierarchy.sizes[0]), limit=limit, seed=seed), hierarchy, spec
        )
    if not outer or not inner or "/" in inner:
        raise UnsupportedInstanceError(f"'{spec}': write one strategy, or outer/inner")
    fine = play(inner, Instance(cdag, hierarchy.sizes[0]), limit=limit, seed=seed)
    best = add_levels(fine, hierarchy, spec, {"outer_M": 0, "runs": 0})
    least = verify_hierarchy(best).total
    for words in _outer_sizes(outer, cdag, hierarchy):
        coarse = play(outer, Instance(cdag, words), limit=limit, seed=seed)
        for together, order in _nested_orders(coarse, fine):
            replayed = replay(fine.instance, order, "belady", seed)
            played = add_levels(replayed, hierarchy, spec, {"outer_M": words, "runs": together})
            total = verify_hierarchy(played).total
            if total < least:
                best, least = played, total
    return best


def _outer_sizes(outer: str, cdag: CDAG, hierarchy: Hierarchy) -> list[int]:
    """The words that the outer strategy may plan with: what it leaves is room for several runs at once."""
    largest = hierarchy.sizes[-1]
    strategy, _ = parse_strategy(outer)
    least = (
        strategy.least_M(Instance(cdag, largest)) if strategy.supports(Instance(cdag, largest)) is None else 0
    )
    return [M for M in dict.fromkeys((largest, 3 * largest // 4, largest // 2)) if largest == M or least <= M]


def add_levels(
    schedule: Schedule, hierarchy: Hierarchy, producer: str = "", info: dict[str, object] | None = None
) -> HierarchySchedule:
    """A schedule of level 1 with the moves of all further levels, each by Belady's rule.

    Raises UnsupportedInstanceError if the schedule is for more words than level 1 has, or under other rules
    than ``hong-kung`` and ``one-shot``.
    """
    from strategies.hierarchical_kernels import add_level

    instance = schedule.instance
    if hierarchy.sizes[0] < instance.M or not instance.is_plain:
        raise UnsupportedInstanceError(
            f"the schedule is for M={instance.M} and {instance.rules}: level 1 has {hierarchy.sizes[0]} "
            "words, and several levels are played under hong-kung or one-shot"
        )
    g = instance.cdag
    ops, vertices = unpack_arrays(schedule.moves)
    codes = vertices.astype(np.uint64) << np.uint64(8) | np.uint64(1 << 2) | ops.astype(np.uint64)
    for level in range(2, hierarchy.num_levels + 1):
        codes = add_level(codes, level, hierarchy.sizes[level - 1], g.weights, g.is_output, g.is_source)
    return HierarchySchedule(g, hierarchy, codes, producer or schedule.producer, info or dict(schedule.info))


def _nested_orders(coarse: Schedule, fine: Schedule) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Orders of computes: the outer schedule's runs of computes, some together, each in the inner order.

    A run ends where the outer schedule loads. Predecessors are in an earlier run, or in the same one and then
    earlier in the inner order, so every such order is topological.
    """
    ops, vertices = unpack_arrays(coarse.moves)
    computing = ops == Op.COMPUTE
    computed = vertices[computing]
    loads = np.cumsum(ops == Op.LOAD)[computing]
    run = np.cumsum(np.diff(loads, prepend=loads[:1]) > 0)
    rank = np.full(coarse.instance.cdag.num_vertices, -1, dtype=np.int64)
    inner = fine.order()
    rank[inner[::-1]] = np.arange(len(inner))[::-1]
    together = 1
    number = int(run[-1]) + 1 if len(run) else 1
    while True:
        group = run // together
        order = computed[np.lexsort((np.arange(len(computed)), rank[computed], group))]
        # Within one group a value that the outer schedule computed twice is computed once.
        keys = np.sort(group) * len(rank) + order
        _, first = np.unique(keys, return_index=True)
        yield together, order[np.sort(first)]
        if together >= number:
            return
        together *= 2
