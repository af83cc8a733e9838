"""A traced function computes what the function computes on ndarrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphs
import pebble
from pebble.operations import ScalarOp
from tests.tracing_checks import SUM_IDS, SUMS, check_numbers

MASK = np.tril(np.ones((4, 4), dtype=bool))
VECTOR = np.array([0.0, 1.0, -2.0, 0.5])

# Functions of x of shape (4, 4) and y of shape (4,).
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "subtract": lambda x, y: x - y,
    "divide": lambda x, y: y / x,
    "negative": lambda x, y: -x + +y,
    "exp log sqrt": lambda x, y: np.exp(np.log(x)) + np.sqrt(y),
    "maximum": lambda x, y: np.maximum(x, y),
    "maximum constant": lambda x, y: np.maximum(x, 1.0) + np.maximum(0.9, y),
    "minimum": lambda x, y: np.minimum(x, y) + np.minimum(x, 1.1) + np.minimum(1.2, y) + np.minimum(y, y),
    "minimum extremes": lambda x, y: np.minimum(x, np.inf) + np.maximum(np.minimum(y, -np.inf), x),
    "waves": lambda x, y: np.sin(x) * np.cos(y) + np.tanh(x - y),
    "sizes and signs": lambda x, y: np.absolute(x - 2 * y) + np.sign(y - x[0, 0]),
    "maximum itself": lambda x, y: np.maximum(x, x) * y,
    "power": lambda x, y: x**3 + y**-1.5,
    "power trivial": lambda x, y: x**2 + y**1 + x**0,
    "power of entries": lambda x, y: x ** np.array([0, 1, 2, 3]) * y,
    "square reciprocal": lambda x, y: np.square(x) * np.reciprocal(y),
    "constants": lambda x, y: 2 * x + 1 - (3 - y) / 4 + 5 / x,
    "constant array": lambda x, y: x * VECTOR + y - VECTOR,
    "constant divided": lambda x, y: VECTOR / x + 0 * y + x,
    "zero minus": lambda x, y: 0 - x + (VECTOR - y),
    "identities": lambda x, y: (x + 0) * 1 - 0 + y / 1,
    "identity array": lambda x, y: x * np.eye(4) + y,
    "zero start": lambda x, y: sum([x, x, x * y]),
    "where": lambda x, y: np.where(MASK, x, y),
    "where constant": lambda x, y: np.exp(np.where(MASK, x * y, -np.inf)) + x,
    "mean": lambda x, y: x.mean(axis=1) + np.mean(y),
    "sum all": lambda x, y: x.sum() + np.sum(y),
    "sum axis": lambda x, y: x.sum(axis=0) + np.sum(x, axis=-1) * y,
    "sum axes keepdims": lambda x, y: np.sum(x, axis=(0, 1), keepdims=True) * x,
    "sum reduce": lambda x, y: np.add.reduce(x) + np.maximum.reduce(x, axis=1),
    "max": lambda x, y: x.max(axis=1, keepdims=True) - np.max(y),
    "max constant": lambda x, y: np.where(MASK, x, 1.0).max(axis=1) + np.where(MASK, x, -np.inf).max(axis=1),
    "sum repeated": lambda x, y: np.broadcast_to(y, (3, 4)).sum(axis=0) + np.stack([y, y]).sum(axis=0),
    "max repeated": lambda x, y: np.stack([y, y, x[0]]).max(axis=0),
    "masked product": lambda x, y: np.where(MASK, x, 0.0) @ x,
    "masked sum": lambda x, y: np.where(MASK, x, 0.0).sum(axis=1) + np.where(MASK, x, 2.0).sum(axis=0),
    "masked ones": lambda x, y: np.where(MASK, x, 1.0) @ x + y,
    "masked weights": lambda x, y: np.where(MASK, x, 3.0) @ x,
    "masked both": lambda x, y: np.where(MASK, x, 3.0) @ np.where(MASK.T, x, 2.0),
    "raw then its product": lambda x, y: np.stack([y, np.ones(4)], 1)[:, ::-1] @ np.stack([y, y]),
    "raw first": lambda x, y: (
        (np.where(np.arange(4) == 0, 1.0, y) * 1) @ np.where(np.arange(4) == 1, y[0], y)
    ),
    "constant product": lambda x, y: x @ np.arange(16.0).reshape(4, 4) + np.eye(4) @ x,
    "matmul": lambda x, y: x @ x.T @ x,
    "matmul itself": lambda x, y: x @ x,
    "gram": lambda x, y: x @ x.T + x.T @ x,
    "matvec": lambda x, y: x @ y + y @ x,
    "matmul vectors": lambda x, y: y @ y + y @ x[0],
    "matmul batch": lambda x, y: np.matmul(x.reshape(2, 2, 4), x.reshape(1, 4, 4)),
    "dot": lambda x, y: np.dot(x, y) + x.dot(y) + np.dot(2.0, y),
    "dot many axes": lambda x, y: np.dot(x.reshape(2, 2, 4), x.reshape(2, 4, 2)),
    "inner vdot outer": lambda x, y: np.inner(x, x) + np.vdot(y, y) + np.outer(y, y),
    "tensordot": lambda x, y: np.tensordot(x.reshape(2, 2, 4), x.reshape(4, 2, 2), axes=([2, 1], [0, 1])),
    "trace diag": lambda x, y: np.trace(x) + np.diag(y) + np.diag(x),
    "diag off": lambda x, y: np.diag(y, 1)[:4, 1:] + np.diag(y, -1)[1:, :4] + x,
    "transpose": lambda x, y: x.T * np.transpose(x) - x.swapaxes(0, 1) + np.moveaxis(x, 0, 1),
    "reshape": lambda x, y: x.reshape(2, 8).ravel() - np.reshape(x, (16,)) * x.flatten() + x.reshape(-1),
    "indexing": lambda x, y: x[0] - x[:, 1] + x[::-1, -1] * x[[3, 1, 0, 0], [0, 1, 2, 2]] + y[..., ::2].sum(),
    "mask indexing": lambda x, y: x[MASK] - x.T[MASK],
    "new axes": lambda x, y: y[:, None] * y[np.newaxis, :] + np.expand_dims(y, 0).squeeze(),
    "concatenate": lambda x, y: np.concatenate([x, y[None]]) - np.vstack([y, x]) + np.stack([y] * 5),
    "join constants": lambda x, y: np.concatenate([y, np.ones(4)]) * np.concatenate([y + 1, y]),
    "block": lambda x, y: np.block([[x, x], [np.ones((4, 4)), x]]) + np.tile(x, (2, 2)),
    "split": lambda x, y: np.split(x, 2)[1] - np.hsplit(x, 2)[0].T.ravel().reshape(2, 4),
    "triangles": lambda x, y: np.tril(x) + np.triu(x, 1) + x,
    "rolled": lambda x, y: np.roll(x, 1, axis=0) + np.flip(x) * np.repeat(y, 4).reshape(4, 4),
    "take": lambda x, y: np.take(x, [2, 0], axis=1) - np.delete(x, [0, 1], axis=1),
    "unpacked": lambda x, y: sum(row * y for row in x),
    "filled": lambda x, y: np.zeros_like(x) + x + np.ones_like(y) * y + np.full_like(y, 2.0) * y,
    "broadcast": lambda x, y: np.broadcast_to(y, (2, 4)) * x[:2],
    "shape": lambda x, y: x * (np.shape(x)[0] + np.ndim(y) + np.size(y) + len(x) + x.size + x.ndim),
    "left ndarray": lambda x, y: VECTOR * x + np.ones(4) @ x + VECTOR - y,
    "tuple": lambda x, y: (x + 1, y * y, x @ y),
    "list": lambda x, y: [x - y],
    "dict": lambda x, y: {"first": x.sum(), "second": y},
}


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str, options: dict[str, Any]) -> None:
    check_numbers(FUNCTIONS[name], options=options, x=(4, 4), y=4)


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,kj->ik", (2, 3), (4, 3)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("i,i", (3,), (3,)),
    ("ij,k->i", (2, 3), (2,)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("bhqd,bhkd->bhqk", (1, 2, 3, 2), (1, 2, 2, 2)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("i...,i...->...", (3, 2), (3, 2)),
    ("ii,i->i", (3, 3), (3,)),
    ("iij,jj->i", (2, 2, 3), (3, 3)),
    ("ijk,jkl->li", (2, 3, 2), (3, 2, 2)),
    ("ab,cd->dbca", (2, 2), (2, 3)),
]


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
@pytest.mark.parametrize(("subscripts", "left", "right"), EINSUMS)
def test_einsum_of_two(subscripts: str, left: Any, right: Any, options: dict[str, Any]) -> None:
    check_numbers(lambda a, b: np.einsum(subscripts, a, b), options=options, a=left, b=right)


@pytest.mark.parametrize("subscripts", ["ij->ji", "ij->j", "ij->", "ii->i", "ii", "i...->..."])
def test_einsum_of_one(subscripts: str) -> None:
    check_numbers(lambda a: np.einsum(subscripts, a), a=(3, 3))


def test_einsum_of_an_array_with_itself() -> None:
    check_numbers(lambda a: np.einsum("ij,jk->ik", a, a), a=(3, 3))
    check_numbers(lambda a: np.einsum("ij,ij->i", a, a), options={"fma": True}, a=(3, 3))


def test_zero_and_one_are_vertices() -> None:
    cdag = graphs.trace(lambda x: {"zero": x - x, "one": x / x}, x=2)
    assert cdag.ops is not None
    assert cdag.ops[2:].tolist() == [ScalarOp.ZERO] * 2 + [ScalarOp.ONE] * 2
    found = pebble.evaluate(cdag, {"x": [3.0, 5.0]})
    assert found["zero"].tolist() == [0, 0]
    assert found["one"].tolist() == [1, 1]


def test_masked_entries_cost_nothing() -> None:
    n, d = 5, 3
    mask = np.tril(np.ones((n, n), dtype=bool))

    def causal(Q: Any, K: Any, V: Any) -> Any:
        u = np.where(mask, np.exp(Q @ K.T), 0.0)
        return (u @ V) / u.sum(axis=1, keepdims=True)

    cdag = check_numbers(causal, Q=(n, d), K=(n, d), V=(n, d))
    pairs = n * (n + 1) // 2
    scores, sums = pairs * 2 * d, d * sum(2 * i - 1 for i in range(1, n + 1))
    assert cdag.num_vertices == 3 * n * d + scores + sums + (pairs - n) + n * d


@st.composite
def expressions(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Steps ``(kind, i, j, k)`` over a growing list of 3 × 3 arrays."""
    steps = []
    for length in range(draw(st.integers(1, 7))):
        pick = st.integers(0, length + 1)
        steps.append((draw(st.integers(0, 11)), draw(pick), draw(pick), draw(st.integers(0, 2))))
    return steps


