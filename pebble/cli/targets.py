"""Arguments that may be a graph or a schedule of one."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Annotated

import typer

from pebble.cli.arguments import LoadedGraph, load_graph
from pebble.cli.memory import parse_memory

if TYPE_CHECKING:
    from pebble.instance import Instance
    from pebble.schedule import Schedule

__all__ = [
    "ScheduleGraphOption",
    "TargetArgument",
    "TargetMemoryOption",
    "is_schedule",
    "load_schedule",
    "load_target",
]

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="A schedule file, or a graph: a spec such as fft:8, a graph file, or -."
    ),
]
TargetMemoryOption = Annotated[
    str | None,
    typer.Option(
        "-M", "--memory", metavar="M", help="Words of fast memory, for a graph. Default: the least possible."
    ),
]
ScheduleGraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph", metavar="GRAPH", help="The schedule's graph, if its file neither names nor holds it."
    ),
]


def load_schedule(file: str, graph: str | None) -> tuple[Schedule, str]:
    """Read a schedule file with the graph it names, which has names that embedded edges lack.

    Returns
    -------
    (Schedule, str)
        And the graph's name: its spec, or ``custom``.
    """
    from pebble.errors import FormatError
    from pebble.formats.schedule_file import read_header
    from pebble.instance import Instance
    from pebble.schedule import Schedule

    header = read_header(file)
    if graph is not None:
        loaded = load_graph(graph)
        return Schedule.load(file, loaded.cdag), loaded.name
    if header.embedded:
        schedule = Schedule.load(file)
        instance = schedule.instance
        known = _known_graph(header.graph, header.num_vertices)
        if known is None or known.cdag != instance.cdag:
            return schedule, header.graph
        instance = Instance(known.cdag, instance.M, instance.rules, instance.red_at_start)
        return dataclasses.replace(schedule, instance=instance), known.name
    if header.graph == "custom":
        raise FormatError(
            file, "the schedule is for a custom graph that is not in the file: give it with --graph"
        )
    loaded = load_graph(header.graph)
    return Schedule.load(file, loaded.cdag), loaded.name


def _known_graph(name: str, size: int) -> LoadedGraph | None:
    """The graph that the name in a header stands for here, if it is a spec of about that size."""
    from graphs.catalog import build, parse
    from graphs.sizes import num_vertices
    from pebble.errors import GraphSpecError, UnknownNameError

    try:
        spec = parse(name)
    except (GraphSpecError, UnknownNameError):
        return None
    if num_vertices(spec.family, spec.params) != size:
        return None
    return LoadedGraph(str(spec), build(spec), spec)


def load_target(
    target: str, memory: str | None, rules: str | None, graph: str | None
) -> tuple[str, Instance, Schedule | None]:
    """What a TARGET argument is: a name, an instance, and the schedule if it is one.

    Raises
    ------
    typer.BadParameter
        An option that goes with the other kind of target.
    InfeasibleInstanceError
        M is below the graph's least M.
    """
    from pebble.instance import Instance

    if is_schedule(target):
        for value, option in ((memory, "-M"), (rules, "--rules")):
            if value is not None:
                raise typer.BadParameter("a schedule file says this itself", param_hint=f"'{option}'")
        schedule, name = load_schedule(target, graph)
        return (target if name == "custom" else name), schedule.instance, schedule
    if graph is not None:
        raise typer.BadParameter("it goes with a schedule file", param_hint="'--graph'")
    loaded = load_graph(target)
    return loaded.name, _instance(loaded, memory, rules, Instance), None


def _instance(loaded: LoadedGraph, memory: str | None, rules: str | None, make: type[Instance]) -> Instance:
    rule_set = rules or "hong-kung"
    if memory is None:
        return make(loaded.cdag, make(loaded.cdag, 1, rule_set).least_M, rule_set)
    sizes = parse_memory(memory, loaded.params)
    if len(sizes) > 1:
        raise typer.BadParameter(f"one M is needed, not {len(sizes)}", param_hint="'-M'")
    instance = make(loaded.cdag, sizes[0], rule_set)
    instance.require_feasible()
    return instance


def is_schedule(target: str) -> bool:
    """Whether a TARGET argument is a schedule file."""
    from pebble.formats.files import reading
    from pebble.formats.schedule_header import FORMAT

    if target == "-" or not os.path.isfile(target):
        return False
    with reading(target) as stream:
        return stream.read(len(FORMAT)) == FORMAT.encode()
