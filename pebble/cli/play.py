"""``pebble play``: strategies side by side on one graph, each schedule refereed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pebble.cli.arguments import (
    GraphArgument,
    JsonOption,
    LoadedGraph,
    MemoryOption,
    QuietOption,
    RulesOption,
    SeedOption,
    StrategiesOption,
    load_graph,
    split_names,
)
from pebble.cli.comparison import Comparison, exit_code
from pebble.cli.output import note, print_json, progress, require_place

if TYPE_CHECKING:
    from pebble.cli.output import Steps
    from pebble.instance import Instance
    from pebble.result import Limit
    from pebble.schedule import Schedule
    from solvers.progress import OnProgress, Progress

__all__ = ["play"]


def play(
    graph: GraphArgument,
    memory: MemoryOption,
    strategies: StrategiesOption = None,
    rules: RulesOption = "hong-kung",
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Save the best schedule (.gz packs it)."),
    ] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Save the edges with it; always done for a graph from a file.")
    ] = False,
    improve: Annotated[
        bool,
        typer.Option("--improve", help="Take every schedule further by exact search, whole or in windows."),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--time",
            metavar="SECONDS",
            min=0,
            help="For each strategy, and for each --improve; auto uses all.",
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play a graph with several strategies; the referee counts, the best lower bound says what is left.

    Exit code 0 if any strategy played, 3 if none could, 1 if M is below the graph's least M.
    """
    from pebble.cli.memory import parse_memory
    from pebble.instance import Instance
    from pebble.result import Limit
    from pebble.rules import Rules

    limit = None if seconds is None else Limit(time=seconds)
    rule_set = Rules.named(rules)
    names = _checked(split_names(strategies))
    loaded = load_graph(graph)
    sizes = parse_memory(memory, loaded.params)
    if output is not None and len(sizes) > 1:
        raise typer.BadParameter(
            f"one schedule is saved, but -M names {len(sizes)} values", param_hint="'-o'"
        )
    require_place(output)
    comparisons: list[Comparison] = []
    interrupted = False
    try:
        for M in sizes:
            comparison = Comparison(
                loaded.name, loaded.cdag.num_vertices, loaded.cdag.num_edges, M, rule_set.name
            )
            comparisons.append(comparison)
            try:
                with progress(quiet=quiet) as steps:
                    instance = Instance(loaded.cdag, M, rule_set)
                    _compare(comparison, instance, names, seed, steps, limit, improve)
            finally:
                _print(comparison, as_json)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        documents = [comparison.to_dict() for comparison in comparisons]
        print_json(documents[0] if len(sizes) == 1 else documents)
    if output is not None and comparisons[0].best is not None:
        _save(comparisons[0].best, loaded, output, embed, quiet)
    if interrupted:
        note("interrupted: these are the results so far")
        raise typer.Exit(130)
    code = exit_code(comparisons)
    if code == 3:
        reasons = [row["reason"] for c in comparisons for row in c.results]
        note(f"error: no strategy could play: {reasons[0] if reasons else 'none supports this graph'}")
    raise typer.Exit(code)


def _checked(names: list[str] | None) -> list[str] | None:
    """The specs themselves, once each names a strategy and its options."""
    from pebble.errors import UnsupportedInstanceError
    from strategies.playing import parse_strategy

    for name in names or []:
        try:
            parse_strategy(name)
        except UnsupportedInstanceError as error:
            raise typer.BadParameter(str(error), param_hint="'-s' / '--strategies'") from None
    return names


def _print(comparison: Comparison, as_json: bool) -> None:
    """What there is of a comparison, also after an interrupt; JSON waits for the others."""
    if comparison.infeasible:
        note(f"error: {comparison.infeasible}")
    if not as_json:
        comparison.print()


def _compare(
    comparison: Comparison,
    instance: Instance,
    names: list[str] | None,
    seed: int,
    steps: Steps,
    limit: Limit | None,
    improve: bool,
) -> None:
    """Play the strategies one after the other; an interrupt keeps what has been added."""
    import solvers
    from pebble.errors import (
        IllegalMoveError,
        IncompleteScheduleError,
        InfeasibleInstanceError,
        PlayInterrupted,
    )
    from pebble.errors import UnsupportedInstanceError as Unsupported
    from pebble.referee import verify
    from strategies.catalog import REGISTRY
    from strategies.playing import parse_strategy
    from strategies.playing import play as play_strategy

    try:
        instance.require_feasible()
    except InfeasibleInstanceError as error:
        comparison.infeasible, comparison.least_M = str(error), error.least_M
        return
    chosen = names
    if chosen is None:
        chosen = [name for name in REGISTRY.names() if REGISTRY.get(name).supports(instance) is None]
    for i, name in enumerate(chosen):
        steps.step(f"M={instance.M:,}: {name} ({i + 1} of {len(chosen)})")
        start = time.perf_counter()
        interrupt = None
        try:
            schedule = play_strategy(name, instance, limit=limit, seed=seed)
        except PlayInterrupted as stop:
            interrupt, schedule = stop, stop.schedule
        except Unsupported as error:
            comparison.add_refusal(name, str(error), error.least_M)
            continue
        seconds = time.perf_counter() - start
        try:
            cost = verify(schedule)
        except (IllegalMoveError, IncompleteScheduleError) as error:
            comparison.results.append({"strategy": name, "status": "illegal", "reason": str(error)})
            continue
        options = parse_strategy(name)[1] | dict(schedule.info)
        comparison.add(name, cost, verified=True, seconds=seconds, options=options, schedule=schedule)
        if interrupt is not None:
            raise interrupt
        if improve:
            start = time.perf_counter()
            told = _told(steps, f"M={instance.M:,}: {name}, improved", cost.io, limit)
            better = solvers.improve(schedule, limit, seed=seed, on_progress=told)
            seconds = time.perf_counter() - start
            comparison.add(
                f"{name} improved",
                verify(better),
                verified=True,
                seconds=seconds,
                options={"optimal": better.info["optimal"]},
                schedule=better,
            )
            if better.info["improved"]["interrupted"]:
                raise KeyboardInterrupt
    if comparison.played:
        steps.step(f"M={instance.M:,}: lower bounds")
        comparison.bound = solvers.best_bound(instance)


def _told(steps: Steps, text: str, before: int, limit: Limit | None) -> OnProgress:
    """What says how far `improve` is: by the time it has, else by the states that it may expand."""
    from solvers.improving import STATES_ALL

    seconds = None if limit is None else limit.time
    steps.step(text, 0.0)

    def say(progress: Progress) -> None:
        share = progress.states / STATES_ALL if seconds is None else progress.seconds / max(seconds, 1e-9)
        now = "" if progress.io is None else f", {before:,} I/Os down to {min(before, progress.io):,}"
        steps.step(f"{text}{now}", share)

    return say


def _save(schedule: Schedule, loaded: LoadedGraph, output: Path, embed: bool, quiet: bool) -> None:
    schedule.save(output, embed=embed or loaded.spec is None)
    note(f"saved the schedule of {schedule.producer or 'the best strategy'} as {output}", quiet=quiet)
