"""What the command line knows of several levels of memory: their sizes, and schedule files of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from pebble.cli.output import note, print_json, print_pairs, table, whole

if TYPE_CHECKING:
    from pebble.hierarchy import Hierarchy, HierarchyCost

__all__ = ["cost_document", "parse_levels", "verify_levels"]


def parse_levels(memory: str, costs: str | None, params: Mapping[str, Any]) -> Hierarchy:
    """The hierarchy that ``-M 8,64 --costs 1,10`` names; sizes may be expressions such as ``d^2``.

    Raises
    ------
    InvalidMemoryError
        A part is no size, or the levels do not grow.
    typer.BadParameter
        The costs are no whole numbers.
    """
    from pebble.cli.memory import parse_memory
    from pebble.errors import InvalidMemoryError
    from pebble.hierarchy import Hierarchy

    sizes: list[int] = []
    for part in memory.split(","):
        if ".." in part or ":" in part:
            raise InvalidMemoryError(
                f"M={memory}: '{part.strip()}' is no single size: write one per level, as in 8,64"
            )
        sizes += parse_memory(part, params)
    return Hierarchy(sizes, None if costs is None else _numbers(costs))


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise typer.BadParameter(f"'{text}': write whole numbers, as in 1,10", param_hint="'--costs'")
    return [int(part) for part in parts]


def cost_document(cost: HierarchyCost) -> dict[str, Any]:
    """The JSON form of a cost."""
    return {
        "total": cost.total,
        "io": list(cost.io),
        "loads": list(cost.loads),
        "stores": list(cost.stores),
        "peak": list(cost.peak),
        "computes": cost.computes,
        "recomputes": cost.recomputes,
    }


def verify_levels(file: str, graph: str | None, as_json: bool) -> None:
    """Referee a schedule file of several levels, as ``pebble verify`` does; exit code 1 if it is wrong."""
    from pebble.cli.verify import graph_beside, why_refused
    from pebble.errors import IllegalMoveError, IncompleteScheduleError
    from pebble.formats.hierarchy_file import read_header
    from pebble.hierarchy import HierarchySchedule, verify_hierarchy

    header = read_header(file)
    schedule = HierarchySchedule.load(file, graph_beside(file, header, graph))
    document: dict[str, Any] = {
        "file": file,
        "graph": header.graph,
        "M": list(header.hierarchy.sizes),
        "costs": list(header.hierarchy.costs),
        "rules": header.rules.name,
        "producer": schedule.producer or None,
        "claim": schedule.claim,
        "moves": len(schedule),
    }
    problem = ""
    cost = None
    try:
        cost = verify_hierarchy(schedule)
    except (IllegalMoveError, IncompleteScheduleError) as error:
        document |= why_refused(error)
        problem = f"the schedule is illegal: {error}"
    else:
        document |= {"legal": True, **cost_document(cost)}
        if schedule.claim is not None and schedule.claim != cost.total:
            problem = f"the schedule claims a total cost of {schedule.claim}, it costs {cost.total}"
    if as_json:
        print_json(document)
    elif cost is not None:
        _print(document, cost)
    if problem:
        note(f"error: {problem}")
        raise typer.Exit(1)


def _print(document: Mapping[str, Any], cost: HierarchyCost) -> None:
    from pebble.cli.output import console

    names = {
        "graph": "graph",
        "rules": "rules",
        "producer": "by",
        "moves": "moves",
        "computes": "computes",
        "recomputes": "recomputed",
        "total": "total cost",
        "claim": "claimed",
    }
    print_pairs([("schedule", "legal"), *((names[key], document[key]) for key in names)])
    columns = ["words", "I/O", "loads", "stores", "most in use", "per word", "cost"]
    grid = table([("level", False), *((column, True) for column in columns)])
    for i, M in enumerate(document["M"]):
        figures = (M, cost.io[i], cost.loads[i], cost.stores[i], cost.peak[i], cost.costs[i])
        grid.add_row(f"{i + 1}", *map(whole, figures), whole(cost.costs[i] * cost.io[i]))
    console().print(grid)
