"""Where the vertices of a traced graph lie: phases, sums, operands, names, and what is left out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import graphs
from pebble.cdag import CDAG, SumLayout
from pebble.operations import ScalarOp
from tests.tracing_checks import SUM_IDS, SUMS, check_graph

ADD, MUL, FMA = ScalarOp.ADD, ScalarOp.MUL, ScalarOp.FMA


def rows(cdag: CDAG, start: int, stop: int) -> list[tuple[ScalarOp, list[int]]]:
    assert cdag.ops is not None
    return [(ScalarOp(cdag.ops[v]), cdag.preds(v).tolist()) for v in range(start, stop)]


def product(k: int, **options: Any) -> CDAG:
    return graphs.trace(lambda A, B: {"C": graphs.named("S", A @ B.T)}, A=(2, k), B=(3, k), **options)


def test_chain_of_products() -> None:
    k = 4
    g = product(k)
    A, B, C = (g.tensors[name] for name in "ABC")
    base, shape, terms, layout = g.sums["C"]
    assert (base, shape, terms, layout) == (5 * k, (2, 3), k, "chain")
    assert g.sums["S"] == g.sums["C"]
    for i, j in np.ndindex(2, 3):
        start = base + (i * 3 + j) * (2 * k - 1)
        assert C[i, j] == start + 2 * k - 2
        previous = start
        assert rows(g, start, start + 1) == [(MUL, [A[i, 0], B[j, 0]])]
        for l in range(1, k):
            partial = int(C[i, j]) - 2 * (k - 1 - l)
            assert rows(g, partial - 1, partial + 1) == [
                (MUL, [A[i, l], B[j, l]]),
                (ADD, [previous, partial - 1]),
            ]
            previous = partial
        assert previous == C[i, j]


def test_chain_of_fused_products() -> None:
    k = 4
    g = product(k, fma=True)
    A, B, C = (g.tensors[name] for name in "ABC")
    assert g.sums["C"] == SumLayout(5 * k, (2, 3), k, "chain-fma")
    for i, j in np.ndindex(2, 3):
        start = 5 * k + (i * 3 + j) * k
        assert C[i, j] == start + k - 1
        assert rows(g, start, start + k) == [
            (MUL, [A[i, 0], B[j, 0]]),
            *((FMA, [start + l - 1, A[i, l], B[j, l]]) for l in range(1, k)),
        ]


def test_balanced_tree_in_postorder() -> None:
    g = graphs.trace(lambda a, b: a @ b, a=5, b=5, sums="tree")
    s = 10
    assert g.sums["out"] == SumLayout(s, (), 5, "tree")
    assert rows(g, s, g.num_vertices) == [
        (MUL, [0, 5]),
        (MUL, [1, 6]),
        (ADD, [s, s + 1]),
        (MUL, [2, 7]),
        (ADD, [s + 2, s + 3]),
        (MUL, [3, 8]),
        (MUL, [4, 9]),
        (ADD, [s + 5, s + 6]),
        (ADD, [s + 4, s + 7]),
    ]


def test_balanced_tree_fuses_single_products_on_the_right() -> None:
    g = graphs.trace(lambda a, b: a @ b, a=5, b=5, sums="tree", fma=True)
    s = 10
    assert g.sums["out"].layout == "tree-fma"
    assert rows(g, s, g.num_vertices) == [
        (MUL, [0, 5]),
        (FMA, [s, 1, 6]),
        (FMA, [s + 1, 2, 7]),
        (MUL, [3, 8]),
        (FMA, [s + 3, 4, 9]),
        (ADD, [s + 2, s + 4]),
    ]


def test_tree_is_of_logarithmic_depth() -> None:
    g = graphs.trace(lambda a: a.sum(), a=1000, sums="tree")
    depth = np.zeros(g.num_vertices, dtype=int)
    for v in range(1000, g.num_vertices):
        depth[v] = depth[g.preds(v)].max() + 1
    assert depth.max() == 10
    assert g.num_vertices == 1999


def test_flat_sum() -> None:
    g = graphs.trace(lambda a, b: a @ b, a=3, b=3, sums="flat")
    assert rows(g, 6, 10) == [(MUL, [0, 3]), (MUL, [1, 4]), (MUL, [2, 5]), (ScalarOp.SUM, [6, 7, 8])]
    assert g.sums["out"] == SumLayout(6, (), 3, "flat")


def test_plain_reductions() -> None:
    g = graphs.trace(lambda x: {"s": x.sum(axis=1), "m": x.max(axis=0)}, x=(2, 4))
    assert g.sums == {"s": SumLayout(8, (2,), 4, "chain-reduce")}
    assert rows(g, 8, 11) == [(ADD, [0, 1]), (ADD, [8, 2]), (ADD, [9, 3])]
    out, k = int(g.tensors["s"][1]), 4
    for l in range(1, k):
        assert g.preds(out - (k - 1 - l))[1] == 4 + l
    assert rows(g, 14, 16) == [(ScalarOp.MAX, [0, 4]), (ScalarOp.MAX, [1, 5])]
    tree = graphs.trace(lambda x: {"s": x.sum()}, x=4, sums="tree")
    assert rows(tree, 4, 7) == [(ADD, [0, 1]), (ADD, [2, 3]), (ADD, [4, 5])]
    flat = graphs.trace(lambda x: {"s": x.sum(), "m": x.max()}, x=3, sums="flat")
    assert rows(flat, 3, 5) == [(ScalarOp.SUM, [0, 1, 2]), (ScalarOp.MAX_ALL, [0, 1, 2])]
    assert flat.sums == {"s": SumLayout(3, (), 3, "flat-reduce")}


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
def test_one_term_needs_no_add(options: dict[str, Any]) -> None:
    g = product(1, **options)
    assert g.num_vertices == 5 + 6
    assert graphs.trace(lambda x: x.sum(axis=1), x=(3, 1), **options).num_vertices == 3


def test_terms_are_added_in_ascending_order_of_the_axes() -> None:
    g = graphs.trace(lambda a, b: np.einsum("ijk,kjl->il", a, b), a=(1, 2, 3), b=(3, 2, 1))
    products = [
        g.preds(v).tolist() for v in range(12, g.num_vertices) if g.ops is not None and g.ops[v] == MUL
    ]
    a, b = g.tensors["a"], g.tensors["b"]
    assert products == [[a[0, j, k], b[k, j, 0]] for j in range(2) for k in range(3)]


def test_operand_order() -> None:
    g = graphs.trace(lambda x, y: {"s": x - y, "r": y - x, "q": x / y, "p": y / x}, x=(), y=())
    assert rows(g, 2, 6) == [
        (ScalarOp.SUB, [0, 1]),
        (ScalarOp.SUB, [1, 0]),
        (ScalarOp.DIV, [0, 1]),
        (ScalarOp.DIV, [1, 0]),
    ]


@pytest.mark.parametrize(
    ("fn", "op", "constant"),
    [
        (lambda x: x + 2, ScalarOp.ADD_CONST, 2.0),
        (lambda x: x - 2, ScalarOp.ADD_CONST, -2.0),
        (lambda x: 2 - x, ScalarOp.RSUB_CONST, 2.0),
        (lambda x: 0 - x, ScalarOp.NEG, None),
        (lambda x: 3 * x, ScalarOp.MUL_CONST, 3.0),
        (lambda x: x / 4, ScalarOp.DIV_CONST, 4.0),
        (lambda x: 4 / x, ScalarOp.RDIV_CONST, 4.0),
        (lambda x: np.maximum(x, 1), ScalarOp.MAX_CONST, 1.0),
        (lambda x: x**3, ScalarOp.POW_CONST, 3.0),
        (lambda x: x**2, ScalarOp.SQUARE, None),
        (lambda x: x * x, ScalarOp.SQUARE, None),
        (lambda x: x + x, ScalarOp.DOUBLE, None),
        (lambda x: x - x, ScalarOp.ZERO, None),
        (lambda x: x / x, ScalarOp.ONE, None),
    ],
)
def test_one_operand(fn: Any, op: ScalarOp, constant: float | None) -> None:
    g = graphs.trace(fn, x=2)
    assert rows(g, 2, 4) == [(op, [0]), (op, [1])]
    if constant is None:
        assert g.op_const is None
    else:
        assert g.op_const is not None
        assert g.op_const.tolist() == [0, 0, constant, constant]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 0,
        lambda x: 1 * x,
        lambda x: x - 0.0,
        lambda x: x / 1,
        lambda x: x**1,
        lambda x: np.maximum(x, x),
        lambda x: np.maximum(x, -np.inf),
        lambda x: x + np.zeros(3),
        lambda x: np.where([True, True, True], x, 0.0),
        lambda x: x * np.ones(3) + 0 * x,
        lambda x: x.reshape(3, 1).sum(axis=1),
        lambda x: np.eye(3) @ x,
    ],
)
def test_trivial_operations_make_no_vertex(fn: Any) -> None:
    g = graphs.trace(fn, x=3)
    assert (g.num_vertices, g.tensors["out"].tolist()) == (3, [0, 1, 2])


def test_squares_on_the_diagonal() -> None:
    g = graphs.trace(lambda x: x @ x.T, x=(3, 2))
    check_graph(g)
    assert g.sums["out"] == SumLayout(6, (3, 3), 2, "chain")
    assert rows(g, 6, 12) == [
        (ScalarOp.SQUARE, [0]),
        (ScalarOp.SQUARE, [1]),
        (ADD, [6, 7]),
        (MUL, [0, 2]),
        (MUL, [1, 3]),
        (ADD, [9, 10]),
    ]
    fused = graphs.trace(lambda x: x @ x.T, x=(3, 2), fma=True)
    assert fused.sums["out"] == SumLayout(6, (3, 3), 2, "chain-fma")
    assert rows(fused, 6, 8) == [(ScalarOp.SQUARE, [0]), (ScalarOp.FMA_SQUARE, [6, 1])]


def test_an_existing_first_term_is_no_repeated_operand_of_an_fma() -> None:
    first = np.array([True, False])
    g = graphs.trace(lambda x, y: np.where(first, 1.0, y) @ np.stack([x, x]), x=(), y=(), fma=True)
    assert rows(g, 2, 4) == [(MUL, [1, 0]), (ADD, [0, 2])]


def test_constants_of_a_sum_come_last_in_one_vertex() -> None:
    mask = np.array([[True, True, False], [False, False, False], [True, False, False]])
    g = graphs.trace(lambda x: np.where(mask, x, 2.0).sum(axis=1)[[0, 2]], x=3)
    assert rows(g, 3, 6) == [(ADD, [0, 1]), (ScalarOp.ADD_CONST, [3]), (ScalarOp.ADD_CONST, [0])]
    assert g.op_const is not None
    assert g.op_const.tolist() == [0, 0, 0, 0, 2, 4]
    assert g.sums == {}


def test_only_ancestors_of_the_returned_arrays() -> None:
    def fn(A: Any, B: Any, unused: Any) -> Any:
        graphs.named("lost", np.exp(B))
        C = graphs.named("C", A @ B)
        S = graphs.named("S", C.sum(axis=1))
        return {"row": C[1], "sum": S[0]}

    g = graphs.trace(fn, A=(2, 2), B=(2, 2), unused=3)
    check_graph(g)
    assert g.num_vertices == 11 + 4 * 3 + 1
    assert "lost" not in g.tensors
    assert g.tensors["S"].tolist() == [23, -1]
    assert g.sums == {
        "C": SumLayout(11, (2, 2), 2, "chain"),
        "S": SumLayout(-1, (2,), 2, "ragged-chain-reduce"),
        "row": SumLayout(-1, (2,), 2, "ragged-chain"),
        "sum": SumLayout(-1, (), 2, "ragged-chain-reduce"),
    }
    assert g.sinks.tolist() == [8, 9, 10, *g.tensors["row"].tolist(), 23]
    partly = graphs.trace(lambda A, B: {"d": np.diag(graphs.named("C", A @ B))}, A=(3, 2), B=(2, 3))
    check_graph(partly)
    assert partly.num_vertices == 12 + 3 * 3
    assert partly.sums == {
        "C": SumLayout(-1, (3, 3), 2, "ragged-chain"),
        "d": SumLayout(-1, (3,), 2, "ragged-chain"),
    }
    assert (partly.tensors["C"] >= 0).tolist() == np.eye(3, dtype=bool).tolist()


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
def test_pruned_entries_of_every_kind(options: dict[str, Any]) -> None:
    keep = [0, 2]

    def fn(x: Any) -> Any:
        gram = x @ x.T
        mixed = gram * np.array([[0.0, 1.0, 2.0]] * 3) + x[:, :1]
        return mixed[keep][:, keep], (mixed + 1).sum(axis=1)[:1]

    g = graphs.trace(fn, x=(3, 2), **options)
    check_graph(g)


def test_returned_inputs_and_intermediates() -> None:
    g = graphs.trace(lambda x: {"y": np.exp(x), "x": x, "z": -np.exp(x)[:1]}, x=2)
    assert g.output_names == ("y", "x", "z")
    assert g.num_vertices == 2 + 2 + 2 + 1 - 1
    twice = graphs.trace(lambda x: [y := np.exp(x), y * 2], x=2)
    assert twice.output_names == ("out0", "out1")
    assert twice.further_outputs.tolist() == [2, 3]
    assert twice.outputs.tolist() == [2, 3, 4, 5]


def test_inputs_come_first_in_the_order_declared() -> None:
    g = graphs.trace(lambda b, a: a + b, a=(2, 2), b=(2, 2))
    assert g.input_names == ("a", "b")
    assert g.tensors["a"].ravel().tolist() == [0, 1, 2, 3]
    assert rows(g, 8, 9) == [(ADD, [0, 4])]


def test_named_leaves_ndarrays_alone() -> None:
    array = np.ones(3)
    assert graphs.named("S", array) is array


def test_phases_are_numbered_in_order() -> None:
    g = graphs.attention_backward(3, 2, given="O", scale=True)
    inputs, computed = ["Q", "K", "V", "dO", "L", "O"], ["dOO", "D", "QK", "S", "Z", "P", "dP", "R", "dS"]
    order = [*inputs, *computed, "dV", "dSK", "dQ", "dStQ", "dK"]
    assert sorted(g.tensors) == sorted(order)
    for one, next_one in pairwise(order):
        assert g.tensors[one].max() < g.tensors[next_one].min()
    for name in order:
        assert (np.diff(g.tensors[name].ravel()) > 0).all()


def test_vertex_names() -> None:
    g = graphs.matmul(2, 2, 2)
    every = graphs.vertex_names(g)
    assert every == [graphs.vertex_name(g, v) for v in range(g.num_vertices)]
    assert every[:9] == [
        *(f"A[{i},{j}]" for i in (0, 1) for j in (0, 1)),
        "B[0,0]",
        "B[0,1]",
        "B[1,0]",
        "B[1,1]",
        "C[0,0].0",
    ]
    with pytest.raises(IndexError, match="vertex 20 is out of range"):
        graphs.vertex_name(g, 20)
    assert graphs.vertex_name(CDAG.from_edges(2, [(0, 1)], labels="ab"), 1) == "b"
    inner = graphs.trace(lambda x: np.exp(-x), x=2)
    assert graphs.vertex_names(inner) == ["x[0]", "x[1]", "v2", "v3", "out[0]", "out[1]"]


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
def test_a_large_sum_equals_its_parts(options: dict[str, Any]) -> None:
    """Blocks are written in pieces: the pieces fit together."""
    g = product(40_000, **options)
    small = product(7, **options)
    assert g.ids_are_topological
    assert g.indptr[-1] == g.num_edges
    size, small_size = (int(h.tensors["C"][0, 1] - h.tensors["C"][0, 0]) for h in (g, small))
    assert (size, small_size) == tuple(
        {"chain": 2 * k - 1, "tree": 2 * k - 1, "flat": k + 1}[options["sums"]]
        if not options.get("fma")
        else {"chain": k, "tree": size if k > 7 else small_size}[options["sums"]]
        for k in (40_000, 7)
    )
    C, A, B = g.tensors["C"], g.tensors["A"], g.tensors["B"]
    for i, j in ((0, 0), (1, 2)):
        first = int(C[i, j]) - size + 1
        assert g.preds(first).tolist() == [A[i, 0], B[j, 0]]
        used = np.unique(g.indices[g.indptr[first] : g.indptr[first + size]])
        assert np.isin(A[i], used).all()
        assert np.isin(B[j], used).all()
