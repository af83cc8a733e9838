"""The open states of a search by cost, and its closed ones by group, compiled. Imports numba.

States lie in a `pool.Pool`: a state is (key, first, second), its group is the states of one key. A cost in
the pool is what a state has over the start. A list of *nodes* per cost holds the open states; a state that
gets cheaper gets a second node, and the first is skipped when it comes up.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from solvers.search.mask_kernels import put
from solvers.search.table_kernels import find_group, find_state

__all__ = ["close", "enter", "next_state"]

# What `tally` holds.
CURRENT, BUCKET, GROUPS, STATES, FREE, EXPANDED, DOMINATED, GOAL = range(8)
# What the kernels return.
DONE, PAUSED, FULL, FOUND = range(4)
# Marks of states that are in no list of closed ones.
OPEN, DISCARDED = -2, -3

_NEVER = np.iinfo(np.int32).max


@numba.njit(cache=True, nogil=True)
def next_state(entries: Any, frontier: Any, tally: Any, top: int) -> Any:
    """The cheapest open state, taken out of its list, or -1."""
    while tally[BUCKET] <= top:
        node = frontier.heads[tally[BUCKET]]
        if node < 0:
            tally[BUCKET] += 1
            continue
        i = np.int64(frontier.node_state[node])
        frontier.heads[tally[BUCKET]] = frontier.node_next[node]
        frontier.node_next[node] = tally[FREE]
        tally[FREE] = node
        if entries.cost[i] == tally[BUCKET] and frontier.closed[i] == OPEN:
            return i
    return -1


@numba.njit(cache=True, nogil=True)
def close(i: int, entries: Any, frontier: Any) -> None:
    """Put a state in its group's list of closed ones."""
    group = entries.group[i]
    frontier.closed[i] = frontier.group_head[group]
    frontier.group_head[group] = i


@numba.njit(cache=True, nogil=True)
def enter(
    key: Any,
    first: Any,
    second: Any,
    cost: int,
    parent: int,
    step: int,
    evicted: Any,
    entries: Any,
    frontier: Any,
    tally: Any,
) -> Any:
    """Enter a state, or a cheaper way to one; False if there is no room for it."""
    if tally[STATES] + 2 > len(entries.cost) or tally[GROUPS] + 2 > len(entries.sets) or tally[FREE] < 0:
        return False
    slot = find_group(entries.group_table, entries.sets, key)
    group = np.int64(entries.group_table[slot])
    if group < 0:
        group = tally[GROUPS]
        tally[GROUPS] += 1
        put(entries.sets, group, 0, key)
        entries.group_table[slot] = group
        frontier.group_head[group] = -1
    slot = find_state(entries.state_table, entries.group, entries.first, entries.second, group, first, second)
    j = np.int64(entries.state_table[slot])
    if j < 0:
        j = tally[STATES]
        tally[STATES] += 1
        entries.state_table[slot] = j
        entries.group[j] = group
        put(entries.first, j, 0, first)
        put(entries.second, j, 0, second)
        entries.cost[j] = _NEVER
        frontier.closed[j] = OPEN
    if cost < entries.cost[j]:
        entries.cost[j] = cost
        entries.parent[j] = parent
        entries.vertex[j] = step
        put(entries.evicted, j, 0, evicted)
        node = tally[FREE]
        tally[FREE] = frontier.node_next[node]
        frontier.node_state[node] = j
        frontier.node_next[node] = frontier.heads[cost]
        frontier.heads[cost] = node
    return True


@numba.njit(cache=True, nogil=True)
def known_too_dear(key: Any, first: Any, second: Any, cost: int, entries: Any) -> Any:
    """Whether the state is there already at no higher cost, so that nothing need be worked out for it."""
    group = np.int64(entries.group_table[find_group(entries.group_table, entries.sets, key)])
    if group < 0:
        return False
    slot = find_state(entries.state_table, entries.group, entries.first, entries.second, group, first, second)
    j = np.int64(entries.state_table[slot])
    return j >= 0 and entries.cost[j] <= cost
