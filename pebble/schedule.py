"""Schedule: a list of moves for an instance. It is a claim until the referee has replayed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.aggregates import computed_vertices
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.moves import Move, Op, pack, unpack_arrays

__all__ = ["Schedule"]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Moves that a player claims to pebble an instance.

    Attributes
    ----------
    instance : Instance
    moves : ndarray of uint32 or uint64
        Packed moves, ``vertex << 2 | op``.
    producer : str
        Who made it, a strategy spec or a solver's name.
    claim : int or None
        The I/O cost that the producer claims, in words; only `pebble.verify` says what it is.
    seed : int
    info : mapping
        The producer's own notes (chosen block sizes, …).

    Examples
    --------
    >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    >>> s = Schedule.from_moves(inst, ["L0", "L1", "C2", "S2"])
    >>> len(s), str(s[2]), s.order().tolist()
    (4, 'C2', [2])
    """

    instance: Instance
    moves: NDArray[Any]
    producer: str = ""
    claim: int | None = None
    seed: int = 0
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.moves.setflags(write=False)

    @classmethod
    def from_moves(cls, instance: Instance, moves: Iterable[Move | str], **fields: Any) -> Schedule:
        """Pack moves, or texts such as ``"L3"``; ValueError if a text is no move."""
        return cls(instance, pack(moves, instance.cdag.num_vertices), **fields)

    def order(self) -> NDArray[np.int64]:
        """The computed vertices in order; a vertex stands there once per computation.

        Under partial rules a vertex stands where it is completed.
        """
        ops, vertices = unpack_arrays(self.moves)
        computed: NDArray[np.int64] = vertices[ops == Op.COMPUTE]
        if self.instance.rules.partial:
            heads = computed_vertices(self.instance.cdag, computed)
            last = len(heads) - 1 - np.unique(heads[::-1], return_index=True)[1]
            return heads[np.sort(last)]
        return computed

    def text(self) -> str:
        """The moves as text, ``L0 L1 C2 S2``."""
        return " ".join(map(str, self))

    def save(self, path: str | PathLike[str], *, embed: bool = False) -> None:
        """Write the documented schedule file (docs/schedule-file.md), gzipped if `path` ends in ``.gz``.

        Parameters
        ----------
        path : path-like
        embed : bool
            Also write the edges, so that the file can be read without the graph.
        """
        from pebble.formats.schedule_file import save

        save(self, path, embed=embed)

    @classmethod
    def load(cls, path: str | PathLike[str], cdag: CDAG | None = None) -> Schedule:
        """Read a schedule file.

        Parameters
        ----------
        path : path-like
        cdag : CDAG, optional
            The graph it belongs to; not needed if the file embeds the edges.

        Raises
        ------
        FormatError
            The file is damaged (file and line are named), needs `cdag`, or belongs to another graph.
        """
        from pebble.formats.schedule_file import load

        return load(path, cdag)

    def __len__(self) -> int:
        return len(self.moves)

    def __iter__(self) -> Iterator[Move]:
        return map(Move.unpack, self.moves.tolist())

    def __getitem__(self, index: int) -> Move:
        return Move.unpack(int(self.moves[index]))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Schedule)
            and self.instance == other.instance
            and np.array_equal(self.moves, other.moves)
        )

    def __hash__(self) -> int:
        return hash((self.instance, self.moves.tobytes()))

    def __repr__(self) -> str:
        by = f" by {self.producer}" if self.producer else ""
        claim = "" if self.claim is None else f", claims I/O {self.claim}"
        return f"<Schedule{by} for {self.instance!r}: {len(self)} moves{claim}>"

    def _repr_svg_(self) -> str:
        """Vertices over time, as notebooks show a schedule; it is refereed first."""
        from pebble.draw.svg_strip import schedule_svg

        return schedule_svg(self)
