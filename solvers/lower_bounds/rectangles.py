"""Attention's backward pass where memory holds many rows: pairs made from scratch form a rectangle, LB-R.

Loomis & Whitney's inequality loses where whole rows and columns are in memory: there the products in a
segment are counted directly, I rows times J columns times what sums are at hand. Statement and proof are in
docs/bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from solvers.lower_bounds.sum_lengths import SumLengths

__all__ = ["LEAST_SHARE", "least_skip", "rectangle_progress", "rectangles_bound"]

# (9 − 5√3)/2: of w words for rows, columns and sums, a sum begun anew must come to this share, in rows of d
# words, before it counts; then it pays to keep sums rather than to begin them anew.
LEAST_SHARE = 4.5 - 2.5 * math.sqrt(3)
# How the uncounted terms of a sum are divided between its terms inside the rectangle and its others.
_SPLITS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_CELLS = np.concatenate(([0.0], np.geomspace(1e-4, 1.0, 200)))
_GUARD = 1 + 1e-11


def least_skip(T: int, d: int, split: float) -> int:
    """Uncounted terms that the lemma needs: the least c with split·c·d at least `LEAST_SHARE`·T."""
    return math.ceil(LEAST_SHARE * T * (1 + 1e-9) / (split * d))


def rectangle_progress(
    T: NDArray[np.int64], d: int, skip: NDArray[np.int64] | float, split: float
) -> NDArray[np.float64]:
    """Most partial sums beyond the first `skip` terms that a segment with T tokens adds.

    The maximum over p of (T − p)²/(16d) + min(3dp, √p(T − p)/2 + p(T − p)/(4(1 − split)·skip) + p): p pairs
    or single products are kept, the rest is for a rectangle. From above, on cells of p.

    Parameters
    ----------
    T : ndarray of int64
        Words that are red at the start or loaded.
    d : int
    skip : ndarray or float
        At least `least_skip`, for each T or all; infinite if no sum is begun anew.
    split : float
    """
    tokens = np.asarray(T, dtype=np.float64)[..., None]
    low, high = tokens * _CELLS[:-1], tokens * _CELLS[1:]
    left = tokens - low
    others = np.asarray(4 * (1 - split) * skip)[..., None]
    kept = np.sqrt(high) * left / 2 + high * left / others + high
    return np.asarray((left**2 / (16 * d) + np.minimum(3 * d * high, kept)).max(axis=-1) * _GUARD)


def rectangles_bound(lengths: Mapping[int, int] | SumLengths, d: int, M: int) -> tuple[int, int, int]:
    """LB-R: loads, in words, of attention-backward by sequential sums.

    Parameters
    ----------
    lengths : SumLengths, or a mapping of int to int
        How many sums there are of each number of terms: dV, dQ and dK, all heads together.
    d, M : int

    Returns
    -------
    loads, Y, c : int
        The bound, the loads per segment and the uncounted first terms that show it; (0, 0, 0) if M is so
        large that a whole sum would not count. Up to 12·n²d²/M, less the first terms.

    Examples
    --------
    >>> n, d = 65536, 128
    >>> loads, _, _ = rectangles_bound({n: 3 * n * d}, d, 16 * d * d)
    >>> 11.8 < (loads + 3 * n * d) * 16 / n**2 < 12
    True
    """
    best = (0, 0, 0)
    lengths = SumLengths.of(lengths)
    for split in _SPLITS:
        grid = np.unique(np.geomspace(1.05 * M + 1, 6 * M + 6, 100).astype(np.int64))
        skips = np.array([least_skip(int(T), d, split) for T in grid.tolist()])
        totals = lengths.beyond(skips)
        grid, skips, totals = (x[totals > 0] for x in (grid, skips, totals))
        if len(grid) == 0:
            continue
        most = np.floor(rectangle_progress(grid, d, skips, split))
        segments = np.ceil(totals / np.maximum(most, 1) * (1 - 1e-12))
        values = np.where(segments >= 2, M + (grid - M) * (segments - 1), 0)
        i = int(values.argmax())
        if values[i] <= 0:
            continue
        T, c = int(grid[i]), int(skips[i])
        rest = int(totals[i]) - (int(segments[i]) - 1) * int(most[i])
        best = max(best, (int(values[i]) + _last_loads(rest, T, M, d, c, split), T - M, c))
    return best


def _last_loads(rest: int, T: int, M: int, d: int, c: int, split: float) -> int:
    """Loads without which a last segment cannot make `rest` units of progress; below T − M."""
    tokens = np.unique(np.linspace(M, T, 60).astype(np.int64))
    short = tokens[np.floor(rectangle_progress(tokens, d, c, split)) < rest]
    return int(short[-1]) - M if len(short) else 0
