"""The bound by computes that fill fast memory: tight where they do, and what its chain is."""

from __future__ import annotations

from itertools import pairwise

import pytest

import graphs
import pebble
import solvers
import strategies
from pebble.cdag import CDAG
from pebble.instance import Instance
from solvers.lower_bounds.full_memory import FULL_MEMORY, full_chain


def rounds_of_sums(n: int, k: int) -> CDAG:
    """`k` sums of the same n inputs, each of the later ones with the sum before it."""
    edges = [(u, n + i) for i in range(k) for u in range(n)]
    edges += [(n + i - 1, n + i) for i in range(1, k)]
    return CDAG.from_edges(n + k, edges)


@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
@pytest.mark.parametrize(("n", "m"), [(3, 4), (4, 5), (5, 4)])
def test_tight_on_two_halves_that_push_each_other_out(rules: str, n: int, m: int) -> None:
    """A sum of n inputs, one of m others and the first sum, one of the n again: all fill memory."""
    edges = [(u, n + m) for u in range(n)]
    edges += [(u, n + m + 1) for u in range(n, n + m + 1)]
    edges += [(u, n + m + 2) for u in (*range(n), n + m + 1)]
    cdag = CDAG.from_edges(n + m + 3, edges)
    instance = Instance(cdag, max(n, m) + 2, rules)
    bound = FULL_MEMORY(instance)
    optimum = solvers.solve(instance)
    assert optimum.status == "optimal"
    # n inputs come twice, less the words that the second sum leaves free.
    assert bound is not None
    assert bound.value == optimum.io == 2 * n + m + 1 - (instance.M - m - 2)


def test_what_stays_red_is_no_reload() -> None:
    cdag = rounds_of_sums(4, 3)
    assert FULL_MEMORY(Instance(cdag, 6)) is None
    assert full_chain(cdag, 6, once=True)[0] == 0
    assert FULL_MEMORY(Instance(cdag, 5)) is None  # infeasible


def test_conjugate_gradients_fill_memory_at_every_inner_product() -> None:
    cdag = graphs.build("cg:n=24,k=22,p=0.2")
    instance = Instance(cdag, 25, "one-shot")
    bound = FULL_MEMORY(instance)
    assert bound is not None
    compulsory = solvers.bounds(instance, names=["compulsory"])[0].value
    assert bound.value > 20 * compulsory
    io = pebble.verify(strategies.play("belady:order=dfs", instance)).io
    assert bound.value <= io <= 1.3 * bound.value
    chain = bound.details["chain"]
    dots = [v for v in range(cdag.num_vertices) if cdag.in_degree[v] == 24]
    assert len(dots) == 44
    assert len(set(dots) & set(chain)) >= 43
    assert all(u < v for u, v in pairwise(chain))
    recomputing = FULL_MEMORY(Instance(cdag, 25))
    assert recomputing is not None
    assert recomputing.value < bound.value
    assert FULL_MEMORY(Instance(cdag, 5000, "one-shot")) is None
