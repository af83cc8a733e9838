"""What every registered strategy owes its users, built in or not, on small instances of every kind."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import graphs
import pebble
import strategies
from pebble.cdag import CDAG
from pebble.errors import (
    InfeasibleInstanceError,
    InvalidOrderError,
    UnknownNameError,
    UnsupportedInstanceError,
)
from pebble.instance import Instance
from pebble.result import Limit
from strategies.protocol import Countable, Strategy
from tests.oracle import oracle_graph

SPECS = (
    "attention-backward:n=5,d=2",
    "attention-backward:n=4,d=2,given=O",
    "attention-gradient:n=4,d=2",
    "attention-forward:n=4,d=2",
    "matmul:3x2x4",
    "a1xa2t:n=3,d=2",
    "fft:8",
    "tree:leaves=6,arity=2",
)
ORACLE = ("isolated3", "star_in4", "pyr3", "recomp_gadget", "zipper_d3_n6", "wtree10_x4_t2_r2", "wvalley")
GENERIC = ("belady", "lru", "fifo", "random")

every_strategy = pytest.mark.parametrize("name", strategies.names())


@cache
def cdags() -> tuple[CDAG, ...]:
    return (*(graphs.build(spec) for spec in SPECS), *(oracle_graph(name).cdag for name in ORACLE))


@cache
def instances(name: str) -> tuple[Instance, ...]:
    """Instances that the strategy plays: at its least M, a little above, and with plenty of room."""
    strategy = strategies.get(name)
    found = []
    for cdag in cdags():
        for rules in ("hong-kung", "one-shot"):
            instance = Instance(cdag, 1, rules)
            if strategy.supports(instance) is None:
                least = strategy.least_M(instance)
                assert least >= instance.least_M
                found += [instance.with_memory(M) for M in (least, least + 3, least + cdag.num_vertices)]
    return tuple(found)


@every_strategy
def test_it_is_a_strategy_and_knows_its_name(name: str) -> None:
    strategy = strategies.get(name)
    assert isinstance(strategy, Strategy)
    assert strategy.name == name
    assert strategies.info(name).summary
    assert all(text for text in strategy.options.values())


@every_strategy
def test_it_plays_legally_and_claims_what_it_costs(name: str) -> None:
    assert instances(name), f"none of the graphs here is one that '{name}' plays: add one"
    for instance in instances(name):
        schedule = strategies.play(name, instance, seed=5)
        assert schedule.instance is instance
        cost = pebble.verify(schedule)
        assert cost.peak_red <= instance.M
        assert schedule.claim in (None, cost.io)
        assert schedule.producer


@every_strategy
def test_it_is_deterministic_for_a_seed_and_leaves_the_instance_alone(name: str) -> None:
    for instance in instances(name)[:12]:
        before = pickle.dumps((instance.cdag, instance.M, instance.rules))
        first = strategies.play(name, instance, seed=2)
        assert np.array_equal(first.moves, strategies.play(name, instance, seed=2).moves)
        restored, M, rules = pickle.loads(before)
        assert restored == instance.cdag
        assert (M, rules) == (instance.M, instance.rules)


@every_strategy
def test_it_and_its_schedules_pickle(name: str) -> None:
    instance = instances(name)[0]
    strategy = pickle.loads(pickle.dumps(strategies.get(name)))
    schedule = strategies.play(strategy, instance)
    again = pickle.loads(pickle.dumps(schedule))
    assert again == schedule
    assert pebble.verify(again) == pebble.verify(strategies.play(name, instance))


@every_strategy
def test_it_refuses_too_little_memory_with_the_right_error(name: str) -> None:
    strategy = strategies.get(name)
    for instance in instances(name):
        least, graph_least = strategy.least_M(instance), instance.least_M
        if graph_least > 1:
            below = instance.with_memory(graph_least - 1)
            with pytest.raises(InfeasibleInstanceError, match=f"M >= {graph_least}"):
                strategies.play(strategy, below)
            with pytest.raises((InfeasibleInstanceError, UnsupportedInstanceError), match="M >= "):
                strategy(below)
        if least > graph_least:
            with pytest.raises(UnsupportedInstanceError, match=f"M >= {least}") as caught:
                strategies.play(strategy, instance.with_memory(least - 1))
            assert caught.value.least_M == least


@every_strategy
def test_it_says_what_it_does_not_play(name: str) -> None:
    strategy = strategies.get(name)
    for cdag in cdags():
        instance = Instance(cdag, 10_000)
        reason = strategy.supports(instance)
        if reason is not None:
            with pytest.raises(UnsupportedInstanceError, match="does not play"):
                strategies.play(name, instance)


@every_strategy
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedInstanceError, match="no option 'colour'"):
        strategies.play(f"{name}:colour=red", instances(name)[0])


@every_strategy
def test_a_limit_is_taken(name: str) -> None:
    instance = instances(name)[0]
    pebble.verify(strategies.play(name, instance, limit=Limit(time=0.0, nodes=1, memory_mb=1.0, gap=0.0)))


@every_strategy
def test_what_it_counts_is_what_the_referee_counts(name: str) -> None:
    strategy = strategies.get(name)
    if not isinstance(strategy, Countable):
        with pytest.raises(UnsupportedInstanceError, match="no tile program"):
            strategies.count(name, "fft:8", 8)
        return
    for spec in SPECS:
        instance = Instance(graphs.build(spec), 1)
        parsed = graphs.GraphSpec.parse(spec)
        assert (strategy.count_supports(parsed) is None) == (strategy.supports(instance) is None), spec
        if strategy.supports(instance) is None:
            least = strategy.least_M(instance)
            assert strategy.count_least_M(parsed) == least
            for M in (least, least + 5):
                played = pebble.verify(strategies.play(name, instance.with_memory(M)))
                assert strategies.count(name, spec, M) == played, (spec, M)


@pytest.mark.parametrize("name", GENERIC)
class TestGeneric:
    """The strategies that play any graph."""

    def test_it_plays_everything_from_the_least_M(self, name: str) -> None:
        assert len(instances(name)) == 6 * len(cdags())

    def test_one_shot_costs_no_less_than_computing_again(self, name: str) -> None:
        for cdag in cdags():
            M = Instance(cdag, 1).least_M
            costs = [
                pebble.verify(strategies.play(name, Instance(cdag, M, rules))).io
                for rules in ("hong-kung", "one-shot")
            ]
            assert costs[0] <= costs[1]

    def test_the_best_order_is_the_best_of_all(self, name: str) -> None:
        from strategies.orders import ORDERS

        instance = Instance(graphs.build("fft:16"), 6)
        best = strategies.play(name, instance, seed=1)
        single = [strategies.play(name, instance, seed=1, order=order).claim for order in ORDERS]
        assert best.claim is not None
        assert best.claim <= min(cost for cost in single if cost is not None)
        again = strategies.play(name, instance, seed=1, order=best.info["order"])
        assert np.array_equal(again.moves, best.moves)
        assert strategies.parse_strategy(best.producer)[1]["order"] == best.info["order"]

    def test_limits_end_the_trying_of_orders(self, name: str) -> None:
        instance = Instance(graphs.build("fft:16"), 6)
        assert strategies.play(name, instance, limit=Limit(time=0.0)).info["orders_tried"] == 1
        assert strategies.play(name, instance, limit=Limit(nodes=3)).info["orders_tried"] == 3
        assert strategies.play(name, instance).info["orders_tried"] > 10

    def test_an_order_of_your_own(self, name: str) -> None:
        cdag = oracle_graph("pyr3").cdag
        order = cdag.topological_order[~cdag.is_source[cdag.topological_order]]
        schedule = strategies.play(name, Instance(cdag, 4), order=order)
        assert np.array_equal(schedule.order(), order)
        with pytest.raises(InvalidOrderError, match="operand"):
            strategies.play(name, Instance(cdag, 4), order=order[::-1])

    def test_unknown_order_and_option(self, name: str) -> None:
        instance = Instance(oracle_graph("pyr3").cdag, 4)
        with pytest.raises(UnknownNameError, match="did you mean 'greedy'"):
            strategies.play(f"{name}:order=greedi", instance)
        with pytest.raises(UnsupportedInstanceError, match="no option 'colour'"):
            strategies.get(name)(instance, colour="red")


def test_belady_can_ignore_stores() -> None:
    instance = Instance(graphs.build("fft:32"), 5)
    counted = strategies.play("belady:order=natural", instance)
    ignored = strategies.play("belady:order=natural:stores=ignore", instance)
    assert pebble.verify(counted).io <= pebble.verify(ignored).io
    with pytest.raises(UnsupportedInstanceError, match="stores=never is none of count, ignore"):
        strategies.play("belady:stores=never", instance)
