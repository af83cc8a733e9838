"""Which tiles of a mask there are, and how many of a kind: the arithmetic behind counting under a mask.

A mask of queries and keys is cut into blocks along both axes. One axis is outside: its blocks are walked one
after the other, and for each of them the tiles along the inner axis. A tile is empty and skipped, full, or
partial. For a staircase all but O(n / block) tiles are full and alike, and everything about the others
follows from where the steps cross the edges of a tile; no pair is ever looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphs.masks import Cells, Mask, Staircase

__all__ = ["Tiling", "outer_blocks", "tiling"]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tiling:
    """The tiles of a mask that are not empty, by kind.

    Attributes
    ----------
    sizes : ndarray, shape (outer blocks,)
        Indices in each outer block.
    outer : ndarray, shape (kinds,)
        The outer block of each kind of tile; kinds in the order in which their first tiles are met.
    times : ndarray
        How many tiles of a kind there are.
    pairs : ndarray
        Pairs in the tile.
    rows : ndarray
        Indices of the outer block that have a pair in the tile.
    columns : ndarray
        Indices of the inner block that have a pair in the tile.
    begun : ndarray
        Indices of the outer block that had a pair in a tile before this one.
    begin : ndarray
        Indices of the outer block that have their first pair in this tile.
    new : ndarray
        Indices of the inner block that have their first pair in this outer block.
    """

    sizes: Ints
    outer: Ints
    times: Ints
    pairs: Ints
    rows: Ints
    columns: Ints
    begun: Ints
    begin: Ints
    new: Ints


@lru_cache(maxsize=4)
def tiling(mask: Mask, outside: int, inside: int, sample: int | None = None) -> Tiling:
    """Cut a mask into tiles.

    Parameters
    ----------
    mask : Staircase or Cells
        Its rows are the outer axis.
    outside, inside : int
        Sides of the blocks.
    sample : int, optional
        Look only at about so many outer blocks, the first, the last and some between.

    Returns
    -------
    Tiling

    Notes
    -----
    O(n / outside + n / inside) kinds for a staircase. For cells a few for each cell that an outer block
    meets, however small the inner blocks.

    Examples
    --------
    >>> from graphs.masks import attention_mask
    >>> causal = tiling(attention_mask("causal", 6, 6), 2, 2)
    >>> causal.outer.tolist(), causal.pairs.tolist(), causal.times.tolist()
    ([0, 1, 1, 2, 2, 2], [3, 4, 3, 4, 4, 3], [1, 1, 1, 1, 1, 1])
    """
    blocks = outer_blocks(mask.queries, outside, sample)
    if isinstance(mask, Staircase):
        return _of_staircase(mask, outside, inside, blocks)
    return _of_cells(mask, outside, inside, blocks)


def outer_blocks(extent: int, block: int, sample: int | None = None) -> Ints:
    """The numbers of an axis' blocks, or of some of them: pairs of neighbours, from the first to the last."""
    number = -(-extent // block)
    if sample is None or number <= sample:
        return np.arange(number)
    spread = np.linspace(0, number - 2, sample // 2).astype(np.int64)
    return np.unique(np.concatenate([spread, spread + 1]))


# -- staircases ------------------------------------------------------------------------------------------


class _Steps:
    """A staircase with sums of its ends: what rows and an interval of columns share, in O(log n)."""

    def __init__(self, mask: Staircase) -> None:
        self.low, self.high = mask.low, mask.high
        self._low_sum = np.concatenate(([0], np.cumsum(mask.low)))
        self._high_sum = np.concatenate(([0], np.cumsum(mask.high)))

    @staticmethod
    def _clipped(ends: Ints, sums: Ints, a: Ints, b: Ints, x0: Ints, x1: Ints) -> Ints:
        """The sum over rows a..b of an end, brought into [x0, x1]."""
        p = np.clip(np.searchsorted(ends, x0), a, b)
        q = np.clip(np.searchsorted(ends, x1), a, b)
        return (p - a) * x0 + sums[q] - sums[p] + (b - q) * x1

    def pairs(self, a: Ints, b: Ints, x0: Ints, x1: Ints) -> Ints:
        """Pairs of rows a..b and columns x0..x1."""
        return self._clipped(self.high, self._high_sum, a, b, x0, x1) - self._clipped(
            self.low, self._low_sum, a, b, x0, x1
        )

    def begun(self, a: Ints, b: Ints, x: Ints) -> Ints:
        """Rows of a..b with a pair before column x."""
        return np.clip(np.searchsorted(self.low, x), a, b) - a

    def ended(self, a: Ints, b: Ints, x: Ints) -> Ints:
        """Rows of a..b without a pair from column x on."""
        return np.clip(np.searchsorted(self.high, x, side="right"), a, b) - a


@lru_cache(maxsize=8)
def _steps(mask: Staircase) -> _Steps:
    return _Steps(mask)


def _of_staircase(mask: Staircase, outside: int, inside: int, blocks: Ints) -> Tiling:
    steps, n, extent = _steps(mask), mask.queries, mask.keys
    starts = blocks * outside
    ends = np.minimum(starts + outside, n)
    left, right = mask.low[starts], mask.high[ends - 1]
    # Columns from `seen` on are new to this block of rows.
    seen = np.where(starts > 0, mask.high[starts - 1], 0)
    # Tiles first..last, of which full_from..full_to lie where all rows have begun and none has ended.
    first, last = left // inside, (right - 1) // inside
    full_from = np.maximum(first, mask.low[ends - 1] // inside + 1)
    full_to = np.maximum(full_from, np.minimum(last + 1, mask.high[starts] // inside))
    # A full tile across `seen` has some new columns: it is none of the alike.
    across = np.where(seen % inside > 0, seen // inside, -1)
    across = np.where((across >= full_from) & (across < full_to), across, -1)
    split = np.clip(-(-seen // inside), full_from, full_to)

    block, tile, times = [], [], []
    for low, high in ((first, np.minimum(full_from, last + 1)), (full_to, last + 1)):
        count = np.maximum(high - low, 0)
        block.append(np.repeat(np.arange(len(starts)), count))
        tile.append(np.repeat(low - (np.cumsum(count) - count), count) + np.arange(count.sum()))
        times.append(np.ones(int(count.sum()), dtype=np.int64))
    crossing = np.flatnonzero(across >= 0)
    for where, position, count in (
        (crossing, across, np.ones(len(starts), dtype=np.int64)),
        (np.arange(len(starts)), full_from, np.maximum(split - full_from - (across >= 0), 0)),
        (np.arange(len(starts)), split, full_to - split),
    ):
        kept = where[count[where] > 0]
        block.append(kept)
        tile.append(position[kept])
        times.append(count[kept])
    outer, m, number = (np.concatenate(parts) for parts in (block, tile, times))
    order = np.lexsort((m, outer))
    outer, m, number = outer[order], m[order], number[order]

    a, b = starts[outer], ends[outer]
    x0, x1 = m * inside, np.minimum((m + 1) * inside, extent)
    begun = steps.begun(a, b, x0)
    return Tiling(
        sizes=ends - starts,
        outer=outer,
        times=number,
        pairs=steps.pairs(a, b, x0, x1),
        rows=steps.begun(a, b, x1) - steps.ended(a, b, x0),
        columns=np.minimum(x1, right[outer]) - np.maximum(x0, left[outer]),
        begun=begun,
        begin=steps.begun(a, b, x1) - begun,
        new=np.maximum(np.minimum(x1, right[outer]) - np.maximum(x0, seen[outer]), 0),
    )


# -- cells ------------------------------------------------------------------------------------------


def _runs(edges: Ints, block: int) -> tuple[Ints, Ints]:
    """Runs of blocks that are alike: where each starts and how many blocks it has.

    A block with the edge of a cell is a run of its own, and so is the next, with which the cell may begin.
    """
    extent = int(edges[-1])
    blocks = -(-extent // block)
    at = edges // block
    starts = _distinct(np.concatenate([[0], at, at + 1, at + 2]))
    starts = starts[starts < blocks]
    return starts * block, np.diff(np.append(starts, blocks))


def _segments(edges: Ints, starts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """An axis cut at the edges of its cells and where its blocks, or runs of them, start.

    Returns for each segment its size and its block, and for each cell its first segment and their number.
    """
    cuts = _distinct(np.concatenate([edges, starts]))
    first = np.searchsorted(cuts, edges)
    return np.diff(cuts), _block_at(starts, cuts[:-1]), first[:-1], np.diff(first)


def _distinct(values: Ints) -> Ints:
    """The values, ascending, each once: as `np.unique`, which hashes first, and takes longer."""
    ascending: Ints = np.sort(values)
    distinct: Ints = ascending[np.append(True, ascending[1:] != ascending[:-1])]
    return distinct


def _block_at(starts: Ints, index: Ints) -> Ints:
    """The block that each index is in."""
    return np.searchsorted(starts, index, side="right") - 1


def _firsts(group: Ints, value: Ints, groups: int) -> Ints:
    """The least value in each group."""
    least = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(least, group, value)
    return least


def _of_cells(mask: Cells, outside: int, inside: int, blocks: Ints) -> Tiling:
    row_starts = np.arange(0, mask.queries, outside)
    column_starts, times = _runs(mask.column_edges, inside)
    height, row_block, row_first, row_count = _segments(mask.row_edges, row_starts)
    width, column_block, column_first, column_count = _segments(mask.column_edges, column_starts)
    # A run of several blocks is one segment: from here on one block stands for all of them.
    width = width // times[column_block]
    # Where each row of cells begins, and each column of cells: both along the other axis.
    row_begins = mask.column_edges[_firsts(mask.rows, mask.columns, len(row_first))]
    column_begins = mask.row_edges[_firsts(mask.columns, mask.rows, len(column_first))]
    first_tile, first_block = _block_at(column_starts, row_begins), column_begins // outside
    # Every pair of a segment of rows in the blocks looked at, and one of columns, that is seen.
    looked = np.isin(row_block, blocks)
    cell_of_row = np.repeat(np.arange(len(row_first)), row_count)
    heads = np.searchsorted(mask.rows, np.arange(len(row_first) + 1))
    cells = np.diff(heads)[cell_of_row] * looked
    row = np.repeat(np.arange(len(height)), cells)
    at = np.repeat(heads[cell_of_row] - (np.cumsum(cells) - cells), cells) + np.arange(len(row))
    copies = column_count[mask.columns[at]]
    row, cell = np.repeat(row, copies), np.repeat(mask.columns[at], copies)
    column = np.repeat(column_first[mask.columns[at]] - (np.cumsum(copies) - copies), copies) + np.arange(
        len(row)
    )

    number = int(column_block[-1]) + 1
    place = row_block[row] * number + column_block[column]
    order = np.argsort(place, kind="stable")
    row, column, cell, place = row[order], column[order], cell[order], place[order]
    new_tile = np.ones(len(place), dtype=np.bool_)
    new_tile[1:] = place[1:] != place[:-1]
    tile, key = np.cumsum(new_tile) - 1, place[new_tile]
    outer, inner = key // number, key % number

    def total(words: Ints) -> Ints:
        return np.bincount(tile, weights=words, minlength=len(key)).astype(np.int64)

    # Each segment once per tile: of rows they come in order, of columns they are sorted.
    row_once = new_tile.copy()
    row_once[1:] |= row[1:] != row[:-1]
    column_once = np.zeros(len(place), dtype=np.bool_)
    column_once[np.unique(place * len(width) + column, return_index=True)[1]] = True
    begin = total(height[row] * (row_once & (first_tile[cell_of_row[row]] == column_block[column])))
    # Rows that began in earlier tiles of the same block.
    before = np.cumsum(begin) - begin
    return Tiling(
        sizes=np.minimum(outside, mask.queries - blocks * outside),
        outer=np.searchsorted(blocks, outer),
        times=times[inner],
        pairs=total(height[row] * width[column]),
        rows=total(height[row] * row_once),
        columns=total(width[column] * column_once),
        begun=before - before[np.searchsorted(outer, outer)],
        begin=begin,
        new=total(width[column] * (column_once & (row_block[row] == first_block[cell]))),
    )
