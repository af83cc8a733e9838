"""The tile language: the calls of a tile program, and what its two machines share.

A tile program is one function ``f(machine, shape, **blocks)``. It loops over blocks of the axes of a problem
and moves and computes tiles; `strategies.tiles.counting` reads it to price it, `strategies.tiles.lowering` to
write its scalar schedule. docs/tiles.md teaches the language by an example.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pebble.errors import PebbleError

__all__ = [
    "Block",
    "Contraction",
    "Machine",
    "Shape",
    "State",
    "Tile",
    "TileProgramError",
    "Words",
    "contract",
    "free_blocks",
    "is_row_vector",
]

Words: TypeAlias = int | NDArray[np.int64]
"""A number of words or of indices; an array where one pass prices many block sizes at once."""


class TileProgramError(PebbleError, ValueError):
    """A tile program broke the contract of the language; the text says how."""


class Shape(SimpleNamespace):
    """The parameters of a graph family by name (``shape.n``, ``shape.d``, …), and ``shape.fma``."""

    n: int
    d: int
    given: str
    fma: bool

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Shape:
        """The shape that the parameters of a graph spec describe."""
        return cls(**{"fma": False, "given": "", **params})


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """A range of indices of one axis. Two blocks are the same axis position only if they are one object.

    Attributes
    ----------
    extent : int
        Length of the axis.
    size : int or ndarray
        Indices in the block.
    first, last : bool
        Whether the block starts, or ends, its loop.
    start, step, variable : int
        For the lowering machine: the first index is ``start + step * t``, where t is the position in the open
        loop number `variable` (none if -1).
    """

    extent: int
    size: Words
    first: bool
    last: bool
    start: int = 0
    step: int = 0
    variable: int = -1


class State(enum.Enum):
    """What a tile handle stands for."""

    EMPTY = "an accumulator without a term"
    RESIDENT = "resident"
    STREAMED = "streamed"
    FREED = "freed"


@dataclass(eq=False, slots=True)
class Tile:
    """A block of an array: resident in fast memory, or streamed through it word by word.

    Attributes
    ----------
    name : str
        The array's name in the graph.
    index : tuple of Block
        One block per axis of the array.
    state : State
    operands : tuple of Tile
        Of a streamed tile that is computed on the fly: what it is computed from.
    terms : Block or None
        Of an accumulator, for the lowering machine: the block of terms that was added last.
    complete : bool
        Whether the sums hold the terms of that block too, or only those before it.
    ids : ndarray or None
        For the lowering machine: the vertices held, where `terms` does not tell them.
    whole : Tile or None
        The tile that this one is a part of.
    """

    name: str
    index: tuple[Block, ...]
    state: State
    operands: tuple[Tile, ...] = ()
    terms: Block | None = None
    complete: bool = True
    ids: NDArray[np.int64] | None = field(default=None, repr=False)
    whole: Tile | None = field(default=None, repr=False)

    def expect(self, *states: State) -> None:
        """Raise TileProgramError unless the tile is in one of `states`."""
        if self.state not in states:
            wanted = " or ".join(state.value for state in states)
            raise TileProgramError(f"tile {self.name} is {self.state.value}, the program needs it {wanted}")

    def part(self, *index: Block, starts: bool = False) -> Tile:
        """Some of the words of a tile: it takes up no room of its own.

        A part of a `Machine.room` is a tile of sums, and `starts` says that it has no term yet.
        """
        self.expect(State.RESIDENT, State.STREAMED)
        return Tile(self.name, index, State.EMPTY if starts else self.state, whole=self)


class Contraction(NamedTuple):
    """How ``C += A · B`` runs over the blocks: rows are A's, columns B's, terms are summed over."""

    rows: tuple[Block, ...]
    columns: tuple[Block, ...]
    terms: Block


def contract(C: Tile, A: Tile, B: Tile) -> Contraction:
    """Match the blocks of a product by identity, as an einsum matches letters.

    The block that A and B share and C lacks is the block of terms. Blocks of one index that all three share
    (a head, say) are a batch and play no part.

    Raises
    ------
    TileProgramError
        No such block, or more than one; a batch of more than one index; an operand that is not there.
    """
    for tile in (A, B):
        tile.expect(State.RESIDENT, State.STREAMED)
        if tile.operands:
            raise TileProgramError(f"{tile.name} is computed on the fly: a product cannot stream it")
    terms = [block for block in A.index if block in B.index and block not in C.index]
    batch = [block for block in C.index if block in A.index and block in B.index]
    rows = tuple(block for block in C.index if block in A.index and block not in batch)
    columns = tuple(block for block in C.index if block in B.index and block not in batch)
    if len(terms) != 1 or len(rows) + len(columns) + len(batch) != len(C.index):
        raise TileProgramError(f"{C.name} += {A.name} · {B.name}: the blocks of the tiles do not match")
    if batch and any(np.any(np.not_equal(block.size, 1)) for block in batch):
        raise TileProgramError(f"{C.name} += {A.name} · {B.name}: a batch is looped over one index at a time")
    return Contraction(rows, columns, terms[0])


def free_blocks(A: Tile, B: Tile) -> tuple[Block, ...]:
    """The index of ``A · B``: the blocks that only one of them has, A's first."""
    return (
        *(block for block in A.index if block not in B.index),
        *(block for block in B.index if block not in A.index),
    )


