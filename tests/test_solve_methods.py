"""`solve` and `solve_range`: methods, statuses, what one M lends the next."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest

import solvers
from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.errors import (
    IllegalMoveError,
    UnknownNameError,
    UnsupportedInstanceError,
)
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit, Result, Status
from pebble.schedule import Schedule
from solvers.checking import check
from solvers.progress import Progress
from solvers.solving import parse_method, solve, solve_range
from strategies.playing import play
from tests.oracle import OracleGraph, oracle_values

METHODS = ["auto", "search", "ilp"]


def _assert_sound(result: Result, instance: Instance) -> None:
    """The schedule is one of the instance, costs what is said, and no bound exceeds it."""
    assert result.schedule is not None
    assert result.schedule.instance is instance
    assert verify(result.schedule).io == result.io
    assert result.schedule.claim in (None, result.io)
    assert result.lower_bound <= (result.io or 0)
    assert result.bound is not None
    assert result.bound.value == result.lower_bound


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rules", "optimum"), [("one-shot", 13), ("hong-kung", 9)])
def test_every_method_finds_the_optimum(method: str, rules: str, optimum: int) -> None:
    graph = next(g.cdag for g, _, _ in oracle_values() if g.name.endswith("fI_N10_i3_sP0"))
    instance = Instance(graph, 4, rules)
    result = solve(instance, method=method)
    _assert_sound(result, instance)
    assert (result.status, result.io) == (Status.OPTIMAL, optimum)
    assert result.why


def _cases(most: int) -> list[Any]:
    return [
        pytest.param(graph, instance, optimum, id=f"{graph.name}-M{instance.M}-{instance.rules}")
        for graph, instance, optimum in oracle_values(feasible=False)
        if graph.cdag.num_vertices <= most
    ]


@pytest.mark.parametrize(("graph", "instance", "optimum"), _cases(6))
def test_auto_on_proved_optima(graph: OracleGraph, instance: Instance, optimum: int | None) -> None:
    result = solve(instance)
    assert result.io == optimum
    assert (result.status is Status.INFEASIBLE) == (optimum is None) == (not instance.feasible)
    assert (result.status is Status.OPTIMAL) == (optimum is not None)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "instance", "optimum"), _cases(1000))
def test_auto_on_all_proved_optima(graph: OracleGraph, instance: Instance, optimum: int | None) -> None:
    result = solve(instance, limit=Limit(time=300))
    assert result.io == optimum
    assert (result.status is Status.OPTIMAL) == (optimum is not None)


@pytest.mark.parametrize("method", METHODS)
def test_infeasible_is_proved_and_has_no_schedule(method: str) -> None:
    result = solve(Instance(build("pyramid:3"), M=2), method=method, limit=Limit(time=0.001))
    assert (result.status, result.schedule, result.io, result.limit_hit) == (
        Status.INFEASIBLE,
        None,
        None,
        None,
    )
    assert "3 red words" in result.why or "least M is 3" in result.why


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rules", ["one-shot", "hong-kung"])
def test_a_millisecond_proves_nothing_false(method: str, rules: str) -> None:
    for spec, M, optimum in [("matmul:3x3x3", 5, None), ("fft:8", 4, 31), ("grid:5x5", 4, 10)]:
        instance = Instance(build(spec), M, rules)
        result = solve(instance, method=method, limit=Limit(time=0.001))
        _assert_sound(result, instance)
        assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
        if result.status is Status.FEASIBLE:
            assert result.limit_hit == "time"
        elif optimum is None:
            pytest.fail("nobody has proved this optimum in a millisecond")
        if optimum is not None:
            assert result.lower_bound <= optimum <= (result.io or 0)


def test_a_schedule_as_method_is_refereed() -> None:
    instance = Instance(build("fft:4"), M=4)
    schedule = play("lru", instance)
    result = solve(instance, method=schedule)
    _assert_sound(result, instance)
    assert result.io == verify(schedule).io
    assert result.method == "schedule given"
    broken = Schedule.from_moves(instance, ["L0", "C4"])
    with pytest.raises(IllegalMoveError):
        solve(instance, method=broken)


def test_a_solver_object_as_method() -> None:
    from solvers.ilp import IntegerProgram

    result = solve(Instance(build("fft:4"), M=4, rules="one-shot"), method=IntegerProgram(backend="scip"))
    assert (result.status, result.io, result.stats["backend"]) == (Status.OPTIMAL, 11, "scip")


def test_method_names_and_options() -> None:
    assert parse_method("ilp:backend=highs:copies=3") == ("ilp", {"backend": "highs", "copies": 3})
    assert parse_method("Search") == ("search", {})
    with pytest.raises(UnknownNameError, match="did you mean 'search'"):
        parse_method("serach")
    with pytest.raises(UnsupportedInstanceError, match="no option 'threads'"):
        parse_method("ilp:threads=2")
    with pytest.raises(UnsupportedInstanceError, match="no option=value"):
        parse_method("ilp:highs")
    instance = Instance(build("fft:4"), M=4)
    with pytest.raises(UnsupportedInstanceError, match="no option 'depth'"):
        solve(instance, method="search", depth=3)
    assert solve(instance.with_rules("one-shot"), method="ilp:backend=scip").stats["backend"] == "scip"


def test_too_large_for_a_named_method() -> None:
    instance = Instance(build("grid:40x40"), M=6)
    with pytest.raises(UnsupportedInstanceError, match="constraints"):
        solve(instance, method="ilp")
    with pytest.raises(UnsupportedInstanceError, match="256 vertices"):
        solve(instance, method="search")
    result = solve(instance, limit=Limit(time=20))
    _assert_sound(result, instance)


def test_a_known_schedule_and_bound_are_used() -> None:
    instance = Instance(build("matmul:2x2x2"), M=4)
    best = solve(instance).schedule
    assert best is not None
    result = solve(instance, upper=best, lower=17, limit=Limit(time=0.001))
    assert (result.status, result.io) == (Status.OPTIMAL, 17)


def test_progress_brings_schedules_and_bounds_that_only_improve() -> None:
    seen: list[Progress] = []
    instance = Instance(build("matmul:2x2x2"), M=4, rules="one-shot")
    result = solve(instance, on_progress=seen.append)
    assert seen
    assert seen[-1].io == result.io == 17
    for earlier, later in itertools.pairwise(seen):
        assert earlier.io is not None
        assert later.io is not None
        assert later.io <= earlier.io
    schedules = [p.schedule for p in seen if p.schedule is not None]
    assert [verify(s).io for s in schedules] == [p.io for p in seen if p.schedule is not None]


# -- a range of M ------------------------------------------------------------------------------------------


def test_a_range_is_solved_from_both_ends() -> None:
    graph = build("pyramid:4")
    results = list(solve_range(graph, [2, 3, 4, 5, 6, 9], "one-shot"))
    assert [r.io for r in results] == [None, 18, 10, 8, 6, 6]
    assert [r.status for r in results] == [Status.INFEASIBLE] + [Status.OPTIMAL] * 5
    shuffled = list(solve_range(graph, [4, 3, 9], "one-shot"))
    assert [r.io for r in shuffled] == [10, 18, 6]


def test_what_a_range_lends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds go from larger M to smaller ones, schedules from smaller to larger."""
    graph = build("pyramid:3")
    optimal = {M: solve(Instance(graph, M)) for M in (3, 4, 5)}
    given: dict[int, int] = {}

    def half_blind(instance: Instance, *, lower: Any = 0, **_: Any) -> Result:
        M = instance.M
        given[M] = lower if isinstance(lower, int) else lower.value
        if M == 4:
            return optimal[4]
        # At M=5 only a poor schedule, at M=3 only the bound that was lent.
        schedule = play("fifo", instance) if M == 3 else _costly(instance)
        io = verify(schedule).io
        return Result(Status.FEASIBLE, schedule, io, 0, None, "half-blind", limit_hit="time")

    monkeypatch.setattr("solvers.solving.solve", half_blind)
    low, middle, high = solve_range(graph, [3, 4, 5])
    assert given == {5: 0, 4: 0, 3: optimal[4].io}
    assert (middle.io, high.io) == (7, 7)
    assert high.schedule is not None
    assert high.schedule.instance.M == 5
    assert "M=4" in high.why
    assert (low.io or 0) >= 11


