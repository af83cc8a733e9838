"""The search under the further rule sets: the table of optima, brute force, and closed forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import graphs
import solvers
from pebble import CDAG, Instance, Limit, Rules, Status, UnsupportedInstanceError, verify
from solvers.search import SEARCH
from solvers.search.budget import Budget
from solvers.search.variant_problem import VariantProblem
from solvers.search.variant_steps import plain_schedule
from solvers.search.variants import VariantSearch
from solvers.solving import solve, solve_range
from tests.oracle import RULE_SETS, OracleGraph, oracle_values
from tests.variant_graphs import tiny_variant

# How many values the table has, the infeasible ones included.
VARIANTS = {
    "one-shot+sliding": 117,
    "hong-kung+sliding": 99,
    "one-shot+free-sources": 99,
    "hong-kung+free-sources": 98,
    "partial": 101,
}
# Graphs from this size on take seconds with recomputation.
_SLOW_FROM = 16


def _optimum(instance: Instance) -> int:
    """The proved optimum, its schedule refereed here once more."""
    result = SEARCH(instance)
    assert result.status is Status.OPTIMAL, (instance, result.why)
    assert result.schedule is not None
    assert result.schedule.instance is instance
    assert verify(result.schedule).io == result.io == result.lower_bound
    return result.io


def _table(rules: str, *, small: bool) -> list[tuple[OracleGraph, Instance, int | None]]:
    return [
        row
        for row in oracle_values(rules, feasible=False)
        if (row[0].cdag.num_vertices < _SLOW_FROM or not row[1].rules.recomputation) is small
    ]


def test_the_table_has_every_value() -> None:
    for rules, number in VARIANTS.items():
        assert len(_table(rules, small=True)) + len(_table(rules, small=False)) == number


@pytest.mark.parametrize("rules", VARIANTS)
def test_every_small_value_of_the_table(rules: str) -> None:
    for graph, instance, value in _table(rules, small=True):
        if value is None:
            assert SEARCH(instance).status is Status.INFEASIBLE, (graph.name, instance)
        else:
            assert _optimum(instance) == value, (graph.name, instance)


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["hong-kung+sliding", "hong-kung+free-sources"])
def test_every_large_value_of_the_table(rules: str) -> None:
    for graph, instance, value in _table(rules, small=False):
        if value is None:
            assert SEARCH(instance).status is Status.INFEASIBLE, (graph.name, instance)
        else:
            assert _optimum(instance) == value, (graph.name, instance)


@pytest.mark.parametrize("rules", VARIANTS)
def test_auto_proves_values_of_the_table(rules: str) -> None:
    for graph, instance, value in _table(rules, small=True)[::30]:
        result = solve(instance)
        assert result.io == value, (graph.name, instance)
        assert (result.status is Status.INFEASIBLE) == (value is None)
        assert (result.status is Status.OPTIMAL) == (value is not None)


@pytest.mark.slow
@pytest.mark.parametrize("rules", VARIANTS)
@pytest.mark.parametrize(("method", "every"), [("auto", 1), ("search", 9)])
def test_solve_proves_every_value_of_the_table(rules: str, method: str, every: int) -> None:
    # A method that is named runs in a process of its own, which takes seconds to start.
    for graph, instance, value in oracle_values(rules, feasible=False)[::every]:
        result = solve(instance, method=method, limit=Limit(time=300))
        assert result.io == value, (graph.name, instance)
        assert (result.status is Status.INFEASIBLE) == (value is None)
        assert (result.status is Status.OPTIMAL) == (value is not None)


def _compare_with_brute_force(seeds: range, most: int) -> None:
    feasible = 0
    for seed in seeds:
        tiny = tiny_variant(seed, most)
        if tiny.instance.is_plain:
            continue
        expected = tiny.optimum()
        if expected is None:
            assert not tiny.instance.feasible, seed
            continue
        assert _optimum(tiny.instance) == expected, (seed, tiny.instance)
        feasible += 1
    assert feasible > 0.7 * len(seeds)


def test_random_variants_agree_with_brute_force() -> None:
    _compare_with_brute_force(range(200), 5)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_thousands_of_random_variants_agree_with_brute_force(block: int) -> None:
    _compare_with_brute_force(range(1000 + 500 * block, 1500 + 500 * block), 6)


@pytest.mark.parametrize("rules", RULE_SETS)
def test_the_plain_rule_sets_are_variants_too(rules: str) -> None:
    # The tuned searches and this one share neither states nor reductions.
    for graph, instance, value in oracle_values(rules)[::7]:
        if instance.cdag.num_vertices > 15:
            continue
        search = VariantSearch(VariantProblem.of(instance))
        assert value is not None
        below = search.run(value - 1, Budget(None))
        assert below.complete
        assert below.cost is None, (graph.name, instance)
        assert search.run(value, Budget(None)).cost == value, (graph.name, instance)


def test_the_plain_schedule_plays_every_variant() -> None:
    for seed in range(300):
        instance = tiny_variant(seed).instance
        schedule = plain_schedule(VariantProblem.of(instance), "test")
        assert verify(schedule).peak_red <= instance.M


def _in_tree(arity: int, depth: int) -> CDAG:
    return graphs.build(f"tree:leaves={arity**depth},arity={arity}")


@pytest.mark.parametrize(("k", "d"), [(2, 2), (2, 3), (3, 2), pytest.param(2, 4, marks=pytest.mark.slow)])
def test_partial_in_trees(k: int, d: int) -> None:
    # Papp, Sobczyk & Yzelman (2025): k + 1 pebbles, and fewer I/Os than one-shot once trees are deep.
    expected = k**d + 2 * k ** (d - k) - 1 if d >= k else k**d + 1
    assert _optimum(Instance(_in_tree(k, d), k + 1, "partial")) == expected


def _matvec(m: int) -> CDAG:
    """A matrix times a vector, each row's products summed by one vertex."""
    edges = []
    for i in range(m):
        for j in range(m):
            product = m * m + m + i * m + j
            edges += [(i * m + j, product), (m * m + j, product), (product, 2 * m * m + m + i)]
    return CDAG.from_edges(2 * m * m + 2 * m, edges)