def is_row_vector(tile: Tile, onto: tuple[Block, ...]) -> bool:
    """Whether a tile holds one word for each row of an elementwise step over the blocks `onto`."""
    return len(onto) > 1 and tile.index == onto[:-1]


class Machine(Protocol):
    """What a tile program may call. Sizes are in words; every array entry is one word, one vertex.

    Two words of scratch (one where products and adds are fused) are all that a computation needs besides
    the tiles: a product term needs a place for the product and one for the new partial sum, an elementwise
    step one for the result.
    """

    def loop(
        self, extent: int, block: Words, *, begin: Words = 0, end: Words | None = None
    ) -> Iterator[Block]:
        """The blocks of `block` indices that cover an axis, in ascending order; the last may be shorter.

        With `begin` or `end` they cover that range of the axis, and there may be none.

        The body may depend on its position only through the block's `first`, `last` and `size`, and leaves
        the same tiles resident after each iteration.
        """
        ...

    def whole(self, extent: int) -> Block:
        """The block of all indices of an axis."""
        ...

    def head(self, extent: int, size: Words) -> Block:
        """The block of the first indices of an axis, maybe none."""
        ...

    def load(self, name: str, *index: Block, before: Block | None = None) -> Tile:
        """Load a tile from slow memory; `before` asks for the sums of the terms before that block."""
        ...

    def stream(self, name: str, *index: Block) -> Tile:
        """A tile that is not loaded: its words pass through fast memory where a computation needs them.

        An elementwise step runs row by row; a streamed vector with one word per row is loaded once per row.
        A product with one streamed operand holds one word of it at a time; with two, one column of the
        shorter and one word of the longer operand, so that each is loaded once.
        """
        ...

    def accumulator(self, name: str, *index: Block) -> Tile:
        """A tile of sums without a term yet: it takes up room as the first terms are computed."""
        ...

    def room(self, name: str, *index: Block) -> Tile:
        """Room for a tile of sums that are added up part by part (`Tile.part`), all before it is stored."""
        ...

    def multiply(self, C: Tile, A: Tile, B: Tile) -> None:
        """Add the terms of ``A · B`` to the accumulator C, whichever way the blocks of the tiles match."""
        ...

    def product(self, name: str, A: Tile, B: Tile) -> Tile:
        """A new accumulator with the terms of ``A · B``; its axes are A's others, then B's others."""
        ...

    def map(self, name: str, X: Tile, *others: Tile, keep: bool = False) -> Tile:
        """Compute an array elementwise from X and others, which may lack axes of X.

        The result takes the place of X, word by word, unless `keep`. If X is streamed, so is the result:
        each word is computed on the fly where it is needed.
        """
        ...

    def rowsum(self, total: Tile, X: Tile) -> None:
        """Add the columns of X to the accumulator `total`; this uses X up, the room of its words is freed."""
        ...

    def store(self, tile: Tile) -> None:
        """Copy a resident tile to slow memory; of an accumulator, its present partial sums."""
        ...

    def free(self, *tiles: Tile) -> None:
        """Give up the room of resident tiles; a streamed one, or a part, has none: nothing happens."""
        ...
