"""CDAG and Instance: construction, derived facts, renumbering, identity, and each refusal."""

from __future__ import annotations

import random
import tracemalloc

import networkx as nx
import numpy as np
import pytest

from pebble import cdag as cdag_module
from pebble.cdag import CDAG
from pebble.errors import DuplicateEdgeWarning, InfeasibleInstanceError, InvalidCDAGError, InvalidMemoryError
from pebble.instance import Instance, check_memory
from pebble.rules import Rules
from tests.games import random_cdag, random_op_cdag


def test_facts_of_a_small_graph() -> None:
    g = CDAG.from_edges(6, [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5)])
    assert (g.num_vertices, g.num_edges) == (6, 5)
    assert g.sources.tolist() == [0, 1, 2]
    assert g.sinks.tolist() == g.outputs.tolist() == [4, 5]
    assert g.preds(4).tolist() == [1, 2]
    assert g.succs(1).tolist() == [3, 4]
    assert g.in_degree.tolist() == [0, 0, 0, 2, 2, 1]
    assert repr(g) == "<CDAG custom: 6 vertices, 5 edges, 3 sources, 2 sinks>"
    assert g.indices.dtype == np.int32


def test_operands_keep_the_order_in_which_they_are_given() -> None:
    g = CDAG.from_edges(4, [(2, 3), (0, 1), (0, 3), (1, 3)])
    assert g.preds(3).tolist() == [2, 0, 1]
    assert g.edges().tolist() == [[0, 1], [2, 3], [0, 3], [1, 3]]


def test_an_isolated_vertex_is_a_source_and_a_sink() -> None:
    g = CDAG.from_edges(1, [])
    assert g.sources.tolist() == g.sinks.tolist() == [0]
    assert Instance(g, 1).least_M == 1
    assert Instance(g, 1).least_M_vertex is None


def test_no_vertices_at_all() -> None:
    g = CDAG.from_edges(0, [])
    assert (g.num_vertices, g.sources.tolist(), g.topological_order.tolist()) == (0, [], [])
    assert Instance(g, 1).feasible


def test_ops_and_tensors_may_be_lists() -> None:
    g = CDAG.from_edges(2, [(0, 1)], ops=[0, 7], op_const=[0, 0], tensors={"y": [1]}, output_names=("y",))
    assert g.ops is not None
    assert g.op_const is not None
    assert (g.ops.dtype, g.op_const.dtype, g.tensors["y"].dtype) == (np.uint8, np.float64, np.int64)


def test_the_arrays_are_frozen() -> None:
    g = CDAG.from_edges(3, [(0, 2), (1, 2)], weights=[1, 2, 3])
    for array in (g.indptr, g.indices, g.weights):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        g.indptr = g.indices  # type: ignore[misc]


@pytest.mark.parametrize(
    ("n", "edges", "kwargs", "complaint", "vertices"),
    [
        (3, [(0, 1), (1, 2), (2, 0)], {}, "has a cycle: 0 -> 1 -> 2 -> 0", (0, 1, 2)),
        (5, [(0, 1), (3, 2), (2, 4), (4, 3)], {}, "has a cycle: 2 -> 4 -> 3 -> 2", (2, 4, 3)),
        (3, [(0, 1), (2, 2)], {}, "vertex 2 has an edge to itself", (2,)),
        (3, [(0, 1), (0, 3)], {}, r"edge \(0, 3\): vertex 3 is out of range, ids go from 0 to 2", (3,)),
        (3, [(-1, 1)], {}, r"edge \(-1, 1\): vertex -1 is out of range", (-1,)),
        (-1, [], {}, "num_vertices=-1 is negative", ()),
        (3, [(0, 1, 2)], {}, r"pairs \(predecessor, vertex\), got an array of shape \(1, 3\)", ()),
        (3, [(0.5, 1)], {}, "whole numbers, got float64", ()),
        (2, [(0, 1)], {"weights": [1]}, r"weights have shape \(1,\), expected \(2,\)", ()),
        (2, [(0, 1)], {"weights": [1, 0]}, "vertex 1 weighs 0 words: weights must be at least 1", (1,)),
        (2, [(0, 1)], {"weights": [1, 1.5]}, "whole numbers of words", ()),
        (2, [(0, 1)], {"labels": ["a"]}, "1 labels for 2 vertices", ()),
        (2, [(0, 1)], {"outputs": [2]}, "an output is out of range, ids go from 0 to 1", ()),
    ],
)
def test_bad_graphs(
    n: int, edges: list[tuple[int, ...]], kwargs: dict[str, object], complaint: str, vertices: tuple[int, ...]
) -> None:
    with pytest.raises(InvalidCDAGError, match=complaint) as caught:
        CDAG.from_edges(n, edges, **kwargs)  # type: ignore[arg-type]
    assert caught.value.vertices == vertices
    assert "\n" not in str(caught.value)


