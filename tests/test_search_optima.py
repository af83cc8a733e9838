"""The search against proved optima: the oracle's table, closed forms, and brute force on random graphs."""

from __future__ import annotations

import pytest

import graphs
from pebble import CDAG, Instance, Status, verify
from solvers.search import SEARCH
from tests.dijkstra_reference import least_io
from tests.oracle import RULE_SETS, oracle_values
from tests.tiny_graphs import tiny_graph

# Values of larger graphs whose default part would take long.
_SLOW_FROM = 22


def _optimum(instance: Instance) -> int:
    """The proved optimum, its schedule refereed here once more."""
    result = SEARCH(instance)
    assert result.status is Status.OPTIMAL
    assert result.schedule is not None
    assert verify(result.schedule).io == result.io == result.lower_bound
    return result.io


def _check_table(rules: str, small: bool) -> int:
    checked = 0
    for graph, instance, value in oracle_values(rules, feasible=False):
        if (instance.cdag.num_vertices < _SLOW_FROM) is not small:
            continue
        if value is None:
            assert SEARCH(instance).status is Status.INFEASIBLE, (graph.name, instance.M)
        else:
            assert _optimum(instance) == value, (graph.name, instance.M)
        checked += 1
    return checked


@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_small_value_of_the_table(rules: str) -> None:
    assert _check_table(rules, small=True) > 300


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_large_value_of_the_table(rules: str) -> None:
    assert _check_table(rules, small=False) >= 12


def _compare_with_brute_force(seeds: range) -> int:
    recomputation_helps = 0
    for seed in seeds:
        tiny = tiny_graph(seed)
        values = []
        for rules in RULE_SETS:
            expected = least_io(
                tiny.num_vertices,
                tiny.edges,
                tiny.M,
                one_shot=rules == "one-shot",
                weights=tiny.weights,
                outputs=tiny.outputs,
            )
            found = _optimum(Instance(tiny.cdag, tiny.M, rules))
            assert found == expected, (seed, rules)
            values.append(found)
        with_recomputation, one_shot = values
        assert one_shot >= with_recomputation
        recomputation_helps += one_shot > with_recomputation
    return recomputation_helps


def test_random_graphs_agree_with_brute_force() -> None:
    assert _compare_with_brute_force(range(300)) > 0


@pytest.mark.slow
def test_two_thousand_random_graphs_agree_with_brute_force() -> None:
    assert _compare_with_brute_force(range(1000, 3000)) > 20


@pytest.mark.parametrize("rules", RULE_SETS)
def test_the_optimum_never_rises_with_memory(rules: str) -> None:
    for seed in range(60):
        tiny = tiny_graph(seed)
        least = Instance(tiny.cdag, 1).least_M
        values = [_optimum(Instance(tiny.cdag, M, rules)) for M in range(least, least + 4)]
        assert values == sorted(values, reverse=True), seed


def _in_tree(arity: int, depth: int) -> CDAG:
    return graphs.build(f"tree:leaves={arity**depth},arity={arity}")


@pytest.mark.parametrize(("k", "d"), [(2, 2), (2, 3), (2, 4), (3, 2), (4, 2)])
@pytest.mark.parametrize("rules", RULE_SETS)
def test_in_trees_with_least_memory(k: int, d: int, rules: str) -> None:
    # One pebble per operand and one for the result: all but the first operand of each inner vertex spills.
    assert _optimum(Instance(_in_tree(k, d), k + 1, rules)) == k**d + 2 * k ** (d - 1) - 1


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_binary_trees_with_three_pebbles(d: int) -> None:
    assert _optimum(Instance(_in_tree(2, d), 3, "one-shot")) == 2 ** (d + 1) - 1


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize(
    ("spec", "M", "compulsory"),
    [
        ("tree:leaves=8,arity=2", 5, 9),
        ("pyramid:4", 6, 6),
        ("grid:4x4", 5, 2),
        ("fft:4", 6, 8),
        ("fft:8", 10, 16),
    ],
)
def test_memory_from_which_nothing_is_spilled(spec: str, M: int, compulsory: int, rules: str) -> None:
    cdag = graphs.build(spec)
    assert _optimum(Instance(cdag, M, rules)) == compulsory
    assert _optimum(Instance(cdag, M - 1, rules)) > compulsory


def _zipper(d: int, n: int) -> CDAG:
    """Two groups of d sources and a chain whose vertices need one group and the other in turn."""
    edges = []
    for i in range(n):
        v = 2 * d + i
        edges += [(u, v) for u in range(i % 2 * d, i % 2 * d + d)]
        if i:
            edges.append((v - 1, v))
    return CDAG.from_edges(2 * d + n, edges)


@pytest.mark.parametrize(("d", "n"), [(2, 6), (2, 8), (3, 6), (3, 8)])
@pytest.mark.parametrize("rules", RULE_SETS)
def test_zippers(d: int, n: int, rules: str) -> None:
    for M in range(d + 2, 2 * d + 3):
        result = SEARCH(Instance(_zipper(d, n), M, rules))
        assert result.status is Status.OPTIMAL
        assert result.io == 2 * d + 1 + (n - 2) * (2 * d + 2 - M)
        if (d, n, M) == (3, 8, 5):
            # Far more moves than two per vertex.
            assert result.schedule is not None
            assert len(result.schedule) > 2 * (2 * d + n)


@pytest.mark.parametrize(
    ("spec", "M", "one_shot", "hong_kung"),
    [
        ("fft:8", 3, 40, 40),
        ("fft:8", 8, 20, 19),
        ("grid:4x4", 3, 14, 11),
        ("pyramid:6", 4, 20, 20),
        ("a1xa2t:n=2,d=2", 5, 24, 24),
    ],
)
def test_proved_values_of_larger_graphs(spec: str, M: int, one_shot: int, hong_kung: int) -> None:
    cdag = graphs.build(spec)
    assert _optimum(Instance(cdag, M, "one-shot")) == one_shot
    assert _optimum(Instance(cdag, M, "hong-kung")) == hong_kung
