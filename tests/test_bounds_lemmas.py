"""The lemmas behind the bounds on attention, on schedules: progress in a window of I/Os.

At sizes that can be solved exactly the segment bounds lie below the compulsory one, so that comparing them
with optima says little. What each claims of a single segment is tested here instead, and how far from the
claim real schedules stay: a claim of a quarter must make the test fail. `test_bounds_windows` does the same
for the other families, `test_bounds_states` for all states of tiny graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.schedule import Schedule
from solvers.lower_bounds.attention import pairs_progress, products_progress
from solvers.lower_bounds.matmul import largest_volume
from solvers.lower_bounds.rectangles import LEAST_SHARE, least_skip, rectangle_progress
from solvers.lower_bounds.tokens import TokenTable, backward_supply
from strategies.playing import play
from tests.bound_checks import allowed, leaf_products, partial_sums, window_counter

N, D = 24, 8
MEMORIES = (16, 32, 256)
STRATEGIES = ("flash-attention", "two-pass", "algorithm6", "naive", "belady", "belady:order=dfs")
SKIPS = (1, 2, 4, 8, 12)


@cache
def graph() -> CDAG:
    return build(f"attention-backward:n={N},d={D}")


@cache
def schedules() -> tuple[Schedule, ...]:
    """Every strategy's schedule at every M that it can play."""
    found = []
    for M in MEMORIES:
        for name in STRATEGIES:
            try:
                found.append(play(name, Instance(graph(), M)))
            except UnsupportedInstanceError:
                continue
    return tuple(found)


@cache
def counted(schedule: Schedule, *, clean: bool) -> window_counter:
    """By I/Os and without useless computations, or by loads and with all."""
    return window_counter(schedule, loads_only=not clean, clean=clean)


