"""Hold tile programs to their word: the referee's cost is count's, and the numbers come out right."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphs
import pebble
import strategies
from pebble.cdag import CDAG
from pebble.result import Cost


@lru_cache(maxsize=8)
def graph_and_numbers(spec: str) -> tuple[CDAG, dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """A graph, inputs drawn at random, and what it computes from them."""
    cdag = graphs.build(spec)
    rng = np.random.default_rng(7)
    inputs = {name: rng.standard_normal(cdag.tensors[name].shape) for name in cdag.input_names}
    return cdag, inputs, pebble.evaluate(cdag, inputs)


def check_numbers(spec: str, schedule: pebble.Schedule) -> None:
    """Execute a schedule of the graph `spec` in M slots and compare all outputs."""
    _, inputs, expected = graph_and_numbers(spec)
    computed = pebble.execute(schedule, inputs)
    for name in schedule.instance.cdag.output_names:
        np.testing.assert_allclose(computed[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def play_and_check(
    spec: str, name: str, M: int, rules: str = "hong-kung", **options: Any
) -> tuple[Cost, pebble.Schedule]:
    """Play, and check: the referee's cost is count's, and the numbers come out right in M slots."""
    cdag, _, _ = graph_and_numbers(spec)
    schedule = strategies.play(name, pebble.Instance(cdag, M, rules), **options)
    cost = pebble.verify(schedule)
    assert strategies.count(name, spec, M, **schedule.info) == cost
    assert schedule.claim == cost.io
    check_numbers(spec, schedule)
    return cost, schedule


def memories(least: int, end: int, factor: float) -> list[int]:
    """M in steps: the least, one more, then `factor` times as much again and again up to `end`."""
    found = [least, least + 1]
    while found[-1] * factor < end:
        found.append(int(found[-1] * factor))
    return [*found, end]
