"""Compiled arithmetic on CDAGs. Importing this module imports numba, so only functions import it."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pebble.operations import ScalarOp

__all__ = ["evaluate", "execute", "first_bad_operand_count"]

# Plain ints: the compiler folds them into the comparisons below.
_INPUT, _ADD, _SUB, _MUL, _DIV = map(
    int, (ScalarOp.INPUT, ScalarOp.ADD, ScalarOp.SUB, ScalarOp.MUL, ScalarOp.DIV)
)
_MAX, _FMA, _NEG, _EXP, _LOG = map(
    int, (ScalarOp.MAX, ScalarOp.FMA, ScalarOp.NEG, ScalarOp.EXP, ScalarOp.LOG)
)
_SQRT, _SQUARE, _DOUBLE, _FMA_SQUARE, _POW_CONST = map(
    int, (ScalarOp.SQRT, ScalarOp.SQUARE, ScalarOp.DOUBLE, ScalarOp.FMA_SQUARE, ScalarOp.POW_CONST)
)
_ADD_CONST, _RSUB_CONST, _MUL_CONST, _DIV_CONST, _RDIV_CONST = map(
    int,
    (ScalarOp.ADD_CONST, ScalarOp.RSUB_CONST, ScalarOp.MUL_CONST, ScalarOp.DIV_CONST, ScalarOp.RDIV_CONST),
)
_MAX_CONST, _SUM, _MAX_ALL, _ZERO, _ONE, _COPY = map(
    int,
    (ScalarOp.MAX_CONST, ScalarOp.SUM, ScalarOp.MAX_ALL, ScalarOp.ZERO, ScalarOp.ONE, ScalarOp.COPY),
)

_MIN, _MIN_CONST, _TANH, _LOGISTIC, _SIN, _COS, _ABS, _SIGN, _ERF = map(
    int,
    (
        ScalarOp.MIN,
        ScalarOp.MIN_CONST,
        ScalarOp.TANH,
        ScalarOp.LOGISTIC,
        ScalarOp.SIN,
        ScalarOp.COS,
        ScalarOp.ABS,
        ScalarOp.SIGN,
        ScalarOp.ERF,
    ),
)
_GREATER, _GREATER_EQUAL, _EQUAL, _GREATER_CONST, _GREATER_EQUAL_CONST, _LESS_CONST, _LESS_EQUAL_CONST = map(
    int,
    (
        ScalarOp.GREATER,
        ScalarOp.GREATER_EQUAL,
        ScalarOp.EQUAL,
        ScalarOp.GREATER_CONST,
        ScalarOp.GREATER_EQUAL_CONST,
        ScalarOp.LESS_CONST,
        ScalarOp.LESS_EQUAL_CONST,
    ),
)
_EQUAL_CONST, _SELECT, _SELECT_ELSE_CONST, _SELECT_THEN_CONST = map(
    int, (ScalarOp.EQUAL_CONST, ScalarOp.SELECT, ScalarOp.SELECT_ELSE_CONST, ScalarOp.SELECT_THEN_CONST)
)


@numba.njit(cache=True, nogil=True)
def _maximum(a: float, b: float) -> float:
    """The larger of two, NaN if either is: what NumPy's maximum says."""
    return a if a >= b or a != a else b


