"""Belady's rule at one further level of memory. Importing this module imports numba: only functions do."""

from __future__ import annotations

import heapq
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["add_level"]

_LOAD, _STORE, _DELETE = 0, 1, 3


@numba.njit(cache=True, nogil=True)
def _pack(op: int, level: int, v: int) -> Any:
    return np.uint64(v) << np.uint64(8) | np.uint64(level) << np.uint64(2) | np.uint64(op)


@numba.njit(cache=True, nogil=True)
def add_level(
    codes: NDArray[np.uint64],
    level: int,
    M: int,
    weights: NDArray[np.int64] | None,
    is_output: NDArray[np.bool_],
    is_source: NDArray[np.bool_],
) -> NDArray[np.uint64]:
    """The moves with those of `level` among them, given the moves of all faster levels.

    What the level above loads and stores is what this one is asked for. Of the values that will be read
    again, the one read last makes room; it is written to the next level once, unless it came from there.
    """
    n, count = len(is_output), len(codes)
    # For each access, the next one of the same vertex: its place, and whether it reads.
    following = np.full(count, -1, dtype=np.int64)
    latest = np.full(n, -1, dtype=np.int64)
    accesses = 0
    for i in range(count - 1, -1, -1):
        op = np.int64(codes[i] & np.uint64(3))
        if np.int64(codes[i] >> np.uint64(2) & np.uint64(63)) == level - 1 and op <= _STORE:
            v = np.int64(codes[i] >> np.uint64(8))
            following[i] = latest[v]
            latest[v] = i
            accesses += 1
    out = np.empty(count + 3 * accesses, dtype=np.uint64)
    size = 0
    resident = np.zeros(n, dtype=np.bool_)
    below = is_source.copy()
    read_next = np.full(n, -1, dtype=np.int64)
    used = np.int64(0)
    farthest = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for i in range(count):
        op = np.int64(codes[i] & np.uint64(3))
        if np.int64(codes[i] >> np.uint64(2) & np.uint64(63)) != level - 1 or op > _STORE:
            out[size] = codes[i]
            size += 1
            continue
        v = np.int64(codes[i] >> np.uint64(8))
        w = np.int64(1) if weights is None else weights[v]
        if not resident[v]:
            while used + w > M:
                place, u = heapq.heappop(farthest)
                if not resident[u] or read_next[u] != -place:
                    continue
                if not below[u]:
                    out[size] = _pack(_STORE, level, u)
                    size += 1
                    below[u] = True
                out[size] = _pack(_DELETE, level, u)
                size += 1
                resident[u] = False
                used -= np.int64(1) if weights is None else weights[u]
            if op == _LOAD:
                out[size] = _pack(_LOAD, level, v)
                size += 1
            resident[v] = True
            used += w
        out[size] = codes[i]
        size += 1
        after = following[i]
        if after >= 0 and np.int64(codes[after] & np.uint64(3)) == _LOAD:
            read_next[v] = after
            heapq.heappush(farthest, (-after, v))
            continue
        # Nothing reads it before it is written anew, if ever.
        if after < 0 and is_output[v] and not below[v]:
            out[size] = _pack(_STORE, level, v)
            size += 1
            below[v] = True
        out[size] = _pack(_DELETE, level, v)
        size += 1
        resident[v] = False
        used -= w
    return out[:size].copy()
