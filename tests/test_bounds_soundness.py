"""No certificate exceeds an optimum: known ones, those of tiny random graphs, those of small families."""

from __future__ import annotations

import random

import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Bound, Limit, Status
from solvers.catalog import BOUNDS
from solvers.lower_bounds.compulsory import compulsory_io
from solvers.lower_bounds.projection import block_optimum, projected_io
from solvers.lower_bounds.protocol import LowerBound
from solvers.search import SEARCH
from strategies.playing import play
from tests.dijkstra_reference import least_io
from tests.oracle import RULE_SETS, oracle_graph, oracle_graphs, oracle_values
from tests.tiny_graphs import tiny_graph

# The search proves optima itself, which its own tests compare.
NAMES = [name for name in BOUNDS.names() if name != "search"]


def certificates(instance: Instance) -> list[Bound]:
    """Every certificate, however dear."""
    found = [BOUNDS.get(name)(instance) for name in NAMES]
    return [bound for bound in found if bound is not None and bound.certificate]


def compulsory_total(cdag: CDAG) -> int:
    return sum(compulsory_io(cdag))


def check(instance: Instance, optimum: int) -> None:
    for bound in certificates(instance):
        assert bound.value <= optimum, (instance, bound)


def test_registered_bounds_say_where_they_hold() -> None:
    for name in BOUNDS.names():
        bound = BOUNDS.get(name)
        assert isinstance(bound, LowerBound)
        assert bound.name == name
        assert set(bound.rules) in ({"one-shot"}, {"hong-kung", "one-shot"})


def test_no_bound_exceeds_a_known_optimum() -> None:
    checked = set()
    for _, instance, optimum in oracle_values()[::6]:
        assert optimum is not None
        check(instance, optimum)
        checked.add((instance.cdag, instance.M, instance.rules.name))
    assert len(checked) > 150
    assert {rules for _, _, rules in checked} == {rules for g in oracle_graphs() for _, rules in g.optimum}


@pytest.mark.slow
def test_no_bound_exceeds_any_known_optimum() -> None:
    for _, instance, optimum in oracle_values():
        assert optimum is not None
        check(instance, optimum)


def test_one_shot_bounds_are_silent_where_recomputation_is_allowed() -> None:
    silent = ["min-cut-wavefront", "spectral", "matmul-one-shot", "attention-one-shot"]
    for name in silent:
        for spec in ("fft:16", "matmul:4x4x4", "attention-backward:n=4,d=2"):
            assert BOUNDS.get(name)(Instance(build(spec), 8)) is None
    loud = BOUNDS.get("attention-one-shot")("attention-backward:n=64,d=4", 8, "one-shot")
    assert loud is not None
    assert loud.value > 0


def _random_case(seed: int) -> None:
    tiny = tiny_graph(seed)
    for rules in ("hong-kung", "one-shot"):
        optimum = least_io(
            tiny.num_vertices,
            tiny.edges,
            tiny.M,
            one_shot=rules == "one-shot",
            weights=tiny.weights,
            outputs=tiny.outputs,
        )
        assert optimum is not None
        check(Instance(tiny.cdag, tiny.M, rules), optimum)


@pytest.mark.parametrize("seed", range(30))
def test_no_bound_exceeds_the_optimum_of_a_random_graph(seed: int) -> None:
    _random_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30, 500))
def test_no_bound_exceeds_the_optimum_of_many_random_graphs(seed: int) -> None:
    _random_case(seed)


def _random_graph(rng: random.Random) -> CDAG:
    n = rng.randint(6, 9)
    edges = []
    for v in range(1, n):
        below = [u for u in range(v) if rng.random() < 0.4]
        rng.shuffle(below)
        edges += [(u, v) for u in below[: rng.choice([2, 2, 3])]]
    return CDAG.from_edges(n, edges)


def _searched_case(seed: int) -> None:
    """Graphs of up to 9 vertices, every M, against the searches (which other tests hold to brute force)."""
    rng = random.Random(1000 + seed)
    cdag = _random_graph(rng)
    least = Instance(cdag, 9).least_M
    for rules in ("hong-kung", "one-shot"):
        for M in range(least, least + 3):
            instance = Instance(cdag, M, rules)
            solved = SEARCH(instance, limit=Limit(nodes=200_000), seed=0)
            assert solved.io is not None
            check(instance, solved.io)


@pytest.mark.parametrize("seed", range(15))
def test_no_bound_exceeds_what_the_search_finds(seed: int) -> None:
    _searched_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15, 500))
def test_no_bound_exceeds_what_the_search_finds_on_many_graphs(seed: int) -> None:
    _searched_case(seed)


