"""What each JAX primitive becomes when an operand is traced.

Primitives that only move entries run as they are on the codes of the entries: in NumPy where that is one
call, else by JAX itself, on whole numbers in place of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphs import contractions
from graphs.blocks import Ints
from graphs.elementwise import apply_binary, apply_unary
from graphs.selection import select
from graphs.sums import MAX, SUM, Combine
from graphs.tape import ZERO_CODE, Tape
from graphs.tensors import TracedArray, as_codes, reduce
from pebble.errors import UnsupportedFunctionError

__all__ = ["LOWERINGS", "Context", "Unsupported"]


class Unsupported(UnsupportedFunctionError):
    """Why a primitive has no CDAG form; the runner adds its name and place."""


class Context:
    """What lowerings need: the module `jax` and the tape that they write to."""

    def __init__(self, jax: Any, tape: Tape) -> None:
        self.jax = jax
        self.tape = tape

    def codes(self, x: Any) -> Ints:
        """Values of a traced array, codes of a constant one (truth values are 1 and 0)."""
        return x.ids if isinstance(x, TracedArray) else as_codes(self.tape, np.asarray(x), "constant")

    def wrap(self, ids: Ints) -> TracedArray:
        """A traced array of these values."""
        return TracedArray(self.tape, ids.astype(self.tape.dtype, copy=False))

    def constant(self, equation: Any, arguments: Sequence[Any]) -> Sequence[Any]:
        """Carry out an equation on constants, by JAX."""
        result = equation.primitive.bind(*arguments, **equation.params)
        return result if equation.primitive.multiple_results else [result]

    def move(self, equation: Any, arguments: Sequence[Any], data: Sequence[int]) -> list[TracedArray]:
        """Carry out a movement of entries, by JAX, on the codes of the operands `data`."""
        moved = list(arguments)
        for i, x in enumerate(arguments):
            if i in data:
                moved[i] = self.jax.numpy.asarray(self.codes(x), dtype="int64")
            elif isinstance(x, TracedArray):
                raise Unsupported("where it takes entries from depends on values")
        results = [np.asarray(ids) for ids in self.constant(equation, moved)]
        if any(ids.size and ids.min() == np.iinfo(np.int64).min for ids in results):
            raise Unsupported("an index is out of range")
        return [self.wrap(ids) for ids in results]


Lowering = Callable[[Context, Any, list[Any]], Any]


# -- entry by entry -----------------------------------------------------------------------------------


def _unary(name: str) -> Lowering:
    return lambda c, _, args: c.wrap(apply_unary(c.tape, name, c.codes(args[0])))


def _binary(name: str, *, swap: bool = False) -> Lowering:
    def lower(c: Context, _: Any, args: list[Any]) -> TracedArray:
        left, right = (c.codes(x) for x in (reversed(args) if swap else args))
        return c.wrap(apply_binary(c.tape, name, left, right))

    return lower


def _not(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    if equation.invars[0].aval.dtype != np.bool_:
        raise Unsupported("it works on the bits of a computed number")
    return c.wrap(apply_binary(c.tape, "subtract", c.tape.lift(1.0), c.codes(args[0])))


def _truths(name: str) -> Lowering:
    def lower(c: Context, equation: Any, args: list[Any]) -> TracedArray:
        if equation.outvars[0].aval.dtype != np.bool_:
            raise Unsupported("it works on the bits of a computed number")
        result: TracedArray = _binary(name)(c, equation, args)
        return result

    return lower


def _not_equal(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    equal = _binary("equal")(c, equation, args)
    return c.wrap(apply_binary(c.tape, "subtract", c.tape.lift(1.0), equal.ids))


def _power(c: Context, exponent: float, ids: Ints) -> TracedArray:
    if exponent == -1.0:
        return c.wrap(apply_binary(c.tape, "divide", c.tape.lift(1.0), ids))
    return c.wrap(apply_binary(c.tape, "power", ids, c.tape.lift(exponent)))


def _pow(c: Context, _: Any, args: list[Any]) -> TracedArray:
    base, exponent = args
    if not isinstance(exponent, TracedArray):
        return c.wrap(apply_binary(c.tape, "power", c.codes(base), c.codes(exponent)))
    logarithm = apply_unary(c.tape, "log", c.codes(base))
    product = apply_binary(c.tape, "multiply", exponent.ids, logarithm)
    return c.wrap(apply_unary(c.tape, "exp", product))


def _log1p(c: Context, _: Any, args: list[Any]) -> TracedArray:
    return c.wrap(apply_unary(c.tape, "log", apply_binary(c.tape, "add", c.codes(args[0]), c.tape.lift(1.0))))


def _expm1(c: Context, _: Any, args: list[Any]) -> TracedArray:
    return c.wrap(
        apply_binary(c.tape, "add", apply_unary(c.tape, "exp", c.codes(args[0])), c.tape.lift(-1.0))
    )


def _exp2(c: Context, _: Any, args: list[Any]) -> TracedArray:
    scaled = apply_binary(c.tape, "multiply", c.codes(args[0]), c.tape.lift(np.log(2.0)))
    return c.wrap(apply_unary(c.tape, "exp", scaled))


def _tan(c: Context, _: Any, args: list[Any]) -> TracedArray:
    ids = c.codes(args[0])
    return c.wrap(
        apply_binary(c.tape, "divide", apply_unary(c.tape, "sin", ids), apply_unary(c.tape, "cos", ids))
    )


def _is_finite(c: Context, _: Any, args: list[Any]) -> TracedArray:
    ids = args[0].ids
    finite = (ids >= 0) | np.isfinite(c.tape.constants_of(np.minimum(ids, ZERO_CODE)))
    return c.wrap(c.tape.lift(finite.astype(np.float64)))


def _clamp(c: Context, _: Any, args: list[Any]) -> TracedArray:
    low, x, high = (c.codes(a) for a in args)
    return c.wrap(apply_binary(c.tape, "minimum", apply_binary(c.tape, "maximum", x, low), high))


def _select(c: Context, equation: Any, args: list[Any]) -> Any:
    which, *cases = args
    if not isinstance(which, TracedArray):
        return c.move(equation, args, range(1, len(args)))
    if len(cases) != 2:
        raise Unsupported("a computed choice among more than two")
    return c.wrap(select(c.tape, which.ids, c.codes(cases[1]), c.codes(cases[0])))


def _convert(c: Context, equation: Any, args: list[Any]) -> Any:
    if not np.issubdtype(equation.params["new_dtype"], np.floating):
        raise Unsupported(f"it turns a computed number into {equation.params['new_dtype']}")
    return args[0]


def _same(c: Context, equation: Any, args: list[Any]) -> list[Any]:
    return args


# -- moving entries -----------------------------------------------------------------------------------


def _reshape(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    dimensions = equation.params.get("dimensions")
    ids = args[0].ids if dimensions is None else args[0].ids.transpose(dimensions)
    return c.wrap(ids.reshape(equation.params["new_sizes"]))


def _transpose(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    return c.wrap(args[0].ids.transpose(equation.params["permutation"]))


def _squeeze(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    return c.wrap(args[0].ids.squeeze(tuple(equation.params["dimensions"])))


def _broadcast(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    spread = [1] * len(shape)
    for axis, length in zip(axes, args[0].shape, strict=True):
        spread[axis] = length
    return c.wrap(np.broadcast_to(args[0].ids.reshape(spread), shape))


def _slice(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    p = equation.params
    steps = p["strides"] or (1,) * args[0].ndim
    window = tuple(map(slice, p["start_indices"], p["limit_indices"], steps))
    return c.wrap(args[0].ids[window])


def _concatenate(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    return c.wrap(np.concatenate([c.codes(x) for x in args], axis=equation.params["dimension"]))


def _mover(*data: int) -> Lowering:
    return lambda c, equation, args: c.move(equation, args, data)


def _scatter_add(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    """Sums of the entries that meet at one place, in row-major order of the updates."""
    operand, indices, updates = args
    if isinstance(indices, TracedArray):
        raise Unsupported("where it puts entries depends on values")
    base, fresh = c.codes(operand), c.codes(updates)
    zeros = np.zeros(base.shape)

    def scatter(u: Any) -> Any:
        return equation.primitive.bind(zeros, indices, u, **equation.params)

    # Its transpose is a gather: of 1, 2, …, it fetches for each update the place where that is added.
    _, gather = c.jax.vjp(scatter, np.zeros(fresh.shape))
    (places,) = gather(np.arange(1.0, base.size + 1).reshape(base.shape))
    places = np.asarray(places).ravel().astype(np.int64) - 1
    inside = np.flatnonzero(places >= 0)
    result = base.ravel().astype(np.int64)
    order = inside[np.argsort(places[inside], kind="stable")]
    at = places[order]
    turn = np.arange(len(at)) - np.searchsorted(at, at)  # the how-manieth update of its place
    for k in range(int(turn.max(initial=-1)) + 1):
        mine = turn == k
        result[at[mine]] = apply_binary(c.tape, "add", result[at[mine]], fresh.ravel()[order[mine]])
    return c.wrap(result.reshape(base.shape))


# -- sums, products, running sums ---------------------------------------------------------------------


def _reduction(combine: Combine) -> Lowering:
    def lower(c: Context, equation: Any, args: list[Any]) -> TracedArray:
        return reduce(args[0], combine, tuple(int(a) for a in equation.params["axes"]))

    return lower


def _folded(name: str) -> Lowering:
    """Reductions without a block of their own: pairs one after another, or in halves for trees."""

    def lower(c: Context, equation: Any, args: list[Any]) -> TracedArray:
        over = tuple(int(a) for a in equation.params["axes"])
        stay = [a for a in range(args[0].ndim) if a not in over]
        shape = [args[0].shape[a] for a in stay]
        terms = list(np.moveaxis(args[0].ids.transpose(*stay, *over).reshape(*shape, -1), -1, 0))
        if not terms:
            raise Unsupported("an axis of length 0 has no value")
        while len(terms) > 1:
            width = 2 if c.tape.sums == "chain" else len(terms) & ~1
            head = [
                apply_binary(c.tape, name, a, b)
                for a, b in zip(terms[0:width:2], terms[1:width:2], strict=True)
            ]
            terms = head + terms[width:]
        return c.wrap(terms[0])

    return lower


def _running(name: str) -> Lowering:
    def lower(c: Context, equation: Any, args: list[Any]) -> TracedArray:
        axis, backwards = equation.params["axis"], equation.params["reverse"]
        terms = list(np.moveaxis(args[0].ids, axis, 0))
        if backwards:
            terms.reverse()
        for i in range(1, len(terms)):
            terms[i] = apply_binary(c.tape, name, terms[i - 1], terms[i])
        if backwards:
            terms.reverse()
        return c.wrap(np.stack(terms, axis=axis) if terms else args[0].ids)

    return lower


def _dot_general(c: Context, equation: Any, args: list[Any]) -> TracedArray:
    (left_over, right_over), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = (c.codes(x) for x in args)
    left_axes = [f"l{i}" for i in range(left.ndim)]
    right_axes = [f"r{i}" for i in range(right.ndim)]
    for i, j in (*zip(left_over, right_over, strict=True), *zip(left_batch, right_batch, strict=True)):
        right_axes[j] = left_axes[i]
    batch = [left_axes[i] for i in left_batch]
    summed = {left_axes[i] for i in left_over}
    free = [a for a in (*left_axes, *right_axes) if a not in summed and a not in batch]
    out = [*batch, *free]
    return c.wrap(contractions.contract(c.tape, left, left_axes, right, right_axes, out, "dot_general"))


LOWERINGS: dict[str, Lowering] = {
    "abs": _unary("absolute"),
    "add": _binary("add"),
    "add_any": _binary("add"),
    "and": _truths("multiply"),
    "broadcast_in_dim": _broadcast,
    "clamp": _clamp,
    "concatenate": _concatenate,
    "convert_element_type": _convert,
    "copy": _same,
    "copy_p": _same,
    "cos": _unary("cos"),
    "cummax": _running("maximum"),
    "cummin": _running("minimum"),
    "cumprod": _running("multiply"),
    "cumsum": _running("add"),
    "div": _binary("divide"),
    "dot_general": _dot_general,
    "dynamic_slice": _mover(0),
    "dynamic_update_slice": _mover(0, 1),
    "eq": _binary("equal"),
    "erf": _unary("erf"),
    "exp": _unary("exp"),
    "exp2": _exp2,
    "expm1": _expm1,
    "gather": _mover(0),
    "ge": _binary("greater_equal"),
    "gt": _binary("greater"),
    "integer_pow": lambda c, equation, args: _power(c, float(equation.params["y"]), c.codes(args[0])),
    "is_finite": _is_finite,
    "le": _binary("greater_equal", swap=True),
    "log": _unary("log"),
    "log1p": _log1p,
    "logistic": _unary("logistic"),
    "lt": _binary("greater", swap=True),
    "max": _binary("maximum"),
    "min": _binary("minimum"),
    "mul": _binary("multiply"),
    "ne": _not_equal,
    "neg": _unary("negative"),
    "not": _not,
    "optimization_barrier": _same,
    "or": _truths("maximum"),
    "pad": _mover(0, 1),
    "pow": _pow,
    "reduce_max": _reduction(MAX),
    "reduce_min": _folded("minimum"),
    "reduce_precision": lambda c, equation, args: args[0],
    "reduce_prod": _folded("multiply"),
    "reduce_sum": _reduction(SUM),
    "reshape": _reshape,
    "rev": _mover(0),
    "rsqrt": lambda c, equation, args: _power(c, -0.5, c.codes(args[0])),
    "scatter": _mover(0, 2),
    "scatter-add": _scatter_add,
    "select_n": _select,
    "sign": _unary("sign"),
    "sin": _unary("sin"),
    "slice": _slice,
    "split": _mover(0),
    "sqrt": _unary("sqrt"),
    "square": _unary("square"),
    "squeeze": _squeeze,
    "stop_gradient": _same,
    "sub": _binary("subtract"),
    "tan": _tan,
    "tanh": _unary("tanh"),
    "transpose": _transpose,
}
