"""Rule sets: frozen flags, a text form for each combination, presets by name."""

from __future__ import annotations

import difflib
import math
import operator
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from pebble.errors import InvalidRulesError, UnknownNameError

__all__ = ["Outputs", "Rules"]

Outputs = Literal["blue", "any"]


@dataclass(frozen=True)
class Rules:
    """What the game allows and what its moves cost. docs/rules.md has an example of every flag.

    Parameters
    ----------
    recomputation : bool
        Whether a vertex may be computed more than once. True is the game of Hong & Kung (1981), False the
        one-shot game.
    sliding : bool
        Whether computing a vertex may take over the red pebble of one of its predecessors, so that the two
        need not be red at once.
    free_sources : bool
        Whether sources are computed, as vertices that need nothing, instead of blue at the start.
    partial : bool
        Whether a vertex is computed by aggregating its predecessors one at a time, each in-edge once (Papp,
        Sobczyk & Yzelman 2025). It needs one-shot rules, and no sliding.
    deletion : bool
        Whether a red pebble may be deleted. If not, only a store removes it: red turns blue (the variant
        without deletion of Demaine & Liu 2018).
    outputs : {"blue", "any"}
        What must be on every output at the end: a blue pebble, or a pebble of any colour.
    load_cost, store_cost : int
        I/Os per word loaded and stored, 0 to 10^9.
    compute_cost : float
        What a compute costs, at least 0; reported apart, it is no I/O (Papp & Wattenhofer 2020).

    Raises
    ------
    InvalidRulesError
        The flags contradict one another, or a cost is negative or too large.

    Examples
    --------
    >>> Rules.named("one-shot+sliding") == Rules(recomputation=False, sliding=True)
    True
    >>> Rules().name, Rules(deletion=False, store_cost=3).name
    ('hong-kung', 'hong-kung+no-delete+store=3')
    """

    recomputation: bool = True
    sliding: bool = False
    free_sources: bool = False
    partial: bool = False
    deletion: bool = True
    outputs: Outputs = "blue"
    load_cost: int = 1
    store_cost: int = 1
    compute_cost: float = 0

    def __post_init__(self) -> None:
        if self.partial and self.recomputation:
            raise InvalidRulesError(
                "partial computation marks every edge once, so it needs one-shot rules: recomputation=False"
            )
        if self.partial and self.sliding:
            raise InvalidRulesError("partial computation and sliding exclude each other: choose one")
        if self.outputs not in get_args(Outputs):
            raise InvalidRulesError(f"outputs={self.outputs!r} is neither 'blue' nor 'any'")
        for field in ("load_cost", "store_cost"):
            object.__setattr__(self, field, _whole(field, getattr(self, field)))
        price = self.compute_cost
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < math.inf:
            raise InvalidRulesError(f"compute_cost={price!r} is no number of at least 0")
        if isinstance(price, float) and price.is_integer():
            object.__setattr__(self, "compute_cost", int(price))

    @cached_property
    def name(self) -> str:
        """The text form: the base, then every flag that is set, in one fixed order."""
        base = "hong-kung" if self.recomputation else "partial" if self.partial else "one-shot"
        flags = [flag for flag, (field, value) in _FLAGS.items() if getattr(self, field) == value]
        costs = [
            f"{name}={_short(cost) if name == 'compute' else cost}"
            for name, field in _COSTS.items()
            if (cost := getattr(self, field)) != getattr(type(self), field)
        ]
        return "+".join([base, *flags, *costs])

    @property
    def is_plain(self) -> bool:
        """Whether these are exactly ``hong-kung`` or ``one-shot``, with no flag and unit costs."""
        return self == Rules(recomputation=self.recomputation)

    @property
    def has_plain_moves(self) -> bool:
        """Whether the moves are those of plain rules: only costs, or what outputs need, may differ."""
        return not (self.sliding or self.free_sources or self.partial) and self.deletion

    @classmethod
    def named(cls, name: str) -> Rules:
        """The rule set of a text: ``hong-kung``, ``one-shot`` or ``partial``, then parts after ``+``.

        Raises
        ------
        UnknownNameError
            A part is unknown, there twice, or contradicts another.

        Examples
        --------
        >>> Rules.named("One_Shot+free-sources").name
        'one-shot+free-sources'
        """
        base, *parts = name.strip().lower().replace("_", "-").split("+")
        if base not in _PRESETS:
            raise _unknown("rule set", base, name, list(_PRESETS))
        fields: dict[str, Any] = dict(_PRESETS[base])
        given: set[str] = set()
        for part in parts:
            key, equals, value = part.partition("=")
            if key in given:
                raise UnknownNameError(f"rule set '{name}' has the part '{key}' twice: leave one out", name)
            given.add(key)
            if key in _COSTS and equals:
                fields[_COSTS[key]] = _number(key, value, name)
            elif key in _FLAGS and not equals:
                field, on = _FLAGS[key]
                fields[field] = on
            elif key == "partial" and not equals:
                fields["partial"] = True
            else:
                raise _unknown("part of a rule set", part, name, list(Rules.parts())[len(_PRESETS) :])
        try:
            return cls(**fields)
        except InvalidRulesError as error:
            raise UnknownNameError(f"rule set '{name}' is none: {error}", name) from None

    @classmethod
    def of(cls, rules: Rules | str) -> Rules:
        """`rules` itself, or the rule set that it names."""
        return cls.named(rules) if isinstance(rules, str) else rules

    @staticmethod
    def names() -> list[str]:
        """The presets' names."""
        return list(_PRESETS)

    @staticmethod
    def parts() -> dict[str, str]:
        """What a text form is made of: presets, then parts, each with one line that explains it."""
        return dict(_EXPLAINED)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        given = [
            f"{field}={getattr(self, field)!r}"
            for field in self.__dataclass_fields__
            if getattr(self, field) != getattr(type(self), field)
        ]
        return f"Rules({', '.join(given)})"


