"""Sweeps: grids, files, failures, exports, and the verb."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from experiments import Grid, Run, SweepProgress, perform, read_runs, sweep
from experiments.grid import read_grids, runs_of
from experiments.store import RunFile
from experiments.tables import write_csv, write_parquet
from pebble.cli.main import main
from pebble.errors import FormatError, GraphSpecError, PebbleError, UnknownNameError

SMALL = Grid(["pyramid:3", "fft:8"], ["4", "6"], strategies=["lru", "belady"], bounds=["best"])


def figures(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["key"], r["status"], r["io"], r["loads"], r["lower_bound"]) for r in records]


def test_a_grid_is_the_product_in_order() -> None:
    runs = SMALL.runs()
    assert len(runs) == len(set(runs)) == 2 * 2 * 3
    assert [(r.M, r.player) for r in runs[:4]] == [(4, "lru"), (4, "belady"), (4, "best"), (6, "lru")]
    assert [r.graph.partition(":")[0] for r in runs] == ["pyramid"] * 6 + ["fft"] * 6


def test_sizes_follow_each_graph() -> None:
    grid = Grid(["attention-backward:n=8,d=4", "attention-backward:n=8,d=6"], ["d^2"], count=["naive"])
    assert [r.M for r in grid.runs() if r.kind == "count"] == [16, 36]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"graphs": ["nothing:3"]}, UnknownNameError),
        ({"graphs": ["fft:7"]}, GraphSpecError),
        ({"strategies": ["nothing"]}, UnknownNameError),
        ({"strategies": ["lru:speed=3"]}, PebbleError),
        ({"bounds": ["nothing"]}, UnknownNameError),
        ({"solvers": ["nothing"]}, UnknownNameError),
        ({"memory": ["d^2"]}, PebbleError),
        ({"rules": ["nothing"]}, UnknownNameError),
    ],
)
def test_a_wrong_name_is_found_before_the_first_run(change: dict[str, Any], error: type[Exception]) -> None:
    grid = Grid(**{"graphs": ["fft:8"], "memory": ["4"], "strategies": ["lru"], **change})
    if change == {"graphs": ["fft:7"]}:
        # Sizes out of a family's range show when it is built: the run records them.
        assert perform(grid.runs()[0])["status"] == "failed"
        return
    with pytest.raises(error):
        grid.runs()


def test_each_kind_of_run() -> None:
    played = perform(Run("fft:8", 4, "hong-kung", "play", "belady"))
    assert played["status"] == "feasible"
    assert played["verified"]
    assert played["io"] == played["loads"] + played["stores"]
    counted = perform(Run("matmul:4x4x4", 16, "hong-kung", "count", "tiled"))
    again = perform(Run("matmul:4x4x4", 16, "hong-kung", "play", "tiled"))
    assert counted["io"] == again["io"]
    assert not counted["verified"]
    solved = perform(Run("matmul:1x2x1", 4, "hong-kung", "solve", "auto"))
    assert (solved["status"], solved["io"], solved["lower_bound"]) == ("optimal", 5, 5)
    bound = perform(Run("matmul:1x2x1", 4, "hong-kung", "bound", "compulsory"))
    assert (bound["status"], bound["lower_bound"]) == ("bound", 5)


@pytest.mark.parametrize(
    ("run", "status"),
    [
        (Run("fft:8", 2, "hong-kung", "play", "lru"), "infeasible"),
        (Run("fft:8", 8, "hong-kung", "play", "flash-attention"), "not-applicable"),
        (Run("fft:8", 8, "hong-kung", "bound", "attention-pairs"), "not-applicable"),
        (Run("no-such-file.txt", 8, "hong-kung", "play", "lru"), "failed"),
    ],
)
def test_what_goes_wrong_is_recorded(run: Run, status: str) -> None:
    record = perform(run)
    assert record["status"] == status
    assert record["error"]
    assert record["io"] is None


def test_a_graph_file_can_be_swept(tmp_path: Path) -> None:
    graph = tmp_path / "small.txt"
    graph.write_text("a c\nb c\nc d\n")
    runs = Grid([str(graph)], [3], strategies=["belady"]).runs()
    records = [perform(run) for run in runs]
    assert [(r["io"], r["lower_bound"]) for r in records] == [(3, None), (None, 3)]


def test_a_sweep_in_threads_writes_a_line_per_run(tmp_path: Path) -> None:
    seen: list[SweepProgress] = []
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(2) as pool:
        summary = sweep(SMALL, path, executor=pool, on_progress=seen.append)
    assert (summary.total, summary.skipped, summary.failed) == (12, 0, 0)
    assert len(path.read_text().splitlines()) == 12
    assert [r["key"] for r in summary.records] == [run.key for run in SMALL.runs()]
    assert sorted(figures(read_runs(path))) == sorted(figures(summary.records))
    assert (seen[0].done, seen[0].eta) == (0, None)
    assert (seen[-1].done, seen[-1].total, seen[-1].eta) == (12, 12, 0.0)


def test_a_file_with_runs_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(1) as pool:
        sweep(SMALL, path, executor=pool)
        before = path.read_bytes()
        with pytest.raises(FormatError, match="holds 12 runs: resume it"):
            sweep(SMALL, path, executor=pool)
        assert path.read_bytes() == before
        summary = sweep(SMALL, path, executor=pool, resume=True)
    assert summary.skipped == 12
    assert path.read_bytes() == before


def test_a_torn_last_line_costs_one_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(1) as pool:
        whole = sweep(SMALL, path, executor=pool)
        data = path.read_bytes()
        path.write_bytes(data[:-7])
        assert len(read_runs(path)) == 11
        summary = sweep(SMALL, path, executor=pool, resume=True)
    assert summary.skipped == 11
    assert figures(summary.records) == figures(whole.records)
    assert len(path.read_text().splitlines()) == 12


def test_damage_inside_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": "a"}\nnothing\n{"key": "b"}\n')
    with pytest.raises(FormatError, match="no record of a sweep") as caught:
        read_runs(path)
    assert caught.value.line == 2


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with (
        RunFile(tmp_path / "runs.jsonl"),
        pytest.raises(FormatError, match="another sweep is writing this file"),
    ):
        RunFile(tmp_path / "runs.jsonl")


def test_failed_runs_are_done_again_only_when_asked(tmp_path: Path) -> None:
    graph, path = tmp_path / "graph.txt", tmp_path / "runs.jsonl"
    graph.write_text("a b\n")
    run = Run(str(graph), 3, "hong-kung", "play", "lru")
    graph.unlink()
    with ThreadPoolExecutor(1) as pool:
        assert sweep([run], path, executor=pool).failed == 1
        graph.write_text("a b\n")
        assert sweep([run], path, executor=pool, resume=True).failed == 1
        summary = sweep([run], path, executor=pool, resume=True, retry_failed=True)
    assert (summary.failed, summary.records[0]["io"]) == (0, 2)
    assert [r["io"] for r in read_runs(path)] == [2]


class _Breaking(Executor):
    """Does two runs, then breaks as a pool does whose process was killed."""

    def __init__(self) -> None:
        self.done = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.done < 2:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(BrokenProcessPool("a process ended"))
        self.done += 1
        return future


def test_a_broken_executor_keeps_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with pytest.raises(PebbleError, match=r"the executor broke .* resume the sweep"):
        sweep(SMALL, path, executor=_Breaking(), in_flight=1)
    assert len(read_runs(path)) == 2
    with ThreadPoolExecutor(1) as pool:
        assert sweep(SMALL, path, executor=pool, resume=True).skipped == 2


def test_grids_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'bounds = "best"\n[[grid]]\ngraphs = ["fft:8", "fft:16"]\nmemory = "4..16:x2"\nstrategies = "lru"\n'
        '[[grid]]\ngraphs = "pyramid:3"\nmemory = [4, "5"]\nbounds = []\nsolvers = ["auto"]\ntime = 2\n'
    )
    runs = runs_of(read_grids(file))
    assert len(runs) == 2 * 3 * 2 + 2
    assert {run.limit.time for run in runs if run.kind == "solve"} == {2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graphs = [", "this is no TOML"),
        ('graphs = "fft:8"\nmemory = 4\nplayers = "lru"', "unknown key 'players'"),
        ('graphs = "fft:8"', "'memory' is missing"),
        ('graphs = "fft:8"\nmemory = 4\nstrategies = [3]', "'strategies' is to be a list of str"),
        ('graphs = "fft:8"\nmemory = 4\ntime = "long"', "'time' is to be a number"),
        ('grid = 3\ngraphs = "fft:8"', r"\[\[grid\]\]"),
    ],
)
def test_a_wrong_grid_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_grids(file)


def test_an_empty_grid_is_refused() -> None:
    with pytest.raises(PebbleError, match="the grid has no runs"):
        runs_of([Grid(["fft:8"], [4], bounds=[])])


def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    records = [perform(run) for run in (*SMALL.runs()[:3], Run("chain:4", 3, "one-shot", "play", "lru"))]
    write_csv(records, tmp_path / "runs.csv")
    write_parquet(records, tmp_path / "runs.parquet")
    with open(tmp_path / "runs.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pyarrow.read_table(tmp_path / "runs.parquet")
    assert list(rows[0]) == table.column_names
    assert [row["io"] for row in rows] == ["" if r["io"] is None else str(r["io"]) for r in records]
    assert table.column("io").to_pylist() == [r["io"] for r in records]
    assert table.column("params.n").to_pylist() == [r["params"].get("n") for r in records]


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, table = tmp_path / "runs.jsonl", tmp_path / "runs.csv"
    argv = ["sweep", "pyramid:3", "-M", "4,5", "-s", "lru", "-o", str(path), "--json", "-j", "1"]
    assert main([*argv, "--csv", str(table)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["skipped"]) == (4, 0)
    assert document["statuses"] == {"feasible": 2, "bound": 2}
    assert len(table.read_text().splitlines()) == 5
    assert main(argv) == 2
    assert "resume it" in capsys.readouterr().err
    assert main([*argv, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 4


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-M", "4"], "name GRAPHs and -M"),
        (["fft:8"], "name GRAPHs and -M"),
        (["fft:8", "-M", "4", "--grid", "x.toml"], "the file says what to run"),
        (["fft:8", "-M", "4", "--bounds", "none"], "the grid has no runs"),
        (["fft:8", "-M", "4", "--seeds", "a"], "no list of whole numbers"),
    ],
)
def test_the_verb_refuses(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *argv]) == 2
    assert message in capsys.readouterr().err
