"""Records of a sweep as curves over M: per player, the best of them, the best bound, where players cross."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.running import Record
from pebble.errors import PebbleError

__all__ = ["Crossing", "Curves", "curves", "instances"]

Curve = dict[int, int]


@dataclass(frozen=True)
class Crossing:
    """Where the cheapest player changes.

    Attributes
    ----------
    M : float
        In words, interpolated on logarithmic axes.
    before, after : str
        The cheapest player below and above.
    """

    M: float
    before: str
    after: str


@dataclass(frozen=True)
class Curves:
    """The records of one graph under one rule set.

    Attributes
    ----------
    graph, rules : str
    params : mapping
        The graph's parameters.
    players : mapping of str to dict
        I/O in words by M, the least over seeds; in the order of their names.
    lower : dict
        The best lower bound by M.
    """

    graph: str
    rules: str
    params: Mapping[str, Any]
    players: Mapping[str, Curve]
    lower: Curve

    @property
    def best(self) -> Curve:
        """The least I/O of any player, by M."""
        found: Curve = {}
        for curve in self.players.values():
            for M, io in curve.items():
                found[M] = min(io, found.get(M, io))
        return dict(sorted(found.items()))

    @property
    def d(self) -> int | None:
        """The head dimension, of a graph that has one."""
        value = self.params.get("d")
        return value if isinstance(value, int) else None

    def crossings(self) -> list[Crossing]:
        """Where the cheapest player changes, M rising.

        A player that appears with its first affordable M crosses there; ties stay with the player that led.
        """
        found: list[Crossing] = []
        sizes = list(self.best)
        leader = ""
        for i, M in enumerate(sizes):
            here = {name: curve[M] for name, curve in self.players.items() if M in curve}
            least = min(here.values())
            if not leader or here.get(leader, math.inf) > least:
                name = next(name for name, io in here.items() if io == least)
                if leader:
                    found.append(Crossing(self._between(leader, name, sizes[i - 1], M), leader, name))
                leader = name
        return found

    def _between(self, before: str, after: str, low: int, high: int) -> float:
        first, second = self.players[before], self.players[after]
        if low not in first or low not in second or high not in first:
            return float(high)
        gap_low = math.log(second[low] / first[low])
        gap_high = math.log(second[high] / first[high])
        if gap_low == gap_high:
            return float(high)
        crossed: float = low * (high / low) ** (gap_low / (gap_low - gap_high))
        return crossed


def instances(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The graphs and rule sets that have figures, in order."""
    return list(dict.fromkeys((r["graph"], r["rules"]) for r in records if _has_figures(r)))


def curves(records: Sequence[Record], graph: str | None = None, rules: str | None = None) -> Curves:
    """The curves of one graph and rule set.

    Parameters
    ----------
    records : sequence of dict
        As `experiments.read_runs` gives them.
    graph, rules : str, optional
        Needed where the records are of several.

    Raises
    ------
    PebbleError
        No record fits, or those of several graphs do.

    Examples
    --------
    >>> from experiments import Grid, perform
    >>> grid = Grid(["fft:16"], ["4..16:x2"], strategies=["lru", "belady"])
    >>> found = curves([perform(run) for run in grid.runs()])
    >>> found.best == found.players["belady"], sorted(found.lower)
    (True, [4, 8, 16])
    """
    fitting = [
        r for r in records if _has_figures(r) and graph in (None, r["graph"]) and rules in (None, r["rules"])
    ]
    found = instances(fitting)
    if not found:
        known = ", ".join(f"{g} ({r})" for g, r in instances(records)) or "none"
        raise PebbleError(f"no runs with figures for {graph or 'any graph'}, rules {rules or 'any'}: {known}")
    if len(found) > 1:
        raise PebbleError(f"name one of {len(found)} graphs and rule sets: {', '.join(map(str, found))}")
    players: dict[str, Curve] = {}
    lower: Curve = {}
    for record in fitting:
        M = record["M"]
        if record["io"] is not None:
            # A strategy and a solver may have the same name.
            name = record["player"] + (" (solver)" if record["kind"] == "solve" else "")
            curve = players.setdefault(name, {})
            curve[M] = min(record["io"], curve.get(M, record["io"]))
        if record["lower_bound"] is not None:
            lower[M] = max(record["lower_bound"], lower.get(M, 0))
    ordered = {name: dict(sorted(curve.items())) for name, curve in sorted(players.items())}
    (graph_name, rule_set), params = found[0], fitting[0]["params"]
    return Curves(graph_name, rule_set, params, ordered, dict(sorted(lower.items())))


def _has_figures(record: Record) -> bool:
    return record["io"] is not None or record["lower_bound"] is not None
