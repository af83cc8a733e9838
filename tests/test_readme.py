"""What the README and CONTRIBUTING say is run: their Python, their commands, the table of results."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphs
import solvers
import strategies
from pebble.cli.main import main
from pebble.instance import Instance

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def registries() -> Iterator[None]:
    """Whatever an example registers is forgotten again."""
    from graphs.catalog import REGISTRY as FAMILIES
    from strategies.catalog import REGISTRY as STRATEGIES

    kept = [(r, dict(r._entries), dict(r._canonical)) for r in (FAMILIES, STRATEGIES)]
    yield
    for registry, entries, canonical in kept:
        registry._entries, registry._canonical = entries, canonical


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("block", blocks(README, "python") + blocks(CONTRIBUTING, "python"))
def test_python_blocks_run(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "block", "exec"), {"__name__": "block"})
    assert capsys.readouterr().out.strip()


def test_ten_lines_of_python_are_about_ten() -> None:
    (block,) = blocks(README, "python")
    assert 10 <= len(block.strip().splitlines()) <= 14


COMMANDS = [line for block in blocks(README, "sh") for line in block.splitlines()]


def test_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In order, since one saves what the next reads."""
    monkeypatch.chdir(tmp_path)
    verbs = []
    assert len(COMMANDS) == 20
    for line in COMMANDS:
        before, _, command = line.rpartition(" | ")
        program, *arguments = shlex.split(command, comments=True)
        if program == "make":
            assert re.search(rf"^{arguments[0]}: ", (ROOT / "Makefile").read_text(), re.MULTILINE)
            continue
        assert program == "pebble"
        if before:
            piped = subprocess.run(before, shell=True, capture_output=True, check=True).stdout
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        assert main(arguments) == 0, line
        assert capsys.readouterr().out
        verbs.append(arguments[0])
    known = {
        "list",
        "info",
        "play",
        "count",
        "bound",
        "solve",
        "verify",
        "show",
        "view",
        "sweep",
        "plot",
        "doctor",
    }
    assert known <= set(verbs)


def test_the_first_commands_are_make() -> None:
    assert [line.split("#")[0].strip() for line in COMMANDS[:2]] == ["make demo", "make test"]


def test_the_table_of_results_is_true() -> None:
    """Each figure is what `count` gives, which equals the referee's; the last row is the best bound."""
    spec = "attention-backward:n=64,d=16"
    lines = README.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("| strategy | M = d²/4 = 64"))
    header = lines[at]
    sizes = [int(m) for m in re.findall(r"= (\d+) \|", header)]
    assert sizes == [64, 256, 1024]
    rows = {}
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip().strip("*").strip("`") for cell in line.strip("|").split("|"))
        rows[name] = cells
    bounds = rows.pop("lower bound")
    assert {"flash-attention", "two-pass", "algorithm6", "naive"} <= set(rows)
    instance = Instance(graphs.build(spec), 64)
    for M, bound in zip(sizes, bounds, strict=True):
        assert int(bound.replace(",", "")) == solvers.best_bound(instance.with_memory(M)).value
    for name, cells in rows.items():
        for M, cell in zip(sizes, cells, strict=True):
            if cell.startswith("needs"):
                least = strategies.get(name).least_M(instance)
                assert least > M
                assert cell == f"needs {least}"
            elif isinstance(strategies.get(name), strategies.Countable):
                assert int(cell.replace(",", "")) == strategies.count(name, spec, M).io
            else:
                figure = int(cell.replace(",", ""))
                assert figure == strategies.play(name, instance.with_memory(M)).claim


def test_links_lead_somewhere() -> None:
    for text in (README, CONTRIBUTING):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (ROOT / target).exists(), target


def test_the_working_tree_is_left_alone() -> None:
    assert not os.path.exists(ROOT / "grid.pebble")
