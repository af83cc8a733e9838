"""Several levels of memory: the memory-hierarchy game, its schedules, and their referee.

The game is that of Savage (1995), "Extending the Hong-Kung model to memory hierarchies": level 1 is the
fastest memory, where values are computed; every further level is larger and slower; the slowest is unbounded
and holds the inputs at the start and the outputs at the end. Words move between neighbouring levels only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import (
    IllegalMoveError,
    IncompleteScheduleError,
    InvalidMemoryError,
    UnsupportedInstanceError,
)
from pebble.instance import Instance, check_memory
from pebble.moves import Op, Reason
from pebble.rules import Rules

__all__ = ["Hierarchy", "HierarchyCost", "HierarchyMove", "HierarchySchedule", "verify_hierarchy"]

_MOST_LEVELS = 30


@dataclass(frozen=True, init=False)
class Hierarchy:
    """The bounded levels of a memory, fastest first; slow memory without bound comes after them.

    Parameters
    ----------
    sizes : sequence of int
        Words of each level, each more than the one before.
    costs : sequence of int, optional
        Cost of moving one word between each level and the next slower one; 1 each by default.

    Raises
    ------
    InvalidMemoryError
        No levels or more than 30, sizes that are no whole numbers or do not grow, costs that are negative or
        not one per level.

    Examples
    --------
    >>> h = Hierarchy((8, 64), costs=(1, 10))
    >>> h.num_levels, h.capacity(1), h.capacity(2)
    (2, 8, 72)
    """

    sizes: tuple[int, ...]
    costs: tuple[int, ...]

    def __init__(self, sizes: Sequence[int], costs: Sequence[int] | None = None) -> None:
        words = tuple(check_memory(M) for M in sizes)
        if not 1 <= len(words) <= _MOST_LEVELS:
            raise InvalidMemoryError(
                f"{len(words)} levels of memory: give 1 to {_MOST_LEVELS}, fastest first"
            )
        for i, (one, other) in enumerate(pairwise(words), 1):
            if other <= one:
                raise InvalidMemoryError(
                    f"level {i + 1} has {other} words, level {i} has {one}: levels must grow"
                )
        each = (1,) * len(words) if costs is None else tuple(costs)
        if len(each) != len(words) or any(
            isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in each
        ):
            raise InvalidMemoryError(
                f"costs {each}: give {len(words)} whole numbers of at least 0, one per level"
            )
        object.__setattr__(self, "sizes", words)
        object.__setattr__(self, "costs", each)

    @property
    def num_levels(self) -> int:
        """Bounded levels."""
        return len(self.sizes)

    def capacity(self, level: int) -> int:
        """Words of `level` and of all faster levels together: the M that bounds its traffic from below."""
        return sum(self.sizes[:level])

    def __str__(self) -> str:
        return ",".join(map(str, self.sizes))


class HierarchyMove(NamedTuple):
    """A move: LOAD copies from the next slower level into `level`, STORE from `level` into that one.

    COMPUTE is at level 1; DELETE removes the word from `level` alone.

    Examples
    --------
    >>> str(HierarchyMove(Op.LOAD, 2, 7)), HierarchyMove(Op.LOAD, 2, 7).packed
    ('L2:7', 1800)
    """

    op: Op
    level: int
    vertex: int

    @property
    def packed(self) -> int:
        """``vertex << 8 | level << 2 | op``."""
        return self.vertex << 8 | self.level << 2 | int(self.op)

    @classmethod
    def unpack(cls, code: int) -> HierarchyMove:
        """The move behind a packed code."""
        return cls(Op(code & 3), code >> 2 & 63, code >> 8)

    def __str__(self) -> str:
        return f"{'LSCD'[self.op]}{self.level}:{self.vertex}"


@dataclass(frozen=True, eq=False)
class HierarchySchedule:
    """Moves that a player claims to pebble a graph on several levels.

    Attributes
    ----------
    cdag : CDAG
    hierarchy : Hierarchy
    moves : ndarray of uint64
        Packed moves, as `HierarchyMove.packed`.
    producer : str
    info : mapping
        The producer's own notes.
    rules : Rules
        ``hong-kung``, or ``one-shot``: no vertex is computed twice.
    claim : int or None
        The total cost claimed.
    seed : int

    Raises
    ------
    UnsupportedInstanceError
        Other rules: several levels of memory have no variants.
    """

    cdag: CDAG
    hierarchy: Hierarchy
    moves: NDArray[np.uint64]
    producer: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    claim: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", plain_rules(self.rules))

    @classmethod
    def from_moves(
        cls, cdag: CDAG, hierarchy: Hierarchy, moves: Iterable[HierarchyMove], **fields: Any
    ) -> HierarchySchedule:
        """Pack moves."""
        return cls(cdag, hierarchy, np.array([m.packed for m in moves], dtype=np.uint64), **fields)

    def save(self, path: str | PathLike[str], *, embed: bool = False) -> None:
        """Write a schedule file of several levels (docs/formats.md), gzipped if `path` ends in ``.gz``.

        Parameters
        ----------
        path : path-like
        embed : bool
            Also write the edges, so that the file can be read without the graph.

        Raises
        ------
        FormatError
            It cannot be written, or `embed` meets labels that are neither strings nor integers.
        """
        from pebble.formats.hierarchy_file import save

        save(self, path, embed=embed)

    @classmethod
    def load(cls, path: str | PathLike[str], cdag: CDAG | None = None) -> HierarchySchedule:
        """Read a schedule file of several levels.

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
        from pebble.formats.hierarchy_file import load

        return load(path, cdag)

    def __len__(self) -> int:
        return len(self.moves)

    def __iter__(self) -> Iterator[HierarchyMove]:
        return map(HierarchyMove.unpack, self.moves.tolist())


