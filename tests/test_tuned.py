"""Tuned plans: legal and right from the graph's least M on, no worse than the hybrid, reproducible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pebble
import strategies
from pebble.result import Limit
from tests.readings import check_numbers, graph_and_numbers

SPECS = [
    "attention-backward:n=8,d=3",
    "attention-backward:n=7,d=3,given=O,fma=true",
    "attention-forward:n=12,d=4",
    "attention-gradient:n=6,d=3",
]


def _tuned(spec: str, M: int, rules: str = "hong-kung", **options: Any) -> pebble.Schedule:
    cdag, _, _ = graph_and_numbers(spec)
    schedule = strategies.play("tuned", pebble.Instance(cdag, M, rules), **options)
    assert schedule.claim == pebble.verify(schedule).io
    check_numbers(spec, schedule)
    return schedule


def _io(schedule: pebble.Schedule) -> int:
    assert schedule.claim is not None
    return schedule.claim


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_from_the_least_M_on(spec: str, rules: str) -> None:
    cdag, _, _ = graph_and_numbers(spec)
    last = None
    for M in (pebble.Instance(cdag, 9).least_M, 15, 60):
        schedule = _tuned(spec, M, rules)
        assert rules == "hong-kung" or pebble.verify(schedule).recomputes == 0
        hybrid = strategies.get("hybrid")
        if hybrid.least_M(schedule.instance) <= M:
            assert _io(schedule) <= _io(strategies.play(hybrid, schedule.instance))
        assert last is None or _io(schedule) <= last
        last = _io(schedule)


def test_effort_finds_cheaper_blocks_and_is_reproducible() -> None:
    spec = "attention-backward:n=12,d=4"
    found = [_io(_tuned(spec, 80, effort=effort)) for effort in (0, 30)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]
    first, again = (_tuned(spec, 80, effort="9") for _ in range(2))
    assert np.array_equal(first.moves, again.moves)
    assert first.info["tried"] <= 9 + _tuned(spec, 80).info["tried"]


def test_a_plan_with_blocks_gives_the_schedule_again() -> None:
    spec = "attention-backward:n=12,d=4"
    tuned = _tuned(spec, 80, effort=20)
    again = strategies.play(tuned.producer, tuned.instance)
    assert np.array_equal(again.moves, tuned.moves)
    assert again.info["tried"] == 0
    only = _tuned(spec, 30, plan="dV+dQ+dK@rows")
    assert only.info["plan"] == "dV+dQ+dK@rows"


def test_limits() -> None:
    spec = "attention-backward:n=12,d=4"
    assert _tuned(spec, 30, limit=Limit(nodes=1)).info["tried"] == 1
    assert _tuned(spec, 30, limit=Limit(nodes=17)).info["tried"] <= 17
    assert _tuned(spec, 30, limit=Limit(time=0)).info["tried"] == 1


def test_refusals() -> None:
    cdag, _, _ = graph_and_numbers("attention-backward:n=12,d=4")
    instance = pebble.Instance(cdag, 30)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"effort": "much"}, "no whole number"),
        ({"effort": -1}, "no whole number"),
        ({"plan": "P@nowhere"}, "no phase"),
        ({"blocks": "3"}, "together with plan"),
    ]
    for options, match in refused:
        with pytest.raises(pebble.UnsupportedInstanceError, match=match):
            strategies.play("tuned", instance, **options)
    with pytest.raises(pebble.UnsupportedInstanceError, match="plays"):
        strategies.play("tuned", pebble.Instance(graph_and_numbers("matmul:2x2x2")[0], 9))
