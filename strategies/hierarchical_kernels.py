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
def _is_current(entry: Any, resident: NDArray[np.bool_], read_next: NDArray[np.int64]) -> bool:
    place, v = entry
    return bool(resident[v]) and read_next[v] == -place


@numba.njit(cache=True, nogil=True)
def add_level(
    codes: NDArray[np.uint64],
    level: int,
    M: int,
    weights: NDArray[np.int64] | None,
    is_output: NDArray[np.bool_],
    is_source: NDArray[np.bool_],
    dirty_factor: float,
) -> NDArray[np.uint64]:
    """The moves with those of `level` among them, given the moves of all faster levels.

    What the level above loads and stores is what this one is asked for. Of the values that will be read
    again, the one read last makes room; it is written to the next level once, unless it came from there. One
    that has to be written makes room only if its next reading is `dirty_factor` times as far as that of one
    that need not be.
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
    clean = [(np.int64(0), np.int64(0)) for _ in range(0)]
    dirty = [(np.int64(0), np.int64(0)) for _ in range(0)]
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
                while len(clean) and not _is_current(clean[0], resident, read_next):
                    heapq.heappop(clean)
                while len(dirty) and not _is_current(dirty[0], resident, read_next):
                    heapq.heappop(dirty)
                far_clean = -clean[0][0] - i if len(clean) else np.int64(0)
                if len(dirty) and -dirty[0][0] - i > dirty_factor * far_clean:
                    _, u = heapq.heappop(dirty)
                else:
                    _, u = heapq.heappop(clean)
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
            heapq.heappush(clean if below[v] else dirty, (-after, v))
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
