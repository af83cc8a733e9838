"""What a player or a bound hands back: Status, Limit, Cost, Bound, Result."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pebble.schedule import Schedule

__all__ = ["Bound", "Cost", "Limit", "Result", "Status"]


class Status(enum.StrEnum):
    """What is known of an instance once a player has stopped; a limit reached is UNKNOWN or FEASIBLE."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Limit:
    """When a player must stop. None means no limit of that kind.

    Parameters
    ----------
    time : float, optional
        Seconds of wall time.
    nodes : int, optional
        Search nodes or evaluations, the player's own unit: a reproducible limit.
    memory_mb : float, optional
        Megabytes of memory for the player's own tables.
    gap : float, optional
        Stop once ``(io - lower_bound) / lower_bound`` is at most this.
    """

    time: float | None = None
    nodes: int | None = None
    memory_mb: float | None = None
    gap: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Cost:
    """What the referee counted: loads and stores in words, and what they cost under the rules.

    Parameters
    ----------
    loads, stores : int
        Words loaded and stored.
    computes, recomputes : int
        Computations, and those of a vertex computed before.
    peak_red : int
        The most words that are red at once.
    load_cost, store_cost : int
        I/Os per word loaded and stored, 1 unless the rules say otherwise.
    price : float
        What the rules charge for one computation.

    Examples
    --------
    >>> Cost(loads=3, stores=1, computes=2, recomputes=0, peak_red=3).io
    4
    >>> Cost(3, 1, 2, 0, 3, store_cost=5, price=0.5)
    Cost(loads=3, stores=1, computes=2, recomputes=0, peak_red=3, store_cost=5, price=0.5)
    """

    loads: int
    stores: int
    computes: int
    recomputes: int
    peak_red: int
    load_cost: int = 1
    store_cost: int = 1
    price: float = 0

    @property
    def io(self) -> int:
        """The I/O cost: loads + stores, in words; each times its cost under rules that set one."""
        return self.load_cost * self.loads + self.store_cost * self.stores

    @property
    def compute_cost(self) -> float:
        """What the computations cost, apart from the I/O: 0 unless the rules charge for them."""
        return self.price * self.computes

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, `io` first; `compute_cost` last, where the rules charge for computing."""
        figures: dict[str, Any] = {
            "io": self.io,
            "loads": self.loads,
            "stores": self.stores,
            "computes": self.computes,
            "recomputes": self.recomputes,
            "peak_red": self.peak_red,
        }
        if self.price:
            figures["compute_cost"] = self.compute_cost
        return figures

    def __repr__(self) -> str:
        shown = [
            f"{item.name}={getattr(self, item.name)}"
            for item in fields(self)
            if item.default is MISSING or getattr(self, item.name) != item.default
        ]
        return f"Cost({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Bound:
    """A certified lower bound on the I/O cost.

    Parameters
    ----------
    value : int
        I/Os, in words, that no schedule can beat.
    name : str
        The bound's name in the registry, or the solver's that proved it.
    assumes : str
        The rule sets and graphs for which it holds.
    source : str
        Author, year and theorem.
    certificate : bool
        False for an asymptotic formula, which is never used as a bound.
    details : mapping
        What the bound was computed from (segment length Y, the cut's vertex, …).
    """

    value: int
    name: str
    assumes: str
    source: str
    certificate: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "value": self.value,
            "name": self.name,
            "assumes": self.assumes,
            "source": self.source,
            "certificate": self.certificate,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a solve, its schedule already refereed.

    Attributes
    ----------
    status : Status
        OPTIMAL exactly when ``io == lower_bound``.
    schedule : Schedule or None
    io : int or None
        The referee's I/O cost of `schedule`, in words.
    lower_bound : int
        The value of `bound`, in words; 0 if nothing better is proved.
    bound : Bound or None
    method : str
        The player that found the schedule or proved the bound.
    why : str
        Why that method was chosen, or which limit ended it.
    limit_hit : str or None
        ``time``, ``nodes``, ``memory``, ``gap``, ``interrupted``, or ``died`` where the process of the method
        was ended from outside.
    stats : mapping
        The method's own figures (states, seconds, …).
    seed : int
    """

    status: Status
    schedule: Schedule | None
    io: int | None
    lower_bound: int
    bound: Bound | None
    method: str
    why: str = ""
    limit_hit: str | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.schedule is None) != (self.io is None):
            raise ValueError("a Result has a schedule exactly when it has an I/O cost")
        if self.io is not None and self.lower_bound > self.io:
            raise ValueError(
                f"lower bound {self.lower_bound} exceeds the I/O cost {self.io}: one of them is wrong"
            )
        if (self.status is Status.OPTIMAL) != (self.io is not None and self.io == self.lower_bound):
            raise ValueError("status is OPTIMAL exactly when the I/O cost equals the lower bound")

    @property
    def gap(self) -> float | None:
        """``(io - lower_bound) / lower_bound``; 0 when equal, None without a schedule or a positive bound."""
        if self.io is None:
            return None
        if self.io == self.lower_bound:
            return 0.0
        return (self.io - self.lower_bound) / self.lower_bound if self.lower_bound > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; the schedule itself is saved apart."""
        gap = self.gap
        return {
            "status": self.status.value,
            "io": self.io,
            "lower_bound": self.lower_bound,
            "bound": None if self.bound is None else self.bound.to_dict(),
            "gap": gap,
            "method": self.method,
            "why": self.why,
            "limit_hit": self.limit_hit,
            "moves": None if self.schedule is None else len(self.schedule),
            "stats": dict(self.stats),
            "seed": self.seed,
        }

    def __str__(self) -> str:
        from pebble.draw.report import result_text

        return result_text(self)

    def _repr_html_(self) -> str:
        """The figures and the schedule, as notebooks show a result."""
        from pebble.draw.report import result_html

        return result_html(self)
