"""The referee: replays a schedule move by move and is the only source of a cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.instance import Instance
from pebble.moves import Move
from pebble.refusals import refusal
from pebble.result import Cost
from pebble.schedule import Schedule

__all__ = ["verify", "verify_stream"]

# Moves per call of the kernel: between calls an interrupt (Ctrl-C) gets through.
_SLICE = 1 << 24


def verify(schedule: Schedule) -> Cost:
    """Replay a schedule under its instance's rules and count what it costs.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    Cost
        Loads and stores in words of I/O and what they cost, computes and recomputes in moves, the peak of
        red words.

    Raises
    ------
    IllegalMoveError
        At the first move that breaks a rule, with the reason (docs/game.md lists them in order).
    IncompleteScheduleError
        An output lacks its pebble at the end.

    Notes
    -----
    O(number of moves + |V| + |E|) time, one byte per vertex of memory; the moves are read in place. The
    rules are those of Hong & Kung (1981), section 2, and the variants of docs/rules.md; rules that change the
    moves have kernels of their own.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    >>> verify(Schedule.from_moves(inst, ["L0", "L1", "C2", "S2"]))
    Cost(loads=2, stores=1, computes=1, recomputes=0, peak_red=3)
    >>> verify(Schedule.from_moves(inst, ["L0", "C2"]))
    Traceback (most recent call last):
    ...
    pebble.errors.IllegalMoveError: move 1 (C2): computing 2 needs predecessor 1 red
    """
    return verify_stream(schedule.instance, [schedule.moves])


def verify_stream(instance: Instance, chunks: Iterable[NDArray[Any]]) -> Cost:
    """Referee moves that arrive in chunks, so that a schedule need never be in memory whole.

    Parameters
    ----------
    instance : Instance
    chunks : iterable of ndarray of int
        Packed moves, ``vertex << 2 | op``, in order.

    Returns
    -------
    Cost

    Raises
    ------
    IllegalMoveError, IncompleteScheduleError
        As `verify`; the error's index counts from the first chunk's first move.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> inst = Instance(CDAG.from_edges(2, [(0, 1)]), M=2)
    >>> verify_stream(inst, [np.array([0 << 2, 1 << 2 | 2]), np.array([1 << 2 | 1])]).io
    2
    """
    from pebble.boards import Board

    board = Board.of(instance)
    done = 0
    for codes in _slices(chunks):
        played = board.play(codes)
        if played < len(codes):
            move = Move.unpack(int(codes[played]))
            reason, vertex = board.why_illegal(move)
            raise refusal(instance, done + played, move, reason, (vertex,), board.red_words)
        done += len(codes)
    board.require_over()
    return board.cost


def _slices(chunks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """The chunks as read-only, contiguous uint32 or uint64 slices, the types the kernel is compiled for."""
    for chunk in chunks:
        moves = np.asarray(chunk)
        if moves.ndim != 1 or (moves.size and not np.issubdtype(moves.dtype, np.integer)):
            raise TypeError(f"moves must be a 1-d array of packed integers, got {moves.dtype} {moves.shape}")
        for lo in range(0, len(moves), _SLICE):
            part = moves[lo : lo + _SLICE]
            if part.dtype not in (np.uint32, np.uint64):
                # A negative code wraps to a vertex that no graph has, and is refused as out of range.
                part = part.astype(np.int64, copy=False).view(np.uint64)
            part = np.ascontiguousarray(part).view()
            part.setflags(write=False)
            yield part
