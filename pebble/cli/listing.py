"""``pebble list``: the names that the other verbs accept."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption
from pebble.cli.output import console, print_json, table, whole

if TYPE_CHECKING:
    from pebble.registry import Registry

__all__ = ["list_names"]


class Kind(StrEnum):
    """What can be listed."""

    GRAPHS = "graphs"
    STRATEGIES = "strategies"
    SOLVERS = "solvers"
    BOUNDS = "bounds"
    RULES = "rules"
    FORMATS = "formats"


def list_names(
    kind: Annotated[Kind | None, typer.Argument(help="What to list; everything if not given.")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """List graph families, strategies, solvers, bounds, rule sets or file formats, one line each."""
    kinds = list(Kind) if kind is None else [kind]
    found = {str(k): _LISTS[k]() for k in kinds}
    if as_json:
        print_json(found)
        return
    for name, entries in found.items():
        grid = table([(name, False), (_DETAIL[Kind(name)], False), ("", False)])
        for entry in entries:
            missing = "" if entry["available"] else f" (needs {', '.join(entry['missing'])})"
            grid.add_row(whole(entry["name"]), whole(entry["takes"]), whole(entry["summary"] + missing))
        console().print(grid)


_DETAIL = {
    Kind.GRAPHS: "parameters",
    Kind.STRATEGIES: "options",
    Kind.SOLVERS: "",
    Kind.BOUNDS: "",
    Kind.RULES: "",
    Kind.FORMATS: "suffixes",
}


def _entries(registry: Registry[Any], takes: Callable[[str], str]) -> list[dict[str, Any]]:
    found = []
    for name in registry.names():
        entry = registry.info(name)
        found.append(
            {
                "name": name,
                "summary": entry.summary,
                "takes": takes(name) if entry.available else "",
                "aliases": list(entry.aliases),
                "available": entry.available,
                "missing": list(entry.missing),
            }
        )
    return found


def _graphs() -> list[dict[str, Any]]:
    from graphs.catalog import REGISTRY, parameters

    def takes(name: str) -> str:
        return ",".join(
            key if default is inspect.Parameter.empty else f"{key}={default}"
            for key, default in parameters(name).items()
        )

    return _entries(REGISTRY, takes)


def _strategies() -> list[dict[str, Any]]:
    from strategies.catalog import REGISTRY

    return _entries(REGISTRY, lambda name: " ".join(REGISTRY.get(name).options))


def _solvers() -> list[dict[str, Any]]:
    from solvers.catalog import SOLVERS

    return _entries(SOLVERS, lambda name: "")


def _bounds() -> list[dict[str, Any]]:
    from solvers.catalog import BOUNDS

    return _entries(BOUNDS, lambda name: "")


def _rules() -> list[dict[str, Any]]:
    from pebble.rules import Rules

    return [
        {
            "name": name,
            "summary": summary,
            "takes": "",
            "aliases": [],
            "available": True,
            "missing": [],
        }
        for name, summary in Rules.parts().items()
    ]


def _formats() -> list[dict[str, Any]]:
    from pebble.formats.catalog import REGISTRY

    def takes(name: str) -> str:
        only_read = "" if REGISTRY.get(name).lines is not None else " (only read)"
        return " ".join(f".{end}" for end in (name, *REGISTRY.info(name).aliases)) + only_read

    return _entries(REGISTRY, takes)


_LISTS = {
    Kind.GRAPHS: _graphs,
    Kind.STRATEGIES: _strategies,
    Kind.SOLVERS: _solvers,
    Kind.BOUNDS: _bounds,
    Kind.RULES: _rules,
    Kind.FORMATS: _formats,
}
