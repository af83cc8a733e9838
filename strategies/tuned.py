"""Plans tuned for the memory that their orders need when replayed, which is less than their tiles do.

A tile program keeps room for its highest peak all the time, and frees whole tiles. Replaying its order keeps
each word as long as that is worth it, so that other plans and somewhat larger blocks may be the best ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.attention_hybrids import HYBRID
from strategies.replaying import replay, replay_io
from strategies.tiles.lowering import LoweringMachine
from strategies.tiles.planning import Plan, PlannedStrategy
from strategies.tiles.strategy import shape_of
from strategies.tiles.tuning import Step, best_priced

__all__ = ["TUNED", "Tuned"]

# Blocks are taken from those that would be the best for somewhat more memory.
_MORE_MEMORY = (1.0, 1.04, 1.1, 1.2, 1.35)
_MORE_WORDS = 2
_PLANS = 4
_FIRST_MEMORIES = 2


class Tuned:
    """The best plans of a planned strategy, their orders replayed, then their blocks searched.

    Parameters
    ----------
    name : str
    planned : PlannedStrategy

    Notes
    -----
    Each order that is tried is written and replayed, at some millions of vertices per second. Without a limit
    the few best plans are; ``effort`` orders more are tried from there on by changing a block, or how one
    array is made, at a time. The result is the same for the same options, unless time limits it.
    """

    options: Mapping[str, str] = {
        "plan": "phases to play, as in hybrid; several are tried by default",
        "blocks": "their block sizes; with these nothing is tried",
        "effort": "how many more orders are tried, 0 by default; a limit goes before",
    }

    def __init__(self, name: str, planned: PlannedStrategy) -> None:
        self.name = name
        self._planned = planned

    def supports(self, instance: Instance) -> str | None:
        """None if the planned strategy plays such graphs, else the reason why not."""
        return self._planned.supports(instance)

    def least_M(self, instance: Instance) -> int:
        """The graph's own least M: replay fits any order into it."""
        return instance.least_M

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        """Play `instance`.

        Parameters
        ----------
        instance : Instance
        limit : Limit, optional
            `time` in seconds, or `nodes`, how many orders are tried. One is in any case.
        seed : int
            Plays no part.
        **options
            ``plan``, ``blocks``, ``effort``.

        Raises
        ------
        InfeasibleInstanceError, UnsupportedInstanceError
        """
        reason = self.supports(instance)
        if reason is not None:
            raise UnsupportedInstanceError(
                f"strategy '{self.name}' does not play {instance.cdag.name}: {reason}"
            )
        instance.require_feasible()
        search = _Search(self._planned, instance, limit or Limit(), _effort(options.get("effort")))
        plan = search.run({key: value for key, value in options.items() if key != "effort"})
        schedule = replay(instance, search.order(plan))
        info = {**plan.options(search.steps), "tried": search.tried}
        producer = ":".join([self.name, *(f"{key}={info[key]}" for key in ("plan", "blocks"))])
        return replace(schedule, producer=producer, seed=seed, info=info)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tuned, (self.name, self._planned)


