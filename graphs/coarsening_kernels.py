"""Compiled loops over the vertices of a graph to be grouped. Importing this module imports numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["adopt"]


@numba.njit(cache=True, nogil=True)
def adopt(
    order: NDArray[Any],
    pred_ptr: NDArray[Any],
    succ_ptr: NDArray[Any],
    succ: NDArray[Any],
    group: NDArray[np.int64],
    position: NDArray[np.int64],
    fresh: int,
) -> int:
    """Give every vertex without a group that of its first successor in `order`; returns the groups in all.

    Sources and sinks without a group get one each, from `fresh` on.
    """
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        if group[v] >= 0:
            continue
        if pred_ptr[v] == pred_ptr[v + 1] or succ_ptr[v] == succ_ptr[v + 1]:
            group[v] = fresh
            fresh += 1
            continue
        first = succ[succ_ptr[v]]
        for e in range(succ_ptr[v] + 1, succ_ptr[v + 1]):
            if position[succ[e]] < position[first]:
                first = succ[e]
        group[v] = group[first]
    return fresh
