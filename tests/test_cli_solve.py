"""``pebble solve``: what it prints, its JSON, its files, its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from graphs.catalog import build
from pebble.cli.main import main
from pebble.referee import verify
from pebble.schedule import Schedule


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*argv: str) -> Ran:
        code = main(["solve", *argv])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


def test_one_M(run: Run) -> None:
    ran = run("fft:4", "-M", "4")
    assert ran.code == 0
    assert "I/O cost     11  optimal" in ran.out
    assert "lower bound  11" in ran.out
    assert "pebble:" in ran.err
    assert "best 11" in ran.err
    assert run("fft:4", "-M", "4", "-q").err == ""


def test_json_is_the_result(run: Run) -> None:
    ran = run("fft:4", "-M", "4", "--json", "--rules", "one-shot", "--method", "ilp", "--seed", "7")
    document = ran.json
    assert {key: document[key] for key in ("graph", "num_vertices", "num_edges", "M", "rules")} == {
        "graph": "fft:4",
        "num_vertices": 12,
        "num_edges": 16,
        "M": 4,
        "rules": "one-shot",
    }
    assert (document["status"], document["io"], document["lower_bound"], document["gap"]) == (
        "optimal",
        11,
        11,
        0.0,
    )
    assert document["method"] == "ilp"
    assert document["seed"] == 7
    assert document["bound"]["name"] == "ilp"


def test_a_range(run: Run) -> None:
    ran = run("pyramid:3", "-M", "2..6", "--json")
    assert ran.code == 0
    assert [(d["M"], d["status"], d["io"]) for d in ran.json] == [
        (2, "infeasible", None),
        (3, "optimal", 11),
        (4, "optimal", 7),
        (5, "optimal", 5),
        (6, "optimal", 5),
    ]
    text = run("pyramid:3", "-M", "2..6")
    assert text.code == 0
    assert "infeasible" in text.out
    assert "M=2 is infeasible" in text.err


def test_infeasible(run: Run) -> None:
    ran = run("pyramid:3", "-M", "2")
    assert ran.code == 1
    assert "needs 3 red words" in ran.err
    assert ran.out == ""
    assert run("pyramid:3", "-M", "2", "--json").json["status"] == "infeasible"


def test_the_check(run: Run) -> None:
    ran = run("matmul:2x2x2", "-M", "4", "--check", "--json")
    assert ran.code == 0
    rows = ran.json["check"]
    assert {row["kind"] for row in rows} == {"bound", "strategy"}
    assert all(row["value"] <= 17 for row in rows if row["kind"] == "bound")
    assert all(row["value"] >= 17 for row in rows if row["kind"] == "strategy")
    text = run("matmul:2x2x2", "-M", "4", "--check").out
    assert "compulsory" in text
    assert "belady" in text
    assert "verdict" in text


def test_a_contradiction_fails_the_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from solvers.checking import CheckRow

    wrong = CheckRow("bound", "made up", 99, 9.0, "wrong", "nobody")
    monkeypatch.setattr("solvers.checking.check", lambda *_: [wrong])
    ran = run("fft:4", "-M", "4", "--check")
    assert ran.code == 1
    assert "made up" in ran.out


def test_saving_and_exporting(run: Run, tmp_path: Path) -> None:
    saved, exported = tmp_path / "best.pebble.gz", tmp_path / "model.mps"
    ran = run("fft:4", "-M", "4", "--rules", "one-shot", "-o", str(saved), "--export", str(exported))
    assert ran.code == 0
    assert verify(Schedule.load(saved, build("fft:4"))).io == 11
    assert "8 computes" in ran.err
    assert exported.read_text().count("before_") > 8
    for option, path in (("-o", saved), ("--export", exported)):
        several = run("fft:4", "-M", "3,4", option, str(path))
        assert several.code == 2
        assert "one file is written" in several.err
        assert run("fft:4", "-M", "4", option, str(tmp_path / "no" / "x.lp")).code == 2
    unknown = run("fft:4", "-M", "4", "--export", str(tmp_path / "model.txt"))
    assert unknown.code == 2
    assert "model.txt: names no format of a model" in unknown.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fft:4", "-M", "4", "--method", "serach"), 2, "did you mean 'search'"),
        (("fft:4", "-M", "4", "--method", "ilp:foo=1"), 2, "no option 'foo'"),
        (("fft:4", "-M", "4", "--rules", "two-shot"), 2, "no rule set 'two-shot'"),
        (("fft:4", "-M", "4", "--time", "-1"), 2, "--time"),
        (("fft:4", "-M", "many"), 2, "not a whole number"),
        (("fft:4",), 2, "-M"),
        (("grid:40x40", "-M", "4", "--method", "ilp"), 3, "constraints"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_limits_leave_an_answer(run: Run) -> None:
    ran = run("matmul:3x3x3", "-M", "5", "--time", "0.001", "--json", "-q")
    assert ran.code == 0
    document = ran.json
    assert (document["status"], document["limit_hit"]) == ("feasible", "time")
    assert 27 <= document["lower_bound"] < document["io"]
    few = run("fft:8", "-M", "4", "--method", "search", "--nodes", "50", "--json", "-q").json
    assert (few["status"], few["limit_hit"]) == ("feasible", "nodes")
    close = run("fft:8", "-M", "4", "--gap", "5", "--json", "-q").json
    assert (close["status"], close["limit_hit"]) == ("feasible", "gap")


def test_no_answer_is_exit_code_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from pebble.result import Result, Status

    nothing = Result(Status.UNKNOWN, None, None, 5, None, "search", limit_hit="time")
    monkeypatch.setattr("solvers.solving.solve", lambda *_, **__: nothing)
    assert run("fft:4", "-M", "4", "-q").code == 3


def test_a_graph_from_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.edges"
    path.write_text("0 2\n1 2\n2 3\n")
    ran = run(str(path), "-M", "3", "--json", "-o", str(tmp_path / "s.txt"))
    assert (ran.code, ran.json["io"]) == (0, 3)
    assert verify(Schedule.load(tmp_path / "s.txt")).io == 3


def test_ctrl_c_prints_the_best_so_far() -> None:
    command = [sys.executable, "-m", "pebble", "solve", "matmul:3x3x3", "-M", "5,6", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "bound" in line
    time.sleep(1.0)
    # As a terminal does: to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    documents = json.loads(out)
    assert [d["limit_hit"] for d in documents] == ["interrupted", "interrupted"]
    assert all(27 <= d["lower_bound"] <= d["io"] for d in documents)


def test_a_file_is_called_by_its_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "path.edges"
    file.write_text("0 1\n1 2\n")
    assert run(str(file), "-M", "2").out.startswith(f"{file}, M=2, rules hong-kung")
