"""Compiled play of an order for local search: only what a move changes is played again.

Importing this module imports numba, so only functions import it.

A *step* is one compute; `seq` holds the steps by position, `pos` the position of each. The board before every
position is known by a hash, and before every `stride`-th in full. A move rearranges the positions of a
window; play resumes from the last full board before it, and stops behind the window as soon as the hash is
the old one: from there on nothing differs. Eviction is that of `strategies.replay_kernels.belady`, with
decisions before that full board left as they were: what is estimated can be had, and a replay of the whole
order mostly costs the same or less.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["REJECTED", "Board", "play", "play_all"]

_NEVER = 2**30
REJECTED = 2**40
# A dirty value hashes to this multiple of what a clean one does.
_DIRTY = np.uint64(0x9E3779B97F4A7C15)


class Board(NamedTuple):
    """The graph, the order and everything known of its play, in arrays."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    words: NDArray[np.int64]  # per vertex
    is_output: NDArray[np.bool_]  # its store is owed anyway: evicting it costs nothing more
    vertex: NDArray[np.int32]  # of each step
    group: NDArray[np.int32]  # of each step: steps used once only belong to the group of what uses them
    event_ptr: NDArray[np.int64]  # per vertex: the steps that use or compute it
    event_step: NDArray[np.int32]
    seq: NDArray[np.int32]
    pos: NDArray[np.int32]
    cost: NDArray[np.int64]  # I/O of each position, in words
    before: NDArray[np.uint64]  # hash of the board before each position
    full_vertex: NDArray[np.int32]  # full boards: red vertices and whether they are dirty
    full_dirty: NDArray[np.bool_]
    full_size: NDArray[np.int32]
    slot_vertex: NDArray[np.int32]  # the board at hand
    slot_next: NDArray[np.int32]  # 2 * position of the next event, odd if that computes the vertex anew
    slot_dirty: NDArray[np.bool_]
    where: NDArray[np.int32]
    mark: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    old: NDArray[np.int32]  # the window before the move
    moved: NDArray[np.int32]
    kept: NDArray[np.int32]  # the sequence from the full board on, where play rearranges it
    key: NDArray[np.int64]
    now: NDArray[np.int64]  # [size of the board at hand, last mark, random state, stride, M]


# The small functions take arrays, not boards: what is passed on is then passed in registers.


@numba.njit(cache=True, nogil=True)
def _next_event(
    steps: NDArray[np.int32], pos: NDArray[np.int32], vertex: NDArray[np.int32], v: int, after: int
) -> int:
    """Twice the first position past `after` of the events of `v`, odd if it is computed there."""
    first = _NEVER
    for s in steps:
        at = pos[s]
        if after < at and 2 * at < first:
            first = 2 * at + (vertex[s] == v)
    return first


@numba.njit(cache=True, nogil=True)
def _victim(
    slot_vertex: NDArray[np.int32],
    slot_next: NDArray[np.int32],
    slot_dirty: NDArray[np.bool_],
    size: int,
    mark: NDArray[np.int64],
    token: int,
    i: int,
) -> int:
    """The slot to evict at position i: one computed anew first, else by next use, dirty ones at half."""
    best, best_key = -1, -1
    for k in range(size):
        event = slot_next[k]
        if mark[slot_vertex[k]] == token:
            continue
        if event & 1:
            return k
        key = (event - 2 * i) << 1
        if slot_dirty[k]:
            key >>= 1
        if key > best_key or (key == best_key and slot_vertex[k] < slot_vertex[best]):
            best, best_key = k, key
    return best


@numba.njit(cache=True, nogil=True)
def _take_out(
    slot_vertex: NDArray[np.int32],
    slot_next: NDArray[np.int32],
    slot_dirty: NDArray[np.bool_],
    where: NDArray[np.int32],
    k: int,
    last: int,
) -> None:
    """Empty slot `k`, the last one takes its place."""
    where[slot_vertex[k]] = -1
    if k < last:
        slot_vertex[k], slot_next[k], slot_dirty[k] = slot_vertex[last], slot_next[last], slot_dirty[last]
        where[slot_vertex[k]] = k


@numba.njit(cache=True, nogil=True)
def _arrange(b: Board, i: int, limit: int) -> int:
    """Rearrange the group that begins at position `i`, unless it goes past `limit`; the position behind it.

    What needs only red values goes first, then, each time, what is used again furthest from there: so values
    die early, and those that the next group shares are the last to be loaded.
    """
    T = len(b.seq)
    group = b.group[b.seq[i]]
    end = i + 1
    while end < T and b.group[b.seq[end]] == group:
        end += 1
    if end > limit or end == i + 1:
        return end
    # The last step is the one that the others belong to; leave groups alone in which others depend.
    b.now[1] += 1
    token = b.now[1]
    for k in range(i, end - 1):
        b.mark[b.vertex[b.seq[k]]] = token
    for k in range(i, end - 1):
        v = b.vertex[b.seq[k]]
        key = 0
        for e in range(b.indptr[v], b.indptr[v + 1]):
            p = b.indices[e]
            if b.mark[p] == token:
                return end
            event = _next_event(
                b.event_step[b.event_ptr[p] : b.event_ptr[p + 1]], b.pos, b.vertex, p, end - 1
            )
            if b.where[p] < 0 and b.event_ptr[p + 1] - b.event_ptr[p] > 1:
                key = max(key, 2 * _NEVER)
            key = max(key, 0) if event == _NEVER else max(key, 2 * _NEVER - event if key else _NEVER - event)
        b.key[k] = key
    for k in range(i + 1, end - 1):
        s, key = b.seq[k], b.key[k]
        m = k
        while m > i and b.key[m - 1] > key:
            b.seq[m], b.key[m] = b.seq[m - 1], b.key[m - 1]
            m -= 1
        b.seq[m], b.key[m] = s, key
    for k in range(i, end):
        b.pos[b.seq[k]] = k
    return end


