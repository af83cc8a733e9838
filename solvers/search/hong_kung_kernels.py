"""The search with recomputation, compiled: layers by the number of stored vertices.

docs/exact.md has the definitions and the proofs. A group is a set B of stored vertices, a state in it is
(R, P): the red vertices, and the stored ones whose first load is paid for already. Inside a group states are
settled in order of cost; storing one more vertex leads to the next layer. Importing this module imports
numba.
"""

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
    has,
    hash_of,
    is_empty,
    lowest,
    minus,
    put,
    same,
    single,
    without_lowest,
)
from solvers.search.red_kernels import covered, normal, useful_of
from solvers.search.relaxation_kernels import loads_exceed
from solvers.search.segment_kernels import loads_by_segments
from solvers.search.symmetry_kernels import MAX_STEPS, descend, descend_pair, rename
from solvers.search.table_kernels import find_group, find_state, words_of

__all__ = ["rehash_local", "root_exceeds", "settle"]

# What `tally` holds: the cursor, sizes of the local search and of the next layer, and counts.
GROUP, STARTED, LOCALS, NODES, BUCKET, SETTLED, GROUPS, STATES = range(8)
EXPANDED, DOMINATED, BEST, BEST_STATE, PEAK, CHAINED = range(8, 14)
# What `settle` returns.
DONE, PAUSED, FULL_NEXT, FULL_LOCAL = range(4)
# How many settled states a state is compared with.
SCAN = 8192


@numba.njit(cache=True, nogil=True)
def too_dear(
    R: Any,
    P: Any,
    blue: Any,
    sources: Any,
    wanted: Any,
    useful: Any,
    preds: Any,
    succs: Any,
    weights: Any,
    values: Any,
    most: int,
    slack: int,
    flow: Any,
    through: Any,
    queue: Any,
    came: Any,
) -> Any:
    """Whether computing `wanted` needs more than `slack` words of loads that are not paid for yet."""
    if loads_by_segments(R, blue, wanted, preds, values, most) - count(P) > slack:
        return True
    return loads_exceed(
        either(R, P), blue, sources, wanted, useful, preds, succs, weights, slack, flow, through, queue, came
    )