@numba.njit(cache=True, nogil=True)
def _minimum(a: float, b: float) -> float:
    """The smaller of two, NaN if either is."""
    return a if a <= b or a != a else b


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _apply(op: int, x: NDArray[np.float64], k: int, c: float) -> Any:
    """The value of one vertex from its `k` operands ``x[:k]`` and its constant."""
    a = x[0]
    if op == _ADD:
        return a + x[1]
    if op == _MUL:
        return a * x[1]
    if op == _FMA:
        return a + x[1] * x[2]
    if op == _SUB:
        return a - x[1]
    if op == _DIV:
        return a / x[1]
    if op == _MAX:
        return _maximum(a, x[1])
    if op == _NEG:
        return -a
    if op == _EXP:
        return np.exp(a)
    if op == _LOG:
        return np.log(a)
    if op == _SQRT:
        return np.sqrt(a)
    if op == _SQUARE:
        return a * a
    if op == _DOUBLE:
        return a + a
    if op == _FMA_SQUARE:
        return a + x[1] * x[1]
    if op == _POW_CONST:
        return a**c
    if op == _ADD_CONST:
        return a + c
    if op == _RSUB_CONST:
        return c - a
    if op == _MUL_CONST:
        return a * c
    if op == _DIV_CONST:
        return a / c
    if op == _RDIV_CONST:
        return c / a
    if op == _MAX_CONST:
        return _maximum(a, c)
    if op == _SUM:
        total = a
        for i in range(1, k):
            total += x[i]
        return total
    if op == _MAX_ALL:
        largest = a
        for i in range(1, k):
            largest = _maximum(largest, x[i])
        return largest
    if op == _ZERO:
        return a - a
    if op == _ONE:
        return a / a
    if op >= _MIN:
        return _apply_further(op, x, c)
    return a


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _apply_further(op: int, x: NDArray[np.float64], c: float) -> Any:
    """The ops from MIN on: further functions, comparisons (1 or 0) and selections."""
    a = x[0]
    if op == _MIN:
        return _minimum(a, x[1])
    if op == _MIN_CONST:
        return _minimum(a, c)
    if op == _TANH:
        return math.tanh(a)
    if op == _LOGISTIC:
        return 1.0 / (1.0 + math.exp(-a))
    if op == _SIN:
        return math.sin(a)
    if op == _COS:
        return math.cos(a)
    if op == _ABS:
        return abs(a)
    if op == _SIGN:
        return a if a != a else (1.0 if a > 0.0 else -1.0 if a < 0.0 else 0.0)
    if op == _ERF:
        return math.erf(a)
    if op == _SELECT:
        return x[1] if a != 0.0 else x[2]
    if op == _SELECT_ELSE_CONST:
        return x[1] if a != 0.0 else c
    if op == _SELECT_THEN_CONST:
        return c if a != 0.0 else x[1]
    if op == _GREATER:
        return 1.0 if a > x[1] else 0.0
    if op == _GREATER_EQUAL:
        return 1.0 if a >= x[1] else 0.0
    if op == _EQUAL:
        return 1.0 if a == x[1] else 0.0
    if op == _GREATER_CONST:
        return 1.0 if a > c else 0.0
    if op == _GREATER_EQUAL_CONST:
        return 1.0 if a >= c else 0.0
    if op == _LESS_CONST:
        return 1.0 if a < c else 0.0
    if op == _LESS_EQUAL_CONST:
        return 1.0 if a <= c else 0.0
    return 1.0 if a == c else 0.0


@numba.njit(cache=True, nogil=True)
def first_bad_operand_count(indptr: NDArray[Any], ops: NDArray[np.uint8], arity: NDArray[np.int64]) -> int:
    """The first vertex whose op is unknown or does not fit its in-degree, or -1; arity -1 is any but 0."""
    for v in range(len(ops)):
        degree = indptr[v + 1] - indptr[v]
        if ops[v] >= len(arity) or (arity[ops[v]] != degree and not (arity[ops[v]] < 0 and degree > 0)):
            return v
    return -1


@numba.njit(cache=True, nogil=True)
def _widest(indptr: NDArray[Any]) -> int:
    widest = 1
    for v in range(len(indptr) - 1):
        widest = max(widest, indptr[v + 1] - indptr[v])
    return widest


@numba.njit(cache=True, nogil=True)
def evaluate(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    ops: NDArray[np.uint8],
    constants: NDArray[np.float64] | None,
    order: NDArray[np.int64] | None,
    values: NDArray[np.float64],
) -> None:
    """Fill in `values`, where the sources' are given, along `order` (None: ids are topological)."""
    x = np.empty(_widest(indptr), dtype=np.float64)
    for i in range(len(values)):
        v = i if order is None else order[i]
        k = 0
        for e in range(indptr[v], indptr[v + 1]):
            x[k] = values[indices[e]]
            k += 1
        if k:
            c = 0.0 if constants is None else constants[v]
            values[v] = _apply(ops[v], x, k, c)


@numba.njit(cache=True, nogil=True)
def execute(
    codes: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    ops: NDArray[np.uint8],
    constants: NDArray[np.float64] | None,
    slow: NDArray[np.float64],
    num_slots: int,
) -> int:
    """Play legal moves with numbers: `slow` is slow memory, fast memory is an array of `num_slots`.

    A vertex's number is where its pebbles are and nowhere else: LOAD copies from `slow` into a free slot,
    STORE copies back, COMPUTE reads its operands' slots, DELETE wipes the slot. Returns -1, or the index of
    a move for which no slot was free.
    """
    n = len(indptr) - 1
    fast = np.full(num_slots, np.nan)
    slot_of = np.full(n, -1, dtype=np.int64)
    free = np.arange(num_slots - 1, -1, -1)
    num_free = num_slots
    x = np.empty(_widest(indptr), dtype=np.float64)
    for i in range(len(codes)):
        code = np.uint64(codes[i])
        v = np.int64(code >> np.uint64(2))
        op = np.int64(code & np.uint64(3))
        if op == 1:
            slow[v] = fast[slot_of[v]]
        elif op == 3:
            fast[slot_of[v]] = np.nan
            free[num_free] = slot_of[v]
            num_free += 1
            slot_of[v] = -1
        else:
            if num_free == 0:
                return i
            if op == 0:
                value = slow[v]
            else:
                k = 0
                for e in range(indptr[v], indptr[v + 1]):
                    x[k] = fast[slot_of[indices[e]]]
                    k += 1
                c = 0.0 if constants is None else constants[v]
                value = _apply(ops[v], x, k, c)
            num_free -= 1
            slot_of[v] = free[num_free]
            fast[slot_of[v]] = value
    return -1
