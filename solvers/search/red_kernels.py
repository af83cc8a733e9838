"""Which red pebbles can still be of use when vertices may be computed again, compiled. Imports numba."""

from __future__ import annotations

from typing import Any

import numba

from solvers.search.mask_kernels import (
    both,
    count,
    either,
    fetch,
    has,
    is_empty,
    lowest,
    minus,
    single,
    without_lowest,
)

__all__ = ["covered", "normal", "useful_of"]


@numba.njit(cache=True, nogil=True)
def useful_of(wanted: Any, preds: Any) -> Any:
    """`wanted` and all its ancestors."""
    found = wanted
    todo = wanted
    while not is_empty(todo):
        v = lowest(todo)
        todo = without_lowest(todo)
        new = minus(fetch(preds, v, 0, wanted), found)
        found = either(found, new)
        todo = either(todo, new)
    return found


@numba.njit(cache=True, nogil=True)
def covered(v: int, R: Any, useful: Any, succs: Any, weights: Any) -> Any:
    """Whether `v` serves only to compute one red vertex that takes no more room."""
    w = v
    while True:
        uses = both(fetch(succs, w, 0, R), useful)
        if count(uses) != 1:
            return False
        w = lowest(uses)
        if has(R, w):
            return weights[w] <= weights[v]


@numba.njit(cache=True, nogil=True)
def normal(R: Any, useful: Any, succs: Any, weights: Any) -> Any:
    """`R` without the red pebbles that can be of no use."""
    R = both(R, useful)
    pool = R
    while not is_empty(pool):
        v = lowest(pool)
        pool = without_lowest(pool)
        if covered(v, R, useful, succs, weights):
            R = minus(R, single(v, R))
    return R
