"""``pebble solve``: the least I/O, proved, or the best schedule and bound within a limit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import (
    GraphArgument,
    JsonOption,
    LoadedGraph,
    QuietOption,
    RulesOption,
    SeedOption,
    load_graph,
)
from pebble.cli.output import console, note, print_json, require_place, table, whole

if TYPE_CHECKING:
    from pebble.instance import Instance
    from pebble.result import Result
    from solvers.checking import CheckRow
    from solvers.progress import Progress

__all__ = ["solve"]

# Seconds between two lines of progress that bring nothing new.
_INTERVAL = 5.0


def solve(
    graph: GraphArgument,
    memory: Annotated[
        str,
        typer.Option("-M", metavar="M", help="Words of fast memory: 4, 3,4,5, 3..10, or d^2, d^2/4, 4d^2."),
    ],
    rules: RulesOption = "hong-kung",
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME", help="auto, search, ilp, or with options: ilp:backend=highs."
        ),
    ] = "auto",
    seconds: Annotated[
        float | None, typer.Option("--time", metavar="SECONDS", min=0.0, help="Limit for each M.")
    ] = None,
    megabytes: Annotated[
        float | None,
        typer.Option("--memory", metavar="MB", min=1.0, help="Limit on the solver's memory, in MB."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option("--nodes", metavar="N", min=1, help="Limit in states or conflicts, for each M."),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option("--gap", metavar="G", min=0.0, help="Stop at this gap: 0.1 for 10 % above the bound."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Save the schedule (.gz packs it).")
    ] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Save the edges with it; always done for a graph from a file.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Set the result against every bound and every strategy.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the integer program: .mps, .lp, .pb, .pbtxt."),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Prove the least I/O of a small graph, or give the best schedule and the best bound within a limit.

    Ctrl-C ends the search and prints the best so far. Exit code 0 if there is a schedule, 1 if M is below the
    graph's least M (or --check finds a contradiction), 3 if a limit came before any schedule, 130 if
    interrupted.
    """
    from pebble.cli.memory import parse_memory
    from pebble.errors import UnsupportedInstanceError
    from pebble.instance import Instance
    from pebble.result import Limit
    from pebble.rules import Rules
    from solvers.solving import parse_method, solve_range

    rule_set = Rules.named(rules)
    try:
        name, options = parse_method(method)
    except UnsupportedInstanceError as error:
        raise typer.BadParameter(str(error), param_hint="'--method'") from None
    loaded = load_graph(graph)
    sizes = parse_memory(memory, loaded.params)
    for path, option in ((output, "-o"), (export, "--export")):
        if path is None:
            continue
        if len(sizes) > 1:
            raise typer.BadParameter(
                f"one file is written, but -M names {len(sizes)} values", param_hint=f"'{option}'"
            )
        require_place(path)
    if export is not None:
        _export(Instance(loaded.cdag, sizes[0], rule_set), export, options, quiet)
    limit = Limit(time=seconds, nodes=nodes, memory_mb=megabytes, gap=gap)
    teller = None if quiet else _Teller()
    results = list(
        solve_range(
            loaded.cdag, sizes, rule_set, method=name, limit=limit, seed=seed, on_progress=teller, **options
        )
    )
    checks = [
        _checked(Instance(loaded.cdag, M, rule_set), result, seed) if check else None
        for M, result in zip(sizes, results, strict=True)
    ]
    if as_json:
        documents = [
            _document(loaded, M, rule_set.name, result, rows)
            for M, result, rows in zip(sizes, results, checks, strict=True)
        ]
        print_json(documents[0] if len(sizes) == 1 else documents)
    else:
        _print(loaded, sizes, rule_set.name, results, checks)
    for M, result in zip(sizes, results, strict=True):
        if result.status == "infeasible":
            note(f"error: M={M:,} is infeasible: {result.why}")
    if output is not None and results[0].schedule is not None:
        results[0].schedule.save(output, embed=embed or loaded.spec is None)
        note(f"saved the schedule as {output}", quiet=quiet)
    raise typer.Exit(_exit_code(results, checks))


