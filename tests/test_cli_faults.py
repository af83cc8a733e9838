"""Bad input at the command line: one clear line on standard error, the right exit code, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pebble.cli.main import main

NODES = [{"id": i} for i in range(3)]
LINKS = [{"source": 0, "target": 1}, {"source": 1, "target": 2}]

FILES = {
    "cycle.txt": "0 1\n1 2\n2 0\n",
    "loop.txt": "0 1\n1 1\n",
    "twice.txt": "0 1\n1 2\n0 1\n",
    "range.txt": "# vertices 3\n0 1\n1 3\n",
    "three.txt": "0 1 2\n",
    "empty.txt": "",
    "binary.txt": "0 1\n\0\n",
    "damaged.txt.gz": "no gzip data",
    "links.json": json.dumps({"nodes": NODES, "links": LINKS}),
    "edges.json": json.dumps({"nodes": NODES, "edges": LINKS}),
    "neither.json": json.dumps({"nodes": NODES}),
    "cut.json": json.dumps({"nodes": NODES, "links": LINKS})[:30],
    "schedule.txt": "",
    "huge.txt": "# vertices 10000000000\n0 1\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.d").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        # Graph files.
        ("info cycle.txt", 2, "cycle.txt:1: the graph has a cycle: 0 -> 1 -> 2 -> 0"),
        ("play cycle.txt -M 3", 2, "cycle.txt:1: the graph has a cycle: 0 -> 1 -> 2 -> 0"),
        ("info loop.txt", 2, "loop.txt:2: vertex 1 has an edge to itself"),
        ("info range.txt", 2, "range.txt:3: vertex 3 is out of range"),
        ("info three.txt", 2, "three.txt:1: '0 1 2' has 3 fields: write one edge 'u v' per line"),
        ("info empty.txt", 2, "empty.txt: the file is empty"),
        ("info absent.txt", 2, "absent.txt: cannot be read: No such file or directory"),
        ("info folder.d", 2, "folder.d: cannot be read: Is a directory"),
        ("info binary.txt", 2, "binary.txt: the file is no text"),
        ("info damaged.txt.gz", 2, "damaged.txt.gz: the name ends in .gz, but this is no gzip data"),
        ("info neither.json", 2, 'neither.json: the JSON has neither "links" nor "edges"'),
        ("info cut.json", 2, "cut.json:1: the JSON is malformed"),
        # Specs.
        ("info fft:8,", 2, "'' in 'fft:8,' is no key=value"),
        ("info fft:n=", 2, "'n=' in 'fft:n=' is no key=value"),
        ("info fft", 2, "'fft' lacks n: fft takes n"),
        ("info fft:6", 2, "fft: n=6 is no power of two; the nearest are 4 and 8"),
        ("info chain:0", 2, "chain: n=0 is out of range"),
        ("info tree:leavs=4", 2, "tree has no parameter 'leavs'; did you mean 'leaves'?"),
        (
            "info atention-backward:n=4,d=2",
            2,
            "no graph family 'atention-backward'; did you mean 'attention-",
        ),
        ("info fft:1099511627776", 2, "fft:1099511627776 has about"),
        ("count links.json -M 4", 2, "no graph family 'links.json'"),
        # M.
        ("play fft:8 -M 0", 2, "M=0 leaves no red pebble"),
        ("play fft:8 -M -1", 2, "M=-1 leaves no red pebble"),
        ("play fft:8 -M 2.5", 2, "M=2.5 is not a whole number of words"),
        ("play fft:8 -M abc", 2, "M=abc is not a whole number of words"),
        ("play fft:8 -M d^2", 2, "M=d^2 is not a whole number of words, and the graph has n"),
        ("play fft:8 -M 2", 1, "M=2 is infeasible: computing vertex 8 needs 3 red words at once; use M >= 3"),
        ("play links.json -M 1", 1, "M=1 is infeasible: computing vertex 1 needs 2 red words at once"),
        # Strategies and rules.
        ("play fft:8 -M 4 -s belayd", 2, "no strategy 'belayd'; did you mean 'belady'?"),
        ("play fft:8 -M 4 -s belady:ordr=dfs", 2, "strategy 'belady' has no option 'ordr'"),
        ("play fft:8 -M 4 -s belady:dfs", 2, "'dfs' in strategy 'belady:dfs' is no option=value"),
        ("play fft:8 -M 4 -s belady,,lru", 2, "empty name in the list"),
        ("play fft:8 -M 4 -s flash-attention", 3, "strategy 'flash-attention' does not play fft:n=8"),
        ("play fft:8 -M 4 --rules hong-kong", 2, "no rule set 'hong-kong'; did you mean 'hong-kung'?"),
        ("count fft:8 -M 4 -s belayd", 2, "no strategy 'belayd'; did you mean 'belady'?"),
        ("play fft:8 -M 3,4 -s belady -o x", 2, "one schedule is saved, but -M names 2 values"),
        ("play fft:8 -M 4 -s belady -o no/such/x", 2, "no/such/x: cannot be written"),
        # Schedules.
        ("verify absent.pebble", 2, "absent.pebble: cannot be read: No such file or directory"),
        ("verify schedule.txt", 2, "schedule.txt: the file is empty"),
        ("verify links.json", 2, "links.json:1: this is no schedule file"),
        # Usage.
        ("plya fft:8 -M 4", 2, "No such command 'plya'. Did you mean 'play'?"),
        ("play fft:8", 2, "Missing option '-M'"),
        ("info", 2, "Missing argument 'GRAPH'"),
        ("play fft:8 -M 4 --jsn", 2, "No such option: --jsn"),
        ("list grphs", 2, "'grphs' is not one of"),
        ("play fft:8 -M 4 --seed x", 2, "Invalid value for '--seed'"),
        ("play fft:8 -M 4 -s random --seed -1", 2, "Invalid value for '--seed'"),
    ],
)
def test_one_clear_line(command: str, code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split(" ")) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("pebble: error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    if code != 3:
        assert captured.out == ""


@pytest.mark.usefixtures("folder")
def test_a_duplicate_edge_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "twice.txt", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "pebble: warning: 1 duplicate edge(s) merged, the first is (0, 1)\n"
    assert json.loads(captured.out)["num_edges"] == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["links.json", "edges.json", "-"])
def test_both_keys_of_json_and_standard_input(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("links.json") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["info", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_vertices"], found["num_edges"]) == (3, 2)
    assert found["graph"] == ("standard input" if name == "-" else name)


def test_a_star_is_refused_with_its_least_M(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "reduce:1000000,sums=flat", "-M", "10"]) == 1
    assert (
        "computing vertex 1000000 needs 1000001 red words at once; use M >= 1000001"
        in capsys.readouterr().err
    )


def _python(code: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parent.parent
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=60,
    )


HEAVY = "{'numba', 'ortools', 'scipy', 'networkx', 'matplotlib'} & set(sys.modules)"


@pytest.mark.parametrize("argv", [["--help"], ["play", "--help"], ["list", "rules"], ["info", "fft:8"]])
def test_the_help_is_light(argv: list[str]) -> None:
    ran = _python(
        f"import sys; from pebble.cli.main import main; main({argv}); print('loaded', sorted({HEAVY}))"
    )
    assert ran.stdout.splitlines()[-1] == "loaded []", ran.stderr


def test_importing_the_packages_is_light() -> None:
    ran = _python(f"import sys, pebble, graphs, strategies, solvers; print(sorted({HEAVY}))")
    assert ran.stdout == "[]\n", ran.stderr


def test_the_module_is_the_command() -> None:
    root = Path(__file__).resolve().parent.parent
    ran = subprocess.run(
        [sys.executable, "-m", "pebble", "info", "fft:7"],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "pebble: error: fft: n=7 is no power of two; the nearest are 4 and 8\n"


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    run: Callable[[list[str]], int] = main
    assert run([]) == 0
    help_text = capsys.readouterr().out
    for verb in ("list", "info", "play", "count", "verify", "doctor"):
        assert f"  {verb} " in help_text
        assert main([verb, "--help"]) == 0
        assert "--json" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("red-blue-pebble ")


@pytest.mark.parametrize(
    "command",
    [
        "play fft:8 -M 6 -o .",
        "hierarchy fft:8 -M 6,9 -o .",
        "solve pyramid:2 -M 4 -o .",
        "view fft:8 -M 6 -o .",
    ],
)
def test_a_folder_to_write_to_is_refused_before_any_work(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "pebble: error: .: cannot be written: it is a folder\n"


def test_names_are_printed_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a[bold]:back:.txt"
    Path(name).write_text("0 1\n")
    assert main(["play", name, "-M", "2..3", "-s", "belady"]) == 0
    assert main(["solve", name, "-M", "2..3", "-q"]) == 0
    out = capsys.readouterr().out
    assert out.count(f"{name}: 2 vertices") == 3
