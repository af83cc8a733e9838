"""The solver ``ilp``: the integer program solved by CP-SAT, or by HiGHS or SCIP through MathOpt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Bound, Limit, Result
from pebble.schedule import Schedule
from solvers.ilp.extraction import schedule_of
from solvers.ilp.formulation import Formulation, build
from solvers.ilp.hinting import solution_of
from solvers.ilp.mathopt import MILP_BACKENDS
from solvers.ilp.roles import Roles, Size, estimate
from solvers.progress import OnProgress
from solvers.standing import Clock, Standing, infeasible

__all__ = ["ILP", "IntegerProgram", "export_model"]

_CP_SAT = "cp-sat"
_DEFAULT_MEMORY_MB = 4096.0
# Conflicts that CP-SAT may spend on a question before the other one is asked, and their growth by round.
_FIRST_SLICE = 20_000
_SLICE_GROWTH = 4
# Costs up to this are exact in the floating point of the mixed-integer solvers, tolerances included.
_DEAREST = 10**9


@dataclass
class _Run:
    """What one solve has at hand."""

    standing: Standing
    clock: Clock
    limit: Limit
    seed: int
    hit: str | None = None
    work: int = 0
    scope: int = 0  # computes per vertex up to which the best schedule is proved to be one

    @property
    def done(self) -> bool:
        """Whether to stop: the gap is closed or small enough, or a limit has been reached."""
        if self.standing.good_enough(self.limit.gap):
            self.hit = None if self.standing.closed else "gap"
        elif self.clock.over:
            self.hit = "time"
        elif self.limit.nodes is not None and self.work >= self.limit.nodes:
            self.hit = "nodes"
        else:
            return False
        return True

    def spend(self, work: int) -> None:
        """Count conflicts or nodes."""
        self.work += work
        self.standing.states = self.work


class IntegerProgram:
    """The solver object.

    It plays every rule set. Without recomputation optima are proved by the program itself. With it the
    program holds the schedules that compute no vertex more than `copies` times, so it proves nothing about
    the others: a result is then optimal only if its cost meets a bound certified elsewhere (`solvers.bounds`,
    the search).

    Parameters
    ----------
    backend : str
        ``cp-sat``, ``highs`` or ``scip``.
    copies : int
        Computes that a vertex may have where recomputation is allowed.
    workers : int
        Threads of CP-SAT.
    """

    name = "ilp"

    def __init__(self, backend: str = _CP_SAT, copies: int = 2, workers: int = 1) -> None:
        self.backend = backend
        self.copies = copies
        self.workers = workers

    def supports(self, instance: Instance) -> str | None:
        """None if the program fits in memory, else its size."""
        try:
            self.require_size(instance, None)
        except UnsupportedInstanceError as error:
            return str(error)
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
        backend: str | None = None,
        copies: int | None = None,
        workers: int | None = None,
    ) -> Result:
        """Solve an instance.

        Parameters
        ----------
        instance : Instance
        limit : Limit, optional
            ``nodes`` counts CP-SAT's conflicts or the nodes of a mixed-integer solver; ``memory_mb`` bounds
            the program's estimated size.
        seed : int
        on_progress : callable, optional
        upper : Schedule, optional
            A schedule to improve on; Belady's by default.
        lower : Bound or int
            A bound that is certified already; `solvers.bounds` is asked by default.
        backend, copies, workers : optional
            As for the class.

        Raises
        ------
        UnsupportedInstanceError
            The program is too large for the memory allowed: its estimated size is given; or costs are; or an
            option is none.
        """
        refused = infeasible(instance, self.name, seed)
        if refused is not None:
            return refused
        limit = limit or Limit()
        self.check_options(backend, copies, workers)
        backend = backend or self.backend
        copies, workers = copies or self.copies, workers or self.workers
        one_shot = not instance.rules.recomputation
        most = 1 if one_shot else copies
        size = self.require_size(instance, limit, most)
        run = _Run(Standing(instance, self.name, on_progress), Clock(limit), limit, seed)
        stats: dict[str, Any] = {"backend": backend, "computes": size.computes}
        try:
            self._start(run, upper, lower)
            self._work(run, backend, most, workers, stats)
        except KeyboardInterrupt:
            if run.standing.io is None:
                raise
            run.hit = "interrupted"
        stats |= {"states": run.work, "seconds": round(run.clock.seconds, 3)}
        return self._result(run, run.scope, one_shot, stats)

    def _work(self, run: _Run, backend: str, most: int, workers: int, stats: dict[str, Any]) -> None:
        """The programs of one compute per vertex, then of `most`; then a certificate, if it takes one."""
        instance = run.standing.instance
        # Few computes first: the one-shot optimum is a schedule for the game with recomputation too.
        for times in sorted({1, most}):
            if run.done:
                return
            formulation = build(instance, times)
            stats["variables"] = formulation.model.num_variables
            stats["constraints"] = formulation.model.num_constraints
            if backend == _CP_SAT:
                settled = self._ask(run, formulation, workers)
            else:
                settled = self._minimise(run, formulation, backend)
            if not settled:
                return
            run.scope = times
        if instance.rules.recomputation and not run.standing.closed:
            self._certify(run)

    @staticmethod
    def check_options(
        backend: str | None = None, copies: int | None = None, workers: int | None = None
    ) -> None:
        """Raise UnsupportedInstanceError unless the options are a known backend and numbers from 1 up."""
        if backend is not None and backend not in (_CP_SAT, *MILP_BACKENDS):
            known = ", ".join([_CP_SAT, *MILP_BACKENDS])
            raise UnsupportedInstanceError(f"no backend '{backend}' of solver 'ilp' (known: {known})")
        for name, value in (("copies", copies), ("workers", workers)):
            if value is not None and (type(value) is not int or value < 1):
                raise UnsupportedInstanceError(f"solver 'ilp': {name}={value} is no whole number from 1 up")

    def require_size(self, instance: Instance, limit: Limit | None, copies: int | None = None) -> Size:
        """The size of the instance's program.

        UnsupportedInstanceError if that is beyond the memory limit, or costs are beyond exact arithmetic.
        """
        times = (copies or self.copies) if instance.rules.recomputation else 1
        memory = (limit.memory_mb if limit is not None else None) or _DEFAULT_MEMORY_MB
        size = estimate(instance, times)
        if size.megabytes > memory:
            raise UnsupportedInstanceError(
                f"the integer program of {instance.cdag.name} is too large for {memory:,.0f} MB: {size}; "
                "raise the memory limit or take the search"
            )
        _require_costs(instance)
        return size

    def _start(self, run: _Run, upper: Schedule | None, lower: Bound | int) -> None:
        from strategies.playing import play

        standing = run.standing
        standing.offer(upper if upper is not None else play("belady", standing.instance, seed=run.seed))
        if isinstance(lower, Bound):
            standing.raise_bound(lower)
        elif lower:
            standing.raise_bound(
                Bound(lower, "given", f"rules {standing.instance.rules}", "given by the caller")
            )
        else:
            from solvers.bounding import best_bound

            standing.raise_bound(best_bound(standing.instance))

    def _ask(self, run: _Run, f: Formulation, workers: int) -> bool:
        """Ask CP-SAT until no cheaper solution exists; whether that, or a closed gap, was reached.

        Two questions in turn, with more and more conflicts: is there a schedule cheaper than the best, and
        is there one as cheap as the bound? Under one-shot a no to the second raises the bound.
        """
        from solvers.ilp.cpsat import Answer, CpSat

        standing = run.standing
        solver = CpSat(f.model, workers=workers, seed=run.seed)
        # Below this nothing exists among the program's own schedules; a bound only under one-shot.
        floor = standing.lower_bound
        conflicts = _FIRST_SLICE
        while not run.done:
            assert standing.io is not None
            if floor >= standing.io:
                break
            for most in dict.fromkeys((standing.io - 1, floor)):
                if run.done or not floor <= most < standing.io:
                    continue
                reply = solver.ask(most, seconds=run.clock.left, conflicts=_least(conflicts, run))
                run.spend(reply.conflicts)
                if reply.answer is Answer.YES:
                    assert reply.values is not None
                    self._improve(run, schedule_of(f, reply.values, run.seed))
                elif reply.answer is Answer.NO:
                    floor = most + 1
                    self._prove(run, floor)
                standing.report()
            conflicts *= _SLICE_GROWTH
        assert standing.io is not None
        return standing.closed or floor >= standing.io

    def _minimise(self, run: _Run, f: Formulation, backend: str) -> bool:
        """One run of a mixed-integer solver; whether the program's optimum is proved."""
        from solvers.ilp.mathopt import minimise

        standing = run.standing
        assert standing.schedule is not None
        assert standing.io is not None
        nodes = None if run.limit.nodes is None else run.limit.nodes - run.work
        reply = minimise(
            f.model, backend, cutoff=standing.io, least=standing.lower_bound,
            hint=solution_of(f, standing.schedule), seconds=run.clock.left, nodes=nodes, seed=run.seed,
        )  # fmt: skip
        run.spend(reply.nodes)
        if reply.values is not None:
            self._improve(run, schedule_of(f, reply.values, run.seed))
        # Where no solution is as cheap as the incumbent, the incumbent lies outside the program.
        floor = standing.io if reply.infeasible else max(reply.bound or 0, standing.lower_bound)
        self._prove(run, min(floor, standing.io))
        if floor < standing.io:
            run.hit = "time" if run.clock.over else "nodes"
        return floor >= standing.io

    def _improve(self, run: _Run, schedule: Schedule) -> None:
        """Keep a solution's schedule, and what Belady's rule makes of its order."""
        from strategies.replaying import replay

        standing = run.standing
        standing.offer(schedule)
        standing.offer(replay(standing.instance, schedule.order(), seed=run.seed), self.name)

    def _prove(self, run: _Run, floor: int) -> None:
        instance = run.standing.instance
        if not instance.rules.recomputation:
            red = f", {len(instance.red_at_start)} vertices red at the start" if instance.red_at_start else ""
            assumes = f"this graph and M, rules {instance.rules}{red}"
            source = "integer program over orders and kept values (docs/solvers.md)"
            run.standing.raise_bound(Bound(floor, "ilp", assumes, source))

    def _certify(self, run: _Run) -> None:
        """Ask the search for a bound that the program cannot give."""
        from solvers.search import SEARCH

        if run.done or SEARCH.supports(run.standing.instance) is not None:
            return
        standing = run.standing
        limit = Limit(run.clock.left, run.limit.nodes, run.limit.memory_mb, run.limit.gap)
        found = SEARCH(
            standing.instance,
            limit=limit,
            seed=run.seed,
            upper=standing.schedule,
            lower=standing.lower_bound,
        )
        if found.schedule is not None:
            standing.offer(found.schedule)
        standing.raise_bound(found.bound)
        if not standing.closed:
            run.hit = found.limit_hit

    def _result(self, run: _Run, scope: int, one_shot: bool, stats: dict[str, Any]) -> Result:
        standing = run.standing
        assert standing.io is not None
        if standing.closed:
            assert standing.bound is not None
            if standing.bound.name == self.name:
                why = f"no schedule of cost {standing.io - 1} or less solves the integer program"
            else:
                whose = f"of {standing.found_by}" if standing.found_by else "it was given"
                why = f"the schedule {whose} meets the bound {standing.bound.name}"
        elif scope and not one_shot:
            times = "more than once" if scope == 1 else f"more than {scope} times"
            apart = ", sources apart" if standing.instance.rules.free_sources else ""
            required = Roles(standing.instance, scope).num_required
            stats["optimal_among"] = (
                f"schedules that compute no vertex {times}, so all of at most {required + scope - 1} "
                f"computes{apart}"
            )
            why = f"optimal among {stats['optimal_among']}; not proved for longer ones"
        else:
            hit = run.hit or "nothing: the solver gave up"
            why = "interrupted" if hit == "interrupted" else f"stopped by the limit on {hit}"
        return standing.result(why=why, limit_hit=run.hit, stats=stats, seed=run.seed)


