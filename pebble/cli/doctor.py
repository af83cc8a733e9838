"""``pebble doctor``: what is installed, and whether it works."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from typing import Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption
from pebble.cli.output import note, print_json, print_pairs

__all__ = ["doctor"]

_REQUIRED = ("numpy", "numba", "networkx", "ortools", "scipy", "typer", "rich")
_EXTRAS = {"plot": ("matplotlib",), "distributed": ("dask", "distributed"), "jax": ("jax",)}
_SIBLINGS = ("graphs", "strategies", "solvers")


def doctor(as_json: JsonOption = False, quiet: QuietOption = False) -> None:
    """Print versions, the files imported and the extras, and play a small game as a check.

    Exit code 1 if something required is missing or another package shadows this one.
    """
    import pebble

    versions = {name: _version(name) for name in _REQUIRED}
    files = {"pebble": pebble.__file__} | {name: _origin(name) for name in _SIBLINGS}
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems = [f"{name} is not installed: pip install {name}" for name, v in versions.items() if v is None]
    if os.path.dirname(os.path.abspath(str(pebble.__file__))) != home:
        problems.append(f"another package is imported as pebble: {pebble.__file__}")
    for name in _SIBLINGS:
        if files[name] is None or os.path.dirname(os.path.dirname(str(files[name]))) != os.path.dirname(home):
            problems.append(f"another package is imported as {name}: {files[name]}")
    check = "not played"
    if not problems:
        check = _play_a_game()
        if check != "ok":
            problems.append(check)
    document: dict[str, Any] = {
        "version": pebble.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "executable": sys.executable,
        "files": files,
        "packages": versions,
        "extras": {
            extra: all(importlib.util.find_spec(module) is not None for module in modules)
            for extra, modules in _EXTRAS.items()
        },
        "check": check,
        "problems": problems,
    }
    if as_json:
        print_json(document)
    else:
        print_pairs(
            [
                ("red-blue-pebble", document["version"]),
                ("python", f"{document['python']} ({document['executable']})"),
                ("platform", f"{document['platform']}, {document['cores']} cores"),
                *((name, file) for name, file in files.items()),
                *((name, version or "missing") for name, version in versions.items()),
                *((f"extra '{extra}'", there) for extra, there in document["extras"].items()),
                ("a small game", check),
            ]
        )
    for problem in problems:
        note(f"error: {problem}")
    if problems:
        raise typer.Exit(1)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _origin(name: str) -> str | None:
    spec = importlib.util.find_spec(name)
    return None if spec is None else spec.origin


def _play_a_game() -> str:
    """Both referees on the pyramid of height 1: ``ok``, or what went wrong."""
    from pebble.cdag import CDAG
    from pebble.errors import PebbleError
    from pebble.game import Game
    from pebble.instance import Instance
    from pebble.referee import verify
    from pebble.schedule import Schedule

    instance = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    moves = ["L0", "L1", "C2", "S2"]
    game = Game(instance)
    try:
        for move in moves:
            game.push(move)
        cost = verify(Schedule.from_moves(instance, moves))
    except PebbleError as error:
        return f"the referees do not agree: {error}"
    return "ok" if cost.io == game.cost.io == 3 else f"the referees count {cost.io} and {game.cost.io}, not 3"
