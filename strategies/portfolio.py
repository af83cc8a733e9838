"""`auto`: whatever plays the instance, the cheapest kept, its order replayed and searched further."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphs.catalog import REGISTRY as BUILDERS
from graphs.spec import GraphSpec
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.catalog import REGISTRY
from strategies.eviction import BELADY, Eviction
from strategies.local_search import search_order
from strategies.orders import order_named
from strategies.protocol import Countable, Strategy
from strategies.recomputing import recompute_order
from strategies.replaying import play_plan, prepare, replay

__all__ = ["AUTO", "Auto"]

# Of the tile programs, priced by count, those within this factor of the best are played, at most so many.
_CLOSE = 1.3
_MOST_PLAYED = 3
_SHARE = 0.5
# On larger graphs that a strategy of their own plays, generic orders are not tried.
_MANY_EDGES = 200_000
# On graphs of more edges only the orders are tried that take less than a second per million vertices.
_HUGE = 1_000_000
_FAST_ORDERS = ("natural", "stack", "dfs")
# Schedules of more moves are not replayed to polish them unless a limit asks for more.
_MOST_POLISHED = 40_000_000


# Without a limit graphs of up to so many computes are searched, by so many moves: about a second.
_SEARCHED = 20_000
_DEFAULT_MOVES = 4000
# Where the rules allow it recomputation is put in after each of three searches, of these shares.
_SHARES = (1.0, 0.5, 0.5)
_MOVES_PER_REPLAY = 20


class Auto:
    """The best schedule that the registered strategies find, whatever the graph.

    Tile programs are priced by `count` and the cheapest few are played; every other registered strategy that
    supports the instance is played, third parties' included; generic orders are tried with Belady's rule. The
    orders of the best are replayed, with their recomputation, and a local search starts from there.

    Attributes
    ----------
    name : str
    options : mapping

    Examples
    --------
    >>> import graphs
    >>> AUTO(Instance(graphs.build("fft:16"), M=6)).claim <= 64
    True
    """

    name = "auto"
    options: Mapping[str, str] = {
        "effort": "thousands of moves that the local search tries (by default 4 on graphs of up to 20,000 "
        "computes, else 0); a limit goes before"
    }

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        """Play `instance`.

        Parameters
        ----------
        instance : Instance
        limit : Limit, optional
            `time` in seconds: past it nothing further is tried, what is left of it goes to the local search;
            one schedule is made in any case. `nodes` are moves of the local search, a reproducible limit.
            `memory_mb` and `gap` are handed on to the strategies.
        seed : int
            Of the local search; handed on to the strategies.
        **options
            ``effort``.

        Raises
        ------
        InfeasibleInstanceError, UnsupportedInstanceError
        """
        unknown = [key for key in options if key not in self.options]
        if unknown:
            raise UnsupportedInstanceError(f"strategy '{self.name}' has no option '{unknown[0]}'")
        instance.require_feasible()
        limit = limit or Limit()
        moves = _moves(instance, limit, options.get("effort"))
        start = time.monotonic()
        best: Schedule | None = None
        made: list[str] = []
        played: list[Schedule] = []

        def left(share: float = 1.0) -> Limit:
            if limit.time is None:
                return replace(limit, nodes=None)
            return replace(limit, time=share * max(0.0, limit.time - (time.monotonic() - start)), nodes=None)

        def keep(schedule: Schedule) -> None:
            nonlocal best
            made.append(schedule.producer)
            if best is None or _claim(schedule) < _claim(best):
                best = schedule

        for strategy in candidates(instance):
            if best is None or left().time != 0.0:
                # Half of what is left: a strategy may search till its limit, and others come after it.
                schedule = strategy(instance, limit=left(_SHARE), seed=seed)
                # Third parties' claims are taken from nobody but the referee.
                played.append(replace(schedule, claim=verify(schedule).io))
                keep(played[-1])
        if best is None or (instance.cdag.num_edges <= _MANY_EDGES and left().time != 0.0):
            keep(_generic(instance, left(), seed, moves))
        assert best is not None
        for schedule in sorted(played, key=_claim):
            if len(schedule) <= _MOST_POLISHED and left().time != 0.0:
                polished = replay(instance, schedule.order(), seed=seed)
                keep(replace(polished, producer=f"{schedule.producer} replayed"))
        if moves is None or moves > 0:
            searched = _searched(instance, best, Limit(time=left().time, nodes=moves), seed)
            if searched is not None:
                keep(searched)
        return replace(best, producer=self.name, seed=seed, info={"from": best.producer, "tried": len(made)})

    def supports(self, instance: Instance) -> str | None:
        """None: every graph is played."""
        return None

    def least_M(self, instance: Instance) -> int:
        """The graph's own least M."""
        return instance.least_M


