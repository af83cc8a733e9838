"""What a search may still spend: time, states and memory, and which of them ran out."""

from __future__ import annotations

import time

from pebble.result import Limit

__all__ = ["Budget"]

_DEFAULT_MEMORY_MB = 4096.0
# States of the first slice, and between how many seconds a slice should take.
_FIRST_SLICE = 1_000
_SHORT_SLICE, _LONG_SLICE = 0.1, 0.5


class Budget:
    """The limits of one solve, counted down.

    Attributes
    ----------
    hit : str or None
        ``time``, ``nodes`` or ``memory`` once that limit has ended something.
    spent : int
        States expanded so far.
    """

    def __init__(self, limit: Limit | None) -> None:
        limit = limit or Limit()
        self.start = time.perf_counter()
        self.deadline = None if limit.time is None else self.start + limit.time
        self.nodes = limit.nodes
        self.memory = (limit.memory_mb or _DEFAULT_MEMORY_MB) * 1e6
        self.gap = limit.gap
        self.hit: str | None = None
        self.spent = 0
        self._share_ends: float | None = None
        self._slice_states = _FIRST_SLICE
        self._slice_began = self.start

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    @property
    def remaining(self) -> float:
        """Seconds until the deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.perf_counter()

    def share(self, fraction: float | None) -> None:
        """Until called again, time is up once this fraction of what remains has passed; None: all of it."""
        if fraction is None or self.deadline is None:
            self._share_ends = None
        else:
            self._share_ends = time.perf_counter() + fraction * self.remaining

    @property
    def until_share_ends(self) -> float:
        """Seconds until the deadline or the end of the share, at least 0."""
        ends = self.deadline if self._share_ends is None else self._share_ends
        return float("inf") if ends is None else max(0.0, ends - time.perf_counter())

    def spend(self, states: int) -> None:
        """Count states, those of the slice that `slice` has measured out."""
        self.spent += states
        seconds = time.perf_counter() - self._slice_began
        if seconds > _LONG_SLICE:
            self._slice_states = max(_FIRST_SLICE // 8, self._slice_states // 2)
        elif seconds < _SHORT_SLICE and states >= self._slice_states:
            self._slice_states *= 2

    def slice(self, states: int) -> int:
        """States to expand before the next look at the limits: `states`, or fewer where they take long."""
        self._slice_began = time.perf_counter()
        states = min(states, self._slice_states)
        return states if self.nodes is None else max(1, min(states, self.nodes - self.spent))

    def exhausted(self) -> bool:
        """Whether time or states have run out."""
        ends = self.deadline if self._share_ends is None else self._share_ends
        if ends is not None and time.perf_counter() >= ends:
            self.hit = "time"
        elif self.nodes is not None and self.spent >= self.nodes:
            self.hit = "nodes"
        else:
            return False
        return True

    def memory_ok(self, used: int) -> bool:
        """Whether `used` bytes are within the limit."""
        if used <= self.memory:
            return True
        self.hit = "memory"
        return False
