"""Loads that no schedule can avoid: a least vertex cut, compiled. Imports numba.

docs/exact.md proves that it is a lower bound: it is what the rest of the game costs in loads when memory is
unlimited.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from solvers.search.mask_kernels import (
    both,
    either,
    empty_like,
    fetch,
    has,
    is_empty,
    lowest,
    minus,
    single,
    without_lowest,
)
from solvers.search.segment_kernels import closure

__all__ = ["loads_exceed"]


@numba.njit(cache=True, nogil=True)
def loads_exceed(have: Any, blue: Any, wanted: Any, useful: Any, game: Any, slack: int, scratch: Any) -> Any:
    """Whether computing `wanted` needs more than `slack` words of loads even in unlimited memory.

    `have` costs nothing (red or already paid for), `blue` can be loaded, everything else must be computed.
    The scratch's `flow` and `through` are zero before and after.
    """
    preds, weights, sources = game.preds, game.weights, game.sources
    total = 0
    zero = empty_like(have)
    candidates = minus(useful, sources)
    while True:
        have = closure(have, candidates, preds)
        goal = minus(wanted, have)
        if is_empty(goal):
            return total > slack
        # The first blue vertices met on the way back from the goal are one cut.
        todo = goal
        seen = goal
        cut = zero
        cut_words = 0
        while not is_empty(todo):
            v = lowest(todo)
            todo = without_lowest(todo)
            if has(blue, v):
                cut = either(cut, single(v, zero))
                cut_words += weights[v]
            else:
                new = minus(minus(fetch(preds, v, 0, zero), have), seen)
                seen = either(seen, new)
                todo = either(todo, new)
        if total + cut_words <= slack:
            return False
        # A source among them is in every cut.
        forced = both(cut, sources)
        if is_empty(forced):
            break
        have = either(have, forced)
        while not is_empty(forced):
            total += weights[lowest(forced)]
            forced = without_lowest(forced)
        if total > slack:
            return True
    total += _least_cut(have, blue, goal, game, slack - total, scratch)
    return total > slack


@numba.njit(cache=True, nogil=True)
def _least_cut(have: Any, blue: Any, goal: Any, game: Any, slack: int, scratch: Any) -> int:
    """Words of the least cut of blue vertices between the sources and `goal`, or a value above `slack`.

    Augmenting paths (Ford & Fulkerson 1956) in the graph whose vertices are split in two: `2 v` is where
    paths enter v, `2 v + 1` where they leave it; a blue vertex lets its words through, the others anything.
    """
    preds, succs, weights, sources = game.preds, game.succs, game.weights, game.sources
    flow, through, queue, came = scratch.flow, scratch.through, scratch.queue, scratch.came
    zero = empty_like(have)
    # The vertices that lie between.
    region = goal
    todo = goal
    while not is_empty(todo):
        v = lowest(todo)
        todo = without_lowest(todo)
        new = minus(minus(fetch(preds, v, 0, zero), have), region)
        region = either(region, new)
        todo = either(todo, new)
    total = 0
    found = True
    while found and total <= slack:
        found = False
        entered = both(region, sources)
        left = zero
        tail = 0
        pool = entered
        while not is_empty(pool):
            v = lowest(pool)
            pool = without_lowest(pool)
            queue[tail] = 2 * v
            came[2 * v] = -1
            tail += 1
        head = 0
        end = -1
        while head < tail and end < 0:
            at = queue[head]
            head += 1
            v = at >> 1
            if at & 1:
                if has(goal, v):
                    end = at
                    break
                new = minus(both(fetch(succs, v, 0, zero), region), entered)
                entered = either(entered, new)
                while not is_empty(new):
                    u = lowest(new)
                    new = without_lowest(new)
                    came[2 * u] = at
                    queue[tail] = 2 * u
                    tail += 1
                if through[v] > 0 and not has(entered, v):
                    entered = either(entered, single(v, zero))
                    came[2 * v] = at
                    queue[tail] = 2 * v
                    tail += 1
            else:
                if not has(left, v) and (not has(blue, v) or through[v] < weights[v]):
                    left = either(left, single(v, zero))
                    came[2 * v + 1] = at
                    queue[tail] = 2 * v + 1
                    tail += 1
                back = minus(both(fetch(preds, v, 0, zero), region), left)
                while not is_empty(back):
                    u = lowest(back)
                    back = without_lowest(back)
                    if flow[u, v] > 0:
                        left = either(left, single(u, zero))
                        came[2 * u + 1] = at
                        queue[tail] = 2 * u + 1
                        tail += 1
        if end >= 0:
            found = True
            room: Any = np.int64(1) << 40
            at = end
            while came[at] >= 0:
                u = came[at] >> 1
                v = at >> 1
                if u == v:
                    if at & 1:
                        if has(blue, v):
                            room = min(room, weights[v] - through[v])
                    else:
                        room = min(room, through[v])
                elif not came[at] & 1:
                    room = min(room, flow[v, u])
                at = came[at]
            at = end
            while came[at] >= 0:
                u = came[at] >> 1
                v = at >> 1
                if u == v:
                    through[v] += room if at & 1 else -room
                elif came[at] & 1:
                    flow[u, v] += room
                else:
                    flow[v, u] -= room
                at = came[at]
            total += room
    pool = region
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        through[v] = 0
        into = fetch(preds, v, 0, zero)
        while not is_empty(into):
            flow[lowest(into), v] = 0
            into = without_lowest(into)
    return total