def test_partial_matrix_times_vector() -> None:
    # m = 3 rows and m + 3 <= M <= 2m: only the sums need not wait for all their products.
    cdag = _matvec(3)
    assert _optimum(Instance(cdag, 6, "one-shot+load=1")) == 3**2 + 3 * 3 - 1
    assert _optimum(Instance(cdag, 6, "partial")) == 3**2 + 2 * 3


def _all_to_all(a: int, b: int) -> CDAG:
    return CDAG.from_edges(a + b, [(u, a + v) for u in range(a) for v in range(b)])


@pytest.mark.parametrize("rules", ["one-shot+sliding", "hong-kung+sliding", "partial"])
@pytest.mark.parametrize(("a", "b"), [(2, 3), (3, 3), (4, 2)])
def test_all_to_all(rules: str, a: int, b: int) -> None:
    assert _optimum(Instance(_all_to_all(a, b), a + 1, rules)) == a + b


@pytest.mark.parametrize(
    ("spec", "M", "compulsory"),
    [("tree:leaves=8,arity=2", 5, 9), ("pyramid:4", 6, 6), ("grid:4x4", 5, 2), ("fft:4", 6, 8)],
)
def test_memory_from_which_nothing_is_spilled(spec: str, M: int, compulsory: int) -> None:
    cdag = graphs.build(spec)
    for rules in ("one-shot+sliding", "partial"):
        assert _optimum(Instance(cdag, M, rules)) == compulsory
    # Sliding saves one pebble.
    assert _optimum(Instance(cdag, M - 1, "one-shot+sliding")) == compulsory


