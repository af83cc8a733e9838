"""`auto` against the proved optima, its own options, and what it is made of."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import graphs
import pebble
import strategies
from pebble.cli.main import app
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Limit
from strategies.portfolio import candidates
from tests.oracle import RULE_SETS, oracle_values

VARIANTS = [
    "one-shot+sliding",
    "hong-kung+sliding",
    "one-shot+free-sources",
    "hong-kung+free-sources",
    "partial",
]


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


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", VARIANTS)
def test_within_two_percent_under_a_variant(name: str, every: int) -> None:
    ratios: list[float] = []
    for graph, instance, optimum in oracle_values(name)[::every]:
        cost = pebble.verify(strategies.play("auto", instance)).io
        assert optimum is not None
        assert cost >= optimum, (graph.name, instance.M)
        if optimum:
            ratios.append(cost / optimum)
    assert sum(ratio == 1 for ratio in ratios) >= 0.95 * len(ratios) - 1
    assert every > 1 or math.exp(sum(map(math.log, ratios)) / len(ratios)) < 1.02


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


@pytest.mark.parametrize("rules", ["sliding", "load=2", "outputs-any", "free-sources", "no-delete"])
@pytest.mark.parametrize("base", RULE_SETS)
def test_variants_start_from_the_plain_game(base: str, rules: str) -> None:
    cdag = graphs.build("matmul:3x3x3")
    instance = Instance(cdag, 5, f"{base}+{rules}")
    schedule = strategies.play("auto", instance, effort=0.2)
    cost = pebble.verify(schedule)
    assert schedule.claim == cost.io <= pebble.verify(strategies.play("belady", instance)).io
    if rules in ("sliding", "outputs-any"):
        plain = strategies.play("auto", Instance(cdag, 5, base), effort=2)
        assert cost.io <= pebble.verify(plain).io


def test_auto_searches_partial_computation() -> None:
    cdag = graphs.build("pyramid:8")
    partial = Instance(cdag, 5, "partial")
    found = pebble.verify(strategies.play("auto", partial, effort=1)).io
    assert found < pebble.verify(strategies.play("belady", partial)).io
    assert found <= pebble.verify(strategies.play("auto", Instance(cdag, 5, "one-shot"), effort=1)).io
    # Two words are enough only with partial computation.
    assert pebble.verify(strategies.play("auto", Instance(cdag, 2, "partial"), effort=0.2)).peak_red == 2


def test_ctrl_c_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("strategies.portfolio.search_order", interrupted)
    for rules in ("hong-kung", "one-shot+sliding"):
        instance = Instance(graphs.build("fft:16"), 6, rules)
        with pytest.raises(pebble.PlayInterrupted) as stop:
            strategies.play("auto", instance)
        assert stop.value.schedule.instance is instance
        assert pebble.verify(stop.value.schedule).io == stop.value.schedule.claim
    run = CliRunner().invoke(app, ["play", "fft:16", "-M", "6", "-s", "lru,auto,belady", "--json"])
    assert run.exit_code == 130
    rows = json.loads(run.stdout)["results"]
    assert [row["strategy"] for row in rows] == ["lru", "auto"]
    assert all(row["verified"] for row in rows)


def test_ctrl_c_before_anything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("strategies.portfolio.candidates", interrupted)
    with pytest.raises(KeyboardInterrupt) as stop:
        strategies.play("auto", Instance(graphs.build("fft:16"), 6))
    assert not isinstance(stop.value, pebble.PlayInterrupted)
