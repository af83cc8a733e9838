"""From a solution of the program to the moves that it stands for."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pebble.moves import Move, Op
from pebble.schedule import Schedule
from solvers.ilp.formulation import Formulation
from solvers.ilp.model import TRUE
from solvers.ilp.roles import END, START

__all__ = ["schedule_of"]


def schedule_of(f: Formulation, values: Sequence[int], seed: int = 0) -> Schedule:
    """The schedule of a solution; it costs what the solution does, or less where that loads for nothing.

    Parameters
    ----------
    f : Formulation
    values : sequence of int
        0 or 1 for each variable of the model.
    """
    player = _Player(f, values)
    player.begin()
    for place in range(len(player.order)):
        player.compute(place)
    return Schedule.from_moves(f.instance, player.needed_moves(), producer="ilp", seed=seed)


class _Player:
    """Plays a solution.

    Attributes
    ----------
    order : list of int
        The computes that take place.
    red : dict of int to int
        Each red vertex, with the place in the order until which it stays.
    """

    def __init__(self, f: Formulation, values: Sequence[int]) -> None:
        self.f = f
        self.values = values
        self.deletion = f.instance.rules.deletion
        self.order = self._order()
        place = {e: i for i, e in enumerate(self.order)} | {END: len(self.order)}
        # The last place until which each value stays, for each touch.
        self.stays: dict[tuple[int, int], int] = {}
        for (v, a, b), literal in f.keep.items():
            if self.holds(literal):
                self.stays[v, a] = max(self.stays.get((v, a), -1), place[b])
        self.moves: list[tuple[Move, bool]] = []  # and whether it is the one store of a complete value
        self.loaded: set[int] = set()
        self.red: dict[int, int] = {}
        self.saved = [False] * len(f.roles.makes)
        # How many computes each vertex still needs before it is complete.
        partial = f.instance.rules.partial
        self.missing = [len(made) if partial else 0 for made in f.roles.makes]

    def holds(self, literal: int) -> bool:
        """The value of a literal."""
        return literal == TRUE or (literal != -TRUE and bool(self.values[abs(literal) - 1]) == (literal > 0))

    def _order(self) -> list[int]:
        def precedes(a: int, b: int) -> int:
            return -1 if self.holds(self.f.before[a, b]) else 1

        order = [e for e, present in enumerate(self.f.present) if self.holds(present)]
        order.sort(key=functools.cmp_to_key(precedes))
        return order

    def begin(self) -> None:
        """The start: what is given stays, or goes."""
        for v in sorted(self.f.roles.given):
            self._save(v)
            self.red[v] = self.stays.get((v, START), -1)
        self._clear(-1)

    def compute(self, place: int) -> None:
        """Fetch what is missing for a compute, do it, and remove what does not stay."""
        e = self.order[place]
        slot = self.f.roles.slots[e]
        v = slot.vertex
        first = e not in self.f.fresh or self.holds(self.f.fresh[e])
        for u in slot.operands if first else (*slot.operands, v):
            if u not in self.red:
                remade = self.f.roles.is_remade(u)
                self._move(Op.COMPUTE if remade else Op.LOAD, u)
                if not remade and not self.missing[u]:
                    self.loaded.add(u)
            self.red[u] = max(self.red.get(u, place), self.stays.get((u, e), place))
        self._move(Op.COMPUTE, slot.move)
        for u in slot.operands:
            if (e, u) in self.f.slide and self.holds(self.f.slide[e, u]):
                self._move(Op.DELETE, u)
                del self.red[u]
        if self.missing[v]:
            self.missing[v] -= 1
        if not self.missing[v] and not self.saved[v]:
            self._save(v)
        self.red[v] = max(self.red.get(v, place), self.stays.get((v, e), place))
        self._clear(place)

    def _move(self, op: Op, vertex: int) -> None:
        self.moves.append((Move(op, vertex), False))

    def _save(self, v: int) -> None:
        """The place of the store of v, should it have one."""
        self.saved[v] = True
        if self.deletion and not self.f.roles.is_blue(v):
            self.moves.append((Move(Op.STORE, v), True))

    def _clear(self, place: int) -> None:
        for u in [u for u, until in self.red.items() if until <= place]:
            if not self.deletion or self.missing[u]:
                self._move(Op.STORE, u)
            if self.deletion:
                self._move(Op.DELETE, u)
            del self.red[u]

    def needed_moves(self) -> list[Move]:
        """The moves, without the stores of values that are not loaded and no outputs that need one."""
        roles = self.f.roles
        return [
            move
            for move, optional in self.moves
            if not optional
            or move.vertex in self.loaded
            or roles.must_be_stored(move.vertex)
            or (roles.ends(move.vertex) and move.vertex not in self.red)
        ]
