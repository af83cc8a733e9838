"""Instance: a CDAG, a memory size and a rule set: what a player is asked to play."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pebble.cdag import CDAG
from pebble.errors import InfeasibleInstanceError, InvalidMemoryError
from pebble.rules import Rules

__all__ = ["Instance", "check_memory"]


def check_memory(M: object) -> int:
    """`M` as an int of at least 1, or InvalidMemoryError.

    Examples
    --------
    >>> check_memory(8)
    8
    """
    try:
        if isinstance(M, bool):
            raise TypeError
        words = operator.index(M)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidMemoryError(f"M={M!r} is not a whole number of words: give an integer >= 1") from None
    if words < 1:
        raise InvalidMemoryError(f"M={words} leaves no red pebble: give an integer >= 1")
    return words


@dataclass(frozen=True, eq=False)
class Instance:
    """A CDAG, M red pebbles (words of fast memory) and a rule set.

    Parameters
    ----------
    cdag : CDAG
    M : int
        Words of fast memory, at least 1.
    rules : Rules or str
        A rule set or a preset's name.

    Raises
    ------
    InvalidMemoryError
        If `M` is no whole number of at least 1. An M below `least_M` is an instance all the same, one that
        is proved infeasible; `require_feasible` raises for it.

    Examples
    --------
    >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    >>> inst.least_M, inst.feasible
    (3, True)
    """

    cdag: CDAG
    M: int
    rules: Rules

    def __init__(self, cdag: CDAG, M: int, rules: Rules | str = "hong-kung") -> None:
        object.__setattr__(self, "cdag", cdag)
        object.__setattr__(self, "M", check_memory(M))
        object.__setattr__(self, "rules", Rules.of(rules))

    @cached_property
    def _need(self) -> tuple[int, int]:
        g = self.cdag
        degree = np.diff(g.indptr).astype(np.int64)
        if g.weights is None:
            need = np.where(degree > 0, degree + 1, 0)
        else:
            running = np.concatenate(([0], np.cumsum(g.weights[g.indices], dtype=np.int64)))
            need = np.where(degree > 0, running[g.indptr[1:]] - running[g.indptr[:-1]] + g.weights, 0)
        if not need.any():
            return 1, -1
        vertex = int(need.argmax())
        return int(need[vertex]), vertex

    @property
    def least_M(self) -> int:
        """Least M, in words, with which any schedule exists: the largest w(v) + w(predecessors); O(|E|)."""
        return self._need[0]

    @property
    def least_M_vertex(self) -> int | None:
        """The vertex that sets `least_M`; None if the graph computes nothing."""
        return self._need[1] if self._need[1] >= 0 else None

    @property
    def feasible(self) -> bool:
        """Whether M reaches `least_M`."""
        return self.least_M <= self.M

    def require_feasible(self) -> None:
        """Raise InfeasibleInstanceError, naming the vertex and the least M, unless feasible."""
        if not self.feasible:
            vertex = self.least_M_vertex
            assert vertex is not None
            label = "" if self.cdag.labels is None else str(self.cdag.labels[vertex])
            raise InfeasibleInstanceError(vertex, self.least_M, self.M, label)

    def with_memory(self, M: int) -> Instance:
        """The same graph and rules with another M."""
        return Instance(self.cdag, M, self.rules)

    def with_rules(self, rules: Rules | str) -> Instance:
        """The same graph and M under other rules."""
        return Instance(self.cdag, self.M, rules)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Instance)
            and self.M == other.M
            and self.rules == other.rules
            and self.cdag == other.cdag
        )

    def __hash__(self) -> int:
        return hash((self.cdag, self.M, self.rules))

    def __repr__(self) -> str:
        return f"<Instance {self.cdag.name}, M={self.M}, rules {self.rules}>"
