"""Replay: what it does move by move, recomputation, and every faulty order named."""

from __future__ import annotations

import numpy as np
import pytest

import pebble
from pebble.cdag import CDAG
from pebble.errors import InfeasibleInstanceError, InvalidOrderError, UnknownNameError
from pebble.instance import Instance
from pebble.schedule import Schedule
from strategies.replaying import POLICIES, play_plan, prepare, replay, replay_io

# 0 1 -> 2, 2 3 -> 4
CATERPILLAR = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 4), (3, 4)])


def check(schedule: Schedule) -> int:
    cost = pebble.verify(schedule)
    assert cost.io == schedule.claim
    return cost.io


def test_values_are_dropped_when_dead_and_outputs_stored_once() -> None:
    schedule = replay(Instance(CATERPILLAR, 3), [2, 4])
    assert schedule.text() == "L0 L1 C2 D0 D1 L3 C4 D2 D3 S4 D4"


def test_an_output_with_further_uses_is_stored_after_its_last() -> None:
    graph = CATERPILLAR.with_outputs([2])
    assert replay(Instance(graph, 3), [2, 4]).text() == "L0 L1 C2 D0 D1 L3 C4 S2 D2 D3 S4 D4"


def test_useless_computes_are_left_out() -> None:
    schedule = replay(Instance(CATERPILLAR, 3), [2, 2, 4])
    assert schedule.order().tolist() == [2, 4]


def test_clean_goes_before_dirty_where_it_pays() -> None:
    clean = CDAG.from_edges(8, [(0, 3), (1, 4), (4, 5), (2, 5), (1, 6), (5, 6), (3, 7), (6, 7)])
    order = [3, 4, 5, 6, 7]
    # M=4: at the compute of 5, 3 (dirty, used last) or 1 (clean, used earlier) must go.
    assert check(replay(Instance(clean, 4), order, "belady")) == 5
    assert check(replay(Instance(clean, 4), order, "furthest")) == 6


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_plays_within_M_and_claims_what_it_costs(policy: str) -> None:
    graph = CDAG.from_edges(
        9, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6), (0, 7), (6, 7), (3, 8), (7, 8)]
    )
    costs = []
    for M in range(3, 10):
        schedule = replay(Instance(graph, M), [4, 5, 6, 7, 8], policy, seed=3)
        costs.append(check(schedule))
        assert costs[-1] == replay_io(Instance(graph, M), [4, 5, 6, 7, 8], policy, seed=3)
    assert costs[-1] == 5


def test_random_follows_its_seed() -> None:
    graph = CDAG.from_edges(32, [(i * j % 12, 12 + i) for i in range(20) for j in range(1 + i % 3)])
    instance = Instance(graph, 4)
    order = list(range(12, 32))
    texts = {seed: replay(instance, order, "random", seed).text() for seed in range(6)}
    assert texts[0] == replay(instance, order, "random", 0).text()
    assert len(set(texts.values())) > 1


class TestRecomputation:
    # 1 = f(0), then 2 = f(1), 4 = f(2, 3), and 5 = f(1, 4) wants 1 again.
    graph = CDAG.from_edges(6, [(0, 1), (1, 2), (2, 4), (3, 4), (1, 5), (4, 5)])

    def test_a_value_made_anew_is_dropped_without_a_store(self) -> None:
        once = replay(Instance(self.graph, 3), [1, 2, 4, 5])
        twice = replay(Instance(self.graph, 3), [1, 2, 4, 1, 5])
        assert pebble.verify(once).stores == 2
        assert pebble.verify(twice).stores == 1
        assert pebble.verify(twice).recomputes == 1
        assert (once.claim, twice.claim) == (5, 4)

    def test_what_is_still_red_is_not_computed_again(self) -> None:
        schedule = replay(Instance(self.graph, 6), [1, 2, 4, 1, 5])
        assert schedule.order().tolist() == [1, 2, 4, 5]
        assert check(schedule) == 3

    def test_what_is_blue_and_cheaper_to_load_is_loaded(self) -> None:
        # 3 = f(0, 1, 2) is an output, used by 4 and at the end by 6; its operands would cost 3 loads.
        graph = CDAG.from_edges(9, [(0, 3), (1, 3), (2, 3), (3, 4), (5, 6), (4, 6), (7, 6), (3, 8), (6, 8)])
        graph = graph.with_outputs([3, 4])
        schedule = replay(Instance(graph, 4), [3, 4, 3, 6, 3, 8])
        check(schedule)
        assert pebble.verify(schedule).recomputes == 0

    def test_what_only_a_needless_compute_needed_is_left_out(self) -> None:
        # 1 -> 2 -> 3: making 1 anew serves only to make 2 anew, which is still red.
        graph = CDAG.from_edges(6, [(0, 1), (1, 2), (2, 3), (2, 5), (3, 5), (4, 5)])
        schedule = replay(Instance(graph, 4), [1, 2, 3, 1, 2, 5])
        assert schedule.order().tolist() == [1, 2, 3, 5]
        assert check(schedule) == 3

    def test_one_shot_forbids_it(self) -> None:
        with pytest.raises(
            InvalidOrderError, match="position 3 of the order computes vertex 1 again: one-shot"
        ) as caught:
            replay(Instance(self.graph, 3, "one-shot"), [1, 2, 4, 1, 5])
        assert (caught.value.vertex, caught.value.position) == (1, 3)

    @pytest.mark.parametrize("policy", POLICIES)
    def test_random_orders_with_repeats(self, policy: str) -> None:
        rng = np.random.default_rng(5)
        for _ in range(60):
            n = int(rng.integers(5, 14))
            edges = {(int(rng.integers(0, v)), v) for v in range(2, n) for _ in range(2)}
            weights = rng.integers(1, 4, n) if rng.random() < 0.4 else None
            graph = CDAG.from_edges(n, sorted(edges), weights=weights)
            order: list[int] = []
            for v in range(n):
                if not graph.is_source[v]:
                    # Now and then everything above v is made anew first.
                    if rng.random() < 0.4:
                        order += ancestors(graph, v)
                    order.append(v)
            least = Instance(graph, 1).least_M
            for M in (least, least + 1, least + 3):
                instance = Instance(graph, M)
                schedule = replay(instance, order, policy, seed=1)
                assert check(schedule) == replay_io(instance, order, policy, seed=1)


