"""Where a solve stands: the best schedule, refereed, and the best proved bound."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Bound, Limit, Result, Status
from pebble.schedule import Schedule
from solvers.progress import OnProgress, Progress

__all__ = ["Clock", "Standing", "infeasible"]


class Clock:
    """The time of a solve.

    Parameters
    ----------
    limit : Limit or None
        Only its time counts here.
    """

    def __init__(self, limit: Limit | None) -> None:
        self.start = time.perf_counter()
        self.limit = None if limit is None else limit.time

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None if there is no limit."""
        return None if self.limit is None else max(0.0, self.limit - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the time has run out."""
        return self.limit is not None and self.seconds >= self.limit

    def excuse(self, seconds: float) -> None:
        """Let seconds that have passed not count."""
        self.start += seconds

    def share(self, fraction: float) -> float | None:
        """That fraction of the time left."""
        left = self.left
        return None if left is None else left * fraction


class Standing:
    """The best schedule and the best bound so far; neither ever gets worse.

    Parameters
    ----------
    instance : Instance
    method : str
        Who reports progress.
    on_progress : callable, optional

    Attributes
    ----------
    schedule : Schedule or None
        Refereed.
    io : int or None
        Its cost, in words.
    bound : Bound or None
    found_by : str
        Who made the schedule.
    states : int
        Work reported so far.
    """

    def __init__(self, instance: Instance, method: str, on_progress: OnProgress | None = None) -> None:
        self.instance = instance
        self.method = method
        self.on_progress = on_progress
        self.schedule: Schedule | None = None
        self.io: int | None = None
        self.bound: Bound | None = None
        self.found_by = ""
        self.states = 0
        self._start = time.perf_counter()

    @property
    def lower_bound(self) -> int:
        """The value of the best bound, 0 without one."""
        return 0 if self.bound is None else self.bound.value

    @property
    def closed(self) -> bool:
        """Whether the schedule is proved optimal."""
        return self.io is not None and self.io == self.lower_bound

    def good_enough(self, gap: float | None) -> bool:
        """Whether the gap is closed, or at most `gap`."""
        if self.closed:
            return True
        if gap is None or self.io is None or self.lower_bound <= 0:
            return False
        return self.io - self.lower_bound <= gap * self.lower_bound

    def offer(self, schedule: Schedule, found_by: str = "") -> bool:
        """Referee a schedule and keep it if it is cheaper; whether it was.

        A schedule of another M or rule set is taken for what its moves do under this instance.

        Raises
        ------
        IllegalMoveError, IncompleteScheduleError
            It is not a schedule of this instance: a mistake of whoever made it.
        """
        if schedule.instance is not self.instance:
            schedule = dataclasses.replace(schedule, instance=self.instance)
        cost = verify(schedule)
        if self.io is not None and cost.io >= self.io:
            return False
        self.schedule = dataclasses.replace(schedule, claim=cost.io)
        self.io = cost.io
        self.found_by = found_by or schedule.producer
        self.report(self.schedule)
        return True

    def raise_bound(self, bound: Bound | None) -> bool:
        """Keep a certified bound if it is higher; whether it was."""
        if bound is None or not bound.certificate:
            return False
        if self.bound is not None and bound.value <= self.bound.value:
            return False
        self.bound = bound
        self.report()
        return True

    def report(self, schedule: Schedule | None = None) -> None:
        """Tell whoever listens how things stand, once there is a schedule."""
        if self.on_progress is not None and self.io is not None:
            seconds = time.perf_counter() - self._start
            self.on_progress(
                Progress(self.method, seconds, self.states, self.lower_bound, self.io, schedule, self.bound)
            )

    def result(
        self,
        *,
        method: str = "",
        why: str = "",
        limit_hit: str | None = None,
        stats: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Result:
        """The Result of how things stand; no limit counts as hit once the gap is closed."""
        status = Status.UNKNOWN
        if self.io is not None:
            status = Status.OPTIMAL if self.closed else Status.FEASIBLE
        return Result(
            status=status,
            schedule=self.schedule,
            io=self.io,
            lower_bound=self.lower_bound,
            bound=self.bound,
            method=method or self.method,
            why=why,
            limit_hit=None if self.closed else limit_hit,
            stats=dict(stats or {}),
            seed=seed,
        )


def infeasible(instance: Instance, method: str, seed: int = 0) -> Result | None:
    """The Result INFEASIBLE if M is below the graph's least M, which proves it; else None."""
    if instance.feasible:
        return None
    return Result(
        status=Status.INFEASIBLE,
        schedule=None,
        io=None,
        lower_bound=0,
        bound=None,
        method=method,
        why=(
            f"computing vertex {instance.least_M_vertex} needs {instance.least_M} red words at once, "
            f"M={instance.M}"
        ),
        stats={"least_M": instance.least_M},
        seed=seed,
    )
