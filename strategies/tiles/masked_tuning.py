"""Blocks for a masked program: a search over sizes, priced by the masked counting machine.

Where blocks end matters under a mask, so that no formula tells what fits; but reading a program over every
outer block takes time. Sizes are compared over a sample of outer blocks, and what is found is read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np

from strategies.tiles.masked_counting import MaskedCountingMachine
from strategies.tiles.masked_language import Axis, MaskedShape
from strategies.tiles.tuning import Step, distinct_blocks

__all__ = ["best_masked_blocks", "least_io", "read"]

# Sizes of the outer blocks that are tried below the largest that fits: where blocks end matters under a mask.
_TRIED = 12
# Outer blocks that the search looks at to tell what fits; what it finds is then read whole.
_SAMPLE = 64
# Where both sizes matter: outer sizes tried in each of some rounds, each around the best one before; outer
# blocks that are looked at; how many of the next smaller and larger sizes are tried in the end; how many of
# the best sizes are read whole.
_GRID = 8
_ROUNDS = 3
_FEW = 16
_NEXT = 2
_READ_WHOLE = 3


def read(
    step: Step, shape: MaskedShape, blocks: Mapping[str, int], sample: int | None = None
) -> MaskedCountingMachine:
    """Read a step with these blocks; over about `sample` outer blocks only, if that is given."""
    return _read(_Key(step), shape, tuple(blocks[name] for name in step.options), sample)


class _Key:
    """A step as a key of caches: the step itself holds what cannot be one."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.step is other.step

    def __hash__(self) -> int:
        return id(self.step)


@lru_cache(maxsize=512)
def _read(key: _Key, shape: MaskedShape, sizes: tuple[int, ...], sample: int | None) -> MaskedCountingMachine:
    machine = MaskedCountingMachine(shape, sample)
    key.step.run(machine, shape, dict(zip(key.step.options, sizes, strict=True)))
    return machine


def least_io(step: Step, shape: MaskedShape) -> int:
    """The I/O of a step with the largest blocks, in words: it has no less with others."""
    whole = {
        name: shape.d if axis == "columns" else shape.extent(_axis(axis))
        for name, axis in step.options.items()
    }
    machine = read(step, shape, whole)
    return machine.loads + machine.stores


def best_masked_blocks(
    step: Step, shape: MaskedShape, M: int, fixed: Mapping[str, int]
) -> dict[str, int] | None:
    """The sizes of the two blocks of a step for M words, or None if none fit; given ones are kept.

    Parameters
    ----------
    step : Step
        Its blocks are those of the outer loop, then those of the inner one or of the head dimension.
    shape : MaskedShape
    M : int
        Words of fast memory.
    fixed : mapping of str to int
        Block sizes that are not searched for.

    Notes
    -----
    Where the I/O does not depend on the inner block the search is exact but for where blocks end: of the
    outer sizes those that fit and are among the largest are tried, with multiples of a mask's own blocks.
    Where it does, outer sizes are refined around the best one, each with the largest second size that fits.
    """
    return _best(_Key(step), shape, M, tuple(sorted(fixed.items())))


@lru_cache(maxsize=128)
def _best(key: _Key, shape: MaskedShape, M: int, fixed: tuple[tuple[str, int], ...]) -> dict[str, int] | None:
    if key.step.tiles:
        return _best_tiles(key.step, shape, M, dict(fixed))
    return _best_outer(key.step, shape, M, dict(fixed))


# -- where the outer size alone matters --------------------------------------------------------------------


def _best_outer(step: Step, shape: MaskedShape, M: int, fixed: Mapping[str, int]) -> dict[str, int] | None:
    outer, inner = step.options
    inner_sizes, sizes = _inner_sizes(step, shape, fixed), _outer_sizes(step, shape, fixed)
    coarse = inner_sizes[-1]

    def fits(outside: int, inside: int, sample: int | None = _SAMPLE) -> bool:
        return read(step, shape, {outer: outside, inner: inside}, sample).peak <= M

    def io(outside: int) -> int:
        machine = read(step, shape, {outer: outside, inner: coarse})
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


def _largest(sizes: Sequence[int], shape: MaskedShape) -> Iterator[int]:
    """The largest sizes, of any kind and of multiples of the mask's own blocks."""
    whole = [size for size in sizes if size % shape.mask.period == 0]
    yield from dict.fromkeys([*sizes[-_TRIED:], *whole[-_TRIED:]])


