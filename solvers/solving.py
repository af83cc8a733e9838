"""`solve` and `solve_range`: the least I/O of an instance, proved, or how far a limit let it be known."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Bound, Limit, Result
from pebble.rules import Rules
from pebble.schedule import Schedule
from solvers.auto import AUTO, prove_with
from solvers.catalog import SOLVERS
from solvers.progress import OnProgress
from solvers.standing import Clock, Standing, infeasible
from solvers.starting import raise_bounds

__all__ = ["parse_method", "solve", "solve_range"]

# Up to this many computed vertices a method is not worth a process of its own, unless memory is limited.
_TINY = 10


def solve(
    instance: Instance,
    *,
    method: str | Schedule | Callable[..., Result] = "auto",
    limit: Limit | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    upper: Schedule | None = None,
    lower: Bound | int = 0,
    **options: Any,
) -> Result:
    """The least I/O of an instance, proved, or the best schedule and bound within a limit.

    Parameters
    ----------
    instance : Instance
    method : str, solver or Schedule
        ``auto``, ``search``, ``ilp`` or another registered name; a solver object; or a schedule, which is
        then refereed and set against the bounds. A name may carry options: ``ilp:backend=highs``.
    limit : Limit, optional
        Time, nodes, memory and gap. `memory_mb` is enforced on the process in which the method runs.
    seed : int
    on_progress : callable, optional
        Called with a `solvers.progress.Progress` at every improvement and now and then.
    upper : Schedule, optional
        A schedule to improve on.
    lower : Bound or int
        A lower bound that the caller vouches for, in words.
    **options
        The method's own: ``backend=``, ``copies=``, ``workers=`` of ``ilp``; ``workers=`` of
        ``auto``.

    Returns
    -------
    Result
        OPTIMAL only when proved; INFEASIBLE exactly when M is below the graph's least M. Its schedule has
        been refereed. Ctrl-C returns what there is, ``limit_hit="interrupted"``.

    Raises
    ------
    UnknownNameError
        No such method.
    UnsupportedInstanceError
        The method does not take the instance (too large: the estimated size is given), or has no such option.
    IllegalMoveError, IncompleteScheduleError
        A schedule given as `method` or `upper` is none of this instance.

    Notes
    -----
    Exponential in the worst case: the problem is PSPACE-complete with recomputation (Demaine & Liu 2018)
    and NP-complete without (Papp & Wattenhofer 2020).

    Examples
    --------
    >>> r = solve(Instance(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), M=3))
    >>> r.status.value, r.io
    ('optimal', 3)
    """
    limit = limit or Limit()
    if isinstance(method, Schedule):
        return _referee(instance, method, limit, seed, on_progress)
    if not isinstance(method, str):
        return method(
            instance, limit=limit, seed=seed, on_progress=on_progress, upper=upper, lower=lower, **options
        )
    method, given = parse_method(method)
    options = given | options
    entry = SOLVERS.info(method)
    solver = SOLVERS.get(method)
    _check_options(entry.name, solver, options)
    refused = infeasible(instance, entry.name, seed)
    if refused is not None:
        return refused
    known: dict[str, Any] = {
        "limit": limit,
        "seed": seed,
        "on_progress": on_progress,
        "upper": upper,
        "lower": lower,
    }
    if entry.name == AUTO.name:
        return solver(instance, **known, **options)
    supports = getattr(solver, "supports", None)
    reason = None if supports is None or limit.memory_mb is not None else supports(instance)
    if reason is not None:
        raise UnsupportedInstanceError(reason)
    if not isinstance(entry.target, str) or (_is_tiny(instance) and limit.memory_mb is None):
        return solver(instance, **(known | {"lower": _value(lower)}), **options)
    return prove_with(entry.name, instance, options, **known)


def parse_method(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the options of a method such as ``ilp:backend=highs``; whole numbers become ints.

    Raises
    ------
    UnknownNameError
        No such method.
    UnsupportedInstanceError
        A part without ``=``, an option that the method does not have, or a value that it does not take.

    Examples
    --------
    >>> parse_method("ilp:backend=highs:copies=3")
    ('ilp', {'backend': 'highs', 'copies': 3})
    """
    name, *parts = text.split(":")
    entry = SOLVERS.info(name)
    options: dict[str, Any] = {}
    for part in parts:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise UnsupportedInstanceError(f"'{part}' in method '{text}' is no option=value")
        options[key.replace("-", "_")] = int(value) if value.isdigit() else value
    if options:
        _check_options(entry.name, SOLVERS.get(entry.name), options)
    return entry.name, options


