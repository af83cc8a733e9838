"""The forward pass: FlashAttention, Saha and Ye's tiles, hybrids; what they cost, and that they compute."""

from __future__ import annotations

from typing import Any

import pytest

import pebble
import strategies
from graphs import GraphSpec
from strategies.attention_forward import flash_forward, forward_square
from strategies.attention_hybrids import FORWARD_PHASES, HYBRID
from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Shape
from tests.readings import memories, play_and_check

PROGRAMS: list[tuple[str, dict[str, str]]] = [
    ("flash-forward", {}),
    ("saha-ye", {"tiles": "square"}),
    ("saha-ye", {"tiles": "streaming"}),
    ("hybrid", {"plan": "u@tiles/u.O@tiles"}),
    ("hybrid", {"plan": "u@tiles/u.O@strips"}),
    ("hybrid", {"plan": "u+l@rows/u.O@tiles"}),
    ("hybrid", {"plan": "O@rows"}),
]


def _up(a: int, b: int) -> int:
    return -(-a // b)


def test_the_plans_here_have_every_phase() -> None:
    plans = [options["plan"] for _, options in PROGRAMS if "plan" in options]
    assert {phase for plan in plans for phase in plan.split("/")} == {*FORWARD_PHASES}


@pytest.mark.parametrize(("name", "options"), PROGRAMS)
@pytest.mark.parametrize("graph", ["n=12,d=4", "n=12,d=4,fma=true", "n=5,d=7"])
def test_readings_agree(name: str, options: dict[str, str], graph: str) -> None:
    spec = f"attention-forward:{graph}"
    program: Any = strategies.get(name)
    with pytest.raises(pebble.UnsupportedInstanceError) as refusal:
        program.count(GraphSpec.parse(spec), 1, **options)
    assert refusal.value.least_M is not None
    costs = [play_and_check(spec, name, M, **options)[0].io for M in memories(refusal.value.least_M, 300, 2)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize(("n", "d"), [(7, 3), (12, 4), (16, 8)])
def test_closed_forms(n: int, d: int) -> None:
    shape = Shape.of({"n": n, "d": d})

    def read(program: Any, **blocks: int) -> tuple[int, int, int]:
        machine = CountingMachine(shape)
        program(machine, shape, **blocks)
        machine.check_empty()
        return int(machine.loads), int(machine.stores), int(machine.peak)

    for B in (1, 2, 3, n):
        N, D = _up(n, B), _up(d, B)
        loads, stores, peak = read(forward_square, tile=B)
        assert (loads, stores) == (3 * n * d * N + n * n * D + n, n * n + n + n * d)
        if 2 <= B <= min(n // 2, d // 2):
            assert peak == 3 * B * B + B + 2
        for b in (1, 2):
            loads, stores, peak = read(flash_forward, block_rows=B, block_columns=b)
            assert (loads, stores) == (n * d + 2 * n * d * N, n * d)
            if n >= 2 * B:
                assert peak == 2 * d * B + B + 2 * d * b + B * b + 2


@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_the_hybrid_is_right_and_no_worse_at_every_M(rules: str) -> None:
    spec = "attention-forward:n=24,d=8"
    for M in memories(HYBRID.count_least_M(GraphSpec.parse(spec)), 900, 1.6):
        cost, schedule = play_and_check(spec, "hybrid", M, rules)
        assert cost.recomputes == 0
        for name in ("flash-forward", "saha-ye"):
            if strategies.get(name).least_M(schedule.instance) <= M:
                assert cost.io <= pebble.verify(strategies.play(name, schedule.instance)).io


@pytest.mark.parametrize("d", [1, 3])
def test_one_token(d: int) -> None:
    """u and its row sum are one vertex: FlashAttention plays that, the others say that they do not."""
    spec = f"attention-forward:n=1,d={d}"
    play_and_check(spec, "flash-forward", 30)
    for name in ("saha-ye", "hybrid"):
        with pytest.raises(pebble.UnsupportedInstanceError, match="n >= 2"):
            strategies.count(name, spec, 30)


@pytest.mark.parametrize(
    ("x", "at_most"), [(0.5, 0.904), (0.75, 0.851), (1, 0.946), (1.5, 0.959), (3, 0.924), (8, 1.0)]
)
def test_ratio_to_the_better_of_the_two(x: float, at_most: float) -> None:
    """Around d² the hybrid is below both FlashAttention and Saha and Ye's tiles."""
    spec, M = "attention-forward:n=1024,d=64", int(x * 64 * 64)
    rivals = [strategies.count(name, spec, M).io for name in ("flash-forward", "saha-ye")]
    assert strategies.count("hybrid", spec, M).io <= at_most * min(rivals)


def test_with_room_for_everything_every_word_moves_once() -> None:
    cost = strategies.count("hybrid", "attention-forward:n=64,d=16", 4300)
    assert cost.io == 4 * 64 * 16
