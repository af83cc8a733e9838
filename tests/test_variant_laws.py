"""Laws that optima obey on every graph, whatever the rule set."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble import CDAG, Instance, Rules, Status
from pebble.errors import DuplicateEdgeWarning
from solvers.search import SEARCH

# Rule sets drawn from: every base with every set of flags that it takes, dear stores among them.
_BASES = ("one-shot", "hong-kung", "partial")
_FLAGS = ("sliding", "free-sources", "no-delete", "outputs-any", "store=2")


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 6) -> CDAG:
    """Graphs with ids in topological order."""
    n = draw(st.integers(3, most))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2 * n, unique=True))
    return CDAG.from_edges(n, edges)


@st.composite
def rule_sets(draw: st.DrawFn, bases: tuple[str, ...] = _BASES) -> Rules:
    """Rule sets of these bases."""
    base = draw(st.sampled_from(bases))
    flags = draw(st.sets(st.sampled_from(_FLAGS), max_size=3)) - ({"sliding"} if base == "partial" else set())
    return Rules.named("+".join([base, *sorted(flags)]))


def optimum(cdag: CDAG, M: int, rules: Rules | str) -> float:
    """The proved optimum; infinity where M is infeasible."""
    result = SEARCH(Instance(cdag, M, rules))
    if result.status is Status.INFEASIBLE:
        return float("inf")
    assert result.status is Status.OPTIMAL
    assert result.io is not None
    return result.io


def least(cdag: CDAG, rules: Rules | str) -> int:
    """Least M."""
    return Instance(cdag, 1, rules).least_M


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets())
def test_the_optimum_never_rises_with_memory(cdag: CDAG, rules: Rules) -> None:
    M = least(cdag, rules)
    values = [optimum(cdag, m, rules) for m in range(max(1, M - 1), M + 3)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < float("inf")


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets(("one-shot",)))
def test_recomputation_never_costs_more(cdag: CDAG, rules: Rules) -> None:
    M = least(cdag, rules)
    assert optimum(cdag, M, dataclasses.replace(rules, recomputation=True)) <= optimum(cdag, M, rules)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets(("partial",)))
def test_partial_computation_never_costs_more(cdag: CDAG, rules: Rules) -> None:
    one_shot = dataclasses.replace(rules, partial=False)
    M = least(cdag, one_shot)
    assert optimum(cdag, M, rules) <= optimum(cdag, M, one_shot)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), st.sampled_from(["one-shot", "hong-kung"]))
def test_sliding_is_worth_at_most_one_pebble(cdag: CDAG, base: str) -> None:
    slides = f"{base}+sliding"
    for M in range(least(cdag, slides), least(cdag, base) + 2):
        assert optimum(cdag, M + 1, base) <= optimum(cdag, M, slides) <= optimum(cdag, M, base)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets())
def test_fewer_duties_never_cost_more(cdag: CDAG, rules: Rules) -> None:
    M = least(cdag, rules)
    value = optimum(cdag, M, rules)
    assert optimum(cdag, M, dataclasses.replace(rules, outputs="any")) <= value
    assert optimum(cdag, M, dataclasses.replace(rules, deletion=True)) <= value


@settings(max_examples=10, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets(), st.integers(2, 4))
def test_costs_scale(cdag: CDAG, rules: Rules, factor: int) -> None:
    dear = dataclasses.replace(
        rules, load_cost=factor * rules.load_cost, store_cost=factor * rules.store_cost
    )
    M = least(cdag, rules)
    assert optimum(cdag, M, dear) == factor * optimum(cdag, M, rules)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets(), st.integers(0, 10**6))
def test_names_and_duplicates_of_edges_do_not_matter(cdag: CDAG, rules: Rules, seed: int) -> None:
    n, rng = cdag.num_vertices, random.Random(seed)
    names = rng.sample(range(n), n)
    edges = [(names[u], names[v]) for u, v in cdag.edges().tolist()]
    edges += rng.choices(edges, k=3)
    rng.shuffle(edges)
    M = least(cdag, rules) + seed % 2
    with pytest.warns(DuplicateEdgeWarning):
        renamed = CDAG.from_edges(n, edges)
    assert optimum(renamed, M, rules) == optimum(cdag, M, rules)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_graphs(), rule_sets(), st.integers(1, 3))
def test_isolated_vertices_do_not_matter_where_sources_are_blue(cdag: CDAG, rules: Rules, more: int) -> None:
    rules = dataclasses.replace(rules, free_sources=False)
    M = least(cdag, rules)
    moved = [(u + 1, v + 1) for u, v in cdag.edges().tolist()]
    assert optimum(CDAG.from_edges(cdag.num_vertices + more, moved), M, rules) == optimum(cdag, M, rules)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(small_graphs(most=8), st.sampled_from(["one-shot", "hong-kung"]))
def test_sliding_is_worth_at_most_one_pebble_on_more_graphs(cdag: CDAG, base: str) -> None:
    slides = f"{base}+sliding"
    for M in range(least(cdag, slides), least(cdag, base) + 2):
        assert optimum(cdag, M + 1, base) <= optimum(cdag, M, slides) <= optimum(cdag, M, base)
