"""evaluate, execute and NumPy agree on random graphs of scalar operations; bad input is explained."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.cdag import CDAG
from pebble.errors import (
    IllegalMoveError,
    IncompleteScheduleError,
    InvalidCDAGError,
    InvalidInputError,
    UnsupportedInstanceError,
)
from pebble.evaluation import evaluate, execute
from pebble.instance import Instance
from pebble.operations import ScalarOp
from pebble.schedule import Schedule
from tests.games import play_through, random_op_cdag

MEANING: dict[ScalarOp, Callable[[list[np.float64], np.float64], np.float64]] = {
    ScalarOp.ADD: lambda x, c: np.add(x[0], x[1]),
    ScalarOp.SUB: lambda x, c: np.subtract(x[0], x[1]),
    ScalarOp.MUL: lambda x, c: np.multiply(x[0], x[1]),
    ScalarOp.DIV: lambda x, c: np.divide(x[0], x[1]),
    ScalarOp.MAX: lambda x, c: np.maximum(x[0], x[1]),
    ScalarOp.FMA: lambda x, c: np.add(x[0], np.multiply(x[1], x[2])),
    ScalarOp.NEG: lambda x, c: np.negative(x[0]),
    ScalarOp.EXP: lambda x, c: np.exp(x[0]),
    ScalarOp.LOG: lambda x, c: np.log(x[0]),
    ScalarOp.SQRT: lambda x, c: np.sqrt(x[0]),
    ScalarOp.SQUARE: lambda x, c: np.square(x[0]),
    ScalarOp.DOUBLE: lambda x, c: np.add(x[0], x[0]),
    ScalarOp.FMA_SQUARE: lambda x, c: np.add(x[0], np.square(x[1])),
    ScalarOp.POW_CONST: lambda x, c: np.power(x[0], c),
    ScalarOp.ADD_CONST: lambda x, c: np.add(x[0], c),
    ScalarOp.RSUB_CONST: lambda x, c: np.subtract(c, x[0]),
    ScalarOp.MUL_CONST: lambda x, c: np.multiply(x[0], c),
    ScalarOp.DIV_CONST: lambda x, c: np.divide(x[0], c),
    ScalarOp.RDIV_CONST: lambda x, c: np.divide(c, x[0]),
    ScalarOp.MAX_CONST: lambda x, c: np.maximum(x[0], c),
    ScalarOp.SUM: lambda x, c: np.sum(x),
    ScalarOp.MAX_ALL: lambda x, c: np.max(x),
    ScalarOp.ZERO: lambda x, c: np.subtract(x[0], x[0]),
    ScalarOp.ONE: lambda x, c: np.divide(x[0], x[0]),
    ScalarOp.COPY: lambda x, c: x[0],
    ScalarOp.MIN: lambda x, c: np.minimum(x[0], x[1]),
    ScalarOp.MIN_CONST: lambda x, c: np.minimum(x[0], c),
    ScalarOp.TANH: lambda x, c: np.tanh(x[0]),
    ScalarOp.LOGISTIC: lambda x, c: np.divide(1.0, np.add(1.0, np.exp(-x[0]))),
    ScalarOp.SIN: lambda x, c: np.sin(x[0]),
    ScalarOp.COS: lambda x, c: np.cos(x[0]),
    ScalarOp.ABS: lambda x, c: np.absolute(x[0]),
    ScalarOp.SIGN: lambda x, c: np.sign(x[0]),
    ScalarOp.ERF: lambda x, c: np.float64(math.erf(x[0])),
    ScalarOp.GREATER: lambda x, c: np.float64(x[0] > x[1]),
    ScalarOp.GREATER_EQUAL: lambda x, c: np.float64(x[0] >= x[1]),
    ScalarOp.EQUAL: lambda x, c: np.float64(x[0] == x[1]),
    ScalarOp.GREATER_CONST: lambda x, c: np.float64(x[0] > c),
    ScalarOp.GREATER_EQUAL_CONST: lambda x, c: np.float64(x[0] >= c),
    ScalarOp.LESS_CONST: lambda x, c: np.float64(x[0] < c),
    ScalarOp.LESS_EQUAL_CONST: lambda x, c: np.float64(x[0] <= c),
    ScalarOp.EQUAL_CONST: lambda x, c: np.float64(x[0] == c),
    ScalarOp.SELECT: lambda x, c: x[1] if x[0] else x[2],
    ScalarOp.SELECT_ELSE_CONST: lambda x, c: x[1] if x[0] else c,
    ScalarOp.SELECT_THEN_CONST: lambda x, c: c if x[0] else x[1],
}


def numpy_values(cdag: CDAG, inputs: np.ndarray) -> np.ndarray:
    assert cdag.ops is not None
    assert cdag.op_const is not None
    values = np.empty(cdag.num_vertices)
    values[cdag.sources] = inputs
    with np.errstate(all="ignore"):
        for v in cdag.topological_order:
            if preds := cdag.preds(v).tolist():
                op = ScalarOp(int(cdag.ops[v]))
                values[v] = MEANING[op]([values[u] for u in preds], cdag.op_const[v])
    return values


def difference(**kwargs: object) -> CDAG:
    ops = np.array([ScalarOp.INPUT, ScalarOp.INPUT, ScalarOp.SUB], dtype=np.uint8)
    return CDAG.from_edges(3, [(0, 2), (1, 2)], ops=ops, **kwargs)  # type: ignore[arg-type]


def named_difference() -> CDAG:
    return difference(
        tensors={"a": np.array(0), "b": np.array([1]), "out": np.array([[2]])},
        input_names=("a", "b"),
        output_names=("out",),
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_execute_is_evaluate_is_numpy(seed: int) -> None:
    rng = random.Random(seed)
    cdag = random_op_cdag(rng, rng.randint(1, 40))
    n = cdag.num_vertices
    if rng.random() < 0.5:
        # Ids against the edges: the order must come from the graph.
        cdag = cdag.renumber(rng.sample(range(n), n))
    inputs = np.array([rng.uniform(0.5, 2.0) for _ in cdag.sources])
    expected = numpy_values(cdag, inputs)[cdag.outputs]
    got = evaluate(cdag, inputs)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=0, equal_nan=True)
    least = Instance(cdag, 1).least_M
    schedule = play_through(Instance(cdag, rng.randint(least, least + 5)), rng)
    np.testing.assert_array_equal(execute(schedule, inputs), got)


def test_every_operation_is_met() -> None:
    """One vertex per op: none is left out of the arithmetic."""
    computing = [op for op in ScalarOp if op is not ScalarOp.INPUT]
    assert set(computing) == set(MEANING)
    two = (ScalarOp.ADD, ScalarOp.SUB, ScalarOp.MUL, ScalarOp.DIV, ScalarOp.MAX, ScalarOp.FMA_SQUARE)
    two += (ScalarOp.MIN, ScalarOp.GREATER, ScalarOp.GREATER_EQUAL, ScalarOp.EQUAL)
    two += (ScalarOp.SELECT_ELSE_CONST, ScalarOp.SELECT_THEN_CONST)
    three = (ScalarOp.FMA, ScalarOp.SUM, ScalarOp.MAX_ALL, ScalarOp.SELECT)
    operands = dict.fromkeys(two, 2) | dict.fromkeys(three, 3)
    ops = np.array([ScalarOp.INPUT] * 3 + computing, dtype=np.uint8)
    edges = [(u, v) for v, op in enumerate(computing, 3) for u in range(operands.get(op, 1))]
    constants = np.linspace(1.5, 3, len(ops))
    cdag = CDAG.from_edges(len(ops), edges, ops=ops, op_const=constants)
    inputs = np.array([0.7, 1.9, 2.3])
    np.testing.assert_allclose(evaluate(cdag, inputs), numpy_values(cdag, inputs)[3:], rtol=1e-14)


@pytest.mark.parametrize("inputs", [[0.0, 1.0, 2.0], [1.5, 1.5, -1.0], [-2.0, 3.0, 0.0], [np.nan, 1.0, 2.0]])
def test_comparisons_and_selections_on_both_sides(inputs: list[float]) -> None:
    two = [ScalarOp.MIN, ScalarOp.GREATER, ScalarOp.GREATER_EQUAL, ScalarOp.EQUAL]
    two += [ScalarOp.SELECT_ELSE_CONST, ScalarOp.SELECT_THEN_CONST]
    one = [ScalarOp.GREATER_CONST, ScalarOp.GREATER_EQUAL_CONST, ScalarOp.LESS_CONST, ScalarOp.ABS]
    one += [ScalarOp.LESS_EQUAL_CONST, ScalarOp.EQUAL_CONST, ScalarOp.MIN_CONST, ScalarOp.SIGN]
    ops = [ScalarOp.INPUT] * 3 + two + one + [ScalarOp.SELECT]
    operands = [0, 0, 0] + [2] * len(two) + [1] * len(one) + [3]
    edges = [(u, v) for v, k in enumerate(operands) for u in range(k)]
    cdag = CDAG.from_edges(len(ops), edges, ops=ops, op_const=np.full(len(ops), 1.5))
    np.testing.assert_array_equal(
        evaluate(cdag, np.array(inputs)), numpy_values(cdag, np.array(inputs))[cdag.outputs]
    )


def test_special_values_follow_numpy() -> None:
    ops = np.array([ScalarOp.INPUT, ScalarOp.INPUT, ScalarOp.DIV, ScalarOp.LOG, ScalarOp.MAX], dtype=np.uint8)
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (1, 3), (0, 4), (1, 4)], ops=ops)
    np.testing.assert_array_equal(evaluate(cdag, [1.0, 0.0]), [np.inf, -np.inf, 1.0])
    np.testing.assert_array_equal(evaluate(cdag, [0.0, np.nan]), [np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(evaluate(cdag, [np.nan, 1.0]), [np.nan, 0.0, np.nan])


def test_named_tensors_keep_their_shapes() -> None:
    cdag = named_difference()
    out = evaluate(cdag, {"a": 5, "b": [3]})
    assert list(out) == ["out"]
    np.testing.assert_array_equal(out["out"], [[2.0]])
    assert evaluate(cdag, {"a": 5, "b": [3]}, names=["a"])["a"].shape == ()
    assert evaluate(cdag, [5, 3], names="b")["b"].tolist() == [3.0]
    schedule = Schedule.from_moves(Instance(cdag, 3), ["L0", "L1", "C2", "S2"])
    assert execute(schedule, {"a": 5, "b": [3]})["out"].tolist() == [[2.0]]


def test_execute_forgets_what_was_not_stored() -> None:
    ops = np.array([ScalarOp.INPUT, ScalarOp.EXP, ScalarOp.NEG], dtype=np.uint8)
    tensors = {"e": np.array([1]), "y": np.array([2])}
    cdag = CDAG.from_edges(3, [(0, 1), (1, 2)], ops=ops, tensors=tensors, output_names=("y",))
    schedule = Schedule.from_moves(Instance(cdag, 3), ["L0", "C1", "C2", "S2"])
    with pytest.raises(
        InvalidInputError, match=r"'e' is not in slow memory at the end.* never stores vertex 1"
    ):
        execute(schedule, [1.0], names=["e", "y"])
    stored = Schedule.from_moves(Instance(cdag, 3), ["L0", "C1", "S1", "C2", "S2"])
    assert execute(stored, [1.0], names=["e"])["e"] == evaluate(cdag, [1.0], names=["e"])["e"]


def test_execute_recomputes_and_reuses_slots() -> None:
    """y = (a - b) * exp(a - b) with a - b made twice in three slots."""
    ops = np.array([ScalarOp.INPUT, ScalarOp.INPUT, ScalarOp.SUB, ScalarOp.EXP, ScalarOp.MUL], dtype=np.uint8)
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (2, 4), (3, 4)], ops=ops)
    moves = "L0 L1 C2 D0 D1 C3 S3 D3 D2 L0 L1 C2 D0 L3 D1 C4 S4"
    schedule = Schedule.from_moves(Instance(cdag, 3), moves.split())
    assert execute(schedule, [0.3, 0.1])[0] == (0.3 - 0.1) * np.exp(0.3 - 0.1)


def test_execute_with_weights_takes_one_slot_a_vertex() -> None:
    schedule = Schedule.from_moves(Instance(difference(weights=[2, 3, 1]), 6), ["L0", "L1", "C2", "S2"])
    assert execute(schedule, [5, 3]).tolist() == [2.0]


def test_execute_referees_first() -> None:
    inst = Instance(difference(), 3)
    with pytest.raises(IllegalMoveError, match="needs predecessor 1 red"):
        execute(Schedule.from_moves(inst, ["L0", "C2", "S2"]), [5, 3])
    with pytest.raises(IncompleteScheduleError):
        execute(Schedule.from_moves(inst, ["L0", "L1", "C2"]), [5, 3])


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({"a": 1}, r"input 'b' is missing \(inputs of custom: a \(\), b \(1,\)\)"),
        ({"a": 1, "b": [2], "c": 3}, "custom has no input 'c'"),
        ({"a": 1, "b": [[2]]}, r"input 'b' has shape \(1, 1\), expected \(1,\)"),
        ({"a": "x", "b": [2]}, "input 'a' holds no real numbers"),
        ({"a": 1j, "b": [2]}, "input 'a' holds no real numbers: complex"),
        ([1.0], r"custom has 2 sources, the array of inputs has shape \(1,\)"),
        ([[1.0], [1.0, 2.0]], "the array of inputs holds no real numbers"),
    ],
)
def test_bad_inputs(inputs: object, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        evaluate(named_difference(), inputs)  # type: ignore[call-overload]


def test_names_that_are_not_there() -> None:
    with pytest.raises(InvalidInputError, match=r"custom has no tensor 'dQ' \(tensors: a, b, out\)"):
        evaluate(named_difference(), {"a": 1, "b": [2]}, names=["dQ"])
    nameless = difference(tensors={"a": np.array([0, 1])}, input_names=("a",))
    with pytest.raises(InvalidInputError, match="names no outputs"):
        evaluate(nameless, {"a": [1, 2]})
    with pytest.raises(InvalidInputError, match="no named inputs: give one array with the values of its 2"):
        evaluate(difference(), {"a": [1, 2]})
    partial = difference(tensors={"a": np.array([0])}, input_names=("a",), output_names=("a",))
    with pytest.raises(InvalidInputError, match="source 1 of custom belongs to no named input"):
        evaluate(partial, {"a": [1]})


def test_graphs_without_numbers() -> None:
    plain = CDAG.from_edges(2, [(0, 1)])
    with pytest.raises(UnsupportedInstanceError, match="custom has no ops, so no numbers"):
        evaluate(plain, [1.0])
    with pytest.raises(UnsupportedInstanceError, match="custom has no ops"):
        execute(Schedule.from_moves(Instance(plain, 2), ["L0", "C1", "S1"]), [1.0])


@pytest.mark.parametrize(
    ("ops", "complaint"),
    [
        ([0, 0, ScalarOp.EXP], "vertex 2 is EXP, which does not fit its 2 operands"),
        ([0, ScalarOp.NEG, ScalarOp.SUB], "vertex 1 is NEG, which does not fit its 0 operands"),
        ([0, 0, ScalarOp.INPUT], "vertex 2 is INPUT, which does not fit its 2 operands"),
        ([0, 0, 200], "vertex 2 is unknown op 200"),
        ([0, 0], r"ops have shape \(2,\), expected \(3,\)"),
    ],
)
def test_ops_that_do_not_fit_the_graph(ops: list[int], complaint: str) -> None:
    cdag = CDAG.from_edges(3, [(0, 2), (1, 2)], ops=np.array(ops, dtype=np.uint8))
    with pytest.raises(InvalidCDAGError, match=complaint):
        evaluate(cdag, [1.0, 2.0])


def test_an_op_without_its_constant() -> None:
    cdag = CDAG.from_edges(2, [(0, 1)], ops=np.array([0, ScalarOp.ADD_CONST], dtype=np.uint8))
    with pytest.raises(InvalidCDAGError, match="vertex 1 is ADD_CONST, but the graph has no op_const"):
        evaluate(cdag, [1.0])
