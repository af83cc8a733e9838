"""The lowering machine: the scalar schedule of a tile program on the real graph.

Vertices of an array are an affine function of its indices, so the moves of two iterations of a loop differ by
a translation. The machine writes the moves of one middle iteration, each with its translation per iteration
of the open loops, and unrolls a loop as a whole when it ends: the work outside NumPy does not grow with the
graph, and millions of moves are written at about the speed of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.moves import Op, move_dtype
from strategies.tiles.addresses import Addresses
from strategies.tiles.language import (
    Block,
    State,
    Tile,
    TileProgramError,
    Words,
    contract,
    free_blocks,
    is_row_vector,
)

__all__ = ["LoweringMachine"]

Grid: TypeAlias = NDArray[np.int64]
"""Vertices or moves; along the last axis the value at position 0 of the open loops and its growth in each."""

# Middle blocks start at the third: what the second does to an accumulator may differ from what later ones do,
# since the sum of one term of a plain sum is that term, not a vertex of the sum's own.
_FIRST_MIDDLE = 2
_CHUNK = 1 << 16


class _Words(NamedTuple):
    """Moves before and after each row of an elementwise step, and before and after each of its entries."""

    row_before: list[tuple[Op, Grid]]
    row_after: list[tuple[Op, Grid]]
    before: list[tuple[Op, Grid]]
    after: list[tuple[Op, Grid]]


class LoweringMachine:
    """Reads a tile program as moves.

    Parameters
    ----------
    cdag : CDAG
        The graph, with the arrays that the program names in `tensors` and its sums in `sums`.
    """

    def __init__(self, cdag: CDAG) -> None:
        self._addresses = Addresses(cdag)
        # Pieces of moves: of the whole schedule, then of the body of each open loop.
        self._pieces: list[list[NDArray[Any]]] = [[]]
        self._dtype = move_dtype(cdag.num_vertices)

    def moves(self) -> NDArray[Any]:
        """The packed moves written so far."""
        return np.concatenate([np.empty(0, dtype=self._dtype), *self._pieces[0]])

    # -- blocks -------------------------------------------------------------------------------------------

    def whole(self, extent: int) -> Block:
        return Block(extent, extent, True, True)

    def head(self, extent: int, size: Words) -> Block:
        return Block(extent, size, True, False)

    def loop(
        self, extent: int, block: Words, *, begin: Words = 0, end: Words | None = None
    ) -> Iterator[Block]:
        start, stop = int(begin), extent if end is None else int(end)
        if start >= stop:
            return
        size = min(int(block), stop - start)
        steps = -(-(stop - start) // size)
        for t in range(min(_FIRST_MIDDLE, steps - 1)):
            yield Block(extent, size, t == 0, False, start + t * size)
        if steps - 1 > _FIRST_MIDDLE:
            variable = len(self._pieces) - 1
            self._pieces.append([])
            yield Block(extent, size, False, False, start, size, variable)
            self._unroll(self._pieces.pop(), range(_FIRST_MIDDLE, steps - 1))
        last = start + (steps - 1) * size
        yield Block(extent, stop - last, steps == 1, True, last)

    def _unroll(self, pieces: list[NDArray[Any]], positions: range) -> None:
        """Repeat the moves of a loop's body for each position and hand them to the enclosing body."""
        if not pieces:
            return
        body = np.concatenate(pieces)
        growth = body[:, -1]
        if body.shape[1] == 2:
            # The outermost loop: straight into packed moves, some positions at a time.
            unrolled = np.empty((len(positions), len(body)), dtype=self._dtype)
            rows = max(1, _CHUNK // len(body))
            for low in range(0, len(positions), rows):
                t = np.array(positions[low : low + rows])
                unrolled[low : low + rows] = body[:, 0] + t[:, None] * growth
            self._pieces[-1].append(unrolled.reshape(-1))
            return
        inner = np.empty((len(positions), len(body), body.shape[1] - 1), dtype=np.int64)
        inner[:] = body[:, :-1]
        inner[:, :, 0] += np.array(positions)[:, None] * growth
        self._pieces[-1].append(inner.reshape(-1, inner.shape[-1]))

    # -- tiles --------------------------------------------------------------------------------------------

    def load(self, name: str, *index: Block, before: Block | None = None) -> Tile:
        tile = Tile(name, index, State.RESIDENT, terms=before, complete=before is None)
        self._write(_encode([(Op.LOAD, self._held(tile))]))
        return tile

    def stream(self, name: str, *index: Block) -> Tile:
        return Tile(name, index, State.STREAMED)

    def accumulator(self, name: str, *index: Block) -> Tile:
        return Tile(name, index, State.EMPTY)

    def room(self, name: str, *index: Block) -> Tile:
        return Tile(name, index, State.RESIDENT)

    def store(self, tile: Tile) -> None:
        tile.expect(State.RESIDENT)
        self._write(_encode([(Op.STORE, self._held(tile))]))

    def free(self, *tiles: Tile) -> None:
        for tile in tiles:
            tile.expect(State.RESIDENT, State.STREAMED)
            if tile.state is State.STREAMED or tile.whole is not None:
                continue
            self._write(_encode([(Op.DELETE, self._held(tile))]))
            tile.state = State.FREED

    # -- computations -------------------------------------------------------------------------------------

    def product(self, name: str, A: Tile, B: Tile) -> Tile:
        C = self.accumulator(name, *free_blocks(A, B))
        self.multiply(C, A, B)
        return C

    def multiply(self, C: Tile, A: Tile, B: Tile) -> None:
        C.expect(State.EMPTY, State.RESIDENT)
        rows, columns, terms = contract(C, A, B)
        a, b, k = prod(_sizes(rows)), prod(_sizes(columns)), int(terms.size)
        sums = self._sums(C, terms, (*rows, *columns)).reshape(k, a, b, -1)
        left = self._spread(A, (terms, *rows)).reshape(k, a, -1) if A.state is State.STREAMED else None
        right = self._spread(B, (terms, *columns)).reshape(k, b, -1) if B.state is State.STREAMED else None
        if left is not None and (right is None or b < a):
            sums, left, right = sums.swapaxes(1, 2), right, left
        # From here the right operand passes word by word and the left one column by column, where they do.
        sums = sums.swapaxes(1, 2)
        first = 1 if C.state is State.EMPTY else 0
        if first:
            self._require_first(C, terms)
        for some, moves in ((slice(0, first), self._first_term), (slice(first, k), self._further_term)):
            if sums[some].size:
                words = (None if operand is None else operand[some] for operand in (left, right))
                self._write_terms(_encode(moves(C.name, sums[some])), *words)
        for tile in (C,) if C.whole is None else (C, C.whole):
            tile.state, tile.terms, tile.complete = State.RESIDENT, terms, True

    def _first_term(self, name: str, sums: Grid) -> list[tuple[Op, Grid]]:
        """A product alone, in the accumulator's own place."""
        return [(Op.COMPUTE, sums)]

    def _further_term(self, name: str, sums: Grid) -> list[tuple[Op, Grid]]:
        """A term added to each of the sums before it."""
        if self._addresses.step(name) == 1:
            return [(Op.COMPUTE, sums), (Op.DELETE, _shift(sums, -1))]
        term, old = _shift(sums, -1), _shift(sums, -2)
        return [(Op.COMPUTE, term), (Op.COMPUTE, sums), (Op.DELETE, term), (Op.DELETE, old)]

    def map(self, name: str, X: Tile, *others: Tile, keep: bool = False) -> Tile:
        X.expect(State.RESIDENT, State.STREAMED)
        if X.state is State.STREAMED:
            return Tile(name, X.index, State.STREAMED, (X, *others))
        result = Tile(name, X.index, State.RESIDENT)
        words = self._bring_in(others, X.index)
        entry = [*words.before, (Op.COMPUTE, self._held(result)), *words.after]
        if not keep:
            entry.append((Op.DELETE, self._held(X)))
            X.state = State.FREED
        self._write_rows(words, _encode(entry), X.index)
        return result

    def rowsum(self, total: Tile, X: Tile) -> None:
        total.expect(State.EMPTY, State.RESIDENT)
        X.expect(State.RESIDENT, State.STREAMED)
        *_, terms = X.index
        if terms.extent == 1:
            self._take_over(total, X)
            return
        sums = np.moveaxis(self._sums(total, terms, total.index), 0, -2)
        old = _shift(sums, -1)
        term = self._held(X)
        words = self._bring_in((X,), X.index)
        starts = total.state is State.EMPTY
        if starts:
            # The sum of the first term is that term.
            self._require_first(total, terms)
            old[..., 1:2, :] = term[..., :1, :]
        elif total.ids is not None:
            old[..., :1, :] = self._widen(total.ids)
        total.ids = term[..., :1, :] if starts and terms.size == 1 else None
        entry = _encode([*words.before, (Op.COMPUTE, sums), (Op.DELETE, old), (Op.DELETE, term)])
        X.state = State.FREED if X.state is State.RESIDENT else X.state
        if starts:
            first = [(op, grid[..., :1, :]) for op, grid in words.before]
            self._write_rows(words, entry[..., 1:, :, :], X.index, _encode(first) if first else None)
        else:
            self._write_rows(words, entry, X.index)
        total.state, total.terms = State.RESIDENT, terms

    def _take_over(self, total: Tile, X: Tile) -> None:
        """A sum of one term: the graph has no other vertex for it."""
        if X.state is State.STREAMED:
            words = self._bring_in((X,), X.index)
            self._write_rows(words, _encode(words.before), X.index)
        total.ids = self._held(X)[..., :1, :]
        total.state, X.state = State.RESIDENT, X.state if X.state is State.STREAMED else State.FREED

    # -- words brought in for an elementwise step ---------------------------------------------------------

    def _bring_in(self, tiles: Sequence[Tile], onto: tuple[Block, ...]) -> _Words:
        """The moves around one use of each streamed tile in each entry of the blocks `onto`."""
        words = _Words([], [], [], [])
        for tile in tiles:
            tile.expect(State.RESIDENT, State.STREAMED)
            if tile.state is State.RESIDENT:
                continue
            if tile.operands:
                below = self._bring_in(tile.operands, onto)
                words.row_before.extend(below.row_before)
                words.row_after.extend(below.row_after)
                own = self._spread(tile, onto)
                words.before.extend([*below.before, (Op.COMPUTE, own), *below.after])
                words.after.append((Op.DELETE, own))
            elif is_row_vector(tile, onto):
                own = self._vertices(tile.name, tile.index)
                words.row_before.append((Op.LOAD, own))
                words.row_after.append((Op.DELETE, own))
            else:
                own = self._spread(tile, onto)
                words.before.append((Op.LOAD, own))
                words.after.append((Op.DELETE, own))
        return words

    # -- vertices -----------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return len(self._pieces)

    def _vertices(self, name: str, index: tuple[Block, ...]) -> Grid:
        """The vertices of a block of an array, shape (sizes of the blocks, width)."""
        origin, strides = self._addresses.array(name)
        if len(strides) != len(index):
            raise TileProgramError(
                f"array {name} has {len(strides)} axes, the program gives {len(index)} blocks"
            )
        grid = np.zeros((*_sizes(index), self._width), dtype=np.int64)
        grid[..., 0] = origin
        for axis, (stride, block) in enumerate(zip(strides, index, strict=True)):
            along = np.arange(block.start, block.start + int(block.size)) * stride
            grid[..., 0] += along.reshape(-1, *[1] * (len(index) - axis - 1))
            if block.variable >= 0:
                grid[..., 1 + block.variable] += stride * block.step
        return grid

    def _sums(self, tile: Tile, terms: Block, onto: tuple[Block, ...]) -> Grid:
        """The partial sums after each term of a block, shape (terms, sizes of `onto`, width)."""
        layout = self._addresses.sums(tile.name)
        if layout.k != terms.extent:
            raise TileProgramError(f"{tile.name} sums {layout.k} terms, the program gives {terms.extent}")
        step = self._addresses.step(tile.name)
        term = np.arange(terms.start, terms.start + int(terms.size))
        last = self._spread(tile, onto)
        sums = np.repeat(last[None], len(term), axis=0)
        sums[..., 0] -= (step * (layout.k - 1 - term)).reshape(-1, *[1] * (last.ndim - 1))
        if terms.variable >= 0:
            sums[..., 1 + terms.variable] += step * terms.step
        return sums

    def _held(self, tile: Tile) -> Grid:
        """The vertices that a tile stands for now: those of its partial sums, if it is an accumulator."""
        if tile.ids is not None:
            return self._widen(tile.ids)[..., 0, :]
        if tile.terms is None:
            return self._vertices(tile.name, tile.index)
        last = self._sums(tile, tile.terms, tile.index)
        if tile.complete:
            return np.asarray(last[-1])
        if self._addresses.sums(tile.name).layout == "chain-reduce":
            raise TileProgramError(
                f"partial sums of {tile.name} cannot be loaded: they are no products' sums"
            )
        return _shift(last[0], -self._addresses.step(tile.name))

    def _spread(self, tile: Tile, onto: tuple[Block, ...]) -> Grid:
        """The final vertices of a tile, its axes arranged as `onto` and repeated along those it lacks."""
        grid = self._vertices(tile.name, tile.index)
        for axis in reversed(range(len(tile.index))):
            if tile.index[axis] not in onto:  # a batch of one index
                grid = np.asarray(np.take(grid, 0, axis))
        index = [block for block in tile.index if block in onto]
        order = [index.index(block) for block in onto if block in index]
        grid = grid.transpose(*order, len(order))
        shape = [int(block.size) if block in index else 1 for block in onto]
        return np.broadcast_to(grid.reshape(*shape, -1), (*_sizes(onto), self._width))

    def _widen(self, grid: Grid) -> Grid:
        """Vertices that were found when fewer loops were open."""
        more = self._width - grid.shape[-1]
        return np.concatenate([grid, np.zeros((*grid.shape[:-1], more), dtype=np.int64)], axis=-1)

    def _require_first(self, tile: Tile, terms: Block) -> None:
        if terms.start != 0 or terms.variable >= 0:
            raise TileProgramError(f"accumulator {tile.name} starts with a term that is not the first")

    # -- writing ------------------------------------------------------------------------------------------

    def _write(self, moves: Grid) -> None:
        pieces = moves.reshape(-1, self._width)
        self._pieces[-1].append(pieces if self._width > 1 else pieces[:, 0].astype(self._dtype))

    def _write_terms(self, moves: Grid, left: Grid | None, right: Grid | None) -> None:
        """Write the moves of some terms, shape (terms, b, a, moves, width), with their streamed operands.

        `left` has a column of shape (a, width) per term, `right` one of shape (b, width).
        """
        terms, b = moves.shape[:2]
        moves = moves.reshape(terms, b, -1, self._width)
        if right is not None:
            moves = _around(right[:, :, None], moves)
        moves = moves.reshape(terms, -1, self._width)
        if left is not None:
            moves = _around(left, moves)
        self._write(moves)

    def _write_rows(
        self, words: _Words, entry: Grid, onto: tuple[Block, ...], first: Grid | None = None
    ) -> None:
        """Write the moves of each entry, shape (…, moves, width), row by row; `first` starts each row."""
        parts = [
            *([_encode(words.row_before)] if words.row_before else []),
            *([] if first is None else [first]),
            entry,
            *([_encode(words.row_after)] if words.row_after else []),
        ]
        rows = prod(_sizes(onto[:-1]))
        self._write(np.concatenate([part.reshape(rows, -1, self._width) for part in parts], axis=1))


def _sizes(index: tuple[Block, ...]) -> tuple[int, ...]:
    return tuple(int(block.size) for block in index)


def _shift(grid: Grid, by: int) -> Grid:
    """The vertices `by` further on."""
    shifted = grid.copy()
    shifted[..., 0] += by
    return shifted


def _encode(moves: Sequence[tuple[Op, Grid]]) -> Grid:
    """Packed moves of grids of vertices, shape (…, moves, width)."""
    codes = np.stack([grid for _, grid in moves], axis=-2) << 2
    codes[..., 0] += np.array([op for op, _ in moves])
    return codes


def _around(words: Grid, moves: Grid) -> Grid:
    """Load `words` before moves and delete them after, all along the last axis but one."""
    load, delete = (_encode([(op, words)]).reshape(words.shape) for op in (Op.LOAD, Op.DELETE))
    return np.concatenate([load, moves, delete], axis=-2)
