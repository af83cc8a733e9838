"""The tile language over the pairs that a mask lets through.

A masked program speaks the words of `strategies.tiles.language` about attention's own axes: ``queries``,
with the query heads of a group as more queries, ``keys``, and ``columns``, the head dimension. Loops are over
the first two, one inside the other; the inner one visits the tiles that hold a pair, and its block stands for
the indices with a pair in that tile. So a tile of queries and keys holds pairs, a tile of the inner axis has
the rows that these pairs need, and whatever is empty costs nothing and is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

from graphs.heads import key_heads, keys
from graphs.masks import Mask, attention_mask
from strategies.tiles.language import Block, Tile, TileProgramError

__all__ = ["Axis", "MaskedMachine", "MaskedShape", "row_position"]

Axis: TypeAlias = Literal["queries", "keys"]


@dataclass(frozen=True, eq=False)
class MaskedShape:
    """What a masked program and its machines need to know of an attention problem.

    Attributes
    ----------
    mask : Staircase or Cells
        Of one copy: its rows are the queries of all heads that share a key head.
    d : int
        Head dimension.
    copies : int
        Disjoint copies, one per key head, played one after the other.
    heads : int
        Query heads of all copies.
    fma : bool
    """

    mask: Mask
    d: int
    copies: int
    heads: int
    fma: bool

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> MaskedShape:
        """The shape that the parameters of a graph spec describe; GraphSpecError for a mask that is none."""
        copies, heads = key_heads("attention", params), params["heads"]
        mask = attention_mask(params["mask"], params["n"], keys(params))
        rows = mask.repeated(heads // copies) if heads > copies else mask
        return cls(rows, params["d"], copies, heads, params["fma"])

    @cached_property
    def transposed(self) -> Mask:
        """The mask with keys as rows."""
        return self.mask.transposed()

    def outside(self, axis: Axis) -> Mask:
        """The mask with the axis of the outer loop as rows."""
        return self.mask if axis == "queries" else self.transposed

    def extent(self, axis: Axis) -> int:
        """Indices of an axis, in one copy."""
        return self.mask.queries if axis == "queries" else self.mask.keys


class MaskedMachine(Protocol):
    """What a masked program may call; words mean what they mean in `strategies.tiles.language.Machine`.

    The body of a loop may depend on nothing that it could ask of its block. Where a sum starts is not the
    same for all rows, so an accumulator takes a first term in its own place row by row.
    """

    @property
    def columns(self) -> Block:
        """The block of the whole head dimension."""
        ...

    def parts(self, block: int) -> Iterator[Block]:
        """Blocks of the head dimension, around all other loops: sums need not be made with all columns."""
        ...

    def loop(self, axis: Axis, block: int) -> Iterator[Block]:
        """The blocks of an axis; inside a loop over the other one, the blocks that share a pair with it."""
        ...

    def load(self, name: str, *index: Block) -> Tile:
        """Load a tile from slow memory."""
        ...

    def stream(self, name: str, *index: Block) -> Tile:
        """A tile whose words pass through fast memory where a computation needs them.

        A product of two streamed tiles holds one column of that with fewer rows and one word of the other if
        it makes pairs. If it adds pairs up, over an inner block of one index, it holds the shorter operand.
        """
        ...

    def accumulator(self, name: str, *index: Block) -> Tile:
        """A tile of sums without a term yet."""
        ...

    def resume(self, name: str, *index: Block, before: Block) -> Tile:
        """A tile of sums with the terms before an outer block, loaded; those without any are still empty."""
        ...

    def multiply(self, C: Tile, A: Tile, B: Tile) -> None:
        """Add the terms of ``A · B`` that the mask lets through to C."""
        ...

    def product(self, name: str, A: Tile, B: Tile) -> Tile:
        """A tile of pairs, each the sum over the columns of ``A · B``."""
        ...

    def map(self, name: str, X: Tile, *others: Tile, keep: bool = False) -> Tile:
        """Compute an array elementwise from X and others, in the place of X unless `keep`."""
        ...

    def rowsum(self, total: Tile, X: Tile) -> None:
        """Add a tile of pairs up along each query; this uses X up."""
        ...

    def store(self, tile: Tile) -> None:
        """Copy a resident tile to slow memory; of an accumulator, its present partial sums."""
        ...

    def free(self, *tiles: Tile) -> None:
        """Give up the room of resident tiles; a streamed one has none."""
        ...


def row_position(tile: Tile, onto: tuple[Block, ...]) -> int:
    """The axis of a step over the blocks `onto` along which a tile has one word per row; -1 if it has all.

    Raises
    ------
    TileProgramError
        The tile has other blocks than the step, or one word per column.
    """
    if tile.index == onto:
        return -1
    if len(onto) == 2 and tile.index == onto[:1]:
        return 0
    raise TileProgramError(f"{tile.name} fits no row of the step: give the blocks of the step, or its first")