@numba.njit(cache=True, nogil=True)
def root_exceeds(
    zero: Any,
    sources: Any,
    outputs: Any,
    preds: Any,
    succs: Any,
    weights: Any,
    values: Any,
    most: int,
    slack: int,
) -> Any:
    """Whether the start needs more than `slack` words of loads."""
    n = len(weights)
    useful = useful_of(outputs, preds)
    flow = np.zeros((n, n), np.int64)
    row = np.zeros((3, 2 * n), np.int64)
    return too_dear(
        zero, zero, sources, sources, outputs, useful, preds, succs, weights, values, most, slack,
        flow, row[0], row[1], row[2],
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _find_local(table: Any, reds: Any, paids: Any, R: Any, P: Any) -> Any:
    mask = len(table) - 1
    slot = np.int64(hash_of(P, hash_of(R, np.uint64(7))) & np.uint64(mask))
    while table[slot] >= 0:
        i = table[slot]
        if same(fetch(reds, i, 0, R), R) and same(fetch(paids, i, 0, R), P):
            break
        slot = (slot + 1) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def rehash_local(table: Any, slots: Any, reds: Any, paids: Any, tally: Any, zero: Any) -> None:
    """Fill an empty hash table with the states of the group at work."""
    for i in range(tally[LOCALS]):
        slot = _find_local(table, reds, paids, fetch(reds, i, 0, zero), fetch(paids, i, 0, zero))
        table[slot] = i
        slots[i] = slot


@numba.njit(cache=True, nogil=True)
def _dominated(
    i: int,
    settled: Any,
    settled_count: int,
    chain_head: Any,
    chain_size: Any,
    chain_state: Any,
    chain_next: Any,
    reds: Any,
    paids: Any,
    cost: Any,
    blue: Any,
    weights: Any,
    unit: bool,
    zero: Any,
) -> Any:
    """Whether a settled state can become at least as good as state `i` by loads worth the difference."""
    R = fetch(reds, i, 0, zero)
    P = fetch(paids, i, 0, zero)
    g = cost[i]
    # Only a state that holds every red value that is not blue can: look where the rarest of them is held.
    rare = -1
    own = minus(R, blue)
    pool = own
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        if rare < 0 or chain_size[v] < chain_size[rare]:
            rare = v
    k = settled_count - 1
    node = np.int64(-1)
    if rare >= 0:
        node = np.int64(chain_head[rare])
    for _ in range(SCAN):
        if rare >= 0:
            if node < 0:
                return False
            t = chain_state[node]
            node = np.int64(chain_next[node])
        else:
            if k < 0:
                return False
            t = settled[k]
            k -= 1
        missing = minus(R, fetch(reds, t, 0, zero))
        if not is_empty(both(missing, own)):
            continue
        paid = fetch(paids, t, 0, zero)
        price = (
            words_of(missing, weights, unit)
            + words_of(P, weights, unit)
            - words_of(both(paid, either(missing, P)), weights, unit)
        )
        if price <= g - cost[t]:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def settle(
    M: int,
    weights: Any,
    unit: bool,
    preds: Any,
    succs: Any,
    sources: Any,
    outputs: Any,
    tables: Any,
    values: Any,
    most: int,
    base: int,
    limit: int,
    sets: Any,
    begin: Any,
    reds: Any,
    paids: Any,
    cost: Any,
    local_reds: Any,
    local_paids: Any,
    local_cost: Any,
    local_parent: Any,
    local_vertex: Any,
    local_evicted: Any,
    local_slot: Any,
    local_table: Any,
    settled: Any,
    chain_head: Any,
    chain_size: Any,
    chain_state: Any,
    chain_next: Any,
    node_state: Any,
    node_next: Any,
    heads: Any,
    next_sets: Any,
    next_group: Any,
    next_reds: Any,
    next_paids: Any,
    next_cost: Any,
    next_origin: Any,
    next_parent: Any,
    next_vertex: Any,
    next_evicted: Any,
    group_table: Any,
    state_table: Any,
    tally: Any,
    budget: int,
    stop_group: int,
) -> int:
    """Settle the groups of one layer up to `stop_group`, or until out of `budget` states or of room.

    Costs are counted from `base` (the words of all outputs): `limit` is the highest total kept, loads still
    to come included. A vertex stored is entered as ``v``, one computed and stored as ``v + n``.
    """
    n = len(weights)
    zero = empty_like(sources)
    width = preds.shape[1]
    scratch = np.zeros((1, width), np.uint64)
    flow = np.zeros((n, n), np.int64)
    through = np.zeros(n, np.int64)
    queue = np.zeros(2 * n, np.int64)
    came = np.zeros(2 * n, np.int64)
    child_group = np.zeros(n, np.int64)
    child_useful = np.zeros((n, width), np.uint64)
    steps = np.zeros((n, MAX_STEPS), np.int64)
    steps_len = np.zeros(n, np.int64)
    child_fixers = np.zeros((n, max(1, tables.shape[0])), np.int64)
    child_fixed = np.zeros(n, np.int64)
    pair_steps = np.zeros(MAX_STEPS, np.int64)
    fixers = np.zeros(max(1, tables.shape[0]), np.int64)
    cand = np.zeros(n + 1, np.int64)
    chosen = np.zeros(n + 1, np.int64)
    prefer = np.zeros((n, width), np.uint64)
    top = limit - base
    while tally[GROUP] < stop_group:
        gi = tally[GROUP]
        B = fetch(sets, gi, 0, zero)
        wanted = minus(outputs, B)
        if is_empty(wanted):
            for s in range(begin[gi], begin[gi + 1]):
                if cost[s] + base < tally[BEST]:
                    tally[BEST] = cost[s] + base
                    tally[BEST_STATE] = s
            tally[GROUP] += 1
            continue
        useful = useful_of(wanted, preds)
        blue = either(B, sources)
        work = minus(useful, sources)
        fixed = 0
        for g in range(tables.shape[0]):
            if same(rename(tables, g, scratch, B), B):
                fixers[fixed] = g
                fixed += 1
        for v in range(n):
            child_group[v] = -2
        # A source that is kept serves as well as any blue value whose uses are among its own.
        pool = both(useful, sources)
        while not is_empty(pool):
            y = lowest(pool)
            pool = without_lowest(pool)
            uses = both(fetch(succs, y, 0, zero), useful)
            first = zero
            others = minus(both(useful, blue), single(y, zero))
            while not is_empty(others):
                x = lowest(others)
                others = without_lowest(others)
                mine = both(fetch(succs, x, 0, zero), useful)
                if weights[x] != weights[y] or not is_empty(minus(mine, uses)):
                    continue
                if same(mine, uses) and has(sources, x) and x > y:
                    continue
                first = either(first, single(x, zero))
            put(prefer, y, 0, first)
        if tally[STARTED] == 0:
            if begin[gi + 1] - begin[gi] + 8 > len(local_cost):
                return FULL_LOCAL
            for b in range(top + 2):
                heads[b] = -1
            for v in range(n):
                chain_head[v] = -1
                chain_size[v] = 0
            tally[CHAINED] = 0
            tally[LOCALS] = 0
            tally[NODES] = 0
            tally[BUCKET] = 0
            tally[SETTLED] = 0
            for s in range(begin[gi], begin[gi + 1]):
                R = fetch(reds, s, 0, zero)
                P = fetch(paids, s, 0, zero)
                slot = _find_local(local_table, local_reds, local_paids, R, P)
                i = tally[LOCALS]
                tally[LOCALS] += 1
                local_table[slot] = i
                local_slot[i] = slot
                put(local_reds, i, 0, R)
                put(local_paids, i, 0, P)
                local_cost[i] = cost[s]
                local_parent[i] = -1 - s
                node_state[i] = i
                node_next[i] = heads[cost[s]]
                heads[cost[s]] = i
            tally[NODES] = tally[LOCALS]
            tally[STARTED] = 1
        while tally[BUCKET] <= top:
            bucket = tally[BUCKET]
            node = heads[bucket]
            if node < 0:
                tally[BUCKET] += 1
                continue
            if tally[EXPANDED] >= budget:
                return PAUSED
            i = node_state[node]
            heads[bucket] = node_next[node]
            if local_cost[i] != bucket:
                continue
            if _dominated(
                i,
                settled,
                tally[SETTLED],
                chain_head,
                chain_size,
                chain_state,
                chain_next,
                local_reds,
                local_paids,
                local_cost,
                blue,
                weights,
                unit,
                zero,
            ):
                tally[DOMINATED] += 1
                continue
            tally[EXPANDED] += 1
            R = fetch(local_reds, i, 0, zero)
            P = fetch(local_paids, i, 0, zero)
            held = words_of(R, weights, unit)
            fill = -1
            pool = minus(minus(work, R), P)
            while not is_empty(pool):
                v = lowest(pool)
                pool = without_lowest(pool)
                if held + weights[v] > M or not is_empty(minus(fetch(preds, v, 0, zero), R)):
                    continue
                if has(wanted, v):
                    fill = v
                    break
                if fill < 0 and not covered(v, R, useful, succs, weights):
                    fill = v
            full = 0
            # A value whose load is paid for is loaded, never computed.
            pool = minus(minus(work, R), P)
            if fill >= 0:
                pool = single(fill, zero)
            while not is_empty(pool) and full == 0:
                w = lowest(pool)
                pool = without_lowest(pool)
                before = fetch(preds, w, 0, zero)
                loads = minus(before, R)
                if not is_empty(minus(loads, blue)):
                    continue
                storing = has(wanted, w)
                if not storing and covered(w, R, useful, succs, weights):
                    continue
                g = bucket + words_of(minus(loads, P), weights, unit)
                if g > top:
                    continue
                keep = either(R, before)
                need = words_of(keep, weights, unit) + weights[w] - M
                V = minus(R, before)
                size = 0
                if need > 0:
                    q = V
                    while not is_empty(q):
                        cand[size] = lowest(q)
                        q = without_lowest(q)
                        size += 1
                paid = minus(P, loads)
                depth = 0
                at = 0
                freed = 0
                E = zero
                while True:
                    if freed >= need:
                        good = True
                        for k in range(depth):
                            y = cand[chosen[k]]
                            if freed - weights[y] >= need:
                                good = False
                            if has(sources, y) and not is_empty(
                                minus(minus(both(fetch(prefer, y, 0, zero), V), P), E)
                            ):
                                good = False
                        if good:
                            red = either(minus(keep, E), single(w, zero))
                            if storing:
                                full = _enter(
                                    w, B, red, paid, g, i, w + n, E, values, most, base, limit, gi, n,
                                    weights, preds, succs, sources, outputs, tables,
                                    child_group, child_useful, steps, steps_len, child_fixers, child_fixed,
                                    pair_steps, scratch, flow, through, queue, came,
                                    next_sets, next_group, next_reds, next_paids, next_cost, next_origin,
                                    next_parent, next_vertex, next_evicted, group_table, state_table, tally,
                                )  # fmt: skip
                            else:
                                red = normal(red, useful, succs, weights)
                                pay = paid
                                if fixed > 0:
                                    red, pay, _ = descend_pair(
                                        tables, scratch, red, pay, fixers, fixed, pair_steps
                                    )
                                if tally[LOCALS] + 2 > len(local_cost) or tally[NODES] + 2 > len(node_state):
                                    full = FULL_LOCAL
                                    break
                                slot = _find_local(local_table, local_reds, local_paids, red, pay)
                                j = local_table[slot]
                                if j < 0:
                                    j = tally[LOCALS]
                                    tally[LOCALS] += 1
                                    local_table[slot] = j
                                    local_slot[j] = slot
                                    put(local_reds, j, 0, red)
                                    put(local_paids, j, 0, pay)
                                    local_cost[j] = -(top + 2)
                                # A state too dear at cost g is marked -1 - g, so that it is priced once.
                                if local_cost[j] < 0 and g < -1 - local_cost[j]:
                                    local_cost[j] = top + 1
                                    if too_dear(
                                        red, pay, blue, sources, wanted, useful, preds, succs, weights,
                                        values, most, top - g, flow, through, queue, came,
                                    ):  # fmt: skip
                                        local_cost[j] = -1 - g
                                if g < local_cost[j]:
                                    local_cost[j] = g
                                    local_parent[j] = i
                                    local_vertex[j] = w
                                    put(local_evicted, j, 0, E)
                                    node_state[tally[NODES]] = j
                                    node_next[tally[NODES]] = heads[g]
                                    heads[g] = tally[NODES]
                                    tally[NODES] += 1
                            if full != 0:
                                break
                        if depth == 0:
                            break
                    elif at < size:
                        x = cand[at]
                        chosen[depth] = at
                        depth += 1
                        E = either(E, single(x, zero))
                        freed += weights[x]
                        at += 1
                        continue
                    elif depth == 0:
                        break
                    depth -= 1
                    at = chosen[depth]
                    E = minus(E, single(cand[at], zero))
                    freed -= weights[cand[at]]
                    at += 1
            if fill < 0 and full == 0:
                pool = minus(R, blue)
                while not is_empty(pool) and full == 0:
                    y = lowest(pool)
                    pool = without_lowest(pool)
                    g = bucket + 2 * weights[y]
                    if g > top:
                        continue
                    full = _enter(
                        y, B, minus(R, single(y, zero)), either(P, single(y, zero)), g, i, y, zero,
                        values, most, base, limit, gi, n,
                        weights, preds, succs, sources, outputs, tables,
                        child_group, child_useful, steps, steps_len, child_fixers, child_fixed,
                        pair_steps, scratch, flow, through, queue, came,
                        next_sets, next_group, next_reds, next_paids, next_cost, next_origin,
                        next_parent, next_vertex, next_evicted, group_table, state_table, tally,
                    )  # fmt: skip
            if full != 0:
                # The state goes back on its list, and is expanded again from its start: the children that
                # found room are in the table already.
                node_next[node] = heads[bucket]
                heads[bucket] = node
                return full
            settled[tally[SETTLED]] = i
            tally[SETTLED] += 1
            pool = minus(R, blue)
            while not is_empty(pool) and tally[CHAINED] < len(chain_state):
                v = lowest(pool)
                pool = without_lowest(pool)
                node = tally[CHAINED]
                tally[CHAINED] += 1
                chain_state[node] = i
                chain_next[node] = chain_head[v]
                chain_head[v] = node
                chain_size[v] += 1
        for i in range(tally[LOCALS]):
            local_table[local_slot[i]] = -1
        tally[PEAK] = max(tally[PEAK], tally[LOCALS])
        tally[STARTED] = 0
        tally[GROUP] += 1
    return DONE


@numba.njit(cache=True, nogil=True)
def _enter(
    v: int,
    B: Any,
    red: Any,
    paid: Any,
    g: int,
    local: int,
    code: int,
    E: Any,
    values: Any,
    most: int,
    base: int,
    limit: int,
    gi: int,
    n: int,
    weights: Any,
    preds: Any,
    succs: Any,
    sources: Any,
    outputs: Any,
    tables: Any,
    child_group: Any,
    child_useful: Any,
    steps: Any,
    steps_len: Any,
    child_fixers: Any,
    child_fixed: Any,
    pair_steps: Any,
    scratch: Any,
    flow: Any,
    through: Any,
    queue: Any,
    came: Any,
    next_sets: Any,
    next_group: Any,
    next_reds: Any,
    next_paids: Any,
    next_cost: Any,
    next_origin: Any,
    next_parent: Any,
    next_vertex: Any,
    next_evicted: Any,
    group_table: Any,
    state_table: Any,
    tally: Any,
) -> int:
    """Enter the state after storing `v` into the next layer; 0, or FULL_NEXT if there is no room."""
    if tally[STATES] + 2 > len(next_cost) or tally[GROUPS] + 2 > len(next_sets):
        return FULL_NEXT
    after = either(B, single(v, B))
    wanted = minus(outputs, after)
    if child_group[v] == -2:
        useful = useful_of(wanted, preds)
        put(child_useful, v, 0, useful)
        image = after
        if tables.shape[0] > 0:
            image, length, fixed = descend(tables, scratch, after, steps[v], child_fixers[v])
            steps_len[v] = length
            child_fixed[v] = fixed
        slot = find_group(group_table, next_sets, image)
        if group_table[slot] < 0:
            put(next_sets, tally[GROUPS], 0, image)
            group_table[slot] = tally[GROUPS]
            tally[GROUPS] += 1
        child_group[v] = group_table[slot]
    useful = fetch(child_useful, v, 0, B)
    # A load paid for that can no longer serve was paid for nothing: another schedule is cheaper.
    if not is_empty(minus(paid, useful)):
        return 0
    red = normal(red, useful, succs, weights)
    if too_dear(
        red, paid, either(after, sources), sources, wanted, useful, preds, succs, weights, values, most,
        limit - base - g, flow, through, queue, came,
    ):  # fmt: skip
        return 0
    if tables.shape[0] > 0:
        for k in range(steps_len[v]):
            red = rename(tables, steps[v, k], scratch, red)
            paid = rename(tables, steps[v, k], scratch, paid)
        if child_fixed[v] > 0:
            red, paid, _ = descend_pair(
                tables, scratch, red, paid, child_fixers[v], child_fixed[v], pair_steps
            )
    group = child_group[v]
    slot = find_state(state_table, next_group, next_reds, next_paids, group, red, paid)
    j = state_table[slot]
    if j < 0:
        j = tally[STATES]
        tally[STATES] += 1
        state_table[slot] = j
        next_group[j] = group
        put(next_reds, j, 0, red)
        put(next_paids, j, 0, paid)
        next_cost[j] = limit + 1
    if g < next_cost[j]:
        next_cost[j] = g
        next_origin[j] = gi
        next_parent[j] = local
        next_vertex[j] = code
        put(next_evicted, j, 0, E)
    return 0
