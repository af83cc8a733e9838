"""Plans: which tile programs, one after the other, take a graph from its inputs to its outputs at least I/O.

A program that leaves nothing in fast memory is an edge between sets of arrays: it needs some of them in slow
memory and adds others. The cheapest path from the inputs to the outputs is the best hybrid of a family of
programs, and since each program's best blocks do not depend on the others, the search is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pebble.errors import UnsupportedInstanceError
from pebble.result import Cost
from strategies.tiles.language import Shape
from strategies.tiles.paths import PlanGraph, Survey, survey
from strategies.tiles.strategy import Run, TileStrategy, block_size, price
from strategies.tiles.tuning import Step, best_priced

__all__ = ["Plan", "PlannedStrategy"]


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

    def graph(self, family: str, shape: Shape, again: bool) -> PlanGraph:
        """The phases as edges; `again` tells whether vertices may be computed again."""
        key = (family, *sorted(vars(shape).items()))
        if key not in self._surveys:
            steps = self.phases(family, shape)
            self._surveys[key] = {name: survey(step, shape) for name, step in steps.items()}
        return PlanGraph(self._surveys[key], frozenset(self._outputs[family]), again)

    def parse(self, options: Mapping[str, Any], graph: PlanGraph, steps: Mapping[str, Step]) -> Plan:
        """The plan that options fix, with its blocks if they do that too; an empty one if they fix none.

        Raises
        ------
        UnsupportedInstanceError
            They do not go together, or the plan does not lead from the inputs to the outputs.
        """
        if "plan" not in options:
            if "blocks" in options:
                raise UnsupportedInstanceError(f"'{self.name}' takes blocks=… together with plan=… only")
            return Plan([], None)
        names = str(options["plan"]).split("/")
        graph.check(names)
        if "blocks" not in options:
            return Plan(names, None)
        return Plan(names, _parse_blocks(str(options["blocks"]), [steps[name] for name in names]))

    def _least(self, family: str, shape: Shape, again: bool) -> int:
        graph = self.graph(family, shape, again)
        [(least, _)] = graph.cheapest({name: found.peak for name, found in graph.surveys.items()}, max)
        return least

    def _choose(
        self, family: str, shape: Shape, M: int, options: Mapping[str, Any], again: bool
    ) -> tuple[list[Run], dict[str, Any], Cost]:
        again = again and _recomputes(options.get("recompute", "yes"))
        steps, graph = self.phases(family, shape), self.graph(family, shape, again)
        plan = self.parse(options, graph, steps)
        if plan.blocks is None:
            plan = self._best(plan, graph, steps, shape, M, self._least(family, shape, again))
        assert plan.blocks is not None
        runs: list[Run] = [
            (steps[name], blocks) for name, blocks in zip(plan.names, plan.blocks, strict=True)
        ]
        cost = price(runs, shape)
        if cost.peak_red > M:
            least = cost.peak_red
            raise UnsupportedInstanceError(
                f"strategy '{self.name}' with these blocks needs M >= {least}, got M={M}", least
            )
        return runs, plan.options(steps), cost

    def _best(
        self, plan: Plan, graph: PlanGraph, steps: Mapping[str, Step], shape: Shape, M: int, least: int
    ) -> Plan:
        """The best blocks for a plan; the best plan of all if it is empty."""
        best = {name: best_priced(steps[name], shape, M) for name in plan.names or steps}
        fits = {name: found for name, found in best.items() if found is not None}
        names = plan.names
        if not names:
            plans = graph.cheapest({name: io for name, (_, io) in fits.items()})
            names = plans[0][1] if plans else []
        if not names or any(name not in fits for name in names):
            least = max((graph.surveys[name].peak for name in plan.names), default=least)
            raise UnsupportedInstanceError(f"strategy '{self.name}' needs M >= {least}, got M={M}", least)
        return Plan(names, [fits[name][0] for name in names])


@dataclass(frozen=True)
class Plan:
    """Phases by name, and the block sizes of each where they are known."""

    names: list[str]
    blocks: list[dict[str, int]] | None

    def options(self, steps: Mapping[str, Step]) -> dict[str, Any]:
        """The plan as options of the strategy."""
        described = {"plan": "/".join(self.names)}
        if self.blocks is not None:
            described["blocks"] = "/".join(
                "x".join(str(sizes[key]) for key in steps[name].options) or "-"
                for name, sizes in zip(self.names, self.blocks, strict=True)
            )
        return described


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
