"""How long it takes to price a tile program at n = 65536, and how fast schedules are written.

``python benchmarks/bench_count.py`` prints the table. Times are of CPU, the best of a few calls, since the
machine may be busy with other work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import graphs
import strategies
from pebble.instance import Instance

Row = tuple[str, float, str, str]

_COUNTED = [
    ("flash-attention", "attention-backward:n=65536,d=128"),
    ("flash-attention-1", "attention-backward:n=65536,d=128,given=O"),
    ("two-pass", "attention-backward:n=65536,d=128"),
    ("algorithm6", "attention-backward:n=65536,d=128"),
    ("algorithm6", "attention-gradient:n=65536,d=128"),
    ("row-resident", "attention-gradient:n=65536,d=128"),
    ("tiled", "matmul:65536x65536x65536"),
]
_M = 128 * 128


def _milliseconds(call: Callable[[], Any], times: int) -> float:
    """CPU time of the fastest of some calls."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1e3


def _lowering_rate(program: str, spec: str, M: int) -> float:
    """Millions of moves per CPU second, the blocks being given."""
    instance = Instance(graphs.build(spec), M)
    schedule = strategies.play(program, instance)
    name = program.split(":")[0]
    spent = _milliseconds(lambda: strategies.play(name, instance, **schedule.info), 3)
    return len(schedule) / spent / 1e3


def rows() -> list[Row]:
    """Name, figure, unit, target of every measurement."""
    found: list[Row] = []
    for name, spec in _COUNTED:
        _, blocks = strategies.count_detail(name, spec, _M)
        given = _milliseconds(lambda n=name, s=spec, b=blocks: strategies.count(n, s, _M, **b), 5)  # type: ignore[misc]
        search = _milliseconds(lambda n=name, s=spec: strategies.count(n, s, _M), 3)  # type: ignore[misc]
        family = spec.partition(",given")[0]
        found.append((f"count {name}, {family}, blocks given", given, "CPU ms", "< 10"))
        found.append((f"count {name}, {family}, best blocks", search, "CPU ms", "< 200"))
    for program, M in [
        ("algorithm6", 64),
        ("algorithm6", 1024),
        ("flash-attention", 1024),
        ("two-pass", 1024),
    ]:
        rate = _lowering_rate(program, "attention-backward:n=128,d=32", M)
        found.append(
            (f"play {program}, attention-backward:n=128,d=32, M={M}", rate, "M moves / CPU s", ">= 10")
        )
    return found


def main() -> None:
    for name, figure, unit, target in rows():
        print(f"{name:<72} {figure:>8.2f} {unit:<16} {target}")


if __name__ == "__main__":
    main()
