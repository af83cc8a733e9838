"""Bounds under partial computation: their lemmas, and no certificate above an optimum or a schedule.

Operands are aggregated one at a time there, so that a word of a product that lacks one operand stands for
that product. As for the plain games every lemma is tried on all states of tiny graphs and on schedules, and
a quarter of it is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import solvers
from graphs.catalog import build, parse
from graphs.tracing import trace
from pebble.aggregates import aggregate_of
from pebble.cdag import CDAG
from pebble.errors import InfeasibleInstanceError, UnsupportedInstanceError
from pebble.instance import Instance
from pebble.moves import Op, pack_arrays, unpack_arrays
from pebble.referee import verify
from pebble.result import Limit
from pebble.schedule import Schedule
from solvers.catalog import BOUNDS
from solvers.lower_bounds.aggregation import aggregation_loads
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
from solvers.search import SEARCH
from strategies.playing import play
from tests.bound_checks import allowed, first_sums, leaf_products, partial_sums, window_counter
from tests.partial_states import most_partial_progress
from tests.test_bounds_states import product_of_three, scores, traced, weighted

NAMES = [name for name in BOUNDS.names() if name != "search"]
Allowed = Callable[[int, int], float]
# What is counted on a graph, what M words and Y I/Os allow, and how the I/Os are counted.
Claim = tuple[Any, Allowed, dict[str, Any]]


@cache
def tokens(M: int, supply: Supply, restart: float, singles: bool) -> TokenProgress:
    return TokenTable(M, supply).progress(restart, singles=singles)


# -- the lemmas -------------------------------------------------------------------------------------------


def dominated(cdag: CDAG) -> Claim:
    """Vertices that become red and complete, by loads: as in the plain games, sources left out."""
    question = family_dominated(cdag.family, cdag.params)
    assert question is not None
    made = np.flatnonzero(~cdag.is_source)
    return made, lambda M, Y: float(question[2](np.array([M + Y]))[0]), {}


def leaves_by_ios(cdag: CDAG) -> Claim:
    """Matmul: products completed, by I/Os."""
    most = lambda M, Y: max(((2 * M + Y) / 3) ** 1.5, 2 * M + Y)  # noqa: E731
    return leaf_products(cdag, ("C",)), most, {"stores": True}


def sums_by_loads(cdag: CDAG) -> Claim:
    """Matmul: sequential sums after the first term, by loads."""
    most = lambda M, Y: allowed(tokens(M, product_supply, 1 / 4, True), M + Y)  # noqa: E731
    return partial_sums(cdag, ("C",), 1), most, {}


def sums_begun_once(cdag: CDAG) -> Claim:
    """Matmul: sums after the first term, by loads and beginnings."""
    fused = cdag.sums["C"].layout.endswith("fma")

    def most(M: int, Y: int) -> float:
        volume = ((M + Y) / 3) ** 1.5
        return volume + M + Y if fused else max(volume, M + Y)

    return partial_sums(cdag, ("C",), 1), most, {"begun": first_sums(cdag, ("C",))}


def inner_by_ios(cdag: CDAG) -> Claim:
    """(A1·X)·A2ᵀ: products of the inner product, by I/Os."""
    restart = 1 / cdag.sums["T"].k

    def most(M: int, Y: int) -> float:
        return allowed(tokens(M, product_supply, restart, False), 2 * M + Y) + 2 * M + Y

    return leaf_products(cdag, ("T",)), most, {"stores": True}


def _rows(cdag: CDAG) -> int:
    """Words of a row of Q."""
    return int(cdag.tensors["Q"].shape[1])


def scores_by_ios(cdag: CDAG) -> Claim:
    """LB-A."""
    trees = [name for name in ("S", "dP") if name in cdag.sums]
    d = _rows(cdag)
    most = lambda M, Y: float(products_progress(np.array([Y]), M, d, singles=True)[0])  # noqa: E731
    return leaf_products(cdag, trees), most, {"stores": True}


def pairs_by_loads(cdag: CDAG) -> Claim:
    """LB-B, as in the plain games."""
    last, trees = ("dS", 2) if "dS" in cdag.tensors else ("u", 1)
    most = lambda M, Y: float(pairs_progress(np.array([Y]), M, _rows(cdag), trees)[0])  # noqa: E731
    return cdag.tensors[last].ravel(), most, {}


def _sums(cdag: CDAG) -> tuple[tuple[str, ...], Supply]:
    if "dV" in cdag.sums:
        return ("dV", "dQ", "dK"), backward_supply(_rows(cdag))
    return ("N",), rectangle_supply(_rows(cdag))


def outputs_by_ios(cdag: CDAG) -> Claim:
    """LB-O."""
    sums, supply = _sums(cdag)
    most = lambda M, Y: allowed(tokens(M, supply, 0.0, True), 2 * M + Y)  # noqa: E731
    return leaf_products(cdag, sums), most, {"stores": True}


def outputs_by_loads(cdag: CDAG) -> Claim:
    """LB-S after one term."""
    sums, supply = _sums(cdag)
    most = lambda M, Y: allowed(tokens(M, supply, 1 / 4, True), M + Y)  # noqa: E731
    return partial_sums(cdag, sums, 1), most, {}


def outputs_begun_once(cdag: CDAG) -> Claim:
    """LB-C, its first form."""
    sums, _ = _sums(cdag)
    fused = cdag.sums[sums[0]].layout.endswith("fma")

    def most(M: int, Y: int) -> float:
        progress = allowed(tokens(M, product_supply, 0.0, not fused), M + Y)
        return progress + M + Y if fused else progress

    begun = np.concatenate((first_sums(cdag, sums), first_sums(cdag, ("S",))))
    return partial_sums(cdag, sums, 1), most, {"begun": begun}


# -- all states of tiny graphs ----------------------------------------------------------------------------

STATES: list[tuple[Callable[[CDAG], Claim], Callable[[], CDAG], Sequence[int], Sequence[int]]] = [
    (dominated, lambda: build("pyramid:2"), (2, 3), (1, 2)),
    (dominated, lambda: build("fft:2"), (2, 3), (1, 2)),
    (leaves_by_ios, lambda: build("matmul:1x2x1"), (2, 3), (1, 2)),
    (leaves_by_ios, lambda: build("matmul:2x1x2"), (2, 3), (1,)),
    (sums_by_loads, lambda: build("matmul:1x3x1"), (2,), (1, 2)),
    (sums_begun_once, lambda: build("matmul:1x3x1"), (2,), (1, 2)),
    (sums_begun_once, lambda: build("matmul:1x3x1,fma=true"), (2,), (1, 2)),
    (inner_by_ios, lambda: trace(product_of_three, A1=(1, 2), X=(2, 1), A2=(1, 1)), (2, 3), (1, 2)),
    (scores_by_ios, lambda: traced(scores, 1, 1, 2), (2, 3), (1, 2, 3)),
    (pairs_by_loads, lambda: traced(scores, 1, 2, 1), (2, 3), (1, 2)),
    (outputs_by_ios, lambda: traced(weighted, 1, 2, 1), (2, 3), (1,)),
    (outputs_by_loads, lambda: traced(weighted, 1, 2, 1), (2,), (1,)),
    (outputs_begun_once, lambda: traced(weighted, 1, 2, 1), (2,), (1,)),
    (outputs_begun_once, lambda: traced(weighted, 1, 2, 1, fma=True), (2,), (1, 2)),
]


@pytest.mark.parametrize(
    ("lemma", "graph", "memories", "lengths"),
    STATES,
    ids=[f"{i}-{s[0].__name__}" for i, s in enumerate(STATES)],
)
def test_no_state_completes_more_than_the_lemma_allows(
    lemma: Callable[[CDAG], Claim],
    graph: Callable[[], CDAG],
    memories: Sequence[int],
    lengths: Sequence[int],
) -> None:
    cdag = graph()
    goal, most, how = lemma(cdag)
    found = [most_partial_progress(cdag, goal, M, Y, **how) / most(M, Y) for M in memories for Y in lengths]
    print(f"{lemma.__name__} {cdag.num_vertices}: at most {max(found):.3f} of what is allowed")
    assert 0 < max(found) <= 1


def test_words_that_lack_an_operand_count() -> None:
    """What the plain one-shot game allows fused sums is exceeded here, with 2 words and 1 load."""
    cdag = build("matmul:1x3x1,fma=true")
    goal, _, how = sums_begun_once(cdag)
    assert most_partial_progress(cdag, goal, 2, 1, **how) == 2 > largest_volume(np.array([3.0]), (3, 3, 1))[0]


def test_words_are_best_spent_all_on_single_products_or_none() -> None:
    for caps in ((4, 4, 4), (6, 9, 6), (20, 40, 8), (100, 60, 1500)):
        for T in range(1, sum(caps) + 1, 7):
            spent = np.arange(T + 1)
            mixed = float((largest_volume(T - spent.astype(float), caps) + spent).max())
            alone = max(float(largest_volume(np.array([float(T)]), caps)[0]), T)
            assert mixed <= alone * (1 + 1e-9)


# -- schedules --------------------------------------------------------------------------------------------


def one_operand_at_a_time(schedule: Schedule) -> Schedule:
    """A one-shot schedule as one of partial computation."""
    instance = schedule.instance.with_rules("partial")
    cdag = instance.cdag
    ops, vertices = unpack_arrays(schedule.moves)
    times = np.where(ops == Op.COMPUTE, cdag.in_degree[vertices], 1)
    first = np.repeat(np.cumsum(times) - times, times)
    offset = np.arange(len(first)) - first
    ops, vertices = np.repeat(ops, times), np.repeat(vertices, times)
    ids = np.where(ops == Op.COMPUTE, cdag.indptr[vertices] + offset, vertices)
    return Schedule(instance, pack_arrays(ops, ids, max(cdag.num_vertices, cdag.num_edges)))


@cache
def played(spec: str, M: int) -> list[Schedule]:
    """Schedules of partial computation, made for it or of one-shot ones."""
    cdag = build(spec)
    found = [play(name, Instance(cdag, M, "partial")) for name in ("belady", "belady:order=dfs")]
    programs = (
        "flash-attention",
        "algorithm6",
        "flash-forward",
        "saha-ye",
        "row-resident",
        "tiled",
        "blocked",
    )
    for name in (*programs, "belady"):
        try:
            found.append(one_operand_at_a_time(play(name, Instance(cdag, M, "one-shot"))))
        except (UnsupportedInstanceError, InfeasibleInstanceError):
            continue
    return found


ATTENTION = [pairs_by_loads, outputs_by_ios, outputs_by_loads, outputs_begun_once]
FUSED = [pairs_by_loads, outputs_by_ios, outputs_begun_once]
WINDOWS = [
    ("fft:64", (4, 12), [dominated]),
    ("pyramid:20", (4, 10), [dominated]),
    ("matmul:10x10x10", (8, 27), [leaves_by_ios, sums_by_loads, sums_begun_once]),
    ("matmul:10x10x10,fma=true", (8,), [sums_begun_once]),
    ("a1xa2t:n=12,d=24", (24,), [inner_by_ios]),
    ("attention-forward:n=12,d=32", (24,), [scores_by_ios]),
    ("attention-backward:n=16,d=4", (10, 60), ATTENTION),
]


@pytest.mark.parametrize(
    ("spec", "memories", "lemmas"),
    [
        *WINDOWS,
        pytest.param("attention-forward:n=16,d=4", (10, 60), ATTENTION, marks=pytest.mark.slow),
        pytest.param("attention-backward:n=14,d=4,fma=true", (10, 60), FUSED, marks=pytest.mark.slow),
    ],
)
def test_no_window_completes_more_than_the_lemma_allows(
    spec: str, memories: Sequence[int], lemmas: list[Callable[[CDAG], Claim]]
) -> None:
    cdag = build(spec)
    for lemma in lemmas:
        goal, most, how = lemma(cdag)
        worst = 0.0
        for M in memories:
            for schedule in played(spec, M):
                counter = window_counter(schedule, loads_only=not how.get("stores"), begun=how.get("begun"))
                for Y in (1, M // 2, M, 2 * M, 4 * M):
                    worst = max(worst, counter.most(goal, Y) / most(M, Y))
        print(f"{lemma.__name__} {spec}: at most {worst:.3f} of what is allowed")
        assert worst <= 1
        assert 4 * worst > 1


@pytest.mark.parametrize("spec", ["grid:4x4", "fft:8", "matmul:2x3x2,fma=true", "random:n=20,p=0.5,seed=2"])
def test_edges_are_aggregated_among_few_red_vertices(spec: str) -> None:
    """The lemma of `aggregation` at every moment of a schedule; twice what it claims is refuted."""
    cdag = build(spec)
    reached = 0.0
    for M in (2, 3, 5):
        schedule = play("belady", Instance(cdag, M, "partial"))
        red: set[int] = set()
        times = edges = most = 0
        ops, ids = unpack_arrays(schedule.moves)
        for op, i in zip(ops.tolist(), ids.tolist(), strict=True):
            v = aggregate_of(cdag, i)[1] if op == Op.COMPUTE else i
            if op == Op.DELETE:
                red.discard(v)
            elif op != Op.STORE and v not in red:
                red.add(v)
                times += 1
                most += min(times, M) - 1
            edges += op == Op.COMPUTE
            assert edges <= most
        assert edges == cdag.num_edges
        loads = verify(schedule).loads
        assert aggregation_loads(cdag, M) <= loads
        reached = max(reached, aggregation_loads(cdag, M) / loads)
    assert 2 * reached > 1


@pytest.mark.parametrize(
    ("edges", "M", "times"), [(1, 2, 2), (4, 2, 5), (3, 3, 3), (4, 3, 4), (6, 9, 4), (7, 9, 5)]
)
def test_how_often_vertices_become_red_at_least(edges: int, M: int, times: int) -> None:
    """A star of so many edges has one computed vertex."""
    star = CDAG.from_edges(edges + 1, [(u, edges) for u in range(edges)])
    assert aggregation_loads(star, M) == times - 1


# -- no certificate above an optimum or a schedule --------------------------------------------------------

MEMBERS = [
    "attention-backward:n=1,d=1",
    "attention-backward:n=2,d=1",
    "attention-forward:n=2,d=1",
    "attention-forward:n=2,d=2,fma=true",
    "attention-gradient:n=1,d=1",
    "a1xa2t:n=2,d=1",
    "a1xa2t:n=2,d=2,fma=true",
    "matmul:2x2x2",
    "matmul:2x3x2,fma=true",
    "matmul:1x5x1",
    "matmul:3x1x3",
    "matmul:2x2x2,sums=tree",
    "matmul:2x2x2,sums=flat",
    "fft:8",
    "pyramid:6",
    "stencil1d:n=5,t=3",
    "stencil2d:rows=2,cols=3,t=2",
]
RULES = (
    "partial",
    "partial+outputs-any",
    "partial+free-sources",
    "partial+no-delete",
    "partial+load=2+store=3",
)


def _certificates(instance: Instance) -> Iterator[Any]:
    for name in NAMES:
        bound = BOUNDS.get(name)(instance)
        if bound is not None and bound.certificate:
            yield bound


def _member(spec: str, memories: Sequence[int], nodes: int, rule_sets: Sequence[str] = RULES) -> int:
    compared = 0
    cdag = build(spec)
    for rules in rule_sets:
        for M in memories:
            instance = Instance(cdag, M, rules)
            solved = SEARCH(instance, limit=Limit(nodes=nodes), seed=0)
            assert solved.io is not None
            for bound in _certificates(instance):
                assert bound.value <= solved.io, (spec, M, rules, bound)
                assert rules in bound.assumes
                compared += 1
    return compared


@pytest.mark.parametrize("spec", [spec for spec in MEMBERS if build(spec).num_vertices <= 30])
def test_no_bound_exceeds_the_best_schedule_of_a_small_member(spec: str) -> None:
    assert _member(spec, (2, 4), 200, RULES[::2]) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("spec", MEMBERS)
def test_no_bound_exceeds_the_best_schedule_of_a_small_member_at_any_memory(spec: str) -> None:
    assert _member(spec, range(2, 11), 1_000) >= 90


@pytest.mark.parametrize("spec", [w[0] for w in WINDOWS])
def test_no_bound_exceeds_a_schedule(spec: str) -> None:
    memories = next(w[1] for w in WINDOWS if w[0] == spec)
    for M in memories:
        found = list(_certificates(Instance(build(spec), M, "partial")))
        assert len(found) >= 2
        for schedule in played(spec, M):
            io = verify(schedule).io
            assert all(bound.value <= io for bound in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        *(
            f"attention-{f}:n=24,d=8{fma}"
            for f in ("backward", "forward", "gradient")
            for fma in ("", ",fma=true")
        ),
        "attention-backward:n=40,d=2,mask=causal",
        "attention-forward:n=30,d=4,mask=window:3,heads=2",
        "a1xa2t:n=20,d=6",
        "matmul:14x14x14",
        "matmul:14x14x14,fma=true",
        "matmul:20x4x20,sums=flat",
        "fft:256",
        "pyramid:40",
        "stencil1d:n=40,t=20",
        "stencil2d:rows=8,cols=8,t=6",
    ],
)
def test_no_bound_exceeds_a_larger_schedule(spec: str) -> None:
    for M in (2, 4, 8, 16, 40, 100, 256):
        found = list(_certificates(Instance(build(spec), M, "partial")))
        for schedule in played(spec, M):
            io = verify(schedule).io
            for bound in found:
                assert bound.value <= io, (spec, M, bound)


def test_partial_bounds_come_close_to_the_plain_ones() -> None:
    """The leading terms are those of the one-shot game."""
    for spec, M in (("attention-backward:n=1024,d=64", 1024), ("matmul:200x200x200", 100), ("fft:4096", 64)):
        plain = solvers.best_bound(spec, M, "one-shot").value
        assert 0.97 * plain < solvers.best_bound(spec, M, "partial").value <= plain


def test_specs_without_graphs_are_bounded_too() -> None:
    for spec in ("attention-gradient:n=4096,d=64", "matmul:500x500x500,sums=tree"):
        (first, *_) = solvers.bounds(spec, 4096, "partial+outputs-any")
        assert first.value > 3 * solvers.bounds(spec, 4096, "partial", names=["compulsory"])[0].value
        assert parse(spec).family in first.assumes
        assert first.assumes.startswith("partial+outputs-any, from partial with M=4,096")
