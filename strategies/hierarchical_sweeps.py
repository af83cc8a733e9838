"""Nests for stencils, grids, pyramids and the FFT: bands in bands, and passes in passes, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from strategies.hierarchical_nests import Choice, Loop, Space, block_sizes, nest_keys

__all__ = ["sweep_spaces"]


def sweep_spaces(cdag: CDAG, sizes: Sequence[int]) -> list[Space]:
    """The nests of a stencil, grid, pyramid or FFT on levels of so many words; none of another graph."""
    make = _FAMILIES.get(cdag.family)
    return [] if make is None else [make(cdag, sizes)]


def _stencil1d(cdag: CDAG, sizes: Sequence[int]) -> Space:
    n, t = int(cdag.params["n"]), int(cdag.params["t"])
    step, i = np.meshgrid(np.arange(t), np.arange(n), indexing="ij")

    def order(choice: Choice) -> NDArray[np.int64]:
        band, s = step // choice["band"], step % choice["band"]
        # The front moves back by one point with every step; every second band is swept from the other end.
        a = np.where(band % 2, n - 1 - i, i) + s
        axes = {"band": band, "s": s, "a": a}
        return _sorted((step + 1) * n + i, axes, [Loop("band", 1), *_loops("a", sizes, choice)])

    return _banded({"a": n + t}, t, sizes, order)


def _stencil2d(cdag: CDAG, sizes: Sequence[int]) -> Space:
    rows, cols, t = (int(cdag.params[key]) for key in ("rows", "cols", "t"))
    step, i, j = np.meshgrid(np.arange(t), np.arange(rows), np.arange(cols), indexing="ij")

    def order(choice: Choice) -> NDArray[np.int64]:
        band, s = step // choice["band"], step % choice["band"]
        back = band % 2 == 1
        axes = {"band": band, "s": s}
        axes["a"] = np.where(back, rows - 1 - i, i) + s
        axes["b"] = np.where(back, cols - 1 - j, j) + s
        vertices = ((step + 1) * rows + i) * cols + j
        return _sorted(vertices, axes, [Loop("band", 1), *_loops("ba", sizes, choice)])

    return _banded({"b": cols + t, "a": rows + t}, t, sizes, order)


def _grid(cdag: CDAG, sizes: Sequence[int]) -> Space:
    rows, cols = int(cdag.params["rows"]), int(cdag.params["cols"])
    s, a = np.meshgrid(np.arange(rows), np.arange(cols), indexing="ij")

    def order(choice: Choice) -> NDArray[np.int64]:
        axes = {"band": s // choice["band"], "s": s % choice["band"], "a": a}
        ids = _sorted(s * cols + a, axes, [Loop("band", 1), *_loops("a", sizes, choice)])
        return ids[~cdag.is_source[ids]]

    return _banded({"a": cols}, rows, sizes, order)


def _pyramid(cdag: CDAG, sizes: Sequence[int]) -> Space:
    h = int(cdag.params["h"])
    level = np.repeat(np.arange(h + 1), np.arange(h + 1, 0, -1))
    place = np.arange(len(level)) - np.searchsorted(level, level)
    ids = np.flatnonzero(level > 0)
    level, place = level[ids] - 1, place[ids]

    def order(choice: Choice) -> NDArray[np.int64]:
        band, s = level // choice["band"], level % choice["band"]
        # From the left a vertex can follow once its right operand is there; backwards, the mirror image.
        a = np.where(band % 2, h - 1 - level - place, place) + s
        axes = {"band": band, "s": s, "a": a}
        return _sorted(ids, axes, [Loop("band", 1), *_loops("a", sizes, choice)])

    return _banded({"a": h + 1}, h, sizes, order)


def _sorted(
    vertices: NDArray[np.int64], axes: dict[str, NDArray[np.int64]], loops: Sequence[Loop]
) -> NDArray[np.int64]:
    keys, _ = nest_keys({axis: column.ravel() for axis, column in axes.items()}, loops)
    return vertices.ravel()[np.argsort(keys, kind="stable")]


def _loops(across: str, sizes: Sequence[int], choice: Choice) -> list[Loop]:
    """Tiles across and bands of steps in them, level by level; innermost a point of the front."""
    loops = []
    for level in range(len(sizes), 0, -1):
        loops += [Loop(axis, choice[f"{axis}{level}"]) for axis in across]
        if level > 1:
            loops.append(Loop("s", choice[f"s{level - 1}"]))
    tiled, swept = across[:-1], across[-1]
    return [*loops, Loop(swept, 1), Loop("s", 1), *(Loop(axis, 1) for axis in tiled)]


def _banded(
    extents: dict[str, int], steps: int, sizes: Sequence[int], order: Callable[[Choice], NDArray[np.int64]]
) -> Space:
    """The space of bands of steps in bands, tiles across in tiles; starts with fronts that fill a level."""
    levels = len(sizes)
    values: dict[str, Sequence[int]] = {"band": block_sizes(steps)}
    for level in range(levels, 0, -1):
        values |= {f"{axis}{level}": block_sizes(extent) for axis, extent in extents.items()}
        if level > 1:
            values[f"s{level - 1}"] = block_sizes(steps)
    starts = []
    for share in (1.0, 0.5):
        choice = {}
        for name, options in values.items():
            level = levels if name == "band" else int(name[1:])
            M = max(2.0, share * (sizes[level - 1] - 2))
            # One row of a front holds two words per step; two dimensions share what there is.
            wanted = M / 2 if len(extents) == 1 else (M / 2) ** 0.5 / (2 if name[0] in "bs" else 1)
            if name == f"{list(extents)[-1]}{level}" and level == 1:
                wanted = options[-1]
            choice[name] = max([value for value in options if value <= wanted], default=options[0])
        starts.append(choice)
    return Space(values, starts, order)


def _fft(cdag: CDAG, sizes: Sequence[int]) -> Space:
    ranks = int(cdag.params["n"]).bit_length() - 1
    names = [f"ranks{level}" for level in range(len(sizes), 0, -1)]
    values: dict[str, Sequence[int]] = {name: range(1, ranks + 1) for name in names}
    # The part that is left over comes last, first, or the parts are as even as can be.
    values |= {f"rest{level}": range(3) for level in range(len(sizes), 0, -1)}
    fits = {
        name: min(ranks, max(1, (max(4, M) - 2).bit_length() - 1))
        for name, M in zip(names, reversed(sizes), strict=True)
    }

    def order(choice: Choice) -> NDArray[np.int64]:
        heights = [(choice[f"ranks{level}"], choice[f"rest{level}"]) for level in range(len(sizes), 0, -1)]
        return _passes(ranks, heights)

    starts = [fits | {name: 2 for name in values if name not in fits}]
    starts.append({name: max(1, value - 1) if name in fits else value for name, value in starts[0].items()})
    return Space(values, starts, order)


def _passes(ranks: int, heights: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """The computes of an FFT in passes of so many ranks, each block of a pass in passes of fewer, and so on.

    Within a pass of b ranks from rank r on, points meet that differ in the bits r to r + b - 1 only:
    blocks of 2^b points are transforms of their own. Every second pass takes its blocks backwards.
    """
    n = 1 << ranks

    def transform(low: int, width: int, level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ranks from 0 on, and points, of the block of `width` ranks whose other bits are all 0."""
        inside = np.arange(1 << width)
        if level == len(heights):
            order = [np.lexsort((inside, inside & ~(1 << rank))) for rank in range(width)]
            return np.repeat(np.arange(low, low + width), len(inside)), np.concatenate(order) << low
        first = low
        rank_parts, point_parts = [], []
        for number, height in enumerate(_split(width, *heights[level])):
            rank, point = transform(first, height, level + 1)
            others = (inside << low)[(inside << low >> first) & ((1 << height) - 1) == 0]
            if number % 2:
                others = others[::-1]
            rank_parts.append(np.tile(rank, len(others)))
            point_parts.append((others[:, None] + point).ravel())
            first += height
        return np.concatenate(rank_parts), np.concatenate(point_parts)

    rank, point = transform(0, ranks, 0)
    return (rank + 1) * n + point


def _split(width: int, height: int, rest: int) -> list[int]:
    """`width` ranks in passes of at most `height`: what is left over last, first, or shared by all."""
    height = min(height, width)
    number = -(-width // height)
    if rest == 2:
        return [width // number + (i < width % number) for i in range(number)]
    parts = [height] * (width // height) + [width % height] * (width % height > 0)
    return parts[::-1] if rest else parts


_FAMILIES: dict[str, Callable[[CDAG, Sequence[int]], Space]] = {
    "fft": _fft,
    "stencil1d": _stencil1d,
    "stencil2d": _stencil2d,
    "grid": _grid,
    "pyramid": _pyramid,
}
