"""``pebble view`` and the page it writes, as far as that needs no browser."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solvers
from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.draw.page import Reference, viewer_page
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Result
from pebble.schedule import Schedule
from strategies.playing import play


def _data(page: str) -> Any:
    """The numbers that a page carries."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def _numbers(text: str, dtype: str) -> list[int]:
    return np.frombuffer(base64.b64decode(text), dtype=dtype).tolist()


def test_a_page_carries_the_schedule_and_the_graph() -> None:
    schedule = play("belady", Instance(build("fft:8"), 4))
    data = _data(viewer_page(schedule.instance, schedule, Reference(optimum=9, bound=7)))
    assert _numbers(data["schedule"]["moves"], "<u4") == schedule.moves.tolist()
    assert data["schedule"]["cost"] == verify(schedule).to_dict()
    assert data["schedule"]["steps"] is None
    assert _numbers(data["graphData"]["indices"], "<i4") == schedule.instance.cdag.indices.tolist()
    assert data["graphData"]["names"][0] == "x[0]"
    assert (data["reference"]["optimum"], data["reference"]["bound"], data["M"]) == (9, 7, 4)
    assert data["opening"] == "watch"
    assert _data(viewer_page(schedule.instance, schedule, play=True))["opening"] == "play"


def test_a_large_graph_goes_in_tiles_and_steps() -> None:
    schedule = play("belady", Instance(build("attention-backward:n=16,d=4"), 64))
    page = viewer_page(schedule.instance, schedule)
    data = _data(page)
    assert data["graphData"] is None
    assert data["schedule"]["moves"] is None
    steps, cost = data["schedule"]["steps"], verify(schedule)
    assert (steps["loads"][-1], steps["stores"][-1]) == (cost.loads, cost.stores)
    assert steps["ends"][-1] == data["schedule"]["numMoves"] == len(schedule)
    assert len(_numbers(steps["red"], "u1")) == len(steps["ends"]) * len(data["layouts"][0]["names"])
    assert len(page) < 4_000_000


def test_a_page_asks_for_nothing() -> None:
    page = viewer_page(Instance(build("fft:8"), 4))
    assert "default-src 'none'" in page
    assert re.findall(r"https?://|@import|<link[^>]+href=\"(?!data:)|src=", page) == []
    assert re.findall(r"@[A-Z]+@", page) == []


def test_labels_and_titles_cannot_leave_their_place() -> None:
    labels = ["</script><script>alert(1)</script>", "@STYLE@", "\u2028<!--"]
    g = CDAG.from_edges(3, [(0, 2), (1, 2)], labels=labels)
    page = viewer_page(Instance(g, 3), title="<b>@DATA@</b>")
    assert page.count("</script>") == 2
    assert "<title>&lt;b&gt;@DATA@&lt;/b&gt;</title>" in page
    assert _data(page)["graphData"]["names"] == labels
    assert _data(page)["title"] == "<b>@DATA@</b>"


def test_an_illegal_or_unfinished_schedule_says_so() -> None:
    instance = Instance(build("pyramid:2"), 3)
    illegal = _data(viewer_page(instance, Schedule.from_moves(instance, ["L0", "C4", "L1"])))["schedule"]
    assert illegal["problem"] == "move 1 (C4): computing 4 needs predecessor 1 red"
    assert (illegal["numMoves"], illegal["cost"]) == (1, None)
    short = _data(viewer_page(instance, Schedule.from_moves(instance, ["L0"])))["schedule"]
    assert "1 output(s) not blue" in short["problem"]
    assert short["numMoves"] == 1


