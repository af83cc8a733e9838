"""The min-cut wavefront: what must be alive when a vertex is computed, without recomputation."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.result import Bound, Limit
from solvers.lower_bounds.compulsory import compulsory_io
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["WAVEFRONT", "largest_wavefront", "wavefront_costs"]

# Flows between two looks at the clock.
_SLICE = 64


def wavefront_costs(cdag: CDAG) -> NDArray[np.int64]:
    """What a vertex of the wavefront costs unless it is red, beyond the compulsory I/O, in words.

    A computed vertex has been stored and will be loaded: twice its words, or once if it is an output, whose
    store is compulsory. A source that has been used will be loaded again.
    """
    words = np.ones(cdag.num_vertices, dtype=np.int64) if cdag.weights is None else cdag.weights
    return np.where(cdag.is_source | cdag.is_output, words, 2 * words)


def largest_wavefront(
    cdag: CDAG, costs: NDArray[np.int64] | None = None, limit: Limit | None = None
) -> tuple[int, int, bool]:
    """The largest, over all computed vertices v, of the least cost of a wavefront at v.

    A wavefront at v splits the graph into computed and uncomputed vertices, v and all that it depends on
    computed, all that depends on v uncomputed; it consists of the computed vertices with an uncomputed
    successor. Its least cost is a minimum cut.

    Parameters
    ----------
    cdag : CDAG
    costs : ndarray of int64, shape (num_vertices,), optional
        1 each if not given: then the wavefront's least size is found.
    limit : Limit, optional
        Time; the best vertex so far is then returned.

    Returns
    -------
    value, vertex : int
    complete : bool
        Whether every vertex was looked at.

    Notes
    -----
    One maximum flow of at most `value` augmentations, O(|V| + |E|) each, for every vertex that the cuts found
    before do not settle: a cut serves all vertices next to it.

    Examples
    --------
    >>> from graphs.catalog import build
    >>> largest_wavefront(build("fft:16"))[0]
    4
    """
    from solvers.lower_bounds import wavefront_kernels as kernels

    start = time.monotonic()
    n = cdag.num_vertices
    indptr = cdag.indptr.astype(np.int64)
    indices = cdag.indices.astype(np.int64)
    sptr, succ = cdag.successors
    # Both lists hold every edge: by vertex, and by operand and vertex.
    targets = np.repeat(np.arange(n), np.diff(indptr))
    sedge = np.lexsort((targets, indices))
    costs = np.ones(n, dtype=np.int64) if costs is None else costs.astype(np.int64)
    settled = np.asarray(cdag.is_source | (np.diff(sptr) == 0))
    candidates = cdag.topological_order
    # The middle of the graph first, where wavefronts are wide.
    candidates = candidates[np.argsort(np.abs(np.arange(n) - n // 2), kind="stable")]
    best, where = 0, -1
    deadline = None if limit is None or limit.time is None else start + limit.time
    for first in range(0, n, _SLICE):
        if deadline is not None and time.monotonic() > deadline:
            return best, where, False
        best, where = kernels.least_wavefronts(
            candidates, first, min(first + _SLICE, n), indptr, indices, sptr, succ, sedge, costs, settled,
            best, where,
        )  # fmt: skip
    return int(best), int(where), True


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    assert subject.graph is not None
    cdag = subject.graph.cdag
    value, vertex, complete = largest_wavefront(cdag, wavefront_costs(cdag), limit)
    if vertex < 0:
        return None
    loads, stores = compulsory_io(cdag)
    return Bound(
        loads + stores + max(0, value - 2 * subject.M),
        "min-cut-wavefront",
        f"any graph, one-shot only; {BLUE_SOURCES}",
        "Elango et al. (2014), On characterizing the data access complexity of programs; docs/bounds.md",
        details={"vertex": vertex, "wavefront_cost": value, "all_vertices": complete},
    )


WAVEFRONT = LowerBound(
    "min-cut-wavefront", _compute, rules=("one-shot",), slides=True, needs_graph=True, up_to=400
)
