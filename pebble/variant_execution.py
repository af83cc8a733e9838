"""Schedules of the variants of the game, run with numbers.

Where a COMPUTE takes all operands at once the moves become plain ones that put the same numbers in the same
places: a store without deletion is a store and a delete, computing a free source is fetching its input, and
what is red at the start is loaded first. Under partial computation sums, products and maxima are built up one
operand at a time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.aggregates import aggregate_of
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.moves import Op, pack_arrays, unpack_arrays
from pebble.operations import ScalarOp
from pebble.schedule import Schedule

__all__ = ["run_variant"]

Array = NDArray[np.float64]

_AGGREGATED: dict[int, Callable[[float, float], float]] = {
    ScalarOp.ADD: operator.add,
    ScalarOp.SUM: operator.add,
    ScalarOp.SUB: operator.add,
    ScalarOp.MUL: operator.mul,
    ScalarOp.MAX: max,
    ScalarOp.MAX_ALL: max,
}


def run_variant(
    schedule: Schedule, ops: NDArray[np.uint8], constants: Array | None, slow: Array
) -> NDArray[np.bool_]:
    """Run a refereed schedule; `slow`, which holds the sources' numbers, becomes slow memory at the end.

    Returns
    -------
    ndarray of bool, shape (num_vertices,)
        Which vertices are there at the end: those that are blue, and where outputs may end red the red ones.

    Raises
    ------
    UnsupportedInstanceError
        Under partial computation: an op of several operands that is no sum, difference, product or maximum.

    Notes
    -----
    Under sliding a result waits in one slot beside the M until its operand's is free. Partial computation
    runs in plain Python, a million moves in some seconds, and rounds in the order of aggregation.
    """
    from pebble import evaluation_kernels as kernels
    from pebble.boards import Board
    from pebble.referee_kernels import BLUE, RED

    instance = schedule.instance
    cdag, rules = instance.cdag, instance.rules
    board = Board.of(instance)
    board.play(schedule.moves)
    kept = BLUE | RED if rules.outputs == "any" else BLUE
    there: NDArray[np.bool_] = (board.state & kept) != 0
    if instance.red_at_start:
        # Numbers of vertices that are red at the start: what the graph computes for them.
        whole = slow.copy()
        order = None if cdag.ids_are_topological else cdag.topological_order
        kernels.evaluate(cdag.indptr, cdag.indices, ops, constants, order, whole)
        given = list(instance.red_at_start)
        slow[given] = whole[given]
    if rules.partial:
        _aggregate(schedule, ops, constants, slow, there)
        return there
    moves = _plain_moves(schedule, there & ((board.state & RED) != 0))
    slots = min(instance.M, cdag.num_vertices) + rules.sliding
    stuck = kernels.execute(moves, cdag.indptr, cdag.indices, ops, constants, slow, slots)
    assert stuck < 0, f"move {stuck} found no free slot in a schedule that the referee passed"
    return there


def _plain_moves(schedule: Schedule, last_stored: NDArray[np.bool_]) -> NDArray[Any]:
    """The moves as LOAD, STORE, COMPUTE and DELETE of plain rules; at the end some are stored besides."""
    instance = schedule.instance
    cdag = instance.cdag
    ops, vertices = unpack_arrays(schedule.moves)
    ops[(ops == Op.COMPUTE) & cdag.is_source[vertices]] = Op.LOAD
    if not instance.rules.deletion:
        times = np.where(ops == Op.STORE, 2, 1)
        second = np.cumsum(times) - 1
        stores = ops == Op.STORE
        ops, vertices = np.repeat(ops, times), np.repeat(vertices, times)
        ops[second[stores]] = Op.DELETE
    first, last = np.array(instance.red_at_start, dtype=np.int64), np.flatnonzero(last_stored)
    ops = np.concatenate(
        (np.full(len(first), Op.LOAD, np.uint8), ops, np.full(len(last), Op.STORE, np.uint8))
    )
    return pack_arrays(ops, np.concatenate((first, vertices, last)), cdag.num_vertices)


def _aggregate(
    schedule: Schedule,
    ops: NDArray[np.uint8],
    constants: Array | None,
    slow: Array,
    there: NDArray[np.bool_],
) -> None:
    """Partial computation move by move; fast memory is a dictionary of at most M numbers."""
    cdag = schedule.instance.cdag
    _require_aggregable(cdag, ops)
    fast = {v: float(slow[v]) for v in schedule.instance.red_at_start}
    for op, item in schedule:
        if op is Op.LOAD:
            fast[item] = float(slow[item])
        elif op is Op.STORE:
            slow[item] = fast[item]
            if not schedule.instance.rules.deletion:
                del fast[item]
        elif op is Op.DELETE:
            del fast[item]
        else:
            u, v = aggregate_of(cdag, item)
            if u < 0:
                fast[v] = float(slow[v])
            elif len(cdag.preds(v)) == 1:
                fast[v] = _apply(int(ops[v]), fast[u], None if constants is None else constants[v])
            else:
                second = item > cdag.indptr[v]
                term = -fast[u] if ops[v] == ScalarOp.SUB and second else fast[u]
                fast[v] = _AGGREGATED[int(ops[v])](fast[v], term) if v in fast else term
    for v, number in fast.items():
        if there[v]:
            slow[v] = number


def _apply(op: int, operand: float, constant: float | None) -> float:
    """One op of one operand, as a graph of two vertices."""
    from pebble.evaluation_kernels import evaluate

    values = np.array([operand, np.nan])
    codes = np.array([ScalarOp.INPUT, op], dtype=np.uint8)
    constants = None if constant is None else np.array([0.0, constant])
    indptr, indices = np.array([0, 0, 1], dtype=np.int32), np.array([0], dtype=np.int32)
    indptr.setflags(write=False)
    indices.setflags(write=False)
    evaluate(indptr, indices, codes, constants, None, values)
    return float(values[1])


def _require_aggregable(cdag: CDAG, ops: NDArray[np.uint8]) -> None:
    several = cdag.in_degree > 1
    wrong = np.flatnonzero(several & ~np.isin(ops, list(_AGGREGATED)))
    if len(wrong):
        v = int(wrong[0])
        raise UnsupportedInstanceError(
            f"vertex {v} is {ScalarOp(ops[v]).name}, whose operands cannot be aggregated one at a time: only "
            "sums, differences, products and maxima can (build the graph with fma=False)"
        )
