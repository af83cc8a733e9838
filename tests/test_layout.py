"""The house rules that a machine can check: sizes of files, directions of imports, names, lint."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pebble", "graphs", "strategies", "solvers")
SOURCES = sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py"))
HEAVY = {"numba", "ortools", "scipy", "networkx", "matplotlib"}


def test_no_file_is_longer_than_500_lines() -> None:
    folders = (*PACKAGES, "tests", "examples", "benchmarks")
    files = [p for name in folders for p in (ROOT / name).rglob("*.py")]
    assert len(files) > 50
    too_long = {str(p.relative_to(ROOT)): n for p in files if (n := len(p.read_text().splitlines())) > 500}
    assert too_long == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_imports_are_lazy(path: Path) -> None:
    """At the top of a module, numba is for the modules of kernels, and nothing heavy for the others."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    allowed = {"numba"} if path.stem == "kernels" or path.stem.endswith("_kernels") else set()
    assert found & HEAVY <= allowed


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert not path.read_text().strip() or ast.get_docstring(ast.parse(path.read_text()))
    assert path.stem not in ("utils", "helpers", "misc", "common")


@pytest.mark.parametrize("name", PACKAGES)
def test_no_submodule_hides_a_public_name(name: str) -> None:
    """`graphs.trace` stays the function, whichever submodules are imported."""
    package = importlib.import_module(name)
    before = {public: getattr(package, public) for public in package.__all__}
    for found in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    assert {public: getattr(package, public) for public in package.__all__} == before


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_are_typed(name: str) -> None:
    assert (ROOT / name / "py.typed").exists()


def test_imports_point_one_way() -> None:
    tool = Path(sys.executable).parent / "lint-imports"
    if not tool.exists():
        pytest.skip("import-linter is not installed")
    ran = subprocess.run([tool, "--no-cache"], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_version_is_one() -> None:
    import pebble

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == pebble.__version__
    assert f"version: {pebble.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert (ROOT / "CHANGELOG.md").read_text().startswith("# Changelog")
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    for command in ("pebble", "rbpebble"):
        assert project["scripts"][command] == "pebble.__main__:run"


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "docs" / "dependencies.md").read_text()
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    for requirement in [*project["dependencies"], *extras]:
        name = re.split(r"[^A-Za-z0-9-]", requirement)[0]
        assert re.search(rf"(^\| |`){name}( \||`)", text, re.MULTILINE), name


def test_the_makefile_has_its_targets() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "test-all", "lint", "bench"):
        assert re.search(rf"^{target}: \$\(STAMP\)$", text, re.MULTILINE), target
    ci = (ROOT / ".ci" / "run").read_text()
    assert re.findall(r"^make (\w+)$", ci, re.MULTILINE) == ["lint", "test", "demo"]