# -- where both sizes matter -------------------------------------------------------------------------------


def _best_tiles(step: Step, shape: MaskedShape, M: int, fixed: Mapping[str, int]) -> dict[str, int] | None:
    outer, inner = step.options
    inner_sizes, sizes = _inner_sizes(step, shape, fixed), _outer_sizes(step, shape, fixed)
    extent = shape.outside(_axis(step.options[outer])).queries
    # By outer size: the I/O as the sample tells it, and the largest second size that fits there.
    found: dict[int, tuple[float, int]] = {}

    def look(outside: int) -> None:
        # What fits where tiles are full, which is all that fits unless the mask is narrow.
        full = _last(inner_sizes, lambda size: outside * size + min(outside, size) + 3 <= M)
        inside = _last(inner_sizes, lambda size: peak(outside, size, _FEW) <= M, full)
        if inside < 0:
            return
        machine = read(step, shape, {outer: outside, inner: inner_sizes[inside]}, _FEW)
        whole = (machine.loads + machine.stores) / machine.looked_at * -(-extent // outside)
        found[outside] = whole, inside

    def peak(outside: int, inside: int, sample: int | None = None) -> int:
        return read(step, shape, {outer: outside, inner: inside}, sample).peak

    low, high = 0, _last(sizes, lambda outside: peak(outside, inner_sizes[0], _FEW) <= M)
    if high < 0:
        return None
    for _ in range(_ROUNDS):
        places = np.unique(np.geomspace(low + 1, high + 1, _GRID).round().astype(np.int64) - 1)
        own = [size for size in sizes[low : high + 1] if size % shape.mask.period == 0][-_GRID:]
        for outside in {*(sizes[place] for place in places.tolist()), *own} - {*found}:
            look(outside)
        if len(places) < _GRID or not found:
            break
        best = sizes.index(min(found, key=lambda outside: found[outside][0]))
        near = int(np.searchsorted(places, best))
        low, high = int(places[max(near - 1, 0)]), int(places[min(near + 1, len(places) - 1)])
    if found:
        best = sizes.index(min(found, key=lambda outside: found[outside][0]))
        for outside in {*sizes[max(best - _NEXT, 0) : best + _NEXT + 1]} - {*found}:
            look(outside)
    choices = []
    for outside in sorted(found, key=lambda outside: found[outside][0])[:_READ_WHOLE]:
        # What fits where it was looked at need not fit everywhere.
        for inside in range(found[outside][1], -1, -1):
            machine = read(step, shape, {outer: outside, inner: inner_sizes[inside]})
            if machine.peak <= M:
                choices.append((machine.loads + machine.stores, outside, inner_sizes[inside]))
                break
    if not choices:
        if peak(sizes[0], inner_sizes[0]) > M:
            return None
        choices = [(0, sizes[0], inner_sizes[0])]
    _, outside, inside = min(choices)
    return {outer: outside, inner: inside}


# -- sizes -------------------------------------------------------------------------------------------------


def _axis(text: str) -> Axis:
    return "queries" if text == "queries" else "keys"


def _inner_sizes(step: Step, shape: MaskedShape, fixed: Mapping[str, int]) -> list[int]:
    """Sizes of the second block to choose from, ascending."""
    _, (inner, axis) = step.options.items()
    if inner in fixed:
        return [fixed[inner]]
    extent = shape.d if axis == "columns" else shape.extent(_axis(axis))
    sizes: list[int] = distinct_blocks(extent).tolist()
    return sizes


def _outer_sizes(step: Step, shape: MaskedShape, fixed: Mapping[str, int]) -> list[int]:
    """Sizes of outer blocks to choose from, ascending."""
    (outer, axis), _ = step.options.items()
    if outer in fixed:
        return [fixed[outer]]
    mask = shape.outside(_axis(axis))
    own = range(mask.period, mask.queries, mask.period) if mask.period > 1 else ()
    return sorted({*distinct_blocks(mask.queries).tolist(), *own})


def _last(sizes: Sequence[int], fits: Callable[[int], bool], guess: int = -1) -> int:
    """The last position that fits, where what comes before it fits too; -1 if none does. A guess helps."""
    low, high = -1, len(sizes)
    looks = iter((guess, guess + 1))
    while high - low > 1:
        at = next(looks, -1) if guess >= 0 else -1
        middle = at if low < at < high else (low + high) // 2
        low, high = (middle, high) if fits(sizes[middle]) else (low, middle)
    return low
