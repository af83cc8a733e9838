"""A solved instance against everything else that is known of it: every strategy, every bound."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pebble.errors import IllegalMoveError, IncompleteScheduleError
from pebble.instance import Instance
from pebble.result import Result, Status
from solvers.starting import applicable

__all__ = ["CheckRow", "check"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One line of a check.

    Attributes
    ----------
    kind : str
        ``strategy`` or ``bound``.
    name : str
    value : int or None
        I/O in words; None for a schedule that the referee refuses.
    ratio : float or None
        To the best cost known.
    verdict : str
        ``ok``; for a strategy ``optimal`` where it reaches the optimum; ``wrong`` where a cost is below the
        proved bound, a bound is above a refereed cost, or a schedule is illegal; ``no certificate`` for a
        formula that is no bound.
    note : str
        The bound's source, or why a schedule is illegal.
    """

    kind: str
    name: str
    value: int | None
    ratio: float | None
    verdict: str
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def check(instance: Instance, result: Result, seed: int = 0) -> list[CheckRow]:
    """Set the result of `solve` against every strategy and bound that applies, best first.

    Parameters
    ----------
    instance : Instance
    result : Result
        Of this instance.
    seed : int
        For the strategies that have one.

    Returns
    -------
    list of CheckRow
        Bounds from the highest, then strategies from the cheapest; none for an infeasible instance.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from solvers.solving import solve
    >>> inst = Instance(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), M=3)
    >>> [(r.name, r.value) for r in check(inst, solve(inst)) if r.name == "compulsory"]
    [('compulsory', 3)]
    """
    if result.status is Status.INFEASIBLE:
        return []
    return _bounds(instance, result) + _strategies(instance, result, seed)


def _ratio(value: int, result: Result) -> float | None:
    return value / result.io if result.io else None


def _bounds(instance: Instance, result: Result) -> list[CheckRow]:
    from solvers.bounding import bounds

    rows = []
    for bound in bounds(instance):
        wrong = bound.certificate and result.io is not None and bound.value > result.io
        verdict = "wrong" if wrong else "ok" if bound.certificate else "no certificate"
        rows.append(
            CheckRow("bound", bound.name, bound.value, _ratio(bound.value, result), verdict, bound.source)
        )
    return rows


def _strategies(instance: Instance, result: Result, seed: int) -> list[CheckRow]:
    from pebble.referee import verify
    from strategies.playing import play

    rows = []
    for name in applicable(instance):
        try:
            io = verify(play(name, instance, seed=seed)).io
        except (IllegalMoveError, IncompleteScheduleError) as error:
            rows.append(CheckRow("strategy", name, None, None, "wrong", str(error)))
            continue
        verdict = "wrong" if io < result.lower_bound else "ok"
        if result.status is Status.OPTIMAL and io == result.io:
            verdict = "optimal"
        rows.append(CheckRow("strategy", name, io, _ratio(io, result), verdict))
    return sorted(rows, key=lambda row: (row.value is None, row.value))
