"""Methods in child processes: limits, death and interruption never take the best schedule with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphs.catalog import build
from pebble.errors import PebbleError
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit, Result, Status
from solvers.children import run_children
from solvers.progress import Progress
from solvers.solving import solve
from solvers.standing import Standing
from strategies.playing import play

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")

# Nobody proves this one in a few seconds.
HARD = "matmul:3x3x3"


# Children that were there before a test began, such as the resource tracker of multiprocessing.
_older: set[int] = set()


@pytest.fixture(autouse=True)
def _note_older_children() -> Iterator[None]:
    _older.clear()
    _older.update(_children())
    yield
    _older.clear()


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text().split()]
    return [pid for pid in found if pid not in _older]


def _assert_kept(result: Result) -> None:
    assert result.status is Status.FEASIBLE
    assert result.schedule is not None
    assert verify(result.schedule).io == result.io
    assert 27 <= result.lower_bound <= (result.io or 0)
    assert result.bound is not None


@pytest.mark.parametrize("method", ["search", "ilp"])
def test_a_killed_child_leaves_its_schedule_and_bound(method: str) -> None:
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if not killed and (children := _children()):
            killed.extend(children)
            os.kill(children[0], signal.SIGKILL)

    instance = Instance(build(HARD), M=5, rules="one-shot")
    result = solve(instance, method=method, limit=Limit(time=200), on_progress=kill)
    assert killed
    _assert_kept(result)
    assert result.limit_hit == "died"
    assert "SIGKILL" in result.why
    assert result.stats["seconds"] < 150


def test_auto_goes_on_when_one_child_is_killed() -> None:
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if not killed and len(children := _children()) == 2:
            killed.append(min(children))
            os.kill(min(children), signal.SIGKILL)

    instance = Instance(build(HARD), M=5, rules="one-shot")
    for seconds in (8, 60, 300):
        # On a busy machine the time may be over before the children are there.
        result = solve(instance, limit=Limit(time=seconds), on_progress=kill, workers=2)
        if killed:
            break
    assert killed
    _assert_kept(result)
    assert "SIGKILL" in str(result.stats)


_SCRIPT = """
import json, re, sys, graphs, pebble, solvers
instance = pebble.Instance(graphs.build(sys.argv[1]), M=6, rules="one-shot")
result = solvers.solve(instance, method="search", limit=pebble.Limit(time=float(sys.argv[2])))
peak = int(re.search(r"VmPeak:\\s*(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps(result.to_dict() | {"refereed": pebble.verify(result.schedule).io, "peak": peak}))
"""


def _solve_under(kilobytes: str, graph: str, seconds: float) -> dict[str, Any]:
    path = os.pathsep.join(p or "." for p in sys.path)
    python = (sys.executable, "-c", _SCRIPT, graph, str(seconds))
    ran = subprocess.run(
        ["bash", "-c", f'ulimit -v {kilobytes}; exec "$@"', "-", *python],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
    )
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def test_a_solve_under_ulimit_keeps_its_schedule() -> None:
    """The address space runs out in the child, which has no limit of its own on memory."""
    plain = _solve_under("unlimited", "fft:4", 60.0)
    assert plain["status"] == "optimal"
    # Room for the libraries, little for the states; the kernels of larger sets are compiled without a limit.
    free = _solve_under("unlimited", "matmul:4x4x4", 2.0)
    result = _solve_under(str(max(plain["peak"], free["peak"]) + 100_000), "matmul:4x4x4", 8.0)
    assert result["status"] == "feasible"
    assert result["refereed"] == result["io"]
    assert 48 <= result["lower_bound"] < result["io"]
    assert result["limit_hit"] in ("memory", "died", "time")


def test_a_memory_limit_ends_with_a_bound() -> None:
    instance = Instance(build(HARD), M=6, rules="one-shot")
    result = solve(instance, method="search", limit=Limit(memory_mb=10, time=6))
    _assert_kept(result)
    assert result.limit_hit in ("memory", "time")


@pytest.mark.parametrize("method", ["search", "ilp"])
def test_the_time_limit_is_kept(method: str) -> None:
    instance = Instance(build(HARD), M=5, rules="one-shot")
    play("belady", instance)
    start = time.perf_counter()
    result = solve(instance, method=method, limit=Limit(time=2))
    assert time.perf_counter() - start < 10
    _assert_kept(result)
    assert result.limit_hit == "time"
    assert not _children()


@pytest.mark.parametrize("method", ["auto", "search"])
def test_ctrl_c_returns_the_best_so_far(method: str) -> None:
    instance = Instance(build(HARD), M=5, rules="one-shot")
    play("belady", instance)
    timer = threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        result = solve(instance, method=method, limit=Limit(time=60))
    finally:
        timer.cancel()
    _assert_kept(result)
    assert result.limit_hit == "interrupted"
    assert not _children()


def test_a_method_that_fails_is_an_error_not_an_answer() -> None:
    instance = Instance(build("fft:4"), M=4)
    standing = Standing(instance, "test")
    standing.offer(play("belady", instance))
    with pytest.raises(PebbleError, match=r"solver 'ilp' failed: TypeError.*nonsense"):
        run_children(standing, {"ilp": {"nonsense": 1}}, limit=Limit(time=30))
    assert not _children()


def test_refusals_come_back_as_reasons() -> None:
    instance = Instance(build(HARD), M=5, rules="one-shot")
    standing = Standing(instance, "test")
    standing.offer(play("belady", instance))
    (outcome,) = run_children(standing, ["ilp"], limit=Limit(time=30, memory_mb=1))
    assert "too large for 1 MB" in outcome.why
    assert not outcome.settled
