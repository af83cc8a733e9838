"""NumPy functions on traced arrays: what ``__array_function__`` answers.

Functions that only move entries run as they are on the array of values. The others are written in terms of
sums, maxima and products. Any function that is not listed raises UnsupportedFunctionError with its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphs import contractions
from graphs.blocks import Ints
from graphs.elementwise import apply_binary
from graphs.sums import MAX, SUM
from graphs.tape import ZERO_CODE, Tape
from graphs.tensors import SUPPORTED, TracedArray, as_codes, reduce
from pebble.errors import UnsupportedFunctionError

__all__ = ["call"]

Handler = Callable[..., Any]

# One array in, the same entries elsewhere out.
_MOVERS: tuple[Callable[..., Any], ...] = (
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.broadcast_to,
    np.copy,
    np.delete,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.roll,
    np.rollaxis,
    np.rot90,
    np.squeeze,
    np.swapaxes,
    np.take,
    np.take_along_axis,
    np.tile,
    np.transpose,
    # and into several arrays
    np.array_split,
    np.dsplit,
    np.hsplit,
    np.split,
    np.unstack if hasattr(np, "unstack") else np.split,
    np.vsplit,
)

# A sequence of arrays in, their entries in one array out.
_JOINERS: tuple[Callable[..., Any], ...] = (
    np.column_stack,
    np.concatenate,
    np.dstack,
    np.hstack,
    np.stack,
    np.vstack,
)


def call(tape: Tape, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function on traced arrays, or say that it has no CDAG form."""
    name = func.__name__
    place = func.__module__.replace("numpy", "np", 1)
    if kwargs.get("out") is not None:
        raise UnsupportedFunctionError(f"np.{name} with out= cannot be traced: use the array it returns")
    handler = _HANDLERS.get(func)
    if handler is not None:
        return handler(tape, *args, **kwargs)
    if func in _MOVERS:
        return _move(tape, func, args, kwargs)
    if func in _JOINERS:
        arrays, *rest = args
        parts = [as_codes(tape, x, name) for x in arrays]
        return TracedArray(tape, func(parts, *rest, **kwargs))
    if func in (np.shape, np.ndim, np.size):
        return func(*(_stand_in(x) for x in args), **kwargs)
    raise UnsupportedFunctionError(f"{place}.{name} has no CDAG form; {SUPPORTED}")


def _stand_in(x: Any) -> Any:
    return x.ids if isinstance(x, TracedArray) else x


def _move(tape: Tape, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(x, TracedArray) for x in (*args[1:], *kwargs.values())):
        raise UnsupportedFunctionError(
            f"np.{func.__name__} takes one traced array, its first argument: the others must be fixed"
        )
    moved = func(args[0].ids, *args[1:], **kwargs)
    if isinstance(moved, (list, tuple)):
        return type(moved)(TracedArray(tape, np.asarray(ids)) for ids in moved)
    return TracedArray(tape, np.asarray(moved))


def _where(tape: Tape, condition: Any, x: Any = None, y: Any = None) -> TracedArray:
    if isinstance(condition, TracedArray):
        raise UnsupportedFunctionError(
            "np.where on a traced condition has no CDAG form: the mask must be a fixed ndarray"
        )
    if x is None or y is None:
        raise UnsupportedFunctionError("np.where of a traced array takes a mask and both choices")
    return TracedArray(tape, np.where(condition, as_codes(tape, x, "where"), as_codes(tape, y, "where")))


def _reduction(combine: Any, name: str) -> Handler:
    def handler(tape: Tape, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kw: Any) -> Any:
        if not isinstance(a, TracedArray):
            raise UnsupportedFunctionError(f"np.{name} takes one traced array, its first argument")
        return reduce(a, combine, axis, dtype, out, **kw)

    return handler


