"""The lowering machine under a mask: the scalar schedule of a masked program on the real graph.

Tiles under a mask are no translations of each other, so every one is written as it is: the vertices of a tile
are looked up in the graph's arrays, and the partial sums of an entry lie at a fixed distance before its
result, as many as it has terms. One call of a program writes one array of moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphs.heads import grouped
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.moves import Op, move_dtype
from strategies.tiles.language import Block, State, Tile, TileProgramError, contract, free_blocks
from strategies.tiles.masked_language import Axis, MaskedShape, row_position

__all__ = ["MaskedLoweringMachine"]

Ints: TypeAlias = NDArray[np.int64]

# How far the vertex of one partial sum lies from the next one's.
_STEPS = {"chain": 2, "chain-fma": 1, "chain-reduce": 1}


@dataclass(frozen=True, eq=False, slots=True)
class _Some(Block):
    """A block of chosen indices."""

    indices: Any = None


class _Copy:
    """The arrays of one copy: with the rows of its queries, those of all its heads, as the mask has them.

    Parameters
    ----------
    cdag : CDAG
    shape : MaskedShape
    number : int
        Which copy.
    """

    def __init__(self, cdag: CDAG, shape: MaskedShape, number: int) -> None:
        self._cdag, self._shape, self._number = cdag, shape, number
        self._arrays: dict[str, Ints] = {}

    def array(self, name: str) -> Ints:
        """Vertices of an array; -1 where the mask hides a pair."""
        if name not in self._arrays:
            if name not in self._cdag.tensors:
                raise UnsupportedInstanceError(f"the graph names no array {name}, which the program uses")
            ids, shape = self._cdag.tensors[name], self._shape
            if shape.heads > 1 and ids.shape[0] == shape.copies:
                ids = ids[self._number]
            elif shape.heads > 1:
                rows = ids if ids.ndim == 3 else ids[..., np.newaxis]
                found = grouped(rows, 3, shape.copies)[self._number]
                ids = found if ids.ndim == 3 else found[..., 0]
            self._arrays[name] = np.asarray(ids, dtype=np.int64)
        return self._arrays[name]

    def step(self, name: str) -> int:
        """How far the sum after one more term lies; UnsupportedInstanceError if sums are no sequences."""
        layout = self._cdag.sums.get(name)
        kind = "no" if layout is None else layout.layout.removeprefix("ragged-")
        if kind not in _STEPS:
            raise UnsupportedInstanceError(
                f"{name} has {kind} sums in this graph: tile programs need sums=chain"
            )
        return _STEPS[kind]


class MaskedLoweringMachine:
    """Reads a masked program as moves, once per copy.

    Parameters
    ----------
    cdag : CDAG
        The graph, with the arrays that the program names in `tensors` and its sums in `sums`.
    shape : MaskedShape
    """

    def __init__(self, cdag: CDAG, shape: MaskedShape) -> None:
        self._cdag, self._shape = cdag, shape
        self._seen = shape.mask.dense()
        self._copy = _Copy(cdag, shape, 0)
        self._columns = Block(shape.d, shape.d, True, True)
        self._axis: Axis | None = None
        self._outer: _Some | None = None
        self._inner: _Some | None = None
        self._dtype = move_dtype(cdag.num_vertices)
        self._written: list[NDArray[Any]] = []
        # The last term that each entry of a tile of sums has, by row; -1 where there is none.
        self._terms: dict[Tile, Ints] = {}
        # The array that each array of plain sums adds up.
        self._summands: dict[str, str] = {}

    def moves(self) -> NDArray[Any]:
        """The packed moves written so far."""
        return np.concatenate([np.empty(0, dtype=self._dtype), *self._written])

    def turn_to(self, copy: int) -> None:
        """Go on with another copy."""
        self._copy = _Copy(self._cdag, self._shape, copy)

    # -- blocks -------------------------------------------------------------------------------------------

    @property
    def columns(self) -> Block:
        return self._columns

    def parts(self, block: int) -> Iterator[Block]:
        d = self._shape.d
        for start in range(0, d, block):
            yield Block(d, min(block, d - start), True, True, start=start)

    def loop(self, axis: Axis, block: int) -> Iterator[Block]:
        extent = self._shape.extent(axis)
        if self._outer is None:
            self._axis = axis
            for start in range(0, extent, block):
                self._outer = self._some(axis, np.arange(start, min(start + block, extent)))
                yield self._outer
            self._outer = None
            return
        if self._inner is not None or axis == self._axis:
            raise TileProgramError("loops under a mask are over queries and keys, one inside the other")
        met = np.flatnonzero(self._towards(self._outer).any(axis=0))
        for number in np.unique(met // block).tolist():
            self._inner = self._some(axis, met[met // block == number])
            yield self._inner
        self._inner = None

    def _some(self, axis: Axis, indices: Ints) -> _Some:
        return _Some(self._shape.extent(axis), len(indices), True, True, indices=indices)

    def _towards(self, block: _Some) -> NDArray[np.bool_]:
        """Which indices of the other axis the indices of an outer block meet."""
        return self._seen[block.indices] if self._axis == "queries" else self._seen[:, block.indices].T

    # -- pairs and vertices -------------------------------------------------------------------------------

    def _queries_and_keys(self) -> tuple[_Some, _Some]:
        if self._outer is None or self._inner is None:
            raise TileProgramError(
                "pairs are there inside two loops only, one over queries and one over keys"
            )
        return (self._outer, self._inner) if self._axis == "queries" else (self._inner, self._outer)

    def _pairs(self) -> tuple[Ints, Ints]:
        """The pairs of the present tile, query by query."""
        i, j = self._queries_and_keys()
        at = np.nonzero(self._seen[np.ix_(i.indices, j.indices)])
        return i.indices[at[0]], j.indices[at[1]]

    def _is_pairs(self, tile: Tile) -> bool:
        return self._inner is not None and {*tile.index} == {self._outer, self._inner}

    def _indices(self, tile: Tile) -> Ints:
        block = tile.index[0]
        if not isinstance(block, _Some):
            raise TileProgramError(f"{tile.name} has no block of queries or keys")
        return np.asarray(block.indices)

    def _vertices(self, tile: Tile) -> Ints:
        """The final vertices of a tile, shape (pairs,) or (rows,) or (rows, columns)."""
        array = self._copy.array(tile.name)
        if self._is_pairs(tile):
            return np.asarray(array[self._pairs()])
        return np.asarray(array[self._indices(tile)][..., _columns_of(tile)])

    def _held(self, tile: Tile) -> Ints:
        """The vertices that a tile stands for now: those of its partial sums, if it is an accumulator."""
        if tile not in self._terms:
            return self._vertices(tile)
        rows, last = self._indices(tile), self._terms[tile]
        there = last >= 0
        return self._sums(tile, rows[there], last[there])

    def _rows_of(self, tile: Tile) -> NDArray[np.bool_]:
        """The mask with the axis of a tile's first block as rows."""
        outer = tile.index[0] is self._outer
        return self._seen if outer == (self._axis == "queries") else self._seen.T

    def _sums(self, tile: Tile, rows: Ints, term: Ints) -> Ints:
        """Vertices of the sums after some term of some rows, shape (rows,) or (rows, columns)."""
        seen, out = self._rows_of(tile), self._copy.array(tile.name)[rows]
        out = out[..., _columns_of(tile)]
        number = seen[rows].sum(axis=1)
        behind = number - 1 - term
        if tile.index == tile.index[:1]:
            # A sum of vertices: after its first term it is that term.
            if not behind.any():
                return out
            found = out - behind * self._copy.step(tile.name)
            first = self._copy.array(self._summands[tile.name])[rows, seen[rows].argmax(axis=1)]
            return np.asarray(np.where(term == 0, first, found))
        if not behind.any():
            return out
        return np.asarray(out - (behind * self._copy.step(tile.name))[:, np.newaxis])

    # -- tiles --------------------------------------------------------------------------------------------

    def load(self, name: str, *index: Block) -> Tile:
        tile = Tile(name, index, State.RESIDENT)
        self._write((Op.LOAD, self._vertices(tile)))
        return tile

    def stream(self, name: str, *index: Block) -> Tile:
        return Tile(name, index, State.STREAMED)

    def accumulator(self, name: str, *index: Block) -> Tile:
        tile = Tile(name, index, State.EMPTY)
        self._terms[tile] = np.full(len(self._indices(tile)), -1)
        return tile

    def resume(self, name: str, *index: Block, before: Block) -> Tile:
        tile = Tile(name, index, State.EMPTY)
        rows = self._indices(tile)
        assert self._outer is not None
        self._terms[tile] = self._rows_of(tile)[rows, : self._outer.indices[0]].sum(axis=1) - 1
        self._write((Op.LOAD, self._held(tile)))
        return tile

    def store(self, tile: Tile) -> None:
        tile.expect(State.RESIDENT)
        self._write((Op.STORE, self._held(tile)))

    def free(self, *tiles: Tile) -> None:
        for tile in tiles:
            tile.expect(State.RESIDENT, State.STREAMED)
            if tile.state is State.RESIDENT:
                self._write((Op.DELETE, self._held(tile)))
                self._forget(tile)

    def _forget(self, tile: Tile) -> None:
        tile.state = State.FREED
        self._terms.pop(tile, None)

    # -- computations -------------------------------------------------------------------------------------

    def product(self, name: str, A: Tile, B: Tile) -> Tile:
        C = Tile(name, free_blocks(A, B), State.EMPTY)
        self.multiply(C, A, B)
        return C

    def multiply(self, C: Tile, A: Tile, B: Tile) -> None:
        C.expect(State.EMPTY, State.RESIDENT)
        contract(C, A, B)
        streamed = [tile for tile in (A, B) if tile.state is State.STREAMED]
        if self._is_pairs(C) and len(streamed) == 2:
            self._streamed_scores(C, A, B)
        elif self._is_pairs(C):
            self._scores(C, streamed)
        elif streamed:
            self._add_streamed_pairs(C, A, B)
        else:
            self._add_pairs(C)
        C.state = State.RESIDENT

    def _scores(self, C: Tile, streamed: Sequence[Tile]) -> None:
        """Sums over the columns, one for each pair, column by column; a streamed operand word by word."""
        i, j = self._pairs()
        d, last = self._shape.d, self._copy.array(C.name)[i, j]
        step = self._copy.step(C.name) if d > 1 else 0
        group = np.zeros(len(i), dtype=np.int64)
        if streamed:
            (operand,) = streamed
            along = i if operand.index[0] is self._queries_and_keys()[0] else j
            words, group = np.unique(along, return_inverse=True)
            order = np.argsort(group, kind="stable")
            last, group = last[order], group[order]
        for c in range(d):
            sums = last - step * (d - 1 - c)
            moves = self._term(sums, c, step)
            if streamed:
                word = self._copy.array(operand.name)[words, c]
                self._write_around(word, (moves, group))
            else:
                self._written.append(moves.ravel())

    def _streamed_scores(self, C: Tile, A: Tile, B: Tile) -> None:
        """Sums over the columns with a column of the operand of fewer rows there, the other word by word."""
        i, j = self._pairs()
        if A.index[0] is not self._queries_and_keys()[0]:
            A, B = B, A
        (rows, of_row), (keys, of_key) = (np.unique(along, return_inverse=True) for along in (i, j))
        stays, passes, group = (A, B, of_key) if len(rows) <= len(keys) else (B, A, of_row)
        here, words = (rows, keys) if stays is A else (keys, rows)
        order = np.argsort(group, kind="stable")
        last, group = self._copy.array(C.name)[i, j][order], group[order]
        d = self._shape.d
        step = self._copy.step(C.name) if d > 1 else 0
        for c in range(d):
            held = self._copy.array(stays.name)[here, c]
            self._write((Op.LOAD, held))
            moves = self._term(last - step * (d - 1 - c), c, step)
            self._write_around(self._copy.array(passes.name)[words, c], (moves, group))
            self._write((Op.DELETE, held))

    def _add_streamed_pairs(self, C: Tile, A: Tile, B: Tile) -> None:
        """Add the pairs of one inner index, with the shorter operand there, the other word by word.

        The sums that begin come first, then those that go on.
        """
        i, j = self._pairs()
        by_query = C.index[0] is self._queries_and_keys()[0]
        row, term = (i, j) if by_query else (j, i)
        number = self._terms_before(C, row, term)
        order = np.argsort(number > 0, kind="stable")
        row, number = row[order], number[order]
        pairs, others = (A, B) if self._is_pairs(A) else (B, A)
        pair_words, other_words = self._vertices(pairs)[order], self._vertices(others).ravel()
        stay, by_row = (other_words, True) if len(other_words) < len(row) else (pair_words, False)
        moves = []
        for some in (number == 0, number > 0):
            if some.any():
                sums = self._sums(C, row[some], number[some])
                step = self._copy.step(C.name) if number[some].any() else 0
                terms = self._term(sums.ravel(), int(number[some].max()), step)
                at = np.broadcast_to(
                    np.flatnonzero(some)[:, np.newaxis] if by_row else np.arange(sums.shape[1]), sums.shape
                ).ravel()
                order = np.argsort(at, kind="stable")
                moves.append((terms[order], at[order]))
        self._write((Op.LOAD, stay))
        self._write_around(pair_words if by_row else other_words, *moves)
        self._write((Op.DELETE, stay))
        self._move_on(C, row)

    def _add_pairs(self, C: Tile) -> None:
        """Sums over one axis of the pairs, term by term: first those that begin, then those that go on."""
        i, j = self._pairs()
        by_query = C.index[0] is self._queries_and_keys()[0]
        row, term = (i, j) if by_query else (j, i)
        order = np.lexsort((row, term))
        row, term = row[order], term[order]
        number = self._terms_before(C, row, term)
        for some in (number == 0, number > 0):
            if some.any():
                sums = self._sums(C, row[some], number[some]).ravel()
                step = self._copy.step(C.name) if number[some].any() else 0
                self._written.append(self._term(sums, int(number[some].max()), step).ravel())
        self._move_on(C, row)

    def _terms_before(self, C: Tile, row: Ints, term: Ints) -> Ints:
        """How many terms come before one, in each row."""
        return (np.cumsum(self._rows_of(C), axis=1)[row, term] - 1).astype(np.int64)

    def _move_on(self, C: Tile, row: Ints) -> None:
        """Note the terms that were added to the rows of a tile of sums."""
        rows = self._indices(C)
        self._terms[C] = self._terms[C] + np.bincount(np.searchsorted(rows, row), minlength=len(rows))

    def _term(self, sums: Ints, number: int, step: int) -> NDArray[Any]:
        """The moves that add one term to each of the sums before it, shape (sums, moves)."""
        if number == 0:
            return self._packed((Op.COMPUTE, sums))
        if step == 1:
            return self._packed((Op.COMPUTE, sums), (Op.DELETE, sums - 1))
        return self._packed(
            (Op.COMPUTE, sums - 1), (Op.COMPUTE, sums), (Op.DELETE, sums - 1), (Op.DELETE, sums - 2)
        )

    def map(self, name: str, X: Tile, *others: Tile, keep: bool = False) -> Tile:
        X.expect(State.RESIDENT)
        result = Tile(name, X.index, State.RESIDENT)
        words, before, after = self._vertices(result), [], []
        row_words: list[Ints] = []
        for tile in others:
            tile.expect(State.RESIDENT, State.STREAMED)
            by_row = row_position(tile, X.index) == 0
            if tile.state is State.STREAMED and by_row:
                row_words.append(self._copy.array(tile.name))
            elif tile.state is State.STREAMED:
                own = self._vertices(tile).ravel()
                before.append((Op.LOAD, own))
                after.append((Op.DELETE, own))
        entry = [*before, (Op.COMPUTE, words.ravel()), *after]
        if not keep:
            entry.append((Op.DELETE, self._held(X).ravel()))
            self._forget(X)
        moves = self._packed(*entry)
        if row_words:
            rows = self._pairs()[0] if self._is_pairs(result) else self._indices(result).repeat(words[0].size)
            distinct, group = np.unique(rows, return_inverse=True)
            self._write_around(np.stack([array[distinct] for array in row_words], axis=1), (moves, group))
        else:
            self._written.append(moves.ravel())
        return result

    def rowsum(self, total: Tile, X: Tile) -> None:
        total.expect(State.EMPTY, State.RESIDENT)
        X.expect(State.RESIDENT)
        row_position(total, X.index)
        self._summands[total.name] = X.name
        row, key = self._pairs()
        number = self._terms_before(total, row, key)
        further = number > 0
        if further.any():
            sums = self._sums(total, row[further], number[further])
            old = self._sums(total, row[further], number[further] - 1)
            terms = self._vertices(X)[further]
            self._write((Op.COMPUTE, sums), (Op.DELETE, old), (Op.DELETE, terms))
        self._move_on(total, row)
        self._forget(X)
        total.state = State.RESIDENT

    # -- writing ------------------------------------------------------------------------------------------

    def _packed(self, *moves: tuple[Op, Ints]) -> NDArray[Any]:
        """Packed moves, shape (vertices, moves)."""
        return np.stack([(np.ravel(v) << 2) | int(op) for op, v in moves], axis=1).astype(self._dtype)

    def _write(self, *moves: tuple[Op, Ints]) -> None:
        self._written.append(self._packed(*moves).ravel())

    def _write_around(self, words: Ints, *entries: tuple[NDArray[Any], Ints]) -> None:
        """Write moves group by group, the words of each group loaded before and deleted after.

        `words` has a row per group. Each of `entries` has moves, a row per entry, and the ascending group of
        each entry.
        """
        words = words.reshape(len(words), -1)
        load, delete = (self._packed((op, words)).reshape(words.shape) for op in (Op.LOAD, Op.DELETE))
        parts = [(load, np.arange(len(words))), *entries, (delete, np.arange(len(words)))]
        place = [np.repeat(len(parts) * at + phase, part.shape[1]) for phase, (part, at) in enumerate(parts)]
        order = np.argsort(np.concatenate(place), kind="stable")
        self._written.append(np.concatenate([part.ravel() for part, _ in parts])[order])


def _columns_of(tile: Tile) -> slice:
    """The columns of a tile that has any, as a slice of those of its array."""
    if len(tile.index) < 2:
        return slice(None)
    block = tile.index[1]
    return slice(block.start, block.start + int(block.size))
