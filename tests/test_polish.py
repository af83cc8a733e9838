"""Polish: never worse, legal, the same computes, the right numbers."""

from __future__ import annotations

import pytest

import graphs
import pebble
import strategies
from pebble.result import Limit
from strategies.polishing import polish
from tests.readings import check_numbers

CASES = [
    ("attention-backward:n=12,d=4", "flash-attention"),
    ("attention-backward:n=12,d=4", "two-pass"),
    ("attention-backward:n=12,d=4", "algorithm6"),
    ("attention-backward:n=12,d=4", "hybrid"),
    ("attention-backward:n=9,d=3,fma=true,given=O", "hybrid"),
    ("attention-gradient:n=8,d=3", "row-resident"),
    ("matmul:7x6x5", "tiled"),
]


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_polished_schedules_are_legal_right_and_no_worse(spec: str, name: str) -> None:
    cdag = graphs.build(spec)
    least = strategies.get(name).least_M(pebble.Instance(cdag, 1))
    better = 0
    for M in (least, least + 3, 2 * least, 4 * least, 10 * least):
        schedule = strategies.play(name, pebble.Instance(cdag, M))
        polished = polish(schedule)
        cost = pebble.verify(polished)
        assert polished.claim == cost.io
        assert cost.io <= pebble.verify(schedule).io
        assert {*polished.order().tolist()} == {*schedule.order().tolist()}
        check_numbers(spec, polished)
        assert pebble.verify(polish(polished)).io <= cost.io
        better += cost.io < pebble.verify(schedule).io
    assert better


def test_what_cannot_be_cheaper_is_handed_back() -> None:
    instance = pebble.Instance(graphs.build("attention-backward:n=6,d=2"), 400)
    schedule = strategies.play("hybrid", instance)
    assert polish(schedule) == schedule


def test_no_time_means_no_replay() -> None:
    instance = pebble.Instance(graphs.build("attention-backward:n=6,d=2"), 20)
    schedule = strategies.play("hybrid", instance)
    assert polish(schedule, Limit(time=0)).producer == schedule.producer
    assert polish(schedule).producer.endswith("polished")


def test_a_broken_schedule_is_refused() -> None:
    instance = pebble.Instance(graphs.build("matmul:2x2x2"), 8)
    schedule = strategies.play("tiled", instance)
    with pytest.raises(pebble.IncompleteScheduleError):
        polish(pebble.Schedule(instance, schedule.moves[:-4], "half"))
