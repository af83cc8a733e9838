"""``pebble plot``: pictures of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pebble.cli.arguments import JsonOption, QuietOption
from pebble.cli.output import print_json, print_pairs, require_place

__all__ = ["plot"]


def plot(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Sweep files; their runs are joined.")
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="io: I/O against M; gap: I/O over the lower bound.")
    ] = "io",
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="GRAPH", help="Only this graph. Default: a panel for each."),
    ] = None,
    rules: Annotated[str | None, typer.Option("--rules", metavar="RULES", help="Only this rule set.")] = None,
    players: Annotated[
        str | None, typer.Option("-s", "--strategies", metavar="A,B", help="Only these players, and bounds.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="A .svg, .png or .pdf file.")
    ] = Path("plot.svg"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Draw I/O against M, with the band from the best lower bound to the best schedule, crossings and d²."""
    from experiments.plotting import KINDS, plot_sweep, save_figure
    from experiments.series import instances
    from experiments.store import read_runs
    from graphs.catalog import REGISTRY, parse
    from pebble.cli.arguments import split_names

    if kind not in KINDS:
        raise typer.BadParameter(f"'{kind}' is none of {', '.join(KINDS)}", param_hint="'--kind'")
    require_place(output)
    records = [record for file in files for record in read_runs(file)]
    if graph is not None:
        wanted = str(parse(graph)) if graph.partition(":")[0] in REGISTRY else graph
        records = [record for record in records if record["graph"] == wanted]
    if rules is not None:
        records = [record for record in records if record["rules"] == rules]
    names = split_names(players)
    if names is not None:
        records = [record for record in records if record["kind"] == "bound" or record["player"] in names]
    save_figure(plot_sweep(records, kind), output)
    panels = [{"graph": name, "rules": rule_set} for name, rule_set in instances(records)]
    if as_json:
        print_json({"file": str(output), "kind": kind, "panels": panels})
    else:
        print_pairs([("file", str(output)), ("panels", len(panels))])
