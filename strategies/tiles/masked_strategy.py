"""Masked programs as a strategy: the readings and the search for blocks of a `TileStrategy` under a mask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphs.masks import Cells
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.result import Cost
from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Machine, Shape
from strategies.tiles.lowering import LoweringMachine
from strategies.tiles.masked_counting import total_cost
from strategies.tiles.masked_language import MaskedShape
from strategies.tiles.masked_lowering import MaskedLoweringMachine
from strategies.tiles.masked_tuning import best_masked_blocks, least_io, read
from strategies.tiles.strategy import Run, TileStrategy
from strategies.tiles.tuning import Step

__all__ = ["MaskedStrategy"]


class MaskedStrategy(TileStrategy):
    """A strategy made of masked programs (`strategies.protocol.Countable`).

    Parameters
    ----------
    name : str
    programs : mapping
        For each graph family, programs by name, each a sequence of `Step` whose body takes a masked machine
        and whose blocks are, in this order, those of the outer and of the inner loop, over ``queries`` and
        ``keys``; the program of least I/O is played.
    recomputing : collection of str
        The programs that compute vertices again, which the one-shot game forbids.
    first : callable, optional
        A program of the plain tile language that comes before, ``first(machine, shape)``.
    first_when : callable, optional
        Whether it does, by shape.

    Notes
    -----
    `strategies.tiles.masked_tuning` searches for the blocks; count keeps what it has read of each step.
    """

    def __init__(
        self,
        name: str,
        programs: Mapping[str, Mapping[str, Sequence[Step]]],
        *,
        recomputing: Collection[str] = (),
        first: Callable[[Machine, Shape], None] | None = None,
        first_when: Callable[[Shape], bool] = lambda shape: True,
    ) -> None:
        self._recomputing = recomputing
        self._first, self._first_when = first, first_when
        anything = dict.fromkeys(("mask", "heads", "kv_heads", "n_k"))
        super().__init__(name, programs, variants="program", plays={"given": ("D", "O"), **anything})

    def supports(self, instance: Instance) -> str | None:
        """None if the strategy plays such graphs and rules, else the reason why not; M is not judged."""
        reason = super().supports(instance)
        if reason is None and not self._steps(instance.cdag.family, Shape(), instance.rules.recomputation):
            return "it computes vertices again, which one-shot rules forbid"
        return reason

    def _choose(
        self, family: str, shape: Shape, M: int, options: Mapping[str, Any], again: bool
    ) -> tuple[list[Run], dict[str, Any], Cost]:
        best = None if options else self._best_program(family, shape, M, again)
        return super()._choose(family, shape, M, options if best is None else {"program": best}, again)

    def _best_program(self, family: str, shape: Shape, M: int, again: bool) -> str | None:
        """The program of least I/O, None if none fits; what cannot be it is not searched for blocks."""
        masked = _masked(shape)
        best: tuple[float, str | None] = np.inf, None
        for name, steps in self._steps(family, shape, again).items():
            # With the largest blocks a step has the least I/O.
            costs = [least_io(step, masked) for step in steps]
            for place, step in enumerate(steps):
                if sum(costs) >= best[0]:
                    break
                blocks = best_masked_blocks(step, masked, M, {})
                if blocks is None:
                    break
                found = read(step, masked, blocks)
                costs[place] = found.loads + found.stores
            else:
                best = min(best, (sum(costs), name), key=lambda entry: entry[0])
        return best[1]

    # -- readings -----------------------------------------------------------------------------------------

    def _steps(self, family: str, shape: Shape, again: bool) -> dict[str, list[Step]]:
        return {
            name: list(steps)
            for name, steps in self._programs[family].items()
            if again or name not in self._recomputing
        }

    def _least_peak(self, step: Step, shape: Shape, fixed: Mapping[str, int]) -> int:
        masked = _masked(shape) if fixed else _thinned(_masked(shape))
        peak = read(step, masked, {**dict.fromkeys(step.options, 1), **fixed}).peak
        return max(peak, self._before(shape).peak_red)

    def _best_blocks(
        self, step: Step, shape: Shape, M: int, fixed: Mapping[str, int]
    ) -> dict[str, int] | None:
        return best_masked_blocks(step, _masked(shape), M, fixed)

    def _price(self, runs: Sequence[Run], shape: Shape) -> Cost:
        masked = _masked(shape)
        readings = [
            read(step, masked, {name: blocks[name] for name in step.options}) for step, blocks in runs
        ]
        cost, first = total_cost(readings), self._before(shape)
        return Cost(
            first.loads + cost.loads,
            first.stores + cost.stores,
            first.computes + cost.computes,
            cost.recomputes,
            max(first.peak_red, cost.peak_red),
        )

    def _lower(self, cdag: CDAG, runs: Sequence[Run], shape: Shape) -> NDArray[Any]:
        pieces = []
        if self._first is not None and self._first_when(shape):
            plain = LoweringMachine(cdag)
            self._first(plain, shape)
            pieces.append(plain.moves())
        masked = _masked(shape)
        machine = MaskedLoweringMachine(cdag, masked)
        for copy in range(masked.copies):
            machine.turn_to(copy)
            for step, blocks in runs:
                step.run(machine, masked, blocks)
        return np.concatenate([*pieces, machine.moves()])

    def _before(self, shape: Shape) -> Cost:
        """The cost of the program that comes first."""
        machine = CountingMachine(shape)
        if self._first is not None and self._first_when(shape):
            self._first(machine, shape)
        return machine.cost()


@lru_cache(maxsize=32)
def _shape_of(params: tuple[tuple[str, Any], ...]) -> MaskedShape:
    return MaskedShape.of(dict(params))


def _masked(shape: Shape) -> MaskedShape:
    return _shape_of(tuple(sorted(vars(shape).items(), key=lambda item: item[0])))


@lru_cache(maxsize=32)
def _thinned(shape: MaskedShape) -> MaskedShape:
    """A shape with cells of at most two rows and columns: in larger ones blocks of one index meet no more."""
    if not isinstance(shape.mask, Cells):
        return shape
    rows, columns = (
        np.concatenate(([0], np.cumsum(np.minimum(np.diff(edges), 2))))
        for edges in (shape.mask.row_edges, shape.mask.column_edges)
    )
    thin = Cells(rows, columns, shape.mask.rows, shape.mask.columns)
    return MaskedShape(thin, shape.d, shape.copies, shape.heads, shape.fma)
