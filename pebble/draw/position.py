"""Positions: which vertices are red, blue and computed after some moves of a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pebble.aggregates import computed_vertices
from pebble.moves import Op, unpack_arrays

if TYPE_CHECKING:
    from pebble.cdag import CDAG
    from pebble.schedule import Schedule

__all__ = ["Position"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Position:
    """Who has which pebbles.

    Attributes
    ----------
    red, blue : ndarray of bool, shape (num_vertices,)
    computed : ndarray of bool, shape (num_vertices,)
        Vertices computed at least once; under partial rules, the complete ones.
    begun : ndarray of float64, shape (num_vertices,), or None
        Under partial rules, of vertices that are not complete the share of their in-edges that is aggregated.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from pebble.instance import Instance
    >>> from pebble.schedule import Schedule
    >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    >>> s = Schedule.from_moves(inst, ["L0", "L1", "C2", "D0"])
    >>> Position.after(s, 4).red.tolist(), Position.after(s, 0).blue.tolist()
    ([False, True, True], [True, True, False])
    """

    red: Mask
    blue: Mask
    computed: Mask
    begun: NDArray[np.float64] | None = None

    @classmethod
    def start(cls, cdag: CDAG) -> Position:
        """The sources are blue, nothing is red."""
        nothing = np.zeros(cdag.num_vertices, dtype=np.bool_)
        return cls(nothing, cdag.is_source.copy(), nothing)

    @classmethod
    def after(cls, schedule: Schedule, moves: int) -> Position:
        """The position after the first `moves` moves, which are taken to be legal; O(moves + |V|)."""
        instance = schedule.instance
        if not instance.is_plain:
            return cls._played(schedule, moves)
        start = cls.start(instance.cdag)
        red, blue, computed = start.red.copy(), start.blue.copy(), start.computed.copy()
        ops, vertices = unpack_arrays(schedule.moves[:moves])
        blue[vertices[ops == Op.STORE]] = True
        computed[vertices[ops == Op.COMPUTE]] = True
        turns = ops != Op.STORE
        # Assignments with repeated ids keep the last one, which is the one that counts.
        last = np.zeros(len(red), dtype=np.int8)
        last[vertices[turns]] = np.where(ops[turns] == Op.DELETE, -1, 1)
        red[last > 0] = True
        return cls(red, blue, computed)

    @classmethod
    def _played(cls, schedule: Schedule, moves: int) -> Position:
        """Under variants of the rules: as the referee's board stands."""
        from pebble.boards import Board
        from pebble.referee_kernels import BLUE, COMPUTED, RED

        board = Board.of(schedule.instance)
        board.play(schedule.moves[:moves])
        red, blue, computed = (board.state & bit != 0 for bit in (RED, BLUE, COMPUTED))
        cdag, rules = schedule.instance.cdag, schedule.instance.rules
        if not rules.free_sources:
            computed &= ~cdag.is_source
        if not rules.partial:
            return cls(red, blue, computed)
        ops, items = unpack_arrays(schedule.moves[:moves])
        edges = items[(ops == Op.COMPUTE) & (items < cdag.num_edges)]
        return cls(red, blue, computed, _begun(cdag, edges, computed))

    @classmethod
    def of(
        cls,
        cdag: CDAG,
        red: Iterable[int],
        blue: Iterable[int],
        computed: Iterable[int] = (),
        aggregated: Iterable[int] | None = None,
    ) -> Position:
        """The position of which the vertices are known, as those of a game in progress.

        `aggregated` are the edges aggregated under partial rules, None under others.
        """
        reds, blues, done = (_mask(cdag, vertices) for vertices in (red, blue, computed))
        if aggregated is None:
            return cls(reds, blues, done)
        return cls(reds, blues, done, _begun(cdag, np.fromiter(aggregated, dtype=np.int64), done))


def _mask(cdag: CDAG, vertices: Iterable[int]) -> Mask:
    mask = np.zeros(cdag.num_vertices, dtype=np.bool_)
    mask[np.fromiter(vertices, dtype=np.int64)] = True
    return mask


def _begun(cdag: CDAG, edges: NDArray[np.int64], complete: Mask) -> NDArray[np.float64]:
    """Per vertex the share of its in-edges that is among `edges`, 0 once it is complete."""
    done = np.bincount(computed_vertices(cdag, edges), minlength=cdag.num_vertices)
    share: NDArray[np.float64] = np.where(complete, 0.0, done / np.maximum(cdag.in_degree, 1))
    return share
