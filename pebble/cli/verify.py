"""``pebble verify``: referee a saved schedule."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption, load_graph
from pebble.cli.output import note, print_json, print_pairs

if TYPE_CHECKING:
    from pebble.cdag import CDAG
    from pebble.errors import IllegalMoveError, IncompleteScheduleError
    from pebble.formats.hierarchy_file import HierarchyHeader
    from pebble.formats.schedule_header import Header

__all__ = ["graph_beside", "verify", "why_refused"]


def verify(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A schedule file, as `pebble play -o` or `pebble hierarchy -o` writes it."
        ),
    ],
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph", metavar="GRAPH", help="Its graph, if the file neither names a spec nor holds edges."
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Replay a schedule move by move, also one of several levels; the first broken rule otherwise.

    Exit code 0 if it is legal and costs what it claims, else 1.
    """
    from pebble.cli.levels import verify_levels
    from pebble.errors import IllegalMoveError, IncompleteScheduleError
    from pebble.formats.hierarchy_file import is_hierarchy_file
    from pebble.formats.schedule_file import read_header
    from pebble.referee import verify as referee
    from pebble.schedule import Schedule

    if file != "-" and os.path.isfile(file) and is_hierarchy_file(file):
        verify_levels(file, graph, as_json)
        return
    header = read_header(file)
    schedule = Schedule.load(file, graph_beside(file, header, graph))
    document: dict[str, Any] = {
        "file": file,
        "graph": header.graph,
        "M": schedule.instance.M,
        "rules": schedule.instance.rules.name,
        "producer": schedule.producer or None,
        "claim": schedule.claim,
        "moves": len(schedule),
    }
    problem = ""
    try:
        cost = referee(schedule)
    except (IllegalMoveError, IncompleteScheduleError) as error:
        document |= why_refused(error)
        problem = f"the schedule is illegal: {error}"
    else:
        document |= {"legal": True, **cost.to_dict()}
        if schedule.claim is not None and schedule.claim != cost.io:
            problem = f"the schedule claims an I/O cost of {schedule.claim}, it costs {cost.io}"
    if as_json:
        print_json(document)
    elif document["legal"]:
        print_pairs(
            [("schedule", "legal"), *((_NAMES[key], document[key]) for key in _NAMES if key in document)]
        )
    if problem:
        note(f"error: {problem}")
        raise typer.Exit(1)


_NAMES = {
    "graph": "graph",
    "M": "M",
    "rules": "rules",
    "producer": "by",
    "moves": "moves",
    "io": "I/O",
    "loads": "loads",
    "stores": "stores",
    "computes": "computes",
    "recomputes": "recomputed",
    "peak_red": "peak red",
    "compute_cost": "compute cost",
    "claim": "claimed I/O",
}


def graph_beside(file: str, header: Header | HierarchyHeader, graph: str | None) -> CDAG | None:
    """The graph that a schedule file belongs to, where the file does not hold it or another is given."""
    if graph is not None:
        return load_graph(graph).cdag
    return None if header.embedded else load_graph(_named_graph(file, header.graph)).cdag


def why_refused(error: IllegalMoveError | IncompleteScheduleError) -> dict[str, Any]:
    """The JSON form of what the referee says of a schedule that breaks a rule."""
    from pebble.errors import IllegalMoveError

    document: dict[str, Any] = {"legal": False, "reason": str(error)}
    if isinstance(error, IllegalMoveError):
        document |= {"index": error.index, "move": str(error.move), "rule": str(error.reason)}
    return document


def _named_graph(file: str, name: str) -> str:
    """The spec in a schedule file's header; FormatError if the file names none."""
    from pebble.errors import FormatError

    if name == "custom":
        raise FormatError(
            file, "the schedule is for a custom graph that is not in the file: give it with --graph"
        )
    return name
