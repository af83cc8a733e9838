"""The referee: replays a schedule move by move and is the only source of a cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.errors import IncompleteScheduleError
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason
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
        Loads and stores in words of I/O, computes and recomputes in moves, the peak of red words.

    Raises
    ------
    IllegalMoveError
        At the first move that breaks a rule, with the reason (docs/game.md lists them in order).
    IncompleteScheduleError
        An output is not blue at the end.

    Notes
    -----
    O(number of moves + |V| + |E|) time, one byte per vertex of memory; the moves are read in place. The
    rules are those of Hong & Kung (1981), section 2, and its one-shot variant.

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
    from pebble import referee_kernels as kernels

    cdag = instance.cdag
    state = kernels.start(cdag.indptr, cdag.indices)
    tally = np.zeros(6, dtype=np.int64)
    # No position holds more than this many red words, and it fits the kernel's integers.
    capacity = min(instance.M, np.iinfo(np.int64).max)
    done = 0
    for codes in _slices(chunks):
        played = kernels.replay(
            codes,
            cdag.indptr,
            cdag.indices,
            cdag.weights,
            not instance.rules.recomputation,
            capacity,
            state,
            tally,
        )
        if played < len(codes):
            move = Move.unpack(int(codes[played]))
            red_words = int(tally[kernels.RED_WORDS])
            reason, vertex = _reason(instance, state, move)
            raise refusal(instance, done + played, move, reason, (vertex,), red_words)
        done += len(codes)
    first, missing = kernels.first_missing_output(state, cdag.further_outputs)
    if missing:
        raise IncompleteScheduleError(first, missing)
    loads, stores, computes, recomputes, _, peak = tally.tolist()
    return Cost(loads, stores, computes, recomputes, peak)


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


def _reason(instance: Instance, state: NDArray[np.uint8], move: Move) -> tuple[Reason, int]:
    """Why `move` is refused, and the vertex to name: the first reason in the order of the rules."""
    from pebble.referee_kernels import BLUE, COMPUTED, RED

    op, v = move
    if v >= instance.cdag.num_vertices:
        return Reason.OUT_OF_RANGE, v
    s = state[v]
    if op is Op.COMPUTE:
        preds = instance.cdag.preds(v)
        if not len(preds):
            return Reason.IS_SOURCE, v
        if s & RED:
            return Reason.ALREADY_RED, v
        if s & COMPUTED and not instance.rules.recomputation:
            return Reason.ALREADY_COMPUTED, v
        missing = preds[(state[preds] & RED) == 0]
        if len(missing):
            return Reason.PREDECESSOR_NOT_RED, int(missing.min())
    elif op is Op.LOAD:
        if s & RED:
            return Reason.ALREADY_RED, v
        if not s & BLUE:
            return Reason.NOT_BLUE, v
    elif not s & RED:
        return Reason.NOT_RED, v
    return Reason.NO_ROOM, v
