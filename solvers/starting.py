"""What is known before any exact method: the schedules of the strategies, the bounds."""

from __future__ import annotations

import dataclasses
from typing import Any

from pebble.instance import Instance
from pebble.result import Limit
from solvers.child_process import BOUNDS as BOUNDS_JOB
from solvers.children import run_children
from solvers.standing import Clock, Standing

__all__ = ["applicable", "offer_strategies", "raise_bounds"]

# Moves of the local search that `auto` ends with: the time is for the exact methods.
_MOVES = 4000
# Seconds for the bounds where memory is short: a library that finds none may never return.
_SHORT_OF_MEMORY_SECONDS = 30.0


def applicable(instance: Instance) -> list[str]:
    """Names of the strategies that play this graph and rule set with its M, Belady's first."""
    from strategies.catalog import REGISTRY

    names = [name for name in REGISTRY.names() if REGISTRY.info(name).available]
    names.sort(key=lambda name: name != "belady")
    found = []
    for name in names:
        strategy = REGISTRY.get(name)
        if strategy.supports(instance) is None and strategy.least_M(instance) <= instance.M:
            found.append(name)
    return found


def offer_strategies(standing: Standing, clock: Clock, seed: int) -> dict[str, int]:
    """Play every strategy that applies, the first in any case, others while there is time.

    Returns
    -------
    dict
        Each strategy's I/O in words, as refereed.
    """
    from pebble.referee import verify
    from strategies.playing import play

    costs: dict[str, int] = {}
    for name in applicable(standing.instance):
        if costs and clock.over:
            break
        schedule = play(name, standing.instance, limit=Limit(clock.left, _MOVES), seed=seed)
        costs[name] = verify(schedule).io
        standing.offer(schedule, name)
        if standing.closed:
            break
    return costs


def raise_bounds(standing: Standing, clock: Clock, limit: Limit, seed: int) -> list[dict[str, Any]]:
    """Every cheap lower bound: the compulsory I/O in any case, the others while there is time.

    Where the address space of this process is limited they are computed in a child: the libraries that some
    of them load may die, or hang, for want of memory.
    """
    from solvers.bounding import bounds
    from solvers.catalog import BOUNDS

    standing.raise_bound(BOUNDS.get("compulsory")(standing.instance))
    if standing.closed or clock.over:
        return []
    share = clock.share(0.3)
    if _memory_is_limited():
        most = _SHORT_OF_MEMORY_SECONDS if share is None else min(share, _SHORT_OF_MEMORY_SECONDS)
        run_children(standing, [BOUNDS_JOB], limit=Limit(time=most), seed=seed)
        return []
    found = bounds(standing.instance, limit=dataclasses.replace(limit, time=share))
    for bound in found:
        standing.raise_bound(bound)
    return [bound.to_dict() for bound in found]


def _memory_is_limited() -> bool:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
