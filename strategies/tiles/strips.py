"""Products by tiles of two shapes: strips of one width, then strips of another, their tiles as high as fits.

Where the sides of the best tile do not divide those of the matrix, tiles of one shape waste part of the last
row or column of tiles. Two widths that add up to the matrix' exactly waste none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from strategies.tiles.language import Block, Machine, Shape, Words
from strategies.tiles.tuning import Blocks, Step, distinct_blocks, with_largest

__all__ = ["MakeTile", "strips_step"]

MakeTile: TypeAlias = Callable[[Machine, Shape, Block, Block], None]
"""``tile(machine, shape, i, j)`` computes and stores a tile of a matrix."""

# Widths are taken from those of least I/O per column, and not far from the side of a square tile.
_WIDTHS = 48
_NARROW = 64


def strips_step(
    tile: MakeTile, rows_axis: str, columns_axis: str, when: Callable[[Shape], bool] | None = None
) -> Step:
    """A step that makes a matrix tile by tile, in strips of columns of two widths.

    Parameters
    ----------
    tile : callable
    rows_axis, columns_axis : str
        Parameters of the shape: the sides of the matrix.
    when : callable, optional
        Whether the step is there for a shape.

    Notes
    -----
    The I/O of a strip does not depend on where it is, so that of two widths w and w' with costs c and c' per
    strip the best numbers follow at once: if w is the cheaper per column, fewer than w strips have the other
    width, since w of these could be replaced by w' of the former.
    """

    def body(
        m: Machine,
        shape: Shape,
        rows: Words,
        columns: Words,
        split: Words,
        last_rows: Words,
        last_columns: Words,
    ) -> None:
        height, width = getattr(shape, rows_axis), getattr(shape, columns_axis)
        for j in m.loop(width, columns, end=split):
            for i in m.loop(height, rows):
                tile(m, shape, i, j)
        for j in m.loop(width, last_columns, begin=split):
            for i in m.loop(height, last_rows):
                tile(m, shape, i, j)

    def one_strip(m: Machine, shape: Shape, columns: Words, rows: Words) -> None:
        for j in m.loop(getattr(shape, columns_axis), columns, end=columns):
            for i in m.loop(getattr(shape, rows_axis), rows):
                tile(m, shape, i, j)

    strip = Step(one_strip, {"columns": columns_axis, "rows": rows_axis})

    def search(shape: Shape, M: int) -> dict[str, int] | None:
        width = getattr(shape, columns_axis)
        most = min(width, _NARROW + 2 * math.isqrt(M))
        widths: Blocks = {"columns": np.arange(1, most + 1)}
        sizes = distinct_blocks(getattr(shape, rows_axis))
        fit = with_largest(strip, shape, M, {}, widths, "rows", sizes)
        rows, columns = fit.blocks["rows"], fit.blocks["columns"]
        if not len(columns):
            return None
        found = _two_widths(width, columns, fit.io)
        if found is None:
            return None
        (first, strips), second = found
        return {
            "rows": int(rows[first]),
            "columns": int(columns[first]),
            "split": int(columns[first]) * strips,
            "last_rows": int(rows[second]),
            "last_columns": int(columns[second]),
        }

    axes = {
        "rows": rows_axis,
        "columns": columns_axis,
        "split": columns_axis,
        "last_rows": rows_axis,
        "last_columns": columns_axis,
    }
    return Step(body, axes, when=when, search=search)


def _two_widths(
    width: int, widths: NDArray[np.int64], costs: NDArray[np.int64]
) -> tuple[tuple[int, int], int] | None:
    """The cheapest strips of two widths that add up to `width`.

    Returned are the index of the width that is cheaper per column, the number of its strips, and the index of
    the other width; None if no two widths add up.
    """
    best = np.argsort(costs / widths, kind="stable")[:_WIDTHS]
    w, c = widths[best], costs[best]
    # Axes: the cheaper width, the other one, the number of strips of the other one.
    other = np.arange(int(w.max()))[None, None, :]
    rest = width - other * w[None, :, None]
    strips = rest // w[:, None, None]
    possible: Any = (rest >= 0) & (rest % w[:, None, None] == 0) & (other < w[:, None, None]) & (strips > 0)
    if not possible.any():
        return None
    total = np.where(possible, strips * c[:, None, None] + other * c[None, :, None], np.iinfo(np.int64).max)
    first, second, number = np.unravel_index(int(total.argmin()), total.shape)
    return (int(best[first]), int(strips[first, second, number])), int(best[second])
