"""The examples run, print what the tutorial says, and the tutorial names them all."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from experiments.grid import read_grids, runs_of

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def run(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_the_tutorial_names_six_scripts() -> None:
    named = dict.fromkeys(re.findall(r"\(\.\./examples/(\w+\.py)\)", TUTORIAL))
    assert len(named) == 6
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*named, "demo.py"}


def test_custom_dag(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run("custom_dag.py", capsys)
    assert lines[0] == "9 files; the largest step needs 6 words"
    for line in lines[1:4]:
        assert line in TUTORIAL
    assert lines[-1].startswith("the last schedule: L")


def test_crossover_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure.svg"
    monkeypatch.setattr(sys, "argv", ["crossover_figure.py", str(picture)])
    lines = run("crossover_figure.py", capsys)
    first = re.fullmatch(r"from M = (.*) d² on two-pass moves less than algorithm6", lines[0])
    assert first is not None
    assert 1.1 < float(first[1]) < 1.4
    assert "<svg" in picture.read_text()


def test_exact_and_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run("exact_and_bounds.py", capsys)
    optima = {}
    for line in lines[1:]:
        found = re.match(r"M=(\d+): optimal (\d+); bounds: (.*)", line)
        assert found is not None, line
        optima[int(found[1])] = int(found[2])
        assert all(int(bound.split()[-1]) <= int(found[2]) for bound in found[3].split(", "))
    assert optima == {4: 17, 5: 14, 6: 13, 7: 12}


def test_pyramid_lecture(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run("pyramid_lecture.py", capsys)
    assert "refused: move 3 (L2): all 3 red words are in use" in lines
    assert [line.split(",")[0] for line in lines if line.startswith("M=")] == [
        "M=3: 11 I/Os",
        "M=4: 7 I/Os",
        "M=5: 5 I/Os",
        "M=6: 5 I/Os",
    ]


def test_the_grid_of_the_tutorial(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", TUTORIAL, re.DOTALL)
    file = tmp_path / "grid.toml"
    file.write_text(text)
    assert len(runs_of(read_grids(file))) == 2 * 4 * 4 + 3 * 2 * 2