def _require_costs(instance: Instance) -> None:
    """Refuse costs whose sums the solvers could round."""
    g, rules = instance.cdag, instance.rules
    words = sum(g.weight(v) * (len(g.succs(v)) + 1) for v in range(g.num_vertices))
    dearest = (rules.load_cost + rules.store_cost) * words
    if dearest > _DEAREST:
        raise UnsupportedInstanceError(
            f"schedules of up to {dearest:,} I/Os are too dear for the integer program, which takes "
            f"{_DEAREST:,}: divide the costs or the weights, or take the search"
        )


def _least(conflicts: int, run: _Run) -> int:
    return conflicts if run.limit.nodes is None else max(1, min(conflicts, run.limit.nodes - run.work))


def export_model(instance: Instance, path: str | Path, copies: int | None = None) -> Size:
    """Write an instance's integer program, with its objective, and return its size.

    Parameters
    ----------
    instance : Instance
    path : path
        ``.mps`` or ``.lp`` for mixed-integer solvers, ``.pb`` or ``.pbtxt`` for CP-SAT.
    copies : int, optional
        Computes that a vertex may have where recomputation is allowed, 2 by default.

    Raises
    ------
    InfeasibleInstanceError
        No schedule exists: there is nothing to minimise.
    FormatError
        Another ending.
    UnsupportedInstanceError
        The program is too large.
    """
    from solvers.ilp.mathopt import export

    instance.require_feasible()
    size = ILP.require_size(instance, None, copies)
    times = (copies or ILP.copies) if instance.rules.recomputation else 1
    name = f"{instance.cdag.name} M={instance.M} {instance.rules}"
    export(build(instance, times).model, Path(path), name)
    return size


ILP = IntegerProgram()