def windows(M: int) -> tuple[int, ...]:
    return (1, M // 4, M, 2 * M, 4 * M)


def products_shares(schedule: Schedule) -> Iterator[float]:
    """LB-A: leaf products of S and dP against F(Y)."""
    M = schedule.instance.M
    counter = counted(schedule, clean=True)
    leaves = leaf_products(graph(), ("S", "dP"))
    assert len(leaves) == 2 * N * N * D
    for Y in windows(M):
        yield counter.most(leaves, Y) / int(products_progress(np.array([Y]), M, D)[0])


def pairs_shares(schedule: Schedule) -> Iterator[float]:
    """LB-B: pairs whose dS is first computed, by loads, against max(M + Y, ((M + Y)/4d)²)."""
    M = schedule.instance.M
    counter = counted(schedule, clean=False)
    for Y in windows(M):
        yield counter.most(graph().tensors["dS"].ravel(), Y) / int(pairs_progress(np.array([Y]), M, D, 2)[0])


def outputs_shares(schedule: Schedule) -> Iterator[float]:
    """LB-O: leaf products of dV, dQ, dK, by I/Os, against Φ(2M + Y)."""
    M = schedule.instance.M
    counter = counted(schedule, clean=True)
    leaves = leaf_products(graph(), ("dV", "dQ", "dK"))
    assert len(leaves) == 3 * N * N * D
    progress = TokenTable(M, backward_supply(D)).progress()
    for Y in windows(M):
        most = counter.most(leaves, Y)
        yield most / allowed(progress, 2 * M + Y)
        yield most / rectangle_progress(np.array([2 * M + Y]), D, np.inf, 0.5)[0]


def sequential_shares(schedule: Schedule) -> Iterator[float]:
    """LB-S: partial sums of dV, dQ, dK after the first c terms, by loads, against Φ_c(M + Y)."""
    M = schedule.instance.M
    counter = counted(schedule, clean=False)
    table = TokenTable(M, backward_supply(D))
    for skip in SKIPS:
        sums = partial_sums(graph(), ("dV", "dQ", "dK"), skip)
        assert len(sums) == 3 * N * D * (N - skip)
        progress = table.progress(1 / (4 * skip), singles=True)
        for Y in windows(M):
            yield counter.most(sums, Y) / allowed(progress, M + Y)


# Each lemma, and the share of what it allows that some schedule reaches in some window.
LEMMAS = [
    pytest.param(products_shares, 0.3, id="attention-products"),
    pytest.param(pairs_shares, 0.4, id="attention-pairs"),
    pytest.param(outputs_shares, 0.55, id="attention-outputs"),
    pytest.param(sequential_shares, 0.7, id="attention-sequential"),
]


@pytest.mark.parametrize(("shares", "reached"), LEMMAS)
def test_progress_in_every_window_is_what_the_lemma_allows(shares, reached: float) -> None:  # type: ignore[no-untyped-def]
    """Never above, and near enough that a quarter of what the lemma allows would be refuted."""
    assert len(schedules()) > 10
    worst = max(share for schedule in schedules() for share in shares(schedule))
    assert reached < worst <= 1
    assert 4 * worst > 1


# -- inequalities ----------------------------------------------------------------------------------------


def test_no_matrix_product_beats_loomis_and_whitney() -> None:
    """Random sets of lattice points and their three projections."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        box = rng.random((4, 5, 6)) < rng.random()
        points = np.argwhere(box)
        if len(points) == 0:
            continue
        sizes = [len({tuple(p) for p in np.delete(points, axis, 1).tolist()}) for axis in range(3)]
        assert len(points) <= np.sqrt(np.prod(sizes)) + 1e-9
        most = largest_volume(np.array([float(sum(sizes))]), (10**6, 10**6, 10**6))
        assert len(points) <= most[0] + 1e-9


def test_token_progress_is_above_every_allocation() -> None:
    """Φ from the grids against random ways to spend the tokens, and not far above the best of them."""
    rng = np.random.default_rng(1)
    for d in (1, 3, 8, 64):
        for M in (4, 50, 1000):
            tokens, most = TokenTable(M, backward_supply(d)).progress(0.02)
            for T, value in list(zip(tokens, most, strict=True))[:: len(tokens) // 5]:
                z = rng.dirichlet(np.full(8, 0.6), 20_000).T * T
                xq, xk, xv, xo, p, tq, tk, tv = z
                first = p + xq * xk / d**2
                both = p + np.minimum(xq, xo) * np.minimum(xk, xv) / d**2
                sums = np.sqrt(first * xo * tv) + np.sqrt(both * xk * tq) + np.sqrt(both * xq * tk)
                restarts = first * xo + both * (xk + xq)
                got = float((sums + 0.02 * restarts).max())
                assert got <= value
                assert got > 0.4 * value


# -- rectangles -------------------------------------------------------------------------------------------


def test_rectangles_in_every_window() -> None:
    """LB-R on schedules whose memory holds many rows, with the uncounted terms that the lemma asks for."""
    n, d, M = 64, 2, 64
    cdag = build(f"attention-backward:n={n},d={d}")
    worst = 0.0
    for name in ("flash-attention", "two-pass", "belady"):
        counter = window_counter(play(name, Instance(cdag, M)), loads_only=True)
        for Y in (M // 4, M, 2 * M):
            for split in (0.5, 0.8):
                skip = least_skip(M + Y, d, split)
                if skip < n:
                    sums = partial_sums(cdag, ("dV", "dQ", "dK"), skip)
                    share = counter.most(sums, Y) / rectangle_progress(np.array([M + Y]), d, skip, split)[0]
                    worst = max(worst, float(share))
    assert 0.25 < worst <= 1


def box_progress(z: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Gain of a rectangle and the words it takes, in units of d; a share `least` of them are first terms."""
    i, y_share, j, j_share, q, k, v = z
    y, jj = i * y_share, j * j_share
    tq, tk, tv = q * y, k * jj, v * y_share * j
    words = i + y + j + jj + tq + tk + tv
    g = least * words
    gain = np.minimum(jj, g) * tq + np.maximum(jj - g, 0) * y
    gain += np.minimum(y, g) * tk + np.maximum(y - g, 0) * jj
    gain += np.minimum(i, g) * tv + y_share * np.maximum(i - g, 0) * j
    return gain, words


def most_gain(least: float) -> float:
    """The largest 16·gain/words² found by random search with refinement."""
    rng = np.random.default_rng(4)

    def share(z: np.ndarray) -> np.ndarray:
        gain, words = box_progress(z, least)
        return np.asarray(16 * gain / words**2)

    z = rng.random((7, 20_000)) + 1e-9
    for round_ in range(60):
        z = z[:, np.argsort(-share(z))[:200]]
        near = np.abs(np.repeat(z, 25, axis=1) + 0.4 * 0.9**round_ * rng.standard_normal((7, 5000)))
        near[[1, 3, 4, 5, 6]] = np.minimum(near[[1, 3, 4, 5, 6]], 1)
        ends = rng.random(near.shape) < 0.05
        near = np.maximum(np.where(ends, np.round(rng.random(near.shape)), near), [[1e-9]] * 7)
        z = np.concatenate((z, near), axis=1)
    return float(share(z).max())


def test_a_rectangle_gains_a_sixteenth() -> None:
    """w²/16 is reached, never exceeded from the least share on, and exceeded below it."""
    for least in (LEAST_SHARE, 0.2, 0.4):
        assert 0.999 < most_gain(least) <= 1 + 1e-9
    assert most_gain(0.97 * LEAST_SHARE) > 1.001
