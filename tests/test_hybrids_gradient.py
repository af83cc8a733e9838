"""Hybrids for the gradient in X: both readings of every phase agree, and the search finds the best plan."""

from __future__ import annotations

import pytest

import pebble
import strategies
from graphs import GraphSpec
from strategies.attention_hybrids import GRADIENT_PHASES, HYBRID
from tests.readings import memories, play_and_check

RIVALS = ("algorithm6", "row-resident")
TARGET = (
    "T@strips/T.u@tiles/h@strips/u.O@strips/O.c/u.p@strips/p.G@strips/G.g@strips",
    "T@tiles/T.u@tiles/h@tiles/u.O@tiles/O.c/u.p@tiles/p.G@tiles/G.g@tiles",
    "T@tiles/T.u+l@rows/h@tiles/u.c@rows/u+c.p@rows/p.G@tiles/G.g@tiles",
    "T@tiles/h@tiles/T.u+l+c@rows/u+c.G@rows/G.g@tiles",
    "T@tiles/h@tiles/T.l+c@rows/T+c.G@rows/G.g@tiles",
    "T@tiles/h@tiles/T.l+c@rows/T+c.p@rows/p.G@tiles/G.g@tiles",
    "T@tiles/h@tiles/T.u+l+c@rows/u+c.g@rows",
    "T@tiles/h@tiles/T.l+c@rows/T+c.g@rows",
    "h@tiles/l+c@rows/c.G@rows/G.g@tiles",
    "h@tiles/l+c@rows/c.g@rows",
    "h@tiles/G@rows/G.g@tiles",
    "h@tiles/g@rows",
)
OUTPUT = (
    "v/T@tiles/T.u@tiles/h@tiles/u.p@tiles/p.G@tiles/G.g@tiles",
    "v/T@tiles/T.u+l@rows/h@tiles/u+c.G@rows/G.g@tiles",
    "v/T@tiles/T.l@rows/h@tiles/T+c.G@rows/G.g@tiles",
    "v/h@tiles/l@rows/c.g@rows",
    "h@tiles/G@rows/G.g@tiles",
    "h@tiles/g@rows",
)
PLANS = [*(("E", plan) for plan in TARGET), *(("dO", plan) for plan in OUTPUT)]


def test_the_plans_here_have_every_phase() -> None:
    assert {phase for _, plan in PLANS for phase in plan.split("/")} == {*GRADIENT_PHASES}


@pytest.mark.parametrize(("given", "plan"), PLANS)
@pytest.mark.parametrize("fma", [False, True])
def test_readings_of_every_plan_agree(given: str, plan: str, fma: bool) -> None:
    spec = f"attention-gradient:n=9,d=4,given={given},fma={str(fma).lower()}"
    with pytest.raises(pebble.UnsupportedInstanceError) as refusal:
        HYBRID.count(GraphSpec.parse(spec), 1, plan=plan)
    assert refusal.value.least_M is not None
    for M in memories(refusal.value.least_M, 300, 4):
        _, schedule = play_and_check(spec, "hybrid", M, plan=plan)
        assert schedule.info["plan"] == plan


@pytest.mark.parametrize(
    "spec", ["attention-gradient:n=16,d=5", "attention-gradient:n=7,d=6,given=dO,fma=true"]
)
@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_hybrids_are_right_at_every_M_and_no_worse_than_others(spec: str, rules: str) -> None:
    least = HYBRID.count_least_M(GraphSpec.parse(spec))
    for M in memories(least, 800, 2):
        cost, schedule = play_and_check(spec, "hybrid", M, rules)
        instance = schedule.instance
        assert rules == "hong-kung" or cost.recomputes == 0
        for name in RIVALS:
            rival = strategies.get(name)
            if rival.supports(instance) is None and rival.least_M(instance) <= M:
                assert cost.io <= pebble.verify(strategies.play(name, instance)).io


@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 1), (4, 7)])
@pytest.mark.parametrize("given", ["E", "dO"])
def test_tiny_and_odd_shapes(n: int, d: int, given: str) -> None:
    spec = f"attention-gradient:n={n},d={d},given={given}"
    least = HYBRID.count_least_M(GraphSpec.parse(spec))
    for M in (least, 2 * least + 1, 400):
        play_and_check(spec, "hybrid", M)


@pytest.mark.parametrize(
    ("x", "at_most"),
    [(0.25, 1.0), (0.5, 0.913), (0.75, 0.869), (1, 0.852), (1.5, 0.978), (4, 1.0), (16, 0.947)],
)
def test_ratio_to_the_better_of_the_two(x: float, at_most: float) -> None:
    spec, M = "attention-gradient:n=1024,d=64", int(x * 64 * 64)
    rivals = [strategies.count("algorithm6", spec, M).io]
    if M >= 6 * 64 + 8:
        rivals.append(strategies.count("row-resident", spec, M).io)
    assert strategies.count("hybrid", spec, M).io <= at_most * min(rivals)
