"""The bound that the exact search proves within a limit."""

from __future__ import annotations

from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import LowerBound, Subject

__all__ = ["EXACT"]

_SECONDS = 10.0


def _knows(subject: Subject) -> bool:
    from solvers.search import SEARCH

    return subject.graph is not None and SEARCH.supports(subject.graph) is None


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    from solvers.search import SEARCH

    instance = subject.graph
    if instance is None or not instance.feasible:
        return None
    if limit == Limit():
        limit = Limit(time=_SECONDS)
    return SEARCH(instance, limit=limit, seed=0).bound


EXACT = LowerBound("search", _compute, needs_graph=True, up_to=0, holds=_knows)
