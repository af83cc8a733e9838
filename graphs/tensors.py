"""`TracedArray`: what a traced function gets in place of an ndarray."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from graphs import elementwise
from graphs.blocks import Ints
from graphs.contractions import matmul
from graphs.sums import MAX, SUM, Combine
from graphs.tape import Tape
from graphs.terms import combine_terms
from pebble.errors import UnsupportedFunctionError

__all__ = ["TracedArray", "as_codes", "reduce"]

SUPPORTED = (
    "supported are + - * / @, negative, exp, log, sqrt, square, reciprocal, power with a constant exponent, "
    "tanh, sin, cos, absolute, sign, maximum, minimum, where on a fixed mask, sum, mean, max, dot, einsum, "
    "and rearranging (indexing, reshape, transpose, concatenate, …)"
)


class TracedArray(NDArrayOperatorsMixin):
    """An array of scalars whose computation is being written down.

    It stands in for an ndarray of floats: NumPy functions, operators, indexing and methods work on it and
    record one vertex per scalar operation. It has no numbers, so nothing may depend on its values.

    Parameters
    ----------
    tape : Tape
        The trace it belongs to.
    ids : ndarray of int
        Values; negative entries are constants.
    """

    __slots__ = ("ids", "tape")

    def __init__(self, tape: Tape, ids: Ints) -> None:
        self.tape = tape
        self.ids = ids

    # -- what it looks like ---------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, as of an ndarray."""
        return self.ids.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.ids.ndim

    @property
    def size(self) -> int:
        """Number of scalars."""
        return self.ids.size

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """Always float64: a traced scalar is a real number."""
        return np.dtype(np.float64)

    @property
    def T(self) -> TracedArray:
        """The transpose."""
        return TracedArray(self.tape, self.ids.T)

    @property
    def mT(self) -> TracedArray:
        """The transpose of the last two axes."""
        return TracedArray(self.tape, np.swapaxes(self.ids, -1, -2))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[TracedArray]:
        for ids in self.ids:
            yield TracedArray(self.tape, np.asarray(ids))

    def __repr__(self) -> str:
        return f"<TracedArray of shape {self.shape}>"

    # -- NumPy's protocols ----------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = "divide" if ufunc is np.true_divide else ufunc.__name__
        if kwargs.pop("out", None) is not None:
            raise UnsupportedFunctionError(
                f"np.{name} in place (out= or an operator such as +=) cannot be traced: "
                "write x = x + y, which makes a new array"
            )
        if method == "reduce" and name in ("add", "maximum"):
            return reduce(inputs[0], SUM if name == "add" else MAX, **kwargs)
        if method != "__call__":
            raise UnsupportedFunctionError(f"np.{name}.{method} cannot be traced; {SUPPORTED}")
        if kwargs:
            raise UnsupportedFunctionError(
                f"np.{name} with {', '.join(kwargs)}= cannot be traced: call it without"
            )
        if name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"):
            raise UnsupportedFunctionError(
                f"np.{name} of a traced array has no CDAG form: a graph cannot depend on values; "
                "use np.where on a fixed ndarray mask, or np.maximum"
            )
        if name in elementwise.UNARY:
            return TracedArray(self.tape, elementwise.apply_unary(self.tape, name, self.ids))
        if name == "positive":
            return self
        if name == "reciprocal":
            one = self.tape.lift(1.0)
            return TracedArray(self.tape, elementwise.apply_binary(self.tape, "divide", one, self.ids))
        if name in elementwise.BINARY:
            left, right = (as_codes(self.tape, x, name) for x in inputs)
            return TracedArray(self.tape, elementwise.apply_binary(self.tape, name, left, right))
        if name == "matmul":
            left, right = (as_codes(self.tape, x, name) for x in inputs)
            return TracedArray(self.tape, matmul(self.tape, left, right))
        raise UnsupportedFunctionError(f"np.{name} has no CDAG form; {SUPPORTED}")

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        from graphs.array_functions import call

        return call(self.tape, func, args, kwargs)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedFunctionError(
            "a traced array cannot become an ndarray (np.array, np.asarray, or assignment into an ndarray): "
            "build new arrays with np.stack, np.concatenate or np.where"
        )

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise UnsupportedFunctionError(
            "x[...] = y cannot be traced: build a new array with np.where, np.concatenate or np.stack"
        )

    def _no_number(self, what: str) -> NoReturn:
        raise UnsupportedFunctionError(
            f"{what} of a traced array: it has no value while it is traced, so the graph cannot depend on it"
        )

    def __bool__(self) -> bool:
        self._no_number("the truth value")

    def __float__(self) -> float:
        self._no_number("float()")

    def __int__(self) -> int:
        self._no_number("int()")

    def __index__(self) -> int:
        self._no_number("the index")

    def item(self, *_: Any) -> NoReturn:
        """Refused: there is no number yet."""
        self._no_number("item()")

    # -- indexing and methods -------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> TracedArray:
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, TracedArray):
                raise UnsupportedFunctionError(
                    "indexing with a traced array cannot be traced: indices must be fixed"
                )
        return TracedArray(self.tape, np.asarray(self.ids[key]))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> TracedArray:
        """Sum over axes, as `numpy.sum`."""
        return reduce(self, SUM, axis, dtype, out, **kwargs)

    def max(self, axis: Any = None, out: Any = None, **kwargs: Any) -> TracedArray:
        """Largest over axes, as `numpy.max`."""
        return reduce(self, MAX, axis, None, out, **kwargs)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> TracedArray:
        """Mean over axes: a sum, then a division by a constant."""
        total = reduce(self, SUM, axis, dtype, out, **kwargs)
        quotient: TracedArray = total / (self.size / max(total.size, 1))
        return quotient

    def dot(self, other: Any) -> TracedArray:
        """As `numpy.dot`."""
        product: TracedArray = np.dot(self, other)
        return product

    def reshape(self, *shape: Any, order: Any = "C") -> TracedArray:
        """The same scalars in another shape."""
        return TracedArray(self.tape, self.ids.reshape(*shape, order=order))

    def ravel(self, order: Any = "C") -> TracedArray:
        """The same scalars in one axis."""
        return TracedArray(self.tape, self.ids.ravel(order))

    flatten = ravel

    def transpose(self, *axes: Any) -> TracedArray:
        """Axes permuted."""
        return TracedArray(self.tape, self.ids.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> TracedArray:
        """Two axes exchanged."""
        return TracedArray(self.tape, self.ids.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> TracedArray:
        """Axes of length one removed."""
        return TracedArray(self.tape, self.ids.squeeze(axis))

    def repeat(self, repeats: Any, axis: Any = None) -> TracedArray:
        """Entries repeated; no vertex is added."""
        return TracedArray(self.tape, self.ids.repeat(repeats, axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TracedArray:
        """A diagonal."""
        return TracedArray(self.tape, self.ids.diagonal(offset, axis1, axis2))

    def copy(self, order: Any = "C") -> TracedArray:
        """The array itself: a traced array never changes."""
        return self

    def astype(self, dtype: Any, **_: Any) -> TracedArray:
        """The array itself, for floating types."""
        if not np.issubdtype(dtype, np.floating):
            raise UnsupportedFunctionError(
                f"astype({dtype}) cannot be traced: a traced scalar is a real number"
            )
        return self

    def __getattr__(self, name: str) -> NoReturn:
        # Dunder look-ups are Python's and NumPy's way to ask what an object can do.
        if not name.startswith("_") and hasattr(np.ndarray, name):
            raise UnsupportedFunctionError(f"ndarray.{name} cannot be traced; {SUPPORTED}")
        raise AttributeError(f"a traced array has no attribute '{name}'")


def as_codes(tape: Tape, x: Any, function: str) -> Ints:
    """Values of a traced array of this trace, or codes of a constant array.

    Raises UnsupportedFunctionError, naming `function`, for an array of another trace or one without numbers.
    """
    if isinstance(x, TracedArray):
        if x.tape is not tape:
            raise UnsupportedFunctionError(f"np.{function} mixes arrays of two different traces")
        return x.ids
    if isinstance(x, (list, tuple)) and _holds_traced(x):
        raise UnsupportedFunctionError(
            f"np.{function} of a list that holds traced arrays: join them with np.stack first"
        )
    array = np.asarray(x)
    if array.dtype.kind not in "biuf":
        raise UnsupportedFunctionError(
            f"np.{function} of a traced array and a constant of type {array.dtype}"
        )
    return tape.lift(array.astype(np.float64))


def _holds_traced(sequence: Any) -> bool:
    stack = [sequence]
    while stack:
        item = stack.pop()
        if isinstance(item, TracedArray):
            return True
        if isinstance(item, (list, tuple)):
            stack.extend(item)
    return False


def reduce(
    x: TracedArray,
    combine: Combine,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    **kwargs: Any,
) -> TracedArray:
    """Sum or maximum over axes; terms in row-major order of the axes."""
    name = "sum" if combine is SUM else "max"
    refused = [key for key, value in kwargs.items() if value is not np._NoValue]
    if out is not None or refused or (dtype is not None and not np.issubdtype(dtype, np.floating)):
        given = refused or ["out" if out is not None else "dtype"]
        raise UnsupportedFunctionError(f"np.{name} with {given[0]}= cannot be traced: call it without")
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    over = tuple(sorted(np.lib.array_utils.normalize_axis_index(a, x.ndim) for a in axes))
    stay = tuple(a for a in range(x.ndim) if a not in over)
    shape = tuple(x.shape[a] for a in stay)
    k = int(np.prod([x.shape[a] for a in over], dtype=np.int64))
    if combine is MAX and k == 0:
        raise UnsupportedFunctionError("np.max over an axis of length 0 has no value")
    terms = x.ids.transpose(*stay, *over).reshape(*shape, k)
    values = combine_terms(x.tape, terms, combine)
    if keepdims is True:
        values = values.reshape([1 if a in over else x.shape[a] for a in range(x.ndim)])
    return TracedArray(x.tape, values)
