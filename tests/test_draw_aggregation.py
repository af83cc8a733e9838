"""Schedules in steps of time, and positions in the middle, against the game played move by move."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.draw.aggregation import aggregate
from pebble.draw.position import Position
from pebble.game import Game
from pebble.instance import Instance
from pebble.schedule import Schedule
from strategies.playing import play


def _weighted() -> Schedule:
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (1, 4)], weights=[2, 1, 3, 1, 2])
    moves = "L0 L1 C2 S2 D0 D2 L2 C3 S3 D3 D2 C4 S4 D4 L0 C2 D2 S1 D1 D0"
    return Schedule.from_moves(Instance(cdag, 7), moves.split(" "))


SCHEDULES = {
    "weights, recomputation": _weighted,
    "fft": lambda: play("belady", Instance(build("fft:16"), 4)),
    "attention": lambda: play("lru", Instance(build("attention-backward:n=4,d=2"), 12)),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("most", [1, 7, 500])
def test_steps_agree_with_the_game(name: str, most: int) -> None:
    schedule = SCHEDULES[name]()
    cdag = schedule.instance.cdag
    cell_of = np.arange(cdag.num_vertices) // 3
    scale = np.bincount(cell_of)
    steps = aggregate(schedule.instance, schedule.moves, cell_of, scale, most)
    assert len(steps.ends) == min(most, len(schedule)) + 1
    assert (steps.ends[0], steps.ends[-1]) == (0, len(schedule))
    game = Game(schedule.instance)
    moves = list(schedule)
    for row, end in enumerate(steps.ends.tolist()):
        peak = game.red_words
        while len(game) < end:
            game.push(moves[len(game)])
            peak = max(peak, game.red_words)
        cost = game.cost
        assert (steps.loads[row], steps.stores[row]) == (cost.loads, cost.stores)
        assert (steps.computes[row], steps.recomputes[row]) == (cost.computes, cost.recomputes)
        assert steps.peak[row] == peak
        for levels, vertices in ((steps.red, game.red), (steps.blue, game.blue)):
            held = np.bincount(cell_of[sorted(vertices)], minlength=len(scale))
            assert levels[row].tolist() == np.ceil(held * 255 / scale).astype(int).tolist()


@pytest.mark.parametrize("name", SCHEDULES)
def test_positions_agree_with_the_game(name: str) -> None:
    schedule = SCHEDULES[name]()
    game = Game(schedule.instance)
    for k, move in enumerate(schedule):
        position = Position.after(schedule, k)
        assert set(np.flatnonzero(position.red).tolist()) == game.red
        assert set(np.flatnonzero(position.blue).tolist()) == game.blue
        assert set(np.flatnonzero(position.computed).tolist()) == game.computed
        game.push(move)
    whole = Position.of(schedule.instance.cdag, game.red, game.blue, game.computed)
    after = Position.after(schedule, len(schedule))
    for ours, theirs in ((whole.red, after.red), (whole.blue, after.blue), (whole.computed, after.computed)):
        assert ours.tolist() == theirs.tolist()


def test_a_schedule_without_moves() -> None:
    instance = Instance(build("pyramid:2"), 3)
    empty = Schedule.from_moves(instance, [])
    steps = aggregate(instance, empty.moves, np.zeros(6, dtype=np.int64), np.array([6]), 10)
    assert steps.loads.tolist() == [0, 0]
    assert steps.blue.tolist() == [[128], [128]]


def test_long_schedules_are_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    import pebble.draw.aggregation as module

    schedule = SCHEDULES["attention"]()
    n = schedule.instance.cdag.num_vertices
    arguments = (schedule.instance, schedule.moves, np.arange(n), np.ones(n, dtype=np.int64), 40)
    whole = aggregate(*arguments)
    monkeypatch.setattr(module, "_SLICE", 13)
    sliced = aggregate(*arguments)
    for field in ("ends", "loads", "stores", "computes", "recomputes", "peak", "red", "blue"):
        assert np.array_equal(getattr(whole, field), getattr(sliced, field)), field