def test_duplicate_edges_are_merged_with_a_warning() -> None:
    with pytest.warns(DuplicateEdgeWarning, match=r"2 duplicate edge\(s\) merged, the first is \(0, 2\)"):
        g = CDAG.from_edges(3, [(0, 2), (1, 2), (0, 2), (0, 2)])
    assert g.preds(2).tolist() == [0, 1]


def test_a_long_cycle_is_found_and_shortened() -> None:
    n = 60_000
    ring = np.column_stack((np.arange(n), np.roll(np.arange(n), -1)))
    with pytest.raises(InvalidCDAGError, match=r"0 -> 1 -> .* -> 11 -> … -> 0") as caught:
        CDAG.from_edges(n, ring)
    assert caught.value.vertices == tuple(range(n))


def test_weights_of_one_word_are_no_weights() -> None:
    assert CDAG.from_edges(2, [(0, 1)], weights=[1, 1]).weights is None
    g = CDAG.from_edges(2, [(0, 1)], weights=[1.0, 2.0])
    assert (g.weight(0), g.weight(1)) == (1, 2)


def test_further_outputs_are_outputs_once() -> None:
    g = CDAG.from_edges(4, [(0, 1), (1, 2), (1, 3)], outputs=[1, 2, 1])
    assert g.further_outputs.tolist() == [1]
    assert g.outputs.tolist() == [1, 2, 3]
    assert g.sinks.tolist() == [2, 3]


def test_topological_orders_of_random_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    graphs = [random_cdag(rng, 30) for _ in range(60)]
    for threshold in (1 << 30, 0):
        # Once with the plain loops, once with the compiled ones.
        monkeypatch.setattr(cdag_module, "_COMPILE_FROM", threshold)
        for g in graphs:
            fresh = CDAG(indptr=g.indptr, indices=g.indices)
            place = np.empty(g.num_vertices, dtype=int)
            place[fresh.topological_order] = np.arange(g.num_vertices)
            assert (place[fresh.edges()[:, 0]] < place[fresh.edges()[:, 1]]).all()
            assert fresh.ids_are_topological == bool((fresh.edges()[:, 0] < fresh.edges()[:, 1]).all())
            indptr, indices = fresh.successors
            backward = {
                (u, int(w)) for u in range(g.num_vertices) for w in indices[indptr[u] : indptr[u + 1]]
            }
            assert backward == set(map(tuple, fresh.edges().tolist()))


def test_renumbering_moves_everything_along() -> None:
    rng = random.Random(9)
    for _ in range(30):
        g = random_op_cdag(rng, rng.randint(1, 20))
        n = g.num_vertices
        g = CDAG.from_edges(
            n,
            g.edges(),
            weights=[rng.randint(1, 4) for _ in range(n)],
            labels=[f"v{v}" for v in range(n)],
            outputs=[0],
            ops=g.ops,
            op_const=g.op_const,
            tensors={"all": np.arange(n)},
        )
        order = np.array(rng.sample(range(n), n))
        h = g.renumber(order)
        assert g.weights is not None or h.weights is None
        for new, old in enumerate(order.tolist()):
            assert order[h.preds(new)].tolist() == g.preds(old).tolist()
            assert h.weight(new) == g.weight(old)
            assert h.labels is not None
            assert h.labels[new] == f"v{old}"
        assert set(order[h.outputs].tolist()) == set(g.outputs.tolist())
        assert order[h.tensors["all"]].tolist() == list(range(n))
        assert h.renumber(np.argsort(order)) == g


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [0, 1, 3], [0, 1, -1]])
def test_renumbering_by_no_permutation(order: list[int]) -> None:
    g = CDAG.from_edges(3, [(0, 2), (1, 2)])
    with pytest.raises(InvalidCDAGError, match="the order"):
        g.renumber(order)


def test_identity_is_edges_in_operand_order_weights_and_outputs() -> None:
    g = CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)])
    same = CDAG.from_edges(4, np.array([(0, 2), (1, 2), (2, 3)]), labels="abcd", family="other")
    assert g == same
    assert hash(g) == hash(same)
    wide = CDAG(indptr=g.indptr.astype(np.int64), indices=g.indices.astype(np.int64))
    assert wide.digest == g.digest
    for other in (
        CDAG.from_edges(4, [(1, 2), (0, 2), (2, 3)]),
        CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)], weights=[1, 1, 1, 2]),
        CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)], outputs=[2]),
        CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3)]),
    ):
        assert other != g
        assert other.digest != g.digest


