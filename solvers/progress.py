"""What a solver says while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pebble.result import Bound
from pebble.schedule import Schedule

__all__ = ["OnProgress", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a running solver.

    Attributes
    ----------
    method : str
        Who reports.
    seconds : float
        Since that method's start.
    states : int
        Work done so far, in the method's own unit (search states, conflicts).
    lower_bound : int
        Proved so far, in words of I/O.
    io : int or None
        Cost of the best schedule so far, in words.
    schedule : Schedule or None
        That schedule, in the report that first brings it.
    bound : Bound or None
        What proves `lower_bound`, where the method says so.
    """

    method: str
    seconds: float
    states: int = 0
    lower_bound: int = 0
    io: int | None = None
    schedule: Schedule | None = None
    bound: Bound | None = None

    @property
    def gap(self) -> float | None:
        """``(io - lower_bound) / lower_bound``; None without a schedule or a positive bound."""
        if self.io is None or self.lower_bound <= 0:
            return 0.0 if self.io == self.lower_bound else None
        return (self.io - self.lower_bound) / self.lower_bound


OnProgress = Callable[[Progress], None]
