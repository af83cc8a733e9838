"""Bounds of the plain games carried over to the rule sets derived from them.

Every flag of a rule set comes with a way to turn its schedules into schedules of the plain game, of one more
load, store or word of memory here and there. So a bound for the plain game, less what the way costs, holds
under the flag. Partial computation is a game of its own here, to which the flags are added. docs/bounds.md,
"Other rule sets", has the statements and why they hold together.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from pebble.result import Bound
from pebble.rules import Rules
from solvers.lower_bounds.compulsory import family_compulsory, subject_compulsory
from solvers.lower_bounds.protocol import Subject

__all__ = ["Carrying", "carrying"]


@dataclass(frozen=True)
class Carrying:
    """How a bound for a plain game becomes one for a derived rule set.

    Attributes
    ----------
    plain : Subject
        The same graph under the plain rules, with the memory that the derived schedules may need there.
    rules : Rules
        The derived rule set.
    loads, stores : int
        Words that a schedule of the plain game may load, and store, beyond those of the derived one.
    least : tuple of int
        Compulsory loads and stores under the derived rules, in words.
    """

    plain: Subject
    rules: Rules
    loads: int
    stores: int
    least: tuple[int, int]

    def carry(self, bound: Bound) -> Bound | None:
        """The bound for the derived rules; None if nothing is left of it.

        A bound whose details name its `stores` is the sum of a bound on loads and one on stores.
        """
        a, b = self.rules.load_cost, self.rules.store_cost
        cheap = min(a, b)
        words = max(bound.value - self.loads - self.stores, sum(self.least))
        # What is charged beyond the cheaper cost for each word is charged for the compulsory ones at least.
        value = cheap * words + (a - cheap) * self.least[0] + (b - cheap) * self.least[1]
        stores = bound.details.get("stores")
        if isinstance(stores, int):
            loads = max(bound.value - stores - self.loads, self.least[0])
            value = max(value, a * loads + b * max(stores - self.stores, self.least[1]))
        if value <= 0:
            return None
        return dataclasses.replace(
            bound,
            value=value,
            assumes=f"{self.rules}, from {self.plain.rules}{self._terms()}; {bound.assumes}",
            details={**bound.details, "plain_value": bound.value, "plain_M": self.plain.M},
        )

    def _terms(self) -> str:
        words = [f" with M={self.plain.M:,}"]
        if self.loads + self.stores:
            words.append(f"{self.loads + self.stores:,} words less")
        if (self.rules.load_cost, self.rules.store_cost) != (1, 1):
            words.append("costs per word")
        return ", ".join(words)


def carrying(subject: Subject, *, slides: bool = False) -> Carrying | None:
    """How bounds for a plain game carry over to the subject's rule set; None if they do not.

    They do not with free sources and recomputation, where sources cost nothing at all; and where a computed
    vertex is red at the start.

    Parameters
    ----------
    subject : Subject
    slides : bool
        Whether the bound holds under sliding as it is.

    Examples
    --------
    >>> found = carrying(Subject.of("matmul:3x3x3", 5, "one-shot+sliding+outputs-any"))
    >>> found.plain.rules.name, found.plain.M, found.loads, found.stores
    ('one-shot', 6, 0, 5)
    """
    rules = subject.rules
    if rules.free_sources and rules.recomputation:
        return None
    base = Rules(recomputation=rules.recomputation, partial=rules.partial)
    known = subject_compulsory(subject, base)
    least = subject_compulsory(subject)
    if known is None or least is None:
        return None
    # A spec is built if its family has no closed forms; the families that have know no weights.
    graph = subject.instance
    if graph is None and family_compulsory(subject.family, subject.params) is None:
        graph = subject.graph
    red = () if subject.instance is None else subject.instance.red_at_start
    loads = known[0] if rules.free_sources else 0
    if red:
        assert graph is not None
        if not graph.cdag.is_source[list(red)].all():
            return None
        if not rules.free_sources:
            loads = sum(map(graph.cdag.weight, red))
    stores = min(subject.M, known[1]) if rules.outputs == "any" else 0
    weights = None if graph is None else graph.cdag.weights
    heaviest = 1 if weights is None else int(weights.max(initial=1))
    more = heaviest if rules.sliding and not slides else 0
    plain = subject.under(base, subject.M + more)
    return Carrying(plain, rules, loads, stores, least)
