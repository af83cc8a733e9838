"""From a solution of the program to the moves that it stands for, and from a schedule to a solution."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pebble.instance import Instance
from pebble.moves import Move, Op
from pebble.schedule import Schedule
from solvers.ilp.formulation import Formulation
from solvers.ilp.model import TRUE

__all__ = ["schedule_of", "solution_of"]


def schedule_of(f: Formulation, values: Sequence[int], seed: int = 0) -> Schedule:
    """The schedule of a solution; it costs what the solution does, or less where that loads for nothing.

    Parameters
    ----------
    f : Formulation
    values : sequence of int
        0 or 1 for each variable of the model.
    """

    def holds(literal: int) -> bool:
        return literal == TRUE or (literal != -TRUE and bool(values[abs(literal) - 1]) == (literal > 0))

    def precedes(a: int, b: int) -> int:
        return -1 if holds(f.before[a, b]) else 1

    n = len(f.computes)
    order = [e for e in range(n) if holds(f.computes[e].present)]
    order.sort(key=functools.cmp_to_key(precedes))
    place = {e: i for i, e in enumerate(order)}
    # The last compute until which each value stays, for each touch.
    stays: dict[tuple[int, int], int] = {}
    for (v, a, b), literal in f.keep.items():
        if holds(literal):
            stays[v, a] = max(stays.get((v, a), 0), place[b])
    output = f.instance.cdag.is_output
    moves: list[Move] = []
    loaded: set[int] = set()
    red: dict[int, int] = {}  # vertex to the place until which it stays
    for i, e in enumerate(order):
        w = f.computes[e].vertex
        for u in f.preds[w]:
            if u not in red:
                moves.append(Move(Op.LOAD, u))
                loaded.add(u)
            red[u] = max(red.get(u, i), stays.get((u, e), i))
        moves.append(Move(Op.COMPUTE, w))
        if f.computes[e].copy == 0:
            moves.append(Move(Op.STORE, w))
        red[w] = stays.get((w, e), i)
        for u in [u for u, until in red.items() if until <= i]:
            moves.append(Move(Op.DELETE, u))
            del red[u]
    moves = [m for m in moves if m.op != Op.STORE or output[m.vertex] or m.vertex in loaded]
    return Schedule.from_moves(f.instance, moves, producer="ilp", seed=seed)


def solution_of(f: Formulation, schedule: Schedule) -> list[int] | None:
    """The values of the variables that stand for a schedule, None if it computes some vertex too often.

    The symmetry constraints may not hold: it is a hint, not a certificate. O(moves × computes).
    """
    order, kept, loaded, stored = _trace(f.instance, schedule)
    copies: dict[int, int] = {}
    index: list[int] = []
    for w in order:
        copy = copies.get(w, 0)
        copies[w] = copy + 1
        if copy >= len(f.of_vertex[w]):
            return None
        index.append(f.of_vertex[w][copy])
    values = [0] * f.model.num_variables

    def put(literal: int | None, value: bool) -> None:
        if literal is not None and abs(literal) != TRUE:
            values[abs(literal) - 1] = int(value == (literal > 0))

    place = {e: i for i, e in enumerate(index)}
    absent = len(index)
    for e, compute in enumerate(f.computes):
        put(compute.present, e in place)
        for other in range(e + 1, len(f.computes)):
            mine, theirs = place.get(e, absent + e), place.get(other, absent + other)
            put(f.before[e, other], mine < theirs)
    for v, i, j in kept:
        put(f.keep.get((v, index[i], index[j])), True)
        for k in range(i + 1, j):
            put(f.red.get((v, index[k])), True)
    for v, i in loaded:
        put(f.load.get((v, index[i])), True)
    for v in stored:
        put(f.store.get(v), True)
    return values


def _trace(
    instance: Instance, schedule: Schedule
) -> tuple[list[int], list[tuple[int, int, int]], list[tuple[int, int]], set[int]]:
    """The order, who is kept between which places, who is loaded for which, who is stored for a reload."""
    g = instance.cdag
    order: list[int] = []
    kept: list[tuple[int, int, int]] = []
    loaded: list[tuple[int, int]] = []
    reloaded: set[int] = set()
    touched: dict[int, int] = {}  # red vertices to the place of their last touch, -1 just after a load
    for move in schedule:
        v = move.vertex
        if move.op == Op.LOAD:
            touched[v] = -1
        elif move.op == Op.DELETE:
            touched.pop(v, None)
        elif move.op == Op.COMPUTE:
            here = len(order)
            for u in g.preds(v).tolist():
                if touched[u] < 0:
                    loaded.append((u, here))
                    reloaded.add(u)
                else:
                    kept.append((u, touched[u], here))
                touched[u] = here
            touched[v] = here
            order.append(v)
    return order, kept, loaded, reloaded
