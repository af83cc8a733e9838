"""The solver ``auto``: strategies, bounds, then the exact methods, one-shot before recomputation."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any

from pebble.instance import Instance
from pebble.result import Bound, Limit, Result
from pebble.schedule import Schedule
from solvers.children import Outcome, run_children
from solvers.progress import OnProgress, Progress
from solvers.standing import Clock, Standing, infeasible
from solvers.starting import offer_strategies, raise_bounds

__all__ = ["AUTO", "Auto", "prove_with"]

# States that the search may expand in this process before children are worth their start (about a second).
_FIRST_STATES = 30_000
_FIRST_SECONDS = 3.0
_FIRST_SHARE = 0.25
# With less time than this left the search's kernels are not compiled outside of it.
_COMPILE_FROM = 1.0
# With less time than this left no child is started.
_CHILD_SECONDS = 5.0
# For the one-shot optimum where recomputation is allowed: it is only an upper bound there.
_ONE_SHOT_SHARE = 0.3
_ONE_SHOT_SECONDS = 120.0
_ONE_SHOT_NODES = 20_000_000


@dataclass
class _Run:
    standing: Standing
    clock: Clock
    limit: Limit
    seed: int
    workers: int
    stats: dict[str, Any] = field(default_factory=dict)
    limit_hit: str | None = None
    why: str = ""

    def done(self) -> bool:
        """Whether the gap is closed or small enough, or the time is over."""
        if self.standing.good_enough(self.limit.gap):
            self.limit_hit = "gap"
            return True
        if self.clock.over:
            self.limit_hit = "time"
            return True
        return False


class Auto:
    """The solver object.

    Every strategy that applies gives an upper bound, every lower bound that applies a lower one. Where
    they differ the search is tried briefly in this process, then search and integer program in child
    processes, side by side on two cores; where recomputation is allowed, the one-shot game comes first: its
    optimum is an upper bound there, and far easier to find.

    Parameters
    ----------
    workers : int, optional
        Methods at a time; by default two, or one on a single core.
    """

    name = "auto"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers

    def supports(self, instance: Instance) -> str | None:
        """None: every instance gets at least a schedule and a bound."""
        return None

    def __call__(
        self,
        instance: Instance,
        *,
        limit: Limit | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        upper: Schedule | None = None,
        lower: Bound | int = 0,
        workers: int | None = None,
    ) -> Result:
        """Solve an instance; Ctrl-C and every limit return the best schedule and bound so far.

        Parameters
        ----------
        instance : Instance
        limit : Limit, optional
        seed : int
        on_progress : callable, optional
        upper : Schedule, optional
            A schedule that is known, of this graph.
        lower : Bound or int
            A bound that is certified already.
        workers : int, optional
            As for the class.
        """
        refused = infeasible(instance, self.name, seed)
        if refused is not None:
            return refused
        limit = limit or Limit()
        count = workers or self.workers or min(2, os.cpu_count() or 1)
        run = _Run(Standing(instance, self.name, on_progress), Clock(limit), limit, seed, count)
        try:
            self._work(run, upper, lower)
        except KeyboardInterrupt:
            run.limit_hit = "interrupted"
        return _result(run)

    def _work(self, run: _Run, upper: Schedule | None, lower: Bound | int) -> None:
        standing = run.standing
        take_known(standing, upper, lower)
        run.stats["strategies"] = offer_strategies(standing, run.clock, run.seed)
        run.stats["bounds"] = raise_bounds(standing, run.clock, run.limit, run.seed)
        if run.done():
            run.why = "a strategy meets a lower bound" if standing.closed else ""
            return
        if standing.instance.rules.recomputation:
            self._one_shot_first(run)
            if run.done():
                run.why = run.why or "the one-shot schedule meets a lower bound"
                return
        self._prove(run, standing, dataclasses.replace(run.limit, time=run.clock.left), "")

    def _one_shot_first(self, run: _Run) -> None:
        """The one-shot optimum, within a part of the limits; only its schedule is of use."""
        instance = run.standing.instance
        inner = Standing(
            instance.with_rules(dataclasses.replace(instance.rules, recomputation=False)),
            "auto (one-shot)",
            _without_bound(run.standing.on_progress),
        )
        schedule = run.standing.schedule
        if schedule is not None and len(set(schedule.order().tolist())) == len(schedule.order()):
            inner.offer(schedule)
        else:
            offer_strategies(inner, run.clock, run.seed)
        if run.standing.bound is not None:
            # What holds with recomputation holds without.
            inner.raise_bound(run.standing.bound)
        share = run.clock.share(_ONE_SHOT_SHARE)
        nodes = _ONE_SHOT_NODES if run.limit.nodes is None else run.limit.nodes
        limit = dataclasses.replace(
            run.limit, time=_ONE_SHOT_SECONDS if share is None else share, nodes=nodes
        )
        try:
            self._prove(run, inner, limit, "one-shot ")
        finally:
            # Also after an interrupt.
            if inner.schedule is not None:
                run.standing.offer(inner.schedule, f"{inner.found_by} (one-shot)")
        run.stats["one_shot"] = {"io": inner.io, "lower_bound": inner.lower_bound}

    def _prove(self, run: _Run, standing: Standing, limit: Limit, what: str) -> None:
        """The search in this process, briefly; then search and integer program as children."""
        from solvers.search import SEARCH

        _compile(run, standing.instance)
        clock = Clock(limit)
        outcomes: list[Outcome] = []
        brief: Limit | None = None
        hit: str | None = None
        if SEARCH.supports(standing.instance) is None:
            brief = _brief(limit, clock)
            found = SEARCH(
                standing.instance,
                limit=brief,
                seed=run.seed,
                upper=standing.schedule,
                lower=standing.lower_bound,
                on_progress=standing.on_progress,
            )
            run.stats[f"{what}search"] = dict(found.stats)
            if found.schedule is not None:
                standing.offer(found.schedule)
            standing.raise_bound(found.bound)
            if found.limit_hit == "interrupted":
                raise KeyboardInterrupt
            hit = found.limit_hit
            if standing.closed:
                run.why = f"{what}search: settled within {found.stats['states']:,} states"
                return
        if standing.good_enough(limit.gap) or clock.over or brief == limit:
            if not what:
                # No child follows: what ended the search here ended the run.
                run.limit_hit = "gap" if standing.good_enough(limit.gap) else hit or "time"
            return
        methods = _heavy_methods(standing.instance, limit)
        if not methods:
            run.why = "no exact method takes so large a graph"
            return
        rest = dataclasses.replace(limit, time=clock.left)
        if run.workers >= len(methods):
            outcomes = run_children(standing, methods, limit=rest, seed=run.seed)
        else:
            for method in methods:
                if standing.good_enough(limit.gap) or clock.over:
                    break
                rest = dataclasses.replace(limit, time=clock.left)
                outcomes += run_children(standing, [method], limit=rest, seed=run.seed)
        for outcome in outcomes:
            run.stats[f"{what}{outcome.method}"] = {**outcome.stats, "ended": outcome.why}
        if standing.closed:
            run.why = f"{what}{' and '.join(methods)} side by side"
        elif not what:
            hits = [outcome.limit_hit for outcome in outcomes if outcome.limit_hit]
            run.limit_hit = hits[0] if hits else None
            run.why = "; ".join(f"{o.method}: {o.why or o.limit_hit}" for o in outcomes)


def _compile(run: _Run, instance: Instance) -> None:
    """Have the search's kernels compiled while the clock stands still."""
    from solvers.search import SEARCH
    from solvers.search.warming import compile_kernels

    left = run.clock.left
    if instance.is_plain and (left is None or left >= _COMPILE_FROM) and SEARCH.supports(instance) is None:
        seconds = compile_kernels(instance)
        run.clock.excuse(seconds)
        run.stats["compile_seconds"] = round(run.stats.get("compile_seconds", 0.0) + seconds, 3)