_PRESETS: dict[str, dict[str, Any]] = {
    "hong-kung": {},
    "one-shot": {"recomputation": False},
    "partial": {"recomputation": False, "partial": True},
}
_FLAGS: dict[str, tuple[str, Any]] = {
    "sliding": ("sliding", True),
    "free-sources": ("free_sources", True),
    "no-delete": ("deletion", False),
    "outputs-any": ("outputs", "any"),
}
_COSTS = {"load": "load_cost", "store": "store_cost", "compute": "compute_cost"}

_EXPLAINED = {
    "hong-kung": "a vertex may be computed again (Hong & Kung 1981)",
    "one-shot": "every vertex is computed at most once",
    "partial": "one-shot, and predecessors are aggregated one at a time (Papp, Sobczyk & Yzelman 2025)",
    "+sliding": "computing may take over a predecessor's red pebble",
    "+free-sources": "sources are computed, nothing is blue at the start",
    "+no-delete": "a red pebble goes only by being stored (Demaine & Liu 2018)",
    "+outputs-any": "outputs may end red or blue",
    "+load=2": "I/Os per word loaded, a whole number",
    "+store=3": "I/Os per word stored, a whole number",
    "+compute=0.01": "what a compute costs, reported apart (Papp & Wattenhofer 2020)",
}


# Costs of whole schedules then fit the solvers' 64-bit integers.
_DEAREST = 10**9


def _whole(field: str, cost: object) -> int:
    try:
        if isinstance(cost, bool):
            raise TypeError
        value = operator.index(cost)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidRulesError(f"{field}={cost!r} is no whole number of I/Os per word") from None
    if value < 0:
        raise InvalidRulesError(f"{field}={cost!r} is negative: give a whole number of at least 0")
    if value > _DEAREST:
        raise InvalidRulesError(f"{field}={value} is more than {_DEAREST:,}: divide all costs by one number")
    return value


def _short(price: float) -> str:
    """The shorter text from which the same price is read, without the ``+`` that joins parts."""
    digits = str(price)
    if len(digits) > 16 and price <= sys.float_info.max and float(price) == price:
        # Python writes 1e308 as 1e+308.
        return min(digits, str(float(price)).replace("e+", "e"), key=len)
    return digits


def _number(key: str, text: str, name: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise UnknownNameError(f"rule set '{name}': '{key}={text}' is no number", name) from None


def _unknown(kind: str, part: str, name: str, known: list[str]) -> UnknownNameError:
    near = difflib.get_close_matches(part, [one.lstrip("+") for one in known], 2)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    inside = f" in '{name}'" if part != name.strip().lower().replace("_", "-") else ""
    return UnknownNameError(f"no {kind} '{part}'{inside}{hint} (known: {', '.join(known)})", name, near)
