"""The lemmas behind the bounds on schedules of every family: progress in all windows of I/Os.

As in `test_bounds_lemmas`, which is about attention's backward pass: no window makes more progress than the
lemma allows, and some window more than a quarter of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphs.catalog import build, parse
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.schedule import Schedule
from solvers.lower_bounds.attention import pairs_progress, products_progress
from solvers.lower_bounds.dominators import family_dominated
from solvers.lower_bounds.matmul import largest_volume
from solvers.lower_bounds.tokens import (
    Supply,
    TokenProgress,
    TokenTable,
    backward_supply,
    product_supply,
    rectangle_supply,
)
from strategies.playing import play
from tests.bound_checks import allowed, first_sums, leaf_products, partial_sums, window_counter

Shares = Callable[[Schedule], Iterator[float]]


@cache
def schedules(spec: str, memories: tuple[int, ...], names: tuple[str, ...], rules: str) -> list[Schedule]:
    """Every strategy's schedule at every M that it can play."""
    found = []
    for M in memories:
        for name in names:
            try:
                found.append(play(name, Instance(graph(spec), M, rules)))
            except UnsupportedInstanceError:
                continue
    return found


@cache
def graph(spec: str) -> CDAG:
    return build(spec)


@cache
def tokens(M: int, supply: Supply, restart: float, singles: bool) -> TokenProgress:
    return TokenTable(M, supply).progress(restart, singles=singles)


