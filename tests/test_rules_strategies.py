"""Every generic strategy plays every rule set; tile programs play or refuse with a reason; known optima."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphs
import strategies
from pebble.cdag import CDAG
from pebble.errors import InvalidOrderError, UnsupportedInstanceError
from pebble.instance import Instance
from pebble.moves import Op
from pebble.referee import verify
from pebble.rules import Rules
from strategies.orders import ORDERS
from strategies.replaying import POLICIES, prepare, replay, replay_io
from tests.games import random_cdag
from tests.oracle import oracle_graphs
from tests.rule_sets import ORACLE_RULES, random_variant

GENERIC = ["belady", "lru", "fifo", "random"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_every_policy_plays_every_rule_set(seed: int) -> None:
    rng = random.Random(seed)
    instance = random_variant(rng, 9)
    if not instance.feasible:
        instance = instance.with_memory(instance.least_M)
    order = ORDERS[rng.choice(["natural", "dfs", "bfs", "greedy"])](instance.cdag)
    for policy in POLICIES:
        schedule = replay(instance, order, policy, seed=seed)
        cost = verify(schedule)
        assert cost.io == schedule.claim == replay_io(instance, order, policy, seed=seed)
        # What it computes is an order again.
        assert verify(replay(instance, schedule.order(), policy)).peak_red <= instance.M


@pytest.mark.parametrize("rules", [*ORACLE_RULES, "one-shot+no-delete+outputs-any+load=2", "partial+store=0"])
@pytest.mark.parametrize("name", [*GENERIC, "auto"])
def test_strategies_by_name(name: str, rules: str) -> None:
    for spec in ("fft:4", "matmul:2x2x2", "attention-backward:n=2,d=1"):
        least = Instance(graphs.build(spec), 1, rules).least_M
        for M in (least, least + 2):
            instance = Instance(graphs.build(spec), M, rules)
            schedule = strategies.play(name, instance, seed=3)
            assert verify(schedule).io == schedule.claim
            assert schedule.instance.rules.name == Rules.named(rules).name


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_more_freedom_is_never_dearer(seed: int) -> None:
    """What belady plays without a flag it finds with it too."""
    rng = random.Random(seed)
    cdag = random_cdag(rng, 9)
    order = ORDERS["dfs"](cdag)
    plain = Instance(cdag, Instance(cdag, 1).least_M + rng.randint(0, 2), "one-shot+compute=1")
    base = replay_io(plain, order)
    assert replay_io(plain.with_rules("one-shot+sliding"), order) <= base
    assert replay_io(plain.with_rules("partial"), order) <= base


@pytest.mark.parametrize("rules", ORACLE_RULES)
def test_belady_is_near_the_optima(rules: str) -> None:
    """Never below the proved optimum, and on the whole not far above it."""
    played = optimum = 0
    for graph in oracle_graphs():
        if graph.cdag.num_vertices > 14:
            continue
        known = [(M, io) for (M, name), io in graph.optimum.items() if name == rules and io is not None]
        for M, io in known[:1]:
            cost = verify(strategies.play("belady", Instance(graph.cdag, M, rules))).io
            assert cost >= io, (graph.name, M)
            played += cost
            optimum += io
    assert 0 < optimum <= played <= 1.25 * optimum, (played, optimum)


@pytest.mark.parametrize(("k", "depth"), [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2)])
def test_in_trees_cost_what_papp_et_al_prove(k: int, depth: int) -> None:
    """k-ary in-trees at M = k + 1: one-shot k^d + 2k^(d-1) - 1, partial k^d + 2k^(d-k) - 1 or k^d + 1."""
    cdag = graphs.build(f"tree:leaves={k**depth},arity={k}")
    one_shot = Instance(cdag, k + 1, "one-shot")
    assert strategies.play("belady", one_shot).claim == k**depth + 2 * k ** (depth - 1) - 1
    partial = k**depth + 2 * k ** (depth - k) - 1 if depth >= k else k**depth + 1
    assert strategies.play("belady", one_shot.with_rules("partial")).claim == partial


def test_matrix_vector_products_with_partial_computation() -> None:
    """m x m, one m-ary sum per entry: m^2 + 3m - 1 in one-shot, m^2 + 2m with partial computation."""
    m = 3
    cdag = graphs.build(f"matvec:{m}x{m},sums=flat")
    for M in range(m + 3, 2 * m + 1):
        instance = Instance(cdag, M, "one-shot")
        assert strategies.play("auto", instance).claim == m * m + 3 * m - 1
        assert strategies.play("auto", instance.with_rules("partial")).claim == m * m + 2 * m


def test_a_star_of_many_inputs_needs_two_words() -> None:
    leaves = 50_000
    cdag = CDAG.from_edges(leaves + 1, [(v, leaves) for v in range(leaves)])
    assert strategies.play("belady:order=natural", Instance(cdag, 2, "partial")).claim == leaves + 1


@pytest.mark.parametrize("policy", POLICIES)
def test_free_sources_are_never_loaded_where_they_can_be_computed_again(policy: str) -> None:
    cdag = graphs.build("fft:16")
    schedule = replay(Instance(cdag, 5, "hong-kung+free-sources"), ORDERS["dfs"](cdag), policy)
    loaded = {move.vertex for move in schedule if move.op is Op.LOAD}
    assert loaded
    assert loaded.isdisjoint(cdag.sources.tolist())
    once = replay(Instance(cdag, 5, "one-shot+free-sources"), ORDERS["dfs"](cdag), policy)
    computed = [move.vertex for move in once if move.op is Op.COMPUTE]
    assert sorted(computed) == list(range(cdag.num_vertices))


def test_costs_steer_eviction() -> None:
    """Dear stores make belady store less, dear loads make it load less."""
    cdag = graphs.build("fft:32")
    plain = Instance(cdag, 8, "one-shot")
    cost = {
        text: verify(strategies.play("belady", plain.with_rules(f"one-shot{text}")))
        for text in ("", "+store=9", "+load=9", "+store=0", "+load=0")
    }
    assert cost["+store=9"].stores <= cost[""].stores
    assert cost["+load=9"].loads <= cost[""].loads
    assert cost["+store=0"].io == cost["+store=0"].loads <= cost[""].io
    assert cost["+load=0"].io == cost["+load=0"].stores <= cost[""].io


def test_outputs_of_any_colour_stay_where_they_are() -> None:
    cdag = graphs.build("fft:4")
    assert strategies.play("belady", Instance(cdag, 12, "one-shot+outputs-any")).claim == 4
    assert strategies.play("belady", Instance(cdag, 12, "one-shot")).claim == 8


def test_without_deletion_every_eviction_is_a_store() -> None:
    cdag = graphs.build("pyramid:4")
    schedule = strategies.play("belady", Instance(cdag, 4, "one-shot+no-delete"))
    assert not any(move.op is Op.DELETE for move in schedule)
    slid = strategies.play("belady", Instance(cdag, 4, "one-shot+sliding+no-delete"))
    assert verify(slid).io < verify(schedule).io


def test_what_is_red_at_the_start_is_used() -> None:
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (0, 4)])
    schedule = strategies.play("belady", Instance(cdag, 3, "one-shot", red_at_start=[0, 2]))
    assert schedule.claim == 2
    assert strategies.play("auto", Instance(cdag, 3, "hong-kung", red_at_start=[0, 2])).claim == 2


def test_tile_programs_play_what_they_can_and_say_what_they_cannot() -> None:
    cdag = graphs.build("attention-backward:n=4,d=2")
    plain = Instance(cdag, 24)
    cost = verify(strategies.play("algorithm6", plain))
    for text in ("+sliding", "+outputs-any", "+load=2+store=3"):
        schedule = strategies.play("algorithm6", plain.with_rules(f"hong-kung{text}"))
        counted = verify(schedule)
        assert (counted.loads, counted.stores) == (cost.loads, cost.stores)
        assert counted.io == schedule.claim
    for rules, why in [
        ("partial", "aggregates them one at a time"),
        ("hong-kung+free-sources", "it loads its inputs"),
        ("hong-kung+no-delete", "it deletes red pebbles"),
    ]:
        with pytest.raises(UnsupportedInstanceError, match=why):
            strategies.play("algorithm6", plain.with_rules(rules))
    with pytest.raises(UnsupportedInstanceError, match="starts with nothing red"):
        strategies.play("algorithm6", Instance(cdag, 24, red_at_start=[0]))


def test_orders_that_variants_refuse() -> None:
    cdag = CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)])
    with pytest.raises(InvalidOrderError, match="partial rules allow it once"):
        replay(Instance(cdag, 3, "partial"), [2, 2, 3])
    with pytest.raises(InvalidOrderError, match="computes vertex 0, a source"):
        replay(Instance(cdag, 3, "one-shot+sliding"), [0, 2, 3])
    assert replay(Instance(cdag, 3, "one-shot+free-sources"), [0, 1, 2, 3]).claim == 1
    with pytest.raises(UnsupportedInstanceError, match="prepare the order for an instance"):
        prepare(cdag, [2, 3], replace(Rules(), sliding=True))
