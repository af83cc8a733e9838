"""Orders for the FFT's butterfly: blocks of 2^b points taken through b ranks at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG

__all__ = ["fft_order", "fft_orders"]


def fft_order(ranks: int, passes: Sequence[int]) -> NDArray[np.int64]:
    """The computes of an FFT on ``2**ranks`` points, `passes` ranks at a time.

    Within a pass of b ranks a point meets only those that differ from it in b bits: blocks of ``2**b`` points
    go through the b ranks one after the other, and every second pass takes the blocks backwards, so that what
    is still in fast memory is used first.

    Parameters
    ----------
    ranks : int
        Binary logarithm of the number of points.
    passes : sequence of int
        Ranks per pass; they add up to `ranks`.

    Returns
    -------
    ndarray of int64, shape (ranks * 2**ranks,)

    Notes
    -----
    With ``M >= 2**b + 2`` a pass costs two words of I/O per point (Hong & Kung 1981, section 4).

    Examples
    --------
    >>> fft_order(2, [1, 1]).tolist()
    [4, 5, 6, 7, 9, 11, 8, 10]
    """
    n = 1 << ranks
    points = np.arange(n)
    parts = []
    low = 0
    for number, height in enumerate(passes):
        inside = np.arange(1 << height)
        firsts = points[(points >> low) & (len(inside) - 1) == 0]
        rows = []
        for rank in range(height):
            # The two results of a butterfly one after the other: its operands are dead then.
            bit = 1 << rank
            block = np.lexsort((inside, inside & ~bit))
            rows.append((low + rank + 1) * n + (block << low))
        pattern = np.concatenate(rows) if rows else inside[:0]
        if number % 2:
            firsts = firsts[::-1]
        parts.append((firsts[:, None] + pattern).ravel())
        low += height
    return np.concatenate(parts) if parts else points[:0]


def fft_orders(cdag: CDAG, M: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Orders worth trying within M words, by the ranks of their passes; the likeliest first."""
    ranks = int(cdag.params["n"]).bit_length() - 1
    fits = max(1, (max(M, 4) - 2).bit_length() - 1)
    heights = [h for h in (fits, fits + 1, fits - 1, fits + 2) if 1 <= h <= ranks] or [ranks]
    chosen = []
    for height in heights:
        count = -(-ranks // height)
        chosen.append([ranks // count + (i < ranks % count) for i in range(count)])
    for height in heights:
        full = [height] * (ranks // height) + [ranks % height] * (ranks % height > 0)
        chosen += [full, full[::-1]]
    for passes in dict.fromkeys(map(tuple, chosen)):
        yield "+".join(map(str, passes)), fft_order(ranks, passes)