def _brief(limit: Limit, clock: Clock) -> Limit:
    """The limit of the search in this process: all of it where too little is left for a child to start."""
    left = clock.left
    if left is not None and left < _CHILD_SECONDS:
        return limit
    nodes = _FIRST_STATES if limit.nodes is None else min(limit.nodes, _FIRST_STATES)
    seconds = _FIRST_SECONDS if left is None else min(_FIRST_SHARE * left, _FIRST_SECONDS)
    return dataclasses.replace(limit, time=seconds, nodes=nodes)


def take_known(standing: Standing, upper: Schedule | None, lower: Bound | int) -> None:
    """Start from a schedule and a bound that the caller has, and the compulsory I/O."""
    from solvers.catalog import BOUNDS

    if upper is not None:
        standing.offer(upper)
    if isinstance(lower, int):
        lower = Bound(lower, "given", f"rules {standing.instance.rules}", "given by the caller")
    if lower.value > 0:
        standing.raise_bound(lower)
    # At once: an interrupt may come while the strategies play.
    standing.raise_bound(BOUNDS.get("compulsory")(standing.instance))


def _heavy_methods(instance: Instance, limit: Limit) -> list[str]:
    from pebble.errors import UnsupportedInstanceError
    from solvers.catalog import SOLVERS
    from solvers.ilp import ILP
    from solvers.search import SEARCH

    methods = ["search"] if SEARCH.supports(instance) is None else []
    if SOLVERS.info("ilp").available:
        try:
            ILP.require_size(instance, limit)
            methods.append("ilp")
        except UnsupportedInstanceError:
            # Too large for the program: the search alone, or nothing.
            return methods
    return methods


