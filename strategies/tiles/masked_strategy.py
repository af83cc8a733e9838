"""Masked programs as a strategy: the readings and the search for blocks of a `TileStrategy` under a mask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
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
from strategies.tiles.masked_counting import MaskedCountingMachine
from strategies.tiles.masked_language import Axis, MaskedShape
from strategies.tiles.masked_lowering import MaskedLoweringMachine
from strategies.tiles.strategy import Run, TileStrategy
from strategies.tiles.tuning import Step, distinct_blocks

__all__ = ["MaskedStrategy"]

# Sizes of the outer blocks that are tried below the largest that fits: where blocks end matters under a mask.
_TRIED = 12
# Outer blocks that the search looks at to tell what fits; what it finds is then read whole.
_SAMPLE = 64


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
    The search for blocks is exact but for where blocks end: I/O does not depend on the inner block, and of
    the outer ones those that fit and are among the largest are tried, with multiples of a mask's own blocks.
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

    # -- readings -----------------------------------------------------------------------------------------

    def _steps(self, family: str, shape: Shape, again: bool) -> dict[str, list[Step]]:
        return {
            name: list(steps)
            for name, steps in self._programs[family].items()
            if again or name not in self._recomputing
        }

    def _least_peak(self, step: Step, shape: Shape, fixed: Mapping[str, int]) -> int:
        masked = _masked(shape) if fixed else _thinned(_masked(shape))
        peak = _read(step, masked, {**dict.fromkeys(step.options, 1), **fixed}).peak
        return max(peak, self._before(shape).peak_red)

    def _best_blocks(
        self, step: Step, shape: Shape, M: int, fixed: Mapping[str, int]
    ) -> dict[str, int] | None:
        return _best_blocks(step, _masked(shape), M, fixed)

    def _price(self, runs: Sequence[Run], shape: Shape) -> Cost:
        machine = MaskedCountingMachine(_masked(shape))
        for step, blocks in runs:
            step.run(machine, _masked(shape), blocks)
        cost, first = machine.cost(), self._before(shape)
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


# -- blocks ------------------------------------------------------------------------------------------


def _read(
    step: Step, shape: MaskedShape, blocks: Mapping[str, int], sample: int | None = None
) -> MaskedCountingMachine:
    machine = MaskedCountingMachine(shape, sample)
    step.run(machine, shape, blocks)
    return machine


def _best_blocks(step: Step, shape: MaskedShape, M: int, fixed: Mapping[str, int]) -> dict[str, int] | None:
    """The sizes of the blocks of a step for M words, or None if none fit; given ones are kept."""
    (outer, axis), (inner, other) = step.options.items()
    coarse = fixed.get(inner, shape.extent(_axis(other)))
    inner_sizes = [fixed[inner]] if inner in fixed else distinct_blocks(shape.extent(_axis(other))).tolist()
    sizes = [fixed[outer]] if outer in fixed else _sizes(shape, _axis(axis))

    def fits(outside: int, inside: int, sample: int | None = _SAMPLE) -> bool:
        return _read(step, shape, {outer: outside, inner: inside}, sample).peak <= M

    def io(outside: int) -> int:
        machine = _read(step, shape, {outer: outside, inner: coarse})
        return machine.loads + machine.stores

    best = _last(sizes, lambda outside: fits(outside, inner_sizes[0]))
    if best < 0:
        return None
    # Of equal I/O, the smaller blocks.
    tried = sorted(_largest(sizes[: best + 1], shape), key=lambda outside: (io(outside), outside))
    # All of them fit where they were looked at. Should none fit everywhere, smaller ones do.
    for outside in [*tried, *sizes[: best + 1][::-_TRIED], sizes[0]]:
        widest = inner_sizes[max(_last(inner_sizes, partial(fits, outside)), 0)]
        for inside in (widest, inner_sizes[0]):
            if fits(outside, inside, None):
                return {outer: outside, inner: inside}
    return None


def _axis(text: str) -> Axis:
    return "queries" if text == "queries" else "keys"


def _sizes(shape: MaskedShape, axis: Axis) -> list[int]:
    """Sizes of outer blocks to choose from, ascending."""
    mask = shape.outside(axis)
    own = range(mask.period, mask.queries, mask.period) if mask.period > 1 else ()
    return sorted({*distinct_blocks(mask.queries).tolist(), *own})


def _largest(sizes: Sequence[int], shape: MaskedShape) -> Iterator[int]:
    """The largest sizes, of any kind and of multiples of the mask's own blocks."""
    whole = [size for size in sizes if size % shape.mask.period == 0]
    yield from dict.fromkeys([*sizes[-_TRIED:], *whole[-_TRIED:]])


def _last(sizes: Sequence[int], fits: Callable[[int], bool]) -> int:
    """The last position that fits, where what comes before it fits too; -1 if none does."""
    low, high = -1, len(sizes)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(sizes[middle]) else (low, middle)
    return low
