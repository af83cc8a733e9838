"""Instance: a CDAG, a memory size and a rule set: what a player is asked to play."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import InfeasibleInstanceError, InvalidCDAGError, InvalidMemoryError
from pebble.rules import Rules

__all__ = ["Instance", "check_memory", "to_be_computed"]


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
        A rule set or its text form, such as ``one-shot+sliding``.
    red_at_start : iterable of int
        Vertices that are red at the start and count as computed: what is in fast memory already. They take
        their words of M like any other.

    Raises
    ------
    InvalidMemoryError
        If `M` is no whole number of at least 1, or the vertices red at the start take more words. An M below
        `least_M` is an instance all the same, one that is proved infeasible; `require_feasible` raises for
        it.
    InvalidCDAGError
        A vertex of `red_at_start` is not in the graph.

    Examples
    --------
    >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    >>> inst.least_M, inst.feasible
    (3, True)
    >>> inst.with_rules("one-shot+sliding").least_M, inst.with_rules("partial").least_M
    (2, 2)
    """

    cdag: CDAG
    M: int
    rules: Rules
    red_at_start: tuple[int, ...]

    def __init__(
        self, cdag: CDAG, M: int, rules: Rules | str = "hong-kung", red_at_start: Iterable[int] = ()
    ) -> None:
        object.__setattr__(self, "cdag", cdag)
        object.__setattr__(self, "M", check_memory(M))
        object.__setattr__(self, "rules", Rules.of(rules))
        red = tuple(sorted({operator.index(v) for v in red_at_start}))
        object.__setattr__(self, "red_at_start", red)
        if red:
            if red[0] < 0 or red[-1] >= cdag.num_vertices:
                wrong = red[0] if red[0] < 0 else red[-1]
                last = cdag.num_vertices - 1
                raise InvalidCDAGError(
                    f"vertex {wrong}, red at the start, is out of range: ids go from 0 to {last}", (wrong,)
                )
            words = sum(map(cdag.weight, red))
            if words > self.M:
                raise InvalidMemoryError(
                    f"{words} words are red at the start, M={self.M}: give an M >= {words}"
                )

    @property
    def is_plain(self) -> bool:
        """Whether the rules are plain ``hong-kung`` or ``one-shot`` and nothing is red at the start."""
        return self.rules.is_plain and not self.red_at_start

    @cached_property
    def _need(self) -> tuple[int, int]:
        need = _words_needed(self.cdag, self.rules)
        if self.red_at_start:
            need[~to_be_computed(self.cdag, self.red_at_start)] = 0
        if not need.any():
            return 1, -1
        vertex = int(need.argmax())
        return int(need[vertex]), vertex

    @property
    def least_M(self) -> int:
        """Least M, in words, with which any schedule exists; O(|E|).

        The largest, over the vertices v that must be computed, of w(v) + w(predecessors). With sliding, the
        heaviest predecessor's words may be v's: the in-degree (at least 1) without weights. Under partial
        computation w(v) + w(u) for an edge (u, v): 2 without weights.
        """
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
        return Instance(self.cdag, M, self.rules, self.red_at_start)

    def with_rules(self, rules: Rules | str) -> Instance:
        """The same graph and M under other rules."""
        return Instance(self.cdag, self.M, rules, self.red_at_start)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Instance)
            and self.M == other.M
            and self.rules == other.rules
            and self.red_at_start == other.red_at_start
            and self.cdag == other.cdag
        )

    def __hash__(self) -> int:
        return hash((self.cdag, self.M, self.rules, self.red_at_start))

    def __repr__(self) -> str:
        red = f", red at start {','.join(map(str, self.red_at_start))}" if self.red_at_start else ""
        return f"<Instance {self.cdag.name}, M={self.M}, rules {self.rules}{red}>"


def _words_needed(cdag: CDAG, rules: Rules) -> NDArray[np.int64]:
    """Words that are red at once when a vertex is computed, 0 for one that never is."""
    indptr, degree = cdag.indptr, np.diff(cdag.indptr).astype(np.int64)
    words = np.ones(cdag.num_vertices, dtype=np.int64) if cdag.weights is None else cdag.weights
    some = degree > 0
    need = words.copy() if rules.free_sources else np.where(some, words, 0)
    if not some.any():
        return need
    operands = words[cdag.indices]
    # Rows without edges start where the next one does, and are left out.
    starts = indptr[:-1][some]
    heaviest = np.maximum.reduceat(operands, starts)
    if rules.partial:
        need[some] += heaviest
        return need
    together = np.add.reduceat(operands, starts)
    need[some] += together
    if rules.sliding:
        need[some] = np.maximum(need[some] - heaviest, together)
    return need


def to_be_computed(cdag: CDAG, red_at_start: tuple[int, ...]) -> NDArray[np.bool_]:
    """The vertices that outputs depend on other than through what is red at the start; O(|V| + |E|).

    Parameters
    ----------
    cdag : CDAG
    red_at_start : tuple of int

    Returns
    -------
    ndarray of bool, shape (num_vertices,)
        Sources that are needed are among them.

    Examples
    --------
    >>> to_be_computed(CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)]), (1,)).tolist()
    [False, False, True, True]
    """
    given = np.zeros(cdag.num_vertices, dtype=np.bool_)
    given[list(red_at_start)] = True
    wanted = cdag.is_output & ~given
    stack = np.flatnonzero(wanted).tolist()
    while stack:
        for u in cdag.preds(stack.pop()).tolist():
            if not wanted[u] and not given[u]:
                wanted[u] = True
                stack.append(u)
    return wanted