def test_view_a_graph_finds_the_optimum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.html"
    assert main(["view", "pyramid:2", "-M", "3", "-o", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["optimum"], document["lower_bound"], document["best"]) == (6, 6, 6)
    assert main(["view", "pyramid:2", "-M", "3", "-o", str(out)]) == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["optimum", "6"] in words
    assert ["page", str(out), "(0.1", "MB)"] in words
    data = _data(out.read_text(encoding="utf-8"))
    assert (data["title"], data["opening"], data["reference"]["optimum"]) == ("pyramid:2", "play", 6)
    assert data["schedule"]["cost"]["io"] == 6


def test_view_interrupted_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = solvers.solve

    def interrupted(*args: Any, **kwargs: Any) -> Result:
        return dataclasses.replace(real(*args, **kwargs), limit_hit="interrupted")

    monkeypatch.setattr(solvers, "solve", interrupted)
    out = tmp_path / "p.html"
    assert main(["view", "pyramid:2", "-M", "3", "-o", str(out), "--json"]) == 130
    captured = capsys.readouterr()
    assert json.loads(captured.out)["best"] == 6
    assert captured.err == "pebble: interrupted: the page shows the best known so far\n"
    assert _data(out.read_text(encoding="utf-8"))["title"] == "pyramid:2"


def test_view_a_graph_without_M_takes_the_least(tmp_path: Path) -> None:
    out = tmp_path / "p.html"
    assert (
        main(["view", "fft:8", "--time", "0", "--best", "40", "--rules", "one-shot", "-o", str(out), "-q"])
        == 0
    )
    data = _data(out.read_text(encoding="utf-8"))
    assert (data["M"], data["rules"], data["schedule"]) == (3, "one-shot", None)
    assert (data["reference"]["optimum"], data["reference"]["best"]) == (None, 40)
    assert data["reference"]["bound"] >= 16


def test_view_a_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schedule = play("lru", Instance(build("grid:4x4"), 3))
    schedule.save(tmp_path / "s.pebble.gz")
    out = tmp_path / "s.html"
    assert main(["view", str(tmp_path / "s.pebble.gz"), "-o", str(out), "--time", "0"]) == 0
    data = _data(out.read_text(encoding="utf-8"))
    assert (data["opening"], data["title"]) == ("watch", "grid:4x4")
    assert data["schedule"]["cost"]["io"] == data["reference"]["best"] == verify(schedule).io
    assert data["schedule"]["producer"] == schedule.producer
    assert main(["view", "grid:4x4", "-M", "3", "-s", "lru", "-o", str(out), "--time", "0"]) == 0
    again = _data(out.read_text(encoding="utf-8"))
    assert again["schedule"]["moves"] == data["schedule"]["moves"]
    capsys.readouterr()


def test_view_an_illegal_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = Instance(build("pyramid:2"), 3)
    Schedule.from_moves(instance, ["L0", "C4"]).save(tmp_path / "bad.pebble")
    out = tmp_path / "bad.html"
    assert main(["view", str(tmp_path / "bad.pebble"), "-o", str(out), "--time", "0"]) == 1
    assert "the schedule is illegal: move 1 (C4)" in capsys.readouterr().err
    assert _data(out.read_text(encoding="utf-8"))["schedule"]["problem"].startswith("move 1 (C4)")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fft:8", "-M", "2"], 1, "M=2 is infeasible"),
        (["fft:8", "-M", "3..5"], 2, "one M is needed, not 3"),
        (["s.pebble", "-M", "3"], 2, "a schedule file says this itself"),
        (["s.pebble", "--rules", "one-shot"], 2, "a schedule file says this itself"),
        (["s.pebble", "-s", "lru"], 2, "a schedule file is shown as it is"),
        (["fft:8", "--graph", "fft:8"], 2, "it goes with a schedule file"),
        (["fft:8", "-s", "nothing"], 2, "nothing"),
        (["nowhere.edges"], 2, "nowhere.edges"),
        (["fft:8", "-o", "no/where.html"], 2, "there is no folder 'no'"),
    ],
)
def test_what_view_refuses(
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Schedule.from_moves(Instance(build("pyramid:2"), 3), ["L0"]).save("s.pebble")
    assert main(["view", *arguments, "--time", "0"]) == code
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.glob("*.html"))


def test_the_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python and the commands of docs/viewer.md, and the position that it prints."""
    guide = (Path(__file__).parent.parent / "docs" / "viewer.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = "".join(re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL))
    exec(compile(code, "viewer.md", "exec"), {"__name__": "guide"})
    assert {path.name for path in tmp_path.iterdir()} == {"fft.svg", "schedule.svg"}
    commands = "".join(re.findall(r"^```sh\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL))
    assert commands.count("--rules") == 3
    for line in commands.splitlines():
        assert main(shlex.split(line, comments=True)[1:]) == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".html", ".pebble"}
    capsys.readouterr()
    moves = ["L0", "L1", "C3", "D0", "L2", "C4", "D1", "D2", "C5", "S5"]
    Schedule.from_moves(Instance(build("pyramid:2"), 4), moves).save("pyramid.pebble")
    (shown,) = re.findall(r"^```text\n\$ pebble (.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    command, _, expected = shown.partition("\n")
    assert main(command.split()) == 0
    assert capsys.readouterr().out == expected


def test_drawing_costs_nothing_until_it_is_asked_for() -> None:
    code = (
        "import sys, pebble, pebble.cli.main; pebble.CDAG, pebble.Game, pebble.Schedule, pebble.Result;"
        "print([m for m in sys.modules if m.startswith('pebble.draw') or m in ('solvers', 'numba')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[]"
