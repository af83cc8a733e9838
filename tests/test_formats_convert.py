"""`pebble convert`: graphs between formats, schedules as moves and as supersteps."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import graphs
import pebble
import strategies
from pebble.cli.main import main
from pebble.errors import FormatError
from pebble.formats import read_graph
from pebble.formats.schedule_text import moves_lines, parse_moves
from pebble.formats.supersteps import superstep_lines
from pebble.moves import Op
from tests.tiny_graphs import tiny_graph

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_graph_through_many_formats(capsys: pytest.CaptureFixture[str]) -> None:
    names = [
        "g.edges",
        "g.dot",
        "g.graphml.gz",
        "g.json",
        "g.hdag",
        "g.dag",
        "g.mtx",
        "g.kth",
        "g.csv",
        "g.cdag",
    ]
    assert main(["convert", "fft:8", names[0], "-q"]) == 0
    for before, after in pairwise(names):
        assert main(["convert", before, after]) == 0
        assert f"wrote {after}: 32 vertices, 48 edges as" in capsys.readouterr().err
    assert read_graph(names[-1]) == graphs.build("fft:8")
    assert main(["convert", "fft:8", "g.any", "--to", "dot", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "input": "fft:8",
        "output": "g.any",
        "format": "dot",
        "num_vertices": 32,
        "num_edges": 48,
    }
    assert main(["convert", "g.any", "-", "--to", "kth"]) == 0


def test_through_pipes(folder: Path) -> None:
    (folder / "g.txt").write_text("3\n1 :\n2 : 1\n3 : 1 2\n")
    command = [sys.executable, "-m", "pebble"]
    written = subprocess.run(
        [*command, "convert", str(folder / "g.txt"), "-", "--to", "dot"],
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    assert written.stdout.startswith(b"digraph {")
    shown = subprocess.run(
        [*command, "info", "-", "--json"], input=written.stdout, capture_output=True, check=True, cwd=ROOT
    )
    assert json.loads(shown.stdout)["num_edges"] == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("convert absent.dot g.kth", "absent.dot: cannot be read: No such file"),
        ("convert fft:8 g.bench", "g.bench: bench is only read; write one of edge-list"),
        ("convert fft:8 g.txt --to dto", "no graph format 'dto'; did you mean 'dot'?"),
        ("convert fft:8 g.moves", "a graph is no schedule: 'fft:8' has no moves"),
        ("convert fft:8 g.dot -M 4", "it goes with a schedule"),
        ("convert fft:8 g.dot --embed", "it goes with a schedule"),
        ("convert fft:8 g.dot --rules one-shot", "it goes with a schedule"),
        (
            "convert few.moves g.dot --graph chain:3 -M 3 --embed",
            "not with dot",
        ),
        (
            "convert few.moves g.moves --graph chain:3 -M 3 --embed",
            "not with moves",
        ),
        ("convert own.schedule g.moves --rules one-shot", "a schedule file says this itself"),
        ("convert own.schedule g.moves -M 5", "a schedule file says this itself"),
        ("convert fft:8 g.dot --format dot", "it goes with a file, not with a spec"),
        ("convert few.moves s.schedule", "bare moves need their graph and memory"),
        ("convert few.moves s.schedule --graph fft:8 -M 3,4", "one M is needed, not 2"),
        ("convert few.moves s.schedule --graph fft:8 -M 3", "few.moves:2: 'X7' is no move"),
        ("convert few.moves s.schedule --format supersteps", "supersteps are only written"),
        (
            "convert two.txt g.dot",
            "two.txt:3: hyperedge 7 is out of range, the file says they go from 0 to 1 (the",
        ),
    ],
)
def test_faults(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.moves").write_text("L0 L1\nX7\n" if "fft" in command else "L0\n")
    pebble.Schedule.from_moves(pebble.Instance(graphs.build("chain:3"), 3), ["L0"]).save("own.schedule")
    Path("two.txt").write_text("2 1 2\n0 1\n7 1\n0 1\n0 0\n1 0\n")
    assert main(command.split()) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert not list(Path().glob("g.*"))


@pytest.mark.usefixtures("folder")
def test_a_format_that_the_suffix_does_not_tell(capsys: pytest.CaptureFixture[str]) -> None:
    # As an edge list this has four edges, as a plain DAG one.
    Path("g.txt").write_text("2 1\n0 1\n1 1\n0 1\n1 3\n0 1\n")
    assert main(["info", "g.txt", "--json", "--format", "plain-dag"]) == 0
    assert json.loads(capsys.readouterr().out)["num_edges"] == 1
    assert main(["convert", "g.txt", "g.json", "--format", "plain-dag", "-q"]) == 0
    assert read_graph("g.json").weight(1) == 3
    assert main(["play", "g.txt", "-M", "4", "-s", "belady", "--format", "plain_dag"]) == 0
    assert main(["info", "g.txt", "--format", "plane-dag"]) == 2
    assert "no graph format 'plane-dag'; did you mean 'plain-dag'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_schedule_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "fft:8", "-M", "6", "-s", "belady", "-o", "s.schedule", "-q"]) == 0
    assert main(["convert", "s.schedule", "s.moves"]) == 0
    assert main(["convert", "s.moves", "t.schedule", "--graph", "fft:8", "-M", "6", "--embed"]) == 0
    assert main(["convert", "t.schedule", "s.supersteps"]) == 0
    assert main(["convert", "t.schedule", "g.dot"]) == 0
    capsys.readouterr()
    assert main(["verify", "t.schedule", "--json"]) == 0
    theirs = json.loads(capsys.readouterr().out)
    assert main(["verify", "s.schedule", "--json"]) == 0
    ours = json.loads(capsys.readouterr().out)
    assert ours["io"] == theirs["io"]
    assert read_graph("g.dot") == graphs.build("fft:8")
    assert Path("s.supersteps").read_text().startswith("%% PebblingSchedule for 1 processors and ")


# -- the texts of schedules -------------------------------------------------------------------------------

_LINE = re.compile(r"(Compute|Evict|Send up|Send down) (\d+) (?:on|from|to) proc 0 in superstep (\d+)")
_PHASE = {"Compute": 0, "Send up": 1, "Evict": 2, "Send down": 3}
_OP = {"Compute": Op.COMPUTE, "Send up": Op.STORE, "Evict": Op.DELETE, "Send down": Op.LOAD}


def played(seed: int) -> pebble.Schedule:
    tiny = tiny_graph(seed)
    return strategies.play("belady", pebble.Instance(tiny.cdag, tiny.M))


def test_a_schedule_called_pebble_stays_a_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["play", "fft:8", "-M", "6", "-s", "belady", "-o", "s.pebble", "-q"]) == 0
    assert main(["convert", "s.pebble", "s.moves"]) == 0
    assert main(["convert", "s.moves", "t.pebble.gz", "--graph", "fft:8", "-M", "6"]) == 0
    assert main(["convert", "s.pebble", "s.pebble", "--embed"]) == 0
    for name in ("s.pebble", "t.pebble.gz"):
        assert main(["verify", name]) == 0, name
    assert main(["convert", "s.pebble", "g.pebble", "--to", "pebble"]) == 0
    assert (tmp_path / "g.pebble").read_text().startswith("red-blue-pebble graph")
    capsys.readouterr()


@pytest.mark.parametrize("seed", range(30))
def test_supersteps_keep_the_moves_and_their_phases(seed: int) -> None:
    schedule = played(seed)
    head, *lines = "".join(superstep_lines(schedule, "given")).splitlines()
    rows = [match.groups() for line in lines if (match := _LINE.fullmatch(line))]
    assert len(rows) == len(lines)
    moves = [f"{'LSCD'[_OP[word]]}{v}" for word, v, _ in rows]
    assert moves == schedule.text().split()
    steps = [int(step) for _, _, step in rows]
    assert steps == sorted(steps)
    assert head == f"%% PebblingSchedule for 1 processors and {max(steps, default=-1) + 1} supersteps."
    for step in set(steps):
        words = [word for word, _, s in rows if int(s) == step]
        # An eviction right after a compute, or after another such one, belongs to the computes.
        while "Compute" in words:
            words.pop(0)
        while words and words[0] == "Evict":
            words.pop(0)
        phases = [_PHASE[word] for word in words]
        assert phases == sorted(phases)
        assert {word for word, _, s in rows if int(s) == step} >= {rows[steps.index(step)][0]}
    # In any order within its phase a superstep is legal: loads, stores and evictions commute.
    rng = random.Random(seed)
    shuffled: list[str] = []
    for step in sorted(set(steps)):
        part = [(word, v) for word, v, s in rows if int(s) == step]
        cut = max((i + 1 for i, (word, _) in enumerate(part) if word == "Compute"), default=0)
        while cut and cut < len(part) and part[cut][0] == "Evict":
            cut += 1
        tail = sorted(part[cut:], key=lambda row: (_PHASE[row[0]], rng.random()))
        shuffled += [f"{'LSCD'[_OP[word]]}{v}" for word, v in part[:cut] + tail]
    again = pebble.Schedule.from_moves(schedule.instance, shuffled)
    assert pebble.verify(again).io == pebble.verify(schedule).io


@pytest.mark.parametrize("rules", ["one-shot+sliding", "partial", "hong-kung+no-delete"])
def test_supersteps_refuse_what_they_cannot_say(rules: str) -> None:
    instance = pebble.Instance(graphs.build("chain:3"), 3, rules)
    schedule = pebble.Schedule(instance, np.empty(0, dtype=np.uint32))
    with pytest.raises(FormatError, match=re.escape(f"no form for the rule set {rules}")):
        list(superstep_lines(schedule, "given"))


@pytest.mark.parametrize("seed", range(5))
def test_bare_moves(seed: int) -> None:
    schedule = played(seed)
    text = "".join(moves_lines(schedule)).encode()
    back = parse_moves(text, "given", schedule.instance)
    assert back == schedule
    assert back.moves.dtype == schedule.moves.dtype
    beyond = parse_moves(b"L4294967296 # far away\n", "given", schedule.instance)
    assert beyond.text() == "L4294967296"
