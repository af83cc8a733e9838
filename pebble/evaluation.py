"""Numbers through a CDAG, and through any schedule of it inside M slots of fast memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble.cdag import CDAG
from pebble.errors import InvalidCDAGError, InvalidInputError, UnsupportedInstanceError
from pebble.operations import ScalarOp
from pebble.referee import verify
from pebble.schedule import Schedule

__all__ = ["evaluate", "execute"]

Array = NDArray[np.float64]

# Operands per op code; -1 stands for one or more.
_ARITY = np.ones(len(ScalarOp), dtype=np.int64)
_ARITY[ScalarOp.INPUT] = 0
_ARITY[[ScalarOp.ADD, ScalarOp.SUB, ScalarOp.MUL, ScalarOp.DIV, ScalarOp.MAX, ScalarOp.FMA_SQUARE]] = 2
_ARITY[[ScalarOp.MIN, ScalarOp.GREATER, ScalarOp.GREATER_EQUAL, ScalarOp.EQUAL]] = 2
_ARITY[[ScalarOp.SELECT_ELSE_CONST, ScalarOp.SELECT_THEN_CONST]] = 2
_ARITY[[ScalarOp.FMA, ScalarOp.SELECT]] = 3
_ARITY[[ScalarOp.SUM, ScalarOp.MAX_ALL]] = -1
_WITH_CONSTANT = (
    ScalarOp.POW_CONST,
    ScalarOp.ADD_CONST,
    ScalarOp.RSUB_CONST,
    ScalarOp.MUL_CONST,
    ScalarOp.DIV_CONST,
    ScalarOp.RDIV_CONST,
    ScalarOp.MAX_CONST,
    ScalarOp.MIN_CONST,
    ScalarOp.GREATER_CONST,
    ScalarOp.GREATER_EQUAL_CONST,
    ScalarOp.LESS_CONST,
    ScalarOp.LESS_EQUAL_CONST,
    ScalarOp.EQUAL_CONST,
    ScalarOp.SELECT_ELSE_CONST,
    ScalarOp.SELECT_THEN_CONST,
)


@overload
def evaluate(
    cdag: CDAG, inputs: Mapping[str, ArrayLike], names: Iterable[str] | None = None
) -> dict[str, Array]: ...
@overload
def evaluate(cdag: CDAG, inputs: ArrayLike, names: None = None) -> Array: ...
@overload
def evaluate(cdag: CDAG, inputs: ArrayLike, names: Iterable[str]) -> dict[str, Array]: ...
def evaluate(
    cdag: CDAG, inputs: Mapping[str, ArrayLike] | ArrayLike, names: Iterable[str] | None = None
) -> dict[str, Array] | Array:
    """The numbers that a CDAG computes, in float64.

    Parameters
    ----------
    cdag : CDAG
        A graph that has ops.
    inputs : mapping of str to array_like, or array_like of shape (number of sources,)
        One array per name in `cdag.input_names`; or, for any graph, the sources' values by ascending id.
    names : iterable of str, optional
        The tensors to return, intermediate ones too; by default `cdag.output_names`.

    Returns
    -------
    dict of str to ndarray, or ndarray
        The named tensors in their own shapes. For `inputs` given as one array and no `names`, one array:
        the values of `cdag.outputs` by ascending id.

    Raises
    ------
    InvalidInputError
        An input is missing, unknown or of the wrong shape, or a name is unknown.
    UnsupportedInstanceError
        The graph has no ops, so no numbers.

    Notes
    -----
    O(|V| + |E|) time, 8 bytes per vertex of memory.

    Examples
    --------
    >>> ops = np.array([ScalarOp.INPUT, ScalarOp.INPUT, ScalarOp.SUB], dtype=np.uint8)
    >>> g = CDAG.from_edges(3, [(0, 2), (1, 2)], ops=ops)
    >>> evaluate(g, [5.0, 3.0])
    array([2.])
    """
    from pebble import evaluation_kernels as kernels

    ops, constants = _operations(cdag)
    values = _input_values(cdag, inputs)
    order = None if cdag.ids_are_topological else cdag.topological_order
    kernels.evaluate(cdag.indptr, cdag.indices, ops, constants, order, values)
    return _outputs(cdag, values, inputs, names)


@overload
def execute(
    schedule: Schedule, inputs: Mapping[str, ArrayLike], names: Iterable[str] | None = None
) -> dict[str, Array]: ...
@overload
def execute(schedule: Schedule, inputs: ArrayLike, names: None = None) -> Array: ...
@overload
def execute(schedule: Schedule, inputs: ArrayLike, names: Iterable[str]) -> dict[str, Array]: ...
def execute(
    schedule: Schedule, inputs: Mapping[str, ArrayLike] | ArrayLike, names: Iterable[str] | None = None
) -> dict[str, Array] | Array:
    """Run a schedule with numbers: at most M values in fast memory, the rest in slow memory.

    The schedule is refereed first. Then a number exists only where its vertex has a pebble: LOAD copies it
    from slow memory into a free slot, COMPUTE reads slots alone, STORE copies back, DELETE wipes the slot.
    A schedule that computes the right outputs so has really moved every number it needed.

    Parameters
    ----------
    schedule : Schedule
        Of a CDAG that has ops. A vertex of several words takes one slot here; the referee has checked that
        the words fit.
    inputs : mapping of str to array_like, or array_like of shape (number of sources,)
        As `evaluate`.
    names : iterable of str, optional
        The tensors to return, each of which the schedule must end with in slow memory; by default
        `cdag.output_names`.

    Returns
    -------
    dict of str to ndarray, or ndarray
        As `evaluate`, and equal to it to the last bit; up to rounding under partial computation, which may
        add in another order.

    Raises
    ------
    IllegalMoveError, IncompleteScheduleError
        The referee's.
    InvalidInputError, UnsupportedInstanceError
        As `evaluate`; under partial computation also an op that cannot take its operands one at a time.

    Notes
    -----
    O(number of moves + |V| + |E|) time, 16 bytes per vertex of memory and 8 per slot.

    Examples
    --------
    >>> from pebble.instance import Instance
    >>> ops = np.array([ScalarOp.INPUT, ScalarOp.INPUT, ScalarOp.SUB], dtype=np.uint8)
    >>> g = CDAG.from_edges(3, [(0, 2), (1, 2)], ops=ops)
    >>> execute(Schedule.from_moves(Instance(g, M=3), ["L0", "L1", "C2", "S2"]), [5.0, 3.0])
    array([2.])
    """
    from pebble import evaluation_kernels as kernels

    cdag = schedule.instance.cdag
    ops, constants = _operations(cdag)
    slow = _input_values(cdag, inputs)
    verify(schedule)
    if schedule.instance.is_plain:
        # More slots than vertices would stay empty.
        slots = min(schedule.instance.M, cdag.num_vertices)
        stuck = kernels.execute(schedule.moves, cdag.indptr, cdag.indices, ops, constants, slow, slots)
        assert stuck < 0, f"move {stuck} found no free slot in a schedule that the referee passed"
        stored = cdag.is_source.copy()
        stored[(schedule.moves[(schedule.moves & 3) == 1] >> 2).astype(np.int64)] = True
    else:
        from pebble.variant_execution import run_variant

        stored = run_variant(schedule, ops, constants, slow)
    if names is not None:
        names = (names,) if isinstance(names, str) else tuple(names)
        for name in names:
            ids = np.asarray(_tensor(cdag, name)).ravel()
            bare = ids[~stored[ids]]
            if len(bare):
                raise InvalidInputError(
                    f"'{name}' is not in slow memory at the end: the schedule never stores vertex {bare[0]}"
                )
    return _outputs(cdag, slow, inputs, names)


def _operations(cdag: CDAG) -> tuple[NDArray[np.uint8], Array | None]:
    """The graph's ops and constants, checked against its in-degrees."""
    from pebble.evaluation_kernels import first_bad_operand_count

    if cdag.ops is None:
        raise UnsupportedInstanceError(
            f"{cdag.name} has no ops, so no numbers: trace a NumPy function, or build a family that has them"
        )
    ops = np.ascontiguousarray(cdag.ops, dtype=np.uint8)
    if ops.shape != (cdag.num_vertices,):
        raise InvalidCDAGError(f"ops have shape {ops.shape}, expected ({cdag.num_vertices},)")
    v = first_bad_operand_count(cdag.indptr, ops, _ARITY)
    if v >= 0:
        code = int(ops[v])
        name = ScalarOp(code).name if code < len(_ARITY) else f"unknown op {code}"
        raise InvalidCDAGError(
            f"vertex {v} is {name}, which does not fit its {len(cdag.preds(v))} operands", (v,)
        )
    constants = cdag.op_const
    if constants is None:
        lacking = np.flatnonzero(np.isin(ops, _WITH_CONSTANT))
        if len(lacking):
            v = int(lacking[0])
            raise InvalidCDAGError(
                f"vertex {v} is {ScalarOp(ops[v]).name}, but the graph has no op_const", (v,)
            )
        return ops, None
    constants = np.ascontiguousarray(constants, dtype=np.float64)
    if constants.shape != ops.shape:
        raise InvalidCDAGError(f"op_const has shape {constants.shape}, expected {ops.shape}")
    return ops, constants