SMALL = [
    "attention-backward:n=1,d=1",
    "attention-backward:n=2,d=1",
    "attention-backward:n=1,d=2",
    "attention-forward:n=2,d=1",
    "attention-forward:n=2,d=2",
    "attention-gradient:n=1,d=1",
    "attention-gradient:n=2,d=1",
    "a1xa2t:n=2,d=2",
    "matmul:2x2x2",
    "matmul:2x3x2",
    "matmul:3x3x3,fma=true",
    "matmul:1x6x1",
    "fft:8",
    "pyramid:5",
    "stencil1d:n=6,t=3",
    "stencil2d:rows=3,cols=3,t=2",
    "grid:5x5",
]
LARGER = [
    "attention-backward:n=2,d=2",
    "attention-backward:n=4,d=1",
    "attention-backward:n=1,d=4",
    "attention-backward:n=2,d=1,given=O",
    "attention-gradient:n=1,d=4",
    "attention-gradient:n=2,d=2",
    "attention-gradient:n=4,d=1",
    "attention-gradient:n=2,d=1,given=dO",
    "matmul:3x3x3",
    "matmul:3x2x3",
    "attention-backward:n=3,d=1",
    "attention-backward:n=2,d=1,scale=true,fma=true",
    "attention-backward:n=3,d=1,mask=causal",
    "attention-backward:n=4,d=1,mask=window:2",
    "attention-backward:n=2,d=1,heads=2,kv_heads=1",
    "attention-forward:n=3,d=1",
    "attention-forward:n=4,d=1,mask=block:2:diagonal",
    "attention-forward:n=2,d=1,heads=2",
    "attention-forward:n=1,d=4",
    "attention-gradient:n=3,d=1",
    "a1xa2t:n=3,d=1",
    "a1xa2t:n=2,d=2,sums=tree",
    "matmul:2x2x2,sums=tree",
    "matmul:1x3x3",
    "matmul:3x1x3",
    "fft:16",
    "pyramid:8",
    "stencil1d:n=9,t=4",
    "grid:6x6",
]


def _family_case(spec: str, nodes: int) -> None:
    """The search's schedule is an upper bound even where it is not proved optimal."""
    cdag = build(spec)
    least = Instance(cdag, 99).least_M
    for M in sorted({least, least + 1, least + 3, least + 8}):
        for rules in ("hong-kung", "one-shot"):
            instance = Instance(cdag, M, rules)
            solved = SEARCH(instance, limit=Limit(nodes=nodes), seed=0)
            assert solved.status in (Status.OPTIMAL, Status.FEASIBLE)
            assert solved.io is not None
            check(instance, solved.io)


@pytest.mark.parametrize("spec", SMALL)
def test_no_bound_exceeds_the_best_schedule_of_a_small_member(spec: str) -> None:
    _family_case(spec, 3_000)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SMALL + LARGER)
def test_no_bound_exceeds_the_best_schedule_of_any_small_member(spec: str) -> None:
    _family_case(spec, 30_000)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SMALL + LARGER)
def test_no_bound_exceeds_a_schedule_at_any_memory(spec: str) -> None:
    """Every M up to where all of the graph fits, against the best of what `auto` and a short search find."""
    cdag = build(spec)
    least = Instance(cdag, 999).least_M
    for M in range(least, min(cdag.num_vertices, least + 40)):
        for rules in ("hong-kung", "one-shot"):
            instance = Instance(cdag, M, rules)
            io = verify(play("auto", instance)).io
            if cdag.num_vertices <= 64:
                # Beyond, a search of this length finds nothing that is better.
                solved = SEARCH(instance, limit=Limit(nodes=2_000), seed=0)
                assert solved.io is not None
                io = min(io, solved.io)
            check(instance, io)
            if io == compulsory_total(cdag):
                break


# -- block projection -------------------------------------------------------------------------------------


def test_a_block_is_no_graph_of_its_own() -> None:
    """0 -> 1 -> 2 -> 3 cut in two costs 2; blocks as graphs, or with free inputs, would say more."""
    path = CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    instance = Instance(path, M=2)
    assert least_io(4, [(0, 1), (1, 2), (2, 3)], 2, one_shot=False) == 2
    assert [block_optimum(instance, block) for block in ([0, 1], [2, 3])] == [1, 1]
    half = least_io(2, [(0, 1)], 2, one_shot=False)
    assert half == 2
    assert projected_io(instance, [[0, 1], [2, 3]]) == 2 < 2 * half


def test_projections_of_oracle_graphs_never_exceed_the_optimum() -> None:
    rng = random.Random(5)
    graphs = [graph for graph in oracle_graphs() if 5 <= graph.cdag.num_vertices <= 16][:12]
    sharp = 0
    for graph in graphs:
        for (M, rules), optimum in graph.optimum.items():
            if optimum is None or rules not in ("hong-kung", "one-shot"):
                continue
            order = list(range(graph.cdag.num_vertices))
            rng.shuffle(order)
            blocks = [order[i : i + 5] for i in range(0, len(order), 5)]
            value = projected_io(Instance(graph.cdag, M, rules), blocks)
            assert value <= optimum
            sharp += value == optimum
    assert sharp > 10


def test_the_whole_graph_as_one_block_is_the_game() -> None:
    for name in ("pyramid2", "tree4", "diamond"):
        graph = next((g for g in oracle_graphs() if g.name == name), None)
        if graph is None:
            continue
        for (M, rules), optimum in graph.optimum.items():
            if optimum is not None and graph.cdag.num_vertices <= 9 and rules in RULE_SETS:
                assert (
                    block_optimum(Instance(graph.cdag, M, rules), range(graph.cdag.num_vertices)) == optimum
                )


def test_whole_random_graphs_as_blocks_are_the_game() -> None:
    for seed in range(40):
        tiny = tiny_graph(seed)
        for rules in ("hong-kung", "one-shot"):
            expected = least_io(
                tiny.num_vertices,
                tiny.edges,
                tiny.M,
                one_shot=rules == "one-shot",
                weights=tiny.weights,
                outputs=tiny.outputs,
            )
            instance = Instance(tiny.cdag, tiny.M, rules)
            assert block_optimum(instance, range(tiny.num_vertices)) == expected


def test_blocks_are_small_and_without_repeats() -> None:
    instance = Instance(oracle_graph(oracle_graphs()[0].name).cdag, 4)
    with pytest.raises(ValueError, match="at most 9 vertices"):
        block_optimum(instance, [0, 0])
