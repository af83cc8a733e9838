"""Relaxed games on blocks of vertices, searched: exactly the game, and never more than an optimum in all."""

from __future__ import annotations

import numpy as np
import pytest

import graphs
from pebble import CDAG, Instance, Limit
from solvers.lower_bounds.projection import block_optimum
from solvers.search.blocks import Block, block_of, partitions, prove_block, sum_over_blocks
from solvers.search.budget import Budget
from solvers.search.problem import Problem
from tests.oracle import RULE_SETS, oracle_values


def _random_graph(rng: np.random.Generator, n: int, *, weighted: bool) -> CDAG:
    edges = [(u, v) for v in range(1, n) for u in range(v) if rng.random() < 0.35]
    # Few operands each, so that a small memory plays.
    edges = [(u, v) for u, v in edges if sum(a < u for a, b in edges if b == v) < 3]
    weights = rng.integers(1, 4, n) if weighted else None
    return CDAG.from_edges(n, edges, weights=weights)


def _proved(block: Block) -> int:
    value, exact = prove_block(block, Budget(Limit(nodes=200_000)))
    assert exact
    return value


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_block_is_played_as_by_brute_force(rules: str, weighted: bool) -> None:
    """Against the search through all its states, on blocks whose predecessors lie inside and outside."""
    rng = np.random.default_rng(5 + weighted)
    more_than_compulsory = 0
    for _ in range(60):
        cdag = _random_graph(rng, int(rng.integers(7, 13)), weighted=weighted)
        instance = Instance(cdag, 10)
        instance = Instance(cdag, instance.least_M + int(rng.integers(0, 2)), rules)
        whole = Problem.of(instance)
        if whole.n < 7:
            continue
        members = sorted(rng.choice(whole.n, size=7, replace=False).tolist())
        block = block_of(whole, members)
        expected = block_optimum(instance, whole.original[members])
        assert _proved(block) == expected, (cdag.edges().tolist(), members)
        if block.problem is not None:
            more_than_compulsory += expected > block.constant + block.problem.compulsory
    assert more_than_compulsory >= 2


@pytest.mark.parametrize("rules", RULE_SETS)
def test_sums_over_blocks_never_exceed_the_optimum(rules: str) -> None:
    met = compared = 0
    for graph, instance, optimum in list(oracle_values(feasible=True))[::2]:
        if str(instance.rules) != rules or graph.cdag.num_vertices > 14:
            continue
        whole = Problem.of(instance)
        halves = [list(range(whole.n // 2)), list(range(whole.n // 2, whole.n))]
        grown = list(partitions(whole))[-1:]
        for partition in [halves, [list(range(whole.n))], *grown]:
            assert sorted(v for block in partition for v in block) == list(range(whole.n))
            total = 0
            for members in partition:
                total += prove_block(block_of(whole, members), Budget(Limit(nodes=2_000)))[0]
            assert total <= optimum, (graph.name, instance.M, partition)
            compared += 1
            met += total == optimum
    # Every graph is one block, too: then the sum is the optimum.
    assert met >= compared // 3 > 15


@pytest.mark.parametrize(("rules", "optimum"), [("one-shot", 24), ("hong-kung", 23)])
def test_two_transforms_in_a_larger_one(rules: str, optimum: int) -> None:
    """fft:16 holds two of half the size, with 8 stores each that are not paid here, and 16 outputs."""
    whole = Problem.of(Instance(graphs.build("fft:16"), 6, rules))
    halves = next(found for found in partitions(whole) if len(found[0]) == 32)
    values = [_proved(block_of(whole, members)) for members in halves]
    assert sorted(values)[-2:] == [optimum - 8] * 2
    assert sum(values) == 2 * (optimum - 8) + 16


def test_the_best_partition_is_found() -> None:
    whole = Problem.of(Instance(graphs.build("fft:16"), 6, "one-shot"))
    budget = Budget(Limit(nodes=250_000))
    value, largest = sum_over_blocks(whole, budget)
    assert value >= 2 * (24 - 8) + 16
    assert 12 <= largest < whole.n
    assert 0 < budget.spent <= 300_000


def test_what_room_outside_takes() -> None:
    # The block {2, 3} of a path 0 → 2 → 3 with a further operand 1 of 3: at M=3 nothing else is red then.
    cdag = CDAG.from_edges(4, [(0, 2), (2, 3), (1, 3)])
    whole = Problem.of(Instance(cdag, 3))
    block = block_of(whole, [whole.original.tolist().index(v) for v in (2, 3)])
    assert block.problem is not None
    assert block.problem.rooms.tolist() == [2, 2]
    assert _proved(block) == 1
