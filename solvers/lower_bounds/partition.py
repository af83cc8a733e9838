"""Partitions into segments, exactly: how few parts a small graph can be computed in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["PARTITION", "least_parts"]

_MOST_VERTICES = 60
_MOST_SETS = 1_000


def _sets(cdag: CDAG) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int] | None:
    """Down-sets, predecessors, successors and sources as bit sets, isolated vertices left out."""
    from solvers.lower_bounds import partition_kernels as kernels

    order = cdag.topological_order
    touched = cdag.in_degree > 0
    touched[cdag.indices] = True
    kept = order[touched[order]]
    n = len(kept)
    if n == 0 or n > _MOST_VERTICES:
        return None
    place = np.full(cdag.num_vertices, -1)
    place[kept] = np.arange(n)
    preds = np.zeros(n, dtype=np.int64)
    succs = np.zeros(n, dtype=np.int64)
    for u, v in place[cdag.edges()].tolist():
        preds[v] |= 1 << u
        succs[u] |= 1 << v
    found = kernels.list_down_sets(preds, _MOST_SETS)
    if len(found) == 0:
        return None
    return found, preds, succs, int(sum(1 << i for i in range(n) if preds[i] == 0))


def least_parts(cdag: CDAG, M: int, Y: int) -> int | None:
    """The least number of segments of Y I/Os in which a graph can be computed, as far as partitions can tell.

    The vertices that first become red in one segment form a *part*. Parts follow one another along a chain of
    down-sets. A part has a dominator of M + (loads) vertices (of Y in the first part, where nothing is red),
    and of its vertices without a successor in the part at most M + (stores); loads and stores are Y together.

    Returns
    -------
    int or None
        None if the graph has too many down-sets (1,000), or no chain exists for so small an M.

    Notes
    -----
    With Y = M every such chain is a 2M-partition of Hong & Kung (1981), so this is at least their P(2M).
    Breadth-first over pairs of down-sets, a maximum flow each.

    Examples
    --------
    >>> from graphs.catalog import build
    >>> least_parts(build("pyramid:4"), 3, 3)
    2
    """
    from solvers.lower_bounds import partition_kernels as kernels

    prepared = _sets(cdag)
    if prepared is None:
        return None
    found, preds, succs, sources = prepared
    parts = int(kernels.least_parts(found, preds, succs, sources, M, Y))
    return None if parts < 0 else parts


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    assert subject.graph is not None
    cdag, M = subject.graph.cdag, subject.M
    best: tuple[int, int, int] | None = None
    for Y in sorted({M, max(1, M // 2), 2 * M}):
        parts = least_parts(cdag, M, Y)
        if parts is None:
            continue
        # A schedule of Q I/Os has at most ⌈Q/Y⌉ segments in which something is computed for the first time.
        value = Y * (parts - 1) + 1
        if best is None or value > best[0]:
            best = (value, Y, parts)
    if best is None:
        return None
    value, Y, parts = best
    return Bound(
        value,
        "partition",
        f"any graph, hong-kung and one-shot; {BLUE_SOURCES}",
        "Hong & Kung (1981), theorem 3.1, least number of parts by exhaustive search; docs/bounds.md",
        details={"parts": parts, "Y": Y},
    )


PARTITION = LowerBound("partition", _compute, slides=True, needs_graph=True, up_to=16)
