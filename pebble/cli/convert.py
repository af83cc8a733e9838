"""``pebble convert``: a graph or a schedule from one file format to another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption, names_a_file
from pebble.cli.output import note, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pebble.cdag import CDAG
    from pebble.schedule import Schedule

__all__ = ["convert"]

# Formats of schedules, beside those of graphs; their names are suffixes too.
_SCHEDULES = ("schedule", "moves", "supersteps")


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help="A graph (spec or file), a schedule file, or - for standard input."
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="The file to write, or - for standard output.")
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help="The format of IN. Default: what IN holds, and its suffix."
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="The format of OUT. Default: its suffix.")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="GRAPH", help="The graph of a schedule that does not hold it."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option("-M", "--memory", metavar="M", help="M of a schedule given as bare moves.")
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules",
            metavar="RULES",
            help="Rule set of a schedule given as bare moves. Default: hong-kung.",
        ),
    ] = None,
    embed: Annotated[bool, typer.Option("--embed", help="Write the edges into a schedule file.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Convert a graph, or a schedule, from one file format to another.

    `pebble list formats` names the formats of graphs; those of schedules are schedule (ours), moves (the bare
    moves) and supersteps (OneStopParallel's, only written). A schedule written as a graph gives its graph.
    """
    from pebble.formats import write_graph
    from pebble.formats.catalog import suffix

    wanted = _wanted(target, to)
    schedule = _schedule(source, format, graph, memory, rules)
    if schedule is not None and to is None and suffix(target) == "pebble":
        # The name of our graph format, and how saved schedules are commonly called: the moves are kept.
        wanted = "schedule"
    if embed and schedule is not None and wanted not in (None, "schedule"):
        raise typer.BadParameter(f"it goes with a schedule file, not with {wanted}", param_hint="'--embed'")
    document: dict[str, Any] = {"input": source, "output": target}
    if schedule is None and wanted not in _SCHEDULES:
        cdag = _graph(source, format)
        given = {"--graph": graph, "-M": memory, "--rules": rules, "--embed": embed or None}
        for option, value in given.items():
            if value is not None:
                raise typer.BadParameter("it goes with a schedule", param_hint=f"'{option}'")
        chosen = wanted or "edge-list"
        write_graph(cdag, target, format=chosen)
        document |= {"format": chosen, "num_vertices": cdag.num_vertices, "num_edges": cdag.num_edges}
        text = f"{cdag.num_vertices} vertices, {cdag.num_edges} edges as {chosen}"
    elif schedule is None:
        raise typer.BadParameter(
            f"a graph is no schedule: '{source}' has no moves", param_hint="'OUT' / '--to'"
        )
    elif wanted is None or wanted in _SCHEDULES:
        chosen = wanted or "schedule"
        _write_schedule(schedule, target, chosen, embed)
        document |= {"format": chosen, "moves": len(schedule)}
        text = f"{len(schedule)} moves as {chosen}"
    else:
        cdag = schedule.instance.cdag
        write_graph(cdag, target, format=wanted)
        document |= {"format": wanted, "num_vertices": cdag.num_vertices, "num_edges": cdag.num_edges}
        text = f"the schedule's graph of {cdag.num_vertices} vertices as {wanted}"
    if as_json and target != "-":
        print_json(document)
    elif target != "-":
        note(f"wrote {target}: {text}", quiet=quiet)


def _wanted(target: str, to: str | None) -> str | None:
    """The format to write: the option's, else that of the name's suffix, else None."""
    from pebble.formats.catalog import REGISTRY, format_of_name, suffix

    if to is not None:
        return to if to in _SCHEDULES else REGISTRY.info(to).name
    end = suffix(target)
    return end if end in _SCHEDULES else format_of_name(target, "") or None


def _graph(source: str, format: str | None) -> CDAG:
    from pebble.cli.arguments import load_graph
    from pebble.cli.programs import coarsened
    from pebble.formats import read_graph

    if format is None:
        return load_graph(source).cdag
    if not names_a_file(source):
        raise typer.BadParameter("it goes with a file, not with a spec", param_hint="'--format'")
    return coarsened(read_graph(source, format=format))


def _schedule(
    source: str, format: str | None, graph: str | None, memory: str | None, rules: str | None
) -> Schedule | None:
    """The schedule that IN is, or None."""
    from pebble.cli.arguments import load_graph
    from pebble.cli.memory import parse_memory
    from pebble.cli.targets import is_schedule, load_schedule
    from pebble.formats.catalog import suffix
    from pebble.formats.schedule_text import read_moves_file
    from pebble.instance import Instance

    if format == "supersteps":
        raise typer.BadParameter("supersteps are only written", param_hint="'--format'")
    if format == "moves" or (format is None and suffix(source) == "moves"):
        if graph is None or memory is None:
            raise typer.BadParameter(
                "bare moves need their graph and memory: --graph GRAPH -M M", param_hint="'IN'"
            )
        loaded = load_graph(graph)
        (M, *more) = parse_memory(memory, loaded.params)
        if more:
            raise typer.BadParameter(f"one M is needed, not {1 + len(more)}", param_hint="'-M'")
        return read_moves_file(source, Instance(loaded.cdag, M, rules or "hong-kung"))
    if format == "schedule" or (format is None and is_schedule(source)):
        for value, option in ((memory, "-M"), (rules, "--rules")):
            if value is not None:
                raise typer.BadParameter("a schedule file says this itself", param_hint=f"'{option}'")
        return load_schedule(source, graph)[0]
    return None


def _write_schedule(schedule: Schedule, target: str, format: str, embed: bool) -> None:
    from pebble.formats.files import atomic_writer
    from pebble.formats.schedule_text import moves_lines
    from pebble.formats.supersteps import superstep_lines

    if format == "schedule":
        # Standard output is a device like any other: it is written to, not replaced.
        schedule.save("/dev/stdout" if target == "-" else target, embed=embed)
        return
    lines: Iterator[str] = moves_lines(schedule) if format == "moves" else superstep_lines(schedule, target)
    if target == "-":
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        return
    with atomic_writer(target) as stream:
        for line in lines:
            stream.write(line.encode("ascii"))