def _max(tape: Tape, a: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return _reduction(MAX, "max")(tape, a, axis, None, out, **kwargs)


def _mean(tape: Tape, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
    total = _reduction(SUM, "mean")(tape, a, axis, dtype, out, **kwargs)
    return total / (a.size / max(total.size, 1))


def _product(function: str, compute: Callable[[Tape, Ints, Ints], Ints]) -> Handler:
    def handler(tape: Tape, a: Any, b: Any) -> TracedArray:
        return TracedArray(tape, compute(tape, as_codes(tape, a, function), as_codes(tape, b, function)))

    return handler


def _outer(tape: Tape, a: Ints, b: Ints) -> Ints:
    return apply_binary(tape, "multiply", a.ravel()[:, np.newaxis], b.ravel())


def _vdot(tape: Tape, a: Ints, b: Ints) -> Ints:
    return contractions.dot(tape, a.ravel(), b.ravel())


def _inner(tape: Tape, a: Ints, b: Ints) -> Ints:
    if a.ndim == 0 or b.ndim == 0:
        return apply_binary(tape, "multiply", a, b)
    return contractions.dot(tape, a, b if b.ndim == 1 else np.swapaxes(b, -1, -2))


def _tensordot(tape: Tape, a: Any, b: Any, axes: Any = 2) -> TracedArray:
    left, right = as_codes(tape, a, "tensordot"), as_codes(tape, b, "tensordot")
    if isinstance(axes, int):
        axes = (range(left.ndim - axes, left.ndim), range(axes))
    over = [[axis] if isinstance(axis, int) else list(axis) for axis in axes]
    letters = [chr(ord("a") + i) for i in range(left.ndim + right.ndim)]
    left_axes, right_axes = letters[: left.ndim], letters[left.ndim :]
    for i, j in zip(*over, strict=True):
        right_axes[j] = left_axes[i]
    out = [c for c in (*left_axes, *right_axes) if (c in left_axes) != (c in right_axes)]
    return TracedArray(
        tape, contractions.contract(tape, left, left_axes, right, right_axes, out, "tensordot")
    )


def _einsum(tape: Tape, subscripts: Any, *operands: Any, optimize: Any = False, **kwargs: Any) -> TracedArray:
    if not isinstance(subscripts, str) or kwargs:
        raise UnsupportedFunctionError("np.einsum is traced in the form np.einsum('ij,jk->ik', a, b) only")
    values = contractions.einsum(tape, subscripts, [as_codes(tape, x, "einsum") for x in operands])
    return TracedArray(tape, values)


def _triangle(keep: Callable[..., Any]) -> Handler:
    def handler(tape: Tape, m: Any, k: int = 0) -> TracedArray:
        return TracedArray(tape, np.where(keep(np.ones(m.shape[-2:], dtype=bool), k), m.ids, ZERO_CODE))

    return handler


def _diag(tape: Tape, v: Any, k: int = 0) -> TracedArray:
    if v.ndim != 1:
        return TracedArray(tape, np.diagonal(v.ids, k))
    n = v.size + abs(k)
    ids = np.full((n, n), ZERO_CODE, dtype=v.ids.dtype)
    rows = np.arange(v.size) + max(-k, 0)
    ids[rows, rows + k] = v.ids
    return TracedArray(tape, ids)


def _trace(tape: Tape, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TracedArray:
    return reduce(TracedArray(tape, a.ids.diagonal(offset, axis1, axis2)), SUM, -1)


def _block(tape: Tape, arrays: Any) -> TracedArray:
    def codes(item: Any) -> Any:
        return [codes(x) for x in item] if isinstance(item, list) else as_codes(tape, item, "block")

    return TracedArray(tape, np.block(codes(arrays)))


def _append(tape: Tape, arr: Any, values: Any, axis: Any = None) -> TracedArray:
    return TracedArray(tape, np.append(as_codes(tape, arr, "append"), as_codes(tape, values, "append"), axis))


def _filled(make: Callable[..., Any]) -> Handler:
    """zeros_like and its kin give ordinary arrays of constants."""

    def handler(tape: Tape, a: Any, *args: Any, **kwargs: Any) -> Any:
        return make(np.empty(a.shape), *args, **kwargs)

    return handler


_HANDLERS: dict[Callable[..., Any], Handler] = {
    np.where: _where,
    np.sum: _reduction(SUM, "sum"),
    np.max: _max,
    np.amax: _max,
    np.mean: _mean,
    np.dot: _product("dot", contractions.dot),
    np.vdot: _product("vdot", _vdot),
    np.inner: _product("inner", _inner),
    np.outer: _product("outer", _outer),
    np.tensordot: _tensordot,
    np.einsum: _einsum,
    np.tril: _triangle(np.tril),
    np.triu: _triangle(np.triu),
    np.diag: _diag,
    np.trace: _trace,
    np.block: _block,
    np.append: _append,
    np.zeros_like: _filled(np.zeros_like),
    np.ones_like: _filled(np.ones_like),
    np.full_like: _filled(np.full_like),
}
