"""A limit on time does not count what compiling the kernels takes, and says how long that was."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import graphs
import solvers
from pebble import Instance, Limit, Status
from solvers.search import SEARCH, warming
from solvers.standing import Clock

_SECONDS = 500.0


@pytest.fixture
def slow_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cold cache, as it were: the clock goes forward by far more than the limit while kernels compile."""
    import time

    passed = 0.0
    measured = time.perf_counter

    def clock() -> float:
        return measured() + passed

    @cache
    def compiling(words: int, recomputation: bool) -> None:
        nonlocal passed
        passed += _SECONDS

    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(warming, "_compile", compiling)


@pytest.mark.usefixtures("slow_compiler")
def test_the_search_starts_its_clock_afterwards() -> None:
    result = SEARCH(Instance(graphs.build("matmul:2x2x2"), 4, "one-shot"), limit=Limit(time=60))
    assert (result.status, result.io) == (Status.OPTIMAL, 17)
    assert result.stats["compile_seconds"] >= _SECONDS
    assert result.stats["seconds"] < 60


@pytest.mark.usefixtures("slow_compiler")
def test_auto_stops_its_clock_meanwhile() -> None:
    result = solvers.solve(Instance(graphs.build("matmul:2x2x2"), 4), limit=Limit(time=60))
    assert (result.status, result.io) == (Status.OPTIMAL, 17)
    assert result.stats["compile_seconds"] >= 2 * _SECONDS
    assert result.stats["seconds"] < 60


def test_an_excused_clock() -> None:
    clock = Clock(Limit(time=60))
    clock.start -= 100
    assert clock.over
    clock.excuse(90)
    assert not clock.over
    assert 0 < (clock.left or 0) <= 50


@pytest.mark.slow
def test_a_short_limit_on_a_cold_cache(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pebble", "solve", "fft:8", "-M", "4", "--time", "20", "-q"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert ran.returncode == 0, ran.stderr
    assert "optimal" in ran.stdout