@pytest.mark.parametrize(
    ("k", "M", "block"),
    [(2, 3, 14), (2, 4, 11), (2, 5, 9), (2, 6, 8)],
)
def test_fft_from_four_point_blocks(k: int, M: int, block: int) -> None:
    n = 2**k
    value = _optimum(Instance(graphs.build(f"fft:{n}"), M, "one-shot+load=1"))
    assert value <= k // 2 * (n // 4) * block


def test_costs_of_loads_and_stores_are_counted_apart() -> None:
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (0, 4), (3, 4)])
    result = SEARCH(Instance(cdag, 3, "one-shot+load=2+store=5"))
    assert result.schedule is not None
    cost = verify(result.schedule)
    assert result.io == 2 * cost.loads + 5 * cost.stores == cost.io
    # A store that is dear is avoided by loading more, where that is possible at all.
    assert SEARCH(Instance(cdag, 3, "one-shot+load=2+store=50")).io == result.io + 45


def test_a_variant_that_is_infeasible_says_so() -> None:
    star = CDAG.from_edges(5, [(u, 4) for u in range(4)])
    assert SEARCH(Instance(star, 3, "one-shot+sliding")).status is Status.INFEASIBLE
    assert _optimum(Instance(star, 4, "one-shot+sliding")) == 5
    assert _optimum(Instance(star, 2, "partial")) == 5


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["one-shot+sliding", "hong-kung+sliding", "partial"])
@pytest.mark.parametrize("length", [50, 120])
def test_more_than_one_machine_word(rules: str, length: int) -> None:
    # A chain beside a product adds its source and its sink; the product's vertices lie behind it.
    product = graphs.build("matmul:2x1x2")
    n = product.num_vertices
    chain = [(v, v + 1) for v in range(length - 1)]
    moved = [(u + length, v + length) for u, v in product.edges().tolist()]
    cdag = CDAG.from_edges(n + length, chain + moved)
    assert _optimum(Instance(cdag, 3, rules)) == _optimum(Instance(product, 3, rules)) + 2


@pytest.mark.parametrize("rules", ["one-shot+no-delete", "hong-kung+sliding", "partial"])
@pytest.mark.parametrize(
    ("limit", "hit"),
    [(Limit(nodes=300), "nodes"), (Limit(memory_mb=0.1), "memory"), (Limit(gap=3.0), "gap")],
)
def test_a_limit_proves_nothing_that_is_not_proved(rules: str, limit: Limit, hit: str) -> None:
    instance = Instance(graphs.build("matmul:2x2x2"), 3, rules)
    result = SEARCH(instance, limit=limit)
    assert result.status is Status.FEASIBLE
    assert result.limit_hit == hit
    assert result.schedule is not None
    assert result.io is not None
    assert verify(result.schedule).io == result.io
    assert result.lower_bound < result.io
    assert str(instance.rules) in str(result.bound)


def test_graphs_too_large_are_refused_with_the_reason() -> None:
    many = Instance(graphs.build("chain:300"), 2, "partial")
    dense = CDAG.from_edges(60, [(u, v) for v in range(60) for u in range(max(0, v - 6), v)])
    for instance, what in ((many, "256 vertices"), (Instance(dense, 9, "partial"), "256 edges")):
        reason = SEARCH.supports(instance)
        assert reason is not None
        assert what in reason
        with pytest.raises(UnsupportedInstanceError, match=what):
            SEARCH(instance)


def test_a_range_of_memories_under_a_variant() -> None:
    cdag = graphs.build("pyramid:3")
    found = list(solve_range(cdag, range(1, 6), "one-shot+sliding"))
    assert [result.status is Status.INFEASIBLE for result in found] == [True, False, False, False, False]
    assert [result.io for result in found[1:]] == [11, 7, 5, 5]


