"""Choices between two values by a truth value that is computed: one vertex per entry whose choice is open."""

from __future__ import annotations

import numpy as np

from graphs.blocks import GeneralBlock, Ints
from graphs.elementwise import apply_binary
from graphs.tape import ZERO_CODE, Tape
from pebble.errors import UnsupportedFunctionError
from pebble.operations import ScalarOp

__all__ = ["select"]


def select(tape: Tape, condition: Ints, if_true: Ints, if_false: Ints) -> Ints:
    """The values of ``if_true`` where `condition` is true, else of ``if_false``, broadcast to one shape.

    Entries whose condition or choice is fixed make no vertex. A condition that is itself one of the choices
    stands for the constant that it is there: 1 if true, 0 if false.

    Raises UnsupportedFunctionError for a choice between two constants one of which is infinite.
    """
    shape = np.broadcast_shapes(condition.shape, if_true.shape, if_false.shape)
    p, yes, no = (np.broadcast_to(ids, shape).ravel() for ids in (condition, if_true, if_false))
    yes = np.where((p >= 0) & (yes == p), tape.lift(1.0), yes)
    no = np.where((p >= 0) & (no == p), ZERO_CODE, no)
    result = np.where((p < 0) & (tape.constants_of(np.minimum(p, -1)) != 0.0), yes, no).astype(np.int64)
    open_ = (p >= 0) & (yes != no)

    constants = np.flatnonzero(open_ & (yes < 0) & (no < 0))
    if len(constants):
        result[constants] = _between_constants(tape, p[constants], yes[constants], no[constants])
    made = np.flatnonzero(open_ & ~((yes < 0) & (no < 0)))
    if len(made):
        result[made] = _vertices(tape, p[made], yes[made], no[made])
    return result.astype(tape.dtype).reshape(shape)


def _between_constants(tape: Tape, p: Ints, yes: Ints, no: Ints) -> Ints:
    """``no + p * (yes - no)``, since p is 0 or 1."""
    high, low = tape.constants_of(yes), tape.constants_of(no)
    if not np.isfinite(high).all() or not np.isfinite(low).all():
        raise UnsupportedFunctionError("a computed choice between two constants, one of them infinite")
    return apply_binary(tape, "add", apply_binary(tape, "multiply", p, tape.lift(high - low)), tape.lift(low))


def _vertices(tape: Tape, p: Ints, yes: Ints, no: Ints) -> Ints:
    fixed_yes, fixed_no = yes < 0, no < 0
    fixed = fixed_yes | fixed_no
    ops = np.full(len(p), ScalarOp.SELECT, dtype=np.uint8)
    ops[fixed_no] = ScalarOp.SELECT_ELSE_CONST
    ops[fixed_yes] = ScalarOp.SELECT_THEN_CONST
    operands = np.column_stack((p, np.where(fixed_yes, no, yes), np.where(fixed, -1, no)))
    const = np.zeros(len(p))
    const[fixed] = tape.constants_of(np.where(fixed_yes, yes, no)[fixed])
    block = GeneralBlock(
        tape.num_values,
        np.ones(len(p), dtype=np.int64),
        ops,
        (operands >= 0).sum(axis=1),
        operands[operands >= 0],
        const if const.any() else None,
    )
    return tape.add_block(block)
