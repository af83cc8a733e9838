"""Compiled parts of the bound by computes that fill fast memory.

Importing this module imports numba, so only functions import it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["carried", "relations", "reloads"]


@numba.njit(cache=True, nogil=True)
def relations(
    indptr: NDArray[Any], indices: NDArray[Any], order: NDArray[Any], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a vertex is a proper ancestor, and whether it is a proper descendant, of each chosen one.

    O(len(chosen) * (|V| + |E|)) time; two arrays of shape (len(chosen), |V|).
    """
    n = len(indptr) - 1
    before = np.zeros((len(chosen), n), dtype=np.bool_)
    after = np.zeros((len(chosen), n), dtype=np.bool_)
    for c in range(len(chosen)):
        for at in range(n - 1, -1, -1):
            v = order[at]
            if v == chosen[c] or before[c, v]:
                for e in range(indptr[v], indptr[v + 1]):
                    before[c, indices[e]] = True
        for at in range(n):
            v = order[at]
            for e in range(indptr[v], indptr[v + 1]):
                if indices[e] == chosen[c] or after[c, indices[e]]:
                    after[c, v] = True
    return before, after


@numba.njit(cache=True, nogil=True)
def carried(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    chosen: NDArray[np.int64],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    first: int,
    last: int,
    once: bool,
    found: NDArray[np.bool_],
) -> None:
    """Mark in `found` what must be red again after the chosen vertex `first` and before `last` (-1: the end).

    These are the operands of what is certainly computed in between, unless `first` itself takes them: the
    sources, and with `once` what is certainly computed before `first`.
    """
    found[:] = False
    for w in range(len(indptr) - 1):
        if after[first, w] and (last < 0 or before[last, w] or w == chosen[last]):
            for e in range(indptr[w], indptr[w + 1]):
                p = indices[e]
                if indptr[p] == indptr[p + 1] or (once and before[first, p]):
                    found[p] = True
    v = chosen[first]
    for e in range(indptr[v], indptr[v + 1]):
        found[indices[e]] = False


@numba.njit(cache=True, nogil=True)
def reloads(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    words: NDArray[np.int64],
    chosen: NDArray[np.int64],
    spare: NDArray[np.int64],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    once: bool,
) -> NDArray[np.int64]:
    """Words loaded between two chosen vertices, or from one to the end (the last column); -1 if not in order.

    O(len(chosen)^2 * (|V| + |E|)).
    """
    k = len(chosen)
    gain = np.full((k, k + 1), -1, dtype=np.int64)
    found = np.zeros(len(indptr) - 1, dtype=np.bool_)
    for i in range(k):
        for j in range(k + 1):
            if j < k and not before[j, chosen[i]]:
                continue
            carried(indptr, indices, chosen, before, after, i, j if j < k else -1, once, found)
            total = np.int64(0)
            for p in range(len(found)):
                if found[p]:
                    total += words[p]
            gain[i, j] = max(0, total - spare[i])
    return gain
