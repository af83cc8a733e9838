"""Schedules as OneStopParallel writes them: one processor's moves in supersteps. They are only written.

::

    %% PebblingSchedule for 1 processors and 2 supersteps.
    Send down 0 to proc 0 in superstep 0
    Compute 1 on proc 0 in superstep 1
    Send up 1 from proc 0 in superstep 1

A superstep is, in this order: computes with evictions after them, sends up (stores), evictions, sends down
(loads). A schedule is cut into as few of them as its order allows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pebble.errors import FormatError
from pebble.moves import Op, unpack_arrays
from pebble.schedule import Schedule

__all__ = ["superstep_lines", "supersteps_of"]

_COMPUTES, _SENDS_UP, _EVICTIONS, _SENDS_DOWN = range(4)
_TEXT = {
    Op.LOAD: "Send down {} to proc 0 in superstep {}\n",
    Op.STORE: "Send up {} from proc 0 in superstep {}\n",
    Op.COMPUTE: "Compute {} on proc 0 in superstep {}\n",
    Op.DELETE: "Evict {} from proc 0 in superstep {}\n",
}


def supersteps_of(ops: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The superstep of every move; O(number of moves).

    Examples
    --------
    >>> supersteps_of(np.array([0, 0, 2, 1, 3, 0, 2], dtype=np.uint8)).tolist()  # L L C S D L C
    [0, 0, 1, 1, 1, 1, 2]
    """
    steps = np.empty(len(ops), dtype=np.int64)
    step, phase = 0, _COMPUTES
    computed = False  # in this superstep: an eviction may follow a compute at once
    for i, op in enumerate(ops.tolist()):
        if op == Op.DELETE:
            wanted = _COMPUTES if phase == _COMPUTES and computed else _EVICTIONS
        else:
            wanted = (_SENDS_DOWN, _SENDS_UP, _COMPUTES)[op]
        if wanted < phase:
            step, computed = step + 1, False
        phase = wanted
        computed |= op == Op.COMPUTE
        steps[i] = step
    return steps


def superstep_lines(schedule: Schedule, file: str) -> Iterator[str]:
    """The lines of a schedule in supersteps.

    Raises
    ------
    FormatError
        The rule set has moves that the format lacks: sliding, partial computation, stores that remove the red
        pebble.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from pebble.instance import Instance
    >>> s = Schedule.from_moves(Instance(CDAG.from_edges(2, [(0, 1)]), 2), ["L0", "C1", "S1"])
    >>> print(*superstep_lines(s, "example"), sep="", end="")
    %% PebblingSchedule for 1 processors and 2 supersteps.
    Send down 0 to proc 0 in superstep 0
    Compute 1 on proc 0 in superstep 1
    Send up 1 from proc 0 in superstep 1
    """
    rules = schedule.instance.rules
    if rules.sliding or rules.partial or not rules.deletion:
        raise FormatError(file, f"supersteps have no form for the rule set {rules.name}")
    ops, vertices = unpack_arrays(schedule.moves)
    steps = supersteps_of(ops)
    count = int(steps[-1]) + 1 if len(steps) else 0
    yield f"%% PebblingSchedule for 1 processors and {count} supersteps.\n"
    block = 1 << 16
    for lo in range(0, len(ops), block):
        part = slice(lo, lo + block)
        for op, v, step in zip(
            ops[part].tolist(), vertices[part].tolist(), steps[part].tolist(), strict=True
        ):
            yield _TEXT[op].format(v, step)