class _Search:
    """A local search over plans and blocks, priced by replay."""

    def __init__(
        self, planned: PlannedStrategy, instance: Instance, limit: Limit, effort: int | None
    ) -> None:
        cdag = instance.cdag
        self._instance = instance
        self._shape = shape_of(cdag.family, cdag.params)
        self.steps: dict[str, Step] = planned.phases(cdag.family, self._shape)
        self._planned = planned
        self._graph = planned.graph(cdag.family, self._shape, instance.rules.recomputation)
        self._deadline = None if limit.time is None else time.monotonic() + limit.time
        self._most, self._effort = limit.nodes, effort
        self.tried = 0
        self._orders: dict[tuple[str, tuple[int, ...]], NDArray[Any]] = {}
        self._priced: dict[tuple[str, int], tuple[dict[str, int], int] | None] = {}
        self._known: dict[tuple[Any, ...], int] = {}

    def run(self, options: Mapping[str, Any]) -> Plan:
        """The best plan found."""
        given = self._planned.parse(options, self._graph, self.steps)
        if given.blocks is not None:
            return given
        starts: list[tuple[int, Plan]] = []
        for plan in self._first_plans(given.names):
            if starts and self._done():
                break
            starts.append((self._io(plan), plan))
        if self._most is None and self._deadline is None:
            self._most = self.tried + (self._effort or 0)
        starts.sort(key=lambda start: start[0])
        found = [self._descend(*start) for start in starts]
        return min(found, key=lambda end: end[0])[1]

    # -- orders -------------------------------------------------------------------------------------------

    def order(self, plan: Plan) -> NDArray[Any]:
        """The computes of a plan, phase by phase."""
        assert plan.blocks is not None
        parts = []
        for name, blocks in zip(plan.names, plan.blocks, strict=True):
            key = name, tuple(blocks.values())
            if key not in self._orders:
                machine = LoweringMachine(self._instance.cdag)
                self.steps[name].run(machine, self._shape, blocks)
                ops, vertices = unpack_arrays(machine.moves())
                self._orders[key] = vertices[ops == Op.COMPUTE]
            parts.append(self._orders[key])
        return np.concatenate(parts)

    def _io(self, plan: Plan) -> int:
        assert plan.blocks is not None
        key = (*plan.names, *(tuple(blocks.values()) for blocks in plan.blocks))
        if key not in self._known:
            self.tried += 1
            self._known[key] = replay_io(self._instance, self.order(plan))
        return self._known[key]

    def _done(self) -> bool:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return True
        return self._most is not None and self.tried >= self._most

    # -- plans --------------------------------------------------------------------------------------------

    def _best(self, name: str, M: int) -> tuple[dict[str, int], int] | None:
        """The best blocks of a phase for M words, and the I/O with them."""
        if (name, M) not in self._priced:
            self._priced[name, M] = best_priced(self.steps[name], self._shape, M)
        return self._priced[name, M]

    def _memories(self) -> list[int]:
        """M, and somewhat more."""
        M = self._instance.M
        return sorted({int(M * factor) for factor in _MORE_MEMORY} | {M + w for w in range(_MORE_WORDS + 1)})

    def _first_plans(self, names: list[str]) -> list[Plan]:
        """The cheapest plans of some kinds by count, or the one that is given."""
        found: list[Plan] = []
        for M in self._memories()[:_FIRST_MEMORIES]:
            fits = {name: best for name in names or self.steps if (best := self._best(name, M)) is not None}
            if names:
                plans = [names] if len(fits) == len({*names}) else []
            else:
                costs = {name: io for name, (_, io) in fits.items()}
                plans = [plan for _, plan in self._graph.cheapest(costs, number=_PLANS)]
            found += [Plan(plan, [fits[name][0] for name in plan]) for plan in plans]
            if len(found) >= _PLANS:
                break
        if not found:
            # Less than any plan's tiles need: blocks of one index, which replay fits into anything.
            peaks = {name: survey.peak for name, survey in self._graph.surveys.items()}
            plan = names or self._graph.cheapest(peaks, max)[0][1]
            found = [Plan(plan, [self.steps[name].smallest for name in plan])]
        return found

    # -- local search -------------------------------------------------------------------------------------

    def _descend(self, io: int, plan: Plan) -> tuple[int, Plan]:
        """Change one phase at a time, as long as that makes the plan cheaper and the limit allows."""
        improved = True
        while improved:
            improved = False
            for position in range(len(plan.names)):
                for candidate in self._changed(plan, position):
                    if self._done():
                        return io, plan
                    cost = self._io(candidate)
                    if cost < io:
                        io, plan, improved = cost, candidate, True
        return io, plan

    def _changed(self, plan: Plan, position: int) -> Iterator[Plan]:
        """Plans that make the arrays of one phase in another way, or with other blocks."""
        assert plan.blocks is not None
        name, blocks = plan.names[position], plan.blocks[position]

        def with_phase(other: str, sizes: dict[str, int]) -> Plan:
            names, parts = list(plan.names), list(plan.blocks or [])
            names[position], parts[position] = other, sizes
            return Plan(names, parts)

        for other in self.steps:
            if other.partition("@")[0] == name.partition("@")[0]:
                for M in self._memories():
                    found = self._best(other, M)
                    if found is not None and (other, found[0]) != (name, blocks):
                        yield with_phase(other, found[0])
        step = self.steps[name]
        axes, least = step.options, step.smallest
        for key in axes:
            for change in (-2, -1, 1, 2):
                size = blocks[key] + change
                if least[key] <= size <= getattr(self._shape, axes[key]):
                    yield with_phase(name, {**blocks, key: size})


def _effort(value: Any) -> int | None:
    if value is None:
        return None
    try:
        effort = int(value)
    except (TypeError, ValueError):
        effort = -1
    if effort < 0:
        raise UnsupportedInstanceError(f"effort={value} is no whole number from 0 up")
    return effort


TUNED = Tuned("tuned", HYBRID)
