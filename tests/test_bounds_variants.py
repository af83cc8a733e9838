"""No certificate exceeds an optimum under any rule set; what a bound says of where it holds is kept to."""

from __future__ import annotations

import random

import pytest

import solvers
from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.rules import Rules
from solvers.catalog import BOUNDS
from solvers.lower_bounds.carrying import carrying
from solvers.lower_bounds.compulsory import needed_io
from solvers.lower_bounds.protocol import Subject
from tests.oracle import oracle_values
from tests.variant_optima import least_variant_io

# The search proves optima itself, which its own tests compare.
NAMES = [name for name in BOUNDS.names() if name != "search"]


def check(instance: Instance, optimum: int) -> int:
    """The best certificate, after all have been compared with the optimum."""
    best = 0
    for name in NAMES:
        bound = BOUNDS.get(name)(instance)
        if bound is not None and bound.certificate:
            assert bound.value <= optimum, (instance, bound)
            assert instance.rules.is_plain or str(instance.rules) in bound.assumes
            best = max(best, bound.value)
    return best


def random_variant(seed: int) -> tuple[Instance, int | None]:
    """A graph of up to six vertices under rules drawn at random, and its optimum."""
    rng = random.Random(seed)
    n = rng.randint(3, 5 if seed % 3 == 0 else 6)
    edges = [(u, v) for v in range(1, n) for u in range(v) if rng.random() < 0.4]
    weights = [rng.choice([1, 1, 2, 3]) for _ in range(n)] if rng.random() < 0.2 else None
    outputs = (rng.randrange(n),) if rng.random() < 0.2 else ()
    base = rng.choice(["hong-kung", "one-shot", "one-shot", "partial"])
    parts = [p for p in ("sliding", "free-sources", "no-delete", "outputs-any") if rng.random() < 0.3]
    if base == "partial" and "sliding" in parts:
        parts.remove("sliding")
    if rng.random() < 0.4:
        parts += [f"load={rng.randint(0, 3)}", f"store={rng.randint(0, 3)}"]
    rules = Rules.named("+".join([base, *parts]))
    cdag = CDAG.from_edges(n, edges, weights=weights, outputs=list(outputs) if outputs else None)
    red = tuple(v for v in range(n) if rng.random() < 0.4)[:2] if rng.random() < 0.3 else ()
    words = sum(cdag.weight(v) for v in red)
    M = max(words, Instance(cdag, 99, rules, red).least_M) + rng.choice([0, 0, 1])
    optimum = least_variant_io(
        n,
        edges,
        M,
        recomputation=rules.recomputation,
        sliding=rules.sliding,
        free_sources=rules.free_sources,
        partial=rules.partial,
        deletion=rules.deletion,
        outputs_any=rules.outputs == "any",
        load_cost=rules.load_cost,
        store_cost=rules.store_cost,
        weights=weights,
        outputs=outputs,
        red_at_start=red,
    )
    return Instance(cdag, M, rules, red), optimum


def _random_cases(seeds: range) -> None:
    compared = reached = 0
    for seed in seeds:
        instance, optimum = random_variant(seed)
        if optimum is not None:
            reached += check(instance, optimum) == optimum
            compared += 1
    assert compared > 0.8 * len(seeds)
    assert reached > 0.2 * len(seeds)


@pytest.mark.parametrize("block", range(4))
def test_no_bound_exceeds_the_optimum_of_a_random_variant(block: int) -> None:
    _random_cases(range(30 * block, 30 * block + 30))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4, 40))
def test_no_bound_exceeds_the_optimum_of_many_random_variants(block: int) -> None:
    _random_cases(range(30 * block, 30 * block + 30))


def _known_optima(every: int) -> None:
    for rules in ("partial", "one-shot+sliding", "hong-kung+sliding", "one-shot+free-sources"):
        known = [(instance, value) for _, instance, value in oracle_values(rules)][::every]
        met = 0
        for instance, optimum in known:
            assert optimum is not None
            met += check(instance, optimum) == optimum
        assert met > 0.5 * len(known)


def test_no_bound_exceeds_a_known_optimum_under_further_rules() -> None:
    _known_optima(4)


@pytest.mark.slow
def test_no_bound_exceeds_any_known_optimum_under_further_rules() -> None:
    _known_optima(1)


def test_the_reference_plays_the_variants() -> None:
    """Values worked out by hand: a sum of three sources at the least M of each rule set."""
    edges = [(0, 3), (1, 3), (2, 3)]
    assert least_variant_io(4, edges, 4) == 4
    assert least_variant_io(4, edges, 3) is None
    assert least_variant_io(4, edges, 3, sliding=True) == 4
    assert least_variant_io(4, edges, 2, recomputation=False, partial=True) == 4
    assert least_variant_io(4, edges, 4, free_sources=True) == 1
    assert least_variant_io(4, edges, 4, outputs_any=True) == 3
    assert least_variant_io(4, edges, 4, load_cost=5, store_cost=0) == 15
    assert least_variant_io(4, edges, 4, red_at_start=(0, 1)) == 2


