"""Stencils: a grid of points updated from its neighbourhood, step after step."""

from __future__ import annotations

import numpy as np

from graphs.structural import at_least, from_operands, provenance
from pebble.cdag import CDAG

__all__ = ["stencil1d", "stencil2d"]


def stencil1d(n: int, t: int) -> CDAG:
    """`t` steps of the 3-point stencil on `n` points, clipped at the boundary.

    Parameters
    ----------
    n : int
        Number of points.
    t : int
        Number of steps, at least 1.

    Returns
    -------
    CDAG
        ``n * (t + 1)`` vertices and ``t * (3 * n - 2)`` edges. Vertex ``s * n + i`` is point `i` after
        step `s`, the sum of points i-1, i, i+1 of the step before. Tensors: ``x`` and ``y`` of shape (n,).

    Notes
    -----
    The I/O cost is Theta(n t / M) for large n and t (Hong & Kung 1981, section 5, for d-dimensional
    relaxations the root of order d of M).

    Examples
    --------
    >>> stencil1d(5, 2)
    <CDAG stencil1d:n=5,t=2: 15 vertices, 26 edges, 5 sources, 5 sinks>
    """
    at_least("stencil1d", n=n, t=t)
    ids = np.arange(n * (t + 1)).reshape(t + 1, n)
    table = np.full((t + 1, n, 3), -1)
    table[1:, 1:, 0] = ids[:-1, :-1]
    table[1:, :, 1] = ids[:-1]
    table[1:, :-1, 2] = ids[:-1, 1:]
    return from_operands(
        table.reshape(-1, 3), **provenance("stencil1d", {"n": n, "t": t}, x=ids[0], y=ids[-1])
    )


def stencil2d(rows: int, cols: int, t: int) -> CDAG:
    """`t` steps of the 5-point stencil on a grid, clipped at the boundary.

    Parameters
    ----------
    rows, cols : int
        Size of the grid.
    t : int
        Number of steps, at least 1.

    Returns
    -------
    CDAG
        ``rows * cols * (t + 1)`` vertices and ``t * (5 * rows * cols - 2 * rows - 2 * cols)`` edges. Vertex
        ``(s * rows + i) * cols + j`` is point (i, j) after step `s`, the sum of the points above, left,
        at, right of and below it. Tensors: ``x`` and ``y`` of shape (rows, cols).

    Examples
    --------
    >>> stencil2d(3, 4, 2)
    <CDAG stencil2d:rows=3,cols=4,t=2: 36 vertices, 92 edges, 12 sources, 12 sinks>
    """
    at_least("stencil2d", rows=rows, cols=cols, t=t)
    ids = np.arange(rows * cols * (t + 1)).reshape(t + 1, rows, cols)
    table = np.full((t + 1, rows, cols, 5), -1)
    table[1:, 1:, :, 0] = ids[:-1, :-1]
    table[1:, :, 1:, 1] = ids[:-1, :, :-1]
    table[1:, :, :, 2] = ids[:-1]
    table[1:, :, :-1, 3] = ids[:-1, :, 1:]
    table[1:, :-1, :, 4] = ids[:-1, 1:]
    return from_operands(
        table.reshape(-1, 5),
        **provenance("stencil2d", {"rows": rows, "cols": cols, "t": t}, x=ids[0], y=ids[-1]),
    )
