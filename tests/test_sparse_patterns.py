"""Sparse products on a pattern from a file or a matrix: the numbers are SciPy's, and every fault is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import graphs
import pebble
import strategies
from graphs import sizes
from graphs.catalog import parse
from pebble.errors import GraphSpecError

BANNER = "%%MatrixMarket matrix coordinate pattern general\n"
SUMS = pytest.mark.parametrize("sums", ["flat", "chain"])


def sparse(rows: int, columns: int, density: float, seed: int) -> scipy.sparse.csr_array:
    """A random matrix with rows in order; some rows and columns are empty."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < density)
    return scipy.sparse.csr_array(dense)


@SUMS
def test_spmv_of_a_rectangular_file(tmp_path: Path, sums: str) -> None:
    A = sparse(12, 9, 0.15, 1)
    filled = np.diff(A.indptr) > 0
    assert not filled.all()
    assert len(np.unique(A.indices)) < 9
    path = tmp_path / "A.mtx"
    scipy.io.mmwrite(path, A)
    cdag = graphs.build(f"spmv:file={path},sums={sums}")
    x = np.random.default_rng(2).standard_normal(9)
    schedule = strategies.play("belady", pebble.Instance(cdag, 13))
    for out in (
        pebble.evaluate(cdag, {"A": A.data, "x": x}),
        pebble.execute(schedule, {"A": A.data, "x": x}),
    ):
        np.testing.assert_allclose(out["y"], (A @ x)[filled])
    assert graphs.build(cdag.name) == cdag
    estimate = sizes.num_vertices("spmv", parse(cdag.name).params)
    assert estimate is not None
    assert cdag.num_vertices <= estimate <= 1.6 * cdag.num_vertices


@pytest.mark.parametrize("field", ["real", "integer", "complex", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_powers_of_every_kind_of_file(tmp_path: Path, field: str, symmetry: str) -> None:
    rng = np.random.default_rng(3)
    A = rng.integers(1, 9, (7, 7)) * (rng.random((7, 7)) < 0.3)
    A[0] = A[:, 0] = 0  # a row and a column without entries
    A = A + A.T if symmetry == "symmetric" else A
    path = tmp_path / "A.mtx.gz"
    with gzip.open(path, "wb") as stream:
        scipy.io.mmwrite(stream, scipy.sparse.coo_array(A), field=field, symmetry=symmetry)
    cdag = graphs.build(f"spmv-power:file={path},k=3")
    x = rng.standard_normal(7)
    expected = np.linalg.matrix_power(A.astype(float), 3) @ x
    out = pebble.evaluate(cdag, {"A": A[A != 0].astype(float), "x": x})
    np.testing.assert_allclose(out["y"], expected[expected != 0])


def test_conjugate_gradients_and_neighbourhoods_of_a_file(tmp_path: Path) -> None:
    A = scipy.sparse.diags_array([[-1.0] * 5, [2.0] * 6, [-1.0] * 5], offsets=[-1, 0, 1]).tocsr()
    path = tmp_path / "laplace.mtx"
    scipy.io.mmwrite(path, A)
    b = np.arange(1.0, 7.0)
    cdag = graphs.build(f"cg:file={path},k=6")
    out = pebble.evaluate(cdag, {"A": A.data, "x": np.zeros(6), "r": b, "p": b})
    np.testing.assert_allclose(A @ out["y"], b)
    near = graphs.build(f"knn:file={path},k=2")
    assert len(near.tensors["y"]) == 3
    assert graphs.cg(file=path, k=6) == cdag


def test_matrices_in_memory(tmp_path: Path) -> None:
    A = sparse(6, 5, 0.4, 4)
    path = tmp_path / "A.mtx"
    scipy.io.mmwrite(path, A)
    from_file = graphs.spmv(file=path)
    for matrix in (A, A.tocoo(), scipy.sparse.csc_matrix(A), A.toarray() != 0):
        cdag = graphs.spmv(file=matrix)
        assert cdag == from_file
        assert cdag.name == "custom"
    with pytest.raises(GraphSpecError, match="an array of 1 axes is no matrix"):
        graphs.spmv(file=np.ones(3))


def test_an_entry_twice_counts_once_and_a_new_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "A.mtx"
    path.write_text(BANNER + "2 2 3\n1 1\n1 1\n2 2\n")
    assert graphs.build(f"spmv:file={path}").tensors["A"].size == 2
    path.write_text(BANNER + "2 2 3\n1 1\n1 2\n2 2\n")
    assert graphs.build(f"spmv:file={path}").tensors["A"].size == 3


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ("spmv:file=FILE", None, "spmv: file=FILE: there is no such file"),
        ("spmv:file=FILE", "2 2\n1 1\n", "spmv: file=FILE is no Matrix Market file, line 1: "),
        ("spmv:file=FILE", BANNER + "2 2 1\n3 1\n", "file=FILE is no Matrix Market file, line 3: Row index"),
        ("spmv:file=FILE", BANNER + "2 2 2\n1 1\n", "file=FILE is no Matrix Market file: Truncated"),
        ("spmv:file=FILE", BANNER + "2 2 9000000000000\n1 1\n", "declares more entries than fit in memory"),
        ("spmv:file=FILE", BANNER + "2 2 0\n", "file=FILE has no entries"),
        ("spmv:file=FILE", BANNER + "9 2000000000000 1\n1 1\n", "take smaller sizes"),
        ("spmv-power:file=FILE,k=2", BANNER + "2 3 1\n1 1\n", "a matrix of 2 x 3, spmv-power needs a square"),
        ("spmv-power:file=FILE,k=2", BANNER + "2 2 1\n2 1\n", "spmv-power: the result is zero"),
        ("spmv-power:file=FILE", BANNER + "2 2 1\n2 1\n", "spmv-power lacks k"),
        ("cg:file=FILE,k=2", BANNER + "2 2 1\n1 1\n", "row 2 of the matrix has no entry"),
        ("spmv:file=FILE,n=4,p=0.5", BANNER + "2 2 1\n1 1\n", "is the whole matrix, leave out n, p"),
        ("spmv:file=FILE,seed=2", BANNER + "2 2 1\n1 1\n", "leave out seed"),
        ("spmv:n=4", None, "spmv lacks p: give n and p for a random matrix, or file=FILE.mtx"),
        ("knn:k=4", None, "knn lacks n, p"),
    ],
)
def test_faults_are_named(tmp_path: Path, spec: str, text: str | None, message: str) -> None:
    path = tmp_path / "A.mtx"
    if text is not None:
        path.write_text(text)
    with pytest.raises(GraphSpecError) as caught:
        graphs.build(spec.replace("FILE", str(path)))
    shown = str(caught.value).replace(str(path), "FILE")
    assert message in shown
    assert "\n" not in shown
