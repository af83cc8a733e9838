"""`auto`: whatever plays the instance, the cheapest kept, its order replayed and searched further."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from graphs.catalog import REGISTRY as BUILDERS
from graphs.spec import GraphSpec
from pebble.errors import PlayInterrupted, UnsupportedInstanceError
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
from strategies.variant_replaying import translated

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
# Under a variant every move replays the whole order: only smaller graphs are searched, for about two seconds.
_SEARCHED_VARIANT = 2_000
_REPLAYED = 2_000_000
# Thousands of moves on the plain game, where its best order is what a variant starts from.
_PLAIN_EFFORT = 2
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
        PlayInterrupted
            Ctrl-C once there is a schedule; the best so far is in the error.
        """
        unknown = [key for key in options if key not in self.options]
        if unknown:
            raise UnsupportedInstanceError(f"strategy '{self.name}' has no option '{unknown[0]}'")
        instance.require_feasible()
        limit = limit or Limit()
        run = _Run(instance, limit, seed, _moves(instance, limit, options.get("effort")))
        try:
            run.play()
        except KeyboardInterrupt:
            run.settle()
            if run.best is None:
                raise
            raise PlayInterrupted(run.result()) from None
        return run.result()

    def supports(self, instance: Instance) -> str | None:
        """None: every graph is played."""
        return None

    def least_M(self, instance: Instance) -> int:
        """The graph's own least M."""
        return instance.least_M


class _Run:
    """One run of `auto`: the best schedule so far, and what is left of the limits."""

    def __init__(self, instance: Instance, limit: Limit, seed: int, moves: int | None) -> None:
        self.instance = instance
        self.best: Schedule | None = None
        self._limit, self._seed, self._moves = limit, seed, moves
        self._start = time.monotonic()
        self._made = 0
        # The best order of a local search that has not ended, and who found it.
        self._pending: tuple[NDArray[Any], str] | None = None

    def result(self) -> Schedule:
        """The best schedule, signed."""
        assert self.best is not None
        info = {"from": self.best.producer, "tried": self._made}
        return replace(self.best, producer=AUTO.name, seed=self._seed, info=info)

    def settle(self) -> None:
        """Replay the best order of a local search; orders found on the way to it need no schedule."""
        if self._pending is not None:
            order, producer = self._pending
            self._pending = None
            self._replay(order, producer)

    def play(self) -> None:
        """Try everything, the quick things first; an interrupt leaves the best in `best`."""
        instance = self.instance
        played: list[Schedule] = []
        for strategy in candidates(instance):
            if self.best is None or self._time_left():
                # Half of what is left: a strategy may search till its limit, and others come after it.
                schedule = strategy(instance, limit=self._left(_SHARE), seed=self._seed)
                # Third parties' claims are taken from nobody but the referee.
                played.append(replace(schedule, claim=verify(schedule).io))
                self._keep(played[-1])
        if not instance.is_plain and self._time_left():
            self._from_plain()
        if self.best is None or (instance.cdag.num_edges <= _MANY_EDGES and self._time_left()):
            self._keep(self._generic())
        for schedule in sorted(played, key=_claim):
            if len(schedule) <= _MOST_POLISHED and self._time_left():
                self._replay(schedule.order(), f"{schedule.producer} replayed")
        if self._moves is None or self._moves > 0:
            self._search()

    def _keep(self, schedule: Schedule) -> None:
        self._made += 1
        if self.best is None or _claim(schedule) < _claim(self.best):
            self.best = schedule

    def _replay(self, order: NDArray[Any], producer: str) -> None:
        self._keep(replace(replay(self.instance, order, seed=self._seed), producer=producer))

    def _left(self, share: float = 1.0) -> Limit:
        """A share of the time left; moves of the search are no limit for others."""
        seconds = self._limit.time
        if seconds is not None:
            seconds = share * max(0.0, seconds - (time.monotonic() - self._start))
        return replace(self._limit, time=seconds, nodes=None)

    def _time_left(self) -> bool:
        return self._left().time != 0.0

    def _from_plain(self) -> None:
        """What `auto` finds under plain rules, and its order: legal under most variants, good under all."""
        plain = _plain(self.instance)
        if plain is None:
            return
        try:
            effort = _PLAIN_EFFORT if _computes(plain) <= _SEARCHED else 0
            found = AUTO(plain, limit=self._left(_SHARE), seed=self._seed, effort=effort)
        except PlayInterrupted as interrupt:
            self._translate(interrupt.schedule)
            raise
        self._translate(found)

    def _translate(self, found: Schedule) -> None:
        same = translated(found, self.instance)
        if same is not None:
            self._keep(replace(same, producer=found.info["from"], claim=verify(same).io))
        self._replay(found.order(), f"{found.info['from']} replayed")

    def _generic(self) -> Schedule:
        """Generic orders with Belady's rule: on huge graphs, where nothing is asked for, the fastest few."""
        instance = self.instance
        if instance.cdag.num_edges <= _HUGE or self._limit.time is not None or self._moves:
            return BELADY(instance, limit=self._left(), seed=self._seed)
        best = None
        for name in _FAST_ORDERS:
            # Played at once: noting the moves takes less time than playing the best order a second time.
            schedule = play_plan(prepare(instance, order_named(name)(instance.cdag)), instance)
            if best is None or _claim(schedule) < _claim(best):
                best = replace(schedule, producer=f"belady:order={name}")
            del schedule
        assert best is not None
        return best

    def _search(self) -> None:
        """Local search, with recomputation put in between where the rules allow it."""
        assert self.best is not None
        rules, seconds = self.instance.rules, self._left().time
        producer = f"{self.best.producer} searched"
        order, io = self.best.order(), _claim(self.best)
        start = time.monotonic()
        shares = _SHARES if rules.recomputation else (1.0,)

        def better(order: NDArray[Any]) -> None:
            self._pending = order, producer

        for number, share in enumerate(shares):
            part = None
            if seconds is not None:
                part = (seconds - (time.monotonic() - start)) * share / sum(shares[number:])
                if part <= 0:
                    break
            nodes = None if self._moves is None else max(1, int(self._moves * share))
            limit, seed = Limit(time=part, nodes=nodes), self._seed + number
            order, stats = search_order(self.instance, order, limit=limit, seed=seed, on_better=better)
            io = min(io, stats["io"][1])
            if rules.recomputation:
                limit = Limit(
                    time=None if part is None else part / 4,
                    nodes=None if nodes is None else -(-nodes // _MOVES_PER_REPLAY),
                )
                order, stats = recompute_order(self.instance, order, limit=limit, seed=seed)
                io = min(io, stats["io"][1])
        self._pending = (order, producer) if io < _claim(self.best) else None
        self.settle()


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
    computes = _computes(instance)
    if not instance.is_plain:
        return min(_DEFAULT_MOVES, _REPLAYED // max(computes, 1)) if computes <= _SEARCHED_VARIANT else 0
    return _DEFAULT_MOVES if computes <= _SEARCHED else 0


def _computes(instance: Instance) -> int:
    return instance.cdag.num_vertices - len(instance.cdag.sources)


def _plain(instance: Instance) -> Instance | None:
    """The same graph under plain rules, if the rules are a variant and M is enough for the plain game."""
    if instance.is_plain:
        return None
    rules = "hong-kung" if instance.rules.recomputation else "one-shot"
    plain = Instance(instance.cdag, instance.M, rules)
    return plain if plain.feasible else None


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
