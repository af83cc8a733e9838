"""One run, in whatever process it lands: the record that comes out of it, whatever happens."""

from __future__ import annotations

import os
import socket
import time
import traceback
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from experiments.grid import BEST, Run
from pebble.errors import (
    IllegalMoveError,
    IncompleteScheduleError,
    InfeasibleInstanceError,
    UnsupportedInstanceError,
)

if TYPE_CHECKING:
    from graphs.spec import GraphSpec
    from pebble.cdag import CDAG
    from pebble.result import Bound, Cost

__all__ = ["Record", "describe", "failure", "perform"]

# One line of a sweep file.
Record = dict[str, Any]


def perform(run: Run) -> Record:
    """Do one run; what goes wrong is in the record, never raised.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        The run's fields; ``status`` (optimal, feasible, bound, formula for one that is no certificate,
        infeasible, not-applicable, unknown, illegal or failed); the figures, in words of I/O, None
        where there are none; ``error`` where there is one.

    Examples
    --------
    >>> record = perform(Run("pyramid:3", 4, "hong-kung", "play", "belady"))
    >>> record["status"], record["io"], record["verified"]
    ('feasible', 7, True)
    """
    record = describe(run)
    start = time.perf_counter()
    try:
        record |= _KINDS[run.kind](run)
    except InfeasibleInstanceError as error:
        record |= {"status": "infeasible", "error": str(error)}
    except UnsupportedInstanceError as error:
        record |= {"status": "not-applicable", "error": str(error)}
    except (IllegalMoveError, IncompleteScheduleError) as error:
        record |= {"status": "illegal", "error": str(error)}
    except Exception as error:  # noqa: BLE001 - recorded: one bad run must not end a sweep of thousands
        place = "".join(traceback.format_exception(error))[-4000:]
        record |= {"status": "failed", "error": f"{type(error).__name__}: {error}", "traceback": place}
    record["seconds"] = round(time.perf_counter() - start, 6)
    return record


def describe(run: Run) -> Record:
    """The record of a run that has not been done: its fields, and no figures."""
    from pebble import __version__

    spec = _spec(run.graph)
    params = {} if spec is None else spec.params
    return {
        "key": run.key,
        "graph": run.graph,
        "params": {key: value for key, value in params.items() if isinstance(value, int | float | str)},
        "M": run.M,
        "rules": run.rules,
        "kind": run.kind,
        "player": run.player,
        "seed": run.seed,
        "time_limit": run.limit.time,
        "status": None,
        "io": None,
        "loads": None,
        "stores": None,
        "computes": None,
        "recomputes": None,
        "peak_red": None,
        "verified": False,
        "lower_bound": None,
        "bound": None,
        "formula": None,
        "options": {},
        "error": None,
        "seconds": None,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "worker": f"{socket.gethostname()}:{os.getpid()}",
        "version": __version__,
    }


def failure(run: Run, error: str) -> Record:
    """The record of a run that never came back."""
    return describe(run) | {"status": "failed", "error": error, "worker": None}


def _play(run: Run) -> Record:
    from pebble.instance import Instance
    from pebble.referee import verify
    from strategies.playing import parse_strategy, play

    instance = Instance(_graph(run.graph), run.M, run.rules)
    schedule = play(run.player, instance, limit=run.limit, seed=run.seed)
    cost = verify(schedule)
    options = parse_strategy(run.player)[1] | dict(schedule.info)
    return _figures(cost) | {"status": "feasible", "verified": True, "options": options}


def _count(run: Run) -> Record:
    from strategies.playing import count_detail, parse_strategy

    cost, options = count_detail(run.player, run.graph, run.M)
    chosen = parse_strategy(run.player)[1] | dict(options)
    return _figures(cost) | {"status": "feasible", "options": chosen}


def _solve(run: Run) -> Record:
    import solvers
    from pebble.instance import Instance
    from pebble.referee import verify

    instance = Instance(_graph(run.graph), run.M, run.rules)
    result = solvers.solve(instance, method=run.player, limit=run.limit, seed=run.seed)
    figures = {} if result.schedule is None else _figures(verify(result.schedule)) | {"verified": True}
    return figures | {
        "status": result.status.value,
        "lower_bound": result.lower_bound,
        "bound": None if result.bound is None else result.bound.name,
        "limit_hit": result.limit_hit,
        "method": result.method,
    }


def _bound(run: Run) -> Record:
    import solvers
    from pebble.instance import Instance

    spec = _spec(run.graph)
    target = Instance(_graph(run.graph), run.M, run.rules) if spec is None else spec
    names = None if run.player == BEST else [run.player]
    found: list[Bound] = solvers.bounds(target, run.M, run.rules, names=names, limit=run.limit)
    if not found:
        raise UnsupportedInstanceError(
            f"bound '{run.player}' does not apply to {run.graph} under {run.rules}"
        )
    if not found[0].certificate:
        return {"status": "formula", "formula": found[0].value, "bound": found[0].name}
    return {"status": "bound", "lower_bound": found[0].value, "bound": found[0].name}


_KINDS = {"play": _play, "count": _count, "solve": _solve, "bound": _bound}


def _figures(cost: Cost) -> Record:
    return dict(cost.to_dict())


def _spec(graph: str) -> GraphSpec | None:
    """The graph's spec; None if it is a file."""
    from graphs.catalog import REGISTRY, parse

    return parse(graph) if graph.partition(":")[0] in REGISTRY else None


@lru_cache(maxsize=1)
def _graph(graph: str) -> CDAG:
    """The graph; the last one is kept, as the runs of one graph come together."""
    from graphs.catalog import build
    from pebble.formats import read_graph

    spec = _spec(graph)
    return read_graph(graph) if spec is None else build(spec)
