"""Compiled replay with the policies that do not look ahead for a victim: LRU, FIFO and random.

They share the coding of steps and next events with `strategies.replay_kernels`. Looking ahead decides only
what is dead: a value with no further use, or computed anew before it, is dropped at once. Importing this
module imports numba, so only functions import it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from strategies.replay_kernels import BLUE, OUTPUT, RED

__all__ = ["FIFO", "LRU", "RANDOM", "online"]

LRU, FIFO, RANDOM = 0, 1, 2
_LOAD, _STORE, _COMPUTE, _DELETE = 0, 1, 2, 3


@numba.njit(cache=True, nogil=True)
def _append(before: NDArray[Any], after: NDArray[Any], end: int, v: int) -> None:
    """Put `v` at the back of the ring whose both ends are `end`."""
    tail = before[end]
    after[tail] = v
    before[v] = tail
    after[v] = end
    before[end] = v


@numba.njit(cache=True, nogil=True)
def _remove(before: NDArray[Any], after: NDArray[Any], v: int) -> None:
    after[before[v]] = after[v]
    before[after[v]] = before[v]


@numba.njit(cache=True, nogil=True)
def _below(seed: NDArray[np.uint64], bound: int) -> int:
    """A number in ``range(bound)`` from the splitmix64 sequence (Steele, Lea & Flood 2014)."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    z = seed[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return int((z >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _swap(bag: NDArray[Any], place: NDArray[Any], i: int, j: int) -> None:
    u, v = bag[i], bag[j]
    bag[i], bag[j] = v, u
    place[u], place[v] = j, i


@numba.njit(cache=True, nogil=True)
def online(
    indptr: NDArray[Any],
    operands: NDArray[Any],
    weights: NDArray[np.int64],
    M: int,
    state: NDArray[np.uint8],
    steps: NDArray[Any],
    first_step: int,
    after_step: NDArray[Any],
    after_use: NDArray[Any],
    first_use: int,
    policy: int,
    seed: int,
    moves: NDArray[Any],
) -> tuple[int, int, int]:
    """Play the steps; returns loads and stores in words, and the number of moves.

    The moves are written to `moves` unless that is empty. LRU and FIFO keep the red values in a ring, least
    recent first; random keeps them in a bag, with the operands of the step moved to its front, out of reach.
    O(operands + steps).
    """
    weighted = len(weights) > 0
    emit = len(moves) > 0
    n = len(state)
    # The ring's links, with n as its end; or the bag and every value's place in it.
    first = np.empty(n + 1, dtype=operands.dtype)
    second = np.empty(n + 1, dtype=operands.dtype)
    first[n] = second[n] = n
    size = 0
    random = np.empty(1, dtype=np.uint64)
    random[0] = np.uint64(seed)
    used_at = np.full(n, -1, dtype=operands.dtype)
    red = loads = stores = num_moves = 0
    hi = first_use
    for t in range(first_step, len(steps)):
        v = steps[t]
        lo = hi
        hi = lo + indptr[v + 1] - indptr[v]
        own = weights[v] if weighted else 1
        missing = 0
        for k in range(lo, hi):
            p = operands[k]
            if not state[p] & RED:
                missing += weights[p] if weighted else 1
        # When a vertex is computed again: see `strategies.replay_kernels.belady`.
        if not (state[v] & RED or (state[v] & BLUE and missing > own)):
            pinned = 0
            for k in range(lo, hi):
                p = operands[k]
                if state[p] & RED:
                    used_at[p] = t
                    if policy == LRU:
                        _remove(first, second, p)
                        _append(first, second, n, p)
                    elif policy == RANDOM:
                        _swap(first, second, second[p], pinned)
                        pinned += 1
            u = second[n]
            while red + missing + own > M:
                if policy == RANDOM:
                    u = first[pinned + _below(random, size - pinned)]
                else:
                    while used_at[u] == t:
                        u = second[u]
                if not state[u] & BLUE:
                    stores += weights[u] if weighted else 1
                    state[u] |= BLUE
                    if emit:
                        moves[num_moves] = u << 2 | _STORE
                    num_moves += 1
                state[u] &= ~RED
                red -= weights[u] if weighted else 1
                if emit:
                    moves[num_moves] = u << 2 | _DELETE
                num_moves += 1
                if policy == RANDOM:
                    size -= 1
                    _swap(first, second, second[u], size)
                else:
                    _remove(first, second, u)
                    u = second[u]
            loads += missing
            red += missing + own
            for k in range(lo, hi + 1):
                u = operands[k] if k < hi else v
                if state[u] & RED:
                    continue
                state[u] |= RED
                if emit:
                    moves[num_moves] = u << 2 | (_LOAD if k < hi else _COMPUTE)
                num_moves += 1
                if policy == RANDOM:
                    first[size] = u
                    second[u] = size
                    size += 1
                else:
                    _append(first, second, n, u)

        for k in range(lo, hi + 1):
            u = operands[k] if k < hi else v
            event = after_use[k] if k < hi else after_step[t]
            if event >= 0 or not state[u] & RED:
                continue
            words = weights[u] if weighted else 1
            if state[u] & (BLUE | OUTPUT) == OUTPUT:
                stores += words
                state[u] |= BLUE
                if emit:
                    moves[num_moves] = u << 2 | _STORE
                num_moves += 1
            red -= words
            state[u] &= ~RED
            if emit:
                moves[num_moves] = u << 2 | _DELETE
            num_moves += 1
            if policy == RANDOM:
                size -= 1
                _swap(first, second, second[u], size)
            else:
                _remove(first, second, u)
    return loads, stores, num_moves
