"""How much can be computed between two loads, compiled. Imports numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from solvers.search.mask_kernels import (
    both,
    count,
    either,
    empty_like,
    fetch,
    hash_of,
    is_empty,
    lowest,
    minus,
    put,
    same,
    single,
    without_lowest,
)

__all__ = ["closure", "segments", "segments_exceed", "worth", "worths"]


@numba.njit(cache=True, nogil=True)
def closure(have: Any, candidates: Any, preds: Any) -> Any:
    """`have` and what can be computed from it without loads, among `candidates` (ids are topological)."""
    pool = minus(candidates, have)
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        if is_empty(minus(fetch(preds, v, 0, have), have)):
            have = either(have, single(v, have))
    return have


@numba.njit(cache=True, nogil=True)
def worth(a: Any, values: Any) -> Any:
    """Sum of `values` over the members of `a`."""
    total = np.int64(0)
    while not is_empty(a):
        total += values[lowest(a)]
        a = without_lowest(a)
    return total


@numba.njit(cache=True, nogil=True)
def _reached(
    start: Any, M: int, everything: Any, preds: Any, table: Any, stamps: Any, stamp: int, queue: Any
) -> Any:
    """What can be computed from `start` without loads in M pebbles; a superset if the search gets large."""
    zero = empty_like(start)
    mask = len(stamps) - 1
    put(queue, 0, 0, start)
    tail = 1
    head = 0
    found = zero
    while head < tail:
        R = fetch(queue, head, 0, zero)
        head += 1
        full = count(R) >= M
        pool = R if full else minus(everything, R)
        while not is_empty(pool):
            v = lowest(pool)
            pool = without_lowest(pool)
            if full:
                after = minus(R, single(v, zero))
            elif is_empty(minus(fetch(preds, v, 0, zero), R)):
                after = either(R, single(v, zero))
                found = either(found, single(v, zero))
            else:
                continue
            slot = np.int64(hash_of(after, np.uint64(3)) & np.uint64(mask))
            while stamps[slot] == stamp and not same(fetch(table, slot, 0, zero), after):
                slot = (slot + 1) & mask
            if stamps[slot] == stamp:
                continue
            if tail == len(queue):
                return minus(closure(start, everything, preds), start)
            stamps[slot] = stamp
            put(table, slot, 0, after)
            put(queue, tail, 0, after)
            tail += 1
    return minus(found, start)


@numba.njit(cache=True, nogil=True)
def segments(
    M: int,
    preds: Any,
    succs: Any,
    keepers: Any,
    everything: Any,
    exact: bool,
    table: Any,
    stamps: Any,
    queue: Any,
    out: Any,
) -> int:
    """What each set of at most M - 1 of the `keepers` yields, written to `out` without repeats.

    With `exact` it is what M pebbles can compute, else what unlimited memory can. Returns the number of rows;
    -1 if `out` is too short. `table`, `stamps` and `queue` are scratch, `stamps` zero at the start.
    """
    zero = empty_like(everything)
    most = min(M - 1, len(keepers))
    size = 1
    seen_table = np.zeros((4 * _power(len(out)), preds.shape[1]), np.uint64)
    rows = 0
    stamp = 0
    place = np.arange(most)
    # In a block some vertices have all their predecessors outside: they can be computed from anything.
    free = False
    pool = everything
    while not is_empty(pool):
        free = free or is_empty(fetch(preds, lowest(pool), 0, zero))
        pool = without_lowest(pool)
    while True:
        start = zero
        for k in range(size):
            start = either(start, single(keepers[place[k]], zero))
        # Nothing is computed unless a first vertex has all its predecessors here.
        fruitful = free
        pool = start
        while not is_empty(pool) and not fruitful:
            u = lowest(pool)
            pool = without_lowest(pool)
            after = minus(fetch(succs, u, 0, zero), start)
            while not is_empty(after):
                if is_empty(minus(fetch(preds, lowest(after), 0, zero), start)):
                    fruitful = True
                    break
                after = without_lowest(after)
        if fruitful:
            if exact:
                stamp += 1
                yielded = _reached(start, M, everything, preds, table, stamps, stamp, queue)
            else:
                yielded = minus(closure(start, everything, preds), start)
            mask = len(seen_table) - 1
            slot = np.int64(hash_of(yielded, np.uint64(5)) & np.uint64(mask))
            while True:
                held = fetch(seen_table, slot, 0, zero)
                if is_empty(held) or same(held, yielded):
                    break
                slot = (slot + 1) & mask
            if is_empty(fetch(seen_table, slot, 0, zero)):
                if rows == len(out):
                    return -1
                put(seen_table, slot, 0, yielded)
                put(out, rows, 0, yielded)
                rows += 1
        k = size - 1
        while k >= 0 and place[k] == len(keepers) - size + k:
            k -= 1
        if k < 0:
            if size == most:
                return rows
            size += 1
            for j in range(size):
                place[j] = j
            continue
        place[k] += 1
        for j in range(k + 1, size):
            place[j] = place[j - 1] + 1


@numba.njit(cache=True, nogil=True)
def _power(n: int) -> int:
    power = 16
    while power < n:
        power *= 2
    return power


@numba.njit(cache=True, nogil=True)
def worths(rows: Any, count_rows: int, values: Any, out: Any, zero: Any) -> None:
    """The worth of every row."""
    for i in range(count_rows):
        out[i] = worth(fetch(rows, i, 0, zero), values)


@numba.njit(cache=True, nogil=True)
def segments_exceed(R: Any, blue: Any, wanted: Any, useful: Any, game: Any, slack: int) -> Any:
    """Whether computing `wanted` takes more than `slack` loads, paid for or not, by the worth of segments."""
    most = game.most
    if most == 0:
        return False
    # What must be computed: neither red nor blue, and needed by something that must be.
    todo = minus(wanted, R)
    needed = todo
    total = np.int64(0)
    while not is_empty(todo):
        v = lowest(todo)
        todo = without_lowest(todo)
        total += game.values[v]
        new = minus(minus(minus(fetch(game.preds, v, 0, R), R), blue), needed)
        needed = either(needed, new)
        todo = either(todo, new)
    if (total + most - 1) // most <= slack:
        return False
    # What may come before the first load, by way of blue vertices computed again too.
    first = worth(both(closure(R, minus(useful, game.sources), game.preds), needed), game.values)
    return (total - min(first, most) + most - 1) // most > slack
