"""The packages' public names, and what importing them does not load."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import experiments
import graphs
import pebble
import solvers
import strategies

ROOT = Path(__file__).parent.parent
PACKAGES = [pebble, graphs, strategies, solvers, experiments]
HEAVY = ("numba", "ortools", "scipy", "networkx", "matplotlib", "distributed", "pyarrow", "jax")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_imported_is_ours() -> None:
    assert Path(pebble.__file__).parent == ROOT / "pebble"


def test_the_siblings_are_attributes() -> None:
    assert pebble.graphs is graphs
    assert pebble.strategies is strategies
    assert pebble.solvers is solvers


def test_every_public_name_resolves_before_and_after_importing_all_modules() -> None:
    """A submodule must not shadow a public name of its package once it is imported."""
    code = """
import importlib, pkgutil
import pebble, graphs, strategies, solvers, experiments
packages = [pebble, graphs, strategies, solvers, experiments]
before = {(p.__name__, n): getattr(p, n) for p in packages for n in p.__all__}
for p in packages:
    for module in pkgutil.walk_packages(p.__path__, p.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
for (package, name), value in before.items():
    again = getattr(importlib.import_module(package), name)
    assert again is value, f"{package}.{name} was {value!r}, is {again!r}"
print(len(before))
"""
    assert int(run(code)) >= sum(len(p.__all__) for p in PACKAGES)


def test_no_module_is_named_like_a_public_name() -> None:
    for package in PACKAGES:
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert not modules & (set(package.__all__) - {"formats", "graphs", "strategies", "solvers"})


def test_dir_lists_the_public_names() -> None:
    assert set(pebble.__all__) <= set(dir(pebble))
    with pytest.raises(AttributeError, match="module 'pebble' has no attribute 'nothing'"):
        pebble.nothing  # noqa: B018


def test_every_module_declares_its_public_names() -> None:
    for name in ("game", "referee", "evaluation", "moves", "cdag", "instance", "schedule", "result", "rules"):
        module = importlib.import_module(f"pebble.{name}")
        assert all(hasattr(module, public) for public in module.__all__)


@pytest.mark.parametrize("package", ["pebble", "graphs", "strategies", "solvers", "experiments"])
def test_importing_a_package_is_light(package: str) -> None:
    code = f"import sys, {package}; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_playing_a_game_by_hand_is_light() -> None:
    code = f"""
import sys, pebble
inst = pebble.Instance(pebble.CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
game = pebble.Game(inst)
for move in ["L0", "L1", "C2", "S2"]:
    game.push(move)
    game.legal_moves()
assert game.is_over
print([m for m in {HEAVY!r} if m in sys.modules])
"""
    assert run(code).strip() == "[]"
