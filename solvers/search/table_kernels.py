"""Hash tables of groups and of states, open addressing, in arrays. Imports numba.

A table holds indices into arrays of sets, -1 where a slot is free; its length is a power of two, at least
twice the number of entries.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from solvers.search.mask_kernels import count, fetch, hash_of, is_empty, lowest, same, without_lowest

__all__ = ["find_group", "find_state", "rehash", "words_of"]


@numba.njit(cache=True, nogil=True)
def words_of(a: Any, weights: Any, unit: bool) -> Any:
    """Words of the set `a`."""
    if unit:
        return count(a)
    total = 0
    while not is_empty(a):
        total += weights[lowest(a)]
        a = without_lowest(a)
    return total


@numba.njit(cache=True, nogil=True)
def find_group(table: Any, sets: Any, key: Any) -> Any:
    """The slot of the set `key`: its own, or the free one where it belongs."""
    mask = len(table) - 1
    slot = np.int64(hash_of(key, np.uint64(1)) & np.uint64(mask))
    while table[slot] >= 0 and not same(fetch(sets, table[slot], 0, key), key):
        slot = (slot + 1) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def find_state(table: Any, group_of: Any, first: Any, second: Any, group: int, a: Any, b: Any) -> Any:
    """The slot of the state (a, b) of `group`: its own, or the free one where it belongs."""
    mask = len(table) - 1
    slot = np.int64(hash_of(b, hash_of(a, np.uint64(group))) & np.uint64(mask))
    while table[slot] >= 0:
        i = table[slot]
        if group_of[i] == group and same(fetch(first, i, 0, a), a) and same(fetch(second, i, 0, a), b):
            break
        slot = (slot + 1) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def rehash(
    group_table: Any,
    state_table: Any,
    sets: Any,
    group_of: Any,
    first: Any,
    second: Any,
    groups: int,
    states: int,
    zero: Any,
) -> None:
    """Enter all groups and states into tables that are still free."""
    for i in range(groups):
        group_table[find_group(group_table, sets, fetch(sets, i, 0, zero))] = i
    for i in range(states):
        a = fetch(first, i, 0, zero)
        b = fetch(second, i, 0, zero)
        state_table[find_state(state_table, group_of, first, second, group_of[i], a, b)] = i