def test_the_command_line_solves_a_variant(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from pebble.cli.main import app

    file = tmp_path / "best.json"
    run = CliRunner().invoke(
        app,
        [
            "solve",
            "pyramid:3",
            "-M",
            "3",
            "--rules",
            "one-shot+sliding",
            "--check",
            "--json",
            "-o",
            str(file),
        ],
    )
    assert run.exit_code == 0, run.output
    document = json.loads(run.stdout)
    assert (document["status"], document["io"], document["rules"]) == ("optimal", 7, "one-shot+sliding")
    assert {row["verdict"] for row in document["check"]} <= {"ok", "optimal"}
    assert CliRunner().invoke(app, ["verify", str(file)]).exit_code == 0


def test_free_sources_that_are_outputs_are_stored() -> None:
    lonely = CDAG.from_edges(3, [(0, 1)])
    assert _optimum(Instance(lonely, 2, "one-shot+free-sources")) == 2
    assert _optimum(Instance(lonely, 2, "one-shot+free-sources+outputs-any")) == 0
    assert _optimum(Instance(lonely, 2, Rules(free_sources=True, store_cost=4))) == 8


@pytest.mark.parametrize("rules", ["one-shot+sliding", "partial", "hong-kung+no-delete"])
def test_improve_under_a_variant(rules: str) -> None:
    instance = Instance(graphs.build("pyramid:3"), 3, rules)
    given = plain_schedule(VariantProblem.of(instance), "test")
    best = solvers.improve(given)
    assert best.info["optimal"]
    assert verify(best).io == best.claim == _optimum(instance)


@pytest.mark.parametrize("rules", ["one-shot+sliding", "partial", "hong-kung+no-delete", "one-shot+load=3"])
def test_improve_larger_graphs_under_a_variant(rules: str) -> None:
    instance = Instance(graphs.build("matmul:4x4x4"), 6, rules)
    given = plain_schedule(VariantProblem.of(instance), "test")
    better = solvers.improve(given, Limit(nodes=500), seed=1)
    assert verify(better).io == better.claim < verify(given).io
    assert better.info["improved"]["states"] == 500
    assert not better.info["optimal"]
    again = solvers.improve(given, Limit(nodes=500), seed=1)
    assert (again.moves == better.moves).all()


def test_a_child_plays_what_it_is_sent() -> None:
    # Rules and red vertices travel with the graph.
    instance = Instance(graphs.build("fft:4"), 4, "one-shot+sliding+store=2", red_at_start=(2, 4))
    result = solve(instance, method="search", limit=Limit(time=120, memory_mb=2000))
    assert result.status is Status.OPTIMAL
    assert result.io == _optimum(instance)


@pytest.mark.parametrize(
    "rules", ["one-shot+load=1000000", "hong-kung+load=1000+store=3000", "partial+load=9999"]
)
def test_dear_moves_are_no_harder(rules: str) -> None:
    cdag = CDAG.from_edges(
        6, [(0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (0, 5), (3, 5)], weights=[2, 1, 1, 1, 1, 1]
    )
    instance = Instance(cdag, 5, rules)
    best = _optimum(instance)
    program = solve(instance, method="ilp", limit=Limit(time=60))
    assert program.io == best
    if not instance.rules.recomputation:
        assert program.status is Status.OPTIMAL


def test_costs_beyond_exact_arithmetic_are_refused() -> None:
    from pebble import InvalidRulesError

    with pytest.raises(InvalidRulesError, match=r"load_cost=1000000001 is more than 1,000,000,000"):
        Rules(load_cost=1_000_000_001)
    instance = Instance(graphs.build("fft:4"), 3, "one-shot+load=1000000000")
    with pytest.raises(UnsupportedInstanceError, match="too dear for the integer program"):
        solve(instance, method="ilp")
    result = SEARCH(instance, limit=Limit(time=1))
    assert result.schedule is not None
    assert result.lower_bound <= verify(result.schedule).io == result.io


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("ilp:backend=nope", "no backend 'nope'"),
        ("ilp:copies=0", "copies=0 is no whole number from 1 up"),
        ("ilp:workers=some", "workers=some is no whole number from 1 up"),
    ],
)
def test_options_of_the_integer_program_are_checked(method: str, message: str) -> None:
    with pytest.raises(UnsupportedInstanceError, match=message):
        solve(Instance(graphs.build("fft:4"), 4), method=method)
