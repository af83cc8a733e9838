"""Drawings under every rule set: positions, steps of time, strips and text, against the game."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import graphs
import strategies
from pebble.aggregates import aggregate_of
from pebble.cli.main import main
from pebble.draw.aggregation import aggregate
from pebble.draw.effects import Replay
from pebble.draw.position import Position
from pebble.draw.svg import BEGUN, BLUE, RED, position_svg
from pebble.draw.svg_strip import schedule_svg
from pebble.draw.text import position_text
from pebble.game import Game
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Result, Status
from pebble.schedule import Schedule
from tests.rule_sets import random_variant

RULE_SETS = [
    "one-shot+sliding",
    "hong-kung+outputs-any+load=2",
    "hong-kung+free-sources",
    "one-shot+no-delete",
    "hong-kung+sliding+no-delete",
    "partial",
    "partial+free-sources+no-delete",
]


def _walk(rng: random.Random, moves: int) -> Game:
    """A game of random legal moves under random rules, sometimes red at the start."""
    game = Game(random_variant(rng))
    for _ in range(moves):
        if legal := game.legal_moves():
            game.push(rng.choice(legal))
    return game


def _shares(game: Game) -> dict[int, float]:
    """What is begun and not complete, and how far it is."""
    cdag = game.instance.cdag
    heads = [aggregate_of(cdag, e)[1] for e in game.aggregated]
    return {v: heads.count(v) / len(cdag.preds(v)) for v in heads if v not in game.computed}


def test_positions_are_those_of_the_game() -> None:
    rng = random.Random(13)
    begun = 0
    for _ in range(100):
        game = _walk(rng, 15)
        cdag = game.instance.cdag
        aggregated = game.aggregated if game.instance.rules.partial else None
        known = Position.of(cdag, game.red, game.blue, game.computed, aggregated)
        for position in (Position.after(game.schedule(), len(game)), known):
            assert set(np.flatnonzero(position.red).tolist()) == game.red
            assert set(np.flatnonzero(position.blue).tolist()) == game.blue
            assert set(np.flatnonzero(position.computed).tolist()) == game.computed
            assert (position.begun is not None) is game.instance.rules.partial
            if position.begun is not None:
                shares = {int(v): float(position.begun[v]) for v in np.flatnonzero(position.begun)}
                assert shares == _shares(game)
                begun += len(shares)
    assert begun > 20


def test_effects_are_those_of_the_game() -> None:
    """Pebbles and counts after every move, and after steps of several."""
    rng = random.Random(17)
    for _ in range(50):
        game = _walk(rng, 24)
        instance, schedule = game.instance, game.schedule()
        n = instance.cdag.num_vertices
        again = Game(instance)
        done = Replay(instance).play(schedule.moves)
        steps = aggregate(instance, schedule.moves, np.arange(n), np.ones(n, dtype=np.int64), 5)
        for row, end in enumerate(steps.ends.tolist()):
            peak = min(again.red_words, instance.M)
            while len(again) < end:
                t, before = len(again), (again.red, again.blue, again.cost)
                again.push(schedule[t])
                v = int(done.vertices[t])
                assert {u for u in range(n) if again.is_red(u) != (u in before[0])} <= {v}
                assert again.is_red(v) == (v in before[0]) + done.red[t]
                assert again.is_blue(v) == (v in before[1]) + done.blue[t]
                assert again.cost.computes - before[2].computes == (done.completed[t] > 0)
                assert again.cost.recomputes - before[2].recomputes == (done.completed[t] > 1)
                peak = max(peak, min(again.red_words, instance.M))
            cost = again.cost
            assert (steps.loads[row], steps.stores[row]) == (cost.loads, cost.stores)
            assert (steps.computes[row], steps.recomputes[row]) == (cost.computes, cost.recomputes)
            assert steps.peak[row] == peak
            assert set(np.flatnonzero(steps.red[row]).tolist()) == again.red
            assert set(np.flatnonzero(steps.blue[row]).tolist()) == again.blue


@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_strip_shows_who_is_where(rules: str) -> None:
    """The areas of the bars are the times that vertices are red, not yet complete, and blue."""
    schedule = strategies.play("belady", Instance(graphs.build("fft:4"), 4, rules))
    game = Game(schedule.instance)
    times = {"red": 0, "begun": 0, "blue": 0}
    for move in schedule:
        blue = game.blue
        game.push(move)
        begun = len(game.red & _shares(game).keys())
        times["red"] += len(game.red) - begun
        times["begun"] += begun
        times["blue"] += len(game.blue & blue)  # a store makes blue from its end on
    svg = schedule_svg(schedule)
    root = ElementTree.fromstring(svg)
    step = (860 - 16 - 70) / len(schedule)
    for kind, colour in (("red", RED), ("begun", "#e3a69e"), ("blue", BLUE)):
        bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("fill") == colour]
        # Those of the key are as wide as 16, and stand at the top.
        widths = [float(e.attrib["width"]) for e in bars if float(e.attrib["y"]) > 20]
        assert sum(widths) / step == pytest.approx(times[kind], abs=0.05 * len(widths) + times[kind] * 0.01)
    assert schedule._repr_svg_() == svg
    result = Result(Status.FEASIBLE, schedule, verify(schedule).io, 0, None, "belady")
    assert f"rules {rules}" in str(result)
    html = result._repr_html_()
    assert html.endswith(svg)
    assert ("I/Os: " in html, "words: " in html) == ("load=" in rules, "load=" not in rules)


def test_what_is_red_at_the_start_is_drawn_so() -> None:
    instance = Instance(graphs.build("pyramid:1"), 3, red_at_start=[0])
    svg = schedule_svg(Schedule.from_moves(instance, ["S0", "L1", "C2", "S2"]))
    bars = [e for e in ElementTree.fromstring(svg).iter() if e.get("fill") == RED and e.get("x") == "70.0"]
    assert [e.attrib["width"] for e in bars] == ["774.0"]


def test_large_schedules_are_grouped_under_any_rules() -> None:
    instance = Instance(graphs.build("fft:64"), 16, "partial+no-delete")
    schedule = strategies.play("belady", instance)
    svg = schedule_svg(schedule)
    assert len(svg) < 400_000
    assert svg.count(RED) > 50


def test_what_is_not_complete_is_hollow_and_has_a_ring(capsys: pytest.CaptureFixture[str]) -> None:
    cdag = graphs.build("reduce:4,sums=flat")
    v = cdag.num_vertices - 1
    game = Game(Instance(cdag, 2, "partial"))
    for move in ("L0", "C0"):
        game.push(move)
    position = Position.of(cdag, game.red, game.blue, game.computed, game.aggregated)
    assert position.begun is not None
    assert position.begun[v] == 0.25
    svg = game._repr_svg_()
    assert svg == position_svg(cdag, position)
    circles = [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("circle")]
    assert [e.get("stroke") for e in circles if e.get("fill") == "none"] == [RED]
    assert f'stroke="{BEGUN}" stroke-dasharray="0.250 1"' in svg
    assert "hollow: not complete" in svg
    assert position_text(cdag, position).splitlines()[0].endswith(" r")
    for move in ("S4", "D0", "L1", "C1", "D1", "L2", "C2", "D2", "L3", "C3"):
        game.push(move)
    svg = game._repr_svg_()
    assert svg is not None
    assert "0.250 1" not in svg
    text = position_text(cdag, Position.after(game.schedule(), len(game)))
    assert text.splitlines()[0].endswith(" R")


def test_show_explains_small_letters(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path_factory.mktemp("show") / "s.pebble")
    assert main(["play", "fft:4", "-M", "3", "-s", "belady", "--rules", "partial", "-o", path]) == 0
    capsys.readouterr()
    assert main(["show", path, "--at", "2"]) == 0
    text = capsys.readouterr().out
    assert "r red, not complete  b blue, not complete  p both, not complete" in text
    assert " r" in text.partition("r red")[0]
