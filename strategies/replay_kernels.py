"""Compiled replay: what happens next to every value, and furthest-next-use eviction with store costs.

Importing this module imports numba, so only functions import it. Times are positions in ``steps``, the
computes that are kept. A *next event* of a value is coded in one integer: ``t >= 0`` it is an operand of step
t, ``-1`` nothing more happens to it, ``-(t + 2)`` it is computed anew at step t before any further use.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["BLUE", "OUTPUT", "RED", "belady", "next_events"]

RED, BLUE, OUTPUT = 1, 2, 4
_LOAD, _STORE, _COMPUTE, _DELETE = 0, 1, 2, 3
_VERTEX = (1 << 32) - 1
_CLEAN, _DIRTY, _AGAIN = 0, 1, 2


@numba.njit(cache=True, nogil=True)
def next_events(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    state: NDArray[np.uint8],
    order: NDArray[Any],
    last: NDArray[Any],
    steps: NDArray[Any],
    after_step: NDArray[Any],
    after_use: NDArray[Any],
) -> tuple[int, int]:
    """One pass from the end: drop the useless computes, and note what happens next to every value.

    A compute is useless if its value is computed again, or never used, before any use of it, and it is no
    output still owed. `last` must be -1 everywhere; it ends as the first event of every vertex. `steps` and
    `after_step` (one entry per compute) and `after_use` (one per operand) are filled from the end; returned
    are their first valid positions. O(len(order) + operands), all arrays but `last` read in sequence.
    """
    t = len(order)
    k = len(after_use)
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        event = last[v]
        if event < -1 or (event == -1 and not state[v] & OUTPUT):
            continue
        t -= 1
        steps[t] = v
        after_step[t] = event
        for e in range(indptr[v + 1] - 1, indptr[v] - 1, -1):
            k -= 1
            p = indices[e]
            after_use[k] = last[p]
            last[p] = t
        last[v] = -(t + 2)
    return t, k


@numba.njit(cache=True, nogil=True)
def _push(heap: NDArray[np.int64], size: int, key: int) -> int:
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if heap[up] >= key:
            break
        heap[i] = heap[up]
        i = up
    heap[i] = key
    return size + 1


@numba.njit(cache=True, nogil=True)
def _pop(heap: NDArray[np.int64], size: int) -> int:
    """Remove the largest key; the hole first sinks to a leaf, since the last key is nearly always small."""
    size -= 1
    key = heap[size]
    i = 0
    down = 1
    while down < size:
        if down + 1 < size and heap[down + 1] > heap[down]:
            down += 1
        heap[i] = heap[down]
        i = down
        down = 2 * i + 1
    while i > 0:
        up = (i - 1) >> 1
        if heap[up] >= key:
            break
        heap[i] = heap[up]
        i = up
    heap[i] = key
    return size


@numba.njit(cache=True, nogil=True)
def _with_room(heap: NDArray[np.int64], size: int, more: int, now: int) -> tuple[NDArray[np.int64], int]:
    """The heap without entries up to time `now`, with capacity for `more` pushes and as many again."""
    kept = 0
    for i in range(size):
        if heap[i] >> 32 > now:
            heap[kept] = heap[i]
            kept += 1
    for root in range(kept // 2 - 1, -1, -1):
        key = heap[root]
        i = root
        down = 2 * i + 1
        while down < kept:
            if down + 1 < kept and heap[down + 1] > heap[down]:
                down += 1
            if heap[down] <= key:
                break
            heap[i] = heap[down]
            i = down
            down = 2 * i + 1
        heap[i] = key
    if 2 * (kept + more) > len(heap):
        grown = np.empty(4 * (kept + more), dtype=np.int64)
        grown[:kept] = heap[:kept]
        heap = grown
    return heap, kept


@numba.njit(cache=True, nogil=True)
def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    longer = np.empty(2 * len(array), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@numba.njit(cache=True, nogil=True)
def belady(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[np.int64],
    M: int,
    state: NDArray[np.uint8],
    steps: NDArray[Any],
    first_step: int,
    after_step: NDArray[Any],
    after_use: NDArray[Any],
    first_use: int,
    dirty_factor: float,
    drop_first: bool,
    moves: NDArray[Any],
) -> tuple[int, int, int]:
    """Play the steps, evicting by next use; returns loads and stores in words, and the number of moves.

    Three max-heaps hold the values by next use: clean (blue, or an output whose store is owed anyway), dirty
    (eviction costs a store), and to be computed anew (eviction costs nothing now). A value's entry goes stale
    when its time passes, and stale entries are smaller than all live ones, so they never reach the top
    while there is anything to evict: no entry is ever searched for or updated in place, and they are thrown
    out when a heap is full. A value used by the very next step gets no entry. Besides the arrays given,
    memory is O(values that fit in M); time is O(operands + (evictions + values kept) log M).

    Parameters
    ----------
    weights : empty if every vertex is one word
    dirty_factor : a dirty value goes before a clean one if its next use is this many times as far; 1 is
        Belady's rule
    drop_first : values to be computed anew go before all others, else they are ranked as clean ones by the
        step that computes them
    moves : filled unless empty; ``2 operands + 3 computes`` entries are always enough
    """
    weighted = len(weights) > 0
    emit = len(moves) > 0
    clean = np.empty(1024, dtype=np.int64)
    dirty = np.empty(1024, dtype=np.int64)
    again = np.empty(64, dtype=np.int64)
    victims = np.empty(64, dtype=np.int64)
    kinds = np.empty(64, dtype=np.uint8)
    num_clean = num_dirty = num_again = 0
    red = loads = stores = num_moves = 0
    k = first_use
    for t in range(first_step, len(steps)):
        v = steps[t]
        lo, hi = indptr[v], indptr[v + 1]
        degree = hi - lo
        if num_clean + degree >= len(clean):
            clean, num_clean = _with_room(clean, num_clean, degree + 1, t)
        if num_dirty + degree >= len(dirty):
            dirty, num_dirty = _with_room(dirty, num_dirty, degree + 1, t)

        own = weights[v] if weighted else 1
        missing = 0
        for e in range(lo, hi):
            p = indices[e]
            if not state[p] & RED:
                missing += weights[p] if weighted else 1
        # Computed again: needless while it is still red; if blue, loading it when it is wanted is cheaper
        # once the operands that recomputing would load weigh more than the value itself.
        play = not (state[v] & RED or (state[v] & BLUE and missing > own))

        if play:
            excess = red + missing + own - M
            chosen = 0
            while excess > 0:
                at_clean = clean[0] >> 32 if num_clean else -1
                at_dirty = dirty[0] >> 32 if num_dirty else -1
                at_again = again[0] >> 32 if num_again else -1
                if chosen == len(victims):
                    victims = _doubled(victims)
                    kinds = _doubled(kinds)
                if at_again > t and (drop_first or at_again >= max(at_clean, at_dirty)):
                    victims[chosen], kinds[chosen] = again[0], _AGAIN
                    num_again = _pop(again, num_again)
                elif at_dirty > t and (at_clean <= t or at_dirty - t > dirty_factor * (at_clean - t)):
                    victims[chosen], kinds[chosen] = dirty[0], _DIRTY
                    num_dirty = _pop(dirty, num_dirty)
                else:
                    victims[chosen], kinds[chosen] = clean[0], _CLEAN
                    num_clean = _pop(clean, num_clean)
                excess -= weights[victims[chosen] & _VERTEX] if weighted else 1
                chosen += 1
            for c in range(chosen - 1, -1, -1):
                u = victims[c] & _VERTEX
                words = weights[u] if weighted else 1
                if excess + words <= 0:
                    # Heavier ones chosen before made this one superfluous: it stays.
                    excess += words
                    if kinds[c] == _AGAIN:
                        num_again = _push(again, num_again, victims[c])
                    elif kinds[c] == _DIRTY:
                        num_dirty = _push(dirty, num_dirty, victims[c])
                    else:
                        num_clean = _push(clean, num_clean, victims[c])
                    continue
                red -= words
                if kinds[c] != _AGAIN and not state[u] & BLUE:
                    stores += words
                    state[u] |= BLUE
                    if emit:
                        moves[num_moves] = u << 2 | _STORE
                    num_moves += 1
                state[u] &= ~RED
                if emit:
                    moves[num_moves] = u << 2 | _DELETE
                num_moves += 1
            if missing:
                loads += missing
                for e in range(lo, hi):
                    p = indices[e]
                    if not state[p] & RED:
                        state[p] |= RED
                        if emit:
                            moves[num_moves] = p << 2 | _LOAD
                        num_moves += 1
            state[v] |= RED
            if emit:
                moves[num_moves] = v << 2 | _COMPUTE
            num_moves += 1
            red += missing + own

        for e in range(lo, hi + 1):
            # The operands, then the value itself; one that is not red (of a needless compute) has no entry.
            if e < hi:
                u = indices[e]
                event = after_use[k]
                k += 1
            else:
                u = v
                event = after_step[t]
            if not state[u] & RED:
                continue
            if event >= 0:
                if event > t + 1:
                    if state[u] & (BLUE | OUTPUT):
                        num_clean = _push(clean, num_clean, event << 32 | u)
                    else:
                        num_dirty = _push(dirty, num_dirty, event << 32 | u)
            elif event == -1:
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
            else:
                if num_again == len(again):
                    again, num_again = _with_room(again, num_again, 1, t)
                num_again = _push(again, num_again, -(event + 2) << 32 | u)
    return loads, stores, num_moves
