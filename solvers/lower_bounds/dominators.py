"""Segments of loads, and how many vertices a dominator can dominate: FFT, pyramid, stencils.

What becomes red within a segment is dominated by the vertices that are red at its start or loaded in it,
M + Y of them: every path from a source to it meets one. So if D vertices dominate at most f(D), a schedule
loads at least Y (⌈N/f(M + Y)⌉ − 1) words, N being the number of vertices, and stores its outputs besides.
Recomputation does not matter, since a vertex counts once. Statements and proofs are in docs/bounds.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject, where
from solvers.lower_bounds.segments import best_segment, whole_progress

__all__ = ["DOMINATORS", "family_dominated", "fft_dominated", "layered_dominated", "pyramid_dominated"]

Dominated = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def fft_dominated(D: NDArray[np.int64]) -> NDArray[np.int64]:
    """D·log2(2D): most vertices of a butterfly that D vertices dominate.

    Examples
    --------
    >>> fft_dominated(np.array([1, 2, 4])).tolist()
    [1, 4, 12]
    """
    d = np.maximum(D, 1).astype(np.float64)
    return np.where(D > 0, whole_progress(d * (1 + np.log2(d))), 0)


def pyramid_dominated(D: NDArray[np.int64]) -> NDArray[np.int64]:
    """D(D + 1)/2: most vertices of a pyramid that D vertices dominate.

    Examples
    --------
    >>> pyramid_dominated(np.array([1, 3])).tolist()
    [1, 6]
    """
    # Beyond 2^31 the square would not fit, and `best_segment` asks for no more than 10^18.
    d = np.minimum(D, 1 << 31)
    return np.asarray(d * (d + 1) // 2)


def layered_dominated(
    D: NDArray[np.int64], layers: int, shrink: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Σ of D, shrink(D), shrink(shrink(D)), … over at most `layers` layers.

    `shrink(u)` bounds how many vertices of a layer have all their operands among u of the layer below. It
    must be nondecreasing and superadditive, shrink(a) + shrink(b) <= shrink(a + b): then dominators do best
    together in one layer.

    Examples
    --------
    >>> layered_dominated(np.array([3]), 10, lambda u: np.maximum(u - 1, 0)).tolist()
    [6]
    """
    return _layers(D, layers, shrink)[0]


def _layers(
    D: NDArray[np.int64], layers: int, shrink: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum, and what the next layer would add."""
    total = np.zeros_like(D)
    left = D.copy()
    for _ in range(layers):
        if not left.any():
            break
        total += left
        left = shrink(left)
    return total, left


def _stencil1d(n: int, t: int) -> Dominated:
    everything = n * (t + 1)

    def dominated(D: NDArray[np.int64]) -> NDArray[np.int64]:
        # D, D - 1, D - 2, … over t + 1 layers; a whole layer of n dominates all that is above.
        d = np.minimum(D, n)
        rows = np.minimum(d, t + 1)
        few = whole_progress(rows * (2.0 * d - rows + 1) / 2)
        return np.where(n <= D, everything, np.minimum(few, everything))

    return dominated


# Layers of a stencil2d that are counted one by one; later ones in blocks that grow by this factor.
_EXACT_LAYERS = 20
_BLOCK_GROWTH = 1.3


def _stencil2d(rows: int, cols: int, t: int) -> Dominated:
    points = rows * cols

    def shrink(u: NDArray[np.int64]) -> NDArray[np.int64]:
        x = u.astype(np.float64)
        border = np.minimum(np.sqrt(x), min(rows, cols)) * (1 - 1e-12)
        return np.floor(np.maximum(x - border, 0)).astype(np.int64)

    def dominated(D: NDArray[np.int64]) -> NDArray[np.int64]:
        few, left = _layers(np.minimum(D, points // 2), min(t + 1, _EXACT_LAYERS), shrink)
        if t + 1 > _EXACT_LAYERS:
            few = few + whole_progress(_in_blocks(left.astype(np.float64), t + 1 - _EXACT_LAYERS, rows, cols))
        return np.where(points < 2 * D, points * (t + 1), np.minimum(few, points * (t + 1)))

    return dominated


def _in_blocks(left: NDArray[np.float64], layers: int, rows: int, cols: int) -> NDArray[np.float64]:
    """At least what `layers` layers hold, the first of them `left` vertices.

    A layer of u leaves at most u − b of the next, b = min(√u, rows, cols), whose root is at most
    √u − b/(2√u). So k layers on it is at most √u − k·min(1, rows/√u, cols/√u)/2, in blocks of layers for
    each of which the least step is taken.
    """
    total = np.zeros_like(left)
    size = float(_EXACT_LAYERS) * (_BLOCK_GROWTH - 1)
    while layers > 0 and left.any():
        k = min(layers, int(size))
        root = np.sqrt(left)
        step = np.minimum(1, min(rows, cols) / np.maximum(root, 1)) / 2 * (1 - 1e-12)
        # Σ (√u − j·step)² over the j < k for which the root is not negative.
        n = np.minimum(k, np.floor(root / step) + 1)
        total += n * left - root * step * n * (n - 1) + step**2 * (n - 1) * n * (2 * n - 1) / 6
        left = np.maximum(root - k * step, 0) ** 2
        layers -= k
        size *= _BLOCK_GROWTH
    return total


def family_dominated(family: str, params: Mapping[str, Any]) -> tuple[int, int, Dominated] | None:
    """How many vertices a family's graph has, how many outputs, and how many vertices D of them dominate.

    None for other families.

    Examples
    --------
    >>> vertices, outputs, dominated = family_dominated("pyramid", {"h": 3})
    >>> vertices, outputs, dominated(np.array([4])).tolist()
    (10, 1, [10])
    """
    p = params
    if family == "fft" and p["n"] > 1:
        return p["n"] * p["n"].bit_length(), p["n"], fft_dominated
    if family == "pyramid":
        return (p["h"] + 1) * (p["h"] + 2) // 2, 1, pyramid_dominated
    if family == "stencil1d":
        return p["n"] * (p["t"] + 1), p["n"], _stencil1d(p["n"], p["t"])
    if family == "stencil2d":
        points = p["rows"] * p["cols"]
        return points * (p["t"] + 1), points, _stencil2d(p["rows"], p["cols"], p["t"])
    return None


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    question = family_dominated(subject.family, subject.params)
    if question is None:
        return None
    vertices, stores, dominated = question
    M = subject.M
    loads, Y = best_segment(vertices, lambda lengths: np.minimum(dominated(M + lengths), vertices))
    return Bound(
        loads + stores,
        "dominators",
        f"{subject.family}, {where(subject)}; {BLUE_SOURCES}",
        "segments of loads and dominators, after Hong & Kung (1981), sections 3 and 4; docs/bounds.md",
        details={"loads_per_segment": Y, "stores": stores},
    )


DOMINATORS = LowerBound("dominators", _compute, partial=True, slides=True)
