"""Where everything is drawn: cells with positions, one per vertex, or one per group where there are many."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.draw.arrays import ArrayBlock, array_blocks, has_array_form, place_blocks
from pebble.draw.layers import find_layers, layer_coordinates

__all__ = ["Frame", "Layout", "lay_out"]

MOST_CELLS = 2_000
_GAP = 1.6

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Frame(NamedTuple):
    """A titled rectangle around the cells of one array."""

    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """A picture's geometry in units of about one cell, y downwards.

    Attributes
    ----------
    kind : str
        ``layers`` or ``arrays``.
    x, y, size : ndarray of float64, shape (num_cells,)
        Centre and width of each cell.
    cell_of : ndarray of int64, shape (num_vertices,)
        The cell of each vertex; the identity where each has its own.
    scale : ndarray of int64, shape (num_cells,)
        How many pebbles fill a cell: its vertices, or its entries where partial sums are drawn in with them.
    names : list of str
        Of the cells, where they stand for groups; else empty.
    frames : list of Frame
    width, height : float
    upward : bool
        Of layers: whether they are rows, sources at the bottom, and not columns, sources at the left.
    """

    kind: str
    x: Floats
    y: Floats
    size: Floats
    cell_of: Ints
    scale: Ints
    names: list[str]
    frames: list[Frame]
    width: float
    height: float
    upward: bool = False

    @property
    def num_cells(self) -> int:
        """How many cells there are."""
        return len(self.x)

    @property
    def exact(self) -> bool:
        """Whether every vertex has a cell of its own."""
        return not self.names


def lay_out(cdag: CDAG, kind: str = "auto", most: int = MOST_CELLS) -> Layout:
    """Place the vertices of a graph.

    Parameters
    ----------
    cdag : CDAG
    kind : {"auto", "layers", "arrays"}
        ``arrays`` draws each named array as a matrix, ``layers`` the generations of the graph. ``auto``
        takes arrays where matrices cover most of the vertices.
    most : int
        Beyond so many vertices they are grouped: tiles of arrays, runs of a layer.

    Returns
    -------
    Layout

    Examples
    --------
    >>> layout = lay_out(CDAG.from_edges(3, [(0, 2), (1, 2)]))
    >>> layout.kind, layout.x.tolist(), layout.y.tolist()
    ('layers', [0.5, 1.5, 1.0], [2.2, 2.2, 0.5])
    """
    if kind not in ("auto", "layers", "arrays"):
        raise ValueError(f"layout '{kind}' is unknown: auto, layers or arrays")
    if kind == "auto":
        kind = "arrays" if has_array_form(cdag) else "layers"
    if cdag.num_vertices <= most:
        return _arrays(cdag) if kind == "arrays" else _layers(cdag)
    return _tiles(cdag, most) if kind == "arrays" else _bands(cdag, most)


def _layers(cdag: CDAG) -> Layout:
    x, y, upward = layer_coordinates(cdag, find_layers(cdag))
    n = cdag.num_vertices
    layout = _finished("layers", x, y, np.full(n, 0.8), np.arange(n), np.ones(n, dtype=np.int64), [], [])
    return replace(layout, upward=upward)


def _arrays(cdag: CDAG) -> Layout:
    """One cell per vertex: each entry a square, its partial results in small squares below."""
    blocks = array_blocks(cdag)
    inner_columns = np.array([int(np.ceil(np.sqrt(2 * max(1, b.num_inner)))) for b in blocks])
    inner_rows = np.array([-(-b.num_inner // c) for b, c in zip(blocks, inner_columns, strict=True)])
    pitch = np.where(inner_rows > 0, 1.25, 1.0)  # an entry with partial results keeps apart from the next
    row_height = 1.0 + inner_rows / inner_columns + np.where(inner_rows > 0, 0.3, 0.0)
    widths = np.array([b.columns for b in blocks]) * pitch
    heights = np.array([b.rows for b in blocks]) * row_height
    left, top = place_blocks(cdag, blocks, widths, heights, _GAP)
    n = cdag.num_vertices
    x, y, size = np.zeros(n), np.zeros(n), np.zeros(n)
    for i, block in enumerate(blocks):
        row, column = block.entry // block.columns, block.entry % block.columns
        is_entry = block.inner < 0
        small = 1.0 / inner_columns[i]
        in_row, in_column = block.inner // inner_columns[i], block.inner % inner_columns[i]
        x[block.vertices] = left[i] + column * pitch[i] + np.where(is_entry, 0.5, (in_column + 0.5) * small)
        y[block.vertices] = (
            top[i] + row * row_height[i] + np.where(is_entry, 0.5, 1.05 + (in_row + 0.5) * small)
        )
        size[block.vertices] = np.where(is_entry, 0.92, 0.86 * small)
    frames = _frames(blocks, left, top, widths, heights)
    return _finished("arrays", x, y, size, np.arange(n), np.ones(n, dtype=np.int64), [], frames)


def _tiles(cdag: CDAG, most: int) -> Layout:
    """Square tiles of the arrays' entries, as small as the number of cells allows."""
    blocks = array_blocks(cdag)
    rows = np.array([b.rows for b in blocks])
    columns = np.array([b.columns for b in blocks])
    tile = max(1, int(np.sqrt((rows * columns).sum() / most)))
    while (-(-rows // tile) * -(-columns // tile)).sum() > max(most, len(blocks)):
        tile = max(tile + 1, int(tile * 1.05))
    down, over = -(-rows // tile), -(-columns // tile)
    left, top = place_blocks(cdag, blocks, over.astype(float), down.astype(float), _GAP)
    cell_of = np.empty(cdag.num_vertices, dtype=np.int64)
    parts: list[tuple[Floats, Floats]] = []
    names: list[str] = []
    scales: list[Ints] = []
    base = 0
    for i, block in enumerate(blocks):
        cell = (block.entry // block.columns // tile) * over[i] + block.entry % block.columns // tile
        cell_of[block.vertices] = base + cell
        count = int(down[i] * over[i])
        entries = np.bincount(cell[block.inner < 0], minlength=count)
        scales.append(np.maximum(entries, 1))
        r, c = np.arange(count) // over[i], np.arange(count) % over[i]
        parts.append((left[i] + c + 0.5, top[i] + r + 0.5))
        for tile_row, tile_column in zip(r.tolist(), c.tolist(), strict=True):
            names.append(_tile_name(block, tile, tile_row, tile_column))
        base += count
    x, y = (np.concatenate([part[axis] for part in parts]) for axis in (0, 1))
    frames = _frames(blocks, left, top, over.astype(float), down.astype(float))
    scale = np.concatenate(scales).astype(np.int64)
    return _finished("arrays", x, y, np.full(base, 0.92), cell_of, scale, names, frames)


def _bands(cdag: CDAG, most: int) -> Layout:
    """Runs of a layer, or of several consecutive layers where the graph is deep."""
    layers = find_layers(cdag)
    most_rows = max(1, int(np.sqrt(most / 1.6)))
    step = -(-layers.depth // most_rows)
    starts = layers.starts[::step].tolist()
    starts += [] if starts[-1] == cdag.num_vertices else [cdag.num_vertices]
    sizes = np.diff(starts)
    run = max(1, int(np.ceil(cdag.num_vertices / most)))
    while (-(-sizes // run)).sum() > max(most, len(sizes)):
        run = max(run + 1, int(run * 1.05))
    fold = max(10, int(np.sqrt(1.7 * (-(-sizes // run)).sum())))
    cell_of = np.empty(cdag.num_vertices, dtype=np.int64)
    xs, ys, scales, names = [], [], [], []
    base, down = 0, 0.0
    for band, (lo, hi) in enumerate(itertools.pairwise(starts)):
        cells = -(-(hi - lo) // run)
        part = np.arange(hi - lo) * cells // (hi - lo)
        cell_of[layers.order[lo:hi]] = base + part
        scales.append(np.bincount(part, minlength=cells))
        rows = -(-cells // fold)
        width = -(-cells // rows)
        xs.append(np.arange(cells) % width - (width - 1) / 2)
        ys.append(-(down + np.arange(cells) // width))
        down += rows + (0.7 if rows > 1 else 0.0)
        first, last = band * step, min((band + 1) * step, layers.depth) - 1
        where = f"layer {first}" if first == last else f"layers {first}-{last}"
        names += [f"{where}, part {p + 1} of {cells}" if cells > 1 else where for p in range(cells)]
        base += cells
    x, y, scale = np.concatenate(xs), np.concatenate(ys), np.concatenate(scales)
    return _finished("layers", x, y, np.full(base, 0.92), cell_of, scale, names, [])


def _tile_name(block: ArrayBlock, tile: int, tile_row: int, tile_column: int) -> str:
    rows = _span(tile_row * tile, min((tile_row + 1) * tile, block.rows))
    columns = _span(tile_column * tile, min((tile_column + 1) * tile, block.columns))
    return f"{block.name or 'other values'}, rows {rows}, columns {columns}"


def _span(lo: int, hi: int) -> str:
    return str(lo) if hi - lo == 1 else f"{lo}-{hi - 1}"


def _frames(
    blocks: list[ArrayBlock], left: Floats, top: Floats, widths: Floats, heights: Floats
) -> list[Frame]:
    return [
        Frame(block.title, *map(float, box))
        for block, *box in zip(blocks, left, top, widths, heights, strict=True)
    ]


def _finished(
    kind: str,
    x: Floats,
    y: Floats,
    size: Floats,
    cell_of: Ints,
    scale: Ints,
    names: list[str],
    frames: list[Frame],
) -> Layout:
    """The layout moved to begin at (0, 0)."""
    if not len(x):
        return Layout(kind, x, y, size, cell_of, scale, names, frames, 1.0, 1.0)
    lefts = [float(x.min()) - 0.5, *(frame.x for frame in frames)]
    tops = [float(y.min()) - 0.5, *(frame.y - 1.0 for frame in frames)]  # a title stands above its frame
    dx, dy = min(lefts), min(tops)
    frames = [frame._replace(x=frame.x - dx, y=frame.y - dy) for frame in frames]
    x, y = np.round(x - dx, 4), np.round(y - dy, 4)
    width = max([float(x.max()) + 0.5, *(f.x + f.width for f in frames)])
    height = max([float(y.max()) + 0.5, *(f.y + f.height for f in frames)])
    return Layout(kind, x, y, size, cell_of, scale.astype(np.int64), names, frames, width, height)
