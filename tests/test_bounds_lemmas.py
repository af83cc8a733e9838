"""The lemmas behind the bounds, on schedules and on all states of tiny graphs: progress in a window of I/Os.

At sizes that can be solved exactly the segment bounds lie below the compulsory one, so that comparing them
with optima says little. What each claims of a single segment is tested here instead, and how far from the
claim real schedules stay: a claim of a quarter must make the test fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from graphs.catalog import build, parse
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.schedule import Schedule
from solvers.lower_bounds.attention import pairs_progress, products_progress
from solvers.lower_bounds.dominators import fft_dominated, pyramid_dominated
from solvers.lower_bounds.matmul import largest_volume
from solvers.lower_bounds.rectangles import LEAST_SHARE, least_skip, rectangle_progress
from solvers.lower_bounds.tokens import (
    TokenProgress,
    TokenTable,
    backward_supply,
    product_supply,
    rectangle_supply,
)
from strategies.playing import play
from tests.bound_checks import leaf_products, partial_sums, window_counter

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


def allowed(progress: TokenProgress, tokens: int) -> float:
    """Φ at the next point of the grid."""
    grid, most = progress
    at = int(np.searchsorted(grid, tokens))
    return float(most[at]) if at < len(grid) else float("inf")


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


# -- all states of tiny graphs ----------------------------------------------------------------------------


def most_progress(
    cdag: CDAG,
    goal: list[int],
    M: int,
    Y: int,
    *,
    stores: bool = False,
    one_shot: bool = False,
    begun: Sequence[int] = (),
) -> int:
    """Most of `goal` that become red for the first time within Y loads, from any state of the game.

    A state is what is red and what has ever been red, a set closed under predecessors; all of the latter may
    as well be blue. Unless `stores` are counted too, whatever is made within the window may be blue as well.
    If they are, the window is one of a clean schedule: what it computes is used, stored, or red at its end.
    Without recomputation, computing a vertex of `begun` counts as a load does.
    """
    n = cdag.num_vertices
    preds = [sum(1 << int(u) for u in cdag.preds(v)) for v in range(n)]
    wanted = sum(1 << v for v in goal)
    starts = sum(1 << v for v in begun)
    # Sources that are no goal are as good as known.
    down_sets = [sum(1 << v for v in range(n) if not preds[v] and not wanted >> v & 1)]
    for v in cdag.topological_order.tolist():
        if not down_sets[0] >> v & 1:
            down_sets += [s | 1 << v for s in down_sets if s & preds[v] == preds[v]]
    best = 0
    for known in down_sets:
        members = [1 << v for v in range(n) if known >> v & 1]
        reds = [sum(red) for size in range(min(M, len(members)) + 1) for red in combinations(members, size)]
        ever = _reach(preds, reds, known, M, Y, stores, one_shot, starts)
        best = max(best, max((e & wanted & ~known).bit_count() for e in ever))
    return best


def _reach(
    preds: list[int], reds: list[int], known: int, M: int, Y: int, stores: bool, one_shot: bool, starts: int
) -> set[int]:
    """What may ever have been red at the window's end: sets, as bits."""
    # Red, ever red, blue, computed in the window and not used yet, spent.
    stack = [(red, known, known, 0, 0) for red in reds]
    seen = set(stack)

    def visit(*state: int) -> None:
        if state not in seen:
            seen.add(state)
            stack.append(state)

    while stack:
        red, ever, blue, unused, spent = stack.pop()
        full = red.bit_count() >= M
        for v, need in enumerate(preds):
            bit = 1 << v
            if red & bit:
                if not unused & bit:
                    visit(red & ~bit, ever, blue, unused, spent)
                if stores and spent < Y and not blue & bit:
                    visit(red, ever, blue | bit, unused & ~bit, spent + 1)
                continue
            if full:
                continue
            if spent < Y and (not need or (blue if stores else ever) & bit):
                visit(red | bit, ever | bit, blue, unused, spent + 1)
            price = 1 if starts & bit else 0
            if need and need & ~red == 0 and spent + price <= Y and not (one_shot and ever & bit):
                idle = (unused & ~need) | bit if stores else 0
                visit(red | bit, ever | bit, blue, idle, spent + price)
    return {state[1] for state in seen}


