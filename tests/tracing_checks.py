"""Checks that every traced graph must pass, shared by the tests of the tracer and of the builders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphs
import pebble
from pebble.cdag import CDAG
from pebble.operations import ScalarOp

# Every way to write a sum: the keyword arguments of `trace`.
SUMS = [
    {"sums": "chain"},
    {"sums": "chain", "fma": True},
    {"sums": "tree"},
    {"sums": "tree", "fma": True},
    {"sums": "flat"},
]
SUM_IDS = ["chain", "chain-fma", "tree", "tree-fma", "flat"]

_DEGREE = {
    ScalarOp.INPUT: 0,
    ScalarOp.ADD: 2,
    ScalarOp.SUB: 2,
    ScalarOp.MUL: 2,
    ScalarOp.DIV: 2,
    ScalarOp.MAX: 2,
    ScalarOp.FMA: 3,
    ScalarOp.FMA_SQUARE: 2,
    ScalarOp.MIN: 2,
    ScalarOp.GREATER: 2,
    ScalarOp.GREATER_EQUAL: 2,
    ScalarOp.EQUAL: 2,
    ScalarOp.SELECT: 3,
    ScalarOp.SELECT_ELSE_CONST: 2,
    ScalarOp.SELECT_THEN_CONST: 2,
}


def check_graph(cdag: CDAG) -> None:
    """Topological ids, no repeated operands, degrees that fit the ops, nothing but ancestors of outputs."""
    assert cdag.ids_are_topological
    edges = cdag.edges()
    assert len(np.unique(edges[:, 1] * max(cdag.num_vertices, 1) + edges[:, 0])) == cdag.num_edges
    assert cdag.ops is not None
    for op, degree in zip(cdag.ops.tolist(), cdag.in_degree.tolist(), strict=True):
        if op not in (ScalarOp.SUM, ScalarOp.MAX_ALL):
            assert degree == _DEGREE.get(ScalarOp(op), 1), ScalarOp(op)
    returned = np.concatenate([cdag.tensors[name].ravel() for name in cdag.output_names])
    declared = np.concatenate([cdag.tensors[name].ravel() for name in cdag.input_names])
    assert set(cdag.sources.tolist()) == set(declared.tolist())
    assert set(cdag.sinks.tolist()) <= set(returned.tolist()) | set(declared.tolist())
    assert set(cdag.outputs.tolist()) == set(returned.tolist()) | set(cdag.sinks.tolist())
    assert cdag.indptr.dtype == cdag.indices.dtype == np.int32


def check_numbers(
    fn: Callable[..., Any], seed: int = 0, options: dict[str, Any] | None = None, **shapes: Any
) -> CDAG:
    """Trace `fn`, and compare the graph's numbers with what `fn` computes on ndarrays."""
    cdag = graphs.trace(fn, **(options or {}), **shapes)
    check_graph(cdag)
    rng = np.random.default_rng(seed)
    inputs = {name: rng.uniform(0.5, 1.5, cdag.tensors[name].shape) for name in cdag.input_names}
    expected = fn(**inputs)
    if not isinstance(expected, dict):
        parts = expected if isinstance(expected, (tuple, list)) else [expected]
        expected = dict(zip(cdag.output_names, parts, strict=True))
    found = pebble.evaluate(cdag, inputs)
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].shape == np.shape(array)
        np.testing.assert_allclose(found[name], array, rtol=1e-12, atol=1e-13)
    return cdag
