"""Best block sizes for a given M: an exact search over all integers, priced by the counting machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Shape

__all__ = [
    "Blocks",
    "Step",
    "best_blocks",
    "best_priced",
    "distinct_blocks",
    "least_peak",
    "read_blocks",
    "with_largest",
]


@dataclass(frozen=True)
class Step:
    """A tile program, or one that follows another: nothing stays resident from step to step.

    Attributes
    ----------
    body : callable
        ``body(machine, shape, **blocks)``.
    blocks : mapping of str to str
        Each block size that the body takes, and the parameter of the shape that it cuts up.
    label : str
        Prefix of the block sizes' names as options of a strategy, where several steps have the same.
    when : callable, optional
        Whether the step is there for a shape; it always is by default.
    kept : str
        The last of the block sizes, where it is a number of indices that stay, from 0 to all but one of its
        axis: the more, the less I/O and the higher the peak.
    tiles : bool
        For masked programs: whether the I/O depends on both block sizes.
    search : callable, optional
        ``search(shape, M)`` finds the block sizes, by option name, or None; a search over all of them by
        default.
    """

    body: Callable[..., None]
    blocks: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    when: Callable[[Shape], bool] | None = None
    kept: str = ""
    tiles: bool = False
    search: Callable[[Shape, int], dict[str, int] | None] | None = None

    def option(self, block: str) -> str:
        """A block size's name as an option."""
        return f"{self.label}_{block}" if self.label else block

    @property
    def options(self) -> dict[str, str]:
        """The option name of each block size, and the axis that it cuts up."""
        return {self.option(block): axis for block, axis in self.blocks.items()}

    @property
    def smallest(self) -> dict[str, int]:
        """The block sizes of least peak."""
        return {self.option(block): 0 if block == self.kept else 1 for block in self.blocks}

    def run(self, machine: Any, shape: Any, options: Mapping[str, Any]) -> None:
        """Let a machine read the step with the block sizes among `options`."""
        self.body(machine, shape, **{block: options[self.option(block)] for block in self.blocks})


