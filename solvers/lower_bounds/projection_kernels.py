"""The relaxed game on one block of vertices, solved by cost levels; compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["least_block_io"]


@numba.njit(cache=True, nogil=True)
def least_block_io(
    preds: NDArray[np.int64],
    outside: NDArray[np.int64],
    words: NDArray[np.int64],
    is_source: NDArray[np.bool_],
    blue_goal: int,
    red_goal: int,
    M: int,
    one_shot: bool,
) -> int:
    """Least I/O, in words, of the relaxed game on a block of b vertices; -1 if it cannot be won.

    Parameters
    ----------
    preds : ndarray of int64, shape (b,)
        Predecessors within the block, as bit sets.
    outside : ndarray of int64, shape (b,)
        Words of the predecessors outside, which are red while the vertex is computed.
    words : ndarray of int64, shape (b,)
    is_source : ndarray of bool, shape (b,)
        Sources of the whole graph: blue for ever, never computed.
    blue_goal, red_goal : int
        Bit sets: what must end blue, and what must have been red at some time.
    M : int
    one_shot : bool

    Notes
    -----
    A state is three bit sets: red, stored, and red at some time; at most 8^b of them, 5^b reachable. States
    are visited by cost; the moves without cost stay within a level.
    """
    b = len(preds)
    size = np.int64(1) << (3 * b)
    best = np.full(size, np.int32(1 << 30), dtype=np.int32)
    top = words[0]
    for v in range(b):
        if words[v] > top:
            top = words[v]
    room = np.int64(64)
    # A ring of buckets, one per cost modulo the largest weight plus one.
    ring = np.empty((top + 1, room), dtype=np.int64)
    fill = np.zeros(top + 1, dtype=np.int64)
    mask = (np.int64(1) << b) - 1
    ring[0, 0] = 0
    fill[0] = 1
    best[0] = 0
    cost = np.int64(0)
    empty = np.int64(0)
    while empty <= top:
        slot = cost % (top + 1)
        if fill[slot] == 0:
            cost += 1
            empty += 1
            continue
        empty = np.int64(0)
        fill[slot] -= 1
        state = ring[slot, fill[slot]]
        if best[state] < cost:
            continue
        red = state & mask
        blue = (state >> b) & mask
        ever = state >> (2 * b)
        if blue & blue_goal == blue_goal and ever & red_goal == red_goal:
            return int(cost)
        held = np.int64(0)
        for v in range(b):
            if red >> v & 1:
                held += words[v]
        for v in range(b):
            bit = np.int64(1) << v
            for kind in range(4):
                if kind == 0:
                    if red & bit == 0:
                        continue
                    new, price = state & ~bit, np.int64(0)
                elif kind == 1:
                    if red & bit == 0 or blue & bit or is_source[v]:
                        continue
                    new, price = state | (bit << b), words[v]
                elif kind == 2:
                    if red & bit or held + words[v] > M or not (is_source[v] or blue & bit):
                        continue
                    new, price = state | bit | (bit << (2 * b)), words[v]
                else:
                    if red & bit or is_source[v] or preds[v] & ~red or held + outside[v] + words[v] > M:
                        continue
                    if one_shot and ever & bit:
                        continue
                    new, price = state | bit | (bit << (2 * b)), np.int64(0)
                if cost + price < best[new]:
                    best[new] = cost + price
                    at = (cost + price) % (top + 1)
                    if fill[at] == room:
                        bigger = np.empty((top + 1, 2 * room), dtype=np.int64)
                        bigger[:, :room] = ring
                        ring = bigger
                        room *= 2
                    ring[at, fill[at]] = new
                    fill[at] += 1
    return -1
