"""The counting machine under a mask: the exact cost of a masked program, without a graph.

The program is read once. Inside its loops every number of words is an array: over the outer blocks in the
outer loop, over the kinds of tiles (`strategies.tiles.tilings`) in the inner one. Loads and stores are sums
over these arrays, the peak is their maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.result import Cost
from strategies.tiles.language import Block, State, Tile, TileProgramError, contract, free_blocks
from strategies.tiles.masked_language import Axis, MaskedShape, row_position
from strategies.tiles.tilings import Tiling, outer_blocks, tiling

__all__ = ["MaskedCountingMachine", "total_cost"]


class MaskedCountingMachine:
    """Reads a masked program as a cost.

    Parameters
    ----------
    shape : MaskedShape
    sample : int, optional
        Read about so many blocks of the outer loops only: what the peak is likely to be, in less time.

    Attributes
    ----------
    loads, stores : int
        In words, of all copies.
    peak : int
        Most words resident at once, scratch included.
    looked_at : int
        Blocks of the outer loop that were read.
    computed, vertices : dict of str to int
        Vertices computed in a copy, with repeats, and vertices there are, by array.
    """

    def __init__(self, shape: MaskedShape, sample: int | None = None) -> None:
        self._shape, self._sample = shape, sample
        self._loads = self._stores = 0
        self.computed: dict[str, int] = {}
        self.vertices: dict[str, int] = {}
        self.peak = 0
        self.looked_at = 0
        self._columns = Block(shape.d, shape.d, True, True)
        # The block of the head dimension that is open, and how many there are like it.
        self._part: Block | None = None
        self._parts = 1
        self._resident: Any = np.zeros(1, dtype=np.int64)
        self._times: Any = 1
        self._tiles: dict[Tile, None] = {}
        # What the open loops stand for.
        self._axis: Axis | None = None
        self._outer: Block | None = None
        self._inner: Block | None = None
        self._kinds: Tiling | None = None

    @property
    def loads(self) -> int:
        """In words, of all copies."""
        return self._shape.copies * self._loads

    @property
    def stores(self) -> int:
        """In words, of all copies."""
        return self._shape.copies * self._stores

    @property
    def copies(self) -> int:
        """How often the program is played."""
        return self._shape.copies

    @property
    def resident(self) -> list[str]:
        """The arrays of which tiles are resident."""
        return [tile.name for tile in self._tiles]

    # -- blocks -------------------------------------------------------------------------------------------

    @property
    def columns(self) -> Block:
        return self._columns

    def parts(self, block: int) -> Iterator[Block]:
        if self._outer is not None or self._part is not None:
            raise TileProgramError("blocks of the head dimension are around all other loops")
        d = self._shape.d
        block = min(block, d)
        for size, self._parts in ((block, d // block), (d % block, 1)):
            if size:
                self._part = Block(d, size, True, True)
                yield self._part
        self._part, self._parts = None, 1

    def loop(self, axis: Axis, block: int) -> Iterator[Block]:
        if self._outer is None:
            yield from self._outer_loop(axis, block)
        elif self._inner is None and axis != self._axis:
            yield from self._inner_loop(axis, block)
        else:
            raise TileProgramError("loops under a mask are over queries and keys, one inside the other")

    def _outer_loop(self, axis: Axis, block: int) -> Iterator[Block]:
        extent = self._shape.extent(axis)
        self._block = min(block, extent)
        starts = outer_blocks(extent, self._block, self._sample) * self._block
        self._axis, self._outer = axis, self._blocks(extent, np.minimum(self._block, extent - starts))
        self._resident, self._times = np.zeros(len(starts), dtype=np.int64), 1
        self.looked_at = len(starts)
        yield self._outer
        if self._tiles:
            names = ", ".join(tile.name for tile in self._tiles)
            raise TileProgramError(f"an iteration of the outer loop ends with tiles still resident: {names}")
        self._axis = self._outer = None

    def _inner_loop(self, axis: Axis, block: int) -> Iterator[Block]:
        assert self._axis is not None
        assert self._outer is not None
        extent = self._shape.extent(axis)
        kinds = tiling(self._shape.outside(self._axis), self._block, min(block, extent), self._sample)
        entry = [(tile, tile.state) for tile in self._tiles], self._resident
        sums = [tile for tile, state in entry[0] if state is State.EMPTY]
        self._kinds, self._inner = kinds, self._blocks(extent, kinds.columns)
        self._times = kinds.times
        # Sums of the outer block grow from tile to tile.
        self._resident = self._resident[kinds.outer]
        for tile in sums:
            self._resident = self._resident + kinds.begun * self._per_index(tile)
        yield self._inner
        left = [(tile, State.RESIDENT if tile in sums else state) for tile, state in entry[0]]
        if [(tile, tile.state) for tile in self._tiles] != left:
            raise TileProgramError(
                "the inner loop leaves other tiles resident than it found, or adds no term to a sum: free "
                "what an iteration brought in"
            )
        self._kinds = self._inner = None
        self._times, self._resident = 1, entry[1]
        for tile in sums:
            self._resident = self._resident + self._words(tile.index)

    @staticmethod
    def _blocks(extent: int, sizes: NDArray[np.int64]) -> Block:
        return Block(extent, sizes, True, True)

    # -- words --------------------------------------------------------------------------------------------

    def _words(self, index: tuple[Block, ...]) -> NDArray[np.int64]:
        """Words of a tile, an array over what the open loops stand for."""
        words: Any = np.ones_like(self._resident)
        if self._kinds is not None and self._outer in index and self._inner in index:
            words = self._kinds.pairs
        for block in index:
            plain = block is self._columns or block is self._part
            if plain or (block is self._outer and self._kinds is None):
                words = words * block.size
            elif block is self._outer and self._inner not in index:
                words = words * self._kinds_of().sizes[self._kinds_of().outer]
            elif block is self._inner and self._outer not in index:
                words = words * block.size
            elif block is not self._outer and block is not self._inner:
                raise TileProgramError("a tile has a block of a loop that has ended")
        return np.asarray(words)

    def _per_index(self, tile: Tile) -> int:
        """Words of a tile for each index of its first block."""
        return next((int(b.size) for b in tile.index if b is self._columns or b is self._part), 1)

    def _entries(self, tile: Tile) -> int:
        """Words of the array of a tile, in one copy."""
        if self._is_pairs(tile):
            return self._shape.mask.pairs
        wide = self._columns in tile.index or self._part in tile.index
        return tile.index[0].extent * (self._shape.d if wide else 1)

    def _kinds_of(self) -> Tiling:
        if self._kinds is None:
            raise TileProgramError(
                "pairs are there inside two loops only, one over queries and one over keys"
            )
        return self._kinds

    def _is_pairs(self, tile: Tile) -> bool:
        return self._outer in tile.index and self._inner in tile.index and self._inner is not None

    # -- tiles --------------------------------------------------------------------------------------------

    def load(self, name: str, *index: Block) -> Tile:
        words = self._words(index)
        self._load(words)
        self._grow(words)
        return self._hold(Tile(name, index, State.RESIDENT))

    def stream(self, name: str, *index: Block) -> Tile:
        return Tile(name, index, State.STREAMED)

    def accumulator(self, name: str, *index: Block) -> Tile:
        if self._kinds is not None:
            raise TileProgramError(f"the sums of {name} go on from tile to tile: resume them")
        return self._hold(Tile(name, index, State.EMPTY))

    def resume(self, name: str, *index: Block, before: Block) -> Tile:
        kinds = self._kinds_of()
        if before is not self._outer or index[0] is not self._inner:
            raise TileProgramError(f"{name} is resumed in the inner loop, before the block of the outer one")
        tile = Tile(name, index, State.EMPTY)
        words = (kinds.columns - kinds.new) * self._per_index(tile)
        self._load(words)
        self._grow(words)
        return self._hold(tile)

    def store(self, tile: Tile) -> None:
        tile.expect(State.RESIDENT)
        self._stores += self._sum(self._words(tile.index))

    def free(self, *tiles: Tile) -> None:
        for tile in tiles:
            tile.expect(State.RESIDENT, State.STREAMED)
            if tile.state is State.RESIDENT:
                self._resident = self._resident - self._words(tile.index)
                self._drop(tile)

    # -- computations -------------------------------------------------------------------------------------

    def product(self, name: str, A: Tile, B: Tile) -> Tile:
        C = self._hold(Tile(name, free_blocks(A, B), State.EMPTY))
        self.multiply(C, A, B)
        return C

    def multiply(self, C: Tile, A: Tile, B: Tile) -> None:
        kinds, d, fma = self._kinds_of(), self._shape.d, self._shape.fma
        C.expect(State.EMPTY, State.RESIDENT)
        terms = contract(C, A, B).terms
        streamed = [tile for tile in (A, B) if tile.state is State.STREAMED]
        pairs = self._shape.mask.pairs
        held: Any = len(streamed)
        if self._is_pairs(C):
            if terms is not self._columns:
                raise TileProgramError(f"{C.name} is summed over the whole head dimension")
            width, new = d, kinds.pairs
            if len(streamed) == 2:
                held = 1 + np.minimum(kinds.rows, kinds.columns)
        else:
            width = self._per_index(C)
            new = (kinds.begin if C.index[0] is self._outer else kinds.new) * width
            if len(streamed) == 1 or (streamed and (terms is not self._inner or (kinds.columns > 1).any())):
                raise TileProgramError(
                    f"sums of {C.name} start at different terms: load the operands, or stream both with "
                    "inner blocks of one index"
                )
            if streamed:
                held = 1 + np.minimum(kinds.pairs, width)
        products = kinds.pairs * width
        first_terms = self._entries(C)
        for tile in streamed:
            # Of an outer block the rows that have a pair pass, as of an inner one.
            few = self._is_pairs(C) and tile.index[0] is self._outer
            self._load(kinds.rows * width if few else self._words(tile.index))
        if fma:
            self._computes(C.name, products, pairs * d)
        else:
            self._computes(C.name, 2 * products - new, 2 * pairs * d - first_terms)
        self._grow(new)
        self._reach(np.where(products > new, 1 if fma else 2, 0) + held)
        C.state = State.RESIDENT

    def map(self, name: str, X: Tile, *others: Tile, keep: bool = False) -> Tile:
        X.expect(State.RESIDENT)
        result = Tile(name, X.index, State.RESIDENT)
        held_rows = held = 0
        for tile in others:
            tile.expect(State.RESIDENT, State.STREAMED)
            by_row = row_position(tile, X.index) == 0
            if tile.state is State.STREAMED:
                self._load(self._rows(X.index) if by_row else self._words(X.index))
                held_rows, held = held_rows + by_row, held + (not by_row)
        words = self._words(X.index)
        self._computes(name, words, self._entries(X))
        if keep:
            self._grow(words)
            self._reach(held_rows + held)
        else:
            self._reach(held_rows + held + 1)
            self._drop(X)
        return self._hold(result)

    def _rows(self, index: tuple[Block, ...]) -> NDArray[np.int64]:
        """Rows of a step: indices of its first block that have a word in it."""
        if not (self._outer in index and self._inner in index) or index[0] is self._inner:
            return self._words(index[:1])
        return self._kinds_of().rows

    def rowsum(self, total: Tile, X: Tile) -> None:
        kinds = self._kinds_of()
        total.expect(State.EMPTY, State.RESIDENT)
        X.expect(State.RESIDENT)
        row_position(total, X.index)
        new = kinds.begin if total.index[0] is self._outer else kinds.new
        self._reach(np.where(kinds.pairs > new, 1, 0))
        self._computes(total.name, kinds.pairs - new, self._shape.mask.pairs - total.index[0].extent)
        self._resident = self._resident - kinds.pairs + new
        self._drop(X)
        total.state = State.RESIDENT

    # -- the result ---------------------------------------------------------------------------------------

    def cost(self) -> Cost:
        """The cost of the program that was read.

        Raises
        ------
        TileProgramError
            The program left tiles resident, or computed an array only in part.
        """
        return total_cost([self])

    # -- bookkeeping --------------------------------------------------------------------------------------

    def _load(self, words: NDArray[np.int64]) -> None:
        self._loads += self._sum(words)

    def _sum(self, words: NDArray[np.int64]) -> int:
        """The sum over all blocks that the open loops stand for."""
        return self._parts * int((self._times * words).sum())

    def _computes(self, name: str, words: NDArray[np.int64], vertices: int) -> None:
        """Count the vertices that one more step computes of the `vertices` that an array has in a copy."""
        self.computed[name] = self.computed.get(name, 0) + self._sum(words)
        self.vertices[name] = vertices

    def _hold(self, tile: Tile) -> Tile:
        self._tiles[tile] = None
        return tile

    def _drop(self, tile: Tile) -> None:
        tile.state = State.FREED
        del self._tiles[tile]

    def _grow(self, words: NDArray[np.int64]) -> None:
        self._resident = self._resident + words
        self._reach(0)

    def _reach(self, extra: Any) -> None:
        """Note that `extra` words are there for a moment, besides the resident tiles."""
        self.peak = max(self.peak, int((self._resident + extra).max()))


def total_cost(machines: Sequence[MaskedCountingMachine]) -> Cost:
    """The cost of programs that are played one after the other, each read by a machine of its own.

    Raises
    ------
    TileProgramError
        One left tiles resident, or together they compute an array only in part.
    """
    computed: Counter[str] = Counter()
    vertices: dict[str, int] = {}
    for machine in machines:
        if machine.resident:
            names = ", ".join(machine.resident)
            raise TileProgramError(f"the program ends with tiles still resident: {names}")
        computed.update(machine.computed)
        vertices.update(machine.vertices)
    for name, number in vertices.items():
        if computed[name] < number:
            raise TileProgramError(f"array {name} is computed only in part")
    copies, computes = machines[0].copies, computed.total()
    return Cost(
        sum(machine.loads for machine in machines),
        sum(machine.stores for machine in machines),
        copies * computes,
        copies * (computes - sum(vertices.values())),
        max(machine.peak for machine in machines),
    )
