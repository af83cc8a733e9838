"""The search where every item is done once, compiled: one-shot and partial computation under any flags.

docs/exact.md has the definitions and the proofs. A group is a set D of items done, a state in it is (R, B):
the red vertices, and those of them whose value is blue besides. A cost holds what has been paid, and what
every way to the end still pays. Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from solvers.search.frontier_kernels import (
    CURRENT,
    DISCARDED,
    DOMINATED,
    DONE,
    EXPANDED,
    FOUND,
    FULL,
    GOAL,
    PAUSED,
    close,
    enter,
    next_state,
)
from solvers.search.mask_kernels import (
    both,
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
from solvers.search.table_kernels import words_of

__all__ = ["expand", "root_extra", "settle"]

# How many closed states a state is compared with.
SCAN = 4096


@numba.njit(cache=True, nogil=True)
def _complete(v: int, D: Any, game: Any) -> Any:
    """Whether all items that make `v` are done."""
    return is_empty(minus(fetch(game.into, v, 0, D), D))


@numba.njit(cache=True, nogil=True)
def _started(v: int, D: Any, game: Any) -> Any:
    """Whether `v` has a value, complete or not."""
    into = fetch(game.into, v, 0, D)
    return not is_empty(both(into, D)) or is_empty(into)


@numba.njit(cache=True, nogil=True)
def _needed(v: int, D: Any, game: Any) -> Any:
    """Whether a vertex that has a value must be red again at some time."""
    if not is_empty(minus(fetch(game.uses, v, 0, D), D)):
        return True
    return not _complete(v, D, game)


@numba.njit(cache=True, nogil=True)
def _store_price(v: int, D: Any, B: Any, game: Any) -> Any:
    """What a store adds without deletion: the first one of a complete output is counted from the start."""
    if game.blue and has(game.outputs, v) and not has(B, v) and _complete(v, D, game):
        return np.int64(0)
    return game.store * np.int64(game.weights[v])


@numba.njit(cache=True, nogil=True)
def _price(v: int, D: Any, B: Any, game: Any) -> Any:
    """What evicting the red vertex `v` adds: a store if it must be blue, the load that must follow."""
    needed = _needed(v, D, game)
    output = has(game.outputs, v)
    w = np.int64(game.weights[v])
    load = game.load * w if needed else np.int64(0)
    if game.deletion:
        if not needed and (game.blue or not output):
            return np.int64(0)
        return load if has(B, v) else load + game.store * w
    return load + _store_price(v, D, B, game)


@numba.njit(cache=True, nogil=True)
def _slide_price(v: int, D: Any, B: Any, game: Any) -> Any:
    """What it adds when the pebble of `v` moves on."""
    if game.deletion:
        return _price(v, D, B, game)
    needed = _needed(v, D, game)
    load = game.load * np.int64(game.weights[v])
    price = load if needed else np.int64(0)
    if (needed or has(game.outputs, v)) and not has(B, v):
        # Without deletion a store takes the pebble away, and a load must bring it back before it can move on.
        price += load + _store_price(v, D, B, game)
    return price


@numba.njit(cache=True, nogil=True)
def _extra(D: Any, R: Any, B: Any, game: Any) -> Any:
    """Stores still to come that a cost does not hold yet, because what is left cannot all stay red."""
    if game.store == 0 or (game.deletion and game.blue):
        return 0
    bound = np.int64(0)
    if not game.blue:
        # Outputs that are not blue must be red together at the end, or be stored.
        open_outputs = np.int64(0)
        pool = game.outputs
        while not is_empty(pool):
            v = lowest(pool)
            pool = without_lowest(pool)
            if not _complete(v, D, game) or (has(R, v) and not has(B, v)):
                open_outputs += game.weights[v]
        bound = max(bound, game.store * (open_outputs - game.M))
    if not game.deletion and not game.sliding:
        # Every pebble that will be placed stays, or is stored.
        placed = words_of(R, game.weights, game.unit)
        paid = np.int64(0)
        for v in range(len(game.weights)):
            w = np.int64(game.weights[v])
            output = game.blue and has(game.outputs, v)
            if not _started(v, D, game):
                placed += w
                if output:
                    paid += w
            else:
                if not has(R, v) and _needed(v, D, game):
                    placed += w
                if output and (not _complete(v, D, game) or (has(R, v) and not has(B, v))):
                    paid += w
        bound = max(bound, game.store * (placed - paid - game.M))
    return bound


@numba.njit(cache=True, nogil=True)
def root_extra(D: Any, R: Any, B: Any, game: Any) -> Any:
    """`_extra` of the start."""
    return _extra(D, R, B, game)


@numba.njit(cache=True, nogil=True)
def settle(D: Any, R: Any, B: Any, game: Any) -> Any:
    """A position after a step, with all that is free and does no harm done: (D, R, B).

    Aggregates among red vertices, stores that are counted already, deletions of what is of no more use.
    """
    zero = empty_like(R)
    if game.partial:
        again = True
        while again:
            again = False
            pool = R
            while not is_empty(pool):
                v = lowest(pool)
                pool = without_lowest(pool)
                left = minus(fetch(game.into, v, 0, D), D)
                while not is_empty(left):
                    item = lowest(left)
                    left = without_lowest(left)
                    u = fetch(game.operands, item, 0, D)
                    if is_empty(minus(u, R)) and _complete(lowest(u), D, game):
                        D = either(D, single(item, zero))
                        B = minus(B, single(v, zero))
                        again = True
    pool = R
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        me = single(v, zero)
        output = has(game.outputs, v) and _complete(v, D, game)
        if game.deletion:
            if output and game.blue:
                B = either(B, me)
            if not _needed(v, D, game) and (game.blue or not output):
                R = minus(R, me)
        elif game.blue and output and not has(B, v) and not _needed(v, D, game):
            R = minus(R, me)
    B = both(B, R)
    if not game.deletion and not game.sliding:
        B = both(B, game.outputs) if game.blue else zero
    return D, R, B


@numba.njit(cache=True, nogil=True)
def _dominated(i: int, D: Any, R: Any, B: Any, game: Any, entries: Any, frontier: Any) -> Any:
    """Whether a closed state of the group can become as good as state `i` for no more than the difference."""
    t = np.int64(frontier.group_head[entries.group[i]])
    for _ in range(SCAN):
        if t < 0:
            return False
        slack = np.int64(entries.cost[i]) - entries.cost[t]
        other = fetch(entries.first, t, 0, R)
        stored = fetch(entries.second, t, 0, R)
        t = np.int64(frontier.closed[t])
        bare = minus(both(B, other), stored)
        if game.deletion:
            slack -= game.store * words_of(bare, game.weights, game.unit)
        elif game.sliding and not is_empty(bare):
            continue
        extra = minus(other, R)
        while slack >= 0 and not is_empty(extra):
            slack -= _price(lowest(extra), D, stored, game)
            extra = without_lowest(extra)
        if slack >= 0:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _forced(D: Any, R: Any, B: Any, game: Any, made: Any) -> Any:
    """An item that may be done at once, and the predecessor that its result takes the place of, if it must.

    `made` holds the vertices that have a value. Returns (-1, -1) if there is none.
    """
    zero = empty_like(R)
    held = words_of(R, game.weights, game.unit)
    for item in range(len(game.result)):
        v = np.int64(game.result[item])
        Q = fetch(game.operands, item, 0, D)
        if has(D, item) or has(made, v) or is_empty(Q) or not is_empty(minus(Q, R)):
            continue
        done = either(D, single(item, zero))
        operands = Q
        if game.partial:
            if not _complete(lowest(Q), D, game):
                continue
            # All red operands are aggregated together.
            left = minus(fetch(game.into, v, 0, D), done)
            while not is_empty(left):
                e = lowest(left)
                left = without_lowest(left)
                u = fetch(game.operands, e, 0, D)
                if is_empty(minus(u, R)) and _complete(lowest(u), D, game):
                    done = either(done, single(e, zero))
                    operands = either(operands, u)
        w = np.int64(game.weights[v])
        needed = _needed(v, done, game)
        output = has(game.outputs, v)
        free = held + w <= game.M
        if not needed and game.blue and free:
            return np.int64(item), np.int64(-1)
        price = game.load * w if needed else np.int64(0)
        if not (output and game.blue and _complete(v, done, game)):
            price += game.store * w
        pool = operands
        while not is_empty(pool):
            u = lowest(pool)
            pool = without_lowest(pool)
            if _needed(u, done, game) or (has(game.outputs, u) and not game.blue):
                continue
            slides = game.sliding and held + w - game.weights[u] <= game.M
            if not free and not slides:
                continue
            if not needed and game.blue:
                return np.int64(item), np.int64(-1) if free else u
            if game.weights[u] >= w and _price(u, D, B, game) >= price:
                return np.int64(item), np.int64(-1) if free else u
    return np.int64(-1), np.int64(-1)


@numba.njit(cache=True, nogil=True)
def expand(game: Any, entries: Any, frontier: Any, tally: Any, top: int, budget: int) -> Any:
    """Expand states in order of cost until one is a goal, none is left, or out of `budget` or of room."""
    n = len(game.weights)
    items = len(game.result)
    zero = empty_like(game.sources)
    price = np.zeros(n, np.int64)
    before = np.zeros((n, game.preds.shape[1]), np.uint64)
    cand = np.zeros(n, np.int64)
    chosen = np.zeros(n + 1, np.int64)
    while True:
        i = np.int64(tally[CURRENT])
        fresh = i < 0
        if fresh:
            if tally[EXPANDED] >= budget:
                return PAUSED
            i = next_state(entries, frontier, tally, top)
            if i < 0:
                return DONE
        tally[CURRENT] = -1
        D = fetch(entries.sets, entries.group[i], 0, zero)
        R = fetch(entries.first, i, 0, zero)
        B = fetch(entries.second, i, 0, zero)
        cost = np.int64(entries.cost[i])
        if same(D, game.items):
            tally[GOAL] = i
            return FOUND
        if fresh:
            if _dominated(i, D, R, B, game, entries, frontier):
                frontier.closed[i] = DISCARDED
                tally[DOMINATED] += 1
                continue
            tally[EXPANDED] += 1
            close(i, entries, frontier)
        made = zero
        whole = zero
        for v in range(n):
            if _started(v, D, game):
                made = either(made, single(v, zero))
                if _complete(v, D, game):
                    whole = either(whole, single(v, zero))
        pool = R
        while not is_empty(pool):
            v = lowest(pool)
            pool = without_lowest(pool)
            price[v] = _price(v, D, B, game)
        _preferences(D, R, price, before, game)
        only = np.int64(-1)
        slide_only = np.int64(-1)
        if game.deletion:
            only, slide_only = _forced(D, R, B, game, made)
        for item in range(items):
            if has(D, item) or (only >= 0 and item != only):
                continue
            v = int(game.result[item])
            Q = fetch(game.operands, item, 0, zero)
            if is_empty(Q) and not has(game.outputs, v):
                continue
            # Under free sources operands that have no value yet are computed on the spot.
            sown = minus(Q, whole)
            if not is_empty(sown) and (not game.free or not is_empty(minus(sown, game.sources))):
                continue
            N = Q
            add = np.int64(game.weights[v])
            if has(made, v):
                N = either(N, single(v, zero))
                add = np.int64(0)
            done = either(D, single(item, zero))
            pool = sown
            while not is_empty(pool):
                done = either(done, fetch(game.into, lowest(pool), 0, zero))
                pool = without_lowest(pool)
            keep = either(R, N)
            held = words_of(keep, game.weights, game.unit)
            blue = either(B, minus(minus(N, R), sown))
            if game.deletion and game.blue:
                blue = either(blue, both(sown, game.outputs))
            V = minus(R, N)
            slide_from = Q
            if not game.sliding or (game.deletion and held + add <= game.M):
                slide_from = zero
            first = True
            while first or not is_empty(slide_from):
                slid = np.int64(-1)
                need = held + add - game.M
                base = cost
                if first:
                    first = False
                    if only >= 0 and slide_only >= 0:
                        continue
                else:
                    slid = lowest(slide_from)
                    slide_from = without_lowest(slide_from)
                    if only >= 0 and slid != slide_only:
                        continue
                    base += _slide_price(slid, done, blue, game)
                    need = max(held - game.M, need - game.weights[slid])
                size = 0
                if need > 0:
                    pool = V
                    while not is_empty(pool):
                        cand[size] = lowest(pool)
                        pool = without_lowest(pool)
                        size += 1
                depth = 0
                at = 0
                freed = np.int64(0)
                paid = base
                E = zero
                while True:
                    if freed >= need:
                        good = True
                        for k in range(depth):
                            y = cand[chosen[k]]
                            if freed - game.weights[y] >= need or not is_empty(
                                minus(both(fetch(before, y, 0, zero), V), E)
                            ):
                                good = False
                        if good:
                            out = E
                            if slid >= 0:
                                out = either(out, single(slid, zero))
                            red = either(minus(keep, out), single(v, zero))
                            D2, R2, B2 = settle(done, red, minus(both(blue, red), single(v, zero)), game)
                            if paid + _extra(D2, R2, B2, game) <= top and not enter(
                                D2, R2, B2, paid, i, item, out, entries, frontier, tally
                            ):
                                tally[CURRENT] = i
                                return FULL
                    elif at < size:
                        x = cand[at]
                        if paid + price[x] <= top:
                            chosen[depth] = at
                            depth += 1
                            E = either(E, single(x, zero))
                            freed += game.weights[x]
                            paid += price[x]
                        at += 1
                        continue
                    if depth == 0:
                        break
                    depth -= 1
                    at = chosen[depth]
                    x = cand[at]
                    E = minus(E, single(x, zero))
                    freed -= game.weights[x]
                    paid -= price[x]
                    at += 1


@numba.njit(cache=True, nogil=True)
def _preferences(D: Any, R: Any, price: Any, before: Any, game: Any) -> None:
    """For each red vertex y, those that need not be kept while y is evicted."""
    zero = empty_like(R)
    ys = R
    while not is_empty(ys):
        y = lowest(ys)
        ys = without_lowest(ys)
        found = zero
        if game.deletion and not game.partial and (game.blue or not has(game.outputs, y)):
            mine = minus(fetch(game.uses, y, 0, zero), D)
            xs = R
            while not is_empty(xs):
                x = lowest(xs)
                xs = without_lowest(xs)
                if x == y or game.weights[x] != game.weights[y] or price[x] > price[y]:
                    continue
                if not game.blue and has(game.outputs, x):
                    continue
                uses = minus(fetch(game.uses, x, 0, zero), D)
                if not is_empty(minus(uses, mine)):
                    continue
                if same(uses, mine) and price[x] == price[y] and x > y:
                    continue
                found = either(found, single(x, zero))
        put(before, y, 0, found)
