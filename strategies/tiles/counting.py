"""The counting machine: the exact cost of a tile program, without a graph.

A loop visits one block of each class (the only one, the first, the middle ones, the last) and multiplies, so
that a nest costs O(1) whatever the sizes. Block sizes may be arrays: one pass then prices every candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.result import Cost
from strategies.tiles.language import (
    Block,
    Shape,
    State,
    Tile,
    TileProgramError,
    Words,
    contract,
    free_blocks,
    is_row_vector,
)

__all__ = ["CountingMachine"]


class CountingMachine:
    """Reads a tile program as a cost.

    Parameters
    ----------
    shape : Shape
        Tells whether products and adds are fused.
    candidates : int, optional
        Length of the arrays of block sizes; then `loads`, `stores` and `peak` are such arrays too, and
        computations are not counted. By default the blocks are plain integers.

    Attributes
    ----------
    loads, stores : int or ndarray
        In words.
    peak : int or ndarray
        Most words resident at once, scratch included.
    needs, makes, computed : set of str
        Arrays that are loaded but were not stored before, that are stored, and that are computed.
    """

    def __init__(self, shape: Shape, candidates: int | None = None) -> None:
        zero: Any = 0 if candidates is None else np.zeros(candidates, dtype=np.int64)
        self.loads: Words = zero
        self.stores: Words = zero
        self.peak: Words = zero
        self._many = candidates is not None
        self._fma = shape.fma
        self._resident: Words = 0
        self._tiles: dict[Tile, None] = {}
        self._times: Words = 1
        # Where the enclosing blocks exist; None means everywhere.
        self._exists: NDArray[np.bool_] | None = None
        # Vertices computed, with repeats, and vertices there are, by array.
        self._computed: dict[str, int] = {}
        self._vertices: dict[str, int] = {}
        self.needs: set[str] = set()
        self.makes: set[str] = set()
        self.computed: set[str] = set()

    # -- blocks -------------------------------------------------------------------------------------------

    def whole(self, extent: int) -> Block:
        return Block(extent, extent, True, True)

    def head(self, extent: int, size: Words) -> Block:
        return Block(extent, size, True, False)

    def loop(
        self, extent: int, block: Words, *, begin: Words = 0, end: Words | None = None
    ) -> Iterator[Block]:
        outer_times, outer_exists = self._times, self._exists
        entry = [(tile, tile.state) for tile in self._tiles], self._resident
        after: tuple[Words, list[Tile]] | None = None
        for first, last, size, times in _classes((extent if end is None else end) - begin, block):
            if not _anywhere(times):
                continue
            if first and after is not None:
                # Where the axis is one block, that block was visited; elsewhere the loop starts now.
                for tile, state in entry[0]:
                    tile.state = state
                self._resident = entry[1]
            self._times = outer_times * times
            if self._many:
                exists = np.greater(self._times, 0)
                self._exists = None if exists.all() else exists
            yield Block(extent, size, first, last)
            left = self._resident, list(self._tiles)
            if after is not None and (left[1] != after[1] or _anywhere(left[0] != after[0])):
                raise TileProgramError(
                    "a loop leaves other tiles resident after one iteration than after another: "
                    "free what the iteration brought in"
                )
            after = left
        self._times, self._exists = outer_times, outer_exists

    # -- tiles --------------------------------------------------------------------------------------------

    def load(self, name: str, *index: Block, before: Block | None = None) -> Tile:
        words = _words(index)
        self.loads = self.loads + self._times * words
        self._grow(words)
        if before is None:
            self._needs(name)
        return self._hold(Tile(name, index, State.RESIDENT))

    def stream(self, name: str, *index: Block) -> Tile:
        self._needs(name)
        return Tile(name, index, State.STREAMED)

    def accumulator(self, name: str, *index: Block) -> Tile:
        return self._hold(Tile(name, index, State.EMPTY))

    def room(self, name: str, *index: Block) -> Tile:
        self._grow(_words(index))
        return self._hold(Tile(name, index, State.RESIDENT))

    def store(self, tile: Tile) -> None:
        tile.expect(State.RESIDENT)
        self.stores = self.stores + self._times * _words(tile.index)
        self.makes.add(tile.name)

    def free(self, *tiles: Tile) -> None:
        for tile in tiles:
            tile.expect(State.RESIDENT, State.STREAMED)
            if tile.state is State.STREAMED or tile.whole is not None:
                continue
            self._drop(tile)
            self._resident = self._resident - _words(tile.index)

    # -- computations -------------------------------------------------------------------------------------

    def product(self, name: str, A: Tile, B: Tile) -> Tile:
        C = self.accumulator(name, *free_blocks(A, B))
        self.multiply(C, A, B)
        return C

    def multiply(self, C: Tile, A: Tile, B: Tile) -> None:
        C.expect(State.EMPTY, State.RESIDENT)
        rows, columns, terms = contract(C, A, B)
        starts = C.state is State.EMPTY
        if starts:
            C.state = State.RESIDENT
            if C.whole is None:
                self._grow(_words(C.index))
        if self._fma:
            self._computes(C, per_term=1, terms=terms, starts=starts)
        else:
            self._computes(C, per_term=2, terms=terms, starts=starts, first_saves=1)
        # The first term is computed in the accumulator's own place, a further one needs scratch.
        scratch = _with_further_terms(starts, terms, 1 if self._fma else 2)
        streamed = [tile for tile in (A, B) if tile.state is State.STREAMED]
        for tile in streamed:
            self.loads = self.loads + self._times * _words(tile.index)
        if len(streamed) == 2:
            self._reach(scratch + 1 + _smaller(_words(rows), _words(columns)))
        else:
            self._reach(scratch + len(streamed))

    def map(self, name: str, X: Tile, *others: Tile, keep: bool = False) -> Tile:
        X.expect(State.RESIDENT, State.STREAMED)
        if X.state is State.STREAMED:
            return Tile(name, X.index, State.STREAMED, (X, *others))
        result = Tile(name, X.index, State.RESIDENT)
        self._computes(result)
        rows, held, most = self._bring_in(others, X.index)
        at_once = rows + max(most, held + 1)
        if keep:
            self._grow(_words(X.index))
            self._reach(at_once - 1)
        else:
            self._reach(at_once)
            self._drop(X)
        return self._hold(result)

    def rowsum(self, total: Tile, X: Tile) -> None:
        total.expect(State.EMPTY, State.RESIDENT)
        X.expect(State.RESIDENT, State.STREAMED)
        terms = X.index[-1]
        starts = total.state is State.EMPTY
        self._computes(total, per_term=1, terms=terms, starts=starts, first_saves=1)
        total.state = State.RESIDENT
        if X.state is State.RESIDENT:
            self._reach(_with_further_terms(starts, terms, 1))
            self._resident = self._resident - _words(X.index)
            self._drop(X)
        if starts:
            self._grow(_words(total.index))
        if X.state is State.STREAMED:
            # A row's first term becomes its total; a further one comes beside it and is added.
            rows, held, most = self._bring_in((X,), X.index)
            further = max(most, held + 1)
            alone = most - 1 if starts else further
            self._reach(rows + alone + _with_further_terms(starts, terms, further - alone))

    # -- the result ---------------------------------------------------------------------------------------

    def cost(self) -> Cost:
        """The cost of the program that was read, block sizes being plain integers.

        Raises
        ------
        TileProgramError
            The program left tiles resident, or computed an array only in part.
        """
        self.check_empty()
        recomputes = 0
        for name, vertices in self._vertices.items():
            if self._computed[name] < vertices:
                raise TileProgramError(f"array {name} is computed only in part")
            recomputes += self._computed[name] - vertices
        computes = sum(self._computed.values())
        return Cost(int(self.loads), int(self.stores), computes, recomputes, int(self.peak))

    @property
    def repeats(self) -> bool:
        """Whether more vertices of an array were computed than it has."""
        return any(self._computed[name] > vertices for name, vertices in self._vertices.items())

    def check_empty(self) -> None:
        """Raise TileProgramError unless the program gave up every tile."""
        if self._tiles:
            names = ", ".join(tile.name for tile in self._tiles)
            raise TileProgramError(f"the program ends with tiles still resident: {names}")

    # -- bookkeeping --------------------------------------------------------------------------------------

    def _bring_in(self, tiles: tuple[Tile, ...], onto: tuple[Block, ...]) -> tuple[int, int, int]:
        """Bring in one word of each tile: words held per row, words held per entry, most on the way."""
        rows = held = most = 0
        for tile in tiles:
            tile.expect(State.RESIDENT, State.STREAMED)
            if tile.state is State.RESIDENT:
                continue
            if tile.operands:
                if tile.index != onto:
                    raise TileProgramError(
                        f"{tile.name} is computed on the fly: it needs all axes of the step"
                    )
                self._computes(tile)
                below_rows, below_held, below_most = self._bring_in(tile.operands, onto)
                rows += below_rows
                most = max(most, held + max(below_most, below_held + 1))
                held += 1
            elif is_row_vector(tile, onto):
                self.loads = self.loads + self._times * _words(onto[:-1])
                rows += 1
            else:
                self.loads = self.loads + self._times * _words(onto)
                held += 1
                most = max(most, held)
        return rows, held, most

    def _needs(self, name: str) -> None:
        if name not in self.makes:
            self.needs.add(name)

    def _hold(self, tile: Tile) -> Tile:
        self._tiles[tile] = None
        return tile

    def _drop(self, tile: Tile) -> None:
        tile.state = State.FREED
        del self._tiles[tile]

    def _grow(self, words: Words) -> None:
        self._resident = self._resident + words
        self._reach(0)

    def _reach(self, extra: Words) -> None:
        """Note that `extra` words are there for a moment, besides the resident tiles."""
        reached: Any = self._resident + extra
        if not self._many:
            self.peak = max(self.peak, reached)
        elif self._exists is None:
            self.peak = np.maximum(self.peak, reached)
        else:
            self.peak = np.where(self._exists, np.maximum(self.peak, reached), self.peak)

    def _computes(
        self,
        tile: Tile,
        *,
        per_term: int = 1,
        terms: Block | None = None,
        starts: bool = False,
        first_saves: int = 0,
    ) -> None:
        """Count the vertices that one more computation of a tile computes."""
        self.computed.add(tile.name)
        if self._many:
            return
        size, extent = (1, 1) if terms is None else (terms.size, terms.extent)
        vertices = _words(tile.index) * (per_term * size - first_saves * starts)
        self._computed[tile.name] = self._computed.get(tile.name, 0) + int(self._times * vertices)
        entries = prod(block.extent for block in tile.index)
        self._vertices[tile.name] = entries * (per_term * extent - first_saves)


def _classes(extent: Words, block: Words) -> Iterator[tuple[bool, bool, Words, Words]]:
    """First, last, size and number of the blocks of each class that a loop over `extent` indices visits."""
    block = _smaller(block, extent)
    steps: Any = -(-extent // (block + (block == 0)))  # a range may be empty
    yield True, True, extent, (steps == 1) * 1
    yield True, False, block, (steps > 1) * 1
    yield False, False, block, (steps - 2) * (steps > 2)
    yield False, True, extent - (steps - 1) * block, (steps > 1) * 1


def _anywhere(condition: Any) -> bool:
    return bool(condition.any()) if isinstance(condition, np.ndarray) else bool(condition)


def _words(index: tuple[Block, ...]) -> Words:
    words: Words = 1
    for block in index:
        words = words * block.size
    return words


def _smaller(a: Words, b: Words) -> Words:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _with_further_terms(starts: bool, terms: Block, words: int) -> Words:
    """`words`, or 0 where a sum has no term besides its first."""
    return (terms.size > 1) * words if starts else words