def _generic(instance: Instance, limit: Limit, seed: int, moves: int | None) -> Schedule:
    """Generic orders with Belady's rule: on huge graphs, where nothing is asked for, the fastest few."""
    if instance.cdag.num_edges <= _HUGE or limit.time is not None or moves:
        return BELADY(instance, limit=limit, seed=seed)
    best = None
    for name in _FAST_ORDERS:
        # Played at once: noting the moves takes less time than playing the best order a second time.
        schedule = play_plan(prepare(instance, order_named(name)(instance.cdag)), instance)
        if best is None or _claim(schedule) < _claim(best):
            best = replace(schedule, producer=f"belady:order={name}")
        del schedule
    assert best is not None
    return best


def _searched(instance: Instance, best: Schedule, limit: Limit, seed: int) -> Schedule | None:
    """Local search, with recomputation put in between where the rules allow it; None if nothing is gained."""
    if not instance.is_plain:
        # The kernels that price a move of the search know plain rules only.
        return None
    order, io = best.order(), _claim(best)
    start = time.monotonic()
    shares = _SHARES if instance.rules.recomputation else (1.0,)
    for number, share in enumerate(shares):
        seconds = None
        if limit.time is not None:
            left = limit.time - (time.monotonic() - start)
            seconds = left * share / sum(shares[number:])
            if seconds <= 0:
                break
        nodes = None if limit.nodes is None else max(1, int(limit.nodes * share))
        order, stats = search_order(
            instance, order, limit=Limit(time=seconds, nodes=nodes), seed=seed + number
        )
        io = min(io, stats["io"][1])
        if instance.rules.recomputation:
            part = Limit(
                time=None if seconds is None else seconds / 4,
                nodes=None if nodes is None else -(-nodes // _MOVES_PER_REPLAY),
            )
            order, stats = recompute_order(instance, order, limit=part, seed=seed + number)
            io = min(io, stats["io"][1])
    if io == _claim(best):
        return None
    return replace(replay(instance, order, seed=seed), producer=f"{best.producer} searched")


def _moves(instance: Instance, limit: Limit, effort: Any) -> int | None:
    """Moves of the local search; None if time alone limits them."""
    if limit.nodes is not None:
        return limit.nodes
    if effort is not None:
        try:
            thousands = float(effort)
        except ValueError:
            thousands = -1.0
        if not 0 <= thousands <= 1e9:
            raise UnsupportedInstanceError(f"strategy 'auto': effort={effort} is no number from 0 up")
        return int(1000 * thousands)
    if limit.time is not None:
        return None
    computes = instance.cdag.num_vertices - len(instance.cdag.sources)
    return _DEFAULT_MOVES if computes <= _SEARCHED else 0


def candidates(instance: Instance) -> list[Strategy]:
    """The registered strategies that may play `instance` well, tile programs by their exact count.

    The generic ones (an order, then eviction) and `auto` itself are left out.
    """
    others: list[Strategy] = []
    priced: list[tuple[int, Strategy]] = []
    for name in REGISTRY.names():
        if not REGISTRY.info(name).available:
            continue
        strategy = REGISTRY.get(name)
        if isinstance(strategy, Eviction | Auto) or strategy.supports(instance) is not None:
            continue
        if strategy.least_M(instance) > instance.M:
            continue
        spec = _spec(instance)
        if isinstance(strategy, Countable) and spec is not None and strategy.count_supports(spec) is None:
            priced.append((strategy.count(spec, instance.M)[0].io, strategy))
        else:
            others.append(strategy)
    priced.sort(key=lambda entry: entry[0])
    close = [s for io, s in priced if io <= _CLOSE * priced[0][0]]
    return close[:_MOST_PLAYED] + others


def _spec(instance: Instance) -> GraphSpec | None:
    """The spec that the graph was built from; None for custom graphs."""
    cdag = instance.cdag
    return GraphSpec.parse(cdag.name) if cdag.family and cdag.family in BUILDERS else None


def _claim(schedule: Schedule) -> int:
    assert schedule.claim is not None
    return schedule.claim


AUTO = Auto()