def test_bounds_of_one_game_are_silent_in_another() -> None:
    instance = Instance(build("fft:8"), 5)
    carried = {"hong-kung+sliding", "one-shot+free-sources", "one-shot+no-delete", "hong-kung+outputs-any"}
    carried |= {"partial", "partial+load=2"}
    silent = {"hong-kung+free-sources", "hong-kung+free-sources+no-delete"}
    for rules in carried | silent:
        found = [b for b in solvers.bounds(instance.with_rules(rules), names=NAMES) if b.certificate]
        assert {b.name for b in found} >= {"compulsory"}
        assert ({b.name for b in found} == {"compulsory"}) == (rules in silent)
    computed = Instance(build("fft:8"), 5, red_at_start=[8])
    assert {b.name for b in solvers.bounds(computed)} == {"compulsory"}
    assert solvers.bounds(instance.with_rules("partial"), names=["theorem-1.1"]) == []
    for bound in solvers.bounds(instance.with_rules("hong-kung+sliding"), names=NAMES):
        assert bound.name not in ("spectral", "min-cut-wavefront")


@pytest.mark.parametrize(("spec", "M"), [("matmul:2x2x2", 4), ("fft:4", 4), ("pyramid:3", 5)])
def test_free_sources_leave_the_outputs_where_each_can_be_computed_alone(spec: str, M: int) -> None:
    for m in (M - 1, M):
        instance = Instance(build(spec), m, "hong-kung+free-sources")
        (bound,) = solvers.bounds(instance)
        optimum = solvers.solve(instance).io
        assert (bound.value == optimum) is (m == M)


def test_which_bounds_need_another_word_under_sliding() -> None:
    """Those that speak of what is red at a compute, where a slide is open; the others are as they are."""
    sums = [(u, 8 + i) for i in range(3) for u in range(8)] + [(8, 9), (9, 10)]
    for cdag in (build("pyramid:4"), build("fft:16"), build("stencil1d:n=4,t=2"), CDAG.from_edges(11, sums)):
        for M in (4, 10):
            for base in ("hong-kung", "one-shot"):
                for name in NAMES:
                    slid = BOUNDS.get(name)(Instance(cdag, M, base + "+sliding"))
                    same, more = (BOUNDS.get(name)(Instance(cdag, m, base)) for m in (M, M + 1))
                    needs_more = name in ("block-projection", "full-memory")
                    if slid is not None and name != "compulsory" and slid.certificate:
                        found = more if needs_more else same
                        assert found is not None
                        assert slid.value >= found.value == slid.details["plain_value"]
                        assert slid.details["plain_M"] == M + needs_more


def test_carried_bounds_are_the_plain_ones_less_what_the_rules_save() -> None:
    spec, M = "attention-backward:n=64,d=8", 64
    plain = solvers.best_bound(spec, M).value
    assert solvers.best_bound(spec, M, "hong-kung+no-delete").value == plain
    assert solvers.best_bound(spec, M, "hong-kung+compute=3").value == plain
    assert solvers.best_bound(spec, M, "hong-kung+sliding").value == plain
    assert solvers.best_bound(spec, M, "hong-kung+outputs-any").value == plain - M
    assert solvers.best_bound(spec, M, "hong-kung+load=2+store=2").value == 2 * plain
    stores = 3 * 64 * 8
    assert solvers.best_bound(spec, M, "hong-kung+store=5").value == plain + 4 * stores
    sequential = solvers.bounds(spec, M, names=["attention-sequential"])[0]
    unpaid = solvers.bounds(spec, M, "hong-kung+store=0", names=["attention-sequential"])[0]
    assert unpaid.value == sequential.value - stores
    assert unpaid.details["plain_value"] == sequential.value
    way = carrying(Subject.of(spec, M, "one-shot+free-sources"))
    assert way is not None
    assert (way.loads, way.least) == (4 * 64 * 8 + 2 * 64, (0, stores))


def test_a_spec_carries_as_its_graph_does() -> None:
    for rules in ("one-shot+sliding+outputs-any", "one-shot+free-sources", "hong-kung+load=2", "partial"):
        for spec in ("fft:16", "matmul:4x4x4", "attention-forward:n=6,d=2"):
            by_spec = {b.name: b for b in solvers.bounds(spec, 9, rules)}
            assert by_spec == {b.name: b for b in solvers.bounds(Instance(build(spec), 9, rules))}


def test_what_is_needed_stops_at_what_is_red() -> None:
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (1, 4)])
    assert needed_io(cdag, 3, Rules()) == (2, 2)
    assert needed_io(cdag, 3, Rules(), [2]) == (1, 2)
    assert needed_io(cdag, 3, Rules(), [2, 1]) == (0, 2)
    assert needed_io(cdag, 1, Rules(outputs="any"), [3, 4]) == (0, 1)


def test_the_search_bounds_what_it_plays() -> None:
    """It knows the derived rule sets itself, so nothing is carried over."""
    cdag = build("pyramid:2")
    for rules in ("hong-kung+sliding", "partial", "hong-kung+free-sources", "one-shot+outputs-any"):
        (bound,) = solvers.bounds(Instance(cdag, 3, rules), names=["search"])
        edges = [(u, v) for v in range(6) for u in cdag.preds(v).tolist()]
        flags = Rules.named(rules)
        assert bound.value == least_variant_io(
            6,
            edges,
            3,
            recomputation=flags.recomputation,
            sliding=flags.sliding,
            free_sources=flags.free_sources,
            partial=flags.partial,
            outputs_any=flags.outputs == "any",
        )
