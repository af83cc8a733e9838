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
from solvers.search.records import Children
from solvers.search.red_kernels import covered, normal, useful_of
from solvers.search.relaxation_kernels import loads_exceed
from solvers.search.segment_kernels import segments_exceed
from solvers.search.symmetry_kernels import MAX_STEPS, descend, descend_pair, new_scratch, rename
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
def _too_dear(
    R: Any, P: Any, blue: Any, wanted: Any, useful: Any, game: Any, slack: int, scratch: Any
) -> Any:
    """Whether computing `wanted` needs more than `slack` words of loads that are not paid for yet."""
    if segments_exceed(R, blue, wanted, useful, game, slack + count(P)):
        return True
    return loads_exceed(either(R, P), blue, wanted, useful, game, slack, scratch)


@numba.njit(cache=True, nogil=True)
def root_exceeds(game: Any, slack: int) -> Any:
    """Whether the start needs more than `slack` words of loads."""
    zero = empty_like(game.sources)
    useful = useful_of(game.outputs, game.preds)
    return _too_dear(zero, zero, game.sources, game.outputs, useful, game, slack, new_scratch(game))


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
def _dominated(i: int, settled_count: int, local: Any, blue: Any, game: Any) -> Any:
    """Whether a settled state can become at least as good as state `i` by loads worth the difference."""
    zero = empty_like(blue)
    R = fetch(local.reds, i, 0, zero)
    P = fetch(local.paids, i, 0, zero)
    g = local.cost[i]
    # Only a state that holds every red value that is not blue can: look where the rarest of them is held.
    rare = -1
    own = minus(R, blue)
    pool = own
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        if rare < 0 or local.chain_size[v] < local.chain_size[rare]:
            rare = v
    k = settled_count - 1
    node = np.int64(-1)
    if rare >= 0:
        node = np.int64(local.chain_head[rare])
    for _ in range(SCAN):
        if rare >= 0:
            if node < 0:
                return False
            t = local.chain_state[node]
            node = np.int64(local.chain_next[node])
        else:
            if k < 0:
                return False
            t = local.settled[k]
            k -= 1
        missing = minus(R, fetch(local.reds, t, 0, zero))
        if not is_empty(both(missing, own)):
            continue
        paid = fetch(local.paids, t, 0, zero)
        price = (
            words_of(missing, game.weights, game.unit)
            + words_of(P, game.weights, game.unit)
            - words_of(both(paid, either(missing, P)), game.weights, game.unit)
        )
        if price <= g - local.cost[t]:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def settle(
    game: Any, layer: Any, local: Any, entries: Any, tally: Any, limit: int, budget: int, stop_group: int
) -> int:
    """Settle the groups of one layer up to `stop_group`, or until out of `budget` states or of room.

    Costs are counted from the words of all outputs: `limit` is the highest total kept, loads still
    to come included. A vertex stored is entered as ``v``, one computed and stored as ``v + n``.
    """
    M, weights, unit, preds, succs, sources = game[:6]
    outputs, tables, rooms = game.outputs, game.tables, game.rooms
    n = len(weights)
    zero = empty_like(sources)
    width = preds.shape[1]
    scratch = new_scratch(game)
    children = Children(
        np.zeros(n, np.int64),
        np.zeros((n, width), np.uint64),
        np.zeros((n, MAX_STEPS), np.int64),
        np.zeros(n, np.int64),
        np.zeros((n, max(1, tables.shape[0])), np.int64),
        np.zeros(n, np.int64),
    )
    fixers = np.zeros(max(1, tables.shape[0]), np.int64)
    cand = np.zeros(n + 1, np.int64)
    chosen = np.zeros(n + 1, np.int64)
    prefer = np.zeros((n, width), np.uint64)
    top = limit - game.output_words
    while tally[GROUP] < stop_group:
        gi = tally[GROUP]
        B = fetch(layer.sets, gi, 0, zero)
        wanted = minus(outputs, B)
        if is_empty(wanted):
            for s in range(layer.begin[gi], layer.begin[gi + 1]):
                if layer.cost[s] + game.output_words < tally[BEST]:
                    tally[BEST] = layer.cost[s] + game.output_words
                    tally[BEST_STATE] = s
            tally[GROUP] += 1
            continue
        useful = useful_of(wanted, preds)
        blue = either(B, sources)
        work = minus(useful, sources)
        fixed = 0
        for g in range(tables.shape[0]):
            if same(rename(tables, g, scratch.row, B), B):
                fixers[fixed] = g
                fixed += 1
        for v in range(n):
            children.group[v] = -2
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
            if layer.begin[gi + 1] - layer.begin[gi] + 8 > len(local.cost):
                return FULL_LOCAL
            for b in range(top + 2):
                local.heads[b] = -1
            for v in range(n):
                local.chain_head[v] = -1
                local.chain_size[v] = 0
            tally[CHAINED] = 0
            tally[LOCALS] = 0
            tally[NODES] = 0
            tally[BUCKET] = 0
            tally[SETTLED] = 0
            for s in range(layer.begin[gi], layer.begin[gi + 1]):
                R = fetch(layer.first, s, 0, zero)
                P = fetch(layer.second, s, 0, zero)
                slot = _find_local(local.table, local.reds, local.paids, R, P)
                i = tally[LOCALS]
                tally[LOCALS] += 1
                local.table[slot] = i
                local.slot[i] = slot
                put(local.reds, i, 0, R)
                put(local.paids, i, 0, P)
                local.cost[i] = layer.cost[s]
                local.parent[i] = -1 - s
                local.node_state[i] = i
                local.node_next[i] = local.heads[layer.cost[s]]
                local.heads[layer.cost[s]] = i
            tally[NODES] = tally[LOCALS]
            tally[STARTED] = 1
        while tally[BUCKET] <= top:
            bucket = tally[BUCKET]
            node = local.heads[bucket]
            if node < 0:
                tally[BUCKET] += 1
                continue
            if tally[EXPANDED] >= budget:
                return PAUSED
            i = local.node_state[node]
            local.heads[bucket] = local.node_next[node]
            if local.cost[i] != bucket:
                continue
            if _dominated(i, tally[SETTLED], local, blue, game):
                tally[DOMINATED] += 1
                continue
            tally[EXPANDED] += 1
            R = fetch(local.reds, i, 0, zero)
            P = fetch(local.paids, i, 0, zero)
            held = words_of(R, weights, unit)
            fill = -1
            pool = minus(minus(work, R), P)
            while not is_empty(pool):
                v = lowest(pool)
                pool = without_lowest(pool)
                if held + rooms[v] > M or not is_empty(minus(fetch(preds, v, 0, zero), R)):
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
                need = words_of(keep, weights, unit) + rooms[w] - M
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
                                    w, w + n, B, red, paid, g, i, E, gi, game, children, entries, tally,
                                    limit, scratch,
                                )  # fmt: skip
                            else:
                                red = normal(red, useful, succs, weights)
                                pay = paid
                                if fixed > 0:
                                    red, pay, _ = descend_pair(
                                        tables, scratch.row, red, pay, fixers, fixed, scratch.pair_steps
                                    )
                                if tally[LOCALS] + 2 > len(local.cost) or tally[NODES] + 2 > len(
                                    local.node_state
                                ):
                                    full = FULL_LOCAL
                                    break
                                slot = _find_local(local.table, local.reds, local.paids, red, pay)
                                j = local.table[slot]
                                if j < 0:
                                    j = tally[LOCALS]
                                    tally[LOCALS] += 1
                                    local.table[slot] = j
                                    local.slot[j] = slot
                                    put(local.reds, j, 0, red)
                                    put(local.paids, j, 0, pay)
                                    local.cost[j] = -(top + 2)
                                # A state too dear at cost g is marked -1 - g, so that it is priced once.
                                if local.cost[j] < 0 and g < -1 - local.cost[j]:
                                    local.cost[j] = top + 1
                                    if _too_dear(red, pay, blue, wanted, useful, game, top - g, scratch):
                                        local.cost[j] = -1 - g
                                if g < local.cost[j]:
                                    local.cost[j] = g
                                    local.parent[j] = i
                                    local.vertex[j] = w
                                    put(local.evicted, j, 0, E)
                                    local.node_state[tally[NODES]] = j
                                    local.node_next[tally[NODES]] = local.heads[g]
                                    local.heads[g] = tally[NODES]
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
                    red = minus(R, single(y, zero))
                    paid = either(P, single(y, zero))
                    full = _enter(
                        y, y, B, red, paid, g, i, zero, gi, game, children, entries, tally, limit, scratch
                    )
            if full != 0:
                # The state goes back on its list, and is expanded again from its start: the children that
                # found room are in the table already.
                local.node_next[node] = local.heads[bucket]
                local.heads[bucket] = node
                return full
            local.settled[tally[SETTLED]] = i
            tally[SETTLED] += 1
            pool = minus(R, blue)
            while not is_empty(pool) and tally[CHAINED] < len(local.chain_state):
                v = lowest(pool)
                pool = without_lowest(pool)
                node = tally[CHAINED]
                tally[CHAINED] += 1
                local.chain_state[node] = i
                local.chain_next[node] = local.chain_head[v]
                local.chain_head[v] = node
                local.chain_size[v] += 1
        for i in range(tally[LOCALS]):
            local.table[local.slot[i]] = -1
        tally[PEAK] = max(tally[PEAK], tally[LOCALS])
        tally[STARTED] = 0
        tally[GROUP] += 1
    return DONE


