"""Positions: which vertices are red, blue and computed after some moves of a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
        Vertices computed at least once.

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
        if not schedule.instance.rules.free_sources:
            computed &= ~schedule.instance.cdag.is_source
        return cls(red, blue, computed)

    @classmethod
    def of(
        cls, cdag: CDAG, red: Iterable[int], blue: Iterable[int], computed: Iterable[int] = ()
    ) -> Position:
        """The position of which the vertices are known, as those of a game in progress."""
        masks = []
        for vertices in (red, blue, computed):
            mask = np.zeros(cdag.num_vertices, dtype=np.bool_)
            mask[np.fromiter(vertices, dtype=np.int64)] = True
            masks.append(mask)
        return cls(*masks)
