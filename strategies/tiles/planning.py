"""Plans: which tile programs, one after the other, take a graph from its inputs to its outputs at least I/O.

A program that leaves nothing in fast memory is an edge between sets of arrays: it needs some of them in slow
memory and adds others. The cheapest path from the inputs to the outputs is the best hybrid of a family of
programs, and since each program's best blocks do not depend on the others, the search is exact.
"""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pebble.errors import UnsupportedInstanceError
from pebble.result import Cost
from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Shape
from strategies.tiles.strategy import Run, TileStrategy, block_size, price
from strategies.tiles.tuning import Step, best_priced

__all__ = ["PlannedStrategy", "Survey", "survey"]


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


class PlannedStrategy(TileStrategy):
    """A strategy that puts a hybrid together from a family of tile programs.

    Parameters
    ----------
    name : str
    phases : mapping
        For each graph family, its tile programs by name. Each starts and ends with an empty fast memory.
    outputs : mapping
        For each graph family, the arrays to end up with.
    plays, refuses
        As in `TileStrategy`.

    Notes
    -----
    A plan is written as the names of its phases, ``P@rows/P.dV+dS@columns/dS.dQ@tiles/dS.dK@tiles``, their
    blocks as ``13/7/13x16/13x16``, ``-`` where a phase has none. Under one-shot rules no two phases of a plan
    compute the same array.
    """

    def __init__(
        self,
        name: str,
        phases: Mapping[str, Mapping[str, Step]],
        outputs: Mapping[str, tuple[str, ...]],
        *,
        plays: Mapping[str, Sequence[Any]] | None = None,
        refuses: Callable[[Shape], str | None] | None = None,
    ) -> None:
        self._phases = phases
        self._outputs = outputs
        self._surveys: dict[tuple[Any, ...], dict[str, Survey]] = {}
        programs = {family: {"": tuple(steps.values())} for family, steps in phases.items()}
        super().__init__(name, programs, plays=plays, refuses=refuses)

    def _describe_options(self) -> dict[str, str]:
        return {
            "plan": "phases to play, joined by '/'; those of least I/O by default",
            "blocks": "block sizes of the plan's phases, as in 13/7/9x16; the best by default",
            "recompute": "no to leave out plans that compute a vertex again; yes by default",
        }

    def phases(self, family: str, shape: Shape) -> dict[str, Step]:
        """The phases that there are for a shape, by name."""
        return {
            name: step for name, step in self._phases[family].items() if step.when is None or step.when(shape)
        }

    def _surveyed(self, family: str, shape: Shape) -> dict[str, Survey]:
        key = (family, *sorted(vars(shape).items()))
        if key not in self._surveys:
            steps = self.phases(family, shape)
            self._surveys[key] = {name: survey(step, shape) for name, step in steps.items()}
        return self._surveys[key]

    def _least(self, family: str, shape: Shape, again: bool) -> int:
        surveys = self._surveyed(family, shape)
        peaks = {name: found.peak for name, found in surveys.items()}
        least, _ = _best_plan(peaks, surveys, self._outputs[family], again, max)
        return least

    def _choose(
        self, family: str, shape: Shape, M: int, options: Mapping[str, Any], again: bool
    ) -> tuple[list[Run], dict[str, Any], Cost]:
        again = again and _recomputes(options.get("recompute", "yes"))
        steps, surveys = self.phases(family, shape), self._surveyed(family, shape)
        if "plan" in options:
            plan = self._parse_plan(str(options["plan"]), surveys, family, again)
        elif "blocks" in options:
            raise UnsupportedInstanceError(f"'{self.name}' takes blocks=… together with plan=… only")
        else:
            plan = list(steps)
        runs: list[Run]
        if "blocks" in options:
            blocks = _parse_blocks(str(options["blocks"]), [steps[name] for name in plan])
            runs = list(zip((steps[name] for name in plan), blocks, strict=True))
            cost = price(runs, shape)
            if cost.peak_red > M:
                raise UnsupportedInstanceError(
                    f"strategy '{self.name}' with these blocks needs M >= {cost.peak_red}, got M={M}",
                    cost.peak_red,
                )
        else:
            best = {name: best_priced(steps[name], shape, M) for name in plan}
            fits = {name: found for name, found in best.items() if found is not None}
            if "plan" not in options:
                costs = {name: io for name, (_, io) in fits.items()}
                _, plan = _best_plan(costs, surveys, self._outputs[family], again, operator.add)
            if not plan or any(name not in fits for name in plan):
                least = (
                    max(surveys[name].peak for name in plan) if plan else self._least(family, shape, again)
                )
                raise UnsupportedInstanceError(f"strategy '{self.name}' needs M >= {least}, got M={M}", least)
            runs = [(steps[name], fits[name][0]) for name in plan]
            cost = price(runs, shape)
        return runs, {"plan": "/".join(plan), "blocks": "/".join(_text(run) for run in runs)}, cost

    def _parse_plan(self, text: str, surveys: Mapping[str, Survey], family: str, again: bool) -> list[str]:
        """The phases of a plan; UnsupportedInstanceError unless they lead from the inputs to the outputs."""
        plan, available, computed = text.split("/"), _inputs(surveys), frozenset[str]()
        for name in plan:
            if name not in surveys:
                known = ", ".join(surveys)
                raise UnsupportedInstanceError(f"'{self.name}' has no phase {name} here (known: {known})")
            missing = surveys[name].needs - available
            if missing:
                raise UnsupportedInstanceError(f"phase {name} needs {', '.join(sorted(missing))} before it")
            if not again and (surveys[name].repeats or computed & surveys[name].computes):
                raise UnsupportedInstanceError(f"phase {name} computes vertices again")
            available |= surveys[name].makes
            computed |= surveys[name].computes
        missing = frozenset(self._outputs[family]) - available
        if missing:
            raise UnsupportedInstanceError(f"plan {text} does not make {', '.join(sorted(missing))}")
        return plan


