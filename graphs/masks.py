"""Masks of attention: which keys each query sees, by name or from a file, without an n × n array.

A mask is written ``full``, ``causal``, ``window:w``, ``window:left:right``, ``block:b:pattern`` or as the
name of a Matrix Market file. docs/masks.md shows them. Two forms hold every mask:

`Staircase`
    Each query sees one interval of keys, and both of its ends never go back from one query to the next.
`Cells`
    A grid of cells, of which some are seen whole: patterns of blocks, and files with cells of one pair.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphs.sparsity import read_pattern
from pebble.errors import GraphSpecError

__all__ = ["PATTERNS", "Cells", "Mask", "Staircase", "attention_mask", "tally"]

Indices: TypeAlias = NDArray[np.int64]


def tally(counts: Indices) -> tuple[Indices, Indices]:
    """The numbers that occur in `counts`, in ascending order, and how often each does.

    Examples
    --------
    >>> [a.tolist() for a in tally(np.array([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """
    times = np.bincount(counts)
    numbers = np.flatnonzero(times)
    return numbers, times[numbers]


@dataclass(frozen=True, eq=False)
class Staircase:
    """Query i sees the keys ``low[i], …, high[i] - 1``; `low` and `high` never decrease.

    Attributes
    ----------
    low, high : ndarray of int64, shape (queries,)
    keys : int
    """

    low: Indices
    high: Indices
    keys: int

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.low)

    @cached_property
    def pairs(self) -> int:
        """Pairs of a query and a key that it sees."""
        return int((self.high - self.low).sum())

    @property
    def period(self) -> int:
        """Of tile sides, multiples of this number suit the mask."""
        return 1

    def keys_per_query(self) -> Indices:
        """How many keys each query sees."""
        return self.high - self.low

    def queries_per_key(self) -> Indices:
        """How many queries see each key."""
        return self.transposed().keys_per_query()

    @cached_property
    def tallies(self) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
        """The `tally` of `keys_per_query` and that of `queries_per_key`."""
        return tally(self.keys_per_query()), tally(self.queries_per_key())

    def transposed(self) -> Staircase:
        """The mask with queries and keys exchanged."""
        key = np.arange(self.keys)
        low = np.searchsorted(self.high, key, side="right")
        high = np.searchsorted(self.low, key, side="right")
        return Staircase(low.astype(np.int64), np.maximum(low, high).astype(np.int64), self.queries)

    def repeated(self, times: int) -> Staircase:
        """The mask with each query `times` times in a row."""
        return Staircase(np.repeat(self.low, times), np.repeat(self.high, times), self.keys)

    def dense(self) -> NDArray[np.bool_]:
        """The mask as an array, True where a query sees a key, shape (queries, keys)."""
        key = np.arange(self.keys)
        seen: NDArray[np.bool_] = (self.low[:, None] <= key) & (key < self.high[:, None])
        return seen


@dataclass(frozen=True, eq=False)
class Cells:
    """A grid of cells, each seen whole or not at all.

    Attributes
    ----------
    row_edges, column_edges : ndarray of int64
        Where the rows of cells and the columns of cells start, and the number of queries and of keys.
    rows, columns : ndarray of int64
        The cells that are seen, in row-major order, each once.
    period : int
        Of tile sides, multiples of this number suit the mask.
    """

    row_edges: Indices
    column_edges: Indices
    rows: Indices
    columns: Indices
    period: int = 1

    @property
    def queries(self) -> int:
        """Number of queries."""
        return int(self.row_edges[-1])

    @property
    def keys(self) -> int:
        """Number of keys."""
        return int(self.column_edges[-1])

    @cached_property
    def pairs(self) -> int:
        """Pairs of a query and a key that it sees."""
        return int((np.diff(self.row_edges)[self.rows] * np.diff(self.column_edges)[self.columns]).sum())

    def keys_per_query(self) -> Indices:
        """How many keys each query sees."""
        heights, widths = np.diff(self.row_edges), np.diff(self.column_edges)
        seen = np.bincount(self.rows, weights=widths[self.columns], minlength=len(heights))
        return np.repeat(seen.astype(np.int64), heights)

    def queries_per_key(self) -> Indices:
        """How many queries see each key."""
        return self.transposed().keys_per_query()

    @cached_property
    def tallies(self) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
        """The `tally` of `keys_per_query` and that of `queries_per_key`."""
        return tally(self.keys_per_query()), tally(self.queries_per_key())

    def transposed(self) -> Cells:
        """The mask with queries and keys exchanged."""
        order = np.lexsort((self.rows, self.columns))
        return Cells(self.column_edges, self.row_edges, self.columns[order], self.rows[order], self.period)

    def repeated(self, times: int) -> Cells:
        """The mask with each query `times` times in a row."""
        return Cells(self.row_edges * times, self.column_edges, self.rows, self.columns, self.period)

    def dense(self) -> NDArray[np.bool_]:
        """The mask as an array, True where a query sees a key, shape (queries, keys)."""
        heights, widths = np.diff(self.row_edges), np.diff(self.column_edges)
        seen = np.zeros((len(heights), len(widths)), dtype=np.bool_)
        seen[self.rows, self.columns] = True
        return np.repeat(np.repeat(seen, heights, axis=0), widths, axis=1)


Mask: TypeAlias = Staircase | Cells


def attention_mask(text: str, queries: int, keys: int) -> Mask:
    """The mask that a spec such as ``causal`` or ``window:8`` describes.

    Parameters
    ----------
    text : str
        ``full``; ``causal``; ``window:w``, the w latest keys; ``window:left:right``, so many keys before
        and after one's own; ``block:b:pattern``, blocks of b × b in a pattern of `PATTERNS` or in rows of
        0 and 1 joined by dashes; or the name of a Matrix Market file, whose entries are the pairs.
    queries, keys : int
        The last query and the last key are the same token, so query i stands at key i + keys − queries.

    Returns
    -------
    Staircase or Cells

    Raises
    ------
    GraphSpecError
        The text is no mask, the file does not fit, a query sees no key, or a key is seen by none: the
        softmax of nothing is no number, and what nobody sees is no part of the computation.

    Examples
    --------
    >>> attention_mask("causal", 3, 3).dense().astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> attention_mask("window:2", 65536, 65536).pairs
    131071
    """
    if _is_file(text):
        # A file that is written anew is read anew.
        stamp = os.stat(text) if os.path.exists(text) else None
        version = () if stamp is None else (stamp.st_mtime_ns, stamp.st_size)
        return _checked_file(text, queries, keys, version)
    return _named_mask(text, queries, keys)


@lru_cache(maxsize=32)
def _named_mask(text: str, queries: int, keys: int) -> Mask:
    name, *parts = text.split(":")
    make = _NAMED.get(name)
    if make is None:
        near = difflib.get_close_matches(name, _NAMED, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise GraphSpecError(
            f"mask={text} is none of full, causal, window:w, window:left:right, block:b:pattern, "
            f"FILE.mtx{hint}"
        )
    return _checked(text, make(text, parts, queries, keys))


@lru_cache(maxsize=8)
def _checked_file(text: str, queries: int, keys: int, version: tuple[int, ...]) -> Mask:
    return _checked(text, _file(text, queries, keys))


def _checked(text: str, mask: Mask) -> Mask:
    """The mask, if every query and every key is part of a pair."""
    for counts, problem in (
        (mask.keys_per_query(), "query {} sees no key, and a softmax of nothing is no number"),
        (mask.queries_per_key(), "key {} is seen by no query: leave it out"),
    ):
        idle = np.flatnonzero(counts <= 0)
        if len(idle):
            raise GraphSpecError(
                f"mask={text} of {mask.queries} queries and {mask.keys} keys: {problem.format(int(idle[0]))}"
            )
    return mask


def _band(queries: int, keys: int, left: int, right: int) -> Staircase:
    """Keys from `left` before to `right` after a query's own."""
    own = np.arange(queries, dtype=np.int64) + (keys - queries)
    return Staircase(np.clip(own - left, 0, keys), np.clip(own + right + 1, 0, keys), keys)


def _full(text: str, parts: list[str], queries: int, keys: int) -> Mask:
    _expect(text, parts, 0, "full")
    return Staircase(np.zeros(queries, dtype=np.int64), np.full(queries, keys, dtype=np.int64), keys)


def _causal(text: str, parts: list[str], queries: int, keys: int) -> Mask:
    _expect(text, parts, 0, "causal")
    return _band(queries, keys, keys, 0)


def _window(text: str, parts: list[str], queries: int, keys: int) -> Mask:
    if len(parts) == 2:
        return _band(queries, keys, *(_number(text, part, 0) for part in parts))
    _expect(text, parts, 1, "window:w or window:left:right")
    return _band(queries, keys, _number(text, parts[0], 1) - 1, 0)


def _block(text: str, parts: list[str], queries: int, keys: int) -> Mask:
    _expect(text, parts, 2, "block:b:pattern")
    size = _number(text, parts[0], 1)
    rows, columns = -(-queries // size), -(-keys // size)
    edges = [
        np.minimum(np.arange(count + 1) * size, extent)
        for count, extent in ((rows, queries), (columns, keys))
    ]
    at = _pattern(text, parts[1], rows, columns)
    return Cells(edges[0], edges[1], *at, size)


_Pattern: TypeAlias = Callable[[Indices, int], tuple[Indices, Indices]]
"""From the block column of each block row's own tokens, and the number of block columns, the cells that are
seen: places in the first array, and block columns. Some may be twice or out of range."""


def _beside(own: Indices, columns: Indices) -> tuple[Indices, Indices]:
    """Cells from an array of columns, a row for each block row."""
    return np.repeat(np.arange(len(own)), columns.shape[1]), columns.ravel()


def _diagonal(own: Indices, columns: int) -> tuple[Indices, Indices]:
    return _beside(own, own[:, None])


def _lower(own: Indices, columns: int) -> tuple[Indices, Indices]:
    many = np.clip(own + 1, 0, columns)
    starts = np.cumsum(many) - many
    return np.repeat(np.arange(len(own)), many), np.arange(many.sum()) - np.repeat(starts, many)


def _neighbours(own: Indices, columns: int) -> tuple[Indices, Indices]:
    return _beside(own, own[:, None] + np.arange(-1, 2))


def _butterfly(own: Indices, columns: int) -> tuple[Indices, Indices]:
    digits = np.concatenate(([0], 1 << np.arange(columns.bit_length())))
    return _beside(own, np.where(own[:, None] >= 0, own[:, None] ^ digits, -1))


def _global(own: Indices, columns: int) -> tuple[Indices, Indices]:
    rows, seen = _neighbours(own, columns)
    every = np.arange(len(own))
    first = every[own == 0]
    return (
        np.concatenate((rows, every, np.repeat(first, columns))),
        np.concatenate((seen, np.zeros_like(every), np.tile(np.arange(columns), len(first)))),
    )


PATTERNS: dict[str, _Pattern] = {
    "diagonal": _diagonal,
    "lower": _lower,
    "band": _neighbours,
    "butterfly": _butterfly,
    "global": _global,
}
"""Patterns of blocks by name: a block's own, those up to it, it and its neighbours, those whose number
differs in one binary digit (Dao et al. 2022, FlashAttention, section 3.3), and neighbours with a first block
that sees and is seen by all (Zaheer et al. 2020, Big Bird, without the random blocks). Where there are more
keys than queries the last blocks are matched."""


def _pattern(text: str, name: str, rows: int, columns: int) -> tuple[Indices, Indices]:
    """Block rows and block columns of the cells that are seen, in row-major order."""
    if name in PATTERNS:
        i, j = PATTERNS[name](np.arange(rows, dtype=np.int64) + (columns - rows), columns)
        inside = (j >= 0) & (j < columns)
        i, j = i[inside], j[inside]
        cells = i * columns + j
        if (np.diff(cells) > 0).all():
            return i, j
        cells = np.unique(cells)
        return cells // columns, cells % columns
    if set(name) <= set("01-"):
        lines = name.split("-")
        if len(lines) != rows or any(len(line) != columns for line in lines):
            raise GraphSpecError(
                f"mask={text}: the pattern must have {rows} rows of {columns} digits, joined by dashes"
            )
        at = np.nonzero(np.array([[digit == "1" for digit in line] for line in lines]))
        return at[0].astype(np.int64), at[1].astype(np.int64)
    near = difflib.get_close_matches(name, PATTERNS, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise GraphSpecError(
        f"mask={text}: the pattern is none of {', '.join(PATTERNS)} nor rows of 0 and 1 such as 10-11{hint}"
    )


_NAMED: dict[str, Callable[[str, list[str], int, int], Mask]] = {
    "full": _full,
    "causal": _causal,
    "window": _window,
    "block": _block,
}


def _expect(text: str, parts: list[str], count: int, form: str) -> None:
    if len(parts) != count:
        raise GraphSpecError(f"mask={text} is not of the form mask={form}")


def _number(text: str, part: str, least: int) -> int:
    if not (part.isascii() and part.isdigit()) or int(part) < least:
        raise GraphSpecError(f"mask={text}: '{part}' is no whole number of at least {least}")
    return int(part)


def _is_file(text: str) -> bool:
    return text.endswith((".mtx", ".mtx.gz"))


def _file(text: str, queries: int, keys: int) -> Mask:
    """The entries of a Matrix Market file, stored zeros included."""
    pattern = read_pattern(text, f"mask={text}")
    if pattern.shape != (queries, keys):
        raise GraphSpecError(
            f"mask={text} is a matrix of {pattern.shape[0]} x {pattern.shape[1]}, "
            f"the attention has {queries} queries and {keys} keys"
        )
    return Cells(np.arange(queries + 1), np.arange(keys + 1), pattern.rows, pattern.columns)
