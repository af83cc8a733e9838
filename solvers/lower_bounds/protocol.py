"""What a lower bound is asked, and what it says of itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphs.spec import GraphSpec
from pebble.cdag import CDAG
from pebble.instance import Instance, check_memory
from pebble.result import Bound, Limit
from pebble.rules import Rules

__all__ = ["BLUE_SOURCES", "LowerBound", "Subject", "limited", "where"]

BLUE_SOURCES = "sources start blue and cannot be computed"

# Graphs up to this many vertices are built to bound a spec whose family has no closed form.
_BUILD_UP_TO = 200_000


@dataclass(frozen=True, eq=False)
class Subject:
    """An instance, or a spec with M and rules: what is to be bounded.

    Attributes
    ----------
    M : int
        Words of fast memory.
    rules : Rules
    family : str
        The graph's family, empty for a custom graph.
    params : mapping
        Every parameter of the family, defaults filled in; empty for a custom graph.
    instance : Instance or None
        None for a spec.
    """

    M: int
    rules: Rules
    family: str
    params: Mapping[str, Any]
    instance: Instance | None = None

    @classmethod
    def of(
        cls,
        target: Instance | GraphSpec | str | Subject,
        M: int | None = None,
        rules: Rules | str = "hong-kung",
    ) -> Subject:
        """The subject that an instance, or a spec with M, is.

        Raises
        ------
        ValueError
            A spec without `M`.
        InvalidMemoryError, UnknownNameError, GraphSpecError
        """
        if isinstance(target, Subject):
            return target
        if isinstance(target, Instance):
            cdag = target.cdag
            return cls(target.M, target.rules, cdag.family, _all_params(cdag), target)
        spec = GraphSpec.parse(target) if isinstance(target, str) else target
        if M is None:
            raise ValueError("bounds of a graph spec need M, the words of fast memory")
        return cls(check_memory(M), Rules.of(rules), spec.family, spec.params)

    @cached_property
    def graph(self) -> Instance | None:
        """The instance; of a spec, built now if it is small, else None."""
        if self.instance is not None:
            return self.instance
        from graphs.catalog import build

        size = self.num_vertices
        if size is None or size > _BUILD_UP_TO:
            return None
        return Instance(build(GraphSpec(self.family, self.params)), self.M, self.rules)

    @property
    def cdag(self) -> CDAG | None:
        """The graph of an instance; None for a spec."""
        return None if self.instance is None else self.instance.cdag

    @cached_property
    def num_vertices(self) -> int | None:
        """Vertices of the graph, from the family's closed form for a spec; None if that is not known."""
        if self.instance is not None:
            return self.instance.cdag.num_vertices
        from graphs.sizes import num_vertices

        return num_vertices(self.family, self.params)

    @property
    def is_plain(self) -> bool:
        """Whether the game is plain ``hong-kung`` or ``one-shot`` with nothing red at the start."""
        return self.rules.is_plain and (self.instance is None or not self.instance.red_at_start)

    @property
    def is_base(self) -> bool:
        """Whether the game is plain, or ``partial`` with no flag, with nothing red at the start."""
        rules = Rules(recomputation=self.rules.recomputation, partial=self.rules.partial)
        return self.rules == rules and (self.instance is None or not self.instance.red_at_start)

    def under(self, rules: Rules, M: int) -> Subject:
        """The same graph under other rules, with M words and nothing red at the start."""
        instance = None if self.instance is None else Instance(self.instance.cdag, M, rules)
        return Subject(M, rules, self.family, self.params, instance)

    def sizes(self, *names: str) -> tuple[int, ...]:
        """Whole-number parameters of the family."""
        return tuple(int(self.params[name]) for name in names)


@dataclass(frozen=True, eq=False)
class LowerBound:
    """A lower bound that can be looked up, asked and called.

    Attributes
    ----------
    name : str
    compute : callable
        ``compute(subject, limit) -> Bound or None``; None where the bound does not apply.
    rules : tuple of str
        Plain rule sets under which it holds: ``hong-kung``, ``one-shot``. To the rule sets derived from these
        a certificate is carried over by `solvers.lower_bounds.carrying`, where that is possible; it is never
        used under others.
    partial : bool
        Whether `compute` also knows partial computation, of which other rule sets derive.
    slides : bool
        Whether the proof speaks only of what is red between moves, so that it holds under sliding too, with
        no more memory.
    holds : callable, optional
        ``holds(subject) -> bool``: whether `compute` itself knows the subject's rule set, plain or derived,
        and what is red at the start. By default it knows the plain ones in `rules`.
    needs_graph : bool
        Whether it reads the graph, rather than the family's parameters alone.
    up_to : int or None
        Largest number of vertices for which `solvers.bounds` computes it unasked; None means any.
    certificate : bool
        False for asymptotic formulas.
    """

    name: str
    compute: Callable[[Subject, Limit], Bound | None]
    rules: tuple[str, ...] = ("hong-kung", "one-shot")
    partial: bool = False
    slides: bool = False
    needs_graph: bool = False
    up_to: int | None = None
    certificate: bool = True
    holds: Callable[[Subject], bool] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(
        self,
        target: Instance | GraphSpec | str | Subject,
        M: int | None = None,
        rules: Rules | str = "hong-kung",
        *,
        limit: Limit | None = None,
    ) -> Bound | None:
        """The bound for an instance, or for a spec with M; None if it does not apply.

        Parameters
        ----------
        target : Instance, GraphSpec or str
        M : int, optional
            Words of fast memory, where `target` is a spec.
        rules : Rules or str
            The rule set, where `target` is a spec.
        limit : Limit, optional
            For bounds that search: what they have proved when it is reached is returned.
        """
        subject = Subject.of(target, M, rules)
        if self.needs_graph and subject.graph is None:
            return None
        limit = limit or Limit()
        if self._knows(subject):
            return self.compute(subject, limit)
        if subject.is_base or not self.certificate:
            return None
        from solvers.lower_bounds.carrying import carrying

        way = carrying(subject, slides=self.slides)
        if way is None or not self._knows(way.plain):
            return None
        bound = self.compute(way.plain, limit)
        return None if bound is None else way.carry(bound)

    def _knows(self, subject: Subject) -> bool:
        if self.holds is not None:
            return self.holds(subject)
        return subject.is_base and (
            self.partial if subject.rules.partial else subject.rules.name in self.rules
        )

    def is_cheap(self, subject: Subject) -> bool:
        """Whether `solvers.bounds` computes it unasked."""
        if self.up_to is None:
            return True
        size = subject.num_vertices
        return size is not None and size <= self.up_to


def where(subject: Subject) -> str:
    """The rule sets for which a bound that knows all of them is stated."""
    return "partial" if subject.rules.partial else "hong-kung and one-shot"


def limited(bound: Bound, **details: Any) -> Bound:
    """The bound with more details."""
    return dataclasses.replace(bound, details={**bound.details, **details})


def _all_params(cdag: CDAG) -> dict[str, Any]:
    import inspect

    from graphs.catalog import REGISTRY, parameters

    if not cdag.family or cdag.family not in REGISTRY:
        return dict(cdag.params)
    defaults = {k: v for k, v in parameters(cdag.family).items() if v is not inspect.Parameter.empty}
    return {**defaults, **cdag.params}