def _best_plan(
    costs: Mapping[str, int],
    surveys: Mapping[str, Survey],
    outputs: Iterable[str],
    again: bool,
    combine: Callable[[int, int], int],
) -> tuple[int, list[str]]:
    """The path of least cost from the inputs to the outputs (Dijkstra), empty if there is none."""
    goal = frozenset(outputs)
    found = 0
    reached: list[tuple[int, int, frozenset[str], frozenset[str], list[str]]] = [
        (0, 0, _inputs(surveys), frozenset(), [])
    ]
    settled: set[tuple[frozenset[str], frozenset[str]]] = set()
    while reached:
        cost, _, available, computed, plan = heapq.heappop(reached)
        if goal <= available:
            return cost, plan
        if (available, computed) in settled:
            continue
        settled.add((available, computed))
        for name, more in costs.items():
            phase = surveys[name]
            if not phase.needs <= available or phase.makes <= available:
                continue
            if not again and (phase.repeats or computed & phase.computes):
                continue
            found += 1
            after = frozenset() if again else computed | phase.computes
            entry = combine(cost, more), found, available | phase.makes, after, [*plan, name]
            heapq.heappush(reached, entry)
    return 0, []


def _inputs(surveys: Mapping[str, Survey]) -> frozenset[str]:
    """The arrays that no phase makes."""
    needs = frozenset(name for phase in surveys.values() for name in phase.needs)
    return needs - frozenset(name for phase in surveys.values() for name in phase.makes)


def _text(run: Run) -> str:
    step, blocks = run
    return "x".join(str(blocks[name]) for name in step.options) or "-"


def _parse_blocks(text: str, steps: Sequence[Step]) -> list[dict[str, int]]:
    parts = text.split("/")
    if len(parts) != len(steps):
        raise UnsupportedInstanceError(f"blocks={text} has {len(parts)} parts for {len(steps)} phases")
    blocks = []
    for part, step in zip(parts, steps, strict=True):
        sizes = [] if part == "-" else part.split("x")
        if len(sizes) != len(step.options):
            raise UnsupportedInstanceError(
                f"'{part}' in blocks={text} names {len(sizes)} sizes, not {len(step.options)}"
            )
        blocks.append(
            {
                name: block_size("blocks", size, least)
                for (name, least), size in zip(step.smallest.items(), sizes, strict=True)
            }
        )
    return blocks


def _recomputes(value: Any) -> bool:
    text = str(value).lower()
    if text not in ("yes", "no", "true", "false"):
        raise UnsupportedInstanceError(f"recompute={value} is neither yes nor no")
    return text in ("yes", "true")
