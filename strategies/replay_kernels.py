"""Compiled replay: what happens next to every value, and furthest-next-use eviction with store costs.

Importing this module imports numba, so only functions import it.

The computes that are kept are *steps*; their operands, one after the other, take numbered *slots*, the clock
of everything here. A *next event* of a value is coded in one integer: ``k >= 0`` it is the operand in slot k,
``-1`` nothing more happens to it, ``-(k + 2)`` before any further use it is computed anew by the step whose
slots begin at k.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["BLUE", "OUTPUT", "RED", "belady", "next_events"]

RED, BLUE, OUTPUT = 1, 2, 4
_LOAD, _STORE, _COMPUTE, _DELETE = 0, 1, 2, 3
_CLEAN, _DIRTY, _AGAIN = 0, 1, 2
_VERTEX = (1 << 32) - 1


@numba.njit(cache=True, nogil=True)
def next_events(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    state: NDArray[np.uint8],
    order: NDArray[Any],
    last: NDArray[Any],
    steps: NDArray[Any],
    operands: NDArray[Any],
    after_step: NDArray[Any],
    after_use: NDArray[Any],
) -> tuple[int, int]:
    """One pass from the end: drop the useless computes, and note what happens next to every value.

    A compute is useless if its value is computed again, or never used, before any use of it, and it is no
    output still owed. `last` must be -1 everywhere; it ends as the first event of every vertex. `steps` and
    `after_step` (one entry per compute), `operands` and `after_use` (one per slot) are filled from the end;
    `operands` may be empty. Returned are the first valid step and slot. O(len(order) + operands), all arrays
    but `last` touched in the sequence of the order.
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
            last[p] = k
            if len(operands):
                operands[k] = p
        last[v] = -(k + 2)
    return t, k


@intrinsic
def _leading_zeros(typing: Any, word: Any) -> Any:
    """Leading zero bits of a uint64 that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return numba.uint64(numba.uint64), generate


@numba.njit(cache=True, nogil=True)
def _slot_sets(num_slots: int) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Two empty sets of slots in one array of bits; where the levels of a set start, and the words of a set.

    A level has a bit for every word of the level below that is not 0; the last level is one word.
    """
    starts = np.zeros(8, dtype=np.int64)
    levels = total = 0
    size = num_slots
    while levels == 0 or size > 1:
        size = max((size + 63) >> 6, 1)
        starts[levels] = total
        total += size
        levels += 1
    return np.zeros(2 * total, dtype=np.uint64), starts[:levels].copy(), total


@numba.njit(cache=True, nogil=True)
def _add(bits: NDArray[np.uint64], starts: NDArray[np.int64], base: int, slot: int) -> None:
    for level in range(len(starts)):
        w = base + starts[level] + (slot >> 6)
        old = bits[w]
        bits[w] = old | np.uint64(1) << np.uint64(slot & 63)
        if old:
            break
        slot >>= 6


@numba.njit(cache=True, nogil=True)
def _discard(bits: NDArray[np.uint64], starts: NDArray[np.int64], base: int, slot: int) -> None:
    for level in range(len(starts)):
        w = base + starts[level] + (slot >> 6)
        bits[w] &= ~(np.uint64(1) << np.uint64(slot & 63))
        if bits[w]:
            break
        slot >>= 6


@numba.njit(cache=True, nogil=True)
def _largest(bits: NDArray[np.uint64], starts: NDArray[np.int64], base: int) -> int:
    """The largest slot of the set, -1 if it is empty."""
    slot = np.int64(0)
    for level in range(len(starts) - 1, -1, -1):
        word = bits[base + starts[level] + slot]
        if not word:
            return -1
        slot = (slot << 6) + 63 - np.int64(_leading_zeros(word))
    return int(slot)


@numba.njit(cache=True, nogil=True)
def _push(heap: NDArray[np.int64], size: int, key: int) -> None:
    """Put `key` into a max-heap of `size` keys."""
    i = size
    while i > 0 and heap[(i - 1) >> 1] < key:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = key


@numba.njit(cache=True, nogil=True)
def _pop(heap: NDArray[np.int64], size: int) -> None:
    """Take the largest key out of a max-heap of `size` keys."""
    key = heap[size - 1]
    i = 0
    down = 1
    while down < size - 1:
        if down + 1 < size - 1 and heap[down + 1] > heap[down]:
            down += 1
        if heap[down] <= key:
            break
        heap[i] = heap[down]
        i = down
        down = 2 * i + 1
    heap[i] = key


