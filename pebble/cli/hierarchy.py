"""``pebble hierarchy``: strategies on several levels of memory, each level's traffic beside its bound."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import (
    GraphArgument,
    JsonOption,
    LoadedGraph,
    QuietOption,
    SeedOption,
    load_graph,
    split_names,
)
from pebble.cli.levels import cost_document, parse_levels
from pebble.cli.output import console, note, print_json, progress, require_place, table, whole

if TYPE_CHECKING:
    from pebble.cli.output import Steps
    from pebble.hierarchy import Hierarchy, HierarchySchedule
    from pebble.result import Bound, Limit
    from pebble.rules import Rules

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
            help="auto, nested (loops in loops), a strategy for level 1, outer/inner, A/B/C (one per level).",
        ),
    ] = "belady,auto",
    rules: Annotated[
        str, typer.Option("--rules", metavar="RULES", help="hong-kung, or one-shot: nothing twice computed.")
    ] = "hong-kung",
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Save the best schedule (.gz packs it)."),
    ] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Save the edges with it; always done for a graph from a file.")
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option("--time", metavar="SECONDS", min=0, help="For each strategy; auto uses all."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play a graph on several levels of memory; the referee counts the words that move at each level.

    A level's lower bound is that of the two-level game with all the words up to it (docs/hierarchy.md).
    Ctrl-C prints what was finished. Exit code 0 if any strategy played, 3 if none could, 1 if M1 is below the
    graph's least M.
    """
    from pebble.errors import UnsupportedInstanceError
    from pebble.hierarchy import plain_rules
    from pebble.instance import Instance
    from pebble.result import Limit
    from strategies.hierarchical import check_hierarchy_spec

    try:
        rule_set = plain_rules(rules)
    except UnsupportedInstanceError as error:
        raise typer.BadParameter(str(error), param_hint="'--rules'") from None
    names = split_names(strategies) or []
    for name in names:
        try:
            check_hierarchy_spec(name)
        except UnsupportedInstanceError as error:
            raise typer.BadParameter(str(error), param_hint="'-s' / '--strategies'") from None
    loaded = load_graph(graph)
    table_of = _Table(loaded, parse_levels(memory, costs, loaded.params), rule_set)
    require_place(output)
    Instance(loaded.cdag, table_of.levels.sizes[0], rule_set).require_feasible()
    interrupted = False
    try:
        with progress(quiet=quiet) as steps:
            table_of.fill(names, None if seconds is None else Limit(time=seconds), seed, steps)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        print_json(table_of.to_dict())
    else:
        table_of.print()
    if output is not None and table_of.best is not None:
        table_of.best.save(output, embed=embed or loaded.spec is None)
        note(f"saved the schedule of {table_of.best.producer} as {output}", quiet=quiet)
    if interrupted:
        note("interrupted: these are the results so far")
        raise typer.Exit(130)
    if not table_of.played:
        note(f"error: no strategy could play: {table_of.rows[0]['reason']}")
        raise typer.Exit(3)


@dataclass
class _Table:
    """Strategies side by side on the levels of one memory, and the bounds, as far as they are known."""

    loaded: LoadedGraph
    levels: Hierarchy
    rules: Rules
    rows: list[dict[str, Any]] = field(default_factory=list)
    bounds: list[Bound] | None = None
    best: HierarchySchedule | None = None

    @property
    def played(self) -> list[dict[str, Any]]:
        """The rows with figures."""
        return [row for row in self.rows if row["status"] == "feasible"]

    def fill(self, names: list[str], limit: Limit | None, seed: int, steps: Steps) -> None:
        """Play, then bound; an interrupt leaves what has been added."""
        import solvers
        from pebble.errors import HierarchyPlayInterrupted, UnsupportedInstanceError
        from strategies.hierarchical import play_hierarchy

        for name in names:
            steps.step(name)
            start = time.perf_counter()
            try:
                schedule = play_hierarchy(
                    name, self.loaded.cdag, self.levels, rules=self.rules, limit=limit, seed=seed
                )
            except UnsupportedInstanceError as error:
                self.rows.append({"strategy": name, "status": "not-applicable", "reason": str(error)})
            except HierarchyPlayInterrupted as stop:
                self._add(name, stop.schedule, time.perf_counter() - start)
                raise
            else:
                self._add(name, schedule, time.perf_counter() - start)
        if self.played:
            steps.step("lower bounds")
            self.bounds = solvers.hierarchy_bounds(self.loaded.cdag, self.levels, self.rules)

    def _add(self, name: str, schedule: HierarchySchedule, seconds: float) -> None:
        from pebble.hierarchy import verify_hierarchy

        cost = verify_hierarchy(schedule)
        if all(cost.total < row["total"] for row in self.played):
            self.best = schedule
        self.rows.append(
            {"strategy": name, "status": "feasible", "verified": True, **cost_document(cost)}
            | {"seconds": round(seconds, 6), "options": dict(schedule.info)}
        )

    @property
    def lower_bound(self) -> int | None:
        """What no schedule's total cost is below."""
        if self.bounds is None:
            return None
        return sum(c * bound.value for c, bound in zip(self.levels.costs, self.bounds, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "graph": self.loaded.name,
            "num_vertices": self.loaded.cdag.num_vertices,
            "num_edges": self.loaded.cdag.num_edges,
            "M": list(self.levels.sizes),
            "costs": list(self.levels.costs),
            "rules": self.rules.name,
            "results": self.rows,
            "lower_bounds": None if self.bounds is None else [bound.value for bound in self.bounds],
            "lower_bound": self.lower_bound,
        }

    def print(self) -> None:
        """The table for people."""
        g, sizes, lower = self.loaded.cdag, self.levels.sizes, self.lower_bound
        each = ", ".join(f"{M:,} words at {c:,}" for M, c in zip(sizes, self.levels.costs, strict=True))
        figures = [*(f"I/O at {M:,}" for M in sizes), "cost"]
        recomputed = any(row["recomputes"] for row in self.played)
        figures += (["recomputed"] if recomputed else []) + ["ratio", "seconds"]
        grid = table(
            [("strategy", False), *((heading, True) for heading in figures)],
            title=f"{self.loaded.name}: {g.num_vertices:,} vertices, {g.num_edges:,} edges; {each}; "
            f"rules {self.rules.name}",
        )
        best = min(self.played, key=lambda row: row["total"], default=None)
        for row in self.played:
            again = [whole(row["recomputes"])] if recomputed else []
            ratio = f"{row['total'] / lower:.3f}" if lower else ""
            grid.add_row(
                whole(row["strategy"]),
                *(map(whole, row["io"])),
                whole(row["total"]),
                *again,
                ratio,
                f"{row['seconds']:.3f}",
                style="bold" if row is best else None,
            )
        if self.bounds is not None:
            empty = [""] * recomputed
            values = (whole(bound.value) for bound in self.bounds)
            grid.add_row("lower bound", *values, whole(lower), *empty, "", "")
        out = console()
        if best is not None:
            out.print(grid)
            chosen = " ".join(f"{key}={value}" for key, value in best["options"].items())
            out.print(f"best: {whole(best['strategy'])}" + (f" ({whole(chosen)})" if chosen else ""))
        for row in self.rows:
            if row not in self.played:
                out.print(f"{whole(row['strategy'])}: {row['status']}, {whole(row['reason'])}")
