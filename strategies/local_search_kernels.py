"""Compiled local search over an order: blocks of steps are moved, priced, and kept or undone.

Importing this module imports numba, so only functions import it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from strategies.local_search_moves_kernels import draw, draw_groups, random_number
from strategies.local_search_play_kernels import REJECTED, Board, play

__all__ = ["search"]


@numba.njit(cache=True, nogil=True)
def _copy(source: NDArray[np.int32], target: NDArray[np.int32], lo: int, hi: int, offset: int) -> None:
    """Copy ``source[lo - offset:hi - offset]`` to ``target[lo:hi]``; slices take seconds to compile."""
    for i in range(lo, hi):
        target[i] = source[i - offset]


@numba.njit(cache=True, nogil=True)
def search(
    b: Board,
    evaluations: int,
    temperature: float,
    widest: int,
    groups: bool,
    best: NDArray[np.int32],
    standing: NDArray[Any],
) -> int:
    """Try so many moves; a dearer one is kept with probability ``exp(-words / temperature)``.

    `standing` holds the I/O of the order at hand and of `best`, and whether the order at hand is `best` still
    to be copied. Returns the positions played.
    """
    T = len(b.seq)
    stride, M = b.now[3], b.now[4]
    played = 0
    for _ in range(evaluations):
        low, high, taken = draw_groups(b, widest) if groups else draw(b, widest)
        size = high - low + 1
        if taken == 0 or (taken == size and not groups):
            # Nothing has moved.
            continue
        start = max(0, low - M) // stride * stride
        end = high + 1
        stop = end
        if groups:
            # Play rearranges what it comes by: undoing means more than moving the window back.
            end = min(T, end + M)
            stop = min(T, end + 2 * M + 64)
            _copy(b.seq, b.kept, start, stop, 0)
            _copy(b.old, b.kept, low, high + 1, low)
        delta = play(b, start, end, end + 64 * M + 2000, 2 * M + 8, False, stop if groups else 0)
        played += high + 1 - start
        accepted = delta <= 0
        if not accepted and delta < REJECTED and temperature > 0:
            accepted = random_number(b.now) < np.exp(-delta / temperature) * 2147483648.0
        if accepted:
            if delta > 0 and standing[2]:
                # The best so far, as it was before this move.
                _copy(b.seq, best, 0, T, 0)
                if groups:
                    _copy(b.kept, best, start, stop, 0)
                else:
                    _copy(b.old, best, low, high + 1, low)
                standing[2] = 0
            play(b, start, stop, T, REJECTED, True, 0)
            standing[0] += delta
            if standing[0] < standing[1]:
                standing[1] = standing[0]
                standing[2] = 1
        elif groups:
            _copy(b.kept, b.seq, start, stop, 0)
            for k in range(start, stop):
                b.pos[b.seq[k]] = k
        else:
            for k in range(size):
                s = b.old[k]
                b.seq[low + k] = s
                b.pos[s] = low + k
    if standing[2]:
        _copy(b.seq, best, 0, T, 0)
    return played
