"""From level 1 to all levels: what a schedule of the fastest makes the slower ones do, and the cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.hierarchy import Hierarchy, HierarchySchedule
from pebble.moves import unpack_arrays
from pebble.schedule import Schedule

__all__ = ["add_levels", "total_cost"]

# Whether a value that must be written before it leaves stays when its next reading is as far as another's.
_DIRTY_FACTORS = (1.0, 2.0)


def add_levels(
    schedule: Schedule, hierarchy: Hierarchy, producer: str = "", info: Mapping[str, Any] | None = None
) -> HierarchySchedule:
    """A schedule of level 1 with the moves of all further levels, each by Belady's rule.

    Belady (1966) evicts the value that is read last; a value that has to be written first is also given twice
    that distance, and the cheaper of the two schedules is kept. Its claim is its total cost.

    Raises
    ------
    UnsupportedInstanceError
        The schedule is for more words than level 1 has, or under other rules than ``hong-kung`` and
        ``one-shot``.

    Notes
    -----
    O(k T log T) time for T moves and k levels.
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
    first = vertices.astype(np.uint64) << np.uint64(8) | np.uint64(1 << 2) | ops.astype(np.uint64)
    best: tuple[int, NDArray[np.uint64]] | None = None
    for factor in _DIRTY_FACTORS[: None if hierarchy.num_levels > 1 else 1]:
        codes = first
        for level in range(2, hierarchy.num_levels + 1):
            words = hierarchy.sizes[level - 1]
            codes = add_level(codes, level, words, g.weights, g.is_output, g.is_source, factor)
        total = total_cost(g, hierarchy, codes)
        if best is None or total < best[0]:
            best = total, codes
    assert best is not None
    return HierarchySchedule(
        g,
        hierarchy,
        best[1],
        producer or schedule.producer,
        dict(schedule.info if info is None else info),
        instance.rules,
        claim=best[0],
        seed=schedule.seed,
    )


def total_cost(g: CDAG, hierarchy: Hierarchy, codes: NDArray[np.uint64]) -> int:
    """The cost of the loads and stores among packed moves, as the referee would count them."""
    kind = (codes & np.uint64(255)).astype(np.intp)
    if g.weights is None:
        words = np.bincount(kind, minlength=256)
    else:
        words = np.zeros(256, dtype=np.int64)
        np.add.at(words, kind, g.weights[(codes >> np.uint64(8)).astype(np.int64)])
    # A kind is a level and an op: 0 loads and 1 stores.
    return sum(
        c * int(words[level << 2] + words[level << 2 | 1]) for level, c in enumerate(hierarchy.costs, 1)
    )
