"""The child's side of `solvers.children`: one method, run under the parent's limits.

The parent sends one job and keeps the pipe open; its end is the sign to stop. Messages go back as they
arise, so that whatever happens to this process, the parent has the best schedule and bound so far.
"""

from __future__ import annotations

import dataclasses
import errno
import io
import os
import pickle
import struct
import sys
import threading
import time
import traceback
from typing import Any, BinaryIO

from pebble.instance import Instance
from pebble.result import Limit, Result
from pebble.schedule import Schedule
from solvers.progress import Progress

__all__ = ["Job", "main", "read_message", "write_message"]

_LENGTH = struct.Struct("<Q")
# Address space beyond the tables that a method accounts for: libraries, stacks, the compiler.
_HEADROOM_MB = 768.0


@dataclasses.dataclass(frozen=True)
class Job:
    """What a child is asked to do.

    Attributes
    ----------
    method : str
        A name of the registry of solvers, or `BOUNDS` for every lower bound.
    instance : Instance
        Bare: without labels and provenance, which need not travel.
    moves : ndarray or None
        The moves of the schedule to improve on.
    lower : int
        The best bound so far, in words.
    deadline : float or None
        Seconds of `time.time` at which the time is over: a child's start takes a part of it.
    """

    method: str
    instance: Instance
    limit: Limit
    seed: int
    moves: Any
    lower: int
    options: dict[str, Any]
    deadline: float | None = None


BOUNDS = "bounds"


def write_message(stream: BinaryIO, message: Any) -> None:
    """Write one message: its length, then its pickle."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def read_message(buffer: bytearray) -> Any:
    """Take the first whole message from a buffer, None if there is none yet."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    if len(buffer) < _LENGTH.size + length:
        return None
    data = bytes(buffer[_LENGTH.size : _LENGTH.size + length])
    del buffer[: _LENGTH.size + length]
    return pickle.load(io.BytesIO(data))


def main() -> None:
    """Read the job from standard input, run it, write messages to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    # What a library prints must not get among the messages.
    os.dup2(2, 1)
    (length,) = _LENGTH.unpack(sys.stdin.buffer.read(_LENGTH.size))
    job: Job = pickle.loads(sys.stdin.buffer.read(length))
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        write_message(out, ("result", _run(job, out)))
    except MemoryError:
        write_message(out, ("memory", None))
    except Exception as error:  # noqa: BLE001 - handed to the parent, which raises it
        from pebble.errors import UnsupportedInstanceError

        if _is_lack_of_memory(error):
            write_message(out, ("memory", None))
        elif isinstance(error, UnsupportedInstanceError):
            write_message(out, ("unsupported", str(error)))
        else:
            write_message(out, ("error", (f"{type(error).__name__}: {error}", traceback.format_exc())))
    out.close()
    # Threads of a solver library may still be at work; nothing of theirs is wanted.
    os._exit(0)


def _is_lack_of_memory(error: Exception) -> bool:
    """Whether a library could not be mapped or memory not be had: what `ulimit -v` does to an import."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, ImportError) and "failed to map segment" in str(error)


def _die_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def _run(job: Job, out: BinaryIO) -> Any:
    from solvers.catalog import SOLVERS

    if job.method == BOUNDS:
        from solvers.bounding import bounds

        _cap_memory(job.limit)
        return bounds(job.instance, limit=job.limit)
    method = SOLVERS.get(job.method)
    if job.method == "search" and job.instance.is_plain:
        # Loading the kernels takes up to a second of the time that the parent grants.
        from solvers.search.warming import compile_kernels

        compile_kernels(job.instance)
    _cap_memory(job.limit)
    limit = job.limit
    if job.deadline is not None:
        limit = dataclasses.replace(limit, time=max(0.0, job.deadline - time.time()))

    def tell(progress: Progress) -> None:
        moves = None if progress.schedule is None else progress.schedule.moves
        figures = (progress.seconds, progress.states, progress.lower_bound, progress.io)
        write_message(out, ("progress", (*figures, progress.bound, moves)))

    upper = None if job.moves is None else Schedule(job.instance, job.moves)
    found: Result = method(
        job.instance,
        limit=limit,
        seed=job.seed,
        on_progress=tell,
        upper=upper,
        lower=job.lower,
        **job.options,
    )
    moves = None if found.schedule is None else found.schedule.moves
    return (moves, found.bound, found.limit_hit, found.why, dict(found.stats))


def _cap_memory(limit: Limit) -> None:
    """Let the system refuse memory beyond the limit; the method's own accounting comes first."""
    if limit.memory_mb is None:
        return
    try:
        import resource
    except ImportError:  # not on Windows: there the method's own accounting stands alone
        return
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    most = used + int((limit.memory_mb + _HEADROOM_MB) * 1e6)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    main()
