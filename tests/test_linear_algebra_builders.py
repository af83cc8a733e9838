"""Linear-algebra graphs: vertex counts by closed form, numbers against NumPy's own routines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphs
import pebble
from tests.tracing_checks import SUM_IDS, SUMS, check_graph


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (2, 3, 2), (4, 1, 3), (3, 5, 1), (1, 4, 6)])
def test_product_counts(m: int, k: int, n: int) -> None:
    assert graphs.matmul(m, k, n).num_vertices == m * k + k * n + m * n * (2 * k - 1)
    assert graphs.matmul(m, k, n, fma=True).num_vertices == m * k + k * n + m * n * k
    assert graphs.matmul(m, k, n, sums="tree").num_vertices == m * k + k * n + m * n * (2 * k - 1)
    flat = k + 1 if k > 1 else 1
    assert graphs.matmul(m, k, n, sums="flat").num_vertices == m * k + k * n + m * n * flat
    assert graphs.matvec(m, k).num_vertices == m * k + k + m * (2 * k - 1)
    assert graphs.dot(k).num_vertices == 4 * k - 1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_factorisation_counts(n: int) -> None:
    assert graphs.lu(n).num_vertices == n * n + n * (n - 1) // 2 + n * (n - 1) * (2 * n - 1) // 3
    updates = (n - 1) * n * (n + 1) // 3
    assert graphs.cholesky(n).num_vertices == n * (n + 1) // 2 + n + n * (n - 1) // 2 + updates
    # The first row of U is that of A, a returned input.
    assert len(graphs.lu(n).outputs) == n * n


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
def test_products(options: dict[str, Any]) -> None:
    for g, fn in [
        (graphs.matmul(3, 4, 2, **options), lambda x: {"C": x["A"] @ x["B"]}),
        (graphs.matvec(3, 4, **options), lambda x: {"y": x["A"] @ x["x"]}),
        (graphs.dot(5, **options), lambda x: {"z": x["x"] @ x["y"]}),
    ]:
        check_graph(g)
        x = graphs.example_inputs(g, seed=1)
        (name, expected), *_ = fn(x).items()
        np.testing.assert_allclose(pebble.evaluate(g, x)[name], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_lu(n: int) -> None:
    g = graphs.lu(n)
    check_graph(g)
    x = graphs.example_inputs(g, seed=n)
    packed = pebble.evaluate(g, x)["LU"]
    lower, upper = np.tril(packed, -1) + np.eye(n), np.triu(packed)
    np.testing.assert_allclose(lower @ upper, x["A"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_cholesky(n: int) -> None:
    g = graphs.cholesky(n)
    check_graph(g)
    x = graphs.example_inputs(g, seed=n)
    lower, full = np.zeros((n, n)), np.zeros((n, n))
    full[np.tril_indices(n)] = x["A"]
    full = full + np.tril(full, -1).T
    lower[np.tril_indices(n)] = pebble.evaluate(g, x)["L"]
    np.testing.assert_allclose(lower, np.linalg.cholesky(full), rtol=1e-10, atol=1e-12)


def test_factorisations_have_no_sums_to_choose() -> None:
    for build in (graphs.lu, graphs.cholesky):
        assert build(4, fma=True) == build(4) == build(4, sums="tree")


def test_specs() -> None:
    assert graphs.build("matmul:2x3x2") == graphs.matmul(2, 3, 2)
    assert graphs.build("matvec:3x3") == graphs.matvec(3, 3)
    assert graphs.build("dot:4") == graphs.dot(4)
    assert graphs.build("lu:4") == graphs.lu(4)
    assert graphs.build("cholesky:4") == graphs.cholesky(4)
