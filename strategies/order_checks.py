"""Whether an order of computes can be replayed; what is wrong with it, and where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import InvalidOrderError
from pebble.rules import Rules

__all__ = ["check_first_events", "check_vertices", "raise_repeat", "without_first"]


def check_vertices(cdag: CDAG, order: NDArray[Any], rules: Rules) -> None:
    """Raise unless every entry is a vertex that the rules let be computed."""
    if not order.size:
        return
    n = cdag.num_vertices
    if order.min() < 0 or order.max() >= n:
        at = int(np.flatnonzero((order < 0) | (order >= n))[0])
        raise InvalidOrderError(
            f"position {at} of the order names vertex {order[at]}: ids go from 0 to {n - 1}",
            int(order[at]),
            at,
        )
    sources = cdag.is_source[order]
    if sources.any() and not rules.free_sources:
        at = int(np.flatnonzero(sources)[0])
        raise InvalidOrderError(
            f"position {at} of the order computes vertex {order[at]}, a source: leave sources out",
            int(order[at]),
            at,
        )


def without_first(order: NDArray[Any], vertices: Iterable[int]) -> NDArray[Any]:
    """The order without the first compute of each of the vertices."""
    places = (np.flatnonzero(order == v)[:1] for v in vertices)
    return np.delete(order, np.concatenate([np.empty(0, dtype=np.int64), *places]))


def raise_repeat(order: NDArray[Any], rules: Rules) -> None:
    """Raise for the first vertex that is computed again."""
    _, first = np.unique(order, return_index=True)
    again = np.ones(len(order), dtype=np.bool_)
    again[first] = False
    at = int(np.flatnonzero(again)[0])
    raise InvalidOrderError(
        f"position {at} of the order computes vertex {order[at]} again: {rules} rules allow it once",
        int(order[at]),
        at,
    )


def check_first_events(
    cdag: CDAG,
    ready: NDArray[np.bool_],
    first: NDArray[np.int32],
    order: NDArray[Any],
    steps: NDArray[Any],
    num_slots: int,
) -> None:
    """Raise unless every vertex that is not `ready` is computed before its first use, and outputs at all."""
    wrong = (first >= 0) & ~ready
    if wrong.any():
        p = int(np.flatnonzero(wrong)[0])
        ends = np.cumsum(cdag.in_degree[steps])
        slot = int(first[p]) - (num_slots - int(ends[-1]))
        v = int(steps[np.searchsorted(ends, slot, side="right")])
        where = np.flatnonzero(order == v)
        late = "after" if (order == p).any() else "never"
        raise InvalidOrderError(
            f"the order computes vertex {v} before its operand {p}, which it computes {late}: put {p} first",
            p,
            int(where[0]),
        )
    missing = (first == -1) & cdag.is_output & ~ready
    if missing.any():
        v = int(np.flatnonzero(missing)[0])
        raise InvalidOrderError(
            f"the order never computes vertex {v}, an output ({np.count_nonzero(missing)} missing in all)", v
        )
