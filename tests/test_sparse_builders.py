"""Iterated sparse matrix operations: their numbers are NumPy's, and what is zero for certain is left out."""

from __future__ import annotations

import numpy as np
import pytest

import graphs
import pebble
from graphs import sizes
from graphs.catalog import parse
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError

SUMS = pytest.mark.parametrize("sums", ["flat", "chain"])


def matrix(cdag: CDAG, n: int, p: float, seed: int, values: np.ndarray) -> np.ndarray:
    """The matrix that the values of tensor A are the nonzeros of, row by row."""
    from graphs.random_graphs import random_pairs

    dense = np.zeros((n, n), dtype=bool)
    np.fill_diagonal(dense, True)
    off = random_pairs(n * (n - 1), p, seed)
    row, col = off // (n - 1), off % (n - 1)
    dense[row, col + (col >= row)] = True
    A = np.zeros((n, n))
    A[dense] = values
    return A


def evaluated(spec: str) -> tuple[CDAG, dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    cdag = graphs.build(spec)
    rng = np.random.default_rng(5)
    inputs = {name: rng.standard_normal(len(cdag.tensors[name])) for name in cdag.input_names}
    params = parse(spec).params
    A = matrix(cdag, params["n"], params["p"], params["seed"], inputs["A"])
    return cdag, inputs, pebble.evaluate(cdag, inputs), A


@SUMS
def test_spmv(sums: str) -> None:
    _, inputs, out, A = evaluated(f"spmv:n=12,p=0.3,seed=4,sums={sums}")
    np.testing.assert_allclose(out["y"], A @ inputs["x"])


@SUMS
def test_spmv_power(sums: str) -> None:
    _, inputs, out, A = evaluated(f"spmv-power:n=9,k=4,p=0.3,seed=4,sums={sums}")
    np.testing.assert_allclose(out["y"], np.linalg.matrix_power(A, 4) @ inputs["x"])


@SUMS
def test_knn(sums: str) -> None:
    cdag, inputs, out, A = evaluated(f"knn:n=20,k=2,p=0.08,seed=1,sums={sums}")
    x = np.zeros(20)
    x[0] = inputs["x"][0]
    expected = A @ A @ x
    np.testing.assert_allclose(out["y"], expected[expected != 0])
    assert len(out["y"]) < 20
    assert len(cdag.sources) == len(cdag.tensors["A"]) + 1


@SUMS
def test_cg(sums: str) -> None:
    cdag, inputs, out, A = evaluated(f"cg:n=7,k=3,p=0.4,seed=2,sums={sums}")
    x, r, d = inputs["x"], inputs["r"], inputs["p"]
    for _ in range(3):
        q = A @ d
        alpha = (r @ r) / (d @ q)
        x, before = x + alpha * d, r @ r
        r = r - alpha * q
        d = r + (r @ r) / before * d
    np.testing.assert_allclose(out["y"], x)
    np.testing.assert_allclose(out["residual"], r)
    assert set(cdag.sinks) == {*cdag.tensors["y"], *cdag.tensors["residual"]}


@pytest.mark.parametrize("family", ["spmv:", "spmv-power:k=3,", "knn:k=8,", "cg:k=3,"])
@SUMS
def test_the_size_is_known_beforehand_and_the_graph_is_reproducible(family: str, sums: str) -> None:
    spec = f"{family}n=30,p=0.2,seed=3,sums={sums}"
    cdag = graphs.build(spec)
    assert cdag == graphs.build(spec)
    assert cdag != graphs.build(spec.replace("seed=3", "seed=4"))
    estimate = sizes.num_vertices(cdag.family, parse(spec).params)
    assert estimate is not None
    assert 0.8 * cdag.num_vertices <= estimate <= 1.6 * cdag.num_vertices


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("spmv:n=4,p=1.5", "probability"),
        ("knn:n=4,k=0,p=0.5", "k=0"),
        ("cg:n=4,k=1,p=0.5,sums=tree", "sums"),
        ("spmv:n=0,p=0.5", "n=0"),
    ],
)
def test_faults_are_named(spec: str, message: str) -> None:
    with pytest.raises(GraphSpecError, match=message):
        graphs.build(spec)


def test_one_row() -> None:
    assert graphs.build("spmv:n=1,p=0.5").num_vertices == 3
    assert graphs.build("cg:n=1,k=1,p=0").num_vertices > 4
