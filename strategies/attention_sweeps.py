"""Passes over all pairs of a query and a key, from which hybrids of the backward pass are put together.

A pass has one axis outside: that axis' rows of its matrices, and of the gradients that it adds up, stay while
the rows of the other axis go by. Which matrices are there, what is computed again and what passes through
slow memory follows from what the pass reads, adds up and writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from strategies.attention_backward import gradient_of_scores, probabilities
from strategies.tiles.language import Block, Machine, Shape, Tile, Words
from strategies.tiles.tuning import Step

__all__ = ["Operands", "Sweep", "add_through_memory"]

QUERIES = ("Q", "dO", "L", "D", "dQ")
"""The arrays with one row per query; the others have one per key."""


@dataclass
class Operands:
    """The matrices that a pass multiplies by: those of the outer axis stay, the others go by.

    Parameters
    ----------
    machine : Machine
    uses : Counter of str
        How often each matrix is used for one pair of blocks. One that goes by is streamed if it is used
        once, else it is loaded at its first use and freed after its last.
    held : dict of str to Tile
        The tiles that stay.
    block, columns : Block
        Of the tiles that go by.
    """

    machine: Machine
    uses: Counter[str]
    held: dict[str, Tile]
    block: Block
    columns: Block

    def __post_init__(self) -> None:
        self._left = dict(self.uses)
        self._here: dict[str, Tile] = {}

    def vector(self, name: str) -> Tile:
        """The block of a vector."""
        return self.held[name] if name in self.held else self.machine.stream(name, self.block)

    @contextmanager
    def using(self, name: str) -> Iterator[Tile]:
        """The tile of a matrix for one of its uses."""
        if name in self.held:
            yield self.held[name]
            return
        if name not in self._here:
            bring = self.machine.stream if self.uses[name] == 1 else self.machine.load
            self._here[name] = bring(name, self.block, self.columns)
        yield self._here[name]
        self._left[name] -= 1
        if not self._left[name]:
            self.machine.free(self._here[name])


def add_through_memory(m: Machine, name: str, left: Tile, right: Tile, inside: Block, outside: Block) -> None:
    """Add ``left · right`` to sums that stay in slow memory, one column at a time in fast memory.

    Parameters
    ----------
    m : Machine
    name : str
        The sums; their rows are those of the block `inside`, their columns those of `right`.
    left, right : Tile
        Operands; `right` has one axis that it shares with `left`, the block `outside`.
    inside, outside : Block
        Where the inner and the outer loop stand; the sums start where the outer one does.
    """
    terms, columns = right.index
    for c in m.loop(columns.extent, 1):
        total = m.accumulator(name, inside, c) if outside.first else m.load(name, inside, c, before=outside)
        m.multiply(total, left, right.part(terms, c))
        m.store(total)
        m.free(total)


@dataclass(frozen=True)
class Sweep:
    """A pass over all pairs of a query and a key.

    Attributes
    ----------
    outer : {"rows", "columns"}
        The axis whose blocks stay: queries or keys.
    sums : tuple of str
        Which of dV, dQ and dK are added up. Those of the outer axis stay in fast memory, those of the other
        go through slow memory.
    reads, writes : tuple of str
        Which of P and dS are read from slow memory instead of computed, and which are written to it.
    """

    outer: Literal["rows", "columns"]
    sums: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def makes_dS(self) -> bool:
        """Whether dS is computed."""
        return "dS" in self.writes or ("dS" not in self.reads and bool({"dQ", "dK"} & {*self.sums}))

    @property
    def makes_P(self) -> bool:
        """Whether P is computed."""
        return "P" not in self.reads and (self.makes_dS or "dV" in self.sums or "P" in self.writes)

    def uses(self) -> Counter[str]:
        """How often each matrix is used for one pair of blocks."""
        pairs = {"dV": "dO", "dQ": "K", "dK": "Q"}
        return Counter(
            [*(("Q", "K") if self.makes_P else ()), *(("dO", "V") if self.makes_dS else ())]
            + [pairs[name] for name in self.sums]
        )

    @property
    def name(self) -> str:
        """``reads.makes@outer``, as in ``P.dV+dS@columns``."""
        reads = "+".join(self.reads) + "." if self.reads else ""
        return f"{reads}{'+'.join((*self.sums, *self.writes))}@{self.outer}"

    @property
    def step(self) -> Step:
        """The pass as a step, of the blocks of the outer axis and the rows of the other one that stay too."""
        return Step(self, {"outside": "n", "kept": "n"}, kept="kept")

    def __call__(self, m: Machine, shape: Shape, outside: Words, kept: Words) -> None:
        c, head, uses = m.whole(shape.d), m.head(shape.n, kept), self.uses()
        stays = {name: m.load(name, head, c) for name in uses if not self._is_outer(name)}
        stays |= {name: m.load(name, head) for name in self._vectors() if not self._is_outer(name)}
        rooms = {name: m.room(name, head, c) for name in self.sums if not self._is_outer(name)}
        for o in m.loop(shape.n, outside):
            held = {name: m.load(name, o, c) for name in uses if self._is_outer(name)}
            vectors = {name: m.load(name, o) for name in self._vectors() if self._is_outer(name)}
            totals = {name: m.accumulator(name, o, c) for name in self.sums if self._is_outer(name)}
            here = {**held, **vectors}
            for b in m.loop(shape.n, 1, end=kept):
                near = {name: tile.part(b, *tile.index[1:]) for name, tile in stays.items()}
                parts = {name: room.part(b, c, starts=o.first) for name, room in rooms.items()}
                self._pair(m, Operands(m, uses, {**here, **near}, b, c), {**totals, **parts}, o, b)
            for b in m.loop(shape.n, 1, begin=kept):
                self._pair(m, Operands(m, uses, here, b, c), totals, o, b)
            for total in totals.values():
                m.store(total)
            m.free(*here.values(), *totals.values())
        for room in rooms.values():
            m.store(room)
        m.free(*stays.values(), *rooms.values())

    def _pair(
        self, m: Machine, operands: Operands, totals: dict[str, Tile], outside: Block, inside: Block
    ) -> None:
        """All that the pass does with one pair of blocks."""
        i, j = (outside, inside) if self.outer == "rows" else (inside, outside)

        def add(name: str, left: Tile, right: str) -> None:
            with operands.using(right) as tile:
                if name in totals:
                    m.multiply(totals[name], left, tile)
                else:
                    add_through_memory(m, name, left, tile, inside, outside)

        P = self._bring_P(m, operands, i, j)
        if "dV" in self.sums:
            assert P is not None
            add("dV", P, "dO")
        dS = self._bring_dS(m, operands, P, i, j)
        if P is not None:
            m.free(P)
        if dS is not None:
            for name, right in (("dK", "Q"), ("dQ", "K")):
                if name in self.sums:
                    add(name, dS, right)
            m.free(dS)

    def _bring_P(self, m: Machine, operands: Operands, i: Block, j: Block) -> Tile | None:
        """P, computed or from slow memory; None if the pass has no use for it."""
        if "P" in self.reads:
            return (m.load if self.makes_dS and "dV" in self.sums else m.stream)("P", i, j)
        if not self.makes_P:
            return None
        with operands.using("Q") as Q, operands.using("K") as K:
            P = probabilities(m, Q, K, operands.vector("L"))
        if "P" in self.writes:
            m.store(P)
        return P

    def _bring_dS(self, m: Machine, operands: Operands, P: Tile | None, i: Block, j: Block) -> Tile | None:
        """dS, computed or from slow memory; None if the pass has no use for it."""
        if "dS" in self.reads:
            return (m.load if {"dQ", "dK"} <= {*self.sums} else m.stream)("dS", i, j)
        if not self.makes_dS:
            return None
        assert P is not None
        with operands.using("dO") as dO, operands.using("V") as V:
            dS = gradient_of_scores(m, dO, V, P, operands.vector("D"))
        if "dS" in self.writes:
            m.store(dS)
        return dS

    def _vectors(self) -> list[str]:
        return [*(["L"] if self.makes_P else []), *(["D"] if self.makes_dS else [])]

    def _is_outer(self, name: str) -> bool:
        return (name in QUERIES) == (self.outer == "rows")
