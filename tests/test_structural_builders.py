"""Families given by their edges: shapes against explicit graphs, counts against closed forms, numbers."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from graphs import sizes
from graphs.catalog import REGISTRY, build, parse
from pebble.errors import GraphSpecError
from pebble.operations import ScalarOp

# Graphs written out by hand, against which the builders must be isomorphic.
EXPLICIT = {
    "chain:5": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "fft:2": [(0, 2), (0, 3), (1, 2), (1, 3)],
    "fft:4": [
        *[(0, 4), (0, 5), (1, 4), (1, 5), (2, 6), (2, 7), (3, 6), (3, 7)],
        *[(4, 8), (4, 10), (5, 9), (5, 11), (6, 8), (6, 10), (7, 9), (7, 11)],
    ],
    "grid:2x5": [
        *[(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (1, 6), (5, 6), (2, 7), (6, 7)],
        *[(3, 8), (7, 8), (4, 9), (8, 9)],
    ],
    "grid:3x3": [
        *[(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 6), (4, 5)],
        *[(4, 7), (5, 8), (6, 7), (7, 8)],
    ],
    "pyramid:2": [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5)],
    "pyramid:3": [
        *[(0, 4), (1, 4), (1, 5), (2, 5), (2, 6), (3, 6), (4, 7), (5, 7)],
        *[(5, 8), (6, 8), (7, 9), (8, 9)],
    ],
    "reduce:8": [
        *[(0, 8), (1, 8), (2, 9), (3, 10), (4, 11), (5, 12), (6, 13), (7, 14)],
        *[(8, 9), (9, 10), (10, 11), (11, 12), (12, 13), (13, 14)],
    ],
    "reduce:6,sums=flat": [(i, 6) for i in range(6)],
    "stencil1d:n=5,t=2": [
        *[(0, 5), (0, 6), (1, 5), (1, 6), (1, 7), (2, 6), (2, 7), (2, 8), (3, 7), (3, 8), (3, 9)],
        *[(4, 8), (4, 9), (5, 10), (5, 11), (6, 10), (6, 11), (6, 12), (7, 11), (7, 12), (7, 13)],
        *[(8, 12), (8, 13), (8, 14), (9, 13), (9, 14)],
    ],
    "tree:8": [
        *[(0, 8), (1, 8), (2, 9), (3, 9), (4, 10), (5, 10), (6, 11), (7, 11)],
        *[(8, 12), (9, 12), (10, 13), (11, 13), (12, 14), (13, 14)],
    ],
    "tree:leaves=9,arity=3": [
        *[(0, 9), (1, 9), (2, 9), (3, 10), (4, 10), (5, 10), (6, 11), (7, 11), (8, 11)],
        *[(9, 12), (10, 12), (11, 12)],
    ],
}

# Family -> spec of given sizes -> closed forms of |V| and |E|.
COUNTS = {
    "fft": [(f"fft:{n}", n * (k + 1), 2 * n * k) for k in range(7) for n in [2**k]],
    "grid": [(f"grid:{r}x{c}", r * c, 2 * r * c - r - c) for r, c in [(1, 1), (1, 7), (4, 3), (20, 31)]],
    "stencil1d": [
        (f"stencil1d:n={n},t={t}", n * (t + 1), t * (3 * n - 2)) for n, t in [(1, 1), (2, 3), (30, 11)]
    ],
    "stencil2d": [
        (f"stencil2d:{r}x{c},t={t}", r * c * (t + 1), t * (5 * r * c - 2 * r - 2 * c))
        for r, c, t in [(1, 1, 2), (1, 5, 1), (6, 5, 4)]
    ],
    "chain": [(f"chain:{n}", n, n - 1) for n in (1, 2, 1000)],
    "tree": [
        *[(f"tree:{2**k}", 2 ** (k + 1) - 1, 2 ** (k + 1) - 2) for k in range(6)],
        *[(f"tree:{n}", 2 * n - 1, 2 * n - 2) for n in (3, 5, 11, 100)],
        ("tree:leaves=64,arity=4", 85, 84),
    ],
    "pyramid": [(f"pyramid:{h}", (h + 1) * (h + 2) // 2, h * (h + 1)) for h in (1, 2, 9, 40)],
    "reduce": [
        *[(f"reduce:{n}", 2 * n - 1, 2 * n - 2) for n in (1, 2, 3, 50)],
        *[(f"reduce:{n},sums=tree", 2 * n - 1, 2 * n - 2) for n in (1, 2, 7, 50)],
        ("reduce:7,sums=flat", 8, 7),
    ],
    "random-layered": [(f"random-layered:w={w},d={d}", w * d, 2 * w * (d - 1)) for w, d in [(4, 5), (9, 2)]],
}


@pytest.mark.parametrize("spec", EXPLICIT)
def test_is_isomorphic_to_the_graph_written_out(spec: str) -> None:
    ours = nx.DiGraph(map(tuple, build(spec).edges().tolist()))
    assert nx.is_isomorphic(ours, nx.DiGraph(EXPLICIT[spec]))


@pytest.mark.parametrize(("spec", "vertices", "edges"), [row for rows in COUNTS.values() for row in rows])
def test_counts_are_the_closed_forms(spec: str, vertices: int, edges: int) -> None:
    g = build(spec)
    assert (g.num_vertices, g.num_edges) == (vertices, edges)
    assert g.ids_are_topological
    parsed = parse(spec)
    estimate = sizes.num_vertices(parsed.family, parsed.params)
    assert estimate is not None
    assert vertices <= estimate <= 2 * vertices


@pytest.mark.parametrize("family", REGISTRY.names())
def test_every_family_has_a_size(family: str) -> None:
    assert family in sizes._VERTICES


def _numbers(spec: str, x: np.ndarray) -> np.ndarray:
    """The values of `spec`'s output by a plain loop over the vertices."""
    g = build(spec)
    assert g.ops is not None
    value = np.zeros(g.num_vertices)
    value[g.tensors["x"].ravel()] = x
    for v in range(g.num_vertices):
        a = value[g.preds(v)]
        match ScalarOp(int(g.ops[v])):
            case ScalarOp.INPUT:
                assert len(a) == 0
            case ScalarOp.COPY:
                assert len(a) == 1
                value[v] = a[0]
            case ScalarOp.ADD:
                assert len(a) == 2
                value[v] = a[0] + a[1]
            case ScalarOp.SUB:
                value[v] = a[0] - a[1]
            case ScalarOp.SUM:
                value[v] = a.sum()
            case other:
                raise AssertionError(other)
    return value[g.tensors["y"]]


