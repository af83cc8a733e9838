"""``pebble hierarchy``: strategies on several levels of memory, each level's traffic beside its bound."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pebble.cli.arguments import GraphArgument, JsonOption, QuietOption, SeedOption, load_graph, split_names
from pebble.cli.memory import parse_memory
from pebble.cli.output import console, note, print_json, progress, table

__all__ = ["hierarchy"]


def hierarchy(
    graph: GraphArgument,
    memory: Annotated[
        str,
        typer.Option(
            "-M", "--memory", metavar="M1,M2", help="Words of every level, fastest first: 8,64 or d,d^2."
        ),
    ],
    costs: Annotated[
        str | None,
        typer.Option(
            "--costs", metavar="C1,C2", help="Cost of a word between each level and the next. Default: 1."
        ),
    ] = None,
    strategies: Annotated[
        str,
        typer.Option(
            "-s",
            "--strategies",
            metavar="A,B/C",
            help="Strategies of level 1, or outer/inner: largest level, level 1.",
        ),
    ] = "belady",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play a graph on several levels of memory; the referee counts the words that move at each level.

    A level's lower bound is that of the two-level game with all the words up to it (docs/hierarchy.md).
    Exit code 0 if any strategy played, 3 if none could, 1 if M1 is below the graph's least M.
    """
    import solvers
    from pebble.errors import UnsupportedInstanceError
    from pebble.hierarchy import Hierarchy, verify_hierarchy
    from strategies.hierarchical import play_hierarchy

    loaded = load_graph(graph)
    levels = Hierarchy(parse_memory(memory, loaded.params), None if costs is None else _numbers(costs))
    rows: list[dict[str, Any]] = []
    with progress(quiet=quiet) as steps:
        for name in split_names(strategies) or []:
            steps.step(name)
            try:
                schedule = play_hierarchy(name, loaded.cdag, levels, seed=seed)
            except UnsupportedInstanceError as error:
                rows.append({"strategy": name, "status": "not-applicable", "reason": str(error)})
                continue
            cost = verify_hierarchy(schedule)
            rows.append(
                {"strategy": name, "status": "feasible", "verified": True, "total": cost.total}
                | {"io": list(cost.io), "loads": list(cost.loads), "stores": list(cost.stores)}
                | {"peak": list(cost.peak), "computes": cost.computes, "recomputes": cost.recomputes}
                | {"options": dict(schedule.info)}
            )
        steps.step("lower bounds")
        bounds = [bound.value for bound in solvers.hierarchy_bounds(loaded.cdag, levels)]
    least = sum(c * b for c, b in zip(levels.costs, bounds, strict=True))
    played = [row for row in rows if row["status"] == "feasible"]
    if as_json:
        document = {
            "graph": loaded.name,
            "M": list(levels.sizes),
            "costs": list(levels.costs),
            "results": rows,
        }
        print_json(document | {"lower_bounds": bounds, "lower_bound": least})
    else:
        figures = [*(f"I/O at {M:,}" for M in levels.sizes), "cost", "recomputed"]
        out = table([("strategy", False), *((heading, True) for heading in figures)])
        for row in played:
            out.add_row(
                row["strategy"], *(f"{q:,}" for q in row["io"]), f"{row['total']:,}", f"{row['recomputes']:,}"
            )
        out.add_row("lower bound", *(f"{b:,}" for b in bounds), f"{least:,}", "")
        console().print(out)
    for row in rows:
        if row not in played:
            note(f"{row['strategy']} cannot play: {row['reason']}", quiet=quiet and bool(played))
    raise typer.Exit(0 if played else 3)


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"'{text}': write whole numbers, as in 1,10", param_hint="'--costs'")
    return [int(part) for part in parts]
