"""Computes that fill fast memory: whatever else is needed before and after them goes out and comes back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.result import Bound, Limit
from solvers.lower_bounds.compulsory import compulsory_io
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["FULL_MEMORY", "full_chain"]

# Vertices considered for the chain, those that leave least memory free.
_MOST_CHOSEN = 64


def full_chain(cdag: CDAG, M: int, once: bool) -> tuple[int, list[int]]:
    """I/O beyond the compulsory, in words, forced by a chain of computes that leave little memory free.

    Parameters
    ----------
    cdag : CDAG
    M : int
        Words of fast memory, at least the graph's least M.
    once : bool
        Whether nothing is computed twice; else only sources count.

    Returns
    -------
    io : int
    chain : list of int
        Vertices, each an ancestor of the next.

    Notes
    -----
    O(k^2 (|V| + |E|)) for k = 64 vertices from which the chain is chosen.

    Examples
    --------
    Vertex 3 and its operands fill three words, so 0 is loaded again for 5.

    >>> g = CDAG.from_edges(6, [(0, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 5), (4, 5)])
    >>> full_chain(g, 3, once=False)
    (1, [2, 3])
    """
    from solvers.lower_bounds import full_memory_kernels as kernels

    words = np.ones(cdag.num_vertices, dtype=np.int64) if cdag.weights is None else cdag.weights
    chosen = _choose(cdag, words)
    if not len(chosen):
        return 0, []
    # Operands and the vertex itself are red at its compute; so much else can be.
    spare = M - words[chosen] - np.array([int(words[cdag.preds(int(v))].sum()) for v in chosen])
    indptr, indices = cdag.indptr, cdag.indices
    before, after = kernels.relations(indptr, indices, cdag.topological_order, chosen)
    gain = kernels.reloads(indptr, indices, words, chosen, spare, before, after, once)
    chain = _longest(gain)
    found = np.zeros(cdag.num_vertices, dtype=np.bool_)
    # Sources used before the first vertex of the chain have been loaded.
    seen = np.zeros(cdag.num_vertices, dtype=np.bool_)
    early = before[chain[0]].copy()
    early[chosen[chain[0]]] = True
    seen[indices[np.repeat(early, np.diff(indptr))]] = True
    spilled = np.zeros(cdag.num_vertices, dtype=np.bool_)
    loads = stores = most = 0
    for at, i in enumerate(chain):
        last = chain[at + 1] if at + 1 < len(chain) else -1
        kernels.carried(indptr, indices, chosen, before, after, i, last, once, found)
        # The first load of a source is compulsory.
        again = found & (~cdag.is_source | seen)
        seen |= found
        loads += max(0, int(words[again].sum()) - int(spare[i]))
        inner = again & ~cdag.is_source & ~cdag.is_output
        spilled |= inner
        most = max(most, int(words[inner].sum()) - int(spare[i]))
    stores = max(0, most, int(words[spilled].sum()) - int(spare[chain].sum()))
    return loads + stores, chosen[chain].tolist()


def _choose(cdag: CDAG, words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The vertices that need most words, evenly spread among equals, in topological order."""
    order = cdag.topological_order
    order = order[~cdag.is_source[order]].astype(np.int64)
    sums = np.concatenate(([0], np.cumsum(words[cdag.indices])))
    need = words[order] + sums[cdag.indptr[order + 1]] - sums[cdag.indptr[order]]
    if len(order) <= _MOST_CHOSEN:
        return order
    least = np.sort(need)[-_MOST_CHOSEN]
    above = np.flatnonzero(need > least)
    equal = np.flatnonzero(need == least)
    places = np.linspace(0, len(equal) - 1, _MOST_CHOSEN - len(above)).astype(np.int64)
    return order[np.sort(np.concatenate((above, np.unique(equal[places]))))]


def _longest(gain: NDArray[np.int64]) -> list[int]:
    """The chain whose gains add up to most; vertices are numbered topologically."""
    k = len(gain)
    best = gain[:, k].copy()
    following = np.full(k, -1)
    for i in range(k - 1, -1, -1):
        totals = np.where(gain[i, :k] >= 0, gain[i, :k] + best, -1)
        if totals.max() > best[i]:
            following[i] = int(totals.argmax())
            best[i] = totals.max()
    at = int(best.argmax())
    chain = []
    while at >= 0:
        chain.append(at)
        at = int(following[at])
    return chain


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    assert subject.graph is not None
    if not subject.graph.feasible:
        return None
    once = not subject.rules.recomputation
    io, chain = full_chain(subject.graph.cdag, subject.M, once)
    if io <= 0:
        return None
    loads, stores = compulsory_io(subject.graph.cdag)
    return Bound(
        loads + stores + io,
        "full-memory",
        f"any graph, {'one-shot only' if once else 'hong-kung and one-shot'}; {BLUE_SOURCES}",
        "docs/bounds.md",
        details={"chain": chain},
    )


FULL_MEMORY = LowerBound("full-memory", _compute, needs_graph=True, up_to=20_000)
