"""`solvers.improve`: optimal where it can search the whole graph, never worse, within its limits."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import graphs
import pebble
import solvers
import strategies
from pebble.instance import Instance
from pebble.result import Limit
from pebble.schedule import Schedule
from solvers.improving import _Around
from solvers.progress import Progress
from strategies.replaying import replay
from tests.oracle import RULE_SETS, oracle_values


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rules", RULE_SETS)
def test_exact_on_small_graphs(rules: str, every: int) -> None:
    """`auto`, then `improve`: the optimum wherever there are at most 20 vertices."""
    seen = 0
    for graph, instance, optimum in oracle_values(rules)[::every]:
        if graph.cdag.num_vertices > 20:
            continue
        seen += 1
        best = solvers.improve(strategies.play("auto", instance, effort=0))
        assert pebble.verify(best).io == best.claim == optimum, (graph.name, instance.M)
        assert best.info["optimal"]
    assert seen > 100 / every


def played(spec: str, M: int, strategy: str, rules: str = "hong-kung") -> Schedule:
    return strategies.play(strategy, Instance(graphs.build(spec), M, rules))


@pytest.mark.parametrize(
    ("spec", "M"), [("random-layered:w=8,d=12,seed=1", 4), ("spmv:n=12,p=0.3", 8), ("lu:4", 5)]
)
@pytest.mark.parametrize("rules", RULE_SETS)
def test_windows_never_cost_more_and_are_reproducible(spec: str, M: int, rules: str) -> None:
    given = played(spec, M, "belady:order=dfs", rules)
    before = pebble.verify(given).io
    best, again = (solvers.improve(given, Limit(nodes=60_000)) for _ in range(2))
    assert pebble.verify(best).io == best.claim <= before
    assert best.info["improved"]["io"] == (before, best.claim)
    assert best.info["improved"]["windows"] > 0
    assert np.array_equal(best.moves, again.moves)
    if best.claim == before:
        assert np.array_equal(best.moves, given.moves)


def test_windows_gain_on_a_bad_order() -> None:
    given = played("random-layered:w=8,d=12,seed=1", 4, "belady:order=natural")
    best = solvers.improve(given, Limit(nodes=200_000))
    assert best.claim is not None
    assert best.claim <= 0.95 * pebble.verify(given).io
    assert best.producer.endswith("improved")


def test_a_window_is_what_the_rest_leaves_to_it() -> None:
    schedule = played("pyramid:6", 4, "belady:order=natural")
    around = _Around(replay(schedule.instance, schedule.order()))
    window = around.window(3, 9)
    assert window is not None
    instance, vertices = window
    inside = set(around.order[3:9].tolist())
    assert {vertices[v] for v in range(len(vertices)) if not instance.cdag.is_source[v]} == inside
    later = {p for v in around.order[9:] for p in schedule.instance.cdag.preds(int(v)).tolist()}
    outputs = {int(vertices[v]) for v in np.flatnonzero(instance.cdag.is_output)} & inside
    assert outputs >= inside & later
    assert instance.least_M <= instance.M <= 4
    assert around.window(3, 4) is None


def test_limits_hold() -> None:
    given = played("fft:64", 6, "belady:order=dfs")
    start = time.monotonic()
    pebble.verify(solvers.improve(given, Limit(time=0.5)))
    assert time.monotonic() - start < 5
    same = solvers.improve(given, Limit(time=0.0))
    assert np.array_equal(same.moves, given.moves)
    assert solvers.improve(given, Limit(nodes=1)).info["improved"]["states"] <= 10


@pytest.mark.parametrize(("spec", "M"), [("pyramid:6", 4), ("random-layered:w=8,d=12,seed=1", 4)])
def test_ctrl_c_keeps_what_was_found(spec: str, M: int) -> None:
    """At the first better schedule: from the search of the whole graph, and from a window."""
    given = played(spec, M, "belady:order=natural")
    before = pebble.verify(given).io

    def interrupt(progress: Progress) -> None:
        if progress.io is not None and progress.io < before:
            raise KeyboardInterrupt

    best = solvers.improve(given, Limit(nodes=200_000), on_progress=interrupt)
    assert best.info["improved"]["interrupted"]
    assert not best.info["optimal"]
    assert pebble.verify(best).io == best.claim < before


def test_progress_is_told() -> None:
    given = played("random-layered:w=8,d=12,seed=1", 4, "belady:order=natural")
    told: list[Progress] = []
    best = solvers.improve(given, Limit(nodes=100_000), on_progress=told.append)
    costs = [progress.io for progress in told if progress.schedule is not None]
    assert len(costs) > 1
    assert costs == sorted(costs, reverse=True)  # type: ignore[type-var]
    assert costs[-1] == best.claim
    assert not best.info["improved"]["interrupted"]
    assert [progress.states for progress in told] == sorted(progress.states for progress in told)


def test_the_command_ends_with_130_and_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from pebble.cli.main import app

    def stopped(*args: object, **how: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("solvers.improving.SEARCH", stopped)
    command = ["play", "grid:9x9", "-M", "4", "-s", "belady", "--improve", "--json", "-q"]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 130
    rows = json.loads(told.stdout)["results"]
    assert [row["strategy"] for row in rows] == ["belady", "belady improved"]
    assert rows[1]["io"] <= rows[0]["io"]


def test_an_illegal_schedule_is_refused() -> None:
    instance = Instance(graphs.build("chain:3"), 2)
    with pytest.raises(pebble.IllegalMoveError):
        solvers.improve(Schedule.from_moves(instance, ["C1"]))


def test_the_command_chains_the_two() -> None:
    from pebble.cli.main import app

    told = CliRunner().invoke(
        app, ["play", "grid:4x4", "-M", "4", "-s", "auto", "--improve", "--time", "5", "--json", "-q"]
    )
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)["results"]
    assert [row["strategy"] for row in rows] == ["auto", "auto improved"]
    assert rows[1]["io"] == 4 <= rows[0]["io"]
    assert rows[1]["options"]["optimal"] is True
    assert all(row["verified"] for row in rows)