def distinct_blocks(extent: int) -> NDArray[np.int64]:
    """The smallest block size for each number of blocks that an axis can be cut into, ascending.

    A program's I/O depends on a block size only through the number of blocks, since a tile's words are
    proportional to it and all blocks together are the axis; its peak grows with it. So the other sizes are
    never better. There are about 2√extent.

    Examples
    --------
    >>> distinct_blocks(10).tolist()
    [1, 2, 3, 4, 5, 10]
    """
    root = np.arange(1, int(extent**0.5) + 2)
    sizes = np.unique(np.concatenate([root, -(-extent // root)]))
    sizes = sizes[sizes <= extent]
    numbers = -(-extent // sizes)
    smallest: NDArray[np.int64] = sizes[-(-extent // numbers) == sizes]
    return smallest


def least_peak(step: Step, shape: Shape, fixed: Mapping[str, int] | None = None) -> int:
    """Least M, in words, that a step can do with: its peak with blocks of one index (`fixed` ones kept)."""
    machine = CountingMachine(shape)
    step.run(machine, shape, {**step.smallest, **(fixed or {})})
    return int(machine.peak)


def best_blocks(
    step: Step, shape: Shape, M: int, fixed: Mapping[str, int] | None = None
) -> dict[str, int] | None:
    """The block sizes of least I/O with which a step fits in M words, or None if none do.

    Where all are fixed there is nothing to search for, and whether they fit is not judged.

    Parameters
    ----------
    step : Step
    shape : Shape
    M : int
        Words of fast memory.
    fixed : mapping of str to int, optional
        Block sizes that are not searched for.

    Notes
    -----
    Of two or more block sizes, every combination of all but the last is tried, and the last is the largest
    that fits: the peak grows with it and the I/O does not. Interpolation finds it for all combinations at
    once, each pass one reading of the program. Of equal I/O, the blocks of least peak are taken.
    """
    given = {name: value for name, value in (fixed or {}).items() if name in step.options}
    searched = {name: getattr(shape, axis) for name, axis in step.options.items() if name not in given}
    if not searched:
        return given
    if step.search is not None and not given:
        return step.search(shape, M)
    found = _cheapest(step, shape, M, given, searched)
    return None if found is None else found[0]


def best_priced(step: Step, shape: Shape, M: int) -> tuple[dict[str, int], int] | None:
    """`best_blocks` with nothing fixed, and the I/O with them, in words."""
    if step.options and step.search is None:
        searched = {name: getattr(shape, axis) for name, axis in step.options.items()}
        return _cheapest(step, shape, M, {}, searched)
    blocks = best_blocks(step, shape, M)
    if blocks is None or (not blocks and least_peak(step, shape) > M):
        return None
    machine = CountingMachine(shape)
    step.run(machine, shape, blocks)
    return blocks, int(machine.loads + machine.stores)


def _cheapest(
    step: Step, shape: Shape, M: int, given: dict[str, int], searched: Mapping[str, int]
) -> tuple[dict[str, int], int] | None:
    """The best of the block sizes `searched` (their axes' lengths), and the I/O with them."""
    *outer, inner = searched
    kept = bool(step.kept) and inner == step.option(step.kept)
    sizes = {name: distinct_blocks(extent) for name, extent in searched.items()}
    if kept:
        sizes[inner] = np.arange(searched[inner])
    if outer:
        grid = np.meshgrid(*(sizes[name] for name in outer), indexing="ij")
        blocks = {name: axis.reshape(-1) for name, axis in zip(outer, grid, strict=True)}
        fit = with_largest(step, shape, M, given, blocks, inner, sizes[inner])
        blocks, io, peak = fit.blocks, fit.io, fit.peak
        if kept:
            # Where nothing goes by twice, keeping some of it saves nothing.
            blocks = {name: np.concatenate([v, 0 * v if name == inner else v]) for name, v in blocks.items()}
            io, peak = np.concatenate([io, fit.least_io]), np.concatenate([peak, fit.least_peak])
    else:
        machine = read_blocks(step, shape, given, sizes)
        peak = np.asarray(machine.peak)
        fits = peak <= M
        blocks = {name: values[fits] for name, values in sizes.items()}
        io, peak = np.asarray(machine.loads + machine.stores)[fits], peak[fits]
    if not len(io):
        return None
    best = np.lexsort((peak, io))[0]
    return {**given, **{name: int(values[best]) for name, values in blocks.items()}}, int(io[best])


Blocks: TypeAlias = dict[str, NDArray[np.int64]]


class Fit(NamedTuple):
    """Blocks that fit, and the cost of each choice; with the smallest last block too."""

    blocks: Blocks
    io: NDArray[np.int64]
    peak: NDArray[np.int64]
    least_io: NDArray[np.int64]
    least_peak: NDArray[np.int64]


def with_largest(
    step: Step,
    shape: Shape,
    M: int,
    given: Mapping[str, int],
    blocks: Blocks,
    inner: str,
    sizes: NDArray[np.int64],
) -> Fit:
    """`blocks` with the largest of `sizes` for the block `inner` that fits; those with none are left out."""

    def read(chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        machine = read_blocks(step, shape, given, {**blocks, inner: sizes[chosen]})
        return np.asarray(machine.loads + machine.stores), np.asarray(machine.peak)

    low = np.zeros(len(next(iter(blocks.values()))), dtype=np.int64)
    io, low_peak = read(low)
    fits = low_peak <= M
    blocks, low = {name: values[fits] for name, values in blocks.items()}, low[fits]
    least_io, least_peak = io, low_peak = io[fits], low_peak[fits]
    high = np.full(len(low), len(sizes) - 1)
    high_io, high_peak = read(high)
    # Invariant: the size at `low` fits, the one at `high` does not, or is past the end.
    all_fit = high_peak <= M
    io, low_peak = np.where(all_fit, high_io, io), np.where(all_fit, high_peak, low_peak)
    low, high = np.where(all_fit, high, low), np.where(all_fit, high + 1, high)
    rounds = 0
    while (high - low > 1).any():
        # Peaks are nearly linear in the size, so that interpolating finds it in a few steps; every third step
        # halves what is left in any case.
        span = sizes[np.minimum(high, len(sizes) - 1)] - sizes[low]
        size = sizes[low] + (M - low_peak) * span // np.maximum(high_peak - low_peak, 1)
        likely = np.searchsorted(sizes, size, side="right") - 1
        middle = (low + high) // 2 if rounds % 3 == 2 else np.clip(likely, low + 1, np.maximum(high - 1, low))
        middle_io, peak = read(middle)
        fits = peak <= M
        low, low_peak = np.where(fits, middle, low), np.where(fits, peak, low_peak)
        io = np.where(fits, middle_io, io)
        high, high_peak = np.where(fits, high, middle), np.where(fits, high_peak, peak)
        rounds += 1
    return Fit({**blocks, inner: sizes[low]}, io, low_peak, least_io, least_peak)


def read_blocks(step: Step, shape: Shape, given: Mapping[str, int], blocks: Blocks) -> CountingMachine:
    """One reading of a step that prices all candidates of `blocks`; `given` ones are the same for all."""
    machine = CountingMachine(shape, len(next(iter(blocks.values()))))
    step.run(machine, shape, {**given, **blocks})
    return machine
