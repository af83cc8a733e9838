"""Recomputation put into an order: a value that would be loaded is made anew from what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays
from pebble.result import Limit
from strategies.replaying import plan_io, prepare, replay

__all__ = ["recompute_order"]

# Vertices made anew to save one load; beyond, the loads of their operands and the evictions cost more.
_MOST_ANEW = (1, 2, 4, 12)
_DEFAULT_TRIES = 500


def recompute_order(
    instance: Instance, order: ArrayLike, *, limit: Limit | None = None, seed: int = 0
) -> tuple[NDArray[Any], dict[str, Any]]:
    """A cheaper order that computes some vertices again, or `order` itself.

    For a load of a value that is no source, the value and those of its ancestors that are not red then are
    computed again instead; the order is replayed, and kept if the I/O is less.

    Parameters
    ----------
    instance : Instance
        Its rules must allow recomputation, else nothing is tried.
    order : array_like of int
    limit : Limit, optional
        `time` in seconds, `nodes` in replays (500 if neither is given).
    seed : int
        The order in which loads are looked at.

    Returns
    -------
    order : ndarray of int
    stats : dict
        ``tries``, and ``io`` at the start and at the end by a full replay.

    Notes
    -----
    Every try replays the whole order, O(|E|).

    Examples
    --------
    >>> import graphs
    >>> cdag = CDAG.from_edges(7, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (1, 5), (4, 5), (4, 6), (1, 6)])
    >>> recompute_order(Instance(cdag, 3), [1, 2, 3, 4, 5, 6])[1]["io"]
    (5, 4)
    """
    began = time.monotonic()
    limit = limit or Limit()
    most = limit.nodes
    if most is None and limit.time is None:
        most = _DEFAULT_TRIES
    current = np.asarray(order)
    io = start = plan_io(prepare(instance, current), instance.M)
    rng = np.random.default_rng(seed)
    tries = 0
    rules = instance.rules
    improved = rules.recomputation

    def spent() -> bool:
        return (most is not None and tries >= most) or (
            limit.time is not None and time.monotonic() - began >= limit.time
        )

    while improved and not spent():
        improved = False
        schedule = replay(instance, current)
        current = schedule.order()
        places = list(_anew(instance.cdag, schedule.moves, Op.DELETE if rules.deletion else Op.STORE))
        for k in rng.permutation(len(places)):
            if spent():
                break
            at, vertices = places[k]
            longer = np.concatenate((current[:at], vertices, current[at:]))
            new_io = plan_io(prepare(instance, longer), instance.M)
            tries += 1
            if new_io < io:
                current, io, improved = longer, new_io, True
                break
    return current, {"tries": tries, "io": (start, io)}


def _anew(cdag: CDAG, moves: NDArray[Any], leaving: Op) -> Iterator[tuple[int, list[int]]]:
    """Where in the order which vertices could be computed again to save a load; `leaving` takes red off."""
    red: set[int] = set()
    computes = 0
    ops, vertices = unpack_arrays(moves)
    for op, v in zip(ops.tolist(), vertices.tolist(), strict=True):
        if op == Op.LOAD:
            if not cdag.is_source[v]:
                cones = {tuple(_cone(cdag, v, red, most)) for most in _MOST_ANEW}
                for cone in sorted(cones):
                    yield computes, list(cone)
            red.add(v)
        elif op == Op.COMPUTE:
            computes += not cdag.is_source[v]
            red.add(v)
        elif op == leaving:
            red.discard(v)


def _cone(cdag: CDAG, v: int, red: set[int], most: int) -> list[int]:
    """`v` and its nearest ancestors that are neither red nor sources, at most so many, operands first."""
    found = [v]
    for u in found:
        for p in cdag.preds(u).tolist():
            if len(found) < most and p not in red and not cdag.is_source[p] and p not in found:
                found.append(p)
    # Operands first: by depth from `v`, a vertex met again deeper down comes earlier.
    inside = set(found)
    order: list[int] = []
    stack = [(v, False)]
    seen: set[int] = set()
    while stack:
        u, done = stack.pop()
        if done:
            order.append(u)
        elif u not in seen:
            seen.add(u)
            stack.append((u, True))
            stack += [(p, False) for p in cdag.preds(u).tolist() if p in inside]
    return order
