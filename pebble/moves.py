"""Moves: the four operations, the packed form, the text form, and the reasons for which a move is refused."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Move", "Op", "Reason", "pack", "pack_arrays", "unpack_arrays"]

_TEXT = re.compile(r"([LSCD])(\d+)\Z")
_UINT32_VERTICES = 1 << 30


class Op(enum.IntEnum):
    """The four moves. LOAD and STORE cost the vertex's words in I/O, COMPUTE and DELETE are free.

    Under partial rules a COMPUTE names an edge (`pebble.aggregates`), everywhere else moves name vertices.
    """

    LOAD = 0
    STORE = 1
    COMPUTE = 2
    DELETE = 3


_LETTERS = "LSCD"


class Reason(enum.StrEnum):
    """Why a move is refused; of several, the first in this order is given."""

    OUT_OF_RANGE = "vertex out of range"
    SLIDE_OPEN = "a slide is open"
    NO_DELETION = "deletion is not allowed"
    IS_SOURCE = "is a source"
    ALREADY_RED = "already red"
    ALREADY_COMPUTED = "already computed"
    PREDECESSOR_INCOMPLETE = "a predecessor is not complete"
    PREDECESSOR_NOT_RED = "a predecessor is not red"
    PARTIAL_NOT_RED = "its partial value is not red"
    NOT_BLUE = "not blue"
    NOT_RED = "not red"
    NO_ROOM = "no room"


class Move(NamedTuple):
    """One move of the game.

    Examples
    --------
    >>> Move.parse("C7")
    Move(op=<Op.COMPUTE: 2>, vertex=7)
    >>> str(Move(Op.LOAD, 3)), Move(Op.LOAD, 3).packed
    ('L3', 12)
    """

    op: Op
    vertex: int

    @classmethod
    def parse(cls, text: str) -> Move:
        """The move that a text such as ``L3`` names; ValueError if it names none."""
        match = _TEXT.match(text)
        if match is None:
            raise ValueError(f"'{text}' is no move: write L, S, C or D and a vertex id, as in L3")
        return cls(Op(_LETTERS.index(match[1])), int(match[2]))

    @property
    def packed(self) -> int:
        """``vertex << 2 | op``, the form in which schedules hold their moves."""
        return self.vertex << 2 | int(self.op)

    @classmethod
    def unpack(cls, code: int) -> Move:
        """The move behind a packed code."""
        return cls(Op(int(code) & 3), int(code) >> 2)

    def __str__(self) -> str:
        return f"{_LETTERS[self.op]}{self.vertex}"


def move_dtype(num_vertices: int) -> type[np.uint32] | type[np.uint64]:
    """uint32 while ``vertex << 2 | op`` fits, else uint64."""
    return np.uint32 if num_vertices <= _UINT32_VERTICES else np.uint64


def pack(moves: Iterable[Move | str], num_vertices: int) -> NDArray[Any]:
    """Pack moves, or their texts, into one array of ``vertex << 2 | op``; O(number of moves)."""
    codes = [(Move.parse(m) if isinstance(m, str) else m).packed for m in moves]
    return _checked(np.array(codes, dtype=np.uint64), num_vertices)


def pack_arrays(
    ops: Sequence[int] | NDArray[Any], vertices: Sequence[int] | NDArray[Any], num_vertices: int
) -> NDArray[Any]:
    """Pack parallel arrays of op codes and vertex ids; O(number of moves)."""
    codes = np.asarray(vertices, dtype=np.uint64) << np.uint64(2) | np.asarray(ops, dtype=np.uint64)
    return _checked(codes, num_vertices)


def unpack_arrays(codes: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Split packed moves into op codes and vertex ids."""
    return (codes & codes.dtype.type(3)).astype(np.uint8), (codes >> codes.dtype.type(2)).astype(np.int64)


def _checked(codes: NDArray[np.uint64], num_vertices: int) -> NDArray[Any]:
    # A hand-made move may name a vertex beyond the graph: keep it whole for the referee to refuse.
    if len(codes) and int(codes.max()) >= 1 << 32:
        return codes
    return codes.astype(move_dtype(num_vertices))
