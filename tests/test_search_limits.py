"""The search at its limits: honest status, a refereed schedule and a valid bound however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import graphs
from pebble import CDAG, Instance, Limit, Result, Schedule, Status, UnsupportedInstanceError, verify
from pebble.moves import Move, Op
from solvers.progress import Progress
from solvers.search import SEARCH
from tests.oracle import RULE_SETS

# The optimum of this instance in both rule sets.
_HARD, _M, _OPTIMUM = "matmul:2x3x2", 4, 27


def _hard(rules: str) -> Instance:
    return Instance(graphs.build(_HARD), _M, rules)


def _assert_honest(result: Result) -> None:
    assert result.status is Status.FEASIBLE
    assert result.schedule is not None
    assert result.io is not None
    assert verify(result.schedule).io == result.io >= _OPTIMUM
    assert 0 < result.lower_bound <= _OPTIMUM
    assert result.bound is not None
    assert result.bound.value == result.lower_bound


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize(
    ("limit", "hit"),
    [
        (Limit(time=0.001), "time"),
        (Limit(nodes=1), "nodes"),
        (Limit(nodes=4_000), "nodes"),
        (Limit(memory_mb=0.01), "memory"),
        (Limit(memory_mb=0.1), "memory"),
        (Limit(gap=0.8), "gap"),
    ],
)
def test_a_limit_proves_nothing_that_is_not_proved(rules: str, limit: Limit, hit: str) -> None:
    result = SEARCH(_hard(rules), limit=limit)
    _assert_honest(result)
    assert result.limit_hit == hit
    if limit.gap is not None:
        assert result.gap is not None
        assert result.gap <= limit.gap


def test_tiny_limits_on_an_infeasible_instance_still_give_its_proof() -> None:
    instance = Instance(graphs.build("fft:4"), 2)
    assert SEARCH(instance, limit=Limit(time=0.001)).status is Status.INFEASIBLE


@pytest.mark.parametrize("rules", RULE_SETS)
def test_an_interrupt_keeps_the_best_schedule(rules: str) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.states > 0:
            raise KeyboardInterrupt

    result = SEARCH(_hard(rules), on_progress=interrupt)
    _assert_honest(result)
    assert result.limit_hit == "interrupted"


@pytest.mark.parametrize("rules", RULE_SETS)
def test_progress_bounds_only_get_better(rules: str) -> None:
    reports: list[Progress] = []
    result = SEARCH(_hard(rules), on_progress=reports.append)
    assert result.status is Status.OPTIMAL
    assert result.io == _OPTIMUM
    bounds = [r.lower_bound for r in reports]
    costs = [r.io for r in reports if r.io is not None]
    assert bounds == sorted(bounds)
    assert costs == sorted(costs, reverse=True)
    assert bounds[-1] == costs[-1] == _OPTIMUM
    for report in reports:
        if report.schedule is not None:
            assert verify(report.schedule).io == report.io


def test_a_schedule_to_beat_and_a_bound_given_are_used() -> None:
    instance = _hard("one-shot")
    best = SEARCH(instance).schedule
    result = SEARCH(instance, upper=best, lower=_OPTIMUM, limit=Limit(nodes=0))
    assert result.status is Status.OPTIMAL
    assert result.stats["states"] == 0
    assert result.bound is not None
    assert result.bound.name == "bound given"


def _beside_a_chain(cdag: CDAG, length: int) -> CDAG:
    n = cdag.num_vertices
    chain = [(v, v + 1) for v in range(length - 1)]
    return CDAG.from_edges(n + length, chain + [(u + length, v + length) for u, v in cdag.edges().tolist()])


@pytest.mark.parametrize(
    "vertices", [65, pytest.param(129, marks=pytest.mark.slow), pytest.param(250, marks=pytest.mark.slow)]
)
def test_more_than_one_machine_word_one_shot(vertices: int) -> None:
    # A chain padded with isolated vertices costs two I/Os; its last vertices lie in the last word.
    chain = graphs.build(f"chain:{vertices}")
    result = SEARCH(Instance(chain, 2, "one-shot"))
    assert (result.status, result.io) == (Status.OPTIMAL, 2)


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("length", [50, 120])
def test_more_than_one_machine_word_adds_up(rules: str, length: int) -> None:
    # The chain, first in the numbering, costs its source and its sink; the product's vertices lie behind it.
    cdag = _beside_a_chain(graphs.build("matmul:2x2x2"), length)
    result = SEARCH(Instance(cdag, 4, rules))
    assert (result.status, result.io) == (Status.OPTIMAL, 17 + 2)


def test_isolated_vertices_cost_nothing_and_take_no_room() -> None:
    cdag = CDAG.from_edges(400, [(7, 300), (300, 2)])
    result = SEARCH(Instance(cdag, 2))
    assert (result.status, result.io) == (Status.OPTIMAL, 2)
    assert result.schedule is not None
    assert next(iter(result.schedule)) == Move(Op.LOAD, 7)


def test_a_graph_too_large_is_refused_with_the_reason() -> None:
    instance = Instance(graphs.build("chain:300"), 2)
    reason = SEARCH.supports(instance)
    assert reason is not None
    assert "256" in reason
    with pytest.raises(UnsupportedInstanceError, match="256"):
        SEARCH(instance)


@pytest.mark.parametrize("rules", RULE_SETS)
def test_the_same_call_gives_the_same_result(rules: str) -> None:
    def run() -> tuple[Any, ...]:
        result = SEARCH(_hard(rules), limit=Limit(nodes=4_000))
        assert isinstance(result.schedule, Schedule)
        return result.io, result.lower_bound, result.stats["states"], result.schedule.text()

    assert run() == run()


_UNDER_ULIMIT = """
import resource, sys
import graphs
from pebble import Instance, Limit, verify
from solvers.search import SEARCH
import scipy.optimize

rules, headroom = sys.argv[1], int(sys.argv[2])
SEARCH(Instance(graphs.build("matmul:3x2x3"), 4, rules), limit=Limit(nodes=30_000))
with open("/proc/self/statm") as sizes:
    now = int(sizes.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + headroom, now + headroom))
result = SEARCH(Instance(graphs.build("matmul:3x3x3"), 5, rules), limit=Limit(time=40))
print(result.status, result.limit_hit, result.lower_bound <= verify(result.schedule).io == result.io)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the size of a process from Linux")
@pytest.mark.parametrize(("rules", "headroom"), [("one-shot", 40_000_000), ("hong-kung", 4_000_000)])
def test_a_failed_allocation_keeps_the_schedule_and_the_bound(rules: str, headroom: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _UNDER_ULIMIT, rules, str(headroom)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["feasible", "memory", "True"]
