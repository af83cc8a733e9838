"""Sweeps whose workers or whose parent are killed: nothing that was done is lost, nothing is done twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments import Grid, SweepProgress, read_runs, sweep
from pebble.cli.main import main

ROOT = Path(__file__).parent.parent
TIMEOUT = 60
# Two hundred runs that take no time, but one process each to be lost with.
MANY = Grid(
    ["pyramid:3", "fft:8", "grid:4x4", "tree:leaves=8,arity=2"],
    ["4..13"],
    strategies=["lru", "fifo", "belady", "random"],
    bounds=["best"],
)


def figures(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["key"], r["status"], r["io"], r["loads"], r["lower_bound"]) for r in records]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def until(condition: Any, what: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"waited {TIMEOUT} s for {what}"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, ...]]:
    """What a sweep gives that nothing happens to, run by run in this process."""
    from experiments import perform

    return figures([perform(run) for run in MANY.runs()])


def test_a_killed_worker_costs_nothing(tmp_path: Path, expected: list[tuple[Any, ...]]) -> None:
    killed: list[int] = []

    def kill_one(progress: SweepProgress) -> None:
        if progress.done in (20, 90):
            worker = multiprocessing.active_children()[0]
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            killed.append(worker.pid)

    summary = sweep(MANY, tmp_path / "runs.jsonl", jobs=2, on_progress=kill_one)
    assert len(set(killed)) == 2
    assert summary.failed == 0
    assert figures(summary.records) == expected
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == len(expected) == 200
    assert not multiprocessing.active_children()


def test_a_run_that_kills_its_process_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "deadly.py"
    script.write_text(
        "import os, signal, strategies\n"
        "from experiments import Run, sweep\n"
        "class Deadly:\n"
        "    name, options = 'deadly', {}\n"
        "    def supports(self, instance): return None\n"
        "    def least_M(self, instance): return 1\n"
        "    def __call__(self, instance, **kw): os.kill(os.getpid(), signal.SIGKILL)\n"
        "strategies.register('deadly', Deadly(), 'ends its process')\n"
        "if __name__ == '__main__':\n"
        "    runs = [Run('fft:8', M, 'hong-kung', 'play', p) for M in (4, 5) for p in ('deadly', 'lru')]\n"
        f"    print(dict(sweep(runs, {str(tmp_path / 'runs.jsonl')!r}, jobs=2).statuses))\n"
    )
    ran = subprocess.run(
        [sys.executable, script], env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )
    assert ran.returncode == 0, ran.stderr
    assert eval(ran.stdout) == {"failed": 2, "feasible": 2}
    failed = [r for r in read_runs(tmp_path / "runs.jsonl") if r["status"] == "failed"]
    assert {r["player"] for r in failed} == {"deadly"}
    assert "died 3 times (signal 9)" in failed[0]["error"]


def test_a_killed_parent_loses_only_the_runs_in_flight(
    tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    path = tmp_path / "runs.jsonl"
    argv = [f"--memory={MANY.memory[0]}", "-s", ",".join(MANY.strategies), "-o", str(path), "-j", "2"]
    parent = subprocess.Popen(
        [sys.executable, "-m", "pebble", "sweep", *MANY.graphs, *argv], env=environment(), cwd=ROOT
    )
    until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 30, "30 runs")
    workers = children_of(parent.pid)
    assert len(workers) >= 2
    parent.kill()
    parent.wait()
    done = read_runs(path)
    assert 30 <= len(done) < 200
    until(lambda: not any(is_alive(pid) for pid in workers), "the workers to end with their parent")
    resumed = sweep(MANY, path, jobs=2, resume=True)
    assert resumed.skipped == len(done)
    assert figures(resumed.records) == expected
    keys = [record["key"] for record in read_runs(path)]
    assert len(keys) == len(set(keys)) == len(path.read_text().splitlines()) == 200


def children_of(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(status.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two workers, each a process of this test's, on the loopback interface."""
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet: dict[str, Any] = {
        "env": environment() | {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [
        "dask_worker",
        address,
        "--no-nanny",
        "--nthreads",
        "1",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for name, *rest in (scheduler, worker, worker):
            started.append(
                subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *rest], **quiet)
            )
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_the_verb_runs_on_a_cluster(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, _ = cluster
    path = tmp_path / "runs.jsonl"
    argv = ["sweep", "fft:8", "-M", "4,5", "-s", "lru", "-o", str(path), "--scheduler", address]
    assert main(argv) == 0
    assert len(read_runs(path)) == 4
    assert main([*argv, "--jobs", "2", "--resume"]) == 2
    assert "the cluster has its own workers" in capsys.readouterr().err


def test_a_cluster_loses_a_worker_and_nothing_else(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    from distributed import Client

    from experiments.executors import dask_executor

    address, workers = cluster
    with Client(address, timeout=TIMEOUT) as client:
        client.wait_for_workers(2, timeout=TIMEOUT)

    def kill_one(progress: SweepProgress) -> None:
        if progress.done == 40:
            workers[0].kill()

    path = tmp_path / "runs.jsonl"
    with dask_executor(address) as (executor, in_flight):
        summary = sweep(MANY, path, executor=executor, in_flight=in_flight, on_progress=kill_one)
    assert workers[0].wait(TIMEOUT) == -signal.SIGKILL
    assert summary.failed == 0
    assert figures(summary.records) == expected
    by_worker = {record["worker"] for record in summary.records}
    assert by_worker == {f"{socket.gethostname()}:{worker.pid}" for worker in workers}
    assert len(path.read_text().splitlines()) == 200


def test_no_scheduler_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr("experiments.executors._SECONDS_TO_CONNECT", 1)
    argv = ["sweep", "fft:8", "-M", "4", "-s", "lru", "-o", str(tmp_path / "r.jsonl")]
    assert main([*argv, "--scheduler", address]) == 2
    assert f"no Dask scheduler answers at {address}" in capsys.readouterr().err.splitlines()[-1]
