"""Local search and recomputation: orders stay legal, never cost more, and prices are those of a replay."""

from __future__ import annotations

import numpy as np
import pytest

import graphs
import pebble
from pebble.instance import Instance
from pebble.result import Limit
from strategies import local_search
from strategies.orders import ORDERS
from strategies.recomputing import recompute_order
from strategies.replaying import prepare, replay, replay_io
from tests.oracle import oracle_graph

SPECS = [
    ("fft:16", 5),
    ("matmul:4x4x4", 8),
    ("spmv:n=12,p=0.3,seed=1", 9),
    ("knn:n=9,k=4,p=0.2,seed=1", 7),
    ("stencil1d:n=12,t=6", 6),
    ("tree:leaves=16", 3),
    ("chain:3", 2),
    ("random-layered:w=6,d=8,seed=3", 4),
]
spec_and_M = pytest.mark.parametrize(("spec", "M"), SPECS)


@spec_and_M
@pytest.mark.parametrize("order", ["natural", "dfs"])
def test_search_gives_a_legal_order_that_costs_no_more(spec: str, M: int, order: str) -> None:
    instance = Instance(graphs.build(spec), M, "one-shot")
    given = ORDERS[order](instance.cdag)
    found, stats = local_search.search_order(instance, given, limit=Limit(nodes=400), seed=3)
    assert np.array_equal(np.sort(found), np.sort(given))
    before, after = stats["io"]
    assert before == replay_io(instance, given)
    assert after == replay_io(instance, found) <= before
    assert pebble.verify(replay(instance, found)).io == after
    again, _ = local_search.search_order(instance, given, limit=Limit(nodes=400), seed=3)
    assert np.array_equal(found, again)


@spec_and_M
@pytest.mark.parametrize("groups", [False, True])
def test_the_running_total_is_that_of_every_position(spec: str, M: int, groups: bool) -> None:
    """After many moves kept and undone, the notes of the board are those of playing it through."""
    from strategies.local_search_kernels import search
    from strategies.local_search_play_kernels import play_all

    instance = Instance(graphs.build(spec), M, "one-shot")
    board = local_search._board(instance, prepare(instance.cdag, ORDERS["dfs"](instance.cdag)), seed=1)
    board.seq[:] = local_search._by_group(board)
    io = play_all(board, groups)
    owed = int((instance.cdag.is_output & ~instance.cdag.is_source).sum())
    exact = replay(instance, board.vertex[board.seq])
    assert exact.claim is not None
    assert exact.claim <= io + owed
    standing = np.array([io, io, 0])
    best = board.seq.copy()
    search(board, 300, 0.5, len(board.seq), groups, best, standing)
    assert standing[0] == board.cost.sum()
    assert np.array_equal(np.sort(board.seq), np.arange(len(board.seq)))
    assert np.array_equal(board.seq[board.pos], np.arange(len(board.seq))[board.pos][np.argsort(board.pos)])
    for i, s in enumerate(board.seq):
        assert board.pos[s] == i
    prepare(instance.cdag, board.vertex[board.seq], "one-shot")
    # A decision before the last full board is never taken back, so playing it all anew may differ a little.
    assert abs(play_all(board, False) - standing[0]) <= 0.1 * standing[0] + 2


def test_search_improves_bad_orders_by_far() -> None:
    for spec, M, least in (
        ("grid:12x12", 4, 0.3),
        ("fft:32", 6, 0.3),
        ("spmv-power:n=16,k=4,p=0.1", 8, 0.02),
    ):
        instance = Instance(graphs.build(spec), M, "one-shot")
        _, stats = local_search.search_order(
            instance, ORDERS["natural"](instance.cdag), limit=Limit(nodes=4000)
        )
        assert stats["io"][1] <= (1 - least) * stats["io"][0], spec


def test_weights_and_repeats_are_played() -> None:
    weighted = oracle_graph("wtree10_x4_t2_r2").cdag
    for M in (Instance(weighted, 1).least_M, 16):
        instance = Instance(weighted, M)
        found, stats = local_search.search_order(
            instance, ORDERS["natural"](weighted), limit=Limit(nodes=500)
        )
        assert pebble.verify(replay(instance, found)).io == stats["io"][1]
    instance = Instance(oracle_graph("grid4x4").cdag, 3)
    order, _ = recompute_order(instance, ORDERS["natural"](instance.cdag), seed=1)
    found, stats = local_search.search_order(instance, order, limit=Limit(nodes=2000))
    assert pebble.verify(replay(instance, found)).io == stats["io"][1] <= stats["io"][0]


def test_time_is_a_limit() -> None:
    instance = Instance(graphs.build("spmv-power:n=30,k=6,p=0.2,seed=1"), 20)
    order = ORDERS["dfs"](instance.cdag)
    _, stats = local_search.search_order(instance, order, limit=Limit(time=0.2))
    assert stats["moves"] > 0
    _, stats = local_search.search_order(instance, order, limit=Limit(time=60.0, nodes=300))
    assert stats["moves"] == 300


def test_recomputation_saves_loads_where_the_rules_allow_it() -> None:
    cdag = oracle_graph("grid4x4").cdag
    natural = ORDERS["natural"](cdag)
    order, stats = recompute_order(Instance(cdag, 4), natural)
    assert len(order) > len(natural)
    assert pebble.verify(replay(Instance(cdag, 4), order)).io == stats["io"][1] < stats["io"][0]
    order, stats = recompute_order(Instance(cdag, 4, "one-shot"), natural)
    assert stats["tries"] == 0
    assert np.array_equal(order, natural)
    assert recompute_order(Instance(cdag, 4), natural, limit=Limit(nodes=3))[1]["tries"] <= 3
    assert recompute_order(Instance(cdag, 4), natural, limit=Limit(time=0.0))[1]["tries"] == 0
