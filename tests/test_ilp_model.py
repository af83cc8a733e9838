"""The integer program: its parts, its size, its translation to the backends and to files."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from graphs.catalog import build as build_graph
from pebble.cdag import CDAG
from pebble.errors import FormatError, InfeasibleInstanceError, UnsupportedInstanceError
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit
from pebble.schedule import Schedule
from solvers.ilp import ILP, export_model
from solvers.ilp.automorphisms import stabiliser_orbits
from solvers.ilp.cpsat import Answer, CpSat
from solvers.ilp.extraction import schedule_of
from solvers.ilp.formulation import build
from solvers.ilp.hinting import solution_of
from solvers.ilp.mathopt import minimise
from solvers.ilp.model import FALSE, TRUE, BooleanModel
from solvers.ilp.roles import estimate
from strategies.playing import play
from tests.ilp_checks import broken_constraint


def test_clauses_drop_constants() -> None:
    m = BooleanModel()
    a, b = m.variable("a"), m.variable("b")
    m.clause(a, TRUE)
    m.clause(a, FALSE, -b)
    assert m.clauses == [(1, -2)]
    m.limit([1, 1], [a, b], 2)
    assert m.at_most == []
    m.objective, m.constant = [(3, a), (2, -b)], 1
    assert [m.cost(values) for values in itertools.product((0, 1), repeat=2)] == [3, 1, 6, 4]


def _automorphisms(g: CDAG) -> list[tuple[int, ...]]:
    edges = {tuple(e) for e in g.edges().tolist()}
    weights = [g.weight(v) for v in range(g.num_vertices)]
    output = g.is_output.tolist()
    return [
        p
        for p in itertools.permutations(range(g.num_vertices))
        if all((p[u], p[v]) in edges for u, v in edges)
        and all(weights[v] == weights[p[v]] and output[v] == output[p[v]] for v in range(g.num_vertices))
    ]


@pytest.mark.parametrize(
    "graph",
    [
        build_graph("fft:2"),
        build_graph("pyramid:2"),
        build_graph("dot:2"),
        CDAG.from_edges(7, [(0, 3), (1, 3), (0, 4), (1, 4), (2, 5), (2, 6)]),
        CDAG.from_edges(6, [(0, 3), (1, 4), (2, 5)], weights=[1, 1, 1, 2, 2, 1]),
        CDAG.from_edges(6, [(0, 1), (1, 2), (0, 3), (3, 4)]).with_outputs([1]),
    ],
)
def test_orbits_are_those_of_a_stabiliser_chain(graph: CDAG) -> None:
    group = _automorphisms(graph)
    inner = [v for v in range(graph.num_vertices) if len(graph.preds(v))]
    for chosen, orbit in stabiliser_orbits(graph):
        assert sorted(orbit) == sorted({p[chosen] for p in group} - {chosen})
        group = [p for p in group if p[chosen] == chosen]
    # What the chain has not fixed is not moved at all.
    assert all(p[v] == v for p in group for v in inner)


@pytest.mark.parametrize("spec", ["fft:4", "pyramid:3", "matmul:2x2x2", "attention-backward:n=1,d=2"])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_the_size_is_estimated_from_above(spec: str, copies: int) -> None:
    instance = Instance(build_graph(spec), M=5)
    program = build(instance, copies)
    size = estimate(instance, copies)
    assert size.computes == len(program.present)
    assert program.model.num_constraints <= size.constraints + 3 * size.computes + instance.cdag.num_edges * 4


def test_a_program_too_large_is_refused_before_it_is_built() -> None:
    instance = Instance(build_graph("grid:40x40"), M=4)
    with pytest.raises(
        UnsupportedInstanceError, match=r"3,197 computes, about [\d,]+ constraints, [\d,]+ MB"
    ):
        ILP(instance)
    assert ILP.supports(instance) is not None
    small = Instance(build_graph("matmul:3x3x3"), M=4, rules="one-shot")
    assert ILP.supports(small) is None
    with pytest.raises(UnsupportedInstanceError, match="too large for 10 MB"):
        ILP(small, limit=Limit(memory_mb=10))


@pytest.mark.parametrize("spec", ["fft:4", "matmul:2x2x2", "tree:leaves=8,arity=2"])
@pytest.mark.parametrize("rules", ["one-shot", "hong-kung"])
def test_a_schedule_is_a_solution_and_a_solution_a_schedule(spec: str, rules: str) -> None:
    instance = Instance(build_graph(spec), M=4, rules=rules)
    schedule = play("belady", instance.with_rules("one-shot"))
    program = build(instance, 2 if rules == "hong-kung" else 1, symmetry=False)
    values = solution_of(program, schedule)
    assert values is not None
    io = verify(schedule).io
    assert program.model.cost(values) == io
    assert broken_constraint(program.model, values) is None
    assert verify(schedule_of(program, values)).io == io


def test_a_schedule_with_more_computes_than_the_program_has_is_no_solution() -> None:
    instance = Instance(CDAG.from_edges(3, [(0, 1), (1, 2)]), M=2)
    schedule = Schedule.from_moves(instance, ["L0", "C1", "D1", "C1", "D0", "C2", "S2", "D2", "D1"])
    assert verify(schedule).recomputes == 1
    assert solution_of(build(instance, 1), schedule) is None
    assert solution_of(build(instance, 2), schedule) is not None


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_the_backends_agree(backend: str) -> None:
    instance = Instance(build_graph("pyramid:3"), M=3, rules="one-shot")
    program = build(instance)
    reply = minimise(program.model, backend, seconds=30)
    assert reply.values is not None
    assert (program.model.cost(reply.values), reply.bound) == (11, 11)
    assert verify(schedule_of(program, reply.values)).io == 11
    below = minimise(program.model, backend, cutoff=10, seconds=30)
    assert below.infeasible
    questions = CpSat(program.model)
    assert questions.ask(10).answer is Answer.NO
    assert questions.ask(11).answer is Answer.YES
    with pytest.raises(UnsupportedInstanceError, match="known: cp-sat, highs, scip"):
        minimise(program.model, "gurobi")


def test_export_writes_each_format(tmp_path: Path) -> None:
    instance = Instance(build_graph("pyramid:3"), M=3, rules="one-shot")
    for ending in ("mps", "lp", "pb", "pbtxt"):
        path = tmp_path / f"model.{ending}"
        size = export_model(instance, path)
        assert size.computes == 6
        assert path.stat().st_size > 500
    assert "before_" in (tmp_path / "model.lp").read_text()
    with pytest.raises(FormatError, match=r"\.mps, \.lp, \.pb"):
        export_model(instance, tmp_path / "model.txt")
    with pytest.raises(InfeasibleInstanceError):
        export_model(instance.with_memory(2), tmp_path / "model.mps")


def test_an_exported_program_has_the_same_optimum(tmp_path: Path) -> None:
    from ortools.linear_solver.python import model_builder

    path = tmp_path / "model.mps"
    export_model(Instance(build_graph("fft:4"), M=4, rules="one-shot"), path)
    model = model_builder.Model()
    assert model.import_from_mps_file(str(path))
    solver = model_builder.Solver("scip")
    solver.solve(model)
    assert round(solver.objective_value) == 11
