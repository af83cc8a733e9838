"""`improve`: exact search takes up a schedule, whole if it is tiny, else window after window.

Under rules that are not plain local search over the order takes the windows' place.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays
from pebble.referee import verify
from pebble.result import Limit, Result
from pebble.schedule import Schedule
from solvers.progress import OnProgress, Progress
from solvers.search.problem import MAX_VERTICES, Problem
from solvers.search.solver import SEARCH
from strategies.local_search import search_order
from strategies.replaying import plan_io, prepare, replay

__all__ = ["STATES_ALL", "improve"]

# States that the search may expand where no limit is given: on a whole graph, and on one window.
_STATES_WHOLE = 2_000_000
_STATES_WINDOW = 20_000
_MEMORY_MB = 1024.0
# Where no limit is given, windows of at most so many states in all are solved.
STATES_ALL = 2_000_000
# Graphs of up to so many vertices that are not isolated are searched as a whole first.
_WHOLE = 40
# Computes per window; larger ones are seldom solved within their states.
_WIDTHS = (8, 12, 16)
# Moves of the local search under rules that are not plain, where no limit is given.
_MOVES_ALL = 20_000
# Seconds between reports while nothing is gained.
_REPORT_EVERY = 0.5


def improve(
    schedule: Schedule,
    limit: Limit | None = None,
    *,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Schedule:
    """A schedule that costs no more, found by exact search, or `schedule` itself.

    Parameters
    ----------
    schedule : Schedule
        A legal schedule; the referee is asked first.
    limit : Limit, optional
        `time` in seconds, `nodes` in states expanded in all (2 million if neither is given; with `nodes`
        alone the result is reproducible), `memory_mb` of the search's tables, 1024 by default. `gap` plays a
        part only where the whole graph is searched. Ctrl-C is a limit too: what was found is returned.
    seed : int
    on_progress : callable, optional
        Called about twice a second, and whenever the schedule gets better.

    Returns
    -------
    Schedule
        Its claim is the referee's I/O cost. ``info["improved"]`` tells the I/O before and after, the windows
        solved, the states expanded and whether Ctrl-C ended it; ``info["optimal"]`` whether it is proved
        optimal.

    Raises
    ------
    IllegalMoveError, IncompleteScheduleError
        The schedule is not legal.

    Notes
    -----
    On up to 40 vertices the whole graph is searched, which proves optimality if it ends. Otherwise windows
    of 8, 12 and 16 consecutive computes become instances of their own: operands from outside are sources,
    what is needed later is an output, and M is less by what is red throughout and plays no part. The order
    of an optimal schedule, with its recomputation, takes the window's place, and is kept if the replay of
    the whole costs less. Under rules that are not plain, or with vertices red at the start, the order is
    annealed instead (`strategies.local_search`); states are then moves tried.

    Examples
    --------
    >>> import graphs, strategies
    >>> given = strategies.play("belady:order=natural", Instance(graphs.build("pyramid:4"), 4))
    >>> best = improve(given)
    >>> given.claim, best.claim, best.info["optimal"]
    (12, 10, True)
    """
    before = verify(schedule).io
    small = Problem.of(schedule.instance).n <= _WHOLE
    run = _Run(schedule.instance, limit or Limit(), seed, on_progress, replace(schedule, claim=before))
    optimal = False
    try:
        if small:
            optimal = run.whole()
        if not optimal and schedule.instance.is_plain:
            run.windows()
        elif not optimal:
            run.anneal()
    except KeyboardInterrupt:
        run.interrupted = True
    best = run.best
    after = verify(best).io
    if after == before:
        best = replace(schedule, claim=before)
    else:
        best = replace(best, producer=f"{schedule.producer} improved", seed=seed)
    counts = {
        "io": (before, after),
        "windows": run.solved,
        "states": run.states,
        "interrupted": run.interrupted,
    }
    return replace(best, claim=after, info={**schedule.info, "improved": counts, "optimal": optimal})


@dataclass
class _Run:
    """The best schedule so far, what is left of the limits, and what was done."""

    instance: Instance
    limit: Limit
    seed: int
    on_progress: OnProgress | None
    best: Schedule
    states: int = 0
    solved: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.start = self.reported = time.monotonic()

    def offer(self, schedule: Schedule) -> None:
        """Keep `schedule` if it is better, and tell."""
        if _claim(schedule) < _claim(self.best):
            self.best = schedule
            self.report(schedule)

    def report(self, schedule: Schedule | None = None) -> None:
        """Tell how things stand, unless nothing is new and the last report is recent."""
        now = time.monotonic()
        if self.on_progress is None or (schedule is None and now - self.reported < _REPORT_EVERY):
            return
        self.reported = now
        seconds = now - self.start
        self.on_progress(Progress("improve", seconds, self.states, io=_claim(self.best), schedule=schedule))

    def part(self, states: int, share: float) -> Limit | None:
        """A limit for one search: at most so many states and this share of the time; None if none is left."""
        seconds = None
        if self.limit.time is not None:
            seconds = self.limit.time - (time.monotonic() - self.start)
            if seconds <= 0:
                return None
            seconds *= share
        nodes = self.limit.nodes
        if nodes is None and self.limit.time is None:
            nodes = STATES_ALL
        if nodes is not None:
            states = min(states, nodes - self.states)
        return None if states <= 0 else Limit(seconds, states, self.limit.memory_mb or _MEMORY_MB)

    def whole(self) -> bool:
        """Search the whole graph; whether the best schedule is proved optimal."""
        part = self.part(_STATES_WHOLE, 0.7)
        if part is None:
            return False
        part = replace(part, gap=self.limit.gap)
        result = self._search(self.instance, part, on_progress=self.on_progress, upper=self.best)
        assert result.schedule is not None
        self.offer(replace(result.schedule, claim=result.io))
        self._stop_if_interrupted(result)
        return result.status.value == "optimal"

    def windows(self) -> None:
        """Solve windows until a round over all of them gains nothing or the limit is reached."""
        around = _Around(replay(self.instance, self.best.order()))
        self.offer(around.schedule)
        gained = True
        while gained:
            gained = False
            for width in _WIDTHS:
                first = 0
                while first < len(around.order):
                    part = self.part(_STATES_WINDOW, 1.0)
                    if part is None:
                        return
                    shorter = self._spliced(around, first, min(first + width, len(around.order)), part)
                    self.report()
                    first += width // 2
                    if shorter is None:
                        continue
                    io = plan_io(prepare(self.instance.cdag, shorter, self.instance.rules), self.instance.M)
                    if io < _claim(around.schedule):
                        around, gained = _Around(replay(self.instance, shorter)), True
                        self.offer(around.schedule)

    def anneal(self) -> None:
        """Search the order by random moves, each priced by a replay."""
        part = self.part(_MOVES_ALL, 1.0)
        if part is None:
            return

        found = self.best.order()

        def better(order: NDArray[np.int64]) -> None:
            nonlocal found
            found = order
            self.report()

        limit = Limit(part.time, None if self.limit.nodes is None and part.time is not None else part.nodes)
        try:
            order, stats = search_order(self.instance, found, limit=limit, seed=self.seed, on_better=better)
            better(order)
            self.states += int(stats["moves"])
        finally:
            # Also after Ctrl-C; orders found on the way need no schedule.
            self.offer(replay(self.instance, found))

    def _search(self, instance: Instance, limit: Limit, **how: Any) -> Result:
        result = SEARCH(instance, limit=limit, seed=self.seed, **how)
        self.states += max(1, int(result.stats["states"]))
        return result

    @staticmethod
    def _stop_if_interrupted(result: Result) -> None:
        """The search takes Ctrl-C for a limit, and then returns as it does at any other."""
        if result.limit_hit == "interrupted":
            raise KeyboardInterrupt

    def _spliced(self, around: _Around, first: int, last: int, limit: Limit) -> NDArray[np.int64] | None:
        """The order with the computes ``first..last - 1`` in the sequence that is optimal for them alone."""
        window = around.window(first, last)
        if window is None:
            return None
        instance, vertices = window
        result = self._search(instance, limit)
        self._stop_if_interrupted(result)
        self.solved += 1
        assert result.schedule is not None
        inside = vertices[result.schedule.order()]
        return np.concatenate((around.order[:first], inside, around.order[last:]))


class _Around:
    """A replayed schedule, and what its windows need to know of the rest: last uses, and when what is red."""

    def __init__(self, schedule: Schedule) -> None:
        g = schedule.instance.cdag
        self.schedule = schedule
        self.order = schedule.order()
        degree = g.in_degree[self.order].astype(np.int64)
        rows = np.repeat(g.indptr[self.order].astype(np.int64) - np.cumsum(degree) + degree, degree)
        operands = g.indices[rows + np.arange(int(degree.sum()))]
        self.last_use = np.full(g.num_vertices, -1)
        np.maximum.at(self.last_use, operands, np.repeat(np.arange(len(self.order)), degree))
        # Red from one position to another: becoming red and being deleted alternate for every vertex.
        ops, vertices = unpack_arrays(schedule.moves)
        position = np.cumsum(ops == Op.COMPUTE)
        turns = np.flatnonzero(ops != Op.STORE)
        turns = turns[np.argsort(vertices[turns], kind="stable")]
        begins = turns[ops[turns] != Op.DELETE]
        ends = turns[ops[turns] == Op.DELETE]
        assert len(begins) == len(ends), "a replay deletes whatever it made red"
        self.red_vertex, self.red_from, self.red_to = vertices[begins], position[begins], position[ends]

    def window(self, first: int, last: int) -> tuple[Instance, NDArray[np.int64]] | None:
        """The instance of a window, and the vertices behind its own; None if it is too small or too large."""
        whole = self.schedule.instance
        g = whole.cdag
        inside = np.unique(self.order[first:last])
        rows = [g.preds(int(v)) for v in inside]
        vertices = np.concatenate((np.setdiff1d(np.concatenate(rows), inside), inside))
        if len(inside) < 2 or len(vertices) > MAX_VERTICES:
            return None
        new = np.full(g.num_vertices, -1)
        new[vertices] = np.arange(len(vertices))
        edges = [(new[p], new[v]) for v, row in zip(inside.tolist(), rows, strict=True) for p in row.tolist()]
        needed = g.is_output[inside] | (self.last_use[inside] >= last)
        small = CDAG.from_edges(
            len(vertices),
            edges,
            weights=None if g.weights is None else g.weights[vertices],
            outputs=new[inside[needed]],
        )
        passing = (self.red_from <= first) & (self.red_to > last) & (new[self.red_vertex] < 0)
        held = self.red_vertex[passing]
        words = len(held) if g.weights is None else int(g.weights[held].sum())
        least = Instance(small, whole.M, whole.rules).least_M
        return Instance(small, max(least, whole.M - words), whole.rules), vertices


def _claim(schedule: Schedule) -> int:
    assert schedule.claim is not None
    return schedule.claim
