"""Specs: every form parses, the name of a graph rebuilds it, and every fault is named."""

from __future__ import annotations

import pytest

from graphs.catalog import REGISTRY, build, parameters, parse
from graphs.spec import GraphSpec
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError, PebbleError, UnknownNameError

SPECS = [
    "attention-backward:n=4,d=2",
    "attention-backward:n=3,d=2,given=O",
    "attention-backward:n=3,d=2,fma=true",
    "attention-gradient:n=3,d=2",
    "attention-forward:n=3,d=2",
    "a1xa2t:n=4,d=2",
    "matmul:2x3x2",
    "matmul:2x3x2,sums=tree",
    "matvec:3x3",
    "dot:4",
    "lu:4",
    "cholesky:4",
    "einsum:ij,jk->ik;i=4,j=3,k=5",
    "einsum:ij,jk,k->i;i=2,j=3,k=2,sums=tree,fma=true",
    "fft:8",
    "grid:5x5",
    "stencil1d:n=6,t=3",
    "stencil2d:rows=3,cols=4,t=2",
    "chain:5",
    "tree:leaves=8",
    "tree:leaves=9,arity=3",
    "pyramid:6",
    "reduce:8",
    "reduce:8,sums=tree",
    "spmv:n=9,p=0.3,seed=2",
    "spmv-power:n=6,k=3,p=0.3",
    "knn:n=8,k=2,p=0.2,sums=chain",
    "cg:n=5,k=2,p=0.3,seed=1",
    "random:n=30,p=0.2,seed=7",
    "random-layered:w=4,d=5,seed=7",
]


@pytest.mark.parametrize("text", SPECS)
def test_names_rebuild_the_graph(text: str) -> None:
    spec = GraphSpec.parse(text)
    assert str(spec) == text
    g = build(spec)
    assert g.family == spec.family
    assert g.num_vertices > 0
    assert build(g.name) == g
    assert parse(g.name) == spec
    assert spec.params.items() >= dict(g.params).items()


def test_every_family_has_a_spec_here() -> None:
    assert {parse(text).family for text in SPECS} == set(REGISTRY.names())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fft:8", "fft:n=8"),
        ("FFT:8", "fft: n = 8"),
        ("grid:5x5", "grid:rows=5,cols=5"),
        ("grid:5x5", "grid:5,5"),
        ("matmul:2x3x4", "matmul:m=2,k=3,n=4"),
        ("matvec:2x3", "matvec:m=2,n=3"),
        ("tree:8", "tree:leaves=8,arity=2"),
        ("random_layered:w=4,d=5", "random-layered:4,5,seed=0"),
        ("random:n=30,p=0.2", "random:30,0.2"),
        ("attention-backward:n=4,d=2", "attention-backward:n=4,d=2,sums=chain,fma=false"),
    ],
)
def test_forms_of_one_spec(one: str, other: str) -> None:
    assert parse(one) == parse(other)


def test_defaults_are_filled_in_and_typed() -> None:
    assert dict(parse("tree:8").params) == {"leaves": 8, "arity": 2}
    spec = parse("attention-backward:n=4,d=2")
    assert spec.params["sums"] == "chain"
    assert spec.params["fma"] is False
    assert set(spec.params) == set(parameters("attention-backward"))
    assert isinstance(parse("random:n=3,p=1").params["p"], float)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no graph spec: write family:key=value"),
        ("fft:", "is no graph spec"),
        (":8", "is no graph spec"),
        ("fft:n=", "'n=' in 'fft:n=' is no key=value"),
        ("fft:n=8,,", "'' in 'fft:n=8,,' is no key=value"),
        ("tree:leaves=3,4", "'4' in 'tree:leaves=3,4' is no key=value"),
        ("fft", "'fft' lacks n: fft takes n"),
        ("grid:5", "'grid:5' lacks cols: grid takes rows, cols"),
        ("fft:8,9", "'fft:8,9' has 2 values, fft takes n"),
        ("fft:n=8,n=8", "'n' is given twice"),
        ("tree:3,leaves=4", "'leaves' is given twice"),
        (
            "tree:leavs=4",
            "tree has no parameter 'leavs'; did you mean 'leaves'? (tree takes leaves, arity=2)",
        ),
        ("fft:2.5", "fft: n=2.5 is no whole number"),
        ("fft:eight", "fft: n=eight is no whole number"),
        ("chain:0", "chain: n=0 is out of range, give a whole number >= 1"),
        ("chain:-3", "chain: n=-3 is out of range"),
        ("random:n=3,p=x", "random: p=x is no number"),
        ("random:n=3,p=nan", "random: p=nan is out of range"),
        ("random:n=3,p=0.5,seed=-1", "random: seed=-1 is out of range, give a whole number >= 0"),
        ("reduce:8,sums=flatt", "reduce: sums=flatt is none of chain, tree, flat; did you mean 'flat'?"),
        ("matmul:2x2x2,fma=maybe", "matmul: fma=maybe is neither true nor false"),
    ],
)
def test_faults_are_named(text: str, message: str) -> None:
    with pytest.raises(GraphSpecError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_family_is_suggested() -> None:
    with pytest.raises(
        UnknownNameError, match="no graph family 'atention-backward'; did you mean 'attention"
    ):
        parse("atention-backward:n=4,d=2")


@pytest.mark.parametrize(
    "text", ["fft:1099511627776", "attention-backward:n=65536,d=128", "grid:10000000x1000000"]
)
def test_absurd_sizes_are_refused_before_any_memory_is_taken(text: str) -> None:
    assert parse(text).params
    with pytest.raises(GraphSpecError, match=r"has about .* vertices and needs about .* GB"):
        build(text)


def test_third_parties_need_no_annotations() -> None:
    def ring(n, wrap=False, label=None):  # type: ignore[no-untyped-def]
        edges = [(i, i + 1) for i in range(n - 1)] + ([(0, n - 1)] if wrap else [])
        return CDAG.from_edges(n, edges)

    name = "a-ring-of-tests"
    if name not in REGISTRY:
        REGISTRY.register(name, ring, "for this test")
    try:
        spec = parse(f"{name}:5,wrap=true")
        assert dict(spec.params) == {"n": 5, "wrap": True, "label": None}
        g = build(spec)
        assert (g.num_edges, g.family, dict(g.params)) == (5, name, {"n": 5, "wrap": True})
        assert build(g.name) == g
    finally:
        del REGISTRY._entries[name], REGISTRY._canonical[name]


def test_all_errors_are_ours() -> None:
    for text in ("fft:6", "nothing", "fft:8=9"):
        with pytest.raises(PebbleError):
            build(text)
