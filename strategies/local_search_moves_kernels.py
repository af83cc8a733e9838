"""Compiled moves of local search: segments go up with what they need, or down with what needs them.

Importing this module imports numba, so only functions import it. Every move leaves the order topological.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from strategies.local_search_play_kernels import Board

__all__ = ["draw", "draw_groups", "random_number"]


@numba.njit(cache=True, nogil=True)
def random_number(now: NDArray[np.int64]) -> int:
    """The next number of a xorshift generator (Marsaglia 2003), 0 to 2**31 - 1."""
    x = np.uint64(now[2])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    now[2] = np.int64(x)
    return int(x >> np.uint64(33))


@numba.njit(cache=True, nogil=True)
def _last_event(steps: NDArray[np.int32], pos: NDArray[np.int32], before: int) -> int:
    """The last position before `before` of these events, -1 if none."""
    last = -1
    for s in steps:
        at = pos[s]
        if last < at < before:
            last = at
    return last


@numba.njit(cache=True, nogil=True)
def _used_last(b: Board, v: int, before: int) -> int:
    return int(_last_event(b.event_step[b.event_ptr[v] : b.event_ptr[v + 1]], b.pos, before))


@numba.njit(cache=True, nogil=True)
def _pull_up(b: Board, to: int, first: int, last: int) -> int:
    """Move the steps at positions first..last, with what they need, up to position `to`; the steps moved."""
    b.now[1] += 1
    token = b.now[1]
    taken = 0
    other = last - to
    # The block is filled from the end of `moved`, the rest from the end of the window.
    for i in range(last, to - 1, -1):
        s = b.seq[i]
        v = b.vertex[s]
        if i >= first or b.mark[v] == token:
            for e in range(b.indptr[v], b.indptr[v + 1]):
                b.mark[b.indices[e]] = token
            b.moved[taken] = s
            taken += 1
        else:
            b.old[other] = s
            other -= 1
    size = last - to + 1
    for k in range(taken):
        b.old[k] = b.moved[taken - 1 - k]
    for k in range(size):
        s = b.old[k]
        b.old[k] = b.seq[to + k]
        b.seq[to + k] = s
        b.pos[s] = to + k
    return taken


@numba.njit(cache=True, nogil=True)
def _push_down(b: Board, first: int, last: int, to: int) -> int:
    """Move the steps at positions first..last, with what needs them, down to `to`; the steps moved."""
    b.now[1] += 1
    token = b.now[1]
    taken = other = 0
    for i in range(first, to + 1):
        s = b.seq[i]
        v = b.vertex[s]
        member = i <= last
        if not member:
            for e in range(b.indptr[v], b.indptr[v + 1]):
                if b.mark[b.indices[e]] == token:
                    member = True
                    break
        if member:
            b.mark[v] = token
            b.moved[taken] = s
            taken += 1
        else:
            b.old[other] = s
            other += 1
    for k in range(taken):
        b.old[other + k] = b.moved[k]
    for k in range(to - first + 1):
        s = b.old[k]
        b.old[k] = b.seq[first + k]
        b.seq[first + k] = s
        b.pos[s] = first + k
    return taken


@numba.njit(cache=True, nogil=True)
def draw(b: Board, widest: int) -> tuple[int, int, int]:
    """A window and the number of its steps that were moved: two uses brought together, or any segment."""
    T = len(b.seq)
    i = random_number(b.now) % T
    if random_number(b.now) & 3:
        # A position that pays, not far from there.
        for _ in range(64):
            if b.cost[i] > 0:
                break
            i = i + 1 if i + 1 < T else 0
    j = -1
    if random_number(b.now) & 1 and b.cost[i] > 0:
        v = b.vertex[b.seq[i]]
        degree = b.indptr[v + 1] - b.indptr[v]
        j = _used_last(b, b.indices[b.indptr[v] + random_number(b.now) % degree], i)
    length = 1
    if j < 0:
        # Short distances more often than long ones.
        width = widest >> (random_number(b.now) % 10)
        j = i - 1 - random_number(b.now) % max(width, 2)
    while length < 64 and random_number(b.now) & 1:
        length *= 2
    if j < -1 or i - j < 2 or i - j > widest:
        return 0, 0, 0
    if random_number(b.now) & 1:
        low, high = j + 1, min(i + random_number(b.now) % length, T - 1)
        return low, high, _pull_up(b, low, i, high)
    low, high = max(0, j - random_number(b.now) % length), i - 1
    return low, high, _push_down(b, low, max(j, 0), high)


@numba.njit(cache=True, nogil=True)
def _first_of_group(b: Board, i: int) -> int:
    while i > 0 and b.group[b.seq[i - 1]] == b.group[b.seq[i]]:
        i -= 1
    return i


@numba.njit(cache=True, nogil=True)
def _last_of_group(b: Board, i: int) -> int:
    while i + 1 < len(b.seq) and b.group[b.seq[i + 1]] == b.group[b.seq[i]]:
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def draw_groups(b: Board, widest: int) -> tuple[int, int, int]:
    """As `draw`, of whole groups: some are pulled up in front of another, with the groups they need."""
    T = len(b.seq)
    first = _first_of_group(b, random_number(b.now) % T)
    last = _last_of_group(b, first)
    low = first - 1
    if random_number(b.now) & 1:
        # To where an operand of the group was used last, in front of the group that did or behind it.
        v = b.vertex[b.seq[first + random_number(b.now) % (last - first + 1)]]
        degree = b.indptr[v + 1] - b.indptr[v]
        low = _used_last(b, b.indices[b.indptr[v] + random_number(b.now) % degree], first)
        if low >= 0 and random_number(b.now) & 1:
            low = _last_of_group(b, low) + 1
    else:
        low -= random_number(b.now) % max(widest >> (random_number(b.now) % 8), 2)
    if low < 0 or low >= first:
        return 0, 0, 0
    low = _first_of_group(b, low)
    while last + 1 < T and random_number(b.now) & 3 == 0:
        last = _last_of_group(b, last + 1)
    if last - low > widest:
        return 0, 0, 0
    return low, last, _pull_up(b, low, first, last)
