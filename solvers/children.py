"""Methods in child processes, one or several side by side, their finds kept by the parent.

A method may run out of memory, be killed, or not look at the clock: the child takes the harm, and the
parent still has every schedule and bound that was sent before.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pebble.cdag import CDAG
from pebble.errors import PebbleError
from pebble.instance import Instance
from pebble.result import Bound, Limit
from pebble.schedule import Schedule
from solvers.child_process import BOUNDS, Job, read_message
from solvers.standing import Clock, Standing

__all__ = ["Outcome", "run_children"]

# A method that looks at its clock ends by itself; this much later it is ended.
_GRACE = 0.75
_TICK = 0.25
# Seconds that the method which closed the gap has for its last words.
_FAREWELL = 1.0


@dataclass
class Outcome:
    """How one child ended.

    Attributes
    ----------
    method : str
    settled : bool
        It ran to its end, no limit having stopped it.
    limit_hit : str or None
        ``time``, ``nodes``, ``memory``, ``gap``, or ``died`` if its process was killed.
    why : str
        The method's own words, or what ended it.
    stats : dict
    """

    method: str
    settled: bool = False
    limit_hit: str | None = None
    why: str = ""
    stats: dict[str, Any] = field(default_factory=dict)


class _Child:
    def __init__(self, job: Job) -> None:
        self.outcome = Outcome(job.method)
        self.buffer = bytearray()
        self.finished = False
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from solvers.child_process import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C in a terminal reaches the whole group; the parent decides what becomes of the child.
            start_new_session=True,
        )
        # In a thread: a child that is stuck before it reads must not hold up its parent.
        threading.Thread(target=self._send, args=(job,), daemon=True).start()

    def _send(self, job: Job) -> None:
        data = pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(struct.pack("<Q", len(data)) + data)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            # It has died, or was ended, before it had read the job: seen when its messages are read.
            return

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


def bare(instance: Instance) -> Instance:
    """The instance without labels and tensors, which need not have a pickle and need not travel."""
    g = instance.cdag
    graph = CDAG(
        family=g.family,
        params=dict(g.params),
        indptr=g.indptr,
        indices=g.indices,
        weights=g.weights,
        further_outputs=g.further_outputs,
    )
    return Instance(graph, instance.M, instance.rules, instance.red_at_start)


def run_children(
    standing: Standing,
    methods: Mapping[str, Mapping[str, Any]] | Sequence[str],
    *,
    limit: Limit,
    seed: int = 0,
) -> list[Outcome]:
    """Run methods side by side, each in a process, until one closes the gap or all have ended.

    Parameters
    ----------
    standing : Standing
        What they start from and improve.
    methods : mapping of str to mapping, or sequence of str
        Names in the registry of solvers (or ``bounds``), with their options.
    limit : Limit
        For each of them; the time is enforced here too.
    seed : int

    Returns
    -------
    list of Outcome
        In the order of `methods`.

    Raises
    ------
    KeyboardInterrupt
        After every child has been ended; `standing` keeps what they found.
    PebbleError
        A method failed with an exception that is no limit and no refusal.
    """
    if not isinstance(methods, Mapping):
        methods = {name: {} for name in methods}
    clock = Clock(limit)
    farewell = 0.0
    moves = None if standing.schedule is None else standing.schedule.moves
    small = bare(standing.instance)
    deadline = None if limit.time is None else time.time() + limit.time
    children: list[_Child] = []
    selector = selectors.DefaultSelector()
    try:
        for name, options in methods.items():
            job = Job(name, small, limit, seed, moves, standing.lower_bound, dict(options), deadline)
            children.append(_Child(job))
        for child in children:
            assert child.process.stdout is not None
            selector.register(child.process.stdout, selectors.EVENT_READ, child)
        settler: _Child | None = None
        while selector.get_map():
            if settler is not None and (settler.finished or time.perf_counter() > farewell):
                break
            if clock.limit is not None and clock.seconds > clock.limit + _GRACE:
                break
            for key, _ in selector.select(_TICK):
                if not _read(key.data, standing):
                    selector.unregister(key.fileobj)
                    _close(key.data)
                if settler is None and standing.good_enough(limit.gap):
                    # It may still say how it got there; the others need not go on.
                    settler, farewell = key.data, time.perf_counter() + _FAREWELL
    finally:
        selector.close()
        for child in children:
            child.end()
    for child in children:
        if not child.finished and child.outcome.limit_hit is None:
            child.outcome.limit_hit = "time" if clock.over else "gap"
            child.outcome.why = (
                "stopped at the limit on time" if clock.over else "ended when another method had settled it"
            )
    return [child.outcome for child in children]


def _read(child: _Child, standing: Standing) -> bool:
    """Take in what a child has sent; False at its end."""
    assert child.process.stdout is not None
    data = os.read(child.process.stdout.fileno(), 1 << 16)
    if not data:
        return False
    child.buffer += data
    while (message := read_message(child.buffer)) is not None:
        _take(child, standing, *message)
    return True


def _take(child: _Child, standing: Standing, kind: str, content: Any) -> None:
    outcome = child.outcome
    if kind == "progress":
        seconds, states, lower_bound, io, bound, moves = content
        standing.states = states
        outcome.stats |= {"states": states, "seconds": round(seconds, 3)}
        if lower_bound > standing.lower_bound:
            standing.raise_bound(bound or _bound_of(outcome.method, lower_bound, standing.instance))
        if moves is not None and (standing.io is None or (io is not None and io < standing.io)):
            standing.offer(Schedule(standing.instance, moves, producer=outcome.method), outcome.method)
        else:
            standing.report()
    elif kind == "result":
        child.finished = True
        if outcome.method == BOUNDS:
            for bound in content:
                standing.raise_bound(bound)
            outcome.settled = True
            return
        moves, bound, outcome.limit_hit, outcome.why, stats = content
        outcome.stats |= stats
        outcome.settled = outcome.limit_hit is None
        if moves is not None:
            standing.offer(Schedule(standing.instance, moves, producer=outcome.method), outcome.method)
        standing.raise_bound(bound)
    elif kind == "memory":
        child.finished = True
        outcome.limit_hit, outcome.why = "memory", f"{outcome.method} ran out of memory"
    elif kind == "unsupported":
        child.finished = True
        outcome.why = content
        outcome.stats["unsupported"] = content
    elif outcome.method == BOUNDS:
        child.finished = True
        outcome.why = f"not every bound was computed: {content[0]}"
    else:
        text, trace = content
        raise PebbleError(f"solver '{outcome.method}' failed: {text}\n{trace}")


def _bound_of(method: str, value: int, instance: Instance) -> Bound:
    return Bound(value, method, f"rules {instance.rules}", f"proved by the solver '{method}' before it ended")


def _close(child: _Child) -> None:
    """The child's pipe is at its end: see how the process ended."""
    code = child.process.wait()
    if child.finished:
        return
    outcome = child.outcome
    if code < 0:
        name = signal.Signals(-code).name
        outcome.limit_hit = "memory" if -code == signal.SIGABRT else "died"
        outcome.why = f"the process of {outcome.method} was ended by {name}"
    else:
        outcome.limit_hit = "died"
        outcome.why = f"the process of {outcome.method} ended with exit code {code} and no answer"