TINY = [
    ("pyramid:2", pyramid_dominated),
    ("fft:2", fft_dominated),
    pytest.param("pyramid:3", pyramid_dominated, marks=pytest.mark.slow),
    pytest.param("fft:4", fft_dominated, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("spec", "dominated"), TINY)
def test_dominated_vertices_from_every_state(spec: str, dominated) -> None:  # type: ignore[no-untyped-def]
    cdag = build(spec)
    reached = 0
    for M in (3,) if cdag.num_vertices > 8 else (3, 4):
        for Y in (1, 2):
            most = most_progress(cdag, list(range(cdag.num_vertices)), M, Y)
            most_allowed = int(dominated(np.array([M + Y]))[0])
            assert most <= most_allowed
            reached = max(reached, most)
    assert reached >= 3


@pytest.mark.parametrize(
    "spec", ["matmul:1x2x1", pytest.param("matmul:1x3x1,fma=true", marks=pytest.mark.slow)]
)
def test_partial_sums_from_every_state(spec: str) -> None:
    """The lemma of the one-side bounds, exactly: the largest progress over all states of a tiny product."""
    cdag = build(spec)
    k = cdag.sums["C"].k
    fused = cdag.sums["C"].layout.endswith("fma")
    for M in (4,) if fused else (3, 4):
        table = TokenTable(M, product_supply)
        for skip in range(1, k):
            reached = 0
            goal = partial_sums(cdag, ("C",), skip).tolist()
            progress = table.progress(1 / (4 * skip), singles=not fused)
            for Y in (1, 2, 3):
                most = most_progress(cdag, goal, M, Y)
                assert most <= allowed(progress, M + Y)
                reached = max(reached, most)
            assert reached >= 1


Allowed = Callable[[int, int], float]


def _leaves_by_ios(spec: str) -> tuple[CDAG, list[int], Allowed, dict[str, object]]:
    """Matmul: products first computed in Y I/Os of a clean schedule, against Loomis & Whitney."""
    cdag = build(spec)
    p = parse(spec).params
    caps = (p["m"] * p["k"], p["k"] * p["n"], p["m"] * p["n"])
    allowed_by = lambda M, Y: float(largest_volume(np.array([2.0 * M + Y]), caps)[0])  # noqa: E731
    return cdag, leaf_products(cdag, ("C",)).tolist(), allowed_by, {"stores": True}


def _sums_without_recomputation(spec: str) -> tuple[CDAG, list[int], Allowed, dict[str, object]]:
    """Matmul, one-shot: partial sums first computed in Y loads and beginnings."""
    cdag = build(spec)
    p = parse(spec).params
    caps = (p["m"] * p["k"], p["k"] * p["n"], p["m"] * p["n"])

    def allowed_by(M: int, Y: int) -> float:
        most = float(largest_volume(np.array([float(M + Y)]), caps)[0])
        return most if p["fma"] else max(most, M + Y)

    begun = set(partial_sums(cdag, ("C",), 0).tolist()) - set(partial_sums(cdag, ("C",), 1).tolist())
    return cdag, partial_sums(cdag, ("C",), 0).tolist(), allowed_by, {"one_shot": True, "begun": list(begun)}


def _scores_by_ios(spec: str) -> tuple[CDAG, list[int], Allowed, dict[str, object]]:
    """LB-A: leaf products of the scores first computed in Y I/Os of a clean schedule."""
    cdag = build(spec)
    d = parse(spec).params["d"]
    trees = [name for name in ("S", "dP") if name in cdag.sums]
    allowed_by = lambda M, Y: float(products_progress(np.array([Y]), M, d)[0])  # noqa: E731
    return cdag, leaf_products(cdag, trees).tolist(), allowed_by, {"stores": True}


def _pairs_by_loads(spec: str) -> tuple[CDAG, list[int], Allowed, dict[str, object]]:
    """LB-B: pairs whose last vertex is first computed in Y loads."""
    cdag = build(spec)
    d = parse(spec).params["d"]
    last, trees = ("dS", 2) if "dS" in cdag.tensors else ("u", 1)
    allowed_by = lambda M, Y: float(pairs_progress(np.array([Y]), M, d, trees)[0])  # noqa: E731
    return cdag, cdag.tensors[last].ravel().tolist(), allowed_by, {}


def _outputs_by_ios(spec: str) -> tuple[CDAG, list[int], Allowed, dict[str, object]]:
    """LB-O: products of the sums over pairs first computed in Y I/Os of a clean schedule."""
    cdag = build(spec)
    d = parse(spec).params["d"]
    backward = "dV" in cdag.sums
    supply = backward_supply(d) if backward else rectangle_supply(d)

    def allowed_by(M: int, Y: int) -> float:
        most = allowed(TokenTable(M, supply).progress(), 2 * M + Y)
        if not backward:
            return most
        return min(most, float(rectangle_progress(np.array([2 * M + Y]), d, np.inf, 0.5)[0]))

    sums = ("dV", "dQ", "dK") if backward else ("N",)
    return cdag, leaf_products(cdag, sums).tolist(), allowed_by, {"stores": True}


EXACT = [
    (_leaves_by_ios, "matmul:1x2x1", 1.0),
    (_leaves_by_ios, "matmul:2x1x2", 1.0),
    (_sums_without_recomputation, "matmul:1x2x1", 0.4),
    (_sums_without_recomputation, "matmul:2x1x2,fma=true", 0.7),
    (_scores_by_ios, "attention-forward:n=1,d=1", 0.1),
    (_pairs_by_loads, "attention-forward:n=1,d=1", 0.25),
    (_outputs_by_ios, "attention-forward:n=1,d=1", 0.27),
    pytest.param(_leaves_by_ios, "matmul:1x3x1,fma=true", 0.5, marks=pytest.mark.slow),
    pytest.param(_sums_without_recomputation, "matmul:1x3x1", 0.4, marks=pytest.mark.slow),
    pytest.param(_scores_by_ios, "attention-backward:n=1,d=1", 0.1, marks=pytest.mark.slow),
    pytest.param(_pairs_by_loads, "attention-backward:n=1,d=1", 0.1, marks=pytest.mark.slow),
    pytest.param(_outputs_by_ios, "attention-backward:n=1,d=1", 0.1, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("lemma", "spec", "reached"), EXACT)
def test_the_largest_progress_from_every_state(lemma, spec: str, reached: float) -> None:  # type: ignore[no-untyped-def]
    """Exactly, over all states of the smallest graphs; products reach what their lemma allows."""
    cdag, goal, allowed_by, how = lemma(spec)
    least = Instance(cdag, 9).least_M
    worst = 0.0
    for M in (least,) if cdag.num_vertices > 8 else (least, least + 1):
        for Y in (1, 2, 3) if cdag.num_vertices <= 8 else (1, 2):
            most = most_progress(cdag, goal, M, Y, **how)
            worst = max(worst, most / allowed_by(M, Y))
    assert reached <= worst <= 1


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
