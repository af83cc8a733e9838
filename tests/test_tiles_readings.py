"""The two readings of every tile program agree, by the referee's word, and the schedules compute."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphs
import pebble
import strategies
from pebble.cdag import CDAG
from pebble.result import Cost

BACKWARD_D = ["flash-attention", "two-pass", "algorithm6:tiles=square", "algorithm6:tiles=streaming", "naive"]
BACKWARD_O = [*BACKWARD_D, "flash-attention-1"]
GRADIENT = ["algorithm6:tiles=square", "algorithm6:tiles=streaming", "row-resident"]
PROGRAMS = [
    *(("attention-backward:given=D", name) for name in BACKWARD_D),
    *(("attention-backward:given=O", name) for name in BACKWARD_O),
    *(("attention-gradient:given=E", name) for name in GRADIENT),
    *(("attention-gradient:given=dO", name) for name in GRADIENT),
    ("a1xa2t:sums=chain", "tiled"),
]


@lru_cache(maxsize=8)
def _graph(spec: str) -> tuple[CDAG, dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    cdag = graphs.build(spec)
    rng = np.random.default_rng(7)
    inputs = {name: rng.standard_normal(cdag.tensors[name].shape) for name in cdag.input_names}
    return cdag, inputs, pebble.evaluate(cdag, inputs)


def _least(spec: str, program: str) -> int:
    """Least M of a variant: what the refusal at M = 1 names."""
    strategy, options = strategies.parse_strategy(program)
    assert isinstance(strategy, strategies.Countable)
    with pytest.raises(pebble.UnsupportedInstanceError) as refusal:
        strategy.count(graphs.GraphSpec.parse(spec), 1, **options)
    assert refusal.value.least_M is not None
    return refusal.value.least_M


def _play(spec: str, program: str, M: int, **options: Any) -> tuple[Cost, pebble.Schedule]:
    """Play, and check: the referee's cost is count's, and the numbers come out right in M slots."""
    cdag, inputs, expected = _graph(spec)
    schedule = strategies.play(program, pebble.Instance(cdag, M), **options)
    cost = pebble.verify(schedule)
    assert strategies.count(program.split(":")[0], spec, M, **schedule.info) == cost
    assert schedule.claim == cost.io
    computed = pebble.execute(schedule, inputs)
    for name in cdag.output_names:
        np.testing.assert_allclose(computed[name], expected[name], rtol=1e-9, err_msg=name)
    return cost, schedule


def _sweep(spec: str, program: str, end: int, factor: float) -> None:
    least = _least(spec, program)
    if program == "naive":
        assert _play(spec, program, least)[0].peak_red == least
        return
    memories = [least, least + 1]
    while memories[-1] * factor < end:
        memories.append(int(memories[-1] * factor))
    costs = [_play(spec, program, M)[0].io for M in [*memories, end]]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("sums", ["fma=false", "fma=true"])
@pytest.mark.parametrize(("graph", "program"), PROGRAMS)
def test_readings_agree_12x3(graph: str, program: str, sums: str) -> None:
    _sweep(f"{graph},n=12,d=3,{sums}", program, 3 * 144 + 8 * 36, 4)


@pytest.mark.parametrize(("graph", "program"), PROGRAMS)
def test_readings_agree_24x8(graph: str, program: str) -> None:
    _sweep(f"{graph},n=24,d=8", program, 3 * 576 + 8 * 192, 5)


@pytest.mark.slow
@pytest.mark.parametrize("sums", ["fma=false", "fma=true"])
@pytest.mark.parametrize(("graph", "program"), PROGRAMS)
def test_readings_agree_24x8_in_small_steps(graph: str, program: str, sums: str) -> None:
    _sweep(f"{graph},n=24,d=8,{sums}", program, 3 * 576 + 8 * 192, 1.3)


@pytest.mark.parametrize("sums", ["fma=false", "fma=true"])
@pytest.mark.parametrize(("graph", "program"), PROGRAMS)
def test_any_blocks_ragged_ones_too(graph: str, program: str, sums: str) -> None:
    """Random block sizes, played in exactly the words that count says they need."""
    spec = f"{graph},n=12,d=3,{sums}"
    _, options = strategies.parse_strategy(program)
    rng = np.random.default_rng(len(spec) + len(program))
    names = strategies.count_detail(program, spec, 10**6)[1].keys() - options.keys()
    for _ in range(3 if names else 1):
        blocks = {name: int(rng.choice([1, 2, 5, 7, 11, 12])) for name in sorted(names)}
        peak = strategies.count(program, spec, 10**6, **blocks).peak_red
        cost, schedule = _play(spec, program, peak, **blocks)
        assert cost.peak_red == peak
        assert schedule.info == {**options, **blocks}


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (2, 1), (5, 1), (4, 7)])
def test_tiny_and_odd_shapes(n: int, d: int) -> None:
    for graph, program in PROGRAMS:
        if graph.startswith("attention-gradient") and n == 1:
            continue
        spec = f"{graph},n={n},d={d}"
        least = _least(spec, program)
        for M in (least, 2 * least + 1, 400):
            _play(spec, program, M)


@pytest.mark.parametrize("M", [5, 8, 20, 47, 100, 400])
def test_matmul(M: int) -> None:
    _play("matmul:7x5x9", "tiled", M)
    _play("matmul:m=1,k=12,n=9,fma=true", "tiled", M)


def test_flash_attention_is_one_shot_and_two_pass_is_not() -> None:
    cdag, _, _ = _graph("attention-backward:given=O,n=12,d=3")
    one_shot = pebble.Instance(cdag, 60, rules="one-shot")
    for program in ("flash-attention", "algorithm6", "naive"):
        assert pebble.verify(strategies.play(program, one_shot)).recomputes == 0
    for program in ("two-pass", "flash-attention-1"):
        with pytest.raises(pebble.UnsupportedInstanceError, match="one-shot"):
            strategies.play(program, one_shot)
        assert pebble.verify(strategies.play(program, one_shot.with_rules("hong-kung"))).recomputes > 0