def _costly(instance: Instance) -> Schedule:
    """Every operand loaded, every result stored."""
    moves = []
    for v in instance.cdag.topological_order.tolist():
        preds = instance.cdag.preds(v).tolist()
        if preds:
            moves += [f"L{u}" for u in preds] + [f"C{v}", f"S{v}", f"D{v}"] + [f"D{u}" for u in preds]
    return Schedule.from_moves(instance, moves)


# -- the check ---------------------------------------------------------------------------------------------


def test_check_sets_everything_side_by_side() -> None:
    instance = Instance(build("matmul:2x2x2"), M=4)
    result = solve(instance)
    rows = check(instance, result)
    assert {row.kind for row in rows} == {"bound", "strategy"}
    assert all(row.verdict in ("ok", "optimal", "no certificate") for row in rows)
    by_name = {row.name: row for row in rows}
    assert by_name["compulsory"].value == 12
    assert by_name["belady"].value == verify(play("belady", instance)).io
    assert check(instance.with_memory(2), solve(instance.with_memory(2))) == []


def test_check_finds_contradictions() -> None:
    instance = Instance(build("fft:4"), M=4)
    schedule = solve(instance).schedule
    assert schedule is not None
    too_high = Result(Status.FEASIBLE, _costly(instance), verify(_costly(instance)).io, 20, None, "wrong")
    assert {row.verdict for row in check(instance, too_high) if row.kind == "strategy"} == {"wrong"}
    too_low = Result(Status.FEASIBLE, schedule, 5, 0, None, "wrong")
    assert {r.verdict for r in check(instance, too_low) if r.name == "compulsory"} == {"wrong"}


def test_importing_solvers_loads_nothing_heavy() -> None:
    code = (
        "import sys, solvers, solvers.solving, solvers.auto; "
        "print([m for m in ('numba', 'ortools', 'scipy', 'networkx', 'matplotlib') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    assert solvers.solve is solve


def test_custom_graphs_with_any_labels() -> None:
    graph = CDAG.from_edges(13, [(i, i + 1) for i in range(12)], labels=[lambda: None for _ in range(13)])
    instance = Instance(graph, M=2, rules="one-shot")
    result = solve(instance, method="ilp")
    _assert_sound(result, instance)
    assert result.io == 2


def test_a_search_that_no_child_follows_names_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if too little time were left for a child process to start.
    monkeypatch.setattr("solvers.auto._CHILD_SECONDS", 1e9)
    instance = Instance(build("fft:8"), 4, "hong-kung+free-sources")
    result = solve(instance, limit=Limit(time=600, nodes=50))
    _assert_sound(result, instance)
    assert result.status is Status.FEASIBLE
    assert result.limit_hit == "nodes"
    assert result.why.startswith("stopped by the limit on nodes")
