"""Heads and grouped queries: disjoint copies, keys shared in a group, counted and played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphs
import pebble
import solvers
import strategies

NAME = "masked-attention"
SPECS = [
    "attention-backward:n=6,d=2,heads=3",
    "attention-backward:n=5,d=3,heads=4,kv_heads=2,mask=causal",
    "attention-backward:n=6,d=2,heads=4,kv_heads=1,mask=window:3,given=O,fma=true",
    "attention-backward:n=4,d=2,heads=2,kv_heads=1,n_k=7,mask=causal,given=O",
    "attention-backward:n=8,d=2,heads=2,mask=block:2:butterfly",
    "attention-forward:n=6,d=3,heads=4,kv_heads=2,mask=causal",
    "attention-forward:n=5,d=2,heads=2,fma=true",
]


@pytest.mark.parametrize("spec", SPECS)
def test_count_referee_and_numbers_agree(spec: str) -> None:
    cdag = graphs.build(spec)
    inputs = graphs.example_inputs(cdag, seed=3)
    expected = pebble.evaluate(cdag, inputs)
    strategy = strategies.get(NAME)
    programs = ["queries-outside"] if "forward" in spec else ["keys-outside", "queries-outside", "two-pass"]
    least = strategy.least_M(pebble.Instance(cdag, 10**6))
    for M in (least, 60, 300):
        best = strategies.play(NAME, pebble.Instance(cdag, M))
        # At the least M only the smallest program fits.
        chosen = programs if least < M else [best.info["program"]]
        for options in ({}, *({"program": program} for program in chosen)):
            schedule = strategies.play(NAME, pebble.Instance(cdag, M), **options)
            cost = pebble.verify(schedule)
            assert best.claim is not None
            assert best.claim <= cost.io
            assert strategies.count(NAME, spec, M, **schedule.info) == cost
            computed = pebble.execute(schedule, inputs)
            for name in cdag.output_names:
                np.testing.assert_allclose(computed[name], expected[name], rtol=1e-9)
            for bound in solvers.bounds(spec, M):
                assert bound.value <= cost.io, bound


def _io(spec: str, M: int, **options: Any) -> int:
    return strategies.count(NAME, spec, M, **options).io


@pytest.mark.parametrize("mask", ["full", "causal", "window:20"])
def test_heads_are_copies(mask: str) -> None:
    spec = f"attention-backward:n=256,d=16,mask={mask}"
    for M in (200, 1000, 5000):
        one, four = strategies.count(NAME, spec, M), strategies.count(NAME, f"{spec},heads=4", M)
        assert (four.loads, four.stores, four.computes) == (4 * one.loads, 4 * one.stores, 4 * one.computes)
        assert four.peak_red == one.peak_red
        bounds = [solvers.best_bound(s, M).value for s in (spec, f"{spec},heads=4")]
        assert bounds[1] >= 4 * bounds[0] * 0.99 - 4 * M


def test_a_group_shares_its_keys() -> None:
    """Keys and values of a group are loaded once per block, whichever head asks."""
    spec, M = "attention-backward:n=1024,d=32,heads=8", 4096
    shared = [_io(f"{spec},kv_heads={groups}", M, program="keys-outside") for groups in (8, 4, 2, 1)]
    assert shared == sorted(shared, reverse=True)
    # 4 words of K, V, dK and dV per key, column and key head are all that sharing saves.
    words = 4 * 1024 * 32
    assert shared[0] - shared[3] == 7 * words
    blocks = {"program": "keys-outside", "block_columns": 16, "block_rows": 4}
    counts = [strategies.count(NAME, f"{spec},kv_heads={groups}", M, **blocks) for groups in (8, 1)]
    assert counts[0].io - counts[1].io == 7 * words
    # Queries that stay see all heads' keys: one read of a key serves the whole group.
    passes = [_io(f"attention-forward:n=1024,d=32,heads=8,kv_heads={g}", M) for g in (8, 1)]
    assert passes[1] < passes[0]


def test_one_key_head_is_more_queries_of_one_head() -> None:
    blocks = {"program": "keys-outside", "block_columns": 8, "block_rows": 5}
    group = strategies.count(NAME, "attention-backward:n=16,d=4,heads=3,kv_heads=1", 10**6, **blocks)
    rows = strategies.count(NAME, "attention-backward:n=48,d=4,n_k=16", 10**6, **blocks)
    assert group == rows
