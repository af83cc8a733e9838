"""Where runs are done: processes that may die, any executor of Python's, a cluster of Dask's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any

from experiments.grid import Run
from experiments.running import Record, failure, perform
from pebble.errors import MissingExtraError, PebbleError

__all__ = ["dask_executor", "in_executor", "in_processes"]

# A run whose process dies is done again: the machine may have been short of memory, or someone killed it.
_ATTEMPTS = 3
_SECONDS_TO_CONNECT = 10


def in_processes(runs: Iterable[Run], jobs: int) -> Iterator[Record]:
    """Do runs in `jobs` fresh processes, each record as it comes.

    A process that dies, out of memory or killed, costs only the run it was doing: that is done again in a
    new process, and recorded as failed when that has died three times. The processes end with their parent.

    Parameters
    ----------
    runs : iterable of Run
        Taken one by one, as processes fall idle.
    jobs : int

    Yields
    ------
    dict
        Records in order of completion.
    """
    todo = iter(runs)
    again: deque[tuple[Run, int]] = deque()
    workers: list[_Worker] = []

    def give(worker: _Worker) -> bool:
        run, attempt = again.popleft() if again else (next(todo, None), 1)
        if run is not None:
            worker.start(run, attempt)
        return run is not None

    try:
        for _ in range(max(1, jobs)):
            worker = _Worker()
            workers.append(worker)
            if not give(worker):
                break
        while any(worker.run for worker in workers):
            busy = {worker.pipe: worker for worker in workers if worker.run}
            for pipe in wait_for(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                run, attempt = worker.doing()
                try:
                    record = worker.receive()
                except (EOFError, OSError):
                    code = worker.end()
                    fresh = _Worker()
                    workers[workers.index(worker)] = worker = fresh
                    if attempt < _ATTEMPTS:
                        again.append((run, attempt + 1))
                    else:
                        yield failure(run, f"its process died {_ATTEMPTS} times ({_ending(code)})")
                else:
                    yield record
                give(worker)
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that does one run after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), name="pebble-sweep")
        self.process.start()
        # Ours alone must be left, so that its end shows that the process has died.
        theirs.close()
        self.run: Run | None = None
        self.attempt = 0

    def start(self, run: Run, attempt: int) -> None:
        self.run, self.attempt = run, attempt
        try:
            self.pipe.send(run)
        except BrokenPipeError:
            # It has died meanwhile: seen as the end of the pipe when the record is awaited.
            return

    def doing(self) -> tuple[Run, int]:
        assert self.run is not None
        return self.run, self.attempt

    def receive(self) -> Record:
        record: Record = self.pipe.recv()
        self.run = None
        return record

    def end(self) -> int | None:
        self.pipe.close()
        self.process.kill()
        self.process.join()
        return self.process.exitcode


def _serve(pipe: Connection) -> None:
    # Ctrl-C in a terminal reaches the whole group; the parent ends its processes by itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            run = pipe.recv()
        except EOFError:
            return
        pipe.send(perform(run))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def in_executor(runs: Iterable[Run], executor: Executor, *, in_flight: int | None = None) -> Iterator[Record]:
    """Do runs in an executor, each record as it comes.

    Parameters
    ----------
    runs : iterable of Run
    executor : concurrent.futures.Executor
        It must be able to find this package: a pool of processes, a cluster's client.
    in_flight : int, optional
        Most runs handed over at a time; 4 per processor of this machine by default.

    Yields
    ------
    dict
        Records in order of completion. A run that the executor gives up is recorded as failed.

    Raises
    ------
    PebbleError
        The executor itself broke, or its cluster is gone.
    """
    most = in_flight or 4 * (os.cpu_count() or 1)
    todo = iter(runs)
    pending: dict[Future[Any], Run] = {}
    try:
        while True:
            while len(pending) < most and (run := next(todo, None)) is not None:
                pending[executor.submit(perform, run)] = run
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                yield _outcome(pending.pop(future), future)
    finally:
        for future in pending:
            future.cancel()


def _outcome(run: Run, future: Future[Any]) -> Record:
    try:
        record: Record = future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise PebbleError(
            f"the executor broke during {run.player} on {run.graph}, M={run.M} "
            f"({type(error).__name__}: {error}); what was done is kept: resume the sweep"
        ) from error
    except Exception as error:  # noqa: BLE001 - recorded: a run that the executor gave up is that run's failure
        return failure(run, f"{type(error).__name__}: {error}")
    return record


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on the workers of a Dask cluster, and the number of runs to hand it at a time.

    Dask does a run again on another worker when the one that had it dies.

    Parameters
    ----------
    address : str
        The scheduler's, such as ``tcp://host:8786``.

    Raises
    ------
    MissingExtraError
        The extra ``distributed`` is not installed.
    PebbleError
        No scheduler answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError(
            "a sweep on a cluster needs Dask: pip install 'red-blue-pebble[distributed]'"
        ) from error
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise PebbleError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        threads = sum(client.nthreads().values())
        yield client.get_executor(pure=False), max(4, 4 * threads)
