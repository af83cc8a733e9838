"""Replay against slow players, and its properties on random graphs, orders, weights and M."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import pebble
from pebble.cdag import CDAG
from pebble.instance import Instance
from strategies.orders import ORDERS
from strategies.replaying import POLICIES, replay, replay_io
from tests.replay_reference import furthest_next_use, optimal_eviction


def layered(rng: random.Random, n: int, weighted: bool) -> CDAG:
    """A random graph of n vertices with in-degree up to 3, shuffled ids, perhaps some further outputs."""
    ids = list(range(n))
    rng.shuffle(ids)
    edges = [(ids[u], ids[v]) for v in range(2, n) for u in rng.sample(range(v), rng.randint(0, min(3, v)))]
    weights = [rng.randint(1, 4) for _ in range(n)] if weighted else None
    outputs = rng.sample(range(n), rng.randint(0, n // 4))
    return CDAG.from_edges(n, edges, weights=weights, outputs=outputs)


def shuffled_order(cdag: CDAG, rng: random.Random) -> list[int]:
    """A random topological order of the non-sources."""
    left = cdag.in_degree.copy()
    ready = cdag.sources.tolist()
    order = []
    while ready:
        v = ready.pop(rng.randrange(len(ready)))
        order.append(v)
        for s in cdag.succs(v).tolist():
            left[s] -= 1
            if left[s] == 0:
                ready.append(s)
    return [v for v in order if not cdag.is_source[v]]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    weighted=st.booleans(),
    slack=st.integers(0, 8),
    rules=st.sampled_from(["hong-kung", "one-shot"]),
)
def test_every_policy_is_legal_and_claims_what_the_referee_counts(
    seed: int, n: int, weighted: bool, slack: int, rules: str
) -> None:
    rng = random.Random(seed)
    cdag = layered(rng, n, weighted)
    instance = Instance(cdag, Instance(cdag, 1).least_M + slack, rules)
    order = shuffled_order(cdag, rng)
    for policy in POLICIES:
        schedule = replay(instance, order, policy, seed)
        cost = pebble.verify(schedule)
        assert cost.io == schedule.claim == replay_io(instance, order, policy, seed)
        assert cost.recomputes == 0
        assert schedule.order().tolist() == order


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), slack=st.integers(0, 6))
def test_furthest_next_use_equals_the_slow_one(seed: int, n: int, slack: int) -> None:
    rng = random.Random(seed)
    cdag = layered(rng, n, weighted=False)
    instance = Instance(cdag, Instance(cdag, 1).least_M + slack)
    order = shuffled_order(cdag, rng)
    cost = pebble.verify(replay(instance, order, "furthest"))
    assert (cost.loads, cost.stores) == furthest_next_use(cdag, order, instance.M)
    assert replay_io(instance, order, "belady") <= cost.io


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 8), slack=st.integers(0, 2))
def test_furthest_next_use_is_optimal_when_every_value_is_stored_anyway(
    seed: int, n: int, slack: int
) -> None:
    rng = random.Random(seed)
    cdag = layered(rng, n, weighted=False)
    cdag = cdag.with_outputs(np.arange(n))
    instance = Instance(cdag, Instance(cdag, 1).least_M + slack)
    order = shuffled_order(cdag, rng)
    assert replay_io(instance, order, "furthest") == optimal_eviction(cdag, order, instance.M)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 8), weighted=st.booleans())
def test_no_policy_beats_the_optimal_eviction(seed: int, n: int, weighted: bool) -> None:
    rng = random.Random(seed)
    cdag = layered(rng, n, weighted)
    instance = Instance(cdag, Instance(cdag, 1).least_M)
    order = shuffled_order(cdag, rng)
    least = optimal_eviction(cdag, order, instance.M)
    for policy in POLICIES:
        assert replay_io(instance, order, policy, seed) >= least


def test_belady_is_close_to_the_optimal_eviction_and_below_the_others_on_average() -> None:
    rng = random.Random(11)
    total = dict.fromkeys(["optimal", *POLICIES], 0)
    for _ in range(40):
        cdag = layered(rng, 9, weighted=False)
        order = shuffled_order(cdag, rng)
        M = Instance(cdag, 1).least_M
        total["optimal"] += optimal_eviction(cdag, order, M)
        for policy in POLICIES:
            total[policy] += replay_io(Instance(cdag, M), order, policy)
    assert total["belady"] <= 1.02 * total["optimal"]
    assert total["belady"] < min(total[policy] for policy in POLICIES if policy != "belady")


def test_random_evicts_worse_than_belady_on_larger_graphs() -> None:
    rng = random.Random(12)
    for name, order in ORDERS.items():
        cdag = layered(rng, 400, weighted=True)
        M = Instance(cdag, 1).least_M + 10
        costs = {p: replay_io(Instance(cdag, M), order(cdag), p) for p in POLICIES}
        assert costs["belady"] < costs["random"], name


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_ids_do_not_matter_to_a_given_order(seed: int, n: int) -> None:
    rng = random.Random(seed)
    cdag = layered(rng, n, weighted=True)
    order = shuffled_order(cdag, rng)
    M = Instance(cdag, 1).least_M + 1
    new = cdag.renumber([*cdag.sources.tolist(), *order])
    inverse = {old: i for i, old in enumerate([*cdag.sources.tolist(), *order])}
    renamed = [inverse[v] for v in order]
    for policy in ("belady", "furthest", "lru", "fifo"):
        assert replay_io(Instance(cdag, M), order, policy) == replay_io(Instance(new, M), renamed, policy)
