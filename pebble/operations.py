"""The scalar operations that a vertex can stand for, and their NumPy meaning.

`CDAG.ops` holds one code per vertex. Operands are the predecessors in edge order. An operand is never
repeated: ``x * x`` is the one-operand SQUARE, and constants sit in `CDAG.op_const`, not in a vertex.
"""

from __future__ import annotations

import enum

__all__ = ["ScalarOp"]


class ScalarOp(enum.IntEnum):
    """Code of the scalar operation that a vertex computes; ``c`` is the vertex's entry of `op_const`."""

    INPUT = 0
    ADD = 1  # a + b
    SUB = 2  # a - b
    MUL = 3  # a * b
    DIV = 4  # a / b
    MAX = 5  # max(a, b)
    FMA = 6  # a + b * d, operands (previous, left, right)
    NEG = 7  # -a
    EXP = 8
    LOG = 9
    SQRT = 10
    SQUARE = 11  # a * a
    DOUBLE = 12  # a + a
    FMA_SQUARE = 13  # a + b * b, operands (previous, factor)
    POW_CONST = 14  # a ** c
    ADD_CONST = 15  # a + c
    RSUB_CONST = 16  # c - a
    MUL_CONST = 17  # a * c
    DIV_CONST = 18  # a / c
    RDIV_CONST = 19  # c / a
    MAX_CONST = 20  # max(a, c)
    SUM = 21  # of all operands
    MAX_ALL = 22  # the largest operand
    ZERO = 23  # a - a
    ONE = 24  # a / a
    COPY = 25  # a
    MIN = 26  # min(a, b)
    MIN_CONST = 27  # min(a, c)
    TANH = 28
    LOGISTIC = 29  # 1 / (1 + exp(-a))
    SIN = 30
    COS = 31
    ABS = 32
    SIGN = 33  # -1, 0 or 1
    ERF = 34
    # Truth is 1, falsehood 0.
    GREATER = 35  # a > b
    GREATER_EQUAL = 36  # a >= b
    EQUAL = 37  # a == b
    GREATER_CONST = 38  # a > c
    GREATER_EQUAL_CONST = 39  # a >= c
    LESS_CONST = 40  # a < c
    LESS_EQUAL_CONST = 41  # a <= c
    EQUAL_CONST = 42  # a == c
    SELECT = 43  # b if a else d, operands (condition, if true, if false)
    SELECT_ELSE_CONST = 44  # b if a else c
    SELECT_THEN_CONST = 45  # c if a else b
