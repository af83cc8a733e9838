"""``pebble show``: graphs and positions as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.draw.position import Position
from pebble.draw.text import graph_text, position_text
from pebble.instance import Instance
from pebble.referee import verify
from pebble.schedule import Schedule
from strategies.playing import play

MOVES = "L0 L1 C3 D0 L2 C4 D1 D2 C5 S5"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    instance = Instance(build("pyramid:2"), 4)
    schedule = Schedule.from_moves(instance, MOVES.split(" "))
    schedule.save(tmp_path / "s.pebble")
    return tmp_path / "s.pebble"


def test_a_graph_as_text() -> None:
    assert graph_text(build("pyramid:2")).splitlines() == [
        "layer 0  sources: x[0], x[1], x[2]",
        "layer 1  v3 from x[0], x[1]",
        "         v4 from x[1], x[2]",
        "layer 2  y[0] from v3, v4 (output)",
    ]
    assert graph_text(CDAG.from_edges(0, [])) == ""
    large = graph_text(build("attention-backward:n=16,d=4"))
    assert "S 16×16" in large
    assert "1,792 vertices" in large


def test_a_position_as_layers() -> None:
    instance = Instance(build("pyramid:2"), 4)
    schedule = Schedule.from_moves(instance, [*MOVES.split(" "), "D3"])
    assert position_text(instance.cdag, Position.after(schedule, 6)).splitlines() == [
        "layer 2  y[0] .",
        "layer 1    v3 R    v4 R",
        "layer 0  x[0] B  x[1] P  x[2] P",
    ]
    assert position_text(instance.cdag, Position.after(schedule, 11)).splitlines()[:2] == [
        "layer 2  y[0] P",
        "layer 1    v3 x    v4 R",
    ]


def test_a_position_as_arrays() -> None:
    g = build("matmul:2x3x2")
    schedule = Schedule.from_moves(Instance(g, 4), ["L0", "L6", "C12", "D0", "D6", "S12"])
    lines = position_text(g, Position.after(schedule, 6)).splitlines()
    assert lines[0] == "A 2×3   B 3×2   C 2×2 + 1R 1B of 16 partial"
    assert lines[1] == "B B B   B B     . ."
    large = build("attention-backward:n=16,d=4")
    text = position_text(large, Position.start(large))
    words = [" ".join(line.split()) for line in text.splitlines()]
    assert "Q 16×4 64 vertices 0 red 64 blue 0 computed" in words


def test_show_a_graph(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "pyramid:2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("pyramid:2: 6 vertices, 6 edges, least M 3\nlayer 0  sources: x[0], x[1], x[2]\n")
    assert main(["show", "pyramid:2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["edges"] == build("pyramid:2").edges().tolist()


def test_show_a_position(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(saved), "--at", "6"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pyramid:2, M=4, rules hong-kung, after 6 of 10 moves, last C4, next D1"
    assert lines[1] == "I/O 3 (3 loads, 0 stores), red words 4 of 4, outputs missing"
    assert "layer 0  x[0] B  x[1] P  x[2] P" in lines
    assert lines[-1].startswith("R red  B blue  P red and blue")
    assert main(["show", str(saved), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["at"], document["over"], document["last"], document["next"]) == (10, True, "S5", None)
    assert (document["io"], document["red"], document["blue"]) == (4, [3, 4, 5], [0, 1, 2, 5])
    assert document["io"] == verify(Schedule.load(saved, build("pyramid:2"))).io


def test_what_show_refuses(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(saved), "--at", "11"]) == 2
    assert "the schedule has 10 moves" in capsys.readouterr().err
    assert main(["show", "fft:8", "--at", "1"]) == 2
    assert "it goes with a schedule file" in capsys.readouterr().err
    instance = Instance(build("pyramid:2"), 3)
    Schedule.from_moves(instance, ["L0", "C3", "L1"]).save(tmp_path / "bad.pebble")
    assert main(["show", str(tmp_path / "bad.pebble"), "--at", "1"]) == 0
    assert main(["show", str(tmp_path / "bad.pebble"), "--at", "2"]) == 1
    assert "move 1 (C3): computing 3 needs predecessor 1 red" in capsys.readouterr().err


def test_show_reads_files_that_hold_their_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The names of a known graph where the file names it, the edges in the file where it does not."""
    schedule = play("belady", Instance(build("fft:8"), 4))
    schedule.save(tmp_path / "known.pebble", embed=True)
    assert main(["show", str(tmp_path / "known.pebble")]) == 0
    assert "x[7] B" in capsys.readouterr().out
    text = (tmp_path / "known.pebble").read_text().replace("graph: fft:n=8", "graph: fft:n=16")
    (tmp_path / "unknown.pebble").write_text(text)
    assert main(["show", str(tmp_path / "unknown.pebble")]) == 0
    assert "v7 B" in capsys.readouterr().out
    custom = CDAG.from_edges(3, [(0, 2), (1, 2)], labels=["a", "b", "c"])
    Schedule.from_moves(Instance(custom, 3), ["L0", "L1", "C2", "S2"]).save(
        tmp_path / "own.pebble", embed=True
    )
    assert main(["show", str(tmp_path / "own.pebble")]) == 0
    assert "a P  b P" in capsys.readouterr().out
    Schedule.from_moves(Instance(custom, 3), ["L0"]).save(tmp_path / "bare.pebble")
    assert main(["show", str(tmp_path / "bare.pebble")]) == 2
    assert "give it with --graph" in capsys.readouterr().err
    (tmp_path / "g.edges").write_text("0 2\n1 2\n")
    assert main(["show", str(tmp_path / "bare.pebble"), "--graph", str(tmp_path / "g.edges")]) == 0
