"""How often words must become red for all edges to be aggregated: partial computation with little memory."""

from __future__ import annotations

from pebble.cdag import CDAG
from pebble.result import Bound, Limit
from solvers.lower_bounds.compulsory import compulsory_io
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["AGGREGATION", "aggregation_loads"]


def aggregation_loads(cdag: CDAG, M: int) -> int:
    """Loads without which the edges cannot all be aggregated, one at a time; O(1), and 0 for M < 2.

    An edge is aggregated while both ends are red; count it for the end that became red last. The k-th vertex
    to become red finds at most min(k, M) − 1 others. All but each computed vertex's first times are loads.

    Examples
    --------
    >>> from graphs.catalog import build
    >>> aggregation_loads(build("grid:3x3"), 2)
    5
    """
    edges = cdag.num_edges
    if edges == 0 or M < 2:
        return 0
    among = M * (M - 1) // 2
    if edges <= among:
        # Fewer than M vertices at a time would do.
        times = 1
        while times * (times - 1) // 2 < edges:
            times += 1
    else:
        times = M + -(-(edges - among) // (M - 1))
    return max(0, times - int((~cdag.is_source).sum()))


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    assert subject.graph is not None
    cdag = subject.graph.cdag
    loads, stores = compulsory_io(cdag)
    forced = aggregation_loads(cdag, subject.M)
    if forced <= loads:
        return None
    return Bound(
        forced + stores,
        "aggregation",
        f"any graph, {'partial' if subject.rules.partial else 'one-shot only'}; {BLUE_SOURCES}",
        "an edge is aggregated while both ends are red, Papp, Sobczyk & Yzelman (2025); docs/bounds.md",
        details={"stores": stores},
    )


# A one-shot schedule is one of partial computation.
AGGREGATION = LowerBound("aggregation", _compute, rules=("one-shot",), partial=True, needs_graph=True)
