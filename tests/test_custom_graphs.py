"""Einsum strings and coarse graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphs
import pebble
import strategies
from graphs.sizes import num_vertices
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError, InvalidCDAGError, UnsupportedInstanceError

EINSUMS = [
    "einsum:ij,jk->ik;i=4,j=3,k=5",
    "einsum:ij,jk,kl->il;i=2,j=3,k=4,l=2",
    "einsum:bij,bkj->bik;b=2,i=2,j=3,k=2",
    "einsum:i,i,i->;i=4",
    "einsum:ij,kl->il;i=2,j=2,k=3,l=2",
    "einsum:i,j,k->ijk;i=2,j=3,k=2",
    "einsum:ij,ij;i=2,j=3,sums=tree",
    "einsum:ab,bc,cd,da->a;a=2,b=2,c=2,d=2,fma=true",
]


@pytest.mark.parametrize("text", EINSUMS)
def test_einsum_specs_compute_the_einsum(text: str) -> None:
    spec = graphs.GraphSpec.parse(text)
    cdag = graphs.build(spec)
    inputs = graphs.example_inputs(cdag)
    (found,) = pebble.evaluate(cdag, inputs).values()
    np.testing.assert_allclose(found, np.einsum(str(spec.params["subscripts"]), *inputs.values()), atol=1e-12)
    assert num_vertices("einsum", spec.params) == cdag.num_vertices
    assert graphs.build(cdag.name) == cdag


def test_einsum_of_a_product_is_matmul() -> None:
    product = graphs.build("einsum:ij,jk->ik;i=4,j=3,k=5")
    assert product == graphs.build("matmul:4x3x5")
    assert list(product.tensors) == ["A", "B", "C"]
    assert product.sums == graphs.build("matmul:4x3x5").sums
    three = graphs.einsum("ij,jk,kl->il", i=2, j=3, k=4, l=2)
    assert list(three.tensors) == ["A", "B", "C", "AB", "D"]


def test_forms_of_one_einsum() -> None:
    canonical = graphs.GraphSpec.parse("einsum:ij,jk->ik;i=4,j=3,k=5")
    for text in (
        "einsum:ij,jk->ik,i=4,j=3,k=5",
        "einsum: ij, jk -> ik ; k=5; j=3, i=4",
        "Einsum:ij,jk;i=4,j=3,k=5",
    ):
        assert graphs.GraphSpec.parse(text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("einsum:ij,jk->ik;i=4,j=3", r"give the length of every index and of no other one \(k\)"),
        ("einsum:ij,jk->ik;i=4,j=3,k=5,m=2", r"no other one \(m\)"),
        ("einsum:ij,jk->ii;i=4,j=3,k=5", "repeats an index or names a new one"),
        ("einsum:ij,jk->iz;i=4,j=3,k=5", "repeats an index or names a new one"),
        ("einsum:i1->i;i=4", "is no einsum"),
        ("einsum:", "no operand has an index"),
        ("einsum:i->i;i=0", "'i=0' in .* is no length"),
        ("einsum:i->i;i=2,i=3", "'i=3' in .* given once"),
        ("einsum:i->i;i=2,sums=star", "no sums=chain"),
    ],
)
def test_bad_einsums(text: str, message: str) -> None:
    with pytest.raises(GraphSpecError, match=message):
        graphs.build(text)


def test_bad_lengths_in_python() -> None:
    with pytest.raises(GraphSpecError, match="no length is given for j"):
        graphs.einsum("ij->i", i=2)
    with pytest.raises(GraphSpecError, match="has no index 'k'"):
        graphs.einsum("ij->i", i=2, j=2, k=2)
    with pytest.raises(GraphSpecError, match="j=0 is out of range"):
        graphs.einsum("ij->i", i=2, j=0)


def test_tiles_of_a_product() -> None:
    g = graphs.coarsen(graphs.build("matmul:4x4x6"), (2, 2))
    assert (g.num_vertices, g.num_edges) == (4 + 6 + 6, 6 * 4)
    assert g.tensors["C"].shape == (2, 3)
    assert g.labels is not None
    assert g.labels[int(g.tensors["C"][1, 2])] == "C[2:4,4:6]"
    assert g.weights is not None
    assert (g.weights == 4).all()
    assert set(g.preds(int(g.tensors["C"][1, 2]))) == {*g.tensors["A"][1], *g.tensors["B"][:, 2]}
    assert g.input_names == ("A", "B")


def test_whole_arrays() -> None:
    fine = graphs.build("attention-backward:n=4,d=2")
    g = graphs.coarsen(fine, "tensor")
    assert g.labels is not None
    assert g.labels[:6] == ("Q", "K", "V", "dO", "L", "D")
    assert {g.labels[v] for v in g.outputs} == {"dV", "dQ", "dK"}
    weights = dict(zip(g.labels, g.weights.tolist(), strict=True)) if g.weights is not None else {}
    assert weights["S"] == weights["P"] == 16
    assert weights["dQ"] == weights["Q"] == 8
    assert weights["L"] == 4


def test_some_arrays_in_tiles_and_a_map_of_ones_own() -> None:
    fine = graphs.build("matmul:2x2x2")
    g = graphs.coarsen(fine, {"C": (1, 1)})
    assert g.labels == ("A", "B", "C[0:1,0:1]", "C[0:1,1:2]", "C[1:2,0:1]", "C[1:2,1:2]")
    assert g.weights is not None
    assert g.weights.tolist() == [4, 4, 1, 1, 1, 1]
    chain = CDAG.from_edges(6, [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)], weights=[1, 2, 1, 3, 1, 1])
    own = graphs.coarsen(chain, ["in", "in", "mid", "mid", "out", "out"])
    assert own.labels == ("in", "mid", "out")
    assert own.weights is not None
    assert own.weights.tolist() == [3, 3, 2]
    assert own.edges().tolist() == [[0, 1], [1, 2]]


def test_every_vertex_in_a_group_of_its_own_is_the_graph_itself() -> None:
    for spec in ("fft:8", "grid:4x4", "random:n=30,p=0.2,seed=3"):
        g = graphs.build(spec)
        same = graphs.coarsen(g, np.arange(g.num_vertices))
        assert same.num_edges == g.num_edges
        assert same.weights is None
        assert set(map(tuple, same.edges().tolist())) == set(map(tuple, g.edges().tolist()))


@pytest.mark.parametrize(
    "spec", ["matmul:4x3x4", "attention-backward:n=4,d=2", "lu:4", "fft:8", "stencil1d:n=6,t=3"]
)
@pytest.mark.parametrize("groups", ["tensor", (2, 2), (1, 3)])
def test_coarse_schedules_refine_to_schedules_of_the_same_cost(spec: str, groups: Any) -> None:
    fine = graphs.build(spec)
    coarse = graphs.coarsen(fine, groups)
    least = pebble.Instance(coarse, 1).least_M
    for M in (least, least + 5, 2 * least):
        played = strategies.play("belady", pebble.Instance(coarse, M))
        refined = graphs.refine(played, fine, groups)
        cost, finer = pebble.verify(played), pebble.verify(refined)
        assert (finer.loads, finer.stores) == (cost.loads, cost.stores)
        assert refined.instance.M >= M


def test_bad_groups() -> None:
    g = CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    with pytest.raises(InvalidCDAGError, match=r"in a cycle: (b -> a -> b|a -> b -> a); split one of them"):
        graphs.coarsen(g, ["in", "a", "b", "a"])
    with pytest.raises(InvalidCDAGError, match="group 'a' mixes sources and computed vertices"):
        graphs.coarsen(g, ["a", "a", "b", "b"])
    with pytest.raises(InvalidCDAGError, match="3 groups are given for 4 vertices"):
        graphs.coarsen(g, [0, 0, 1])
    with pytest.raises(InvalidCDAGError, match="has no tensor 'Q'"):
        graphs.coarsen(g, {"Q": (2, 2)})
    with pytest.raises(InvalidCDAGError, match="is no tuple of whole numbers"):
        graphs.coarsen(graphs.build("matmul:2x2x2"), (0, 2))
    with pytest.raises(InvalidCDAGError, match="say 'tensor', a tile"):
        graphs.coarsen(g, "tiles")
    other = strategies.play("belady", pebble.Instance(g, 2))
    with pytest.raises(UnsupportedInstanceError, match="not one of the coarse form"):
        graphs.refine(other, graphs.build("matmul:2x2x2"), (2, 2))
