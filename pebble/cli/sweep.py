"""``pebble sweep``: a grid of runs into a file, on processes or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption, split_names
from pebble.cli.output import note, print_json, print_pairs

if TYPE_CHECKING:
    from experiments.grid import Grid
    from experiments.sweeping import OnProgress, Summary

__all__ = ["sweep"]


def sweep(
    graphs: Annotated[
        list[str] | None, typer.Argument(metavar="[GRAPH]...", help="Specs or graph files, any number.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("-M", "--memory", metavar="M", help="As for play: d^2/4..4d^2:x2, 8,16, …")
    ] = None,
    rules: Annotated[str, typer.Option("--rules", metavar="A,B", help="Rule sets.")] = "hong-kung",
    strategies: Annotated[
        str | None, typer.Option("-s", "--strategies", metavar="A,B", help="Strategies to play and referee.")
    ] = None,
    count: Annotated[
        str | None, typer.Option("--count", metavar="A,B", help="Tile programs to count, no graph built.")
    ] = None,
    solvers: Annotated[str | None, typer.Option("--solvers", metavar="A,B", help="Solvers.")] = None,
    bounds: Annotated[
        str, typer.Option("--bounds", metavar="A,B", help="Lower bounds; best is the highest; none for none.")
    ] = "best",
    seeds: Annotated[str, typer.Option("--seeds", metavar="0,1", help="Seeds of whatever is random.")] = "0",
    time: Annotated[
        float | None, typer.Option("--time", metavar="SECONDS", min=0.0, help="Limit of each run.")
    ] = None,
    grid: Annotated[
        Path | None, typer.Option("--grid", metavar="FILE", help="Take the grid from a TOML file instead.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The sweep file, a line of JSON per run.")
    ] = Path("sweep.jsonl"),
    resume: Annotated[bool, typer.Option("--resume", help="Skip the runs that the file holds.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: do those that failed again.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", metavar="N", min=1, help="Processes. Default: the processors."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster: tcp://host:8786."),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write a CSV.")] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Also write a Parquet file.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run every player on every graph at every M; the file survives a kill, and --resume goes on from it.

    Exit code 1 if a run failed; it is in the file with its error, and the others are done.
    """
    from experiments.executors import dask_executor
    from experiments.grid import read_grids, runs_of
    from experiments.sweeping import sweep as run_sweep

    if grid is not None:
        if graphs or memory:
            raise typer.BadParameter("the file says what to run: no GRAPH and no -M", param_hint="'--grid'")
        grids = read_grids(grid)
    else:
        grids = [_grid(graphs, memory, rules, strategies, count, solvers, bounds, seeds, time)]
    runs = runs_of(grids)
    if scheduler is not None and jobs is not None:
        raise typer.BadParameter("the cluster has its own workers", param_hint="'--jobs'")
    try:
        with ExitStack() as stack:
            where: dict[str, Any] = {"jobs": jobs}
            if scheduler is not None:
                executor, in_flight = stack.enter_context(dask_executor(scheduler))
                where = {"executor": executor, "in_flight": in_flight}
            on_progress = stack.enter_context(_progress_bar(quiet))
            summary = run_sweep(
                runs, output, resume=resume, retry_failed=retry_failed, on_progress=on_progress, **where
            )
    except KeyboardInterrupt:
        note(f"interrupted: what was done is in {output}; go on with --resume")
        raise typer.Exit(130) from None
    _export(summary, csv, parquet)
    _print(summary, output, as_json)
    if summary.failed:
        for record in summary.records:
            if record["status"] in ("failed", "illegal"):
                note(f"failed: {record['player']} on {record['graph']}, M={record['M']}: {record['error']}")
        raise typer.Exit(1)


def _grid(
    graphs: list[str] | None,
    memory: str | None,
    rules: str,
    strategies: str | None,
    count: str | None,
    solvers: str | None,
    bounds: str,
    seeds: str,
    time: float | None,
) -> Grid:
    from experiments.grid import Grid

    if not graphs or memory is None:
        raise typer.BadParameter("name GRAPHs and -M, or a --grid file")
    if not all(seed.strip().isdigit() for seed in seeds.split(",")):
        raise typer.BadParameter(f"'{seeds}' is no list of whole numbers", param_hint="'--seeds'")
    return Grid(
        graphs,
        [memory],
        split_names(rules) or (),
        split_names(strategies) or (),
        split_names(count) or (),
        split_names(solvers) or (),
        () if bounds == "none" else split_names(bounds) or (),
        [int(seed) for seed in seeds.split(",")],
        time,
    )


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[OnProgress]:
    """A bar on standard error with the time to go, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None, left="")

        def show(progress: Any) -> None:
            record = progress.record
            text = "" if record is None else f"{record['player']} on {record['graph']}, M={record['M']}"
            if progress.failed:
                text = f"{progress.failed} failed; {text}"
            bar.update(
                task,
                total=progress.total,
                completed=progress.done,
                left="" if progress.eta is None else f"{_duration(progress.eta)} to go",
                description=text.replace("[", "\\["),
            )

        yield show


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds.

    Examples
    --------
    >>> _duration(3725.4)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _export(summary: Summary, csv: Path | None, parquet: Path | None) -> None:
    from experiments.tables import write_csv, write_parquet

    if csv is not None:
        write_csv(summary.records, csv)
    if parquet is not None:
        write_parquet(summary.records, parquet)


def _print(summary: Summary, output: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "file": str(output),
                "runs": summary.total,
                "skipped": summary.skipped,
                "statuses": dict(summary.statuses),
                "seconds": round(summary.seconds, 3),
            }
        )
        return
    counts = ", ".join(f"{number} {status}" for status, number in sorted(summary.statuses.items()))
    pairs = [
        ("file", str(output)),
        ("runs", summary.total),
        ("skipped", summary.skipped),
        ("of these", counts),
    ]
    print_pairs([*pairs, ("seconds", f"{summary.seconds:.1f}")])