def _input_values(cdag: CDAG, inputs: Mapping[str, ArrayLike] | ArrayLike) -> Array:
    """One value per vertex: the sources' from `inputs`, NaN elsewhere."""
    values = np.full(cdag.num_vertices, np.nan)
    sources = cdag.sources
    if not isinstance(inputs, Mapping):
        array = _numbers("the array of inputs", inputs)
        if array.shape != sources.shape:
            raise InvalidInputError(
                f"{cdag.name} has {len(sources)} sources, the array of inputs has shape {array.shape}"
            )
        values[sources] = array
        return values
    if not cdag.input_names and len(sources):
        raise InvalidInputError(
            f"{cdag.name} has no named inputs: give one array with the values of its {len(sources)} sources"
        )
    expected = ", ".join(f"{name} {np.shape(cdag.tensors[name])}" for name in cdag.input_names)
    given = np.zeros(cdag.num_vertices, dtype=np.bool_)
    for name in inputs:
        if name not in cdag.input_names:
            raise InvalidInputError(f"{cdag.name} has no input '{name}' (inputs: {expected})")
    for name in cdag.input_names:
        if name not in inputs:
            raise InvalidInputError(f"input '{name}' is missing (inputs of {cdag.name}: {expected})")
        ids = np.asarray(cdag.tensors[name])
        array = _numbers(f"input '{name}'", inputs[name])
        if array.shape != ids.shape:
            raise InvalidInputError(f"input '{name}' has shape {array.shape}, expected {ids.shape}")
        values[ids] = array
        given[ids] = True
    bare = sources[~given[sources]]
    if len(bare):
        raise InvalidInputError(
            f"source {bare[0]} of {cdag.name} belongs to no named input: give one array with the values of "
            f"its {len(sources)} sources"
        )
    return values


def _numbers(what: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{what} holds no real numbers: {error}") from error


def _tensor(cdag: CDAG, name: str) -> NDArray[np.int64]:
    if name not in cdag.tensors:
        known = ", ".join(cdag.tensors) or "none"
        raise InvalidInputError(f"{cdag.name} has no tensor '{name}' (tensors: {known})")
    return cdag.tensors[name]


def _outputs(
    cdag: CDAG, values: Array, inputs: Mapping[str, Any] | ArrayLike, names: Iterable[str] | None
) -> dict[str, Array] | Array:
    if names is None:
        if not isinstance(inputs, Mapping):
            return values[cdag.outputs]
        if not cdag.output_names:
            raise InvalidInputError(f"{cdag.name} names no outputs: say which tensors with names=…")
        names = cdag.output_names
    elif isinstance(names, str):
        names = (names,)
    return {name: values[_tensor(cdag, name)] for name in names}
