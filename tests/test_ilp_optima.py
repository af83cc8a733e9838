"""The solver ``ilp`` against proved optima, against the search, and what it may claim."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit, Result, Status
from solvers.ilp import ILP, IntegerProgram
from solvers.search import SEARCH
from tests.ilp_checks import no_search
from tests.oracle import OracleGraph, oracle_graph, oracle_values

__all__ = ["no_search"]

ONE_SHOT = oracle_values("one-shot", feasible=False)
HONG_KUNG = oracle_values("hong-kung", feasible=False)


def _inner(graph: CDAG) -> int:
    return int((~graph.is_source).sum())


def _small(values: list[tuple[OracleGraph, Instance, int | None]], most: int) -> list[Any]:
    return [
        pytest.param(graph, instance, optimum, id=f"{graph.name}-M{instance.M}")
        for graph, instance, optimum in values
        if _inner(graph.cdag) <= most
    ]


def _assert_optimum(result: Result, optimum: int | None) -> None:
    if optimum is None:
        assert result.status is Status.INFEASIBLE
        assert result.schedule is None
        return
    assert (result.status, result.io, result.lower_bound) == (Status.OPTIMAL, optimum, optimum)
    assert result.schedule is not None
    assert verify(result.schedule).io == optimum
    assert result.bound is not None


@pytest.mark.parametrize(("graph", "instance", "optimum"), _small(ONE_SHOT, 9))
def test_one_shot_optima(graph: OracleGraph, instance: Instance, optimum: int | None) -> None:
    _assert_optimum(ILP(instance), optimum)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "instance", "optimum"), _small(ONE_SHOT, 1000))
def test_all_one_shot_optima(graph: OracleGraph, instance: Instance, optimum: int | None) -> None:
    _assert_optimum(ILP(instance, limit=Limit(time=300)), optimum)


@pytest.mark.parametrize(("graph", "instance", "optimum"), _small(HONG_KUNG, 4))
def test_optima_with_recomputation(graph: OracleGraph, instance: Instance, optimum: int | None) -> None:
    _assert_optimum(ILP(instance), optimum)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "instance", "optimum"), _small(HONG_KUNG, 12))
def test_more_optima_with_recomputation(graph: OracleGraph, instance: Instance, optimum: int | None) -> None:
    _assert_optimum(ILP(instance, limit=Limit(time=300)), optimum)


@pytest.mark.parametrize("rules", ["one-shot", "hong-kung"])
@pytest.mark.parametrize("spec", ["attention-backward:n=1,d=1", "a1xa2t:n=1,d=1", "a1xa2t:n=1,d=2"])
def test_attention_and_a_product_of_three_at_every_M(spec: str, rules: str) -> None:
    graph = build(spec)
    least = Instance(graph, 1).least_M
    costs = []
    for M in range(least, graph.num_vertices + 1):
        result = ILP(Instance(graph, M, rules))
        assert result.status is Status.OPTIMAL, (M, str(result))
        costs.append(result.io)
        if len(costs) > 1 and costs[-1] == costs[-2] == len(graph.sources) + len(graph.sinks):
            break
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == len(graph.sources) + len(graph.sinks)


@pytest.mark.parametrize(
    ("spec", "optima"),
    [
        ("fft:4", {3: 14, 4: 11, 5: 9, 6: 8}),
        ("pyramid:4", {3: 18, 4: 10, 5: 8, 6: 6}),
        ("grid:4x4", {3: 14, 4: 6}),
        ("matmul:2x2x2", {3: 25, 4: 17, 5: 14, 6: 13, 7: 12}),
    ],
)
def test_small_families_one_shot(spec: str, optima: dict[int, int]) -> None:
    graph = build(spec)
    assert {M: ILP(Instance(graph, M, "one-shot")).io for M in optima} == optima


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_mixed_integer_backends_prove_too(backend: str) -> None:
    for spec, M, optimum in [("fft:4", 4, 11), ("pyramid:4", 4, 10), ("a1xa2t:n=1,d=2", 3, 16)]:
        result = ILP(Instance(build(spec), M, "one-shot"), backend=backend)
        _assert_optimum(result, optimum)
        assert result.stats["backend"] == backend


def _random(seed: int) -> CDAG:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    edges = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.4]
    weights = None if seed % 3 else rng.integers(1, 4, n)
    return CDAG.from_edges(n, edges, weights=weights)


@pytest.mark.parametrize("rules", ["one-shot", "hong-kung"])
def test_agrees_with_the_search(rules: str) -> None:
    for seed in range(30):
        graph = _random(seed)
        least = Instance(graph, 1).least_M
        for M in (least, least + 1):
            instance = Instance(graph, M, rules)
            ours, theirs = ILP(instance), SEARCH(instance)
            assert ours.status is theirs.status is Status.OPTIMAL
            assert ours.io == theirs.io, (seed, M)


def test_further_outputs_and_weights() -> None:
    graph = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (1, 3), (3, 4)], weights=[2, 1, 3, 1, 2])
    graph = graph.with_outputs([2])
    result = ILP(Instance(graph, 6, "one-shot"))
    _assert_optimum(result, 2 + 1 + 3 + 2)


# -- what it may claim with recomputation -------------------------------------------------------------------


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("name", "M", "copies", "found"),
    [
        # With each vertex computed once the best is 4 and 13; computing again is better.
        ("recompute_gadget_n6", 3, 1, 4),
        ("hyperdagdb:fine-grained/random/fI_N10_i3_sP0", 4, 1, 13),
    ],
)
def test_a_short_horizon_proves_nothing(name: str, M: int, copies: int, found: int) -> None:
    graph = next(g for g, _, _ in HONG_KUNG if g.name.endswith(name.rpartition("/")[2]))
    optimum = graph.optimum[M, "hong-kung"]
    assert optimum is not None
    assert optimum < found
    result = ILP(Instance(graph.cdag, M), copies=copies)
    assert (result.status, result.io) == (Status.FEASIBLE, found)
    assert result.lower_bound <= optimum
    assert result.stats["optimal_among"].startswith("schedules that compute no vertex more than once")
    assert "not proved" in result.why


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("name", ["zipper_d2_n6", "zipper_d3_n6", "recompute_gadget_n6"])
def test_zippers_are_never_claimed_from_the_program_alone(name: str) -> None:
    graph = oracle_graph(name)
    for (M, rules), optimum in graph.optimum.items():
        if rules != "hong-kung" or optimum is None:
            continue
        result = IntegerProgram(copies=2)(Instance(graph.cdag, M), limit=Limit(nodes=20_000))
        assert result.lower_bound <= optimum <= (result.io or 0)
        if result.status is Status.OPTIMAL:
            # Only where a bound certified elsewhere is met.
            assert result.bound is not None
            assert result.bound.name not in ("ilp", "search")
            assert result.io == optimum
        else:
            assert result.status is Status.FEASIBLE


def test_recomputation_is_found_and_certified_by_the_search() -> None:
    graph = oracle_graph("recompute_gadget_n6")
    result = ILP(Instance(graph.cdag, 3))
    _assert_optimum(result, 3)
    assert result.schedule is not None
    assert verify(result.schedule).recomputes >= 1


# -- limits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cp-sat", "highs"])
def test_limits_return_a_schedule_and_a_bound(backend: str) -> None:
    instance = Instance(build("matmul:2x2x2"), 4, "one-shot")
    for limit, hit in [(Limit(nodes=1), "nodes"), (Limit(time=0.001), "time")]:
        result = ILP(instance, limit=limit, backend=backend)
        if result.status is Status.OPTIMAL:
            assert result.io == 17
            continue
        assert (result.status, result.limit_hit) == (Status.FEASIBLE, hit)
        assert result.schedule is not None
        assert result.lower_bound <= 17 <= verify(result.schedule).io == result.io


def test_a_gap_is_enough() -> None:
    instance = Instance(build("fft:4"), 3, "one-shot")
    result = ILP(instance, limit=Limit(gap=10.0))
    assert (result.status, result.limit_hit) == (Status.FEASIBLE, "gap")
    assert result.gap is not None
    assert result.gap <= 10.0


def test_a_seed_and_conflicts_make_it_reproducible() -> None:
    instance = Instance(build("matmul:2x2x2"), 4, "one-shot")
    first, second = (ILP(instance, limit=Limit(nodes=300), seed=3) for _ in range(2))
    assert (first.io, first.lower_bound, first.status) == (second.io, second.lower_bound, second.status)
    assert first.stats["states"] == second.stats["states"]


def test_ctrl_c_returns_the_best_so_far_and_still_works_afterwards() -> None:
    instance = Instance(build("matmul:3x3x3"), 5, "one-shot")
    for _ in range(2):
        timer = threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            result = ILP(instance, limit=Limit(time=60))
        finally:
            timer.cancel()
        assert (result.status, result.limit_hit) == (Status.FEASIBLE, "interrupted")
        assert result.schedule is not None
        assert verify(result.schedule).io == result.io
        assert result.stats["seconds"] < 30
