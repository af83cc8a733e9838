"""What the tests of the integer program share."""

from __future__ import annotations

from typing import Any

import pytest

import solvers.search
from pebble.instance import Instance
from pebble.result import Result, Status
from solvers.ilp.model import TRUE, BooleanModel

__all__ = ["broken_constraint", "no_search"]


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search finds nothing out, so that only the bounds certify anything."""

    class Nothing:
        def supports(self, instance: Instance) -> str | None:
            return None

        def __call__(self, instance: Instance, **_: Any) -> Result:
            return Result(Status.UNKNOWN, None, None, 0, None, "search", limit_hit="time")

    monkeypatch.setattr(solvers.search, "SEARCH", Nothing())


def broken_constraint(model: BooleanModel, values: list[int]) -> object:
    """The first constraint that an assignment breaks, None if it is a solution."""

    def holds(x: int) -> bool:
        return x == TRUE or (x != -TRUE and bool(values[abs(x) - 1]) == (x > 0))

    for clause in model.clauses:
        if not any(map(holds, clause)):
            return clause
    for group in model.exactly_one:
        if sum(map(holds, group)) != 1:
            return group
    for row in model.at_most:
        terms = zip(row.coefficients, row.literals, strict=True)
        if all(map(holds, row.where)) and sum(c for c, x in terms if holds(x)) > row.bound:
            return row
    return None
