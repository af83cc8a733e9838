"""Plans as paths: tile programs lead from the arrays in slow memory to more of them."""

from __future__ import annotations

import heapq
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pebble.errors import UnsupportedInstanceError
from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Shape
from strategies.tiles.tuning import Step

__all__ = ["PlanGraph", "Survey", "survey"]

_State: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""The arrays in slow memory, and those computed already where none may be computed again."""


@dataclass(frozen=True)
class Survey:
    """What a tile program does to the arrays of a graph, whatever its blocks.

    Attributes
    ----------
    needs, makes, computes : frozenset of str
        Arrays that it reads from slow memory, that it leaves there, that it computes.
    repeats : bool
        Whether it computes a vertex more than once if its blocks are small.
    peak : int
        In words, with blocks of one index.
    """

    needs: frozenset[str]
    makes: frozenset[str]
    computes: frozenset[str]
    repeats: bool
    peak: int


def survey(step: Step, shape: Shape) -> Survey:
    """Read a tile program once and tell what it needs and makes."""
    machine = CountingMachine(shape)
    step.run(machine, shape, step.smallest)
    machine.check_empty()
    needs, makes, computes = (frozenset(x) for x in (machine.needs, machine.makes, machine.computed))
    return Survey(needs, makes, computes, machine.repeats, int(machine.peak))


@dataclass(frozen=True)
class PlanGraph:
    """The tile programs of a family and the outputs that a plan is to make.

    Attributes
    ----------
    surveys : mapping
        By the programs' names.
    outputs : frozenset of str
    again : bool
        Whether two programs may compute the same array.
    """

    surveys: Mapping[str, Survey]
    outputs: frozenset[str]
    again: bool

    @property
    def start(self) -> _State:
        """The arrays that no program makes: the inputs."""
        needs = frozenset(name for phase in self.surveys.values() for name in phase.needs)
        made = frozenset(name for phase in self.surveys.values() for name in phase.makes)
        return needs - made, frozenset()

    def after(self, state: _State, name: str) -> _State:
        """Where a program leads.

        Raises
        ------
        UnsupportedInstanceError
            It needs an array that is not there, or computes one again that it must not.
        """
        phase, (available, computed) = self.surveys[name], state
        missing = phase.needs - available
        if missing:
            raise UnsupportedInstanceError(f"phase {name} needs {', '.join(sorted(missing))} before it")
        if not self.again and (phase.repeats or computed & phase.computes):
            raise UnsupportedInstanceError(f"phase {name} computes vertices again")
        return available | phase.makes, computed if self.again else computed | phase.computes

    def check(self, plan: list[str]) -> None:
        """Raise UnsupportedInstanceError unless a plan leads from the inputs to the outputs."""
        state = self.start
        for name in plan:
            if name not in self.surveys:
                known = ", ".join(self.surveys)
                raise UnsupportedInstanceError(f"there is no phase {name} here (known: {known})")
            state = self.after(state, name)
        missing = self.outputs - state[0]
        if missing:
            text = "/".join(plan)
            raise UnsupportedInstanceError(f"plan {text} does not make {', '.join(sorted(missing))}")

    def cheapest(
        self,
        costs: Mapping[str, int],
        combine: Callable[[int, int], int] = operator.add,
        number: int = 1,
    ) -> list[tuple[int, list[str]]]:
        """The `number` cheapest plans of different kinds (Dijkstra), fewer if there are not so many.

        Parameters
        ----------
        costs : mapping of str to int
            Of the programs that may be used.
        combine : callable
            How the costs of a plan's programs add up.
        number : int

        Notes
        -----
        Two plans are of one kind if they differ only in how a program makes its arrays (``P@tiles`` or
        ``P@rows``), and in the order.
        """
        plans: dict[frozenset[str], tuple[int, list[str]]] = {}
        reached: list[tuple[int, int, _State, list[str]]] = [(0, 0, self.start, [])]
        settled: Counter[_State] = Counter()
        found = 0
        while reached and len(plans) < number:
            cost, _, state, plan = heapq.heappop(reached)
            if self.outputs <= state[0]:
                plans.setdefault(frozenset(name.partition("@")[0] for name in plan), (cost, plan))
                continue
            settled[state] += 1
            if settled[state] > _ways(number):
                continue
            for name, more in costs.items():
                phase = self.surveys[name]
                if not phase.needs <= state[0] or phase.makes <= state[0]:
                    continue
                if not self.again and (phase.repeats or state[1] & phase.computes):
                    continue
                found += 1
                entry = combine(cost, more), found, self.after(state, name), [*plan, name]
                heapq.heappush(reached, entry)
        return list(plans.values())


def _ways(number: int) -> int:
    """How often a state is left: most ways to it differ in the order only, and in how arrays are made."""
    return 1 if number == 1 else 20 * number
