"""The spectral bound: contiguous parts of any order of computation are cut by many edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.result import Bound, Limit
from solvers.lower_bounds.compulsory import compulsory_io
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["SPECTRAL", "least_eigenvalues", "published_form", "source_laplacian", "spectral_excess"]

# Up to this many vertices every eigenvalue is computed from the dense matrix.
_DENSE = 600
# Eigenvalues looked for otherwise: the best number of parts grows with |V|/M, slowly.
_MOST_PARTS = 64
# Far above the rounding errors of a dense symmetric eigensolver on matrices of norm at most about 10.
_ROUNDING = 1e-9
_LEAST_PIVOT = 1e-7


def source_laplacian(cdag: CDAG, shares: NDArray[np.float64]) -> Any:
    """Sparse Laplacian of the undirected graph whose edge (u, v) weighs shares[u]/outdegree(u)."""
    import scipy.sparse as sparse

    n = cdag.num_vertices
    edges = cdag.edges()
    degree = np.bincount(cdag.indices, minlength=n)
    weight = shares[edges[:, 0]] / degree[edges[:, 0]]
    pairs = (np.concatenate((edges[:, 0], edges[:, 1])), np.concatenate((edges[:, 1], edges[:, 0])))
    adjacency = sparse.coo_matrix((np.concatenate((weight, weight)), pairs), shape=(n, n)).tocsc()
    return (sparse.diags(np.asarray(adjacency.sum(axis=1)).ravel()) - adjacency).tocsc()


def least_eigenvalues(laplacian: Any, most: int = _MOST_PARTS) -> NDArray[np.float64]:
    """Lower bounds on the least eigenvalues of a positive semidefinite sparse matrix, ascending.

    Parameters
    ----------
    laplacian : scipy.sparse matrix, shape (n, n)
    most : int
        How many are wanted at most; fewer are returned where that many cannot be certified.

    Notes
    -----
    Small matrices are diagonalised. Of large ones, Ritz pairs (θ, v) come from a shift-and-invert Lanczos
    iteration. Then as many eigenvalues lie one to one within ‖R‖ of the θ, R the matrix of residuals
    (Kahan; Parlett 1980, theorem 11.5.1); and a symmetric factorisation at a shift s above them counts the
    eigenvalues below s (Sylvester's law of inertia). If the counts agree none was missed, and θ − ‖R‖ is a
    lower bound on each.
    """
    import scipy.linalg
    import scipy.sparse as sparse
    import scipy.sparse.linalg as linear

    n = laplacian.shape[0]
    if n <= _DENSE:
        values = scipy.linalg.eigvalsh(laplacian.toarray())[:most]
        return np.asarray(np.maximum(values - _ROUNDING, 0.0))
    identity = sparse.identity(n, format="csc")
    symmetric: Any = {
        "permc_spec": "MMD_AT_PLUS_A",
        "diag_pivot_thresh": 0.0,
        "options": {"SymmetricMode": True},
    }
    shift = 1e-3
    factors = linear.splu(laplacian + shift * identity, **symmetric)
    inverse = linear.LinearOperator((n, n), matvec=factors.solve, dtype=np.float64)
    wanted = min(most, n - 2)
    start = np.random.default_rng(0).standard_normal(n)
    _, vectors = linear.eigsh(inverse, k=wanted, which="LM", v0=start, tol=1e-11)
    vectors, _ = np.linalg.qr(vectors)
    ritz, turn = np.linalg.eigh(vectors.T @ (laplacian @ vectors))
    vectors = vectors @ turn
    residual = float(np.linalg.norm(laplacian @ vectors - vectors * ritz)) + _ROUNDING
    for count in range(wanted - 1, 0, -1):
        if ritz[count] - ritz[count - 1] < 4 * residual + 1e-6:
            continue
        at = 0.5 * (ritz[count] + ritz[count - 1])
        pivots = linear.splu(laplacian - at * identity, **symmetric)
        if not (pivots.perm_r == pivots.perm_c).all():
            continue
        diagonal = pivots.U.diagonal()
        if np.abs(diagonal).min() > _LEAST_PIVOT and int((diagonal < 0).sum()) == count:
            return np.maximum(ritz[:count] - residual, 0.0)
    return np.zeros(1)


def spectral_excess(
    eigenvalues: NDArray[np.float64], num_vertices: int, M: int, boundaries: int = -1
) -> tuple[float, int]:
    """max over k of Σ_{i≤k} s_i·λ_i − 2(k + boundaries)M, and the number of parts k.

    The s_i are the sizes of k parts as equal as can be, the larger ones with the smaller eigenvalues. With
    `boundaries` −1: nothing is red before the first part or after the last.
    """
    k = np.arange(1, len(eigenvalues) + 1)
    sums = np.cumsum(eigenvalues)
    longer = num_vertices % k
    cuts = (num_vertices // k) * sums + np.where(longer > 0, sums[longer - 1], 0.0)
    values = cuts - 2.0 * (k + boundaries) * M
    best = int(values.argmax())
    return float(values[best]), int(k[best])


def published_form(cdag: CDAG, M: int, most: int = _MOST_PARTS) -> float:
    """The bound as Jain and Zaharia (2020) print it: edge weights 1/outdegree, −2kM, at least 0.

    It counts I/O beyond the first loads of sources and the last stores of outputs, in a game whose sources
    are stored when they are evicted.

    Examples
    --------
    >>> from graphs.catalog import build
    >>> round(published_form(build("fft:128"), 4), 4)
    6.3769
    """
    eigenvalues = least_eigenvalues(source_laplacian(cdag, np.ones(cdag.num_vertices)), most)
    return max(0.0, spectral_excess(eigenvalues, cdag.num_vertices, M, 0)[0])


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    assert subject.graph is not None
    cdag = subject.graph.cdag
    if cdag.num_vertices < 2 or cdag.num_edges == 0:
        return None
    loads, stores = compulsory_io(cdag)
    words = np.ones(cdag.num_vertices) if cdag.weights is None else cdag.weights.astype(np.float64)
    # Sources are never stored, and the stores of outputs are compulsory: their edges count on one side only.
    half = words * np.where(cdag.is_source | cdag.is_output, 0.5, 1.0)
    found = []
    for shares, base, name in (
        (half, loads + stores, "sources and outputs count half"),
        (words, stores, "the first load of a source stands for its store"),
    ):
        excess, parts = spectral_excess(
            least_eigenvalues(source_laplacian(cdag, shares)), cdag.num_vertices, subject.M
        )
        value = base + max(0, int(np.ceil(excess * (1 - 1e-12) - 1e-6)))
        found.append((value, parts, name))
    value, parts, form = max(found)
    return Bound(
        value,
        "spectral",
        f"any graph, one-shot only; {BLUE_SOURCES}",
        "Jain & Zaharia (2020), Spectral lower bounds on the I/O complexity of computation graphs; "
        "docs/bounds.md",
        details={"parts": parts, "form": form},
    )


SPECTRAL = LowerBound("spectral", _compute, rules=("one-shot",), slides=True, needs_graph=True, up_to=400)