def _without_bound(on_progress: OnProgress | None) -> OnProgress | None:
    """Reports of a one-shot solve inside one with recomputation: its bound does not hold there."""
    if on_progress is None:
        return None
    listener = on_progress

    def tell(progress: Progress) -> None:
        listener(dataclasses.replace(progress, lower_bound=0))

    return tell


def prove_with(
    method: str,
    instance: Instance,
    options: dict[str, Any],
    *,
    limit: Limit,
    seed: int,
    on_progress: OnProgress | None,
    upper: Schedule | None,
    lower: Bound | int,
) -> Result:
    """One named method in a child process, started from the strategies and bounds.

    Returns
    -------
    Result
        Also if the child dies: then with the schedule and bound that it had sent, or started from.
    """
    run = _Run(Standing(instance, method, on_progress), Clock(limit), limit, seed, 1)
    standing = run.standing
    try:
        take_known(standing, upper, lower)
        offer_strategies(standing, run.clock, seed)
        raise_bounds(standing, run.clock, limit, seed)
        if run.done():
            return _result(run)
        if method == "search":
            _compile(run, instance)
        rest = dataclasses.replace(limit, time=run.clock.left)
        outcome = run_children(standing, {method: options}, limit=rest, seed=seed)[0]
    except KeyboardInterrupt:
        run.limit_hit = "interrupted"
        return _result(run)
    if "unsupported" in outcome.stats:
        from pebble.errors import UnsupportedInstanceError

        raise UnsupportedInstanceError(outcome.stats["unsupported"])
    run.limit_hit, run.why = outcome.limit_hit, outcome.why
    run.stats |= outcome.stats
    return _result(run)


def _result(run: _Run) -> Result:
    """How the run stands; the method is who proved it, or who found the best schedule."""
    standing = run.standing
    method = standing.method
    if method == Auto.name:
        if standing.closed and standing.bound is not None:
            method = standing.bound.name if standing.bound.name in ("search", "ilp") else standing.found_by
        elif standing.found_by:
            method = standing.found_by
    why = run.why
    if standing.closed and standing.bound is not None:
        why = f"{standing.found_by} meets the bound {standing.bound.name}" + (f"; {why}" if why else "")
    elif run.limit_hit == "interrupted":
        why = f"interrupted; {why}" if why else "interrupted"
    elif run.limit_hit and not (why and run.limit_hit in ("died", "memory")):
        reason = f"stopped by the limit on {run.limit_hit}"
        why = why if why.startswith(reason) else f"{reason}; {why}" if why else reason
    run.stats["seconds"] = round(run.clock.seconds, 3)
    run.stats["schedule_by"] = standing.found_by
    return standing.result(method=method, why=why, limit_hit=run.limit_hit, stats=run.stats, seed=run.seed)


AUTO = Auto()
