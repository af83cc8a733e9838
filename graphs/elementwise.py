"""Scalar operations on whole arrays of values: which vertex, which constant, or no vertex at all.

An operation with a constant keeps the constant in `CDAG.op_const`; one whose result is a constant or one
of its operands (``x + 0``, ``x * 1``, ``x * 0``, ``0 / x``, ``x ** 1``, ``maximum(x, x)``) makes no vertex.
Traced values stand for finite numbers, so −∞, with which scores are masked, stays −∞ whatever is added to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphs.blocks import GeneralBlock, Ints, Template, UniformBlock
from graphs.tape import Tape
from pebble.errors import UnsupportedFunctionError
from pebble.operations import ScalarOp

__all__ = ["BINARY", "UNARY", "apply_binary", "apply_unary"]


class ConstantRule(NamedTuple):
    """An operation of one operand x and one constant c.

    Attributes
    ----------
    op : ScalarOp
    convert : callable, optional
        The constant to store, from c.
    neutral : float, optional
        The c for which the result is x itself.
    absorbing : tuple of pairs of float
        Each c for which the result is a constant whatever x is, and that constant.
    special : tuple of float and ScalarOp, optional
        A c for which an operation without a constant does the same.
    """

    op: ScalarOp
    convert: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    neutral: float | None = None
    absorbing: tuple[tuple[float, float], ...] = ()
    special: tuple[float, ScalarOp] | None = None


class BinaryRule(NamedTuple):
    """A ufunc of two operands; a missing rule is unsupported.

    `repeated` is the op of f(x, x), or the constant that f(x, x) is, or None where it is x itself.
    """

    ufunc: np.ufunc
    op: ScalarOp | None
    repeated: ScalarOp | float | None
    constant_right: ConstantRule
    constant_left: ConstantRule | None


_PLUS = ConstantRule(ScalarOp.ADD_CONST, neutral=0.0, absorbing=((-np.inf, -np.inf),))
_TIMES = ConstantRule(ScalarOp.MUL_CONST, neutral=1.0, absorbing=((0.0, 0.0),))
_AT_LEAST = ConstantRule(ScalarOp.MAX_CONST, neutral=-np.inf, absorbing=((np.inf, np.inf),))
_AT_MOST = ConstantRule(ScalarOp.MIN_CONST, neutral=np.inf, absorbing=((-np.inf, -np.inf),))
_NEVER = ((np.inf, 0.0), (-np.inf, 0.0))
_ABOVE = ((np.inf, 0.0), (-np.inf, 1.0))
_BELOW = ((np.inf, 1.0), (-np.inf, 0.0))
_EQUALS = ConstantRule(ScalarOp.EQUAL_CONST, absorbing=_NEVER)

BINARY: dict[str, BinaryRule] = {
    "add": BinaryRule(np.add, ScalarOp.ADD, ScalarOp.DOUBLE, _PLUS, _PLUS),
    "subtract": BinaryRule(
        np.subtract,
        ScalarOp.SUB,
        ScalarOp.ZERO,
        ConstantRule(ScalarOp.ADD_CONST, convert=np.negative, neutral=0.0),
        ConstantRule(ScalarOp.RSUB_CONST, absorbing=((-np.inf, -np.inf),), special=(0.0, ScalarOp.NEG)),
    ),
    "multiply": BinaryRule(np.multiply, ScalarOp.MUL, ScalarOp.SQUARE, _TIMES, _TIMES),
    "divide": BinaryRule(
        np.divide,
        ScalarOp.DIV,
        ScalarOp.ONE,
        ConstantRule(ScalarOp.DIV_CONST, neutral=1.0),
        ConstantRule(ScalarOp.RDIV_CONST, absorbing=((0.0, 0.0),)),
    ),
    "maximum": BinaryRule(np.maximum, ScalarOp.MAX, None, _AT_LEAST, _AT_LEAST),
    "power": BinaryRule(
        np.power,
        None,
        None,
        ConstantRule(
            ScalarOp.POW_CONST, neutral=1.0, absorbing=((0.0, 1.0),), special=(2.0, ScalarOp.SQUARE)
        ),
        None,
    ),
    "minimum": BinaryRule(np.minimum, ScalarOp.MIN, None, _AT_MOST, _AT_MOST),
    "greater": BinaryRule(
        np.greater,
        ScalarOp.GREATER,
        0.0,
        ConstantRule(ScalarOp.GREATER_CONST, absorbing=_ABOVE),
        ConstantRule(ScalarOp.LESS_CONST, absorbing=_BELOW),
    ),
    "greater_equal": BinaryRule(
        np.greater_equal,
        ScalarOp.GREATER_EQUAL,
        1.0,
        ConstantRule(ScalarOp.GREATER_EQUAL_CONST, absorbing=_ABOVE),
        ConstantRule(ScalarOp.LESS_EQUAL_CONST, absorbing=_BELOW),
    ),
    "equal": BinaryRule(np.equal, ScalarOp.EQUAL, 1.0, _EQUALS, _EQUALS),
}


def _logistic(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


UNARY: dict[str, tuple[Callable[..., Any], ScalarOp]] = {
    "negative": (np.negative, ScalarOp.NEG),
    "exp": (np.exp, ScalarOp.EXP),
    "log": (np.log, ScalarOp.LOG),
    "sqrt": (np.sqrt, ScalarOp.SQRT),
    "square": (np.square, ScalarOp.SQUARE),
    "tanh": (np.tanh, ScalarOp.TANH),
    "logistic": (_logistic, ScalarOp.LOGISTIC),
    "sin": (np.sin, ScalarOp.SIN),
    "cos": (np.cos, ScalarOp.COS),
    "absolute": (np.absolute, ScalarOp.ABS),
    "sign": (np.sign, ScalarOp.SIGN),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), ScalarOp.ERF),
}


@lru_cache(maxsize=64)
def _single(op: ScalarOp, operands: int) -> Template:
    return Template(
        ops=np.array([op], dtype=np.uint8),
        indptr=np.array([0, operands]),
        operand_edges=tuple(np.array([j]) for j in range(operands)),
        inner_edges=np.empty(0, dtype=np.int64),
        inner_vertices=np.empty(0, dtype=np.int64),
    )


def _uniform(tape: Tape, op: ScalarOp, shape: tuple[int, ...], *operands: Ints, const: Any = None) -> Ints:
    columns = tuple(ids[..., np.newaxis] for ids in operands)
    block = UniformBlock(tape.num_values, shape, _single(op, len(operands)), columns, const)
    return tape.add_block(block).reshape(shape)


def apply_unary(tape: Tape, name: str, ids: Ints) -> Ints:
    """The values of a function of one operand, entry by entry; constants are folded."""
    ufunc, op = UNARY[name]
    constant = ids < 0
    if not constant.any():
        return _uniform(tape, op, ids.shape, ids)
    result = np.empty(ids.shape, dtype=np.int64)
    result[constant] = tape.lift(_fold(ufunc, tape.constants_of(ids[constant])))
    inner = ids[~constant]
    result[~constant] = _uniform(tape, op, inner.shape, inner)
    return result.astype(tape.dtype)


def apply_binary(tape: Tape, name: str, left: Ints, right: Ints) -> Ints:
    """The values of a function of two operands, broadcast against each other.

    Raises UnsupportedFunctionError for a power whose exponent is traced.
    """
    rule = BINARY[name]
    shape = np.broadcast_shapes(left.shape, right.shape)
    if _all_values(left) and _all_values(right) and rule.op is not None:
        if not (np.broadcast_to(left, shape) == right).any():
            return _uniform(tape, rule.op, shape, left, right)
    elif _all_values(left) and right.ndim == 0:
        plain = _with_scalar(tape, rule.constant_right, left, float(tape.constants_of(right)))
        return np.broadcast_to(plain, shape)
    a, b = np.broadcast_to(left, shape).ravel(), np.broadcast_to(right, shape).ravel()
    return _mixed(tape, rule, a, b).reshape(shape)


def _all_values(ids: Ints) -> bool:
    return ids.size == 0 or int(ids.min()) >= 0


def _fold(ufunc: Callable[..., Any], *constants: NDArray[np.float64]) -> NDArray[np.float64]:
    # A mask of -inf is an ordinary constant: folding log(0) or exp(-inf) is no cause for a warning.
    with np.errstate(all="ignore"):
        folded: NDArray[np.float64] = ufunc(*constants)
    return folded


def _with_scalar(tape: Tape, rule: ConstantRule, ids: Ints, c: float) -> Ints:
    if rule.neutral is not None and c == rule.neutral:
        return ids
    for absorbed, result in rule.absorbing:
        if c == absorbed:
            return np.broadcast_to(tape.lift(result), ids.shape)
    if rule.special is not None and c == rule.special[0]:
        return _uniform(tape, rule.special[1], ids.shape, ids)
    stored = c if rule.convert is None else float(rule.convert(np.array(c)))
    return _uniform(tape, rule.op, ids.shape, ids, const=stored)


def _mixed(tape: Tape, rule: BinaryRule, a: Ints, b: Ints) -> Ints:
    """Entry by entry: constants on either side, repeated operands, plain pairs, in one row-major block."""
    count = len(a)
    const_a, const_b = a < 0, b < 0
    op = np.zeros(count, dtype=np.uint8)
    second = np.where(const_a | const_b | (a == b), -1, b)
    first = np.where(const_a, b, a)
    stored = np.zeros(count)
    made = np.ones(count, dtype=np.bool_)
    result = np.empty(count, dtype=np.int64)

    both = const_a & const_b
    made[both] = False
    result[both] = tape.lift(_fold(rule.ufunc, tape.constants_of(a[both]), tape.constants_of(b[both])))
    for mask, values, constants, side in (
        (const_b & ~const_a, a, b, rule.constant_right),
        (const_a & ~const_b, b, a, rule.constant_left),
    ):
        where = np.flatnonzero(mask)
        if not len(where):
            continue
        if side is None:
            raise UnsupportedFunctionError(
                f"np.{rule.ufunc.__name__} of a constant and a traced exponent has no CDAG form: "
                "write exp(log(base) * x)"
            )
        _constant_side(tape, side, where, values[where], constants[where], op, stored, made, result)

    repeated = (a == b) & ~const_a
    if rule.op is None:
        if not (const_a | const_b).all():
            raise UnsupportedFunctionError(
                f"np.{rule.ufunc.__name__} takes a constant exponent in a traced function, got a traced one: "
                "write exp(y * log(x))"
            )
    else:
        op[~(const_a | const_b)] = rule.op
        if isinstance(rule.repeated, ScalarOp):
            op[repeated] = rule.repeated
        else:
            made[repeated] = False
            result[repeated] = a[repeated] if rule.repeated is None else tape.lift(rule.repeated)

    pairs = np.column_stack((first, second))[made]
    codes = pairs[pairs >= 0]
    consts = stored[made]
    block = GeneralBlock(
        tape.num_values,
        np.ones(len(pairs), dtype=np.int64),
        op[made],
        (pairs >= 0).sum(axis=1),
        codes,
        consts if consts.any() else None,
    )
    result[made] = tape.add_block(block)
    return result.astype(tape.dtype)


def _constant_side(
    tape: Tape,
    rule: ConstantRule,
    where: Ints,
    values: Ints,
    codes: Ints,
    op: NDArray[np.uint8],
    stored: NDArray[np.float64],
    made: NDArray[np.bool_],
    result: Ints,
) -> None:
    """Fill in the entries `where` that combine a value with a constant."""
    c = tape.constants_of(codes)
    op[where] = rule.op
    stored[where] = c if rule.convert is None else rule.convert(c)
    if rule.special is not None:
        hit = where[c == rule.special[0]]
        op[hit] = rule.special[1]
        stored[hit] = 0.0
    if rule.neutral is not None:
        hits = c == rule.neutral
        made[where[hits]] = False
        result[where[hits]] = values[hits]
    for absorbed, constant in rule.absorbing:
        hits = c == absorbed
        made[where[hits]] = False
        result[where[hits]] = tape.lift(constant)
