"""Polish: the order of a schedule's computes, with its recomputation, evicted anew."""

from __future__ import annotations

from dataclasses import replace

from pebble.referee import verify
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.replaying import replay

__all__ = ["polish"]


def polish(schedule: Schedule, limit: Limit | None = None) -> Schedule:
    """The same computes in the same order, with evictions by next use: never worse than `schedule`.

    A tile program frees a tile as a whole, and keeps room free that its peak needs only now and then; replay
    keeps every word as long as it is worth it, and leaves out computes of what is still there.

    Parameters
    ----------
    schedule : Schedule
        A legal one.
    limit : Limit, optional
        With ``time=0`` nothing is tried; replay itself is one pass and heeds no limit.

    Returns
    -------
    Schedule
        `schedule` itself if replay did not make it cheaper. The claim is the exact I/O cost.

    Raises
    ------
    IllegalMoveError, IncompleteScheduleError
        `schedule` is not legal.

    Examples
    --------
    >>> import graphs, strategies
    >>> from pebble.instance import Instance
    >>> instance = Instance(graphs.build("attention-backward:n=6,d=2"), M=20)
    >>> schedule = strategies.play("flash-attention", instance)
    >>> schedule.claim, polish(schedule).claim
    (396, 340)
    """
    io = verify(schedule).io
    if limit is not None and limit.time is not None and limit.time <= 0:
        return replace(schedule, claim=io)
    polished = replay(schedule.instance, schedule.order(), seed=schedule.seed or 0)
    assert polished.claim is not None
    if polished.claim >= io:
        return replace(schedule, claim=io)
    producer = f"{schedule.producer} polished"
    return replace(polished, producer=producer, seed=schedule.seed, info=schedule.info)