@numba.njit(cache=True, nogil=True)
def play(b: Board, start: int, end: int, cap: int, most: int, write: bool, arrange: int) -> int:
    """Play from the full board before `start`; what the I/O changes by, in words.

    It stops behind `end` once the board is the old one; past `cap`, or once `most` words dearer, the move
    counts as rejected. Groups are rearranged as they come, up to `end` or one further,
    and not past `arrange`.
    """
    slot_vertex, slot_next, slot_dirty, where, mark = (
        b.slot_vertex,
        b.slot_next,
        b.slot_dirty,
        b.where,
        b.mark,
    )
    indptr, indices, words, hashes = b.indptr, b.indices, b.words, b.hashes
    events, steps, pos, vertex, seq, now = b.event_ptr, b.event_step, b.pos, b.vertex, b.seq, b.now
    stride, M, token = now[3], now[4], now[1]
    for k in range(now[0]):
        where[slot_vertex[k]] = -1
    line = start // stride
    red = delta = 0
    h = np.uint64(0)
    size = b.full_size[line]
    for k in range(size):
        v = b.full_vertex[line, k]
        slot_vertex[k], slot_dirty[k] = v, b.full_dirty[line, k]
        slot_next[k] = _next_event(steps[events[v] : events[v + 1]], pos, vertex, v, start - 1)
        where[v] = k
        h ^= hashes[v] * _DIRTY if slot_dirty[k] else hashes[v]
        red += words[v]
    next_group = start
    while 0 < next_group < end and arrange > 0 and b.group[seq[next_group]] == b.group[seq[next_group - 1]]:
        next_group += 1
    for i in range(start, len(seq)):
        if arrange > 0 and i == next_group and i < end:
            now[1] = token
            next_group = _arrange(b, i, arrange)
            token = now[1]
            end = max(end, next_group)
        if i >= end and h == b.before[i]:
            break
        if not write and (i > cap or delta > most):
            delta = REJECTED
            break
        if write:
            if i % stride == 0:
                line = i // stride
                b.full_size[line] = size
                for k in range(size):
                    b.full_vertex[line, k] = slot_vertex[k]
                    b.full_dirty[line, k] = slot_dirty[k]
            b.before[i] = h
        v = vertex[seq[i]]
        lo, hi = indptr[v], indptr[v + 1]
        token += 1
        io = missing = 0
        for e in range(lo, hi):
            p = indices[e]
            mark[p] = token
            if where[p] < 0:
                missing += words[p]
        mark[v] = token
        own = 0 if where[v] >= 0 else words[v]
        excess = red + missing + own - M
        io = missing
        while excess > 0:
            k = _victim(slot_vertex, slot_next, slot_dirty, size, mark, token, i)
            u = slot_vertex[k]
            if slot_dirty[k] and not slot_next[k] & 1:
                io += words[u]
            h ^= hashes[u] * _DIRTY if slot_dirty[k] else hashes[u]
            excess -= words[u]
            red -= words[u]
            size -= 1
            _take_out(slot_vertex, slot_next, slot_dirty, where, k, size)
        for e in range(lo, hi + 1):
            # The operands, then the value itself.
            u = indices[e] if e < hi else v
            event = _next_event(steps[events[u] : events[u + 1]], pos, vertex, u, i)
            k = where[u]
            if event < _NEVER:
                if k < 0:
                    slot_vertex[size] = u
                    slot_dirty[size] = u == v and not b.is_output[v]
                    where[u] = k = size
                    size += 1
                    h ^= hashes[u] * _DIRTY if slot_dirty[k] else hashes[u]
                    red += words[u]
                slot_next[k] = event
            elif k >= 0:
                h ^= hashes[u] * _DIRTY if slot_dirty[k] else hashes[u]
                red -= words[u]
                size -= 1
                _take_out(slot_vertex, slot_next, slot_dirty, where, k, size)
        delta += io - b.cost[i]
        if write:
            b.cost[i] = io
    now[0], now[1] = size, token
    return int(delta)


@numba.njit(cache=True, nogil=True)
def play_all(b: Board, arrange: bool) -> int:
    """Play the whole order and note every board; the loads, and the stores of what is no output, in words.

    With `arrange` every group is rearranged.
    """
    for i in range(len(b.seq)):
        b.pos[b.seq[i]] = i
        b.cost[i] = 0
    b.full_size[0] = 0
    T = len(b.seq)
    return int(play(b, 0, T, T, REJECTED, True, T if arrange else 0))
