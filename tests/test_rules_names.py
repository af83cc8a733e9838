"""Rule sets: their text forms, what contradicts itself, and the least M of each."""

from __future__ import annotations

import doctest
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

import pebble
from pebble.aggregates import aggregate_id, aggregate_of, computed_vertices
from pebble.cdag import CDAG
from pebble.errors import InvalidCDAGError, InvalidMemoryError, InvalidRulesError, UnknownNameError
from pebble.instance import Instance
from pebble.rules import Rules
from tests.games import random_cdag

FLAGS: dict[str, dict[str, Any]] = {
    "sliding": {"sliding": True},
    "free-sources": {"free_sources": True},
    "no-delete": {"deletion": False},
    "outputs-any": {"outputs": "any"},
    "load=0": {"load_cost": 0},
    "store=3": {"store_cost": 3},
    "compute=0.01": {"compute_cost": 0.01},
}


@pytest.mark.parametrize("base", ["hong-kung", "one-shot", "partial"])
def test_every_combination_has_one_name(base: str) -> None:
    seen = set()
    for size in range(len(FLAGS) + 1):
        for flags in itertools.combinations(FLAGS, size):
            if base == "partial" and "sliding" in flags:
                continue
            name = "+".join([base, *flags])
            fields: dict[str, Any] = {"recomputation": base == "hong-kung", "partial": base == "partial"}
            for flag in flags:
                fields |= FLAGS[flag]
            rules = Rules(**fields)
            assert rules == Rules.named(name) == Rules.named("+".join([base, *reversed(flags)]))
            assert rules.name == str(rules) == name
            assert rules.is_plain == (base != "partial" and not flags)
            seen.add(rules)
    assert len(seen) == (64 if base == "partial" else 128)


def test_other_spellings() -> None:
    assert Rules.named(" One_Shot+Free_Sources ").name == "one-shot+free-sources"
    assert Rules.named("one-shot+partial") == Rules.named("partial")
    assert Rules.named("hong-kung+load=1+compute=2.0").name == "hong-kung+compute=2"
    assert repr(Rules.named("one-shot+store=2")) == "Rules(recomputation=False, store_cost=2)"


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (1e308, "1e308"),
        (2**60, str(2**60)),
        (10**20, "1e20"),
        (10**20 + 1, "100000000000000000001"),
        (1e15, "1000000000000000"),
        (2.5e-7, "2.5e-07"),
        (1.25e300, "1.25e300"),
        (10**400, "1" + "0" * 400),
    ],
)
def test_large_prices_have_short_names_that_read_back(price: float, text: str) -> None:
    rules = Rules(recomputation=False, compute_cost=price)
    assert rules.name == f"one-shot+compute={text}"
    assert Rules.named(rules.name) == rules
    assert Rules.named(rules.name).compute_cost == price


@pytest.mark.parametrize(
    ("text", "message", "suggestions"),
    [
        ("oneshot", "no rule set 'oneshot'; did you mean 'one-shot'", ("one-shot",)),
        ("one-shot+slidin", "'slidin' in 'one-shot.slidin'; did you mean 'sliding'", ("sliding",)),
        ("one-shot+load", "no part of a rule set 'load'", ("load=2",)),
        ("one-shot+load=", "'load=' is no number", ()),
        ("one-shot+load=1.5", "load_cost=1.5 is no whole number", ()),
        ("one-shot+store=-1", "store_cost=-1 is negative", ()),
        ("one-shot+compute=nan", "compute_cost=nan is no number of at least 0", ()),
        ("one-shot+sliding+sliding", "has the part 'sliding' twice", ()),
        ("partial+sliding", "partial computation and sliding exclude each other", ()),
        ("hong-kung+partial", "so it needs one-shot rules", ()),
    ],
)
def test_what_is_no_rule_set(text: str, message: str, suggestions: tuple[str, ...]) -> None:
    with pytest.raises(UnknownNameError, match=message) as caught:
        Rules.named(text)
    assert caught.value.suggestions == suggestions


def test_contradictions_are_refused() -> None:
    with pytest.raises(InvalidRulesError, match="needs one-shot rules"):
        Rules(partial=True)
    with pytest.raises(InvalidRulesError, match="outputs='red' is neither"):
        Rules(outputs="red")  # type: ignore[arg-type]
    with pytest.raises(InvalidRulesError, match="load_cost=True"):
        pebble.Rules(load_cost=True)


def test_least_memory_by_brute_force() -> None:
    rng = random.Random(5)
    for _ in range(200):
        g = random_cdag(rng)
        preds = [g.preds(v).tolist() for v in range(g.num_vertices)]
        words = [g.weight(v) for v in range(g.num_vertices)]
        for free in (False, True):
            own = max(words) if free else 1
            kept = [sum(words[u] for u in p) for p in preds]
            heaviest = [max((words[u] for u in p), default=0) for p in preds]
            inner = [v for v in range(g.num_vertices) if preds[v]]
            place = [kept[v] + words[v] for v in inner]
            slide = [max(kept[v], kept[v] + words[v] - heaviest[v]) for v in inner]
            pairs = [words[v] + heaviest[v] for v in inner]
            flag = "+free-sources" if free else ""
            for base, needs in (("one-shot", place), ("hong-kung+sliding", slide), ("partial", pairs)):
                least = Instance(g, 1, base + flag).least_M
                if free:
                    sources = [words[v] for v in range(g.num_vertices) if not preds[v]]
                    assert least == max([*needs, *sources]) <= max([*needs, own])
                else:
                    assert least == max([*needs, 1])


def test_red_at_the_start_lowers_what_must_be_computed() -> None:
    g = CDAG.from_edges(6, [(0, 3), (1, 3), (2, 3), (3, 4), (4, 5)])
    assert Instance(g, 2).least_M == 4
    started = Instance(g, 2, "one-shot", red_at_start=[3])
    assert (started.least_M, started.least_M_vertex, started.feasible) == (2, 4, True)
    assert started.with_memory(3).red_at_start == (3,) == started.with_rules("hong-kung").red_at_start
    assert started != Instance(g, 2, "one-shot")
    assert repr(started) == "<Instance custom, M=2, rules one-shot, red at start 3>"
    assert not started.is_plain
    assert Instance(g, 1, red_at_start=[5]).least_M == 1
    with pytest.raises(InvalidCDAGError, match="vertex 6, red at the start, is out of range"):
        Instance(g, 2, red_at_start=[6])
    with pytest.raises(InvalidMemoryError, match="3 words are red at the start, M=2"):
        Instance(g, 2, red_at_start=[0, 1, 2])


def test_aggregates_name_edges() -> None:
    g = CDAG.from_edges(5, [(0, 3), (1, 3), (2, 4), (3, 4)])
    for e, (u, v) in enumerate(g.edges().tolist()):
        assert aggregate_of(g, e) == (u, v)
        assert aggregate_id(g, u, v) == e
    assert aggregate_of(g, 4 + 2) == (-1, 2)
    assert computed_vertices(g, range(9)).tolist() == [3, 3, 4, 4, 0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="no edge from 0 to 4"):
        aggregate_id(g, 0, 4)


def test_what_the_page_on_rules_shows() -> None:
    page = Path(__file__).resolve().parent.parent / "docs" / "rules.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried > 30
    text = page.read_text(encoding="utf-8")
    for part in Rules.parts():
        assert f"`{part}`" in text
