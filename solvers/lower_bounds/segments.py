"""From "at most F(Y) progress in Y I/Os" to a bound: the arithmetic that segment arguments share.

A schedule of Q I/Os is cut into segments of exactly Y, the last one shorter. If a segment of Y I/Os makes at
most F(Y) units of progress, and N are needed, then Q >= Y (⌈N/F(Y)⌉ − 1), for every Y. All of it is done in
whole numbers: progress is one, so a floating-point F is raised by a guard against rounding, then cut.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Progress", "best_segment", "whole_progress"]

Progress = Callable[[NDArray[np.int64]], NDArray[np.int64]]

# Far above the rounding errors of the few operations that make up an F.
_GUARD = 1e-11
# Progress is capped here, and so is the total: what is below it fits 64 bits, times a length too.
_HUGE = 1.0e18


def whole_progress(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole-number upper bounds on progress from floating-point ones: raised by a guard, then cut.

    Examples
    --------
    >>> whole_progress(np.array([2.0, 3.7])).tolist()
    [2, 3]
    """
    return np.minimum(values * (1 + _GUARD), _HUGE).astype(np.int64)


def best_segment(total: int, progress: Progress) -> tuple[int, int]:
    """The best bound over all segment lengths.

    Parameters
    ----------
    total : int
        Units of progress that a schedule must make.
    progress : callable
        Most progress in Y I/Os, elementwise, nondecreasing in Y >= 0, and `total` or more from some Y on.

    Returns
    -------
    value, Y : int
        A number of I/Os that no schedule can stay below, and the segment length that shows it.

    Notes
    -----
    The maximum over all whole Y of Y·(⌈total/F(Y)⌉ − 1) is exact: an interval [a, b] of lengths can hold at
    most b·(⌈total/F(a)⌉ − 1), since F is nondecreasing, and intervals that cannot beat the best known are
    dropped until none is left. What the last, shorter segment must still do is added at the end: if k full
    segments leave R units undone, it has at least the least r with F(r) >= R.

    Examples
    --------
    >>> best_segment(100, lambda Y: 4 + Y * Y // 4)
    (48, 3)
    """
    if total <= 0:
        return 0, 0
    # A schedule that makes all progress makes this much; F may be capped at it.
    total = min(total, int(_HUGE))

    def full(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Segments that are full for certain, ⌈total/F⌉ − 1."""
        most = np.maximum(progress(lengths), 0)
        return np.where(most > 0, (total - 1) // np.maximum(most, 1), total)

    top = 1
    while top < 1 << 60 and int(full(np.array([top]))[0]) > 0:
        top *= 2
    edges = np.unique(np.geomspace(1, top, 400).astype(np.int64))
    low, high = edges[:-1], edges[1:]
    best, length = 0, 1
    if len(low) == 0:
        low = high = edges
    while len(low):
        k_low, k_high = full(low), full(high)
        for at, k in ((low, k_low), (high, k_high)):
            values = at * k
            i = int(values.argmax())
            if values[i] > best:
                best, length = int(values[i]), int(at[i])
        keep = (high * k_low > best) & (high - low > 1)
        low, high = low[keep], high[keep]
        middle = (low + high) // 2
        low, high = np.concatenate((low, middle)), np.concatenate((middle, high))
    if best == 0:
        least = _least_length(total, top, progress)
        return least, least
    done = int(full(np.array([length]))[0])
    rest = total - done * int(progress(np.array([length]))[0])
    return best + _least_length(rest, length, progress), length


def _least_length(rest: int, top: int, progress: Progress) -> int:
    """The least r in 0..top with progress(r) >= rest, by bisection; `top` if there is none below it."""
    low, high = 0, top
    while low < high:
        middle = (low + high) // 2
        if int(progress(np.array([middle]))[0]) >= rest:
            high = middle
        else:
            low = middle + 1
    return low