def test_names_are_specs() -> None:
    assert CDAG.from_edges(1, []).name == "custom"
    assert CDAG.from_edges(1, [], family="chain").name == "chain"
    assert CDAG.from_edges(1, [], family="chain", params={"n": 1, "k": 2}).name == "chain:n=1,k=2"


def test_networkx_both_ways() -> None:
    graph = nx.DiGraph([("x", "sum"), ("y", "sum"), ("sum", "out")])
    graph.nodes["y"]["weight"] = 3
    g = CDAG.from_networkx(graph)
    assert g.labels == ("x", "sum", "y", "out")
    assert [g.weight(v) for v in range(4)] == [1, 1, 3, 1]
    back = g.to_networkx()
    assert nx.is_isomorphic(graph, back)
    assert back.nodes[2] == {"label": "y", "weight": 3}
    with pytest.raises(InvalidCDAGError, match="undirected"):
        CDAG.from_networkx(nx.path_graph(3))


# -- instances ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("M", "complaint"),
    [
        (0, "M=0 leaves no red pebble"),
        (-1, "M=-1 leaves no red pebble"),
        (2.5, "M=2.5 is not a whole number"),
        ("abc", "M='abc' is not a whole number"),
        (True, "M=True is not a whole number"),
        (None, "M=None is not a whole number"),
    ],
)
def test_bad_memory(M: object, complaint: str) -> None:
    with pytest.raises(InvalidMemoryError, match=complaint):
        check_memory(M)
    with pytest.raises(InvalidMemoryError, match=complaint):
        Instance(CDAG.from_edges(1, []), M)  # type: ignore[arg-type]


def test_numpy_integers_are_memory() -> None:
    assert check_memory(np.int32(7)) == 7


def test_least_memory_names_its_vertex() -> None:
    g = CDAG.from_edges(5, [(0, 3), (1, 3), (0, 4), (1, 4), (2, 4)], labels=[*"abc", "p", "q"])
    inst = Instance(g, 3)
    assert (inst.least_M, inst.least_M_vertex, inst.feasible) == (4, 4, False)
    with pytest.raises(
        InfeasibleInstanceError, match=r"M=3 .* computing vertex 4 \(q\) needs 4 red words"
    ) as e:
        inst.require_feasible()
    assert (e.value.vertex, e.value.least_M, e.value.M) == (4, 4, 3)
    inst.with_memory(4).require_feasible()


def test_least_memory_counts_words() -> None:
    g = CDAG.from_edges(5, [(0, 3), (1, 3), (0, 4), (1, 4), (2, 4)], weights=[1, 1, 1, 9, 1])
    assert (Instance(g, 1).least_M, Instance(g, 1).least_M_vertex) == (11, 3)


def test_a_star_of_a_million_inputs_is_refused_with_its_least_memory() -> None:
    n = 1_000_000
    star = CDAG.from_edges(n + 1, np.column_stack((np.arange(n), np.full(n, n))))
    with pytest.raises(InfeasibleInstanceError, match=f"vertex {n} needs {n + 1} red words at once"):
        Instance(star, 10).require_feasible()


def test_instances_compare_by_graph_memory_and_rules() -> None:
    g = CDAG.from_edges(3, [(0, 2), (1, 2)])
    inst = Instance(g, 3)
    assert inst == Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), 3, Rules())
    assert hash(inst) == hash(Instance(g, 3))
    assert inst != inst.with_memory(4)
    assert inst != inst.with_rules("one-shot")
    assert repr(inst) == "<Instance custom, M=3, rules hong-kung>"


def test_a_graph_costs_few_bytes_a_vertex() -> None:
    """A binary graph: 4 bytes of indptr and 8 of predecessors a vertex, ids in a topological order."""
    n = 1_000_000
    indptr = np.minimum(np.arange(n + 1) * 2, 2 * n).astype(np.int32)
    indptr[1:3] = 0
    indptr[3:] = 2 * np.arange(1, n - 1)
    v = np.arange(2, n)
    indices = np.column_stack((v - 1, v - 2)).ravel().astype(np.int32)
    tracemalloc.start()
    g = CDAG(indptr=indptr, indices=indices)
    assert g.ids_are_topological
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held + indptr.nbytes + indices.nbytes <= 14 * n
