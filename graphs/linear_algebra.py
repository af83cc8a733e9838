"""Linear algebra: products, and factorisations by steps over the pivot.

Every ``…_numpy`` function is ordinary NumPy code. On ndarrays it computes; traced, it is the graph.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from graphs.families import traced_family
from graphs.tracing import named
from pebble.cdag import CDAG

__all__ = [
    "cholesky",
    "cholesky_numpy",
    "dot",
    "dot_numpy",
    "lu",
    "lu_numpy",
    "matmul",
    "matmul_numpy",
    "matvec",
    "matvec_numpy",
]

Sums = Literal["chain", "tree", "flat"]


def matmul_numpy(A: Any, B: Any) -> dict[str, Any]:
    """A B: shapes (m, k) and (k, n) → ``C`` of shape (m, n)."""
    return {"C": A @ B}


def matmul(m: int, k: int, n: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """The product of an m × k and a k × n matrix: A, B → C.

    Parameters
    ----------
    m, k, n : int
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of mk + kn + mn(2k − 1) vertices, mk + kn + mnk with fma.

    Examples
    --------
    >>> g = matmul(2, 3, 2)
    >>> g
    <CDAG matmul:m=2,k=3,n=2: 32 vertices, 40 edges, 12 sources, 4 sinks>
    >>> g.sums["C"]
    SumLayout(base=12, shape=(2, 2), k=3, layout='chain')
    """
    return traced_family(matmul, matmul_numpy, {"A": (m, k), "B": (k, n)}, locals())


def matvec_numpy(A: Any, x: Any) -> dict[str, Any]:
    """A x: shapes (m, n) and (n,) → ``y`` of shape (m,)."""
    return {"y": A @ x}


def matvec(m: int, n: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """An m × n matrix times a vector: A, x → y.

    Parameters
    ----------
    m, n : int
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of mn + n + m(2n − 1) vertices.

    Examples
    --------
    >>> matvec(3, 3).num_vertices
    27
    """
    return traced_family(matvec, matvec_numpy, {"A": (m, n), "x": (n,)}, locals())


def dot_numpy(x: Any, y: Any) -> dict[str, Any]:
    """The inner product of two vectors of equal length: ``z``, of shape ()."""
    return {"z": x @ y}


def dot(n: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """The inner product of two vectors of length n: x, y → z.

    Parameters
    ----------
    n : int
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 4n − 1 vertices.

    Examples
    --------
    >>> dot(4).num_vertices
    15
    """
    return traced_family(dot, dot_numpy, {"x": (n,), "y": (n,)}, locals())


def lu_numpy(A: Any) -> dict[str, Any]:
    """LU factorisation without pivoting, each pivot updating all that is right of and below it.

    Parameters
    ----------
    A : array, shape (n, n)

    Returns
    -------
    dict
        ``LU``, shape (n, n): U on and above the diagonal, L below it (its diagonal of ones is not stored).
    """
    rows, columns = [], []
    for k in range(A.shape[0] - 1):
        column = named(f"L{k}", A[1:, :1] / A[:1, :1])
        rows.append(A[:1])
        columns.append(column)
        A = named(f"A{k + 1}", A[1:, 1:] - column * A[:1, 1:])
    for row, column in zip(reversed(rows), reversed(columns), strict=True):
        A = np.concatenate([row, np.concatenate([column, A], axis=1)])
    return {"LU": A}


def lu(n: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """LU factorisation of an n × n matrix without pivoting, right-looking: A → LU.

    Parameters
    ----------
    n : int
    sums, fma
        Without effect, for there are no sums: every update is a product and a subtraction.

    Returns
    -------
    CDAG
        Of n² + n(n−1)/2 + n(n−1)(2n−1)/3 vertices; the first row of A is returned as it is.

    Examples
    --------
    >>> lu(4).num_vertices == 16 + 6 + 28
    True
    """
    return traced_family(lu, lu_numpy, {"A": (n, n)}, locals())


def cholesky_numpy(A: Any) -> dict[str, Any]:
    """Cholesky factorisation A = L Lᵀ on packed lower triangles.

    Parameters
    ----------
    A : array, shape (n(n+1)/2,)
        The lower triangle of a positive definite matrix, row by row.

    Returns
    -------
    dict
        ``L``, shape (n(n+1)/2,), packed in the same way.
    """
    n = (int(np.sqrt(8 * A.shape[0] + 1)) - 1) // 2
    columns = []
    for k in range(n):
        m = n - k
        rows, places = np.tril_indices(m)
        pivot = named(f"pivot{k}", np.sqrt(A[:1]))
        below = named(f"column{k}", A[(places == 0) & (rows > 0)] / pivot)
        columns.append(np.concatenate([pivot, below]))
        inner = places > 0
        A = A[inner] - below[rows[inner] - 1] * below[places[inner] - 1]
    rows, places = np.tril_indices(n)
    starts = places * n - places * (places - 1) // 2
    return {"L": np.concatenate(columns)[starts + rows - places]}


def cholesky(n: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """Cholesky factorisation of an n × n matrix, right-looking: A → L, lower triangles packed by rows.

    Parameters
    ----------
    n : int
    sums, fma
        Without effect, for there are no sums: every update is a product and a subtraction.

    Returns
    -------
    CDAG
        Of n(n+1)/2 inputs, n square roots, n(n−1)/2 divisions and (n−1)n(n+1)/3 vertices of updates.

    Examples
    --------
    >>> cholesky(4).num_vertices == 10 + 4 + 6 + 20
    True
    """
    return traced_family(cholesky, cholesky_numpy, {"A": (n * (n + 1) // 2,)}, locals())