class _Teller:
    """Progress on standard error: a line at every improvement, and now and then."""

    def __init__(self) -> None:
        self.start = self.said = time.perf_counter()
        self.M = self.bound = 0
        self.best: int | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.schedule is not None and progress.schedule.instance.M != self.M:
            self.M, self.bound, self.best = progress.schedule.instance.M, 0, None
        now = time.perf_counter()
        better = progress.io is not None and (self.best is None or progress.io < self.best)
        if not better and progress.lower_bound <= self.bound and now - self.said < _INTERVAL:
            return
        self.said = now
        self.bound = max(self.bound, progress.lower_bound)
        if better:
            self.best = progress.io
        best = "none" if self.best is None else f"{self.best:,}"
        gap = f"  gap {self.best / self.bound - 1:.1%}" if self.best is not None and self.bound else ""
        note(
            f"{now - self.start:7.1f} s  M={self.M:,}  {progress.method}: {progress.states:,} states, "
            f"bound {self.bound:,}, best {best}{gap}"
        )


def _export(instance: Instance, path: Path, options: dict[str, Any], quiet: bool) -> None:
    from solvers.ilp import export_model

    size = export_model(instance, path, copies=options.get("copies"))
    note(f"wrote the integer program ({size}) as {path}", quiet=quiet)


def _checked(instance: Instance, result: Result, seed: int) -> list[CheckRow]:
    from solvers.checking import check

    return check(instance, result, seed)


def _document(
    loaded: LoadedGraph, M: int, rules: str, result: Result, rows: list[CheckRow] | None
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "graph": loaded.name,
        "num_vertices": loaded.cdag.num_vertices,
        "num_edges": loaded.cdag.num_edges,
        "M": M,
        "rules": rules,
        **result.to_dict(),
    }
    if rows is not None:
        document["check"] = [row.to_dict() for row in rows]
    return document


def _print(
    loaded: LoadedGraph,
    sizes: list[int],
    rules: str,
    results: list[Result],
    checks: list[list[CheckRow] | None],
) -> None:
    from pebble.draw.report import result_text

    out = console()
    if len(sizes) == 1:
        if results[0].status != "infeasible":
            out.print(whole(result_text(results[0], loaded.name)))
    else:
        grid = table(
            [
                ("M", True),
                ("status", False),
                ("I/O", True),
                ("lower bound", True),
                ("gap", True),
                ("by", False),
                ("seconds", True),
            ],
            title=f"{loaded.name}: {loaded.cdag.num_vertices:,} vertices, {loaded.cdag.num_edges:,} edges; "
            f"rules {rules}",
        )
        for M, result in zip(sizes, results, strict=True):
            seconds = result.stats.get("seconds")
            infeasible = result.status == "infeasible"
            grid.add_row(
                whole(M),
                result.status.value,
                whole(result.io),
                "" if infeasible else whole(result.lower_bound),
                "" if result.gap is None else f"{result.gap:.1%}",
                whole(result.method),
                "" if seconds is None else f"{seconds:.2f}",
            )
        out.print(grid)
    for M, rows in zip(sizes, checks, strict=True):
        if rows:
            _print_check(M, rows)


def _print_check(M: int, rows: list[CheckRow]) -> None:
    grid = table(
        [("", False), ("", False), ("I/O", True), ("ratio", True), ("verdict", False), ("", False)],
        title=f"M={M:,}: what else is known",
    )
    for row in rows:
        grid.add_row(
            row.kind,
            whole(row.name),
            whole(row.value),
            "" if row.ratio is None else f"{row.ratio:.3f}",
            row.verdict,
            whole(row.note),
        )
    console().print(grid)


def _exit_code(results: list[Result], checks: list[list[CheckRow] | None]) -> int:
    if any(row.verdict == "wrong" for rows in checks for row in rows or []):
        return 1
    if any(result.limit_hit == "interrupted" for result in results):
        return 130
    if any(result.schedule is not None for result in results):
        return 0
    return 1 if any(result.status == "infeasible" for result in results) else 3
