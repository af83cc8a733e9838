"""From a schedule to the solution of the program that it stands for."""

from __future__ import annotations

from collections import Counter

from pebble.moves import Move, Op
from pebble.schedule import Schedule
from solvers.ilp.formulation import Formulation
from solvers.ilp.model import TRUE
from solvers.ilp.roles import END, START

__all__ = ["solution_of"]

# The touch of a value that no compute has touched since it was loaded.
_LOADED = -3


def solution_of(f: Formulation, schedule: Schedule) -> list[int] | None:
    """The values of the variables that stand for a schedule, None if it computes some vertex too often.

    The symmetry constraints may not hold: it is a hint, not a certificate. O(moves + keeps × computes).
    """
    trace = _Trace(f, Counter(move.vertex for move in schedule if move.op == Op.COMPUTE))
    for move in schedule:
        if not trace.play(move):
            return None
    return trace.solution()


class _Trace:
    """Follows a schedule and notes which variables hold.

    Attributes
    ----------
    order : list of int
        The computes, as slots.
    touched : dict of int to int
        The last touch of every red vertex.
    """

    def __init__(self, f: Formulation, computes: Counter[int]) -> None:
        self.f = f
        self.left = computes
        self.order: list[int] = []
        self.touched = dict.fromkeys(f.roles.given, START)
        self.kept: list[tuple[int, int, int]] = []
        self.true: list[int | None] = []
        self.reloaded: set[int] = set()
        self.computing = False
        self.slots: dict[int, list[int]] = {}
        for e, slot in enumerate(f.roles.slots):
            self.slots.setdefault(slot.move, []).append(e)

    def play(self, move: Move) -> bool:
        """Follow one move; False if there is no slot for it."""
        v, f = move.vertex, self.f
        # A delete slides if it follows a compute at once.
        self.computing = self.computing and move.op == Op.DELETE
        if move.op == Op.LOAD:
            self.touched[v] = _LOADED
        elif move.op == Op.COMPUTE:
            return self._compute(v)
        elif move.op == Op.DELETE:
            touch = self.touched.pop(v)
            if self.computing:
                self.true.append(f.slide.get((touch, v)))
                self.computing = False
        elif not f.instance.rules.deletion:
            self.true.append(f.drop.get((v, self.touched.pop(v))))
        return True

    def _compute(self, move: int) -> bool:
        f = self.f
        self.left[move] -= 1
        slots = self.slots.get(move, [])
        # Of a vertex that is made anew at every use the last compute has a slot, if any has.
        if not f.instance.rules.partial and f.roles.is_remade(move) and (self.left[move] or not slots):
            self.touched[move] = _LOADED
            return True
        if not slots:
            return False
        e = slots.pop(0)
        slot = f.roles.slots[e]
        v = slot.vertex
        if e in f.fresh and v not in self.touched:
            self.true.append(f.fresh[e])
        for u in (*slot.operands, v) if e in f.fresh and v in self.touched else slot.operands:
            touch = self.touched[u]
            if touch == _LOADED:
                self.true.append(f.load.get((u, e)))
                if not f.roles.is_remade(u) and e not in f.roles.makes[u]:
                    self.reloaded.add(u)
            else:
                self.kept.append((u, touch, e))
            self.touched[u] = e
        self.touched[v] = e
        self.order.append(e)
        self.computing = True
        return True

    def solution(self) -> list[int]:
        """The values of all variables."""
        f = self.f
        values = [0] * f.model.num_variables

        def put(literal: int | None, value: bool) -> None:
            if literal is not None and abs(literal) != TRUE:
                values[abs(literal) - 1] = int(value == (literal > 0))

        place = {e: i for i, e in enumerate(self.order)}
        n = len(f.present)
        # Computes that do not take place come last, each behind its ancestors.
        position = {v: i for i, v in enumerate(f.instance.cdag.topological_order.tolist())}
        for e in sorted(range(n), key=lambda e: position[f.roles.slots[e].vertex]):
            put(f.present[e], e in place)
            place.setdefault(e, len(place))
        for e in range(n):
            for other in range(e + 1, n):
                put(f.before[e, other], place[e] < place[other])
        place |= {START: -1, END: 2 * n}
        stored = set(self.reloaded)
        for v in range(f.instance.cdag.num_vertices):
            if f.roles.ends(v):
                if self.touched.get(v, _LOADED) != _LOADED:
                    self.kept.append((v, self.touched[v], END))
                else:
                    stored.add(v)
        for literal in self.true:
            put(literal, True)
        for v in stored:
            put(f.store.get(v), True)
        for v, a, b in self.kept:
            put(f.keep.get((v, a, b)), True)
            for e in range(n):
                if place[a] < place[e] < place[b]:
                    put(f.red.get((v, e)), True)
        for (v, a, b), literal in f.blue.items():
            put(literal, f.drop[v, a] in self.true and place[a] < place[b])
        for (v, a), literal in f.final.items():
            put(literal, f.drop[v, a] in self.true and all(place[e] <= place[a] for e in f.roles.makes[v]))
        return values
