"""The search with recomputation under the further flags, compiled.

docs/exact.md has the definitions and the proofs. A group is the set B of blue vertices, sources that are
blue from the start left out; a state in it is R, the red ones. A cost holds what has been paid, and the
stores of outputs that must be blue. Importing this module imports numba.
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
    known_too_dear,
    next_state,
)
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
from solvers.search.red_kernels import useful_of
from solvers.search.relaxation_kernels import loads_exceed
from solvers.search.symmetry_kernels import new_scratch
from solvers.search.table_kernels import words_of

__all__ = ["expand", "root_exceeds"]

# How many closed states a state is compared with.
SCAN = 4096


@numba.njit(cache=True, nogil=True)
def _blue(B: Any, game: Any) -> Any:
    """Everything that can be loaded."""
    return B if game.free else either(B, game.sources)


@numba.njit(cache=True, nogil=True)
def _must_compute(R: Any, blue: Any, missing: Any, game: Any) -> Any:
    """The vertices that every way to the end computes."""
    found = missing
    todo = missing
    while not is_empty(todo):
        v = lowest(todo)
        todo = without_lowest(todo)
        new = minus(minus(minus(fetch(game.preds, v, 0, R), R), blue), found)
        found = either(found, new)
        todo = either(todo, new)
    return found


@numba.njit(cache=True, nogil=True)
def _too_dear(B: Any, R: Any, game: Any, slack: Any, scratch: Any) -> Any:
    """Whether every way to the end costs more than `slack` that the cost does not hold yet."""
    unsaved = minus(game.outputs, B)
    missing = minus(unsaved, R)
    blue = _blue(B, game)
    extra = np.int64(0)
    if not game.blue:
        extra = game.store * (words_of(unsaved, game.weights, game.unit) - game.M)
    if not game.deletion and not game.sliding:
        placed = words_of(either(R, _must_compute(R, blue, missing, game)), game.weights, game.unit)
        if game.blue:
            placed -= words_of(unsaved, game.weights, game.unit)
        extra = max(extra, game.store * (placed - game.M))
    if extra > 0:
        slack -= extra
    if slack < 0:
        return True
    if game.free or game.load == 0:
        return False
    useful = useful_of(missing, game.preds)
    return loads_exceed(R, blue, missing, useful, game, slack // game.load, scratch)


@numba.njit(cache=True, nogil=True)
def root_exceeds(B: Any, R: Any, game: Any, slack: int) -> Any:
    """Whether the start needs more than `slack` besides its stores."""
    return _too_dear(B, R, game, slack, new_scratch(game))


@numba.njit(cache=True, nogil=True)
def _covered(v: int, R: Any, useful: Any, unsaved: Any, game: Any) -> Any:
    """Whether `v` serves only to compute one red vertex that takes no more room."""
    w = v
    while not has(unsaved, w):
        uses = both(fetch(game.succs, w, 0, R), useful)
        if count(uses) != 1:
            return False
        w = lowest(uses)
        if has(R, w):
            return game.weights[w] <= game.weights[v]
    return False


@numba.njit(cache=True, nogil=True)
def _preferences(R: Any, blue: Any, useful: Any, before: Any, game: Any) -> None:
    """For each red source y, the blue values that need not be kept while y is evicted."""
    ys = both(R, game.sources)
    while not is_empty(ys):
        y = lowest(ys)
        ys = without_lowest(ys)
        mine = both(fetch(game.succs, y, 0, R), useful)
        found = empty_like(R)
        xs = minus(both(R, blue), single(y, R))
        while not is_empty(xs):
            x = lowest(xs)
            xs = without_lowest(xs)
            uses = both(fetch(game.succs, x, 0, R), useful)
            if game.weights[x] != game.weights[y] or not is_empty(minus(uses, mine)):
                continue
            if same(uses, mine) and has(game.sources, x) and x > y:
                continue
            found = either(found, single(x, R))
        put(before, y, 0, found)


@numba.njit(cache=True, nogil=True)
def settle(B: Any, R: Any, game: Any) -> Any:
    """A position after a step, with stores counted already and deletions of no harm done: (B, R).

    Of the blue vertices only outputs, and those that may yet be loaded, are named.
    """
    if game.deletion:
        if game.blue:
            B = either(B, both(R, game.outputs))
        unsaved = minus(game.outputs, B)
        useful = useful_of(unsaved, game.preds)
        R = both(R, useful)
        pool = R
        while not is_empty(pool):
            v = lowest(pool)
            pool = without_lowest(pool)
            if _covered(v, R, useful, unsaved, game):
                R = minus(R, single(v, R))
        return both(B, either(useful, game.outputs)), R
    if game.blue:
        pool = minus(both(R, game.outputs), B)
        while not is_empty(pool):
            v = lowest(pool)
            pool = without_lowest(pool)
            if is_empty(fetch(game.succs, v, 0, R)):
                B = either(B, single(v, R))
                R = minus(R, single(v, R))
    useful = useful_of(minus(game.outputs, B), game.preds)
    return both(B, either(useful, game.outputs)), R


@numba.njit(cache=True, nogil=True)
def _dominated(i: int, B: Any, R: Any, game: Any, entries: Any, frontier: Any) -> Any:
    """Whether a closed state of the group can become as good as state `i` for no more than the difference."""
    blue = _blue(B, game)
    t = np.int64(frontier.group_head[entries.group[i]])
    for _ in range(SCAN):
        if t < 0:
            return False
        slack = np.int64(entries.cost[i]) - entries.cost[t]
        other = fetch(entries.first, t, 0, R)
        t = np.int64(frontier.closed[t])
        missing = minus(R, other)
        if not is_empty(minus(missing, blue)):
            continue
        slack -= game.load * words_of(missing, game.weights, game.unit)
        if not game.deletion and slack >= 0:
            extra = minus(other, R)
            if game.blue:
                extra = minus(extra, minus(game.outputs, B))
            slack -= game.store * words_of(extra, game.weights, game.unit)
        if slack >= 0:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _filler(R: Any, work: Any, game: Any) -> Any:
    """A vertex that can be computed in the room there is, or -1."""
    held = words_of(R, game.weights, game.unit)
    pool = minus(work, game.sources)
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        if held + game.weights[v] <= game.M and is_empty(minus(fetch(game.preds, v, 0, R), R)):
            return v
    return -1


@numba.njit(cache=True, nogil=True)
def expand(game: Any, entries: Any, frontier: Any, tally: Any, top: int, budget: int) -> Any:
    """Expand states in order of cost until one is a goal, none is left, or out of `budget` or of room."""
    n = len(game.weights)
    zero = empty_like(game.sources)
    scratch = new_scratch(game)
    cand = np.zeros(n, np.int64)
    chosen = np.zeros(n + 1, np.int64)
    keepers = np.zeros(n, np.int64)
    prices = np.zeros(n, np.int64)
    before = np.zeros((n, game.preds.shape[1]), np.uint64)
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
        B = fetch(entries.sets, entries.group[i], 0, zero)
        R = fetch(entries.first, i, 0, zero)
        cost = np.int64(entries.cost[i])
        unsaved = minus(game.outputs, B)
        if is_empty(minus(unsaved, R)):
            tally[GOAL] = i
            return FOUND
        if fresh:
            if _dominated(i, B, R, game, entries, frontier):
                frontier.closed[i] = DISCARDED
                tally[DOMINATED] += 1
                continue
            tally[EXPANDED] += 1
            close(i, entries, frontier)
        blue = _blue(B, game)
        useful = useful_of(unsaved, game.preds)
        work = minus(useful, R)
        if not game.free:
            work = minus(work, game.sources)
        if game.load == 0:
            # A load is as good.
            work = minus(work, blue)
        prefers = game.deletion and game.blue and not game.free
        if prefers:
            _preferences(R, blue, useful, before, game)
        if game.deletion:
            pool = work
            while not is_empty(pool):
                v = lowest(pool)
                pool = without_lowest(pool)
                if _covered(v, R, useful, unsaved, game):
                    work = minus(work, single(v, zero))
            w = _filler(R, work, game)
            if w >= 0:
                work = single(w, zero)
        while not is_empty(work):
            w = lowest(work)
            work = without_lowest(work)
            Q = fetch(game.preds, w, 0, zero)
            if is_empty(Q) and not has(unsaved, w):
                continue
            sown = minus(minus(Q, R), blue)
            if game.free:
                sown = both(minus(Q, R), game.sources)
            loads = minus(minus(Q, R), sown)
            if not is_empty(minus(loads, blue)) or not is_empty(minus(sown, game.sources)):
                continue
            base = cost + game.load * words_of(loads, game.weights, game.unit)
            if base > top:
                continue
            saved = B
            if game.deletion and game.blue:
                saved = either(B, both(sown, game.outputs))
            keep = either(R, Q)
            held = words_of(keep, game.weights, game.unit)
            add = np.int64(game.weights[w])
            V = minus(R, Q)
            slide_from = Q
            if not game.sliding or (game.deletion and held + add <= game.M):
                slide_from = zero
            first = True
            while first or not is_empty(slide_from):
                slid = np.int64(-1)
                need = held + add - game.M
                if first:
                    first = False
                else:
                    slid = lowest(slide_from)
                    slide_from = without_lowest(slide_from)
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
                E = zero
                while True:
                    if freed >= need:
                        good = True
                        for k in range(depth):
                            y = cand[chosen[k]]
                            if freed - game.weights[y] >= need or (
                                prefers
                                and has(game.sources, y)
                                and not is_empty(minus(both(fetch(before, y, 0, zero), V), E))
                            ):
                                good = False
                        if good:
                            out = E
                            if slid >= 0:
                                out = either(out, single(slid, zero))
                            red = either(minus(keep, out), single(w, zero))
                            # What is evicted and not blue may be stored first.
                            always = zero
                            paid = base
                            options = 0
                            pool = out
                            while not is_empty(pool):
                                x = lowest(pool)
                                pool = without_lowest(pool)
                                w_store = game.store * np.int64(game.weights[x])
                                if game.blue and has(unsaved, x):
                                    w_store = np.int64(0)
                                if not game.deletion and x != slid:
                                    always = either(always, single(x, zero))
                                    paid += w_store
                                    continue
                                if not has(useful, x) or has(blue, x) or has(saved, x):
                                    continue
                                if game.free and has(game.sources, x) and not has(unsaved, x):
                                    continue
                                if not game.deletion:
                                    # The store takes the pebble away; a load brings it back to move on.
                                    w_store += game.load * np.int64(game.weights[x])
                                if w_store == 0:
                                    always = either(always, single(x, zero))
                                else:
                                    keepers[options] = x
                                    prices[options] = w_store
                                    options += 1
                            for choice in range(1 << options):
                                stored = always
                                total = paid
                                for k in range(options):
                                    if choice >> k & 1:
                                        stored = either(stored, single(keepers[k], zero))
                                        total += prices[k]
                                if total > top:
                                    continue
                                B2, R2 = settle(either(saved, minus(stored, _start_blue(game))), red, game)
                                if known_too_dear(B2, R2, zero, total, entries):
                                    continue
                                if _too_dear(B2, R2, game, top - total, scratch):
                                    continue
                                if not enter(B2, R2, zero, total, i, w, out, entries, frontier, tally):
                                    tally[CURRENT] = i
                                    return FULL
                    elif at < size:
                        chosen[depth] = at
                        depth += 1
                        E = either(E, single(cand[at], zero))
                        freed += game.weights[cand[at]]
                        at += 1
                        continue
                    if depth == 0:
                        break
                    depth -= 1
                    at = chosen[depth]
                    E = minus(E, single(cand[at], zero))
                    freed -= game.weights[cand[at]]
                    at += 1


@numba.njit(cache=True, nogil=True)
def _start_blue(game: Any) -> Any:
    """The sources that are blue at the start, which no group needs to name."""
    return empty_like(game.sources) if game.free else game.sources
