"""What a strategy is: a callable with a few facts about itself. No base class is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from graphs.spec import GraphSpec
from pebble.instance import Instance
from pebble.result import Cost, Limit
from pebble.schedule import Schedule

__all__ = ["Countable", "Strategy", "rules_reason"]


@runtime_checkable
class Strategy(Protocol):
    """A player that is fast and proves nothing.

    Attributes
    ----------
    name : str
    options : mapping of str to str
        Each option's name and one line of help; values arrive as the texts of a strategy spec or as Python
        values, the strategy converts and checks them.
    """

    name: str
    options: Mapping[str, str]

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        """Play `instance`; InfeasibleInstanceError or UnsupportedInstanceError if it cannot."""
        ...

    def supports(self, instance: Instance) -> str | None:
        """None if the strategy plays such graphs and rules, else the reason why not; M is not judged."""
        ...

    def least_M(self, instance: Instance) -> int:
        """Least M, in words, with which the strategy plays this graph."""
        ...


@runtime_checkable
class Countable(Strategy, Protocol):
    """A strategy whose exact cost is known without building the graph (a tile program)."""

    def count(self, spec: GraphSpec, M: int, **options: Any) -> tuple[Cost, Mapping[str, Any]]:
        """The cost that the referee would count, and the options chosen (block sizes)."""
        ...

    def count_supports(self, spec: GraphSpec) -> str | None:
        """None if the family and its parameters can be counted, else the reason why not."""
        ...

    def count_least_M(self, spec: GraphSpec) -> int:
        """Least M, in words, with which the strategy plays graphs of this spec."""
        ...


def rules_reason(instance: Instance) -> str | None:
    """Why moves made for plain rules are none under the instance's, or None if they are.

    Sliding and outputs of any colour allow all that plain rules allow, and costs change no move.
    """
    rules = instance.rules
    if rules.partial:
        return "its computes take all operands at once, partial computation aggregates them one at a time"
    if rules.free_sources:
        return "it loads its inputs, under free sources they must be computed"
    if not rules.deletion:
        return "it deletes red pebbles, which these rules forbid"
    if instance.red_at_start:
        return "it starts with nothing red"
    return None
