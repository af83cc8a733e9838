"""The hierarchy referee's compiled loop. Importing this module imports numba, so only functions import it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["replay"]

_LOADS, _STORES, _USED, _PEAK = range(4)


@numba.njit(cache=True, nogil=True)
def replay(
    codes: NDArray[np.uint64],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[np.int64] | None,
    sizes: NDArray[np.int64],
    state: NDArray[np.uint64],
    computed: NDArray[np.bool_],
    counts: NDArray[np.int64],
    tally: NDArray[np.int64],
    once: bool,
) -> int:
    """Play moves; the index of the first illegal one, or their number. An illegal move changes nothing.

    Bit i - 1 of a vertex's state says that it is in level i, the bit after the last level that it is in slow
    memory. `once` forbids to compute a vertex again. Rows of `counts` are loads, stores, words in use and the
    peak; `tally` is computes and recomputes.
    """
    n, k = len(indptr) - 1, len(sizes)
    one = np.uint64(1)
    for i in range(len(codes)):
        code = codes[i]
        op = np.int64(code & np.uint64(3))
        level = np.int64(code >> np.uint64(2) & np.uint64(63))
        vertex = code >> np.uint64(8)
        if vertex >= np.uint64(n) or level < 1 or level > k or (op == 2 and level != 1):
            return i
        v = np.int64(vertex)
        w = np.int64(1) if weights is None else weights[v]
        bit = one << np.uint64(level - 1)
        here = state[v] & bit != 0
        below = state[v] & (bit << one) != 0
        if op == 3:
            if not here:
                return i
            state[v] ^= bit
            counts[_USED, level - 1] -= w
        elif op == 1:
            if not here:
                return i
            if not below:
                if level < k:
                    if w > sizes[level] - counts[_USED, level]:
                        return i
                    counts[_USED, level] += w
                    counts[_PEAK, level] = max(counts[_PEAK, level], counts[_USED, level])
                state[v] |= bit << one
            counts[_STORES, level - 1] += w
        else:
            if here or w > sizes[level - 1] - counts[_USED, level - 1]:
                return i
            if op == 0:
                if not below:
                    return i
                counts[_LOADS, level - 1] += w
            else:
                if indptr[v] == indptr[v + 1] or (once and computed[v]):
                    return i
                for e in range(indptr[v], indptr[v + 1]):
                    if not state[indices[e]] & one:
                        return i
                tally[0] += 1
                if computed[v]:
                    tally[1] += 1
                computed[v] = True
            state[v] |= bit
            counts[_USED, level - 1] += w
            counts[_PEAK, level - 1] = max(counts[_PEAK, level - 1], counts[_USED, level - 1])
    return len(codes)
