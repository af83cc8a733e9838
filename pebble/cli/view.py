"""``pebble view``: one HTML file that plays a schedule, and lets the reader play."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption, SeedOption
from pebble.cli.output import note, print_json, print_pairs, progress, require_place
from pebble.cli.targets import ScheduleGraphOption, TargetArgument, TargetMemoryOption, load_target

if TYPE_CHECKING:
    from pebble.cli.output import Steps
    from pebble.draw.page import Reference
    from pebble.instance import Instance
    from pebble.schedule import Schedule

__all__ = ["view"]

# Up to so many vertices the optimum is looked for without being asked, for so many seconds.
_SMALL = 64
_SECONDS = 5.0
_LABELS = {
    "graph": "graph",
    "M": "M",
    "rules": "rules",
    "moves": "moves shown",
    "optimum": "optimum",
    "best": "best known",
    "lower_bound": "lower bound",
}


def view(
    target: TargetArgument,
    memory: TargetMemoryOption = None,
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="RULES", help="For a graph: a rule set, such as one-shot."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "-s", "--strategy", metavar="NAME", help="For a graph: the strategy whose game is shown."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--time",
            metavar="SECONDS",
            min=0.0,
            help=f"How long to look for the optimum. Default: {_SECONDS:g} up to {_SMALL} vertices, else 0.",
        ),
    ] = None,
    best: Annotated[
        int | None, typer.Option("--best", metavar="IO", min=0, help="The best I/O known, to play against.")
    ] = None,
    graph: ScheduleGraphOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page to write.")] = Path(
        "pebbling.html"
    ),
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write one HTML file, for any browser and without a network, that plays a pebbling.

    A schedule is played back; a graph is there to play yourself, against the optimum where it can be found.
    Exit code 1 if the schedule is illegal: the page then ends at the first broken rule. Ctrl-C ends the
    search for the optimum: the page is written all the same, and the exit code is 130.
    """
    from pebble.draw.page import Reference, viewer_page
    from pebble.formats.files import atomic_writer

    require_place(output)
    name, instance, schedule = load_target(target, memory, rules, graph)
    if schedule is not None and strategy is not None:
        raise typer.BadParameter("a schedule file is shown as it is", param_hint="'-s'")
    problem, interrupted, own_game = "", False, schedule is None and strategy is None
    with progress(quiet=quiet) as steps:
        if schedule is None and strategy is not None:
            steps.step(strategy)
            schedule = _played(strategy, instance, seed)
        if schedule is not None:
            problem = _problem(schedule)
        reference = Reference(best=best, best_by="given" if best is not None else "")
        if instance.feasible:
            small = instance.cdag.num_vertices <= _SMALL
            limit = (_SECONDS if small else 0.0) if seconds is None else seconds
            known = None if problem else schedule
            reference, found, interrupted = _reference(instance, known, best, limit, seed, steps)
            schedule = schedule or found
        steps.step("the page")
        page = viewer_page(instance, schedule, reference, title=name, play=own_game)
        with atomic_writer(output) as stream:
            stream.write(page.encode("utf-8", "replace"))
    document = _document(name, instance, schedule, reference, output, problem)
    if as_json:
        print_json(document)
    else:
        rows = [(label, document[key]) for key, label in _LABELS.items() if document[key] is not None]
        print_pairs([*rows, ("page", f"{output} ({len(page) / 1e6:.1f} MB)")])
    if problem:
        note(f"error: the schedule is illegal: {problem}")
        raise typer.Exit(1)
    if interrupted:
        note("interrupted: the page shows the best known so far")
        raise typer.Exit(130)


def _played(strategy: str, instance: Instance, seed: int) -> Schedule:
    from strategies.playing import play

    return play(strategy, instance, seed=seed)


def _problem(schedule: Schedule) -> str:
    """What the referee has against a schedule, empty if nothing."""
    from pebble.errors import IllegalMoveError, IncompleteScheduleError
    from pebble.referee import verify

    try:
        verify(schedule)
    except (IllegalMoveError, IncompleteScheduleError) as error:
        return str(error)
    return ""


def _reference(
    instance: Instance, schedule: Schedule | None, best: int | None, seconds: float, seed: int, steps: Steps
) -> tuple[Reference, Schedule | None, bool]:
    """What is known of the instance, the best schedule found on the way, and whether Ctrl-C ended it."""
    import solvers
    from pebble.draw.page import Reference
    from pebble.errors import UnsupportedInstanceError
    from pebble.referee import verify
    from pebble.result import Limit, Status

    steps.step("lower bounds")
    bound = solvers.best_bound(instance)
    known = [(best, "given")] if best is not None else []
    if schedule is not None:
        known.append((verify(schedule).io, schedule.producer or "this schedule"))
    lower, lower_by, found, optimum = bound.value, bound.name, None, None
    interrupted = False
    if seconds > 0:
        steps.step(f"the optimum, for at most {seconds:g} s")
        try:
            result = solvers.solve(instance, limit=Limit(time=seconds), seed=seed)
        except UnsupportedInstanceError as error:
            note(f"the optimum was not looked for: {error}")
        else:
            interrupted = result.limit_hit == "interrupted"
            if result.io is not None:
                known.append((result.io, result.method))
                found = result.schedule
            if result.bound is not None and result.lower_bound > lower:
                lower, lower_by = result.lower_bound, result.bound.name
            if result.status is Status.OPTIMAL:
                optimum = result.io
    least, least_by = min(known, key=lambda pair: pair[0], default=(None, ""))
    if optimum is None and least is not None and least == lower:
        optimum = least
    return Reference(optimum, least, least_by, lower, lower_by), found, interrupted


def _document(
    name: str,
    instance: Instance,
    schedule: Schedule | None,
    reference: Reference,
    output: Path,
    problem: str,
) -> dict[str, Any]:
    return {
        "graph": name,
        "M": instance.M,
        "rules": instance.rules.name,
        "moves": None if schedule is None else len(schedule),
        "optimum": reference.optimum,
        "best": reference.best,
        "lower_bound": reference.bound,
        "problem": problem or None,
        "file": str(output),
    }
