"""Orders: every one is topological, complete and deterministic on every kind of graph."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import UnknownNameError
from pebble.instance import Instance
from strategies.orders import ORDERS, greedy, order_named
from strategies.replaying import replay_io
from tests.oracle import oracle_graphs
from tests.test_replay_properties import layered

every_order = pytest.mark.parametrize("order", ORDERS.values(), ids=list(ORDERS))


def check(cdag: CDAG, order: NDArray[Any]) -> None:
    """Each non-source once, after all its operands."""
    assert np.array_equal(np.sort(order), np.flatnonzero(~cdag.is_source))
    position = np.full(cdag.num_vertices, -1)
    position[order] = np.arange(len(order))
    edges = cdag.edges()
    assert (position[edges[:, 0]] < position[edges[:, 1]]).all()


@every_order
def test_on_every_oracle_graph(order: Callable[[CDAG], NDArray[Any]]) -> None:
    for graph in oracle_graphs():
        check(graph.cdag, order(graph.cdag))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 120), weighted=st.booleans())
def test_on_random_graphs(seed: int, n: int, weighted: bool) -> None:
    cdag = layered(random.Random(seed), n, weighted)
    for order in (*ORDERS.values(), order_named(f"greedy~{seed}")):
        first = order(cdag)
        check(cdag, first)
        assert np.array_equal(first, order(cdag))


@every_order
def test_on_wide_and_deep_graphs(order: Callable[[CDAG], NDArray[Any]]) -> None:
    n = 100_000
    line = np.arange(n)
    deep = CDAG.from_edges(n + 1, np.column_stack((line, line + 1)))
    fan_in = CDAG.from_edges(n + 1, np.column_stack((line, np.full(n, n))))
    fan_out = CDAG.from_edges(n + 1, np.column_stack((np.full(n, 0), line + 1)))
    shared = np.concatenate((fan_out.edges(), np.column_stack((line + 1, np.full(n, n + 1)))))
    for cdag in (deep, fan_in, fan_out, CDAG.from_edges(n + 2, shared)):
        check(cdag, order(cdag))


def tree(rng: random.Random, leaves: int) -> CDAG:
    """A random tree whose inner vertices have one to three operands, ids shuffled."""
    edges: list[tuple[int, int]] = []
    roots = list(range(leaves))
    n = leaves
    while len(roots) > 1:
        taken = [roots.pop(rng.randrange(len(roots))) for _ in range(min(len(roots), rng.randint(1, 3)))]
        edges += [(u, n) for u in taken]
        roots.append(n)
        n += 1
    return CDAG.from_edges(n, edges).renumber(rng.sample(range(n), n))


def test_dfs_need_takes_the_fewest_words_on_trees() -> None:
    """Sethi & Ullman: where some order needs no spill, this one needs none."""
    rng = random.Random(4)
    for _ in range(30):
        cdag = tree(rng, rng.randint(2, 7))
        for M in range(Instance(cdag, 1).least_M, cdag.num_vertices + 1):
            free = len(cdag.sources) + len(cdag.sinks)
            any_order = min(replay_io(Instance(cdag, M), order) for order in topological_orders(cdag, 400))
            if any_order == free:
                assert replay_io(Instance(cdag, M), ORDERS["dfs-need"](cdag)) == free


def topological_orders(cdag: CDAG, most: int) -> list[list[int]]:
    """Up to `most` orders of the non-sources, all of them on small graphs."""
    found: list[list[int]] = []
    stack: list[list[int]] = [[]]
    inner = np.flatnonzero(~cdag.is_source).tolist()
    while stack and len(found) < most:
        done = stack.pop()
        if len(done) == len(inner):
            found.append(done)
        have = {*done, *cdag.sources.tolist()}
        stack += [[*done, v] for v in inner if v not in have and have >= set(cdag.preds(v).tolist())]
    return found


def test_greedy_with_shuffled_ties_differs_only_by_the_shuffle() -> None:
    cdag = CDAG.from_edges(40, [(i, 20 + i) for i in range(20)])
    assert np.array_equal(greedy(cdag), greedy(cdag, np.arange(40)))
    assert not np.array_equal(order_named("greedy~1")(cdag), order_named("greedy~2")(cdag))


def test_names() -> None:
    assert order_named("DFS_need") is ORDERS["dfs-need"]
    with pytest.raises(UnknownNameError, match="did you mean 'greedy'"):
        order_named("gready")
    with pytest.raises(UnknownNameError, match="no order 'dfs~3'"):
        order_named("dfs~3")
