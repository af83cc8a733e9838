"""A linear 0-1 model in plain lists: one description for every backend and for export.

Literals are integers as in the DIMACS format: ``+k`` is variable k (from 1), ``-k`` its negation. The
constants `TRUE` and `FALSE` are each other's negation, so that a literal is negated by ``-`` whether it is
constant or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["FALSE", "TRUE", "AtMost", "BooleanModel"]

TRUE = 1 << 40
FALSE = -TRUE


class AtMost(NamedTuple):
    """``Σ coefficient · literal <= bound``, required only where every literal of `where` holds."""

    coefficients: tuple[int, ...]
    literals: tuple[int, ...]
    bound: int
    where: tuple[int, ...] = ()


@dataclass
class BooleanModel:
    """Variables, constraints and an objective to minimise.

    Attributes
    ----------
    names : list of str
        Name of each variable; variable k is ``names[k - 1]``.
    clauses : list of tuple of int
        At least one literal of each holds.
    exactly_one : list of tuple of int
        Exactly one literal of each holds.
    at_most : list of AtMost
    objective : list of (int, int)
        Pairs ``(coefficient, literal)``.
    constant : int
        Added to the objective.

    Examples
    --------
    >>> m = BooleanModel()
    >>> a, b = m.variable("a"), m.variable("b")
    >>> m.clause(a, -b)
    >>> m.clause(a, TRUE)
    >>> m.clauses
    [(1, -2)]
    """

    names: list[str] = field(default_factory=list)
    clauses: list[tuple[int, ...]] = field(default_factory=list)
    exactly_one: list[tuple[int, ...]] = field(default_factory=list)
    at_most: list[AtMost] = field(default_factory=list)
    objective: list[tuple[int, int]] = field(default_factory=list)
    constant: int = 0

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def num_constraints(self) -> int:
        """Number of constraints of all kinds."""
        return len(self.clauses) + len(self.exactly_one) + len(self.at_most)

    def variable(self, name: str) -> int:
        """A new variable, as its positive literal."""
        self.names.append(name)
        return len(self.names)

    def clause(self, *literals: int) -> None:
        """At least one of the literals holds; a clause that always does is not kept."""
        if TRUE not in literals:
            self.clauses.append(tuple(x for x in literals if x != FALSE))

    def exactly(self, literals: Iterable[int]) -> None:
        """Exactly one of the literals, none of them constant, holds."""
        self.exactly_one.append(tuple(literals))

    def limit(
        self, coefficients: Sequence[int], literals: Sequence[int], bound: int, where: Sequence[int] = ()
    ) -> None:
        """``Σ coefficient · literal <= bound`` wherever all of `where` hold; kept only if it can fail."""
        if sum(c for c in coefficients if c > 0) > bound:
            self.at_most.append(AtMost(tuple(coefficients), tuple(literals), bound, tuple(where)))

    def cost_limit(self, most: int) -> AtMost:
        """The constraint ``objective <= most``."""
        coefficients = tuple(c for c, _ in self.objective)
        return AtMost(coefficients, tuple(x for _, x in self.objective), most - self.constant)

    def cost(self, values: Sequence[int]) -> int:
        """The objective under an assignment, `values[k - 1]` for variable k."""
        return self.constant + sum(c for c, x in self.objective if bool(values[abs(x) - 1]) == (x > 0))
