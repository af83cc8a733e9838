"""Iterated sparse matrix operations on random and given patterns: spmv, spmv-power, knn, cg.

The matrix's nonzeros are inputs, products and sums are vertices; what is zero whatever the numbers is left
out. The same parameters give the same random pattern on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphs.random_graphs import random_pairs
from graphs.sparsity import Matrix, Pattern, given_pattern
from graphs.structural import at_least, index_type
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError
from pebble.operations import ScalarOp

__all__ = ["cg", "knn", "spmv", "spmv_power"]

_Ids = NDArray[np.int64]
_Sums = Literal["flat", "chain"]


def spmv(
    n: int | None = None,
    p: float | None = None,
    seed: int = 0,
    sums: _Sums = "flat",
    file: Matrix | None = None,
) -> CDAG:
    """A sparse matrix times a vector.

    Parameters
    ----------
    n : int, optional
        Size of the vector, for a random n x n matrix.
    p : float, optional
        Probability of an entry of that matrix to be nonzero, independently; the diagonal always is.
    seed : int
    sums : {"flat", "chain"}
        One vertex per sum, or sequential adds.
    file : path, sparse matrix or array, optional
        In place of `n` and `p`, the matrix whose entries are the nonzeros: a Matrix Market file, or in Python
        the matrix itself, stored zeros included. It need not be square. A graph from a matrix in memory has
        no family, since no spec describes it.

    Returns
    -------
    CDAG
        With z nonzeros of an m x n matrix (``z = n + about p * n * (n - 1)`` of a random one): n + z sources,
        z products and, flat, at most m sums. Tensors: ``A`` of shape (z,), row by row, ``x`` of shape (n,)
        and ``y``, an entry for each row that holds a nonzero.

    Raises
    ------
    GraphSpecError
        A parameter is out of range or missing, the file cannot be read, or it holds no entry.

    Examples
    --------
    >>> spmv(20, 0.2, seed=1).sinks.size
    20
    >>> spmv(file=np.array([[1, 1, 0], [0, 0, 1]])).num_vertices  # 3 nonzeros, 3 of x, 3 products, 1 sum
    10
    """
    tape = _Tape("spmv", n, p, seed, sums, file)
    x = tape.inputs(tape.shape[1])
    y = tape.times(x)
    return tape.finish({"x": x}, y=y[y >= 0])


def spmv_power(
    n: int | None = None,
    k: int | None = None,
    p: float | None = None,
    seed: int = 0,
    sums: _Sums = "flat",
    file: Matrix | None = None,
) -> CDAG:
    """A sparse matrix to the power `k` times a vector, product after product.

    Parameters
    ----------
    n, p, seed, sums, file
        As for `spmv`; the matrix is square.
    k : int
        Number of products, at least 1.

    Examples
    --------
    >>> spmv_power(10, 3, 0.2, seed=1).sinks.size
    10
    """
    steps = _steps("spmv-power", k)
    tape = _Tape("spmv-power", n, p, seed, sums, file, k=steps)
    x = y = tape.inputs(tape.shape[1])
    for _ in range(steps):
        y = tape.times(y)
    return tape.finish({"x": x}, y=y[y >= 0])


def knn(
    n: int | None = None,
    k: int | None = None,
    p: float | None = None,
    seed: int = 0,
    sums: _Sums = "flat",
    file: Matrix | None = None,
) -> CDAG:
    """A sparse matrix `k` times applied to a vector of one nonzero: the k-hop neighbourhood of a vertex.

    Parameters
    ----------
    n, p, seed, sums, file
        As for `spmv`; the matrix is square.
    k : int
        Number of products, at least 1.

    Notes
    -----
    Only entries that can be nonzero are computed: the neighbourhood grows from product to product. Nonzeros
    of the matrix that are never used are isolated.

    Examples
    --------
    >>> knn(10, 1, 0, seed=1).num_vertices  # the matrix's diagonal, the vector's nonzero, and their product
    12
    """
    steps = _steps("knn", k)
    tape = _Tape("knn", n, p, seed, sums, file, k=steps)
    x = tape.inputs(1)
    y = np.full(tape.shape[1], -1)
    y[0] = x[0]
    for _ in range(steps):
        y = tape.times(y)
    return tape.finish({"x": x}, y=y[y >= 0])


def cg(
    n: int | None = None,
    k: int | None = None,
    p: float | None = None,
    seed: int = 0,
    sums: _Sums = "flat",
    file: Matrix | None = None,
) -> CDAG:
    """`k` iterations of the conjugate-gradient method on a sparse matrix.

    Parameters
    ----------
    n, p, seed, sums, file
        As for `spmv`; the matrix is square and every row holds an entry, the pattern need not be symmetric.
    k : int
        Number of iterations, at least 1.

    Returns
    -------
    CDAG
        Inputs ``A``, ``x`` (the first guess), ``r`` and ``p`` (first residual and direction); output ``y``,
        the last iterate, and the last residual as a further tensor ``residual``.

    Notes
    -----
    Hestenes & Stiefel (1952): alpha = rr / (p . q) with q = A p; x += alpha p; r -= alpha q; beta is the new
    rr over the old; p = r + beta p. Products and sums are vertices of their own.

    Examples
    --------
    >>> cg(5, 2, 0.3, seed=1).sinks.size
    10
    """
    steps = _steps("cg", k)
    tape = _Tape("cg", n, p, seed, sums, file, k=steps)
    size = tape.shape[0]
    empty = np.flatnonzero(np.bincount(tape.row, minlength=size) == 0)
    if len(empty):
        raise GraphSpecError(f"cg: row {empty[0] + 1} of the matrix has no entry, so that it is singular")
    x, r, d = tape.inputs(size), tape.inputs(size), tape.inputs(size)
    given = {"x": x, "r": r, "p": d}
    rr = tape.dot(r, r)
    for step in range(steps):
        q = tape.times(d)
        alpha = tape.binary(ScalarOp.DIV, rr, tape.dot(d, q))
        x = tape.binary(ScalarOp.ADD, x, tape.binary(ScalarOp.MUL, np.repeat(alpha, size), d))
        r = tape.binary(ScalarOp.SUB, r, tape.binary(ScalarOp.MUL, np.repeat(alpha, size), q))
        if step < steps - 1:
            before, rr = rr, tape.dot(r, r)
            beta = tape.binary(ScalarOp.DIV, rr, before)
            d = tape.binary(ScalarOp.ADD, r, tape.binary(ScalarOp.MUL, np.repeat(beta, size), d))
    return tape.finish(given, y=x, residual=r)


def _steps(family: str, k: int | None) -> int:
    """The number of products or iterations, which has no default."""
    if k is None:
        raise GraphSpecError(f"{family} lacks k, how often the matrix is applied")
    at_least(family, k=k)
    return k


def _random_pattern(family: str, n: int, p: float, seed: int) -> Pattern:
    """The diagonal, and each pair off it with probability `p`."""
    at_least(family, n=n)
    if isinstance(p, bool) or not 0 <= p <= 1:
        raise GraphSpecError(f"{family}: p={p} is out of range, give a probability from 0 to 1")
    # Off the diagonal: pair k of n * (n - 1), row by row.
    row, col = np.divmod(random_pairs(n * (n - 1), p, seed), max(1, n - 1))
    col += col >= row
    row, col = np.concatenate((row, np.arange(n))), np.concatenate((col, np.arange(n)))
    order = np.lexsort((col, row))
    return Pattern((n, n), row[order], col[order])


class _Tape:
    """Vertices appended whole arrays at a time: flat operands, their number per vertex, and ops."""

    def __init__(
        self,
        family: str,
        n: int | None,
        p: float | None,
        seed: int,
        sums: str,
        file: Matrix | None,
        **params: int,
    ) -> None:
        at_least(family, 0, seed=seed)
        if sums not in ("flat", "chain"):
            raise GraphSpecError(f"{family}: sums={sums!r} is none of flat, chain")
        pattern = given_pattern(family, {"n": n, "p": p, "seed": seed, "file": file})
        if pattern is None:
            assert n is not None
            assert p is not None
            pattern = _random_pattern(family, n, p, seed)
        of_spec = file is None or isinstance(file, (str, os.PathLike))
        self.name = family
        self.family = family if of_spec else ""
        self.params: dict[str, Any] = {} if n is None else {"n": n}
        self.params |= params
        self.params |= {} if p is None else {"p": p}
        self.params |= {"seed": seed} if seed else {}
        self.params |= {"sums": sums} if sums != "flat" else {}
        if isinstance(file, (str, os.PathLike)):
            self.params["file"] = os.fspath(file)
        if not of_spec:
            self.params = {}
        self.flat = sums == "flat"
        self.size = 0
        self.operands: list[_Ids] = []
        self.degrees: list[_Ids] = []
        self.ops: list[NDArray[np.uint8]] = []
        self.shape, self.row, self.col = pattern.shape, pattern.rows, pattern.columns
        self.matrix = self.inputs(len(self.row))

    def _append(self, operands: _Ids, degrees: _Ids, ops: NDArray[np.uint8] | ScalarOp) -> _Ids:
        self.operands.append(operands)
        self.degrees.append(degrees)
        self.ops.append(np.broadcast_to(np.asarray(ops, dtype=np.uint8), degrees.shape))
        self.size += len(degrees)
        return np.arange(self.size - len(degrees), self.size)

    def inputs(self, count: int) -> _Ids:
        nothing = np.empty(0, dtype=np.int64)
        return self._append(nothing, np.zeros(count, dtype=np.int64), ScalarOp.INPUT)

    def binary(self, op: ScalarOp, left: _Ids, right: _Ids) -> _Ids:
        return self._append(np.stack((left, right), axis=1).ravel(), np.full(len(left), 2), op)

    def sums(self, terms: _Ids, lengths: _Ids) -> _Ids:
        """One sum per run of `terms`; a run of one term is that term."""
        ends = np.cumsum(lengths)
        result: _Ids = terms[ends - lengths].copy()
        if self.flat:
            several = lengths > 1
            kept = terms[np.repeat(several, lengths)]
            ops = np.where(lengths[several] == 2, ScalarOp.ADD, ScalarOp.SUM).astype(np.uint8)
            result[several] = self._append(kept, lengths[several], ops)
            return result
        # One run after the other, as a sequential program would add them.
        later = np.ones(len(terms), dtype=np.bool_)
        later[ends - lengths] = False
        ids = self.size + np.cumsum(later) - 1
        previous = np.where(later[np.arange(len(terms)) - 1], ids - 1, terms[np.arange(len(terms)) - 1])
        self.binary(ScalarOp.ADD, previous[later], terms[later])
        total: _Ids = np.where(lengths > 1, ids[ends - 1], result)
        return total

    def times(self, vector: _Ids) -> _Ids:
        """The matrix times a vector of ids, -1 where it is zero for certain; likewise the result."""
        used = vector[self.col] >= 0
        products = self.binary(ScalarOp.MUL, self.matrix[used], vector[self.col[used]])
        lengths = np.bincount(self.row[used], minlength=self.shape[0])
        result = np.full(self.shape[0], -1)
        result[lengths > 0] = self.sums(products, lengths[lengths > 0])
        return result

    def dot(self, left: _Ids, right: _Ids) -> _Ids:
        """The inner product, one id."""
        if left is right:
            squares = self._append(left, np.ones(len(left), dtype=np.int64), ScalarOp.SQUARE)
        else:
            squares = self.binary(ScalarOp.MUL, left, right)
        return self.sums(squares, np.array([len(left)]))

    def finish(self, inputs: Mapping[str, _Ids], **results: _Ids) -> CDAG:
        if not any(len(ids) for ids in results.values()):
            raise GraphSpecError(
                f"{self.name}: the result is zero whatever the numbers, which is no computation"
            )
        operands = np.concatenate(self.operands)
        index = index_type(self.size, len(operands))
        indptr = np.zeros(self.size + 1, dtype=index)
        np.cumsum(np.concatenate(self.degrees), out=indptr[1:])
        made = np.concatenate(list(results.values()))
        used_again = made[np.isin(made, operands)]
        return CDAG(
            indptr=indptr,
            indices=operands.astype(index),
            further_outputs=np.unique(used_again),
            ops=np.concatenate(self.ops),
            tensors={"A": self.matrix, **inputs, **results},
            input_names=("A", *inputs),
            output_names=tuple(results),
            family=self.family,
            params=self.params,
        )
