"""What schedules do in windows of I/Os, counted from their moves, for tests of the lemmas behind bounds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.moves import Op, unpack_arrays
from pebble.schedule import Schedule

__all__ = ["cleaned", "leaf_products", "most_in_windows", "partial_sums", "window_counter"]


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
    """First computations of a schedule, by the I/Os made before them.

    Parameters
    ----------
    schedule : Schedule
    loads_only : bool
        Count loads instead of I/Os.
    clean : bool
        Leave out computations whose results are not used.
    """

    def __init__(self, schedule: Schedule, *, loads_only: bool = False, clean: bool = False) -> None:
        ops, vertices = unpack_arrays(schedule.moves)
        counted = ops == Op.LOAD if loads_only else (ops == Op.LOAD) | (ops == Op.STORE)
        before = np.cumsum(counted)
        computes = np.flatnonzero((ops == Op.COMPUTE) & (cleaned(schedule) if clean else True))
        first, where = np.unique(vertices[computes], return_index=True)
        self.total = int(before[-1])
        self.at = np.full(schedule.instance.cdag.num_vertices, -1, dtype=np.int64)
        self.at[first] = before[computes[where]]

    def most(self, vertices: NDArray[np.int64], length: int) -> int:
        """Most of `vertices` first computed in any window of `length` I/Os."""
        at = self.at[vertices]
        assert (at >= 0).all(), "some vertex is never computed"
        return most_in_windows(at, self.total, length)


def most_in_windows(at: NDArray[np.int64], total: int, length: int) -> int:
    """Most events with `length` consecutive I/Os among them, the I/Os before each event being given."""
    count = np.concatenate(([0], np.cumsum(np.bincount(at, minlength=total + 1))))
    last = np.minimum(np.arange(total + 1) + length + 1, total + 1)
    return int((count[last] - count[: total + 1]).max())
