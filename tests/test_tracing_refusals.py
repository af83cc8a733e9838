"""What cannot be traced is refused in one line that names it and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphs
from pebble.errors import GraphSpecError, UnsupportedFunctionError


def assign(x: Any) -> Any:
    x[0, 0] = 1.0
    return x


def assign_into_ndarray(x: Any) -> Any:
    out = np.zeros((2, 2))
    out[0] = x[0]
    return out


def add_in_place(x: Any) -> Any:
    x += 1
    return x


def add_to_ndarray(x: Any) -> Any:
    total = np.zeros((2, 2))
    total += x
    return total


UNSUPPORTED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("arcsin", np.arcsin, r"np\.arcsin has no CDAG form"),
    ("cosh", np.cosh, r"np\.cosh has no CDAG form"),
    ("hypot", lambda x: np.hypot(x, 1), r"np\.hypot has no CDAG form"),
    ("cumsum", np.cumsum, r"np\.cumsum has no CDAG form"),
    ("prod", np.prod, r"np\.prod has no CDAG form"),
    ("sort", np.sort, r"np\.sort has no CDAG form"),
    ("norm", np.linalg.norm, r"np\.linalg\.norm has no CDAG form"),
    ("inverse", np.linalg.inv, r"np\.linalg\.inv has no CDAG form"),
    ("fft", np.fft.fft, r"np\.fft\.fft has no CDAG form"),
    ("method", lambda x: x.cumsum(), r"ndarray\.cumsum cannot be traced"),
    ("greater", lambda x: np.where(x > 0, x, 0), r"np\.greater of a traced array .* fixed ndarray mask"),
    ("where", lambda x: np.where(x, x, 0), r"np\.where on a traced condition .* fixed ndarray"),
    ("where alone", lambda x: np.where(np.eye(2), x), r"np\.where of a traced array takes a mask and both"),
    ("if", lambda x: x if x[0, 0] else -x, "the truth value of a traced array"),
    ("float", lambda x: float(x[0, 0]) * x, r"float\(\) of a traced array"),
    ("int", lambda x: int(x[0, 0]) * x, r"int\(\) of a traced array"),
    ("item", lambda x: x[0, 0].item() * x, r"item\(\) of a traced array"),
    ("range", lambda x: range(x[0, 0]), "the index of a traced array"),
    ("assignment", assign, r"x\[\.\.\.\] = y cannot be traced: build a new array with np\.where"),
    ("assignment into ndarray", assign_into_ndarray, "a traced array cannot become an ndarray"),
    ("asarray", np.asarray, "a traced array cannot become an ndarray"),
    ("array of traced", lambda x: np.array([x, x]), "a traced array cannot become an ndarray"),
    ("in place", add_in_place, r"np\.add in place .* write x = x \+ y"),
    ("ndarray in place", add_to_ndarray, r"np\.add in place"),
    ("out", lambda x: np.sum(x, axis=0, out=np.zeros(2)), r"np\.sum with out= cannot be traced"),
    ("ufunc where", lambda x: np.add(x, x, where=np.eye(2, dtype=bool)), r"np\.add with where= cannot be"),
    ("sum where", lambda x: x.sum(where=np.eye(2, dtype=bool)), r"np\.sum with where= cannot be traced"),
    ("sum initial", lambda x: np.sum(x, initial=1.0), r"np\.sum with initial= cannot be traced"),
    ("sum of ints", lambda x: x.sum(dtype=int), r"np\.sum with dtype= cannot be traced"),
    ("accumulate", np.add.accumulate, r"np\.add\.accumulate cannot be traced"),
    ("product reduce", np.multiply.reduce, r"np\.multiply\.reduce cannot be traced"),
    ("traced exponent", lambda x: x**x, r"np\.power takes a constant exponent .* exp\(y \* log\(x\)\)"),
    ("constant base", lambda x: 2**x, r"np\.power of a constant and a traced exponent .* exp\(log\(base\)"),
    ("traced index", lambda x: x[x], "indexing with a traced array"),
    ("traced indices", lambda x: np.take(x, x), r"np\.take takes one traced array"),
    (
        "einsum of three",
        lambda x: np.einsum("ij,jk,kl", x, x, x),
        r"np\.einsum of 3 operands .* two at a time",
    ),
    ("einsum by lists", lambda x: np.einsum(x, [0, 1]), r"np\.einsum is traced in the form"),
    ("text", lambda x: x + np.array(["a", "b"]), r"np\.add of a traced array and a constant of type <U1"),
    ("complex", lambda x: x * 1j, r"np\.multiply of a traced array and a constant of type complex128"),
    (
        "list",
        lambda x: np.add(x, [x[0], x[1]]),
        r"np\.add of a list that holds traced arrays: join them with np\.stack",
    ),
    ("integers", lambda x: x.astype(int), "cannot be traced: a traced scalar is a real number"),
    ("empty maximum", lambda x: x[:0].max(axis=0), r"np\.max over an axis of length 0"),
]


@pytest.mark.parametrize(
    ("fn", "message"), [case[1:] for case in UNSUPPORTED], ids=[c[0] for c in UNSUPPORTED]
)
def test_unsupported(fn: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(UnsupportedFunctionError, match=message) as caught:
        graphs.trace(lambda x: fn(x), x=(2, 2))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda x: 1.0, r"the returned 'out' is a constant \(float\)"),
        (lambda x: {"y": x, "mask": np.ones(2)}, r"the returned 'mask' is a constant \(ndarray\)"),
        (lambda x: {"y": np.tril(x)}, r"the returned 'y' holds 1 constant\(s\), the first is y\[0,1\] = 0"),
        (lambda x: x * 0 + 3, r"the returned 'out' holds 4 constant\(s\), the first is out\[0,0\] = 3"),
        (lambda x: [], "returned no array"),
        (lambda x: {"x": -x}, "two different arrays of the traced function are named 'x'"),
        (lambda x: graphs.named("s", -x) + graphs.named("s", np.exp(x)), "are named 's'"),
    ],
)
def test_bad_results(fn: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(GraphSpecError, match=message):
        graphs.trace(fn, x=(2, 2))


@pytest.mark.parametrize("shape", [0, -1, (2, 0), 2.5, "ab", (2, True), None, [2, 2]])
def test_bad_shapes(shape: Any) -> None:
    with pytest.raises(GraphSpecError, match=r"the shape of x is .* whole numbers of at least 1"):
        graphs.trace(lambda x: x, x=shape)


def test_bad_sums() -> None:
    with pytest.raises(GraphSpecError, match="sums='star' is none of chain, tree, flat"):
        graphs.trace(lambda x: x.sum(), x=3, sums="star")
    with pytest.raises(GraphSpecError, match="fma=True goes with sums=chain or tree"):
        graphs.trace(lambda x: x.sum(), x=3, sums="flat", fma=True)


def test_shapes_that_do_not_match_are_refused_as_by_numpy() -> None:
    with pytest.raises(ValueError, match=r"matmul: shapes \(2, 3\) and \(2, 3\) do not match"):
        graphs.trace(lambda x: x @ x, x=(2, 3))
    with pytest.raises(ValueError, match="shape"):
        graphs.trace(lambda x, y: x + y, x=(2, 3), y=(2, 2))
    with pytest.raises(ValueError, match="einsum: axis 'j' has lengths 3 and 2"):
        graphs.trace(lambda x: np.einsum("ij,jk", x, x), x=(2, 3))
    with pytest.raises(ValueError, match="einsum: 'ijk' in"):
        graphs.trace(lambda x: np.einsum("ijk->i", x), x=(2, 3))
    with pytest.raises(IndexError):
        graphs.trace(lambda x: x[5], x=(2, 3))


def test_arrays_of_another_trace() -> None:
    kept: list[Any] = []
    graphs.trace(lambda x: kept.append(x) or x, x=2)
    with pytest.raises(UnsupportedFunctionError, match=r"np\.add mixes arrays of two different traces"):
        graphs.trace(lambda x: x + kept[0], x=2)
    with pytest.raises(UnsupportedFunctionError, match="comes from another trace"):
        graphs.trace(lambda x: kept[0], x=2)


def test_errors_of_the_function_itself_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        graphs.trace(lambda x: x * (1 // 0), x=2)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        graphs.trace(lambda x: x.nonsense, x=2)
