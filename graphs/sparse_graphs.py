"""Iterated sparse matrix operations on random patterns: spmv, spmv-power, knn, cg.

The matrix's nonzeros are inputs, products and sums are vertices; what is zero whatever the numbers is left
out. The same parameters give the same pattern on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphs.random_graphs import random_pairs
from graphs.structural import at_least, index_type
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError
from pebble.operations import ScalarOp

__all__ = ["cg", "knn", "spmv", "spmv_power"]

_Ids = NDArray[np.int64]
_Sums = Literal["flat", "chain"]


def spmv(n: int, p: float, seed: int = 0, sums: _Sums = "flat") -> CDAG:
    """A sparse n x n matrix times a vector.

    Parameters
    ----------
    n : int
        Size of the vector.
    p : float
        Probability of an entry of the matrix to be nonzero, independently; the diagonal always is.
    seed : int
    sums : {"flat", "chain"}
        One vertex per sum, or sequential adds.

    Returns
    -------
    CDAG
        With ``z = n + about p * n * (n - 1)`` nonzeros: n + z sources, z products and, flat, at most n sums.
        Tensors: ``A`` of shape (z,), ``x`` and ``y`` of shape (n,).

    Examples
    --------
    >>> spmv(20, 0.2, seed=1).sinks.size
    20
    """
    tape = _Tape("spmv", n, p, seed, sums)
    x = tape.inputs(n)
    return tape.finish({"x": x}, y=tape.times(x))


def spmv_power(n: int, k: int, p: float, seed: int = 0, sums: _Sums = "flat") -> CDAG:
    """A sparse matrix to the power `k` times a vector, product after product.

    Parameters
    ----------
    n, p, seed, sums
        As for `spmv`.
    k : int
        Number of products, at least 1.

    Examples
    --------
    >>> spmv_power(10, 3, 0.2, seed=1).sinks.size
    10
    """
    at_least("spmv-power", k=k)
    tape = _Tape("spmv-power", n, p, seed, sums, k=k)
    x = y = tape.inputs(n)
    for _ in range(k):
        y = tape.times(y)
    return tape.finish({"x": x}, y=y)


def knn(n: int, k: int, p: float, seed: int = 0, sums: _Sums = "flat") -> CDAG:
    """A sparse matrix `k` times applied to a vector of one nonzero: the k-hop neighbourhood of a vertex.

    Parameters
    ----------
    n, p, seed, sums
        As for `spmv`.
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
    at_least("knn", k=k)
    tape = _Tape("knn", n, p, seed, sums, k=k)
    x = tape.inputs(1)
    y = np.full(n, -1)
    y[0] = x[0]
    for _ in range(k):
        y = tape.times(y)
    return tape.finish({"x": x}, y=y[y >= 0])


def cg(n: int, k: int, p: float, seed: int = 0, sums: _Sums = "flat") -> CDAG:
    """`k` iterations of the conjugate-gradient method on a sparse matrix.

    Parameters
    ----------
    n, p, seed, sums
        As for `spmv`; the pattern need not be symmetric.
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
    at_least("cg", k=k)
    tape = _Tape("cg", n, p, seed, sums, k=k)
    x, r, d = tape.inputs(n), tape.inputs(n), tape.inputs(n)
    given = {"x": x, "r": r, "p": d}
    rr = tape.dot(r, r)
    for step in range(k):
        q = tape.times(d)
        alpha = tape.binary(ScalarOp.DIV, rr, tape.dot(d, q))
        x = tape.binary(ScalarOp.ADD, x, tape.binary(ScalarOp.MUL, np.repeat(alpha, n), d))
        r = tape.binary(ScalarOp.SUB, r, tape.binary(ScalarOp.MUL, np.repeat(alpha, n), q))
        if step < k - 1:
            before, rr = rr, tape.dot(r, r)
            beta = tape.binary(ScalarOp.DIV, rr, before)
            d = tape.binary(ScalarOp.ADD, r, tape.binary(ScalarOp.MUL, np.repeat(beta, n), d))
    return tape.finish(given, y=x, residual=r)


class _Tape:
    """Vertices appended whole arrays at a time: flat operands, their number per vertex, and ops."""

    def __init__(self, family: str, n: int, p: float, seed: int, sums: str, **params: int) -> None:
        at_least(family, n=n)
        at_least(family, 0, seed=seed)
        if sums not in ("flat", "chain"):
            raise GraphSpecError(f"{family}: sums={sums!r} is none of flat, chain")
        if isinstance(p, bool) or not 0 <= p <= 1:
            raise GraphSpecError(f"{family}: p={p} is out of range, give a probability from 0 to 1")
        self.family = family
        self.params: dict[str, Any] = {"n": n, **params, "p": p}
        self.params |= {"seed": seed} if seed else {}
        self.params |= {"sums": sums} if sums != "flat" else {}
        self.flat = sums == "flat"
        self.size = 0
        self.operands: list[_Ids] = []
        self.degrees: list[_Ids] = []
        self.ops: list[NDArray[np.uint8]] = []
        # Off the diagonal: pair k of n * (n - 1), row by row.
        pairs = random_pairs(n * (n - 1), p, seed)
        row, col = np.divmod(pairs, max(1, n - 1))
        col += col >= row
        row, col = np.concatenate((row, np.arange(n))), np.concatenate((col, np.arange(n)))
        order = np.lexsort((col, row))
        self.row, self.col = row[order], col[order]
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
        lengths = np.bincount(self.row[used], minlength=len(vector))
        result = np.full(len(vector), -1)
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
