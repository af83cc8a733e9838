"""What each legal move does, compiled. Importing this module imports numba, so only functions import it."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from pebble.referee_kernels import BLUE, COMPUTED, RED

__all__ = ["effects"]


@numba.njit(cache=True, nogil=True)
def effects(
    ops: NDArray[np.uint8],
    vertices: NDArray[np.int64],
    degree: NDArray[np.int64],
    partial: bool,
    deletion: bool,
    state: NDArray[np.uint8],
    aggregated: NDArray[np.int64],
    turns: NDArray[np.int8],
) -> None:
    """Fill `turns`, three rows: red pebbles gained, blue ones, and 1 per value completed, 2 if it was before.

    `state` and `aggregated`, the in-edges that each vertex has aggregated, are brought up to date.
    """
    for i in range(len(ops)):
        op, v = ops[i], vertices[i]
        old = new = state[v]
        completed = 0
        if op == 0:
            new |= RED
        elif op == 1:
            new |= BLUE
            if not deletion:
                new &= ~RED
        elif op == 3:
            new &= ~RED
        elif partial and degree[v] > 0:
            aggregated[v] += 1
            new = (new | RED) & ~BLUE
            if aggregated[v] == degree[v]:
                new |= COMPUTED
                completed = 1
        else:
            completed = 2 if old & COMPUTED else 1
            new |= RED | COMPUTED
        state[v] = new
        turns[0, i] = np.int8(new & RED) - np.int8(old & RED)
        turns[1, i] = (np.int8(new & BLUE) - np.int8(old & BLUE)) // 2
        turns[2, i] = completed