def solve_range(
    cdag: CDAG,
    Ms: Iterable[int],
    rules: Rules | str = "hong-kung",
    *,
    method: str = "auto",
    limit: Limit | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Iterator[Result]:
    """Solve one graph for several M, each with what the others have proved.

    The optimum never rises with M: a schedule for a smaller M plays for every larger one, and a bound for a
    larger M holds for every smaller one. The largest M, the easiest as a rule, is solved first.

    Parameters
    ----------
    cdag : CDAG
    Ms : iterable of int
    rules, method, seed, on_progress, **options
        As for `solve`.
    limit : Limit, optional
        For each M.

    Yields
    ------
    Result
        In the order of `Ms`, once all are done; after Ctrl-C with what was known by then.

    Examples
    --------
    >>> g = CDAG.from_edges(5, [(0, 3), (1, 3), (1, 4), (2, 4)])
    >>> [r.io for r in solve_range(g, [2, 3, 4])]
    [None, 5, 5]
    """
    wanted = list(Ms)
    found: dict[int, Result] = {}
    interrupted = False
    bound: Bound | int = 0
    for M in sorted(set(wanted), reverse=True):
        instance = Instance(cdag, M, rules)
        each = Limit(time=0.0) if interrupted else limit
        result = solve(
            instance,
            method="auto" if interrupted else method,
            limit=each,
            seed=seed,
            on_progress=on_progress,
            lower=bound,
            **({} if interrupted else options),
        )
        if interrupted and result.limit_hit:
            result = dataclasses.replace(result, limit_hit="interrupted")
        interrupted = interrupted or result.limit_hit == "interrupted"
        found[M] = result
        if result.bound is not None and result.lower_bound > _value(bound):
            bound = _from_larger(result.bound, M)
    best: Result | None = None
    for M in sorted(found):
        found[M] = _with_smaller(found[M], best, Instance(cdag, M, rules))
        if found[M].io is not None:
            best = found[M]
    yield from (found[M] for M in wanted)


def _from_larger(bound: Bound, M: int) -> Bound:
    return dataclasses.replace(
        bound, details={**bound.details, "proved_for_M": bound.details.get("proved_for_M", M)}
    )


def _with_smaller(result: Result, smaller: Result | None, instance: Instance) -> Result:
    """The result, with the schedule of a smaller M where that is cheaper."""
    if smaller is None or smaller.schedule is None or smaller.io is None or result.io is None:
        return result
    if smaller.io >= result.io:
        return result
    standing = Standing(instance, result.method)
    standing.raise_bound(result.bound)
    standing.offer(smaller.schedule, smaller.method)
    return standing.result(
        method=result.method,
        why=f"the schedule for M={smaller.schedule.instance.M} plays here too",
        limit_hit=result.limit_hit,
        stats=result.stats,
        seed=result.seed,
    )


def _referee(
    instance: Instance, schedule: Schedule, limit: Limit, seed: int, on_progress: OnProgress | None
) -> Result:
    standing = Standing(instance, "schedule given", on_progress)
    standing.offer(schedule)
    raise_bounds(standing, Clock(limit), limit, seed)
    return standing.result(why="the schedule was refereed, not solved", seed=seed)


def _is_tiny(instance: Instance) -> bool:
    return instance.cdag.num_vertices - len(instance.cdag.sources) <= _TINY


def _value(lower: Bound | int) -> int:
    return lower if isinstance(lower, int) else lower.value


def _check_options(name: str, solver: Any, options: dict[str, Any]) -> None:
    call = solver.__call__ if not inspect.isfunction(solver) else solver
    parameters = inspect.signature(call).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    shared = {"instance", "limit", "seed", "on_progress", "upper", "lower"}
    for key in options:
        if key not in parameters or key in shared:
            known = ", ".join(p for p in parameters if p not in shared) or "none"
            raise UnsupportedInstanceError(f"solver '{name}' has no option '{key}' (options: {known})")
    check = getattr(solver, "check_options", None)
    if check is not None:
        check(**options)