def windows(M: int) -> tuple[int, ...]:
    return (1, max(1, M // 4), M, 2 * M, 4 * M)


def over(
    counter: window_counter, goal: Any, most: Callable[[int], float], M: int, weights: Any = None
) -> Iterator[float]:
    """Shares of what is allowed, for some lengths of windows."""
    for Y in windows(M):
        yield counter.most(goal, Y, weights) / most(Y)


# -- the lemmas -------------------------------------------------------------------------------------------


def dominated(schedule: Schedule) -> Iterator[float]:
    """FFT, pyramid, stencils: vertices red for the first time, by loads, against f(M + Y)."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    question = family_dominated(cdag.family, cdag.params)
    assert question is not None
    counter = window_counter(schedule, loads_only=True, sources=True)
    most = lambda Y: float(question[2](np.array([M + Y]))[0])  # noqa: E731
    yield from over(counter, np.arange(cdag.num_vertices), most, M)


def product_leaves(schedule: Schedule) -> Iterator[float]:
    """Matmul: products by I/Os, against Loomis & Whitney with 2M + Y words."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    p = cdag.params
    caps = (p["m"] * p["k"], p["k"] * p["n"], p["m"] * p["n"])
    counter = window_counter(schedule, clean=True)
    most = lambda Y: float(largest_volume(np.array([2.0 * M + Y]), caps)[0])  # noqa: E731
    yield from over(counter, leaf_products(cdag, ("C",)), most, M)


def product_sums(schedule: Schedule) -> Iterator[float]:
    """Matmul, sequential sums: partial sums after the first c terms, by loads."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    counter = window_counter(schedule, loads_only=True)
    for skip in (1, 3, 6):
        progress = tokens(M, product_supply, 1 / (4 * skip), True)
        yield from over(counter, partial_sums(cdag, ("C",), skip), lambda Y, f=progress: allowed(f, M + Y), M)


def product_sums_once(schedule: Schedule) -> Iterator[float]:
    """Matmul, one-shot: partial sums by loads and beginnings."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    p = cdag.params
    caps = (p["m"] * p["k"], p["k"] * p["n"], p["m"] * p["n"])
    counter = window_counter(schedule, loads_only=True, begun=first_sums(cdag, ("C",)))
    most = lambda Y: max(float(largest_volume(np.array([float(M + Y)]), caps)[0]), M + Y)  # noqa: E731
    yield from over(counter, partial_sums(cdag, ("C",), 0), most, M)


def inner_leaves(schedule: Schedule) -> Iterator[float]:
    """(A1·X)·A2ᵀ: products of the inner product by I/Os."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    progress = tokens(M, product_supply, 1 / cdag.sums["T"].k, False)
    counter = window_counter(schedule, clean=True)
    yield from over(counter, leaf_products(cdag, ("T",)), lambda Y: allowed(progress, 2 * M + Y), M)


def outer_sums(schedule: Schedule) -> Iterator[float]:
    """(A1·X)·A2ᵀ: partial sums of the outer product, by loads."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    progress = tokens(M, product_supply, 1 / 4, True)
    counter = window_counter(schedule, loads_only=True)
    yield from over(counter, partial_sums(cdag, ("S",), 1), lambda Y: allowed(progress, M + Y), M)


# Score-like trees, the last vertex of a pair, sums over pairs and whether these are used up, of a family.
_FAMILY: dict[str, tuple[tuple[str, ...], str, tuple[str, ...], bool]] = {
    "attention-backward": (("S", "dP"), "dS", ("dV", "dQ", "dK"), False),
    "attention-forward": (("S",), "u", ("N",), False),
    "attention-gradient": (("S", "q"), "p", ("N", "G"), True),
}


def _supply(cdag: CDAG) -> Supply:
    d = cdag.params["d"]
    return backward_supply(d) if cdag.family == "attention-backward" else rectangle_supply(d)


def score_leaves(schedule: Schedule) -> Iterator[float]:
    """LB-A."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    counter = window_counter(schedule, clean=True)
    most = lambda Y: float(products_progress(np.array([Y]), M, cdag.params["d"])[0])  # noqa: E731
    yield from over(counter, leaf_products(cdag, _FAMILY[cdag.family][0]), most, M)


def pairs(schedule: Schedule) -> Iterator[float]:
    """LB-B."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    trees, last = _FAMILY[cdag.family][:2]
    counter = window_counter(schedule, loads_only=True)
    most = lambda Y: float(pairs_progress(np.array([Y]), M, cdag.params["d"], len(trees))[0])  # noqa: E731
    yield from over(counter, cdag.tensors[last].ravel(), most, M)


def output_leaves(schedule: Schedule) -> Iterator[float]:
    """LB-O."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    sums, inner = _FAMILY[cdag.family][2:]
    progress = tokens(M, _supply(cdag), 1 / cdag.params["n"] if inner else 0.0, False)
    counter = window_counter(schedule, clean=True)
    yield from over(counter, leaf_products(cdag, sums), lambda Y: allowed(progress, 2 * M + Y), M)


def output_sums(schedule: Schedule) -> Iterator[float]:
    """LB-S."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    counter = window_counter(schedule, loads_only=True)
    for skip in (1, 4, 12):
        progress = tokens(M, _supply(cdag), 1 / (4 * skip), True)
        goal = partial_sums(cdag, _FAMILY[cdag.family][2], skip)
        yield from over(counter, goal, lambda Y, f=progress: allowed(f, M + Y), M)


# What each form of LB-C counts, with weights; score-like trees begun once for each pair.
_FORMS: dict[str, list[tuple[dict[str, float], tuple[str, ...]]]] = {
    "attention-backward": [
        ({"dV": 1.0, "dQ": 1.0, "dK": 1.0}, ("S",)),
        ({"dP": 0.707, "dV": 0.707, "dQ": 1.0, "dK": 1.0}, ("S", "dP")),
    ],
    "attention-forward": [({"S": 1.0, "N": 1.0}, ("S",)), ({"N": 1.0}, ("S",))],
    "attention-gradient": [
        ({"N": 1.0, "G": 1.0}, ("S",)),
        ({"S": 0.707, "q": 0.707, "N": 0.707, "G": 0.707}, ("S", "q")),
    ],
}


def begun_once(schedule: Schedule) -> Iterator[float]:
    """LB-C: weighted partial sums by loads and beginnings."""
    cdag, M = schedule.instance.cdag, schedule.instance.M
    fused = bool(cdag.params.get("fma"))
    progress = tokens(M, product_supply, 0.0, not fused)
    for weights, trees in _FORMS[cdag.family]:
        sums = [name for name in weights if name not in trees]
        begun = np.concatenate((first_sums(cdag, sums), first_sums(cdag, trees), _inner_sums(cdag)))
        counter = window_counter(schedule, loads_only=True, begun=begun)
        goals = [partial_sums(cdag, (name,), 0) for name in weights]
        weight = np.concatenate([np.full(len(g), w) for g, w in zip(goals, weights.values(), strict=True)])
        yield from over(counter, np.concatenate(goals), lambda Y: allowed(progress, M + Y), M, weight)


def _inner_sums(cdag: CDAG) -> Any:
    """Sums that stand for queries and values in the paper's gradient, begun once each too."""
    names = ("T", "h") if cdag.family == "attention-gradient" else ()
    return first_sums(cdag, names) if names else np.zeros(0, dtype=np.int64)


# -- where they are tried ---------------------------------------------------------------------------------

GENERIC = ("belady", "belady:order=dfs", "lru")
GRADIENT = "attention-gradient:n=24,d=8"
FORWARD = "attention-forward:n=24,d=8"
BACKWARD = "attention-backward:n=24,d=8"
STRATEGIES = {
    "attention-backward": ("flash-attention", "algorithm6", "belady", "belady:order=dfs"),
    "attention-forward": ("flash-forward", "saha-ye", "belady", "belady:order=dfs"),
    "attention-gradient": ("row-resident", "algorithm6", "belady"),
    "matmul": ("tiled", *GENERIC),
    "a1xa2t": ("tiled", *GENERIC),
}
ATTENTION = (16, 32, 256)
CASES: list[tuple[Shares, str, tuple[int, ...], str]] = [
    (dominated, "fft:64", (4, 8, 24), "hong-kung"),
    (dominated, "pyramid:20", (4, 8, 12), "hong-kung"),
    (dominated, "stencil1d:n=32,t=16", (5, 10, 20), "hong-kung"),
    (dominated, "stencil2d:rows=8,cols=8,t=6", (8, 16, 40), "hong-kung"),
    (product_leaves, "matmul:12x12x12", (8, 27, 60), "hong-kung"),
    (product_sums, "matmul:12x12x12", (8, 27, 60), "hong-kung"),
    (product_sums_once, "matmul:12x12x12", (8, 27, 60), "one-shot"),
    (inner_leaves, "a1xa2t:n=16,d=8", (8, 27, 60), "hong-kung"),
    (outer_sums, "a1xa2t:n=16,d=8", (8, 27, 60), "hong-kung"),
    (score_leaves, FORWARD, ATTENTION, "hong-kung"),
    (pairs, FORWARD, ATTENTION, "hong-kung"),
    (output_leaves, FORWARD, ATTENTION, "hong-kung"),
    (output_sums, FORWARD, ATTENTION, "hong-kung"),
    (begun_once, BACKWARD + ",fma=true", ATTENTION, "one-shot"),
    (begun_once, FORWARD, ATTENTION, "one-shot"),
]
LARGER: list[tuple[Shares, str, tuple[int, ...], str]] = [
    (score_leaves, GRADIENT, ATTENTION, "hong-kung"),
    (pairs, GRADIENT, ATTENTION, "hong-kung"),
    (output_leaves, GRADIENT, ATTENTION, "hong-kung"),
    (output_sums, GRADIENT, ATTENTION, "hong-kung"),
    (begun_once, BACKWARD, ATTENTION, "one-shot"),
    (begun_once, FORWARD + ",fma=true", ATTENTION, "one-shot"),
    (begun_once, GRADIENT, ATTENTION, "one-shot"),
]


def _param(case: tuple[Shares, str, tuple[int, ...], str], *marks: pytest.MarkDecorator) -> Any:
    return pytest.param(*case, marks=marks, id=f"{case[0].__name__}-{case[1]}")


@pytest.mark.parametrize(
    ("shares", "spec", "memories", "rules"),
    [*map(_param, CASES), *(_param(case, pytest.mark.slow) for case in LARGER)],
)
def test_progress_in_every_window_is_what_the_lemma_allows(
    shares: Shares, spec: str, memories: Sequence[int], rules: str
) -> None:
    family = parse(spec).family
    played = schedules(spec, tuple(memories), STRATEGIES.get(family, (*GENERIC, "blocked")), rules)
    assert len(played) >= 6
    worst = max(share for schedule in played for share in shares(schedule))
    print(f"{shares.__name__} {spec}: at most {worst:.3f} of what is allowed, {len(played)} schedules")
    assert worst <= 1
    assert 4 * worst > 1