def plain_rules(rules: Rules | str) -> Rules:
    """The rules that several levels are played under, ``hong-kung`` or ``one-shot``.

    Raises
    ------
    UnknownNameError, UnsupportedInstanceError
        There are no such rules, or others than these two.
    """
    chosen = Rules.of(rules)
    if not chosen.is_plain:
        raise UnsupportedInstanceError(
            f"several levels of memory are played under hong-kung or one-shot rules, not {chosen}"
        )
    return chosen


class HierarchyCost(NamedTuple):
    """What a schedule costs, level by level.

    Attributes
    ----------
    loads, stores : tuple of int
        Words moved into each level from the next slower one, and out of it.
    computes, recomputes : int
    peak : tuple of int
        Most words in each level at once.
    costs : tuple of int
        Cost per word, from the hierarchy.
    """

    loads: tuple[int, ...]
    stores: tuple[int, ...]
    computes: int
    recomputes: int
    peak: tuple[int, ...]
    costs: tuple[int, ...]

    @property
    def io(self) -> tuple[int, ...]:
        """Words moved between each level and the next slower one, both ways."""
        return tuple(a + b for a, b in zip(self.loads, self.stores, strict=True))

    @property
    def total(self) -> int:
        """The words moved at each level, at their costs."""
        return sum(c * q for c, q in zip(self.costs, self.io, strict=True))


