"""Compiled replay under the variants of the rules: sliding, free sources, no deletion, costs, partial.

Importing this module imports numba, so only functions import it.

Next events are coded as in `strategies.replay_kernels`. Red values that may be evicted are filed in one of
four max-heaps by their key, the clock of their next use; the heap says what evicting them costs, bit 0 a load
and bit 1 a store. An entry is dead once its vertex is filed anew or no longer red, and is thrown away when it
surfaces. What the current step touches is not filed.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["BELADY", "BLUE", "DONE", "FIFO", "LRU", "OUTPUT", "RANDOM", "RED", "SOURCE", "aggregate", "play"]

RED, BLUE, OUTPUT, SOURCE, DONE = 1, 2, 4, 8, 16
BELADY, LRU, FIFO, RANDOM = 0, 1, 2, 3
_LOAD, _STORE, _COMPUTE, _DELETE = 0, 1, 2, 3
_NEVER = 2**31 - 2
_VERTEX = (1 << 32) - 1

# What `flags` holds.
SLIDING, DELETION, ANY_OUTPUT, AGAIN, POLICY = range(5)
# What `tally` counts, loads and stores in words.
LOADS, STORES, MOVES, RED_WORDS, CLOCK = range(5)


@numba.njit(cache=True, nogil=True)
def _emit(moves: NDArray[Any], tally: NDArray[np.int64], item: int, op: int) -> None:
    if len(moves):
        moves[tally[MOVES]] = item << 2 | op
    tally[MOVES] += 1


@numba.njit(cache=True, nogil=True)
def _words(weights: NDArray[np.int64], v: int) -> int:
    return int(weights[v]) if len(weights) else 1


@numba.njit(cache=True, nogil=True)
def _owed(state: NDArray[np.uint8], flags: NDArray[np.int64], v: int, event: int) -> bool:
    """Whether dropping red `v` now, with that next event, would lose what is not blue yet."""
    if state[v] & BLUE:
        return False
    if event >= 0:
        return not (state[v] & SOURCE and flags[AGAIN])
    if state[v] & OUTPUT:
        return event == -1 or not flags[ANY_OUTPUT]
    return False


@numba.njit(cache=True, nogil=True)
def _file(
    heaps: NDArray[np.int64],
    sizes: NDArray[np.int64],
    filed: NDArray[np.int64],
    state: NDArray[np.uint8],
    flags: NDArray[np.int64],
    arrival: NDArray[np.int64],
    tally: NDArray[np.int64],
    v: int,
    event: int,
) -> None:
    """File red `v` by its next event."""
    policy = flags[POLICY]
    kind = 0
    key = event if event >= 0 else _NEVER if event == -1 else -(event + 2)
    if policy == BELADY:
        free = state[v] & SOURCE and flags[AGAIN]
        if event >= 0 and not free:
            kind = 1
        # What an output owes it pays sooner or later, unless it may end red.
        promised = state[v] & OUTPUT and not state[v] & BLUE and not flags[ANY_OUTPUT]
        if (not flags[DELETION] or _owed(state, flags, v, event)) and not promised:
            kind |= 2
    elif event != -1:
        if policy == LRU:
            key = _NEVER - 1 - tally[CLOCK]
        elif policy == FIFO:
            key = _NEVER - 1 - arrival[v]
        else:
            key = np.random.randint(0, _NEVER)
    filed[v] = key << 2 | kind
    heap = heaps[kind]
    entry = key << 32 | v
    i = sizes[kind]
    sizes[kind] = i + 1
    while i > 0 and heap[(i - 1) >> 1] < entry:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = entry


@numba.njit(cache=True, nogil=True)
def _top(
    heap: NDArray[np.int64],
    sizes: NDArray[np.int64],
    filed: NDArray[np.int64],
    state: NDArray[np.uint8],
    kind: int,
) -> int:
    """The live entry of largest key, or -1; dead ones above it are thrown away."""
    while sizes[kind]:
        entry = heap[0]
        v = entry & _VERTEX
        if state[v] & RED and filed[v] == (entry >> 32 << 2 | kind):
            return int(entry)
        sizes[kind] -= 1
        last = heap[sizes[kind]]
        i = 0
        down = 1
        while down < sizes[kind]:
            if down + 1 < sizes[kind] and heap[down + 1] > heap[down]:
                down += 1
            if heap[down] <= last:
                break
            heap[i] = heap[down]
            i = down
            down = 2 * i + 1
        heap[i] = last
    return -1


@numba.njit(cache=True, nogil=True)
def _regret(key: int, price: float, now: int) -> float:
    """What an eviction costs per tick until the value is wanted again; free ones go first, the far before."""
    wait = 1e18 if key >= _NEVER else float(max(key - now, 0) + 1)
    return price / wait if price > 0 else -wait


@numba.njit(cache=True, nogil=True)
def _victim(
    heaps: NDArray[np.int64],
    sizes: NDArray[np.int64],
    filed: NDArray[np.int64],
    state: NDArray[np.uint8],
    prices: NDArray[np.float64],
    now: int,
) -> tuple[int, float]:
    """The filed vertex whose eviction is regretted least, or -1, and the regret."""
    best = -1
    least = np.inf
    for kind in range(4):
        entry = _top(heaps[kind], sizes, filed, state, kind)
        if entry >= 0:
            regret = _regret(entry >> 32, prices[kind], now)
            if regret < least:
                least = regret
                best = entry & _VERTEX
    return best, least


@numba.njit(cache=True, nogil=True)
def _evict(
    state: NDArray[np.uint8],
    weights: NDArray[np.int64],
    flags: NDArray[np.int64],
    tally: NDArray[np.int64],
    moves: NDArray[Any],
    v: int,
    event: int,
) -> None:
    """Take the red pebble off `v`, storing it if it is owed or if there is no other way."""
    words = _words(weights, v)
    if not flags[DELETION] or _owed(state, flags, v, event):
        tally[STORES] += words
        state[v] |= BLUE
        _emit(moves, tally, v, _STORE)
    if flags[DELETION]:
        _emit(moves, tally, v, _DELETE)
    state[v] &= ~RED
    tally[RED_WORDS] -= words


@numba.njit(cache=True, nogil=True)
def _settle(
    heaps: NDArray[np.int64],
    sizes: NDArray[np.int64],
    filed: NDArray[np.int64],
    events: NDArray[np.int64],
    state: NDArray[np.uint8],
    weights: NDArray[np.int64],
    flags: NDArray[np.int64],
    arrival: NDArray[np.int64],
    tally: NDArray[np.int64],
    moves: NDArray[Any],
    v: int,
    event: int,
) -> None:
    """After a step: drop red `v` if it is dead and that costs nothing more, else file it."""
    events[v] = event
    if event == -1:
        owed = state[v] & OUTPUT and not state[v] & BLUE
        if (owed and not flags[ANY_OUTPUT]) or (flags[DELETION] and not owed):
            _evict(state, weights, flags, tally, moves, v, event)
            return
    _file(heaps, sizes, filed, state, flags, arrival, tally, v, event)


@numba.njit(cache=True, nogil=True)
def _fetch(
    state: NDArray[np.uint8],
    weights: NDArray[np.int64],
    flags: NDArray[np.int64],
    arrival: NDArray[np.int64],
    tally: NDArray[np.int64],
    moves: NDArray[Any],
    v: int,
    base: int,
) -> None:
    """Make `v` red: load it if it is blue, else compute the source (its COMPUTE names ``base + v``)."""
    words = _words(weights, v)
    if state[v] & BLUE and not (state[v] & SOURCE and flags[AGAIN]):
        tally[LOADS] += words
        _emit(moves, tally, v, _LOAD)
    else:
        state[v] |= DONE
        _emit(moves, tally, base + v, _COMPUTE)
    state[v] |= RED
    arrival[v] = tally[CLOCK]
    tally[RED_WORDS] += words


@numba.njit(cache=True, nogil=True)
def play(
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
    first_event: NDArray[np.int32],
    flags: NDArray[np.int64],
    prices: NDArray[np.float64],
    seed: int,
    moves: NDArray[Any],
) -> tuple[int, int, int]:
    """Play the steps; returns loads and stores in words, and the number of moves.

    Parameters
    ----------
    weights : empty if every vertex is one word
    first_event : what happens first to every vertex, for those red at the start
    prices : of an eviction per kind (none, load, store, both), per word
    moves : filled unless empty; four entries per operand, five per compute and five per vertex are enough
    """
    np.random.seed(seed)
    n = len(state)
    tally = np.zeros(5, dtype=np.int64)
    sizes = np.zeros(4, dtype=np.int64)
    heaps = np.empty((4, len(after_use) + len(steps) + 2 * n), dtype=np.int64)
    filed = np.full(n, -1, dtype=np.int64)
    events = np.full(n, -1, dtype=np.int64)
    arrival = np.zeros(n, dtype=np.int64)
    for v in range(n):
        if state[v] & RED:
            tally[RED_WORDS] += _words(weights, v)
    for v in range(n):
        if state[v] & RED:
            _settle(
                heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, v, first_event[v]
            )
    hi = first_use
    for t in range(first_step, len(steps)):
        v = steps[t]
        lo = hi
        hi = lo + indptr[v + 1] - indptr[v]
        tally[CLOCK] = t + 1
        own = _words(weights, v)
        missing = loading = 0
        filed[v] = -1
        for k in range(lo, hi):
            p = operands[k]
            filed[p] = -1
            if not state[p] & RED:
                missing += _words(weights, p)
                if state[p] & BLUE:
                    loading += _words(weights, p)
        # Computed again: needless while it is still red; if blue, loading it when it is wanted is cheaper
        # once the operands that recomputing would load weigh more than the value itself.
        if not (state[v] & RED or (state[v] & BLUE and loading > own)):
            slid = -1
            if flags[SLIDING]:
                # The heaviest operand that is of no further use gives its pebble.
                for k in range(lo, hi):
                    p = operands[k]
                    useless = after_use[k] < 0 and not (
                        _owed(state, flags, p, after_use[k]) and not flags[DELETION]
                    )
                    if useless and (slid < 0 or _words(weights, p) > _words(weights, operands[slid])):
                        slid = k
            while True:
                given = 0 if slid < 0 else min(own, _words(weights, operands[slid]))
                if tally[RED_WORDS] + missing + own - given <= M:
                    break
                u, regret = _victim(heaps, sizes, filed, state, prices, lo)
                if u < 0:
                    # Only operands are red, and one that is too light gives its pebble: the heaviest will do.
                    for k in range(lo, hi):
                        if slid < 0 or _words(weights, operands[k]) > _words(weights, operands[slid]):
                            slid = k
                    continue
                if flags[SLIDING] and slid < 0:
                    for k in range(lo, hi):
                        p = operands[k]
                        price = prices[1] if state[p] & BLUE else prices[3]
                        if state[p] & SOURCE and flags[AGAIN]:
                            price = 0.0
                        other = _regret(after_use[k], price, lo)
                        if other < regret:
                            regret = other
                            slid = k
                    if slid >= 0:
                        continue
                _evict(state, weights, flags, tally, moves, u, events[u])
            for k in range(lo, hi):
                if not state[operands[k]] & RED:
                    _fetch(state, weights, flags, arrival, tally, moves, operands[k], 0)
            if slid >= 0:
                p = operands[slid]
                if _owed(state, flags, p, after_use[slid]):
                    # Stored before its pebble goes; without deletion the store takes the pebble: load again.
                    tally[STORES] += _words(weights, p)
                    state[p] |= BLUE
                    _emit(moves, tally, p, _STORE)
                    if not flags[DELETION]:
                        tally[LOADS] += _words(weights, p)
                        _emit(moves, tally, p, _LOAD)
            _emit(moves, tally, v, _COMPUTE)
            state[v] |= RED | DONE
            arrival[v] = tally[CLOCK]
            tally[RED_WORDS] += own
            if slid >= 0:
                p = operands[slid]
                _emit(moves, tally, p, _DELETE)
                state[p] &= ~RED
                tally[RED_WORDS] -= _words(weights, p)
        for k in range(lo, hi + 1):
            u = operands[k] if k < hi else v
            event = after_use[k] if k < hi else after_step[t]
            if state[u] & RED:
                _settle(heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, u, event)
    for v in range(n):
        if state[v] & SOURCE and state[v] & OUTPUT and not state[v] & (BLUE | DONE):
            # An output that nothing uses and that is not given: computed at last.
            while tally[RED_WORDS] + _words(weights, v) > M:
                u, _ = _victim(heaps, sizes, filed, state, prices, hi)
                _evict(state, weights, flags, tally, moves, u, events[u])
            _fetch(state, weights, flags, arrival, tally, moves, v, 0)
            _settle(heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, v, -1)
    return int(tally[LOADS]), int(tally[STORES]), int(tally[MOVES])


@numba.njit(cache=True, nogil=True)
def aggregate(
    sequence: NDArray[np.int64],
    tails: NDArray[Any],
    heads: NDArray[Any],
    weights: NDArray[np.int64],
    M: int,
    state: NDArray[np.uint8],
    is_output: NDArray[np.bool_],
    flags: NDArray[np.int64],
    prices: NDArray[np.float64],
    seed: int,
    moves: NDArray[Any],
) -> tuple[int, int, int]:
    """Play a sequence of edges under partial computation; returns as `play`.

    Every edge into a vertex that is not red at the start is in `sequence`, each after all edges into its
    tail. `DONE` marks a source computed and a head begun; a head is marked as an output once it is complete,
    what is stored before is no output. `moves` is filled unless empty; nine entries per edge and five per
    vertex are enough.
    """
    np.random.seed(seed)
    n = len(state)
    tally = np.zeros(5, dtype=np.int64)
    sizes = np.zeros(4, dtype=np.int64)
    heaps = np.empty((4, 2 * len(sequence) + 2 * n), dtype=np.int64)
    filed = np.full(n, -1, dtype=np.int64)
    arrival = np.zeros(n, dtype=np.int64)
    # The next edge of the sequence that a vertex is at an end of, by a pass from behind.
    events = np.full(n, -1, dtype=np.int64)
    pending = np.zeros(n, dtype=np.int64)
    after_tail = np.empty(len(sequence), dtype=np.int64)
    after_head = np.empty(len(sequence), dtype=np.int64)
    for i in range(len(sequence) - 1, -1, -1):
        u, v = tails[sequence[i]], heads[sequence[i]]
        after_tail[i], after_head[i] = events[u], events[v]
        events[u] = events[v] = i
        pending[v] += 1
    for v in range(n):
        if state[v] & RED:
            tally[RED_WORDS] += _words(weights, v)
    for v in range(n):
        if state[v] & RED:
            _settle(heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, v, events[v])
    for i in range(len(sequence)):
        u, v = tails[sequence[i]], heads[sequence[i]]
        tally[CLOCK] = i + 1
        filed[u] = filed[v] = -1
        need = 0
        if not state[u] & RED:
            need += _words(weights, u)
        if not state[v] & RED:
            need += _words(weights, v)
        while tally[RED_WORDS] + need > M:
            x, _ = _victim(heaps, sizes, filed, state, prices, i)
            _evict(state, weights, flags, tally, moves, x, events[x])
        if not state[u] & RED:
            _fetch(state, weights, flags, arrival, tally, moves, u, len(tails))
        if not state[v] & RED:
            if state[v] & DONE:
                _fetch(state, weights, flags, arrival, tally, moves, v, 0)
            else:
                state[v] |= RED | DONE
                arrival[v] = tally[CLOCK]
                tally[RED_WORDS] += _words(weights, v)
        _emit(moves, tally, sequence[i], _COMPUTE)
        state[v] &= ~BLUE
        pending[v] -= 1
        if pending[v] == 0 and is_output[v]:
            state[v] |= OUTPUT
        if state[u] & RED:
            _settle(
                heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, u, after_tail[i]
            )
        _settle(heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, v, after_head[i])
    for v in range(n):
        if state[v] & SOURCE and state[v] & OUTPUT and not state[v] & (BLUE | DONE):
            while tally[RED_WORDS] + _words(weights, v) > M:
                x, _ = _victim(heaps, sizes, filed, state, prices, len(sequence))
                _evict(state, weights, flags, tally, moves, x, events[x])
            _fetch(state, weights, flags, arrival, tally, moves, v, len(tails))
            _settle(heaps, sizes, filed, events, state, weights, flags, arrival, tally, moves, v, -1)
    return int(tally[LOADS]), int(tally[STORES]), int(tally[MOVES])
