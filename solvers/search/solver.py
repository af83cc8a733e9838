"""`SEARCH`: the solver that runs the searches pass after pass, and keeps what they prove."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Bound, Limit, Result, Status
from pebble.schedule import Schedule
from solvers.progress import OnProgress, Progress
from solvers.search.blocks import sum_over_blocks
from solvers.search.budget import Budget
from solvers.search.hong_kung import HongKungSearch
from solvers.search.one_shot import OneShotSearch
from solvers.search.problem import MAX_VERTICES, Problem
from solvers.search.segments import segments_of
from solvers.search.steps import Outcome, Step, schedule_of
from solvers.search.variant_problem import VariantProblem
from solvers.search.variant_steps import plain_schedule, schedule_of_steps
from solvers.search.variants import VariantSearch
from solvers.search.warming import compile_kernels

__all__ = ["SEARCH", "Search"]

_NAME = "search"
_SOURCE = "exhaustive search over the game's states, docs/exact.md"
# The clock starts when the kernels are compiled, unless there is less time than this.
_COMPILE_FROM = 1.0
# Seconds between two reports.
_REPORT_EVERY = 0.5
# A pass should cost about this many times the one before it: then all of them cost little more than the last.
_GROWTH = 4.0
# Passes with fewer states cost nothing to speak of.
_TRIVIAL_PASS = 2_000
# Growth per step of the threshold that counts as none, where costs lie far apart.
_SLOWEST = 1e-9
_FIRST_BEAMS = (1, 30, 300, 3000)
# Share of the time left that each beam may take.
_BEAM_SHARE = 0.1
# Share of the time left that a pass may take whose threshold skips others.
_PASS_SHARE = 0.25
# Vertices, and states in all, from which blocks of the graph are searched too; their share of the time
# left, and their most seconds and states.
_BLOCKS_VERTICES = 45
# Vertices from which that comes before any pass over the whole graph.
_BLOCKS_FIRST = 65
_BLOCKS_FROM = 300_000
_BLOCKS_SHARE = 0.4
_BLOCKS_SECONDS = 60.0
_BLOCKS_STATES = 4_000_000
# Vertices, or states of a pass, from which the bound by segments is worked out: it takes up to some seconds.
_SHARPEN_VERTICES = 40
_SHARPEN_FROM = 10_000


class _Passes(Protocol):
    def run(self, limit: int, budget: Budget, *, on_slice: Any = None) -> Outcome: ...


@dataclass
class _Standing:
    """What is known of the instance while the solver works."""

    instance: Instance
    problem: Problem
    budget: Budget
    seed: int
    on_progress: OnProgress | None
    schedule: Schedule
    io: int
    lower: int
    lower_by: str
    producer: str
    expanded: int = 0
    passes: list[dict[str, Any]] = field(default_factory=list)
    reported: float = 0.0

    @property
    def closed(self) -> bool:
        """Whether nothing is left to prove, or the gap asked for is reached."""
        if self.lower >= self.io:
            return True
        gap = self.budget.gap
        if gap is not None and self.lower > 0 and (self.io - self.lower) / self.lower <= gap:
            self.budget.hit = "gap"
            return True
        return False

    def improve(self, schedule: Schedule) -> None:
        """Take a schedule if the referee says that it is cheaper."""
        io = verify(schedule).io
        if io < self.io:
            self.io, self.schedule, self.producer = io, schedule, schedule.producer
            self.report(schedule)

    def raise_lower(self, value: int, by: str) -> None:
        """Take a proved lower bound."""
        if value > self.lower:
            self.lower, self.lower_by = value, by
            self.report()

    def report(self, schedule: Schedule | None = None) -> None:
        """Tell the caller how things stand."""
        self.reported = self.budget.seconds
        if self.on_progress is not None:
            self.on_progress(
                Progress(_NAME, self.reported, self.expanded, min(self.lower, self.io), self.io, schedule)
            )

    def on_slice(self, states: int) -> None:
        """Count states, and report now and then."""
        self.expanded += states
        if self.budget.seconds - self.reported >= _REPORT_EVERY:
            self.report()


class Search:
    """Exact search, every rule set, up to 256 vertices that are not isolated.

    Under the plain rule sets the searches are `HongKungSearch` and `OneShotSearch`, under all others
    `VariantSearch`; partial computation also takes at most 256 edges.

    Attributes
    ----------
    name : str
    """

    name = _NAME

    def supports(self, instance: Instance) -> str | None:
        """None if the search plays such graphs, else why not; O(|V| + |E|)."""
        problem = _problem_of(instance)
        if problem.n > MAX_VERTICES:
            return (
                f"search takes at most {MAX_VERTICES} vertices that are not isolated, "
                f"the graph has {problem.n}"
            )
        if isinstance(problem, VariantProblem) and problem.too_large:
            return (
                f"search takes at most {MAX_VERTICES} edges under rules {instance.rules}, "
                f"the graph has {len(problem.items)}"
            )
        return None

    def __call__(
        self,
        instance: Instance,
        *,
        limit: Limit | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        upper: Schedule | None = None,
        lower: int = 0,
    ) -> Result:
        """Prove the least I/O of `instance`, or return the best schedule and bound within `limit`.

        Parameters
        ----------
        instance : Instance
        limit : Limit, optional
            Every field is honoured: time in seconds, nodes in states expanded, memory of the tables (4096 MB
            if not given), gap. Ctrl-C is a limit too. A second or more counts from when the kernels are
            compiled; ``stats["compile_seconds"]`` says how long that took.
        seed : int
            Kept in the result; the search makes no random choice.
        on_progress : callable, optional
            Called about twice a second, and whenever a bound or a schedule gets better.
        upper : Schedule, optional
            A schedule to beat.
        lower : int
            A lower bound that the caller vouches for, in words of I/O.

        Returns
        -------
        Result
            Its schedule refereed; OPTIMAL only when proved, INFEASIBLE only when M is below the least M.

        Raises
        ------
        UnsupportedInstanceError
            The graph is too large.

        Notes
        -----
        Exponential in |V| in the worst case. A pass keeps every state whose cost, with what it certainly
        still has to pay, is at most a threshold; without a goal among them the threshold is proved to be too
        low. See docs/exact.md.

        Examples
        --------
        >>> from pebble.cdag import CDAG
        >>> r = SEARCH(Instance(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), M=3))
        >>> r.status, r.io
        (<Status.OPTIMAL: 'optimal'>, 3)
        """
        from pebble.errors import UnsupportedInstanceError

        if not instance.feasible:
            return Result(
                Status.INFEASIBLE, None, None, 0, None, _NAME, f"the least M is {instance.least_M}", seed=seed
            )
        reason = self.supports(instance)
        if reason is not None:
            raise UnsupportedInstanceError(reason)
        problem = _problem_of(instance)
        compiling = 0.0
        if instance.is_plain and (limit is None or limit.time is None or limit.time >= _COMPILE_FROM):
            compiling = compile_kernels(instance)
        budget = Budget(limit)
        first = _plain_schedule(problem, seed)
        standing = _Standing(
            instance,
            problem,
            budget,
            seed,
            on_progress,
            schedule=first,
            io=verify(first).io,
            lower=problem.compulsory,
            lower_by="compulsory I/O",
            producer=_NAME,
        )
        try:
            if upper is not None:
                standing.improve(upper)
            standing.raise_lower(lower, "bound given")
            self._work(standing)
        except KeyboardInterrupt:
            budget.hit = "interrupted"
        return self._result(standing, compiling)

    def _work(self, standing: _Standing) -> None:
        problem, budget = standing.problem, standing.budget
        if standing.closed or budget.exhausted():
            return
        if isinstance(problem, VariantProblem):
            self._prove(standing, VariantSearch(problem))
            return
        one_shot = OneShotSearch(problem)
        rules = standing.instance.rules
        for width in _FIRST_BEAMS:
            # Time that goes into the first schedule is missing for its proof.
            budget.share(_BEAM_SHARE)
            # A beam that sees every state has proved the one-shot optimum.
            outcome = self._beam(standing, one_shot, width)
            budget.share(None)
            if budget.hit == "time" and budget.remaining > 0:
                budget.hit = None
                break
            if standing.closed or budget.exhausted():
                return
            if outcome.complete and not rules.recomputation:
                standing.raise_lower(standing.io, _NAME)
                return
            if outcome.complete:
                break
        searches: _Passes = HongKungSearch(problem) if rules.recomputation else one_shot
        self._prove(standing, searches)
        if not standing.closed and budget.hit == "memory":
            self._widen(standing, one_shot)
            budget.hit = "memory"

    def _beam(self, standing: _Standing, search: OneShotSearch, width: int) -> Outcome:
        outcome = search.run(standing.io - 1, standing.budget, beam=width, on_slice=standing.on_slice)
        if outcome.cost is not None:
            standing.improve(_schedule(standing, outcome))
        return outcome

    def _widen(self, standing: _Standing, search: OneShotSearch) -> None:
        """Wider and wider beams for what is left of the time."""
        width = 4 * _FIRST_BEAMS[-1]
        standing.budget.hit = None
        while not standing.closed and not standing.budget.exhausted():
            outcome = self._beam(standing, search, width)
            if standing.budget.hit is not None or outcome.complete:
                return
            width *= 4

    def _prove(self, standing: _Standing, search: _Passes) -> None:
        """Passes with higher and higher thresholds until the bound meets the best schedule."""
        budget = standing.budget
        ceiling = standing.io
        sizes: list[tuple[int, int]] = []
        sharp = standing.problem.n >= _SHARPEN_VERTICES
        if sharp:
            _sharpen(search, standing)
        blocks = self._takes_blocks(standing)
        if blocks and standing.problem.n >= _BLOCKS_FIRST:
            blocks = False
            self._search_blocks(standing)
        unit = standing.problem.cost_unit
        standing.raise_lower(-(-standing.lower // unit) * unit, standing.lower_by)
        threshold = standing.lower
        while not standing.closed and not budget.exhausted():
            threshold = max(standing.lower, min(threshold, ceiling - 1, standing.io - 1))
            started = budget.seconds
            # A threshold that is more than the next one up may turn out too far.
            budget.share(_PASS_SHARE if blocks or threshold > standing.lower else None)
            outcome = search.run(threshold, budget, on_slice=standing.on_slice)
            budget.share(None)
            standing.passes.append(
                {
                    "threshold": threshold,
                    "states": outcome.states,
                    "seconds": round(budget.seconds - started, 3),
                    "complete": outcome.complete,
                }
            )
            if blocks and (not outcome.complete or standing.expanded > _BLOCKS_FROM) and outcome.cost is None:
                blocks = False
                if outcome.complete:
                    standing.raise_lower((threshold // unit + 1) * unit, _NAME)
                if budget.hit == "nodes" or budget.remaining <= 0:
                    return
                budget.hit = None
                self._search_blocks(standing)
                sizes.clear()
                threshold = standing.lower
                continue
            if not outcome.complete:
                if budget.hit in ("memory", "time") and threshold > standing.lower and budget.remaining > 0:
                    # Too many states below this threshold: a lower one still proves something.
                    ceiling = threshold
                    threshold = (standing.lower + threshold - 1) // 2
                    budget.hit = None
                    continue
                return
            if outcome.cost is not None:
                standing.improve(_schedule(standing, outcome))
                standing.raise_lower(outcome.cost, _NAME)
                return
            standing.raise_lower((threshold // unit + 1) * unit, _NAME)
            sizes.append((threshold // unit, outcome.states + 1))
            threshold += unit * _stride(sizes)
            if not sharp and outcome.states > _SHARPEN_FROM:
                # Worth its second only where the passes are long.
                _sharpen(search, standing)
                sharp = True

    def _takes_blocks(self, standing: _Standing) -> bool:
        budget = standing.budget
        return (
            standing.instance.is_plain
            and standing.problem.n >= _BLOCKS_VERTICES
            and (budget.nodes is None or budget.nodes - budget.spent > _BLOCKS_FROM)
        )

    def _search_blocks(self, standing: _Standing) -> None:
        """What relaxed games on disjoint blocks of the graph cost together."""
        budget = standing.budget
        nodes = _BLOCKS_STATES if budget.nodes is None else (budget.nodes - budget.spent) // 2
        seconds = min(_BLOCKS_SECONDS, _BLOCKS_SHARE * budget.remaining)
        part = Budget(Limit(time=seconds, nodes=max(1, nodes), memory_mb=budget.memory / 1e6))
        value, largest = sum_over_blocks(standing.problem, part)
        budget.spend(part.spent)
        standing.on_slice(part.spent)
        standing.raise_lower(value, f"{_NAME}, blocks of up to {largest} vertices")

    def _result(self, standing: _Standing, compiling: float) -> Result:
        lower = standing.lower
        optimal = lower == standing.io
        budget = standing.budget
        rules = standing.instance.rules
        why = (
            f"no schedule costs less than {lower}"
            if optimal
            else f"stopped by the limit on {budget.hit}: schedules below {lower} are ruled out"
            if budget.hit != "interrupted"
            else f"interrupted: schedules below {lower} are ruled out"
        )
        return Result(
            status=Status.OPTIMAL if optimal else Status.FEASIBLE,
            schedule=standing.schedule,
            io=standing.io,
            lower_bound=lower,
            bound=Bound(lower, standing.lower_by, f"this graph and M, rules {rules}", _SOURCE),
            method=_NAME,
            why=why,
            limit_hit=None if optimal else budget.hit,
            stats={
                "states": standing.expanded,
                "seconds": round(budget.seconds, 3),
                "passes": standing.passes,
                "schedule_by": standing.producer,
                "compile_seconds": round(compiling, 3),
            },
            seed=standing.seed,
        )


def _stride(sizes: list[tuple[int, int]]) -> int:
    """How far to raise the threshold so that the next pass has about `_GROWTH` times the states.

    While passes are trivial the stride doubles.
    """
    if len(sizes) < 2:
        return 1
    (low, few), (high, many) = sizes[-2:]
    if many < _TRIVIAL_PASS:
        return 2 * (high - low)
    rate = math.log(many / few) / (high - low)
    return max(1, min(2 * (high - low), int(math.log(_GROWTH) / max(rate, _SLOWEST))))


def _problem_of(instance: Instance) -> Problem:
    return Problem.of(instance) if instance.is_plain else VariantProblem.of(instance)


def _sharpen(search: _Passes, standing: _Standing) -> None:
    """Give a search that can use it the bound by segments."""
    if isinstance(search, HongKungSearch | OneShotSearch):
        seconds = min(3.0, 0.1 * standing.budget.remaining)
        search.segments = segments_of(standing.problem, seconds=seconds)


def _schedule(standing: _Standing, outcome: Outcome) -> Schedule:
    if isinstance(standing.problem, VariantProblem):
        return schedule_of_steps(standing.problem, outcome.steps, _NAME, standing.seed)
    return schedule_of(standing.problem, outcome.steps, _NAME, standing.seed)


def _plain_schedule(problem: Problem, seed: int) -> Schedule:
    """Load every operand, compute, store, delete: dear, but there at once."""
    if isinstance(problem, VariantProblem):
        return plain_schedule(problem, _NAME, seed)
    steps = [
        Step(0, 0, v, bool(problem.is_output[v] or problem.succs[v]), 0)
        for v in range(problem.n)
        if not problem.is_source[v]
    ]
    return schedule_of(problem, steps, _NAME, seed)


SEARCH = Search()
