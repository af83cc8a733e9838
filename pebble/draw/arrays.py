"""The named arrays of a graph as blocks: which vertex belongs to which entry of which array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.naming import sum_blocks

__all__ = ["ArrayBlock", "array_blocks", "has_array_form", "place_blocks"]

# A vector longer than this is folded into a square instead of one long column.
_LONGEST_COLUMN = 48
# The share of vertices that must belong to named arrays for the arrays to be the picture.
_COVERED = 0.6
# Width over height of the page to fill.
_PAGE = 1.7

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ArrayBlock:
    """One named array, drawn as a matrix.

    Attributes
    ----------
    name : str
        Empty for the block of the vertices that belong to no array.
    shape : tuple of int
        The array's own shape.
    rows, columns : int
        Of the matrix drawn: an array of more axes has its leading ones side by side.
    vertices : ndarray of int64
        Every vertex that belongs to the block, partial sums included.
    entry : ndarray of int64
        For each of `vertices` the entry it belongs to, ``row * columns + column``.
    inner : ndarray of int64
        For each of `vertices`: -1 for the entry itself, else its position among the entry's partial results.
    """

    name: str
    shape: tuple[int, ...]
    rows: int
    columns: int
    vertices: Ints
    entry: Ints
    inner: Ints

    @property
    def num_inner(self) -> int:
        """The most partial results that an entry has."""
        return int(self.inner.max(initial=-1)) + 1

    @property
    def title(self) -> str:
        """Name and shape, ``S 4×4``."""
        if not self.name:
            return "other values"
        return f"{self.name} {'×'.join(map(str, self.shape))}".strip()


def array_blocks(cdag: CDAG) -> list[ArrayBlock]:
    """The blocks of a graph, each vertex in exactly one: in the first array that names it.

    O(|V| + size of the named arrays).
    """
    taken = np.zeros(cdag.num_vertices, dtype=np.bool_)
    for ids in cdag.tensors.values():
        named = ids.ravel()
        taken[named[named >= 0]] = True
    partials = {name: (base, size) for name, base, size, _ in sum_blocks(cdag)}
    owned = np.zeros(cdag.num_vertices, dtype=np.bool_)
    blocks = []
    for name, ids in cdag.tensors.items():
        shape = tuple(int(s) for s in ids.shape)
        rows, columns, place = _matrix(shape)
        flat = ids.ravel().astype(np.int64)
        mine = np.flatnonzero(flat >= 0)
        mine = mine[~owned[flat[mine]]]
        _, first = np.unique(flat[mine], return_index=True)
        mine = mine[np.sort(first)]
        vertices, entry = [flat[mine]], [place[mine]]
        inner = [np.full(len(mine), -1, dtype=np.int64)]
        owned[flat[mine]] = True
        if name in partials and len(mine) == len(flat):
            base, size = partials[name]
            ids_inside = base + np.arange(len(flat))[:, np.newaxis] * size + np.arange(size - 1)
            free = ~(taken | owned)[ids_inside]
            vertices.append(ids_inside[free])
            entry.append(np.broadcast_to(place[:, np.newaxis], free.shape)[free])
            inner.append(np.broadcast_to(np.arange(size - 1), free.shape)[free])
            owned[ids_inside[free]] = True
        if len(mine):
            block = tuple(np.concatenate(part).astype(np.int64) for part in (vertices, entry, inner))
            blocks.append(ArrayBlock(name, shape, rows, columns, *block))
    rest = np.flatnonzero(~owned)
    if len(rest):
        columns = int(np.ceil(np.sqrt(len(rest))))
        rows = -(-len(rest) // columns)
        none = np.full(len(rest), -1, dtype=np.int64)
        blocks.append(ArrayBlock("", (len(rest),), rows, columns, rest, np.arange(len(rest)), none))
    return blocks


def has_array_form(cdag: CDAG) -> bool:
    """Whether a graph is better seen as arrays than in layers: matrices that cover most of its vertices."""
    if not any(ids.ndim >= 2 and ids.size > 1 for ids in cdag.tensors.values()):
        return False
    covered = sum(len(block.vertices) for block in array_blocks(cdag) if block.name)
    return covered >= _COVERED * cdag.num_vertices


def place_blocks(
    cdag: CDAG, blocks: list[ArrayBlock], widths: Floats, heights: Floats, gap: float
) -> tuple[Floats, Floats]:
    """The upper left corner of each block: columns of blocks, from the inputs at the left to the outputs.

    `widths` and `heights` are without the space for a title, which is `gap` above each block.
    """
    level = _block_levels(cdag, blocks)
    space = heights + 2 * gap
    best: list[list[int]] = []
    smallest = np.inf
    # A level may take several columns: of the heights to fold at, the one that fills a wide page best.
    for tallest in np.geomspace(space.max(initial=1.0), space.sum() + 1e-9, 24):
        columns: list[list[int]] = []
        for l in range(int(level.max(initial=-1)) + 1):
            used = np.inf
            for b in np.flatnonzero(level == l).tolist():
                if used + space[b] > tallest:
                    columns.append([])
                    used = 0.0
                columns[-1].append(b)
                used += space[b]
        width = sum(max(widths[b] for b in column) + 1.5 * gap for column in columns)
        height = max((sum(space[b] for b in column) for column in columns), default=0.0)
        if max(width / _PAGE, height) < smallest:
            best, smallest = columns, max(width / _PAGE, height)
    x, y = np.zeros(len(blocks)), np.zeros(len(blocks))
    total = max((sum(space[b] for b in column) for column in best), default=0.0)
    left = 0.0
    for column in best:
        top = (total - sum(space[b] for b in column)) / 2
        for b in column:
            x[b], y[b] = left, top + gap
            top += space[b]
        left += max(widths[b] for b in column) + 1.5 * gap
    return x, y


def _matrix(shape: tuple[int, ...]) -> tuple[int, int, Ints]:
    """Rows and columns of the matrix drawn, and where in it each flat index lies."""
    size = int(np.prod(shape)) if shape else 1
    flat = np.arange(size)
    if len(shape) <= 1:
        if size <= _LONGEST_COLUMN:
            return size, 1, flat
        columns = int(np.ceil(np.sqrt(size)))
        return -(-size // columns), columns, flat
    rows, width = shape[-2], shape[-1]
    lead = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    columns = lead * width
    side, within = flat // (rows * width), flat % (rows * width)
    return rows, columns, (within // width) * columns + side * width + within % width


def _block_levels(cdag: CDAG, blocks: list[ArrayBlock]) -> Ints:
    """Which column each block belongs to: its generation among the blocks, where these form a DAG."""
    count = len(blocks)
    block_of = np.empty(cdag.num_vertices, dtype=np.int64)
    for b, block in enumerate(blocks):
        block_of[block.vertices] = b
    targets = np.repeat(block_of, np.diff(cdag.indptr))
    keys = np.unique(block_of[cdag.indices] * count + targets)
    pairs = [(key // count, key % count) for key in keys.tolist() if key // count != key % count]
    level = np.zeros(count, dtype=np.int64)
    for _ in range(count):
        before = level.copy()
        for u, v in pairs:
            level[v] = max(level[v], level[u] + 1)
        if (before == level).all():
            return level
    # Blocks that feed each other, as in place updates do: the inputs, then the others as they are listed.
    return np.array([0 if cdag.is_source[block.vertices].all() else 1 for block in blocks], dtype=np.int64)
