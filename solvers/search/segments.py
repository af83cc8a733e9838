"""A lower bound on loads that sees how small the memory is: what can be computed between two loads."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.search.problem import Problem, bits, table_size

__all__ = ["Segments", "segments_of"]

# Sets of kept vertices to go through, and those few enough to follow each in limited memory.
_MOST_SETS = 3_000_000
_EXACT_SETS = 60_000
_MOST_ROWS = 300_000
_LONGEST_WALK = 4_000
_SCALE = 10_000


@dataclass(frozen=True, eq=False)
class Segments:
    """Values of vertices, and the most that a stretch of moves without a load can compute.

    Attributes
    ----------
    values : ndarray of int64, shape (n,)
    most : int
        0, with all values 0, where there is no bound.
    """

    values: NDArray[np.int64]
    most: int

    @classmethod
    def none(cls, problem: Problem) -> Segments:
        """No bound."""
        return cls(np.zeros(problem.n, np.int64), 0)


def segments_of(problem: Problem, *, seconds: float = 3.0, most_sets: int = _MOST_SETS) -> Segments:
    """The values that give the start the best bound; see docs/exact.md, section on segments.

    A linear program over the vertices' values, its rows found as they are violated: no stretch may be worth
    more than 1. In the end the values are rounded to whole numbers, and the richest stretch is found by going
    through all of them, so that rounding costs strength, never truth.
    """
    n = problem.n
    nothing = Segments.none(problem)
    keepers = np.array([v for v in range(n) if problem.succs[v]], np.int64)
    size = problem.M - 1
    if not problem.unit or size < 1 or size >= len(keepers):
        return nothing
    sets = sum(math.comb(len(keepers), k) for k in range(1, size + 1))
    if sets > most_sets:
        return nothing
    if any(not (problem.preds[v] or problem.is_source[v]) for v in range(n)) and not problem.sources:
        # What needs no set at all must be found in the row of a set that does not hold it.
        return nothing
    exact = sets <= _EXACT_SETS
    try:
        return _from_rows(problem, keepers, sets, exact, seconds)
    except MemoryError:
        # The searches go without this bound where there is no room for it.
        return nothing


def _from_rows(
    problem: Problem, keepers: NDArray[np.int64], sets: int, exact: bool, seconds: float
) -> Segments:
    from solvers.search import segment_kernels as kernels

    inner = ((1 << problem.n) - 1) & ~problem.sources
    slots = 4 * _LONGEST_WALK if exact else 1
    rows = np.empty((min(sets, _MOST_ROWS), problem.words), np.uint64)
    count = kernels.segments(
        problem.M,
        problem.packed(problem.preds),
        problem.packed(problem.succs),
        keepers,
        problem.as_set(inner),
        exact,
        np.empty((table_size(slots), problem.words), np.uint64),
        np.zeros(table_size(slots), np.int32),
        np.empty((slots, problem.words), np.uint64),
        rows,
    )
    if count <= 0:
        return Segments.none(problem)
    return _best_values(problem, rows[:count], bits(inner), time.perf_counter() + seconds)


def _best_values(problem: Problem, rows: NDArray[np.uint64], members: list[int], deadline: float) -> Segments:
    """Values of `members` with the greatest sum over the richest row, found row by row."""
    from scipy.optimize import linprog

    from solvers.search import segment_kernels as kernels

    column = {v: i for i, v in enumerate(members)}
    table: list[NDArray[np.float64]] = []
    seen: set[int] = set()
    values = np.zeros(problem.n, np.int64)
    values[members] = _SCALE
    worths = np.empty(len(rows), np.int64)
    best = Segments(values, 1)
    best_bound = 0.0
    while True:
        kernels.worths(rows, len(rows), values, worths, problem.zero)
        most = int(worths.max())
        if most > 0 and values.sum() / most > best_bound + 1e-9:
            best, best_bound = Segments(values.copy(), most), float(values.sum()) / most
        fresh = 0
        for i in np.argsort(-worths, kind="stable")[: 4 * len(members)].tolist():
            if i in seen or (table and worths[i] <= _SCALE * 1.0005):
                continue
            seen.add(i)
            row = np.zeros(len(members))
            row[[column[v] for v in bits(problem.unpacked(rows[i]))]] = 1.0
            table.append(row)
            fresh += 1
        if not fresh or time.perf_counter() > deadline:
            return best
        solved = linprog(
            -np.ones(len(members)), A_ub=np.array(table), b_ub=np.ones(len(table)), bounds=(0, 1)
        )
        if solved.x is None:
            return best
        values = np.zeros(problem.n, np.int64)
        values[members] = np.floor(np.maximum(solved.x, 0) * _SCALE).astype(np.int64)
