"""`auto` against the proved optima, its own options, and what it is made of."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import graphs
import pebble
import strategies
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Limit
from strategies.portfolio import candidates
from tests.oracle import RULE_SETS, oracle_values


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rules", RULE_SETS)
def test_within_a_percent_of_the_optimum(rules: str, every: int) -> None:
    ratios = []
    for graph, instance, optimum in oracle_values(rules)[::every]:
        assert optimum is not None
        start = time.process_time()
        schedule = strategies.play("auto", instance)
        seconds = time.process_time() - start
        cost = pebble.verify(schedule)
        assert schedule.claim == cost.io >= optimum, (graph.name, instance.M)
        if ratios:  # the first one compiles
            assert seconds < 2, graph.name
        if optimum:
            ratios.append(cost.io / optimum)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    assert mean < {"hong-kung": 1.01, "one-shot": 1.001}[rules], mean


@pytest.mark.parametrize(
    ("spec", "M"),
    [("matmul:8x8x8", 20), ("attention-backward:n=8,d=2", 40), ("fft:64", 10), ("cg:n=8,k=3,p=0.3", 9)],
)
def test_never_above_any_strategy(spec: str, M: int) -> None:
    for rules in RULE_SETS:
        instance = Instance(graphs.build(spec), M, rules)
        auto = pebble.verify(strategies.play("auto", instance)).io
        for name in strategies.names():
            strategy = strategies.get(name)
            if strategy.supports(instance) is None and strategy.least_M(instance) <= M:
                assert auto <= pebble.verify(strategies.play(name, instance)).io, name


def test_tile_programs_are_found_and_priced() -> None:
    instance = Instance(graphs.build("attention-backward:n=16,d=4"), 60)
    found = candidates(instance)
    names = [strategy.name for strategy in found if isinstance(strategy, strategies.Countable)]
    assert names
    assert not {"belady", "lru", "auto"} & {strategy.name for strategy in found}
    costs = [strategies.count(name, instance.cdag.name, 60).io for name in names]
    assert costs == sorted(costs)
    schedule = strategies.play("auto", instance)
    assert schedule.claim is not None
    assert schedule.claim <= costs[0]
    assert any(strategy.name in schedule.info["from"] for strategy in found)


def test_effort_and_limits() -> None:
    instance = Instance(graphs.build("grid:9x9"), 4, "one-shot")
    claims = [strategies.play("auto", instance, effort=effort).claim for effort in ("0", 2, "6")]
    assert all(claim is not None for claim in claims)
    assert max(claims[1:]) <= claims[0]  # type: ignore[operator, type-var]
    for text in ("much", "-1", "nan"):
        with pytest.raises(UnsupportedInstanceError, match="effort"):
            strategies.play("auto", instance, effort=text)
    limited = [strategies.play("auto", instance, limit=Limit(nodes=500), seed=4) for _ in range(2)]
    assert np.array_equal(limited[0].moves, limited[1].moves)
    start = time.monotonic()
    pebble.verify(strategies.play("auto", instance, limit=Limit(time=0.3)))
    assert time.monotonic() - start < 5


def test_a_large_graph_is_not_searched() -> None:
    instance = Instance(graphs.build("random-layered:w=300,d=300"), 20)
    schedule = strategies.play("auto", instance)
    assert pebble.verify(schedule).io == schedule.claim
    assert "searched" not in schedule.info["from"]
