"""Hybrids for the backward pass: both readings of every phase agree, and the search finds the best plan."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import pebble
import strategies
from graphs import GraphSpec
from strategies.attention_hybrids import BACKWARD_PHASES, HYBRID
from strategies.attention_sweeps import Sweep
from strategies.tiles.language import Shape
from tests.readings import memories, play_and_check

RIVALS = ("flash-attention", "algorithm6", "two-pass")
PLANS = (
    "P@strips/P.dV@strips/P.dS@strips/dS.dQ@strips/dS.dK@strips",
    "P@tiles/P.dV@tiles/P.dS@tiles/dS.dQ@tiles/dS.dK@tiles",
    "P@rows/P.dV+dS@columns/dS.dQ@tiles/dS.dK@tiles",
    "P@columns/P.dS@rows/P.dV@tiles/dS.dQ@tiles/dS.dK@tiles",
    "dV+dS@columns/dS.dQ@rows/dS.dK@columns",
    "dV+dK+dS@columns/dS.dQ@tiles",
    "dV+dK@columns/dQ@rows",
    "dV+dQ+dK@columns",
    "dV+dQ+dK@rows",
)


def test_the_plans_here_have_every_phase() -> None:
    named = {phase for plan in PLANS for phase in plan.split("/")}
    assert named | {"D"} == {*BACKWARD_PHASES}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("given", ["D", "O"])
@pytest.mark.parametrize("fma", [False, True])
def test_readings_of_every_plan_agree(plan: str, given: str, fma: bool) -> None:
    spec = f"attention-backward:n=12,d=3,given={given},fma={str(fma).lower()}"
    plan = f"D/{plan}" if given == "O" else plan
    with pytest.raises(pebble.UnsupportedInstanceError) as refusal:
        HYBRID.count(GraphSpec.parse(spec), 1, plan=plan)
    assert refusal.value.least_M is not None
    costs = []
    for M in memories(refusal.value.least_M, 500, 3):
        cost, schedule = play_and_check(spec, "hybrid", M, plan=plan)
        assert schedule.info["plan"] == plan
        costs.append(cost.io)
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("plan", PLANS)
def test_any_blocks_ragged_ones_too(plan: str) -> None:
    spec = "attention-backward:n=12,d=5"
    shape = Shape.of({"n": 12, "d": 5, "given": "D"})
    steps = [HYBRID.phases("attention-backward", shape)[name] for name in plan.split("/")]
    for size, kept in ((1, 0), (2, 1), (5, 2), (7, 0), (7, 11), (11, 5), (12, 3)):
        blocks = "/".join(
            "x".join(
                str(kept if name == s.kept else min(size, getattr(shape, axis)))
                for name, axis in s.options.items()
            )
            for s in steps
        )
        peak = strategies.count("hybrid", spec, 10**6, plan=plan, blocks=blocks).peak_red
        cost, _ = play_and_check(spec, "hybrid", peak, plan=plan, blocks=blocks)
        assert cost.peak_red == peak
        with pytest.raises(pebble.UnsupportedInstanceError, match=f"M >= {peak}"):
            strategies.count("hybrid", spec, peak - 1, plan=plan, blocks=blocks)


@pytest.mark.parametrize(
    "spec", ["attention-backward:n=24,d=8", "attention-backward:n=9,d=4,given=O,fma=true"]
)
@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_hybrids_are_right_at_every_M_and_no_worse_than_others(spec: str, rules: str) -> None:
    least = HYBRID.count_least_M(GraphSpec.parse(spec))
    for M in memories(least, 1200, 1.8):
        cost, schedule = play_and_check(spec, "hybrid", M, rules)
        instance = schedule.instance
        assert rules == "hong-kung" or cost.recomputes == 0
        for name in RIVALS:
            rival = strategies.get(name)
            if rival.supports(instance) is None and rival.least_M(instance) <= M:
                assert cost.io <= pebble.verify(strategies.play(name, instance)).io


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (2, 1), (5, 1), (4, 7)])
def test_tiny_and_odd_shapes(n: int, d: int) -> None:
    spec = f"attention-backward:n={n},d={d}"
    least = HYBRID.count_least_M(GraphSpec.parse(spec))
    for M in (least, 2 * least + 1, 400):
        play_and_check(spec, "hybrid", M)


def _every_sweep() -> dict[str, Sweep]:
    """All passes that compute something without a detour."""

    def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [c for size in range(len(names) + 1) for c in itertools.combinations(names, size)]

    found = {}
    for outer in ("rows", "columns"):
        for sums in subsets(("dV", "dQ", "dK")):
            for reads, writes in itertools.product(subsets(("P", "dS")), repeat=2):
                sweep = Sweep(outer, sums, reads, writes)  # type: ignore[arg-type]
                uses_P = "dV" in sums or sweep.makes_dS
                uses_dS = bool({"dQ", "dK"} & {*sums})
                if {*reads} & {*writes} or not (sums or writes) or ("P" in reads and not uses_P):
                    continue
                if "dS" not in reads or uses_dS:
                    found[sweep.name] = sweep
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n", [64, 1024])
def test_no_other_pass_would_make_a_plan_better(n: int) -> None:
    """The phases that are registered are enough: with every pass there is, the best plan costs the same."""
    from strategies.tiles.planning import PlannedStrategy

    d = {64: 16, 1024: 64}[n]
    spec = GraphSpec.parse(f"attention-backward:n={n},d={d}")
    phases = {**BACKWARD_PHASES, **{name: sweep.step for name, sweep in _every_sweep().items()}}
    everything = PlannedStrategy(
        "everything", {"attention-backward": phases}, {"attention-backward": ("dV", "dQ", "dK")}
    )
    assert len(phases) > 100
    for quarters in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96):
        M = quarters * d * d // 4
        assert HYBRID.count(spec, M)[0].io == everything.count(spec, M)[0].io


def test_a_plan_and_its_blocks_are_checked() -> None:
    spec = "attention-backward:n=6,d=2"

    def refused(match: str, **options: Any) -> None:
        with pytest.raises(pebble.UnsupportedInstanceError, match=match):
            strategies.count("hybrid", spec, 60, **options)

    refused("no phase P@diagonal", plan="P@diagonal")
    refused("needs P before it", plan="P.dV@tiles")
    refused("does not make dK, dQ", plan="P@rows/P.dV@tiles")
    refused("together with plan", blocks="3")
    refused("2 parts for 1 phases", plan="dV+dQ+dK@rows", blocks="3x0/3")
    refused("names 1 sizes, not 2", plan="dV+dQ+dK@rows", blocks="3")
    refused("no whole number", plan="dV+dQ+dK@rows", blocks="threex0")
    refused("at least 1 index", plan="dV+dQ+dK@rows", blocks="0x0")
    refused("neither yes nor no", recompute="maybe")
    refused("computes vertices again", plan="dV+dK@columns/dQ@rows", recompute="no")


def test_without_recomputation_the_best_plan_computes_nothing_twice() -> None:
    spec = "attention-backward:n=1024,d=64"
    again, once = (strategies.count("hybrid", spec, 16384, recompute=choice) for choice in ("yes", "no"))
    assert again.recomputes > 0
    assert once.recomputes == 0
    assert again.io < once.io <= strategies.count("flash-attention", spec, 16384).io