def verify_hierarchy(schedule: HierarchySchedule) -> HierarchyCost:
    """Replay a schedule of several levels and count what it costs.

    Parameters
    ----------
    schedule : HierarchySchedule

    Returns
    -------
    HierarchyCost

    Raises
    ------
    InfeasibleInstanceError
        Level 1 is too small to compute some vertex.
    IllegalMoveError
        At the first move that breaks a rule; under one-shot rules, that computes a vertex again.
    IncompleteScheduleError
        An output is not in slow memory at the end.

    Notes
    -----
    O(number of moves + |V| + |E|) time, 9 bytes per vertex of memory.

    Examples
    --------
    >>> g = CDAG.from_edges(2, [(0, 1)])
    >>> moves = [(Op.LOAD, 2, 0), (Op.LOAD, 1, 0), (Op.COMPUTE, 1, 1), (Op.STORE, 1, 1), (Op.STORE, 2, 1)]
    >>> s = HierarchySchedule.from_moves(g, Hierarchy((2, 3), (1, 10)), [HierarchyMove(*m) for m in moves])
    >>> verify_hierarchy(s).io, verify_hierarchy(s).total
    ((2, 2), 22)
    """
    from pebble.hierarchy_kernels import replay

    g, hierarchy = schedule.cdag, schedule.hierarchy
    Instance(g, hierarchy.sizes[0]).require_feasible()
    k = hierarchy.num_levels
    slow = np.uint64(1 << k)
    state = np.where(g.is_source, slow, np.uint64(0)).astype(np.uint64)
    computed = np.zeros(g.num_vertices, dtype=np.bool_)
    counts = np.zeros((4, k), dtype=np.int64)  # loads, stores, words in use, peak
    tally = np.zeros(2, dtype=np.int64)
    sizes = np.array(hierarchy.sizes, dtype=np.int64)
    moves = np.ascontiguousarray(schedule.moves, dtype=np.uint64)
    once = not schedule.rules.recomputation
    played = int(replay(moves, g.indptr, g.indices, g.weights, sizes, state, computed, counts, tally, once))
    if played < len(moves):
        move = HierarchyMove.unpack(int(moves[played]))
        again = once and move.op is Op.COMPUTE and move.vertex < g.num_vertices and computed[move.vertex]
        raise _refusal(g, hierarchy, move, played, state, counts[2], bool(again))
    missing = np.flatnonzero(g.is_output & (state & slow == 0))
    if len(missing):
        raise IncompleteScheduleError(int(missing[0]), len(missing))
    loads, stores, _, peak = (tuple(row) for row in counts.tolist())
    return HierarchyCost(loads, stores, int(tally[0]), int(tally[1]), peak, hierarchy.costs)


def _refusal(
    g: CDAG,
    hierarchy: Hierarchy,
    move: HierarchyMove,
    index: int,
    state: NDArray[np.uint64],
    used: NDArray[np.int64],
    again: bool,
) -> IllegalMoveError:
    """Why the kernel stopped at a move, read off the state that it left."""
    op, level, v = move
    k = hierarchy.num_levels

    def error(reason: str, message: str, *vertices: int) -> IllegalMoveError:
        return IllegalMoveError(index, move, reason, message, vertices)

    if not 0 <= v < g.num_vertices:
        return error(
            Reason.OUT_OF_RANGE, f"vertex {v} is out of range, ids go from 0 to {g.num_vertices - 1}", v
        )
    if not 1 <= level <= (1 if op is Op.COMPUTE else k):
        return error(
            "no such level",
            f"level {level} is out of range: {op.name} takes 1 to {1 if op is Op.COMPUTE else k}",
        )
    here = bool(int(state[v]) >> (level - 1) & 1)
    below = bool(int(state[v]) >> level & 1)
    if op is Op.COMPUTE and g.is_source[v]:
        return error(Reason.IS_SOURCE, f"{v} is a source: it cannot be computed", v)
    if op in (Op.COMPUTE, Op.LOAD) and here:
        return error(Reason.ALREADY_RED, f"{v} is in level {level} already", v)
    if again:
        return error(Reason.ALREADY_COMPUTED, f"{v} has been computed before, which one-shot rules forbid", v)
    if op is Op.COMPUTE:
        absent = [u for u in sorted(g.preds(v).tolist()) if not int(state[u]) & 1]
        if absent:
            return error(
                Reason.PREDECESSOR_NOT_RED,
                f"computing {v} needs predecessor {absent[0]} in level 1",
                absent[0],
            )
    elif op is Op.LOAD and not below:
        return error(Reason.NOT_BLUE, f"{v} is not in level {level + 1}", v)
    elif op in (Op.STORE, Op.DELETE) and not here:
        return error(Reason.NOT_RED, f"{v} is not in level {level}", v)
    into = level + 1 if op is Op.STORE else level
    room = hierarchy.sizes[into - 1] - int(used[into - 1])
    return error(Reason.NO_ROOM, f"level {into} has room for {room} words, {v} takes {g.weight(v)}", v)
