"""`sweep`: every run of a grid, once, on the disk as it ends."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from experiments.executors import in_executor, in_processes
from experiments.grid import Grid, Run, runs_of
from experiments.running import Record
from experiments.store import RunFile

__all__ = ["OnProgress", "Summary", "SweepProgress", "sweep"]


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes
    ----------
    done, total : int
        Runs, those of earlier sessions included.
    failed : int
        Of those done.
    elapsed : float
        Seconds of this session.
    eta : float or None
        Seconds to go at this session's pace; None before its first run is done.
    record : dict or None
        The run that has just ended.
    """

    done: int
    total: int
    failed: int
    elapsed: float
    eta: float | None
    record: Record | None = None


OnProgress = Callable[[SweepProgress], None]


@dataclass(frozen=True)
class Summary:
    """What a sweep did.

    Attributes
    ----------
    total : int
        Runs of the grid.
    skipped : int
        Of these, done in an earlier session.
    statuses : mapping of str to int
        How many of the grid's runs have each status, earlier sessions included.
    seconds : float
    records : list of dict
        The grid's, in its order.
    """

    total: int
    skipped: int
    statuses: Mapping[str, int]
    seconds: float
    records: list[Record] = field(repr=False)

    @property
    def failed(self) -> int:
        """Runs that failed, or whose schedule was illegal."""
        return self.statuses.get("failed", 0) + self.statuses.get("illegal", 0)


def sweep(
    grid: Grid | Sequence[Grid] | Sequence[Run],
    path: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    in_flight: int | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    on_progress: OnProgress | None = None,
) -> Summary:
    """Do every run of a grid and append its record to a file.

    Parameters
    ----------
    grid : Grid, sequence of Grid, or sequence of Run
    path : path
        The sweep file, one line of JSON per run. Killed at any moment, the sweep loses the runs that were
        being done and no others.
    jobs : int, optional
        Processes; one per processor by default. They are started afresh (spawn): a script that calls this
        needs the guard ``if __name__ == "__main__"``.
    executor : concurrent.futures.Executor, optional
        Used instead of processes of our own.
    in_flight : int, optional
        Most runs handed to `executor` at a time.
    resume : bool
        Skip what the file holds; without it a file that has records is refused.
    retry_failed : bool
        With `resume`, do runs again that failed.
    on_progress : callable, optional
        Called with a `SweepProgress` at the start and after each run, in this process.

    Returns
    -------
    Summary

    Raises
    ------
    FormatError
        The file cannot be used.
    PebbleError
        A name in the grid is unknown, or the executor broke.
    """
    items = [grid] if isinstance(grid, Grid) else list(grid)
    runs = [item for item in items if isinstance(item, Run)]
    runs = runs or runs_of([item for item in items if isinstance(item, Grid)])
    start = time.perf_counter()
    with RunFile(path, resume=resume) as file:

        def is_done(run: Run) -> bool:
            record = file.records.get(run.key)
            return record is not None and not (retry_failed and record["status"] in ("failed", "illegal"))

        todo = [run for run in runs if not is_done(run)]
        skipped = len(runs) - len(todo)
        done = {run.key: file.records[run.key] for run in runs if is_done(run)}
        failed = sum(record["status"] in ("failed", "illegal") for record in done.values())

        def report(new: int, record: Record | None) -> None:
            elapsed = time.perf_counter() - start
            eta = elapsed / new * (len(todo) - new) if new else None
            if on_progress is not None:
                on_progress(SweepProgress(skipped + new, len(runs), failed, elapsed, eta, record))

        report(0, None)
        if not todo:
            coming: Iterator[Record] = iter(())
        elif executor is not None:
            coming = in_executor(todo, executor, in_flight=in_flight)
        else:
            coming = in_processes(todo, min(len(todo), jobs or os.cpu_count() or 1))
        for new, record in enumerate(coming, 1):
            file.append(record)
            failed += record["status"] in ("failed", "illegal")
            report(new, record)
        records = [file.records[run.key] for run in runs]
    statuses = Counter(record["status"] for record in records)
    return Summary(len(runs), skipped, statuses, time.perf_counter() - start, records)
