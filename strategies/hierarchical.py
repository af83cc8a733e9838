"""Players for several levels of memory: Belady level by level, programs in programs, loops in loops."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import HierarchyPlayInterrupted, PlayInterrupted, UnsupportedInstanceError
from pebble.hierarchy import Hierarchy, HierarchySchedule, plain_rules
from pebble.instance import Instance
from pebble.moves import Op, move_dtype, unpack_arrays
from pebble.referee import verify
from pebble.result import Limit
from pebble.rules import Rules
from pebble.schedule import Schedule
from strategies.catalog import REGISTRY
from strategies.hierarchical_filling import add_levels
from strategies.hierarchical_nests import Budget, Search, Space
from strategies.hierarchical_products import product_spaces
from strategies.hierarchical_sweeps import sweep_spaces
from strategies.playing import parse_strategy, play
from strategies.replaying import prepare, replay

__all__ = ["add_levels", "check_hierarchy_spec", "play_hierarchy"]

# Without a limit the search for blocks prices choices until they have replayed so many edges.
_EDGES = 30_000_000
_FEWEST, _MOST = 12, 600
# On graphs of more edges `auto` tries no strategy in another.
_MANY_EDGES = 300_000
# So many of the best are taken further: strategies put into each other, nests searched.
_BEST = 2
# Schedules of at most so many moves are kept: `auto` asks for them more than once.
_KEPT = 1_000_000
# The share of the budget that the first descents may spend, before the best of them go on.
_FIRST = 0.6
# The share of a time limit that nests have in `auto`, and the strategies that are not tried there.
_NESTED = 0.7
_LEFT_OUT = ("auto", "lru", "fifo", "random")


def play_hierarchy(
    spec: str,
    cdag: CDAG,
    hierarchy: Hierarchy,
    *,
    rules: Rules | str = "hong-kung",
    limit: Limit | None = None,
    seed: int = 0,
) -> HierarchySchedule:
    """Play a graph on several levels of memory.

    Parameters
    ----------
    spec : str
        ``auto``, the best of all that follows. ``nested``: loops over blocks in loops over blocks, level by
        level, for the families that have them. A strategy, which plays level 1; each further level keeps what
        it is asked for by Belady's rule. ``outer/inner``, or one strategy per level such as ``A/B/C``: the
        last plays level 1, the others the largest levels, all of it, three quarters or half; what an outer
        one computes between its loads, one such run or several together, is done in the order in which the
        inner ones do it. How many runs go together is tried in powers of two, up to the inner order alone;
        the schedule of least total cost is kept.
    cdag : CDAG
    hierarchy : Hierarchy
    rules : Rules or str
        ``hong-kung`` or ``one-shot``.
    limit : Limit, optional
        Passed on to the strategies; its time in seconds, or its nodes, end the search for blocks too.
    seed : int

    Returns
    -------
    HierarchySchedule
        Its claim is its total cost. `info` says what was chosen: the blocks of ``nested``, for
        ``outer/inner`` the words and the number of runs together; for ``auto`` the player.

    Raises
    ------
    InfeasibleInstanceError
        Level 1 is below the graph's least M.
    UnsupportedInstanceError
        A strategy does not play this graph with that many words; the family has no nests; there are more
        strategies than levels; the rules are others.
    HierarchyPlayInterrupted
        Ctrl-C came after a schedule had been found; it holds the best.

    Notes
    -----
    Belady (1966) is optimal for the reads of one level; that levels are filled one after the other is a
    heuristic. The strategies' time, then O(k T log T) for T moves and k levels; for ``outer/inner`` times the
    logarithm of the number of runs, for ``nested`` times the choices of blocks.

    Examples
    --------
    >>> from graphs.linear_algebra import matmul
    >>> s = play_hierarchy("nested", matmul(4, 4, 4), Hierarchy((8, 24), costs=(1, 10)))
    >>> s.claim
    560
    """
    plain = plain_rules(rules)
    check_hierarchy_spec(spec)
    instance = Instance(cdag, hierarchy.sizes[0], plain)
    instance.require_feasible()
    player = _Player(instance, hierarchy, limit or Limit(), seed)
    try:
        if spec == "auto":
            return player.auto()
        if spec == "nested":
            return player.nested()
        parts = spec.split("/")
        return player.alone(spec) if len(parts) == 1 else player.inside(parts)
    except KeyboardInterrupt:
        if player.best is None:
            raise
        raise HierarchyPlayInterrupted(replace(player.best, producer=spec)) from None


def check_hierarchy_spec(spec: str) -> None:
    """Raise unless a text is ``auto``, ``nested``, or strategies with slashes between.

    Raises
    ------
    UnknownNameError, UnsupportedInstanceError
    """
    if spec in ("auto", "nested"):
        return
    parts = spec.split("/")
    if not all(parts):
        raise UnsupportedInstanceError(f"'{spec}': write one strategy, or outer/inner")
    for part in parts:
        parse_strategy(part)


class _Player:
    """One graph, its levels, and the time there is."""

    def __init__(self, instance: Instance, hierarchy: Hierarchy, limit: Limit, seed: int) -> None:
        self.instance = instance
        self.hierarchy = hierarchy
        self.limit = limit
        self.seed = seed
        self.start = time.monotonic()
        self.best: HierarchySchedule | None = None
        self._played: dict[tuple[str, int], Schedule] = {}

    def within(self, share: float) -> Limit:
        """The limit, with a share of the time that is left."""
        if self.limit.time is None:
            return self.limit
        return replace(self.limit, time=share * max(0.0, self.limit.time - (time.monotonic() - self.start)))

    @property
    def left(self) -> Limit:
        """The limit, with the time that is left."""
        return self.within(1.0)

    @property
    def has_time(self) -> bool:
        """Whether anything further should be tried."""
        return self.left.time != 0.0

    def on(self, level: int, share: float = 1.0) -> Instance:
        """The game of two levels with the words of one of these, or a share of them."""
        return self.instance.with_memory(int(share * self.hierarchy.sizes[level - 1]))

    def play(self, spec: str, instance: Instance, share: float = 1.0) -> Schedule:
        """A strategy on two levels, played once, within a share of the time that is left."""
        known = self._played.get((spec, instance.M))
        if known is None:
            try:
                known = play(spec, instance, limit=self.within(share), seed=self.seed)
            except PlayInterrupted as stop:
                if instance.M == self.instance.M:
                    self.fill(stop.schedule, spec)
                raise
            if len(known) <= _KEPT:
                self._played[spec, instance.M] = known
        return known

    def alone(self, spec: str, share: float = 1.0) -> HierarchySchedule:
        """A strategy on level 1, Belady's rule above, within a share of the time that is left."""
        return self.fill(self.play(spec, self.instance, share), spec)

    def fill(
        self, schedule: Schedule, producer: str, info: Mapping[str, Any] | None = None
    ) -> HierarchySchedule:
        """A schedule of level 1 with all further levels; the best is noted, for when Ctrl-C comes."""
        filled = add_levels(schedule, self.hierarchy, producer, info)
        if self.best is None or _claim(filled) < _claim(self.best):
            self.best = filled
        return filled

    def _spaces(self) -> list[Space]:
        """The nests that the graph has."""
        g, sizes = self.instance.cdag, self.hierarchy.sizes
        return product_spaces(g, sizes) + sweep_spaces(g, sizes)

    def nested(self, share: float = 1.0) -> HierarchySchedule:
        """The best nest of loops that the search finds within a share of the time that is left."""
        g = self.instance.cdag
        spaces = self._spaces()
        if not spaces:
            raise UnsupportedInstanceError(
                f"{g.name} has no loops in loops: there are some for matmul, a1xa2t, attention (one head, "
                "no mask, no scale, given=D; d > 1 for the gradient), fft, stencils, grids and pyramids, "
                "where sums are chains"
            )
        nodes, seconds = self.limit.nodes, self.within(share).time
        if nodes is None and seconds is None:
            nodes = max(_FEWEST, min(_MOST, _EDGES // max(1, g.num_edges)))
        budget = Budget(nodes, seconds)
        searches = [
            Search(space, lambda order: _claim(self._quick(order)), budget, self.seed) for space in spaces
        ]
        for number, search in enumerate(searches, 1):
            budget.until = _FIRST * number / len(searches)
            search.start()
        found = sorted((s for s in searches if s.best is not None), key=lambda search: search.least)
        for number, search in enumerate(found[:_BEST], 1):
            budget.until = _FIRST + (1 - _FIRST) * number / min(_BEST, len(found))
            search.go_on()
        best = min(found, key=lambda search: search.least)
        assert best.best is not None
        order = best.space.order(best.best)
        quick = self._quick(order)
        thorough = self.fill(replay(self.instance, order, seed=self.seed), "nested")
        return replace(min(quick, thorough, key=_claim), producer="nested", info=dict(best.best))

    def _quick(self, order: NDArray[np.int64]) -> HierarchySchedule:
        """An order replayed once."""
        instance = self.instance
        plan = prepare(instance.cdag, order, instance.rules)
        moves = np.empty(plan.most_moves, dtype=move_dtype(instance.cdag.num_vertices))
        _, moves = plan.run(instance.M, seed=self.seed, moves=moves, thorough=False)
        return self.fill(Schedule(instance, moves, seed=self.seed), "nested")

    def inside(self, parts: list[str]) -> HierarchySchedule:
        """Strategies in strategies: the first plays the largest level, the last plays level 1."""
        levels = self.hierarchy.num_levels
        spec = "/".join(parts)
        if len(parts) > levels:
            raise UnsupportedInstanceError(
                f"'{spec}' names {len(parts)} strategies: there are {levels} levels, give at most one each"
            )
        fine = self.play(parts[-1], self.instance)
        best = self.fill(fine, spec, {"outer_M": 0, "runs": 0})
        order = fine.order()
        # From the innermost of the outer strategies to the outermost, each around the best order so far.
        for place in range(len(parts) - 2, -1, -1):
            inner = order
            for coarse in self._coarse(parts[place], levels - place):
                for together, runs in _nested_orders(coarse, inner):
                    schedule = replay(self.instance, runs, seed=self.seed)
                    info = {"outer_M": coarse.instance.M, "runs": together}
                    played = self.fill(schedule, spec, info)
                    if _claim(played) < _claim(best):
                        best, order = played, runs
                    if not self.has_time:
                        return best
        return best

    def _coarse(self, spec: str, level: int) -> Iterator[Schedule]:
        """The strategy with the words of a level, and with fewer: what it leaves is room for several runs."""
        strategy, _ = parse_strategy(spec)
        whole = self.on(level)
        least = strategy.least_M(whole) if strategy.supports(whole) is None else 0
        seen = set()
        for share in (1.0, 0.75, 0.5):
            instance = self.on(level, share)
            if instance.M not in seen and (share == 1.0 or least <= instance.M):
                seen.add(instance.M)
                yield self.play(spec, instance)

    def auto(self) -> HierarchySchedule:
        """The best of the nest of loops, the strategies alone, and the best of them in each other."""
        names = [name for name in REGISTRY.names() if self._takes_part(name)]
        made: list[HierarchySchedule] = []

        def keep(make: Callable[[], HierarchySchedule]) -> None:
            # Third parties' strategies may refuse what they said they support: the others stand.
            if not made or self.has_time:
                with contextlib.suppress(UnsupportedInstanceError):
                    made.append(make())

        if self._spaces():
            keep(partial(self.nested, _NESTED))
        for number, name in enumerate(names):
            # A strategy may search till its limit: the others come after it, and the pairs after them.
            keep(partial(self.alone, name, 1 / (len(names) - number + 1)))
        alone = sorted((schedule for schedule in made if schedule.producer in names), key=_claim)
        inner = [schedule.producer for schedule in alone[:_BEST]]
        if self.instance.cdag.num_edges <= _MANY_EDGES and self.hierarchy.num_levels > 1:
            for outer in self._best_outside(names):
                for name in inner:
                    keep(partial(self.inside, [outer, name]))
        best = min(made, key=_claim)
        return replace(best, producer="auto", info={"from": best.producer, **best.info, "tried": len(made)})

    def _takes_part(self, name: str) -> bool:
        """Whether `auto` lets a strategy play: it is none of the weak ones, and it can."""
        if name in _LEFT_OUT or not REGISTRY.info(name).available:
            return False
        strategy = REGISTRY.get(name)
        return strategy.supports(self.instance) is None and strategy.least_M(self.instance) <= self.instance.M

    def _best_outside(self, names: list[str]) -> list[str]:
        """The strategies that move the fewest words with those of the largest level."""
        whole = self.on(self.hierarchy.num_levels)
        costs = []
        for name in names:
            if self.has_time:
                costs.append((verify(self.play(name, whole, 1 / (len(names) + 1))).io, name))
        return [name for _, name in sorted(costs)[:_BEST]]


def _claim(schedule: HierarchySchedule | Schedule) -> int:
    assert schedule.claim is not None
    return schedule.claim


def _nested_orders(coarse: Schedule, inner: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Orders of computes: the outer schedule's runs of computes, some together, each in the inner order.

    A run ends where the outer schedule loads. Predecessors are in an earlier run, or in the same one and then
    earlier in the inner order, so every such order is topological.
    """
    ops, vertices = unpack_arrays(coarse.moves)
    computing = ops == Op.COMPUTE
    computed = vertices[computing]
    loads = np.cumsum(ops == Op.LOAD)[computing]
    run = np.cumsum(np.diff(loads, prepend=loads[:1]) > 0)
    rank = np.full(coarse.instance.cdag.num_vertices, -1, dtype=np.int64)
    rank[inner[::-1]] = np.arange(len(inner))[::-1]
    together = 1
    number = int(run[-1]) + 1 if len(run) else 1
    while True:
        group = run // together
        order = computed[np.lexsort((np.arange(len(computed)), rank[computed], group))]
        # Within one group a value that the outer schedule computed twice is computed once.
        keys = np.sort(group) * len(rank) + order
        _, first = np.unique(keys, return_index=True)
        yield together, order[np.sort(first)]
        if together >= number:
            return
        together *= 2