def run(steps: list[tuple[int, int, int, int]], x: Any, y: Any) -> Any:
    mask = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]], dtype=bool)
    arrays = [x, y]
    for kind, i, j, k in steps:
        a, b = arrays[i], arrays[j]
        arrays.append(
            [
                lambda a, b, k: 0.5 * (a + b),
                lambda a, b, k: a - 0.25 * b,
                lambda a, b, k: 0.1 * (a * b),
                lambda a, b, k: a.T @ b * 0.1,
                lambda a, b, k: np.maximum(a, b),
                lambda a, b, k: a.sum(axis=k % 2, keepdims=True) * 0.2 + b,
                lambda a, b, k: np.where(mask, a, float(k)) + b * 0.1,
                lambda a, b, k: np.where(mask, a, float(k)) @ b * 0.1,
                lambda a, b, k: np.roll(a, k, axis=0),
                lambda a, b, k: np.stack([a, b, a]).sum(axis=0) * 0.2,
                lambda a, b, k: np.stack([a, np.where(mask, b, float(k)), a]).max(axis=0),
                lambda a, b, k: np.concatenate([a[:k], b[k:]]),
            ][kind](a, b, k)
        )
    return {"z": 1.5 * arrays[-1] + x}


@settings(max_examples=60, deadline=None)
@given(steps=expressions(), which=st.integers(0, len(SUMS) - 1))
def test_random_expressions(steps: list[tuple[int, int, int, int]], which: int) -> None:
    check_numbers(lambda x, y: run(steps, x, y), options=SUMS[which], x=(3, 3), y=(3, 3))


BIG_MASK = np.tril(np.ones((70, 70), dtype=bool))


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [
        (lambda x: x @ x.T, {"x": (64, 30)}),
        (lambda x, y: np.matmul(x, y), {"x": (3, 70, 20), "y": (3, 20, 60)}),
        (lambda x, y: np.where(BIG_MASK, x, 0.0) @ y, {"x": (70, 70), "y": (70, 40)}),
        (lambda x, y: np.diag(x @ y)[::2], {"x": (90, 2000), "y": (2000, 90)}),
        (lambda x: (x @ x.T)[::3, 1:40], {"x": (90, 30)}),
    ],
    ids=["repeated operands", "batches", "masked", "pruned", "pruned, repeated operands"],
)
def test_blocks_are_written_in_pieces_that_fit(fn: Callable[..., Any], shapes: dict[str, Any]) -> None:
    cdag = graphs.trace(fn, **shapes)
    assert cdag.num_vertices > 1 << 16
    assert cdag.ids_are_topological
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}
    np.testing.assert_allclose(pebble.evaluate(cdag, inputs)["out"], fn(**inputs), rtol=1e-12)
