"""The package `graphs`: every public name is found, and no submodule takes a name's place."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import graphs
from graphs.catalog import REGISTRY
from pebble.cdag import CDAG
from pebble.errors import UnknownNameError


def test_every_public_name_before_and_after_importing_all_submodules() -> None:
    before = {name: getattr(graphs, name) for name in graphs.__all__}
    assert all(callable(value) for value in before.values())
    for module in pkgutil.iter_modules(graphs.__path__):
        assert module.name not in graphs.__all__
        importlib.import_module(f"graphs.{module.name}")
    assert {name: getattr(graphs, name) for name in graphs.__all__} == before
    assert dir(graphs) == graphs.__all__


def test_every_built_in_family_is_a_function() -> None:
    for name in graphs.names():
        if graphs.info(name).target.__class__ is str and graphs.info(name).target.startswith("graphs."):
            assert name.replace("-", "_") in graphs.__all__


def test_import_is_light() -> None:
    code = (
        "import sys, graphs; graphs.build('matmul:2x2x2'); graphs.names();"
        "print([m for m in ('numba', 'ortools', 'scipy', 'networkx', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="module 'graphs' has no attribute 'nonsense'"):
        graphs.nonsense  # noqa: B018
    with pytest.raises(UnknownNameError, match="did you mean 'matmul'"):
        graphs.build("matmull:2x2x2")


def test_a_family_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # The registry is global: the entry goes away after the test.
    for table in ("_entries", "_canonical"):
        monkeypatch.setattr(REGISTRY, table, dict(getattr(REGISTRY, table)))

    def ladder(n: int, *, rungs: bool = True) -> CDAG:
        return graphs.trace(lambda a, b: a * b if rungs else a + 1, a=n, b=n)

    graphs.register("test-ladder", ladder, "two rails")
    g = graphs.build("test-ladder:n=3")
    assert (g.num_vertices, g.family, g.params) == (9, "test-ladder", {"n": 3})
    with pytest.raises(ValueError, match="registered already"):
        graphs.register("test-ladder", ladder, "again")
