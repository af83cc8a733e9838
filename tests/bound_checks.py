"""What schedules do in windows of I/Os, counted from their moves, for tests of the lemmas behind bounds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pebble.aggregates import computed_vertices
from pebble.cdag import CDAG
from pebble.moves import Op, unpack_arrays
from pebble.schedule import Schedule
from solvers.lower_bounds.tokens import TokenProgress

__all__ = [
    "allowed",
    "cleaned",
    "first_sums",
    "leaf_products",
    "most_in_windows",
    "partial_sums",
    "window_counter",
]


def allowed(progress: TokenProgress, tokens: int) -> float:
    """Φ at the next point of the grid."""
    grid, most = progress
    at = int(np.searchsorted(grid, tokens))
    return float(most[at]) if at < len(grid) else float("inf")


def leaf_products(cdag: CDAG, names: Iterable[str]) -> NDArray[np.int64]:
    """The products that the sums of these arrays add up; for fused sums every vertex of theirs."""
    found = []
    for name in names:
        base, shape, k, layout = cdag.sums[name]
        entries = int(np.prod(shape))
        if layout.endswith("fma"):
            found.append(base + np.arange(entries * k))
            continue
        per_entry = k + 1 if layout == "flat" and k > 1 else 2 * k - 1
        block = np.arange(base, base + entries * per_entry)
        first = cdag.indices[cdag.indptr[block]]
        found.append(block[first < base] if k > 1 else block)
    return np.concatenate(found)


def partial_sums(cdag: CDAG, names: Iterable[str], skip: int) -> NDArray[np.int64]:
    """The sums after term `skip` and later ones, of arrays added up in sequence."""
    found = []
    for name in names:
        base, shape, k, layout = cdag.sums[name]
        assert layout in ("chain", "chain-fma")
        entries = np.arange(int(np.prod(shape)))[:, None]
        terms = np.arange(skip, k)[None, :]
        if layout == "chain":
            found.append((base + entries * (2 * k - 1) + 2 * terms).ravel())
        else:
            found.append((base + entries * k + terms).ravel())
    return np.concatenate(found)


def first_sums(cdag: CDAG, names: Iterable[str]) -> NDArray[np.int64]:
    """The first partial sum of each entry, which is its first product: where a sum begins."""
    names = list(names)
    return np.setdiff1d(partial_sums(cdag, names, 0), partial_sums(cdag, names, 1))


def cleaned(schedule: Schedule) -> NDArray[np.bool_]:
    """Which moves are left once computations whose result is never used are dropped, those for them too."""
    ops, vertices = unpack_arrays(schedule.moves)
    cdag = schedule.instance.cdag
    starts, operands = cdag.indptr.tolist(), cdag.indices.tolist()
    keep = [True] * len(ops)
    used = bytearray(cdag.num_vertices)
    moves = list(zip(ops.tolist(), vertices.tolist(), strict=True))
    for i in range(len(moves) - 1, -1, -1):
        op, v = moves[i]
        if op == Op.STORE:
            used[v] = 1
        elif op == Op.COMPUTE:
            if used[v]:
                used[v] = 0
                for u in operands[starts[v] : starts[v + 1]]:
                    used[u] = 1
            else:
                keep[i] = False
        elif op == Op.LOAD:
            used[v] = 0
    return np.array(keep)


class window_counter:
    """First computations of a schedule, by the I/Os made before them; completions under partial computation.

    Parameters
    ----------
    schedule : Schedule
    loads_only : bool
        Count loads instead of I/Os.
    clean : bool
        Leave out computations whose results are not used.
    begun : ndarray of int64, optional
        Vertices whose computation counts as an I/O too, as beginnings do without recomputation; under
        partial computation the first aggregation of an operand.
    sources : bool
        Take the first load of a source for its computation.
    """

    def __init__(
        self,
        schedule: Schedule,
        *,
        loads_only: bool = False,
        clean: bool = False,
        begun: NDArray[np.int64] | None = None,
        sources: bool = False,
    ) -> None:
        ops, vertices = unpack_arrays(schedule.moves)
        cdag = schedule.instance.cdag
        self.begins = np.zeros(cdag.num_vertices, dtype=np.bool_)
        if begun is not None:
            self.begins[begun] = True
        made = ops == Op.COMPUTE
        if schedule.instance.rules.partial:
            # Nothing is computed in vain, since nothing is computed twice.
            vertices[made] = computed_vertices(cdag, vertices[made])
            begin, made = _ends(made, vertices, -1), _ends(made, vertices, 1)
        else:
            begin = made = made & (cleaned(schedule) if clean else True)
        counted = (ops == Op.LOAD) | (begin & self.begins[vertices])
        self.begins &= cdag.in_degree <= 1 if schedule.instance.rules.partial else True
        if not loads_only:
            counted |= ops == Op.STORE
        before = np.cumsum(counted)
        if sources:
            # Loading a source is an I/O itself, and what it makes red counts for that I/O.
            self.begins |= cdag.is_source
            made |= (ops == Op.LOAD) & cdag.is_source[vertices]
        first, where = np.unique(vertices[made], return_index=True)
        self.total = int(before[-1])
        self.at = np.full(cdag.num_vertices, -1, dtype=np.int64)
        self.at[first] = before[np.flatnonzero(made)[where]]

    def most(
        self, vertices: NDArray[np.int64], length: int, weights: NDArray[np.float64] | None = None
    ) -> float:
        """Most of `vertices`, or of their weights, first computed in any window of `length` I/Os."""
        at = self.at[vertices]
        assert (at >= 0).all(), "some vertex is never computed"
        weights = np.ones(len(at)) if weights is None else weights
        begins = self.begins[vertices]
        found = _in_windows(at[~begins], weights[~begins], self.total, length, 0)
        # One that is an I/O itself is within a window only if that I/O is.
        return float((found + _in_windows(at[begins], weights[begins], self.total, length, 1)).max())


def _ends(made: NDArray[np.bool_], vertices: NDArray[np.int64], way: int) -> NDArray[np.bool_]:
    """Of several moves that make the same vertex the last, or with `way` −1 the first."""
    at = np.flatnonzero(made)[::-way]
    chosen = np.zeros(len(made), dtype=np.bool_)
    chosen[at[np.unique(vertices[at], return_index=True)[1]]] = True
    return chosen


def most_in_windows(at: NDArray[np.int64], total: int, length: int) -> int:
    """Most events with `length` consecutive I/Os among them, the I/Os before each event being given."""
    return int(_in_windows(at, np.ones(len(at)), total, length, 0).max())


def _in_windows(
    at: NDArray[np.int64], weights: NDArray[np.float64], total: int, length: int, first: int
) -> NDArray[np.float64]:
    """For each s, the weight of the events after s + first to s + length I/Os."""
    count = np.concatenate(([0.0], np.cumsum(np.bincount(at, weights, minlength=total + 1))))
    start = np.arange(total + 1)
    return count[np.minimum(start + length + 1, total + 1)] - count[np.minimum(start + first, total + 1)]
