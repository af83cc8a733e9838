"""The integer program under the further rule sets: the table of optima, brute force, what it claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import graphs
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit, Status
from solvers.ilp import ILP, export_model
from solvers.ilp.automorphisms import stabiliser_orbits
from solvers.ilp.cpsat import Answer, CpSat
from solvers.ilp.extraction import schedule_of
from solvers.ilp.formulation import Formulation, build
from solvers.ilp.hinting import solution_of
from solvers.ilp.mathopt import minimise
from solvers.ilp.roles import estimate
from solvers.solving import solve
from strategies.playing import play
from tests.ilp_checks import broken_constraint, no_search
from tests.oracle import oracle_values
from tests.variant_graphs import tiny_variant

__all__ = ["no_search"]

ONCE = ["one-shot+sliding", "one-shot+free-sources", "partial"]
AGAIN = ["hong-kung+sliding", "hong-kung+free-sources"]


def _proved(instance: Instance, **options: Any) -> int:
    """The optimum that the solver proves, its schedule refereed here once more."""
    result = ILP(instance, **options)
    assert result.status is Status.OPTIMAL, (instance, result.why)
    assert result.schedule is not None
    assert verify(result.schedule).io == result.io == result.lower_bound
    return result.io


def _check_table(rules: str, sizes: range, every: int, limit: Limit | None = None) -> None:
    rows = [row for row in oracle_values(rules) if row[0].cdag.num_vertices in sizes]
    assert len(rows) > every
    for graph, instance, value in rows[::every]:
        assert _proved(instance, limit=limit) == value, (graph.name, instance)


@pytest.mark.parametrize("rules", ONCE + AGAIN)
def test_optima_of_small_graphs(rules: str) -> None:
    _check_table(rules, range(1, 9 if rules in AGAIN else 11), 4)


@pytest.mark.slow
@pytest.mark.parametrize("rules", ONCE)
def test_every_optimum(rules: str) -> None:
    _check_table(rules, range(1, 1000), 1, Limit(time=600))


@pytest.mark.slow
@pytest.mark.parametrize("rules", AGAIN)
def test_every_optimum_of_small_graphs_with_recomputation(rules: str) -> None:
    _check_table(rules, range(1, 11), 1, Limit(time=600))


def _program(instance: Instance, *, symmetry: bool = True) -> Formulation:
    return build(instance, 2 if instance.rules.recomputation else 1, symmetry=symmetry)


def _compare_with_brute_force(seeds: range, most: int) -> None:
    """The program has a solution of the least cost, which plays, and none below."""
    feasible = 0
    for seed in seeds:
        instance = (tiny := tiny_variant(seed, most)).instance
        optimum = tiny.optimum()
        if optimum is None:
            assert not instance.feasible, seed
            continue
        program = _program(instance)
        questions = CpSat(program.model)
        reply = questions.ask(optimum)
        assert reply.answer is Answer.YES, (seed, instance)
        assert reply.values is not None
        cost = program.model.cost(reply.values)
        assert verify(schedule_of(program, reply.values)).io == cost == optimum, (seed, instance)
        assert optimum == 0 or questions.ask(optimum - 1).answer is Answer.NO, (seed, instance)
        feasible += 1
    assert feasible > 0.7 * len(seeds)


def test_random_variants_agree_with_brute_force() -> None:
    _compare_with_brute_force(range(300), 5)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_thousands_of_random_variants_agree_with_brute_force(block: int) -> None:
    _compare_with_brute_force(range(20_000 + 500 * block, 20_500 + 500 * block), 6)


def _compare_with_schedules(seeds: range, most: int) -> None:
    """Every schedule is a solution of no higher cost, and a solution a schedule; the size was estimated."""
    for seed in seeds:
        instance = tiny_variant(seed, most).instance
        program = _program(instance, symmetry=False)
        size = estimate(instance, program.roles.copies)
        assert size.computes == len(program.present)
        assert program.model.num_constraints <= size.constraints, (seed, instance)
        schedule = play("belady", instance)
        values = solution_of(program, schedule)
        assert values is not None
        assert broken_constraint(program.model, values) is None, (seed, instance)
        cost = program.model.cost(values)
        assert cost <= verify(schedule).io, (seed, instance)
        assert verify(schedule_of(program, values)).io <= cost, (seed, instance)


def test_schedules_of_variants_are_solutions() -> None:
    _compare_with_schedules(range(300, 420), 7)


@pytest.mark.slow
def test_schedules_of_many_variants_are_solutions() -> None:
    _compare_with_schedules(range(30_000, 32_000), 8)


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_mixed_integer_backends_prove_variants(backend: str) -> None:
    for seed in range(1_000, 1_040):
        instance = (tiny := tiny_variant(seed, 5)).instance
        if instance.rules.recomputation or not instance.feasible:
            continue
        reply = minimise(_program(instance).model, backend, seconds=60)
        assert reply.bound == tiny.optimum(), (seed, instance)
    assert _proved(Instance(graphs.build("pyramid:3"), 3, "one-shot+sliding"), backend=backend) == 7


def test_solved_from_start_to_end() -> None:
    # The bounds, Belady's schedule and the search that certifies take part.
    for seed in range(2_000, 2_060):
        instance = (tiny := tiny_variant(seed, 5)).instance
        if instance.feasible:
            assert _proved(instance) == tiny.optimum(), (seed, instance)


@pytest.mark.parametrize(
    ("rules", "optima"),
    [
        ("one-shot+sliding", (12, 7)),
        ("partial", (12, 7)),
        ("one-shot+free-sources", (10, 7)),
        ("hong-kung+free-sources", (8, 6)),
        ("one-shot+no-delete", (20, 18)),
        ("one-shot+outputs-any", (13, 10)),
    ],
)
def test_the_table_of_the_page_on_rules(rules: str, optima: tuple[int, int]) -> None:
    # The search proves the same there, with states and bounds of its own.
    found = tuple(_proved(Instance(graphs.build(spec), 3, rules)) for spec in ("fft:4", "pyramid:3"))
    assert found == optima


def test_prices_of_zero() -> None:
    pyramid = graphs.build("pyramid:3")
    assert _proved(Instance(pyramid, 3, "one-shot+load=0+store=0")) == 0
    # Only stores cost: of the sink, and of what is loaded again.
    stores = _proved(Instance(pyramid, 3, "one-shot+load=0"))
    assert stores == ILP(Instance(pyramid, 3, "one-shot+load=0"), backend="highs").io
    assert 1 < stores < _proved(Instance(pyramid, 3, "one-shot"))


@pytest.mark.parametrize("rules", ["one-shot+sliding", "partial+free-sources", "one-shot+no-delete+store=2"])
def test_a_proof_names_the_rules(rules: str) -> None:
    result = ILP(Instance(graphs.build("fft:4"), 3, rules))
    assert result.status is Status.OPTIMAL
    assert result.bound is not None
    assert result.bound.name == "ilp"
    assert result.bound.assumes == f"this graph and M, rules {rules}"
    given = ILP(Instance(graphs.build("fft:4"), 3, rules, red_at_start=(0, 2)))
    assert given.bound is not None
    if given.bound.name == "ilp":
        assert given.bound.assumes.endswith(", 2 vertices red at the start")


@pytest.mark.usefixtures("no_search")
def test_with_recomputation_the_program_alone_proves_nothing() -> None:
    proved = 0
    for _, instance, value in oracle_values("hong-kung+sliding")[::9]:
        if instance.cdag.num_vertices > 10:
            continue
        result = ILP(instance, copies=1)
        assert result.io is not None
        assert value is not None
        assert result.lower_bound <= value <= result.io
        if result.status is Status.OPTIMAL:
            assert result.bound is not None
            assert result.bound.name not in ("ilp", "search")
            proved += 1
        else:
            assert "compute no vertex more than once" in result.stats["optimal_among"]
    assert proved > 0


@pytest.mark.usefixtures("no_search")
def test_free_sources_are_computed_as_often_as_they_are_used() -> None:
    # One source and one output, used far apart: made anew three times, though copies is 1.
    edges = [(0, 1), (1, 2), (0, 3), (2, 3), (3, 4), (0, 5), (4, 5)]
    instance = Instance(CDAG.from_edges(6, edges), 3, "hong-kung+free-sources")
    result = ILP(instance.with_memory(3), copies=1)
    assert (result.status, result.io) == (Status.OPTIMAL, 1)
    slots = _program(instance).roles.slots
    assert {slot.vertex for slot in slots} == {1, 2, 3, 4, 5}


def test_orbits_respect_kinds() -> None:
    star = CDAG.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    assert stabiliser_orbits(star, kinds=[False, False, True, False]) == [(1, [3])]
    join = CDAG.from_edges(4, [(0, 3), (1, 3), (2, 3)])
    assert stabiliser_orbits(join) == []
    assert stabiliser_orbits(join, ordered=[True] * 4) == [(0, [1, 2]), (1, [2])]


@pytest.mark.parametrize("rules", ["one-shot+sliding", "one-shot+no-delete", "partial"])
def test_an_exported_variant_has_the_same_optimum(rules: str, tmp_path: Path) -> None:
    from ortools.linear_solver.python import model_builder

    path = tmp_path / "model.mps"
    instance = Instance(graphs.build("pyramid:2"), 3, rules, red_at_start=(1,))
    export_model(instance, path)
    model = model_builder.Model()
    assert model.import_from_mps_file(str(path))
    solver = model_builder.Solver("scip")
    solver.solve(model)
    assert round(solver.objective_value) == solve(instance, method="search").io


@pytest.mark.parametrize("method", ["ilp", "ilp:backend=highs"])
def test_the_command_line_solves_variants(method: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from pebble.cli.main import app

    best, model = tmp_path / "best.json", tmp_path / "model.lp"
    words = ["solve", "pyramid:3", "-M", "3", "--rules", "one-shot+sliding", "--method", method, "--json"]
    run = CliRunner().invoke(app, [*words, "-o", str(best), "--export", str(model)])
    assert run.exit_code == 0, run.output
    document = json.loads(run.stdout)
    assert (document["status"], document["io"], document["method"]) == ("optimal", 7, "ilp")
    assert document["bound"]["assumes"] == "this graph and M, rules one-shot+sliding"
    assert CliRunner().invoke(app, ["verify", str(best)]).exit_code == 0
    assert "slide_" in model.read_text()