def test_the_numbers_mean_something() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(8)
    hadamard = np.array([[(-1) ** bin(i & j).count("1") for j in range(8)] for i in range(8)])
    np.testing.assert_allclose(_numbers("fft:8", x), hadamard @ x)
    for spec in ("tree:8", "tree:leaves=8,arity=3", "reduce:8", "reduce:8,sums=tree", "reduce:8,sums=flat"):
        np.testing.assert_allclose(_numbers(spec, x), [x.sum()])
    np.testing.assert_allclose(_numbers("grid:4x6", x[:1]), [math.comb(8, 3) * x[0]])
    np.testing.assert_allclose(_numbers("chain:9", x[:1]), [x[0]])
    np.testing.assert_allclose(_numbers("pyramid:7", x), [sum(math.comb(7, i) * x[i] for i in range(8))])
    step = np.eye(8) + np.eye(8, k=1) + np.eye(8, k=-1)
    np.testing.assert_allclose(_numbers("stencil1d:n=8,t=3", x), np.linalg.matrix_power(step, 3) @ x)
    line = np.eye(2) + np.eye(2, k=1) + np.eye(2, k=-1)
    plane = np.kron(line, np.eye(4)) + np.kron(np.eye(2), np.eye(4, k=1) + np.eye(4, k=-1))
    np.testing.assert_allclose(_numbers("stencil2d:2x4,t=2", x).ravel(), np.linalg.matrix_power(plane, 2) @ x)


@pytest.mark.parametrize("spec", ["tree:37", "tree:leaves=50,arity=3", "tree:leaves=64,arity=4"])
def test_tree_ids_are_post_order(spec: str) -> None:
    g = build(spec)
    assert (np.bincount(g.indices, minlength=g.num_vertices)[:-1] == 1).all()
    # Playing in order of id, the values waiting are one path's siblings: few at any time.
    alive, most = set(), 0
    leaves = len(g.tensors["x"])
    for v in range(leaves, g.num_vertices):
        alive -= {u for u in g.preds(v).tolist() if u >= leaves}
        alive.add(v)
        most = max(most, len(alive))
    arity = int(g.in_degree.max())
    assert most <= (arity - 1) * math.ceil(math.log(leaves, arity)) + 1


def test_random_graphs_are_reproducible() -> None:
    assert build("random:n=300,p=0.05,seed=7") == build("random:n=300,p=0.05,seed=7")
    assert build("random:n=300,p=0.05,seed=7") != build("random:n=300,p=0.05,seed=8")
    # The digests pin the streams: a change would silently change everybody's instances.
    assert build("random:n=30,p=0.2,seed=7").digest[:16] == "dfc77eddbd520636"
    assert build("random-layered:w=4,d=5,seed=7").digest[:16] == "11ae55e17881f033"


def test_random_edges_are_as_likely_as_asked() -> None:
    g = build("random:n=3000,p=0.01,seed=3")
    pairs = 3000 * 2999 / 2
    assert abs(g.num_edges - 0.01 * pairs) < 5 * math.sqrt(0.01 * 0.99 * pairs)
    edges = g.edges()
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == len(edges)
    # Halves of the triangle get their share: early targets are not favoured.
    low = (edges[:, 1] < 2121).mean()
    assert abs(low - 0.5) < 0.02
    assert build("random:n=9,p=0").num_edges == 0
    assert build("random:n=9,p=1").num_edges == 36


def test_random_layers_draw_distinct_predecessors_of_the_layer_before() -> None:
    g = build("random-layered:w=50,d=40,seed=1,k=5")
    rows = g.indices.reshape(-1, 5)
    assert (np.diff(rows, axis=1) > 0).all()
    assert (rows // 50 == np.repeat(np.arange(39), 50)[:, None]).all()
    # Every vertex is drawn about equally often.
    drawn = np.bincount(rows.ravel() % 50)
    assert abs(drawn - 5 * 39).max() < 6 * math.sqrt(5 * 39)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fft:6", "n=6 is no power of two; the nearest are 4 and 8"),
        ("tree:leaves=4,arity=1", "arity=1 is out of range, give a whole number >= 2"),
        ("random:n=5,p=1.5", "p=1.5 is out of range, give a probability from 0 to 1"),
        ("grid:0x3", "rows=0 is out of range, give a whole number >= 1"),
    ],
)
def test_sizes_out_of_range(spec: str, message: str) -> None:
    with pytest.raises(GraphSpecError, match=message):
        build(spec)
