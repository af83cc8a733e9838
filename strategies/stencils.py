"""Orders for stencils, grids and pyramids: bands of a few time steps, swept along a slanted front.

A band of height h is swept point by point, each point as far up the band as its neighbours allow. What has
to stay in fast memory is the front alone, about two values per time step for the three-point stencil.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG

__all__ = ["grid_orders", "pyramid_orders", "stencil1d_order", "stencil1d_orders", "stencil2d_orders"]


def _bands(total: int, height: int) -> list[tuple[int, int]]:
    """``(first, height)`` of bands as even as can be, none higher than `height`."""
    count = -(-total // height)
    edges = [total * i // count for i in range(count + 1)]
    return [(low, high - low) for low, high in pairwise(edges)]


def _heights(middle: int, most: int) -> list[int]:
    """Heights around the one that should just fit, each once."""
    near = (middle, middle - 1, middle + 1, middle - 2, middle + 2, middle // 2, middle * 3 // 2, most)
    return list(dict.fromkeys(h for h in near if 1 <= h <= most))


def stencil1d_order(n: int, t: int, height: int) -> NDArray[np.int64]:
    """`t` steps of the three-point stencil on `n` points in bands of at most `height` steps.

    Every second band is swept backwards. ``M >= 2 * height + 2`` holds the front, and a band then costs two
    words of I/O per point.

    Examples
    --------
    >>> stencil1d_order(3, 2, 2).tolist()
    [3, 4, 6, 5, 7, 8]
    """
    parts = []
    for number, (first, steps) in enumerate(_bands(t, height)):
        front, step = np.meshgrid(np.arange(n + steps - 1), np.arange(1, steps + 1), indexing="ij")
        point = front - step + 1
        inside = (point >= 0) & (point < n)
        if number % 2:
            point = n - 1 - point
        parts.append(((first + step) * n + point)[inside])
    return np.concatenate(parts)


def stencil1d_orders(cdag: CDAG, M: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Orders worth trying within M words, by the height of their bands."""
    n, t = int(cdag.params["n"]), int(cdag.params["t"])
    for height in _heights((M - 2) // 2, t):
        yield str(height), stencil1d_order(n, t, height)


def stencil2d_orders(cdag: CDAG, M: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Orders worth trying within M words, by the height of their bands and the width of their tiles."""
    rows, cols, t = (int(cdag.params[key]) for key in ("rows", "cols", "t"))
    chosen = set()
    for height in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
        # A tile's front holds about two rows of every step.
        width = max(1, (M - 4) // (2 * height) - 2)
        chosen |= {(min(height, t), min(w, cols + t)) for w in (width, width * 3 // 2) if w >= 1}
    for height, width in sorted(chosen):
        yield f"{height}x{width}", _stencil2d(rows, cols, t, height, width)


def _stencil2d(rows: int, cols: int, t: int, height: int, width: int) -> NDArray[np.int64]:
    parts = []
    for number, (first, steps) in enumerate(_bands(t, height)):
        # Slanted coordinates: the front moves back by one point, in both directions, with every step.
        row, step, col = (
            axis.ravel()
            for axis in np.meshgrid(
                np.arange(rows + steps - 1), np.arange(steps), np.arange(cols + steps - 1), indexing="ij"
            )
        )
        order = np.lexsort((col, step, row, col // width))
        row, step, col = row[order], step[order], col[order]
        i, j = row - step, col - step
        inside = (i >= 0) & (i < rows) & (j >= 0) & (j < cols)
        if number % 2:
            i, j = rows - 1 - i, cols - 1 - j
        parts.append((((first + step + 1) * rows + i) * cols + j)[inside])
    return np.concatenate(parts)


def grid_orders(cdag: CDAG, M: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Bands of rows, or of columns, swept from left to right; every front is one value per row."""
    rows, cols = int(cdag.params["rows"]), int(cdag.params["cols"])
    ids = np.arange(rows * cols).reshape(rows, cols)
    for name, table in (("rows", ids), ("columns", ids.T)):
        for height in _heights(M - 2, len(table)):
            bands = [table[low : low + h].T.ravel() for low, h in _bands(len(table), height)]
            order = np.concatenate(bands)
            yield f"{name}-{height}", order[order > 0]


def pyramid_orders(cdag: CDAG, M: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Bands of levels, each swept from left to right with a front of one value per level."""
    h = int(cdag.params["h"])
    level = np.repeat(np.arange(h + 1), np.arange(h + 1, 0, -1))
    place = np.arange(len(level)) - np.searchsorted(level, level)
    for height in _heights(M - 2, h):
        parts = []
        for number, (first, steps) in enumerate(_bands(h, height)):
            ids = np.flatnonzero((level > first) & (level <= first + steps))
            # From the left a vertex can follow once its right operand is there; backwards, the mirror image.
            along = h - level[ids] - place[ids] if number % 2 else place[ids]
            parts.append(ids[np.lexsort((level[ids], along + level[ids]))])
        yield str(height), np.concatenate(parts)
