"""A strategy outside the project is found by its entry point, keeps the contract, and is tried by `auto`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "examples" / "plugin_package"


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which the package is installed, as an installer would lay it out."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    (tmp_path / "pebble_late.py").write_text((PACKAGE / "pebble_late.py").read_text())
    info = tmp_path / f"pebble_late-{project['version']}.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    info.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def run(arguments: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_keeps_the_contract_of_strategies(installed: dict[str, str]) -> None:
    told = run(["-m", "pytest", "tests/test_strategy_contract.py", "-k", "late]", "-vv"], installed)
    assert "plays_legally_and_claims_what_it_costs[late]" in told
    assert "9 passed" in told


def test_it_is_listed_played_and_tried_by_auto(installed: dict[str, str]) -> None:
    assert "pebble-late" in run(["-m", "pebble", "list", "strategies"], installed)
    told = run(["-m", "pebble", "play", "fft:16", "-M", "6", "-s", "late", "--json", "-q"], installed)
    assert '"verified": true' in told
    code = (
        "import graphs, strategies, pebble\n"
        "from strategies.portfolio import candidates\n"
        "instance = pebble.Instance(graphs.build('fft:16'), 6)\n"
        "print([s.name for s in candidates(instance)])\n"
        "schedule = strategies.play('auto', instance)\n"
        "assert pebble.verify(schedule).io <= pebble.verify(strategies.play('late', instance)).io"
    )
    assert "'late'" in run(["-c", code], installed)


def test_it_is_not_there_unless_installed() -> None:
    import strategies

    assert "late" not in strategies.names()