def ancestors(graph: CDAG, v: int) -> list[int]:
    seen: set[int] = set()
    todo = [v]
    while todo:
        for p in graph.preds(todo.pop()).tolist():
            if p not in seen and not graph.is_source[p]:
                seen.add(p)
                todo.append(p)
    return sorted(seen)


class TestWeights:
    def test_words_are_counted(self) -> None:
        graph = CDAG.from_edges(3, [(0, 2), (1, 2)], weights=[2, 3, 4])
        assert check(replay(Instance(graph, 9), [2])) == 9

    def test_no_more_is_evicted_than_room_is_needed(self) -> None:
        # 3 (1 word, wanted last), then 4 (4 words): 4 leaves, and that makes evicting 3 superfluous.
        edges = [(0, 3), (1, 4), (2, 5), (4, 6), (5, 6), (3, 7), (6, 7)]
        graph = CDAG.from_edges(8, edges, weights=[1, 1, 1, 1, 4, 4, 1, 1])
        schedule = replay(Instance(graph, 9), [3, 4, 5, 6, 7], "furthest")
        assert check(schedule) <= 3 + 1 + 2 + 8
        roomy = replay(Instance(graph, 20), [3, 4, 5, 6, 7], "furthest")
        assert check(roomy) == 4


class TestFaults:
    instance = Instance(CATERPILLAR, 3)

    @pytest.mark.parametrize(
        ("order", "message"),
        [
            ([2, 9, 4], "position 1 of the order names vertex 9: ids go from 0 to 4"),
            ([2, -1, 4], "names vertex -1"),
            ([2, 3, 4], "position 1 of the order computes vertex 3, a source"),
            ([4, 2], "vertex 4 before its operand 2, which it computes after"),
            ([4], "vertex 4 before its operand 2, which it computes never"),
            ([2], "never computes vertex 4, an output"),
            ([], "never computes vertex 4, an output"),
            ([2.0, 4.0], "sequence of vertex ids"),
            ([[2, 4]], "sequence of vertex ids"),
        ],
    )
    def test_a_faulty_order(self, order: list[int], message: str) -> None:
        with pytest.raises(InvalidOrderError, match=message):
            replay(self.instance, order)

    def test_position_and_vertex_of_the_fault(self) -> None:
        with pytest.raises(InvalidOrderError) as caught:
            prepare(CATERPILLAR, [4, 2])
        assert (caught.value.vertex, caught.value.position) == (2, 0)

    def test_too_little_memory(self) -> None:
        with pytest.raises(InfeasibleInstanceError, match="M >= 3"):
            replay(Instance(CATERPILLAR, 2), [2, 4])

    def test_an_unknown_policy(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'belady'"):
            replay(self.instance, [2, 4], "beladi")


def test_a_graph_that_computes_nothing() -> None:
    instance = Instance(CDAG.from_edges(3, []), 1)
    assert len(replay(instance, [])) == 0
    assert replay_io(instance, [], "lru") == 0


def test_one_plan_serves_every_M() -> None:
    graph = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 4), (3, 4)])
    plan = prepare(graph, [2, 4])
    for M in (3, 4, 100):
        assert play_plan(plan, Instance(graph, M)) == replay(Instance(graph, M), [2, 4])


def test_the_order_given_is_not_kept_nor_changed() -> None:
    order = np.array([2, 4])
    schedule = replay(Instance(CATERPILLAR, 3), order)
    order[:] = 0
    assert schedule.order().tolist() == [2, 4]
