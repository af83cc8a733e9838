"""From the steps of a search back to the moves of the game."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pebble.moves import Op, pack_arrays
from pebble.schedule import Schedule
from solvers.search.problem import Problem, bits

__all__ = ["Outcome", "Step", "schedule_of"]


class Step(NamedTuple):
    """One step of a search, sets as Python ints in the problem's numbers.

    Attributes
    ----------
    spill : int
        Values stored, then deleted, at the step's start.
    evict : int
        Values deleted next.
    compute : int
        The vertex computed once its missing predecessors are loaded, or -1.
    store : bool
        Whether the vertex computed is stored at once.
    keep : int
        The red values at the step's end; the others are deleted.
    """

    spill: int
    evict: int
    compute: int
    store: bool
    keep: int


@dataclass
class Outcome:
    """What one pass of a search found.

    Attributes
    ----------
    cost : int or None
        Least cost of the schedules that the pass kept, in words of I/O.
    steps : list of Step or VariantStep
        Such a schedule.
    complete : bool
        Whether every state up to the pass's highest cost was seen, so that `cost` is the optimum, or None
        proves that no schedule costs so little.
    states : int
        States expanded.
    """

    cost: int | None
    steps: list[Any]
    complete: bool
    states: int


def schedule_of(problem: Problem, steps: Iterable[Step], producer: str, seed: int = 0) -> Schedule:
    """The moves of the steps, in the instance's own vertex numbers; O(moves)."""
    ops: list[int] = []
    vertices: list[int] = []
    red = 0

    def play(op: Op, members: int) -> None:
        for v in bits(members):
            ops.append(int(op))
            vertices.append(int(problem.original[v]))

    for step in steps:
        play(Op.STORE, step.spill)
        play(Op.DELETE, step.spill | step.evict)
        red &= ~(step.spill | step.evict)
        if step.compute >= 0:
            missing = problem.preds[step.compute] & ~red
            play(Op.LOAD, missing)
            play(Op.COMPUTE, 1 << step.compute)
            red |= missing | 1 << step.compute
            if step.store:
                play(Op.STORE, 1 << step.compute)
        play(Op.DELETE, red & ~step.keep)
        red &= step.keep
    moves = pack_arrays(
        np.array(ops, dtype=np.int64),
        np.array(vertices, dtype=np.int64),
        problem.instance.cdag.num_vertices,
    )
    return Schedule(problem.instance, moves, producer=producer, seed=seed)