@numba.njit(cache=True, nogil=True)
def belady(
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
    dirty_factor: float,
    drop_first: bool,
    moves: NDArray[Any],
) -> tuple[int, int, int]:
    """Play the steps, evicting by next use; returns loads and stores in words, and the number of moves.

    A red value is represented by the slot of its next use, in one of two sets of slots: clean (it is blue, or
    an output whose store is owed anyway) or dirty (evicting it costs a store). The furthest next use is then
    the largest member. Slots that have passed stay in the sets, but are smaller than all live ones: nothing
    is ever searched for, and only an eviction takes a member out. Values to be computed anew before their
    next use (evicting them costs nothing now) are in a heap, by the first slot of the step that does it, on
    the same terms. O(operands + evictions): a set has log |slots| / 6 levels, at most 6.

    Parameters
    ----------
    weights : empty if every vertex is one word
    dirty_factor : a dirty value goes before a clean one if its next use is more than this many times as far
    drop_first : values to be computed anew go before all others; else they rank as clean ones by the step
        that computes them
    moves : filled unless empty; two entries per operand and three per compute are always enough
    """
    weighted = len(weights) > 0
    emit = len(moves) > 0
    bits, starts, dirty = _slot_sets(len(after_use))
    clean = 0
    # Of sizes that suffice; a page never written to takes no memory. An array that the loop replaced by
    # a longer one would have its references counted at every use, which is three times as slow.
    again = np.empty(len(steps), dtype=np.int64)
    victims = np.empty(len(state), dtype=np.int64)
    kinds = np.empty(len(state), dtype=np.uint8)
    num_again = 0
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
        # Computed again: needless while it is still red; if blue, loading it when it is wanted is cheaper
        # once the operands that recomputing would load weigh more than the value itself.
        if not (state[v] & RED or (state[v] & BLUE and missing > own)):
            excess = red + missing + own - M
            chosen = 0
            while excess > 0:
                at_clean = _largest(bits, starts, clean)
                at_dirty = _largest(bits, starts, dirty)
                at_again = again[0] >> 32 if num_again else -1
                if at_again >= hi and (drop_first or at_again >= max(at_clean, at_dirty)):
                    victims[chosen], kinds[chosen] = again[0], _AGAIN
                    _pop(again, num_again)
                    num_again -= 1
                elif at_dirty >= hi and (at_clean < hi or at_dirty - lo > dirty_factor * (at_clean - lo)):
                    victims[chosen], kinds[chosen] = at_dirty << 32 | operands[at_dirty], _DIRTY
                    _discard(bits, starts, dirty, at_dirty)
                else:
                    victims[chosen], kinds[chosen] = at_clean << 32 | operands[at_clean], _CLEAN
                    _discard(bits, starts, clean, at_clean)
                excess -= weights[victims[chosen] & _VERTEX] if weighted else 1
                chosen += 1
            for c in range(chosen - 1, -1, -1):
                u = victims[c] & _VERTEX
                words = weights[u] if weighted else 1
                if excess + words <= 0:
                    # Heavier ones chosen before made this one superfluous: it stays.
                    excess += words
                    if kinds[c] == _AGAIN:
                        _push(again, num_again, victims[c])
                        num_again += 1
                    else:
                        _add(bits, starts, dirty if kinds[c] == _DIRTY else clean, victims[c] >> 32)
                    continue
                red -= words
                if not state[u] & BLUE and (kinds[c] != _AGAIN or state[u] & OUTPUT):
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
                for k in range(lo, hi):
                    p = operands[k]
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

        for k in range(lo, hi + 1):
            # The operands, then the value itself. What is not red here belongs to a needless compute.
            u = operands[k] if k < hi else v
            event = after_use[k] if k < hi else after_step[t]
            if not state[u] & RED:
                continue
            if event >= 0:
                _add(bits, starts, clean if state[u] & (BLUE | OUTPUT) else dirty, event)
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
                _push(again, num_again, -(event + 2) << 32 | u)
                num_again += 1
    return loads, stores, num_moves
