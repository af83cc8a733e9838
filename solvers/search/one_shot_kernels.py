"""The one-shot search, compiled: states in layers by the number of vertices computed.

docs/exact.md has the definitions and the proofs. A state is (C, R, B): the computed vertices, the red values
that are still needed, and those of them that are blue too. Importing this module imports numba.
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
    is_empty,
    lowest,
    minus,
    put,
    same,
    single,
    without_lowest,
)
from solvers.search.segment_kernels import closure, worth
from solvers.search.symmetry_kernels import MAX_STEPS, descend, descend_pair, rename
from solvers.search.table_kernels import find_group, find_state, words_of

__all__ = ["expand", "sort_layer"]

# What `tally` holds: cursors of the layer being expanded, sizes of the next layer, and counts.
GROUP, STATE, GROUPS, STATES, EXPANDED, DOMINATED, GENERATED, BEST, BEST_PARENT = range(9)
# What `expand` returns.
DONE, PAUSED, FULL = range(3)


@numba.njit(cache=True, nogil=True)
def sort_layer(group_of: Any, cost: Any, reds: Any, blues: Any, groups: int, zero: Any) -> Any:
    """Order the states by group, in a group by (cost, red values, fewer blue ones).

    A state can then only be dominated by one before it. Returns the order and where each group starts.
    """
    n = len(group_of)
    low = cost.min() if n else 0
    span = np.int64(0)
    key = np.empty(n, dtype=np.int64)
    side = 64 * reds.shape[1] + 1
    for i in range(n):
        r = count(fetch(reds, i, 0, zero))
        b = count(fetch(blues, i, 0, zero))
        key[i] = (np.int64(cost[i] - low) * side + r) * side + (side - 1 - b)
        span = max(span, key[i] + 1)
    if span <= 8 * n + 4096:
        starts = np.zeros(span + 1, dtype=np.int64)
        for i in range(n):
            starts[key[i] + 1] += 1
        for k in range(span):
            starts[k + 1] += starts[k]
        by_key = np.empty(n, dtype=np.int64)
        for i in range(n):
            by_key[starts[key[i]]] = i
            starts[key[i]] += 1
    else:
        by_key = np.argsort(key, kind="mergesort")
    begin = np.zeros(groups + 1, dtype=np.int64)
    for i in range(n):
        begin[group_of[i] + 1] += 1
    for g in range(groups):
        begin[g + 1] += begin[g]
    fill = begin[:-1].copy()
    order = np.empty(n, dtype=np.int64)
    for j in range(n):
        i = by_key[j]
        order[fill[group_of[i]]] = i
        fill[group_of[i]] += 1
    return order, begin


@numba.njit(cache=True, nogil=True)
def _dominated(s: int, first: int, alive: Any, layer: Any, game: Any) -> Any:
    """Whether a state before `s` in its group can become as good as `s` for no more than the difference."""
    weights, unit, sources = game.weights, game.unit, game.sources
    zero = empty_like(sources)
    R = fetch(layer.first, s, 0, zero)
    B = fetch(layer.second, s, 0, zero)
    f = layer.cost[s]
    for t in range(first, s):
        if not alive[t]:
            continue
        slack = f - layer.cost[t]
        other = fetch(layer.first, t, 0, zero)
        stored = fetch(layer.second, t, 0, zero)
        extra = minus(other, R)
        fresh = minus(minus(extra, stored), sources)
        missing = minus(both(B, other), stored)
        if unit:
            if count(extra) + count(fresh) + count(missing) <= slack:
                return True
        elif (
            words_of(extra, weights, False)
            + words_of(fresh, weights, False)
            + words_of(missing, weights, False)
            <= slack
        ):
            return True
    return False


@numba.njit(cache=True, nogil=True)
def expand(game: Any, layer: Any, alive: Any, entries: Any, tally: Any, limit: int, budget: int) -> int:
    """Expand states of one layer into the next one until done, out of `budget` states, or out of room.

    `alive` marks the states that nothing dominates; `limit` is the highest cost kept. The cursors in `tally`
    say where to go on.
    """
    M, weights, unit, preds, succs, sources = game[:6]
    everything, stored_early, tables = game.computed, game.needed_outputs, game.tables
    values, most, rooms = game.values, game.most, game.rooms
    n = len(weights)
    zero = empty_like(sources)
    rest = np.zeros((n, preds.shape[1]), dtype=np.uint64)
    uses = np.zeros(n, dtype=np.int64)
    before = np.zeros((n, preds.shape[1]), dtype=np.uint64)
    equal = np.zeros((n, preds.shape[1]), dtype=np.uint64)
    live = np.zeros(n, dtype=np.int64)
    ready = np.zeros(n, dtype=np.int64)
    killed = np.zeros((n, preds.shape[1]), dtype=np.uint64)
    child_set = np.zeros((n, preds.shape[1]), dtype=np.uint64)
    child_group = np.zeros(n, dtype=np.int64)
    steps = np.zeros((n, MAX_STEPS), dtype=np.int64)
    steps_len = np.zeros(n, dtype=np.int64)
    fixers = np.zeros((n, max(1, tables.shape[0])), dtype=np.int64)
    fixers_len = np.zeros(n, dtype=np.int64)
    pair_steps = np.zeros(MAX_STEPS, dtype=np.int64)
    scratch = np.zeros((1, preds.shape[1]), dtype=np.uint64)
    cand = np.zeros(n, dtype=np.int64)
    price = np.zeros(n, dtype=np.int64)
    chosen = np.zeros(n + 1, dtype=np.int64)
    symmetric = tables.shape[0] > 0
    groups = len(layer.begin) - 1
    start_state = tally[STATE]
    for gi in range(tally[GROUP], groups):
        C = fetch(layer.sets, gi, 0, zero)
        if same(C, everything):
            for s in range(layer.begin[gi], layer.begin[gi + 1]):
                if layer.cost[s] < tally[BEST]:
                    tally[BEST] = layer.cost[s]
                    tally[BEST_PARENT] = s
            continue
        # What depends on C alone is worked out once for all its states.
        done = either(C, sources)
        alive_count = 0
        pool = done
        while not is_empty(pool):
            x = lowest(pool)
            pool = without_lowest(pool)
            left = minus(fetch(succs, x, 0, zero), C)
            if is_empty(left):
                continue
            put(rest, x, 0, left)
            uses[x] = count(left)
            j = alive_count
            while j > 0 and uses[live[j - 1]] > uses[x]:
                live[j] = live[j - 1]
                j -= 1
            live[j] = x
            alive_count += 1
        for i in range(alive_count):
            y = live[i]
            mine = fetch(rest, y, 0, zero)
            strict = zero
            twin = zero
            for j in range(alive_count):
                x = live[j]
                if uses[x] > uses[y]:
                    break
                if x != y and weights[x] == weights[y] and is_empty(minus(fetch(rest, x, 0, zero), mine)):
                    if uses[x] < uses[y]:
                        strict = either(strict, single(x, zero))
                    else:
                        twin = either(twin, single(x, zero))
            put(before, y, 0, strict)
            put(equal, y, 0, twin)
        ready_count = 0
        unborn_worth = worth(minus(everything, C), values)
        pool = minus(everything, C)
        while not is_empty(pool):
            w = lowest(pool)
            pool = without_lowest(pool)
            P = fetch(preds, w, 0, zero)
            if not is_empty(minus(P, done)):
                continue
            ready[ready_count] = w
            ready_count += 1
            dead = zero
            q = P
            while not is_empty(q):
                u = lowest(q)
                q = without_lowest(q)
                if uses[u] == 1:
                    dead = either(dead, single(u, zero))
            put(killed, w, 0, dead)
            child_group[w] = -2
        for s in range(max(layer.begin[gi], start_state), layer.begin[gi + 1]):
            if tally[EXPANDED] >= budget:
                tally[GROUP] = gi
                tally[STATE] = s
                return PAUSED
            if tally[STATES] + 1 >= len(entries.group) or tally[GROUPS] + n >= len(entries.sets):
                tally[GROUP] = gi
                tally[STATE] = s
                return FULL
            tally[EXPANDED] += 1
            f = np.int64(layer.cost[s])
            if f > limit or _dominated(s, layer.begin[gi], alive, layer, game):
                alive[s] = False
                tally[DOMINATED] += 1
                continue
            alive[s] = True
            R = fetch(layer.first, s, 0, zero)
            B = fetch(layer.second, s, 0, zero)
            cheap = either(B, sources)
            held = words_of(R, weights, unit)
            # A vertex whose computation cannot hurt is the only child.
            only = -1
            for i in range(ready_count):
                w = ready[i]
                if held + rooms[w] > M or not is_empty(minus(fetch(preds, w, 0, zero), R)):
                    continue
                if is_empty(fetch(succs, w, 0, zero)):
                    only = w
                    break
                dead = fetch(killed, w, 0, zero)
                saved = 0
                q = dead
                while not is_empty(q):
                    u = lowest(q)
                    q = without_lowest(q)
                    if weights[u] < weights[w]:
                        saved = 0
                        break
                    saved += weights[u] if has(cheap, u) else 2 * weights[u]
                if saved >= (weights[w] if has(stored_early, w) else 2 * weights[w]):
                    only = w
                    break
            for i in range(ready_count):
                w = ready[i]
                if only >= 0 and w != only:
                    continue
                P = fetch(preds, w, 0, zero)
                keep = either(R, P)
                need = words_of(keep, weights, unit) + rooms[w] - M
                dead = fetch(killed, w, 0, zero)
                stay = minus(keep, dead)
                if not is_empty(fetch(succs, w, 0, zero)):
                    stay = either(stay, single(w, zero))
                # Loaded values are blue; so is a needed output from the start.
                blue = either(B, minus(minus(P, R), sources))
                if has(stored_early, w):
                    blue = either(blue, single(w, zero))
                # Candidates for eviction, in an order that extends the order of preference.
                size = 0
                if need > 0:
                    V = minus(R, P)
                    for j in range(alive_count):
                        x = live[j]
                        if not has(V, x):
                            continue
                        c = weights[x] if has(cheap, x) else 2 * weights[x]
                        k = size
                        while k > 0 and uses[cand[k - 1]] == uses[x] and price[k - 1] > c:
                            cand[k] = cand[k - 1]
                            price[k] = price[k - 1]
                            k -= 1
                        cand[k] = x
                        price[k] = c
                        size += 1
                else:
                    V = zero
                depth = 0
                at = 0
                freed = 0
                paid = 0
                E = zero
                while True:
                    if freed >= need:
                        minimal = True
                        good = True
                        if not unit:
                            for k in range(depth):
                                if freed - weights[cand[chosen[k]]] >= need:
                                    minimal = False
                        if minimal:
                            if tally[STATES] + 1 >= len(entries.group) or tally[GROUPS] + n >= len(
                                entries.sets
                            ):
                                tally[GROUP] = gi
                                tally[STATE] = s
                                return FULL
                            tally[GENERATED] += 1
                            red = minus(stay, E)
                            if most > 0:
                                # Loads that are certain, less those that are paid for already.
                                still = unborn_worth - values[w]
                                prepaid = alive_count - count(dead) - count(red)
                                if not is_empty(fetch(succs, w, 0, zero)):
                                    prepaid += 1
                                spare = limit - f - paid + prepaid
                                if (still + most - 1) // most > spare:
                                    unborn = minus(minus(everything, C), single(w, zero))
                                    first = worth(minus(closure(red, unborn, preds), red), values)
                                    if (still - min(first, most) + most - 1) // most > spare:
                                        good = False
                        if minimal and good:
                            if child_group[w] == -2:
                                image = either(C, single(w, zero))
                                if symmetric:
                                    image, length, fixed = descend(
                                        tables, scratch, image, steps[w], fixers[w]
                                    )
                                    steps_len[w] = length
                                    fixers_len[w] = fixed
                                put(child_set, w, 0, image)
                                slot = find_group(entries.group_table, entries.sets, image)
                                if entries.group_table[slot] < 0:
                                    put(entries.sets, tally[GROUPS], 0, image)
                                    entries.group_table[slot] = tally[GROUPS]
                                    tally[GROUPS] += 1
                                child_group[w] = entries.group_table[slot]
                            blu = both(blue, red)
                            if symmetric:
                                for k in range(steps_len[w]):
                                    red = rename(tables, steps[w, k], scratch, red)
                                    blu = rename(tables, steps[w, k], scratch, blu)
                                if fixers_len[w] > 0:
                                    red, blu, _ = descend_pair(
                                        tables, scratch, red, blu, fixers[w], fixers_len[w], pair_steps
                                    )
                            group = child_group[w]
                            slot = find_state(
                                entries.state_table,
                                entries.group,
                                entries.first,
                                entries.second,
                                group,
                                red,
                                blu,
                            )
                            i2 = entries.state_table[slot]
                            if i2 < 0:
                                i2 = tally[STATES]
                                tally[STATES] += 1
                                entries.state_table[slot] = i2
                                entries.group[i2] = group
                                put(entries.first, i2, 0, red)
                                put(entries.second, i2, 0, blu)
                                entries.cost[i2] = limit + 1
                            if f + paid < entries.cost[i2]:
                                entries.cost[i2] = f + paid
                                entries.parent[i2] = s
                                entries.vertex[i2] = w
                                put(entries.evicted, i2, 0, E)
                        if depth == 0:
                            break
                    elif at < size:
                        x = cand[at]
                        c = price[at]
                        prefer = fetch(before, x, 0, zero)
                        alike = fetch(equal, x, 0, zero)
                        lower = zero
                        # Among values of equal uses: cheaper ones first, then those earlier in the list.
                        for k in range(at):
                            if has(alike, cand[k]):
                                lower = either(lower, single(cand[k], zero))
                        if has(cheap, x):
                            prefer = both(prefer, cheap)
                        prefer = either(prefer, lower)
                        if f + paid + c <= limit and is_empty(minus(both(prefer, V), E)):
                            chosen[depth] = at
                            depth += 1
                            E = either(E, single(x, zero))
                            freed += weights[x]
                            paid += c
                        at += 1
                        continue
                    elif depth == 0:
                        break
                    depth -= 1
                    at = chosen[depth]
                    x = cand[at]
                    E = minus(E, single(x, zero))
                    freed -= weights[x]
                    paid -= price[at]
                    at += 1
        start_state = 0
    tally[GROUP] = groups
    tally[STATE] = 0
    return DONE