@numba.njit(cache=True, nogil=True)
def _enter(
    v: int,
    code: int,
    B: Any,
    red: Any,
    paid: Any,
    g: int,
    parent: int,
    E: Any,
    gi: int,
    game: Any,
    children: Any,
    entries: Any,
    tally: Any,
    limit: int,
    scratch: Any,
) -> int:
    """Enter the state after storing `v` into the next layer; 0, or FULL_NEXT if there is no room."""
    if tally[STATES] + 2 > len(entries.cost) or tally[GROUPS] + 2 > len(entries.sets):
        return FULL_NEXT
    tables = game.tables
    after = either(B, single(v, B))
    wanted = minus(game.outputs, after)
    if children.group[v] == -2:
        useful = useful_of(wanted, game.preds)
        put(children.useful, v, 0, useful)
        image = after
        if tables.shape[0] > 0:
            image, length, fixed = descend(tables, scratch.row, after, children.steps[v], children.fixers[v])
            children.steps_len[v] = length
            children.fixed[v] = fixed
        slot = find_group(entries.group_table, entries.sets, image)
        if entries.group_table[slot] < 0:
            put(entries.sets, tally[GROUPS], 0, image)
            entries.group_table[slot] = tally[GROUPS]
            tally[GROUPS] += 1
        children.group[v] = entries.group_table[slot]
    useful = fetch(children.useful, v, 0, B)
    # A load paid for that can no longer serve was paid for nothing: another schedule is cheaper.
    if not is_empty(minus(paid, useful)):
        return 0
    red = normal(red, useful, game.succs, game.weights)
    slack = limit - game.output_words - g
    if _too_dear(red, paid, either(after, game.sources), wanted, useful, game, slack, scratch):
        return 0
    if tables.shape[0] > 0:
        for k in range(children.steps_len[v]):
            red = rename(tables, children.steps[v, k], scratch.row, red)
            paid = rename(tables, children.steps[v, k], scratch.row, paid)
        if children.fixed[v] > 0:
            red, paid, _ = descend_pair(
                tables, scratch.row, red, paid, children.fixers[v], children.fixed[v], scratch.pair_steps
            )
    group = children.group[v]
    slot = find_state(entries.state_table, entries.group, entries.first, entries.second, group, red, paid)
    j = entries.state_table[slot]
    if j < 0:
        j = tally[STATES]
        tally[STATES] += 1
        entries.state_table[slot] = j
        entries.group[j] = group
        put(entries.first, j, 0, red)
        put(entries.second, j, 0, paid)
        entries.cost[j] = limit + 1
    if g < entries.cost[j]:
        entries.cost[j] = g
        entries.origin[j] = gi
        entries.parent[j] = parent
        entries.vertex[j] = code
        put(entries.evicted, j, 0, E)
    return 0
