"""The one-shot search: passes over layers of states, each pass with a highest cost to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.search.budget import Budget
from solvers.search.pool import Pool
from solvers.search.problem import Problem, bits
from solvers.search.records import Settled, game_of
from solvers.search.segments import Segments
from solvers.search.steps import Outcome, Step
from solvers.search.symmetry import automorphisms, byte_tables

__all__ = ["OneShotSearch"]

# Between two looks at the clock: this many states.
_SLICE = 50_000
_NEVER = np.iinfo(np.int32).max


@dataclass
class _Layer:
    """States of one layer in the order of `sort_layer`."""

    sets: NDArray[np.uint64]
    begin: NDArray[np.int64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    cost: NDArray[np.int32]
    parent: NDArray[np.int32]
    vertex: NDArray[np.int16]
    evicted: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def record(self) -> Settled:
        """The arrays in the kernels' form."""
        return Settled(self.sets, self.begin, self.first, self.second, self.cost)

    @property
    def bytes_used(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in vars(self).values())


def _start(cost: int, words: int) -> _Layer:
    """The layer that holds the start alone."""
    empty = np.zeros((1, words), np.uint64)
    return _Layer(
        sets=empty,
        begin=np.array([0, 1], np.int64),
        first=empty,
        second=empty,
        cost=np.array([cost], np.int32),
        parent=np.zeros(1, np.int32),
        vertex=np.zeros(1, np.int16),
        evicted=empty,
    )


class OneShotSearch:
    """Every pass over one problem.

    Parameters
    ----------
    problem : Problem
    symmetry : bool
        Whether to look for automorphisms.

    Attributes
    ----------
    segments : Segments
        A bound on loads to prune with; none at first, `segments_of` works one out.
    """

    def __init__(self, problem: Problem, *, symmetry: bool = True) -> None:
        self.problem = p = problem
        self.perms = automorphisms(p) if symmetry else []
        self.tables = byte_tables(p, self.perms)
        self.segments = Segments.none(p)
        self.dominated = 0

    def run(
        self,
        limit: int,
        budget: Budget,
        *,
        beam: int | None = None,
        on_slice: Callable[[int], None] | None = None,
    ) -> Outcome:
        """One pass.

        Parameters
        ----------
        limit : int
            Highest cost kept, in words of I/O.
        budget : Budget
            When to stop; the outcome is then not complete.
        beam : int, optional
            States kept in each layer; with fewer than there are, the outcome is not complete.
        on_slice : callable, optional
            Called with the number of states expanded since its last call, several times a second.
        """
        from solvers.search import one_shot_kernels as kernels

        p, w = self.problem, self.problem.words
        if p.compulsory > limit:
            return Outcome(None, [], True, 0)
        tally = np.zeros(9, dtype=np.int64)
        tally[kernels.BEST] = _NEVER
        layer = _start(p.compulsory, w)
        history: list[tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.uint64]]] = []
        complete = True
        kept = 0
        try:
            for _ in range(p.n + 1):
                history.append((layer.parent, layer.vertex, layer.evicted))
                kept += sum(array.nbytes for array in history[-1])
                pool = self._expand_layer(layer, limit, budget, tally, kept, on_slice)
                if pool is None:
                    return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
                if tally[kernels.BEST] < _NEVER or not tally[kernels.STATES]:
                    break
                layer = self._next_layer(pool, int(tally[kernels.STATES]), int(tally[kernels.GROUPS]))
                if beam is not None and len(layer) > beam:
                    layer = _narrowed(layer, beam)
                    complete = False
        except MemoryError:
            budget.hit = "memory"
            return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
        self.dominated = int(tally[kernels.DOMINATED])
        states = int(tally[kernels.EXPANDED])
        if tally[kernels.BEST] == _NEVER:
            return Outcome(None, [], complete, states)
        steps = self._trace(history, int(tally[kernels.BEST_PARENT]))
        return Outcome(int(tally[kernels.BEST]), steps, complete, states)

    def _expand_layer(
        self,
        layer: _Layer,
        limit: int,
        budget: Budget,
        tally: NDArray[np.int64],
        kept: int,
        on_slice: Callable[[int], None] | None,
    ) -> Pool | None:
        """All children of a layer, or None if the budget ran out first."""
        from solvers.search import one_shot_kernels as kernels

        p, w = self.problem, self.problem.words
        game = game_of(p, self.tables, self.segments)
        alive = np.ones(len(layer), dtype=np.bool_)
        room = max(1 << 10, min(2 * len(layer), 1 << 22))
        pool = Pool(w, room, 2 * len(layer.sets) + 2 * p.n + 64, origins=False)
        tally[[kernels.GROUP, kernels.STATE, kernels.GROUPS, kernels.STATES]] = 0
        while True:
            before = int(tally[kernels.EXPANDED])
            verdict = kernels.expand(
                game, layer.record, alive, pool.record, tally, limit, before + budget.slice(_SLICE)
            )
            if verdict == kernels.FULL:
                pool = pool.grown(int(tally[kernels.STATES]), int(tally[kernels.GROUPS]), p.zero)
            spent = int(tally[kernels.EXPANDED]) - before
            budget.spend(spent)
            if on_slice is not None:
                on_slice(spent)
            if verdict == kernels.DONE:
                return pool
            if budget.exhausted() or not budget.memory_ok(kept + layer.bytes_used + pool.bytes_used):
                return None

    def _next_layer(self, pool: Pool, states: int, groups: int) -> _Layer:
        from solvers.search import one_shot_kernels as kernels

        a = pool.arrays
        order, begin = kernels.sort_layer(
            pool.group[:states], a["cost"][:states], a["first"], a["second"], groups, self.problem.zero
        )
        return _Layer(begin=begin, **pool.layer(states, groups, order))

    def _trace(self, history: list[Any], goal: int) -> list[Step]:
        """The steps to a goal state: back along the parents, then forward through the renamings."""
        from solvers.search import symmetry_kernels as kernels

        p = self.problem
        moves: list[tuple[int, int]] = []
        at = goal
        for parent, vertex, evicted in reversed(history[1:]):
            moves.append((int(vertex[at]), p.unpacked(evicted[at])))
            at = int(parent[at])
        moves.reverse()
        actual = list(range(p.n))
        C = R = B = 0
        steps: list[Step] = []
        scratch = np.zeros((1, p.words), np.uint64)
        count = max(1, len(self.perms))
        for w, evicted in moves:
            loaded = p.preds[w] & ~R
            spilled = evicted & ~B & ~p.sources
            C |= 1 << w
            red = (R | p.preds[w] | 1 << w) & ~evicted
            R = p.mask([v for v in bits(red) if p.succs[v] & ~C])
            spill, evict, keep = (
                p.mask([actual[v] for v in bits(mask)]) for mask in (spilled, evicted & ~spilled, R)
            )
            steps.append(Step(spill, evict, actual[w], bool(p.is_output[w]), keep))
            B = (B | loaded & ~p.sources) & R | (1 << w & R if p.is_output[w] else 0)
            if not self.perms:
                continue
            first = np.zeros(kernels.MAX_STEPS, np.int64)
            second = np.zeros(kernels.MAX_STEPS, np.int64)
            fixers = np.zeros(count, np.int64)
            image, length, fixed = kernels.descend(self.tables, scratch, p.as_set(C), first, fixers)
            renamings = first[:length].tolist()
            for g in renamings:
                R = p.as_int(kernels.rename(self.tables, g, scratch, p.as_set(R)))
                B = p.as_int(kernels.rename(self.tables, g, scratch, p.as_set(B)))
            red, blue, length = kernels.descend_pair(
                self.tables, scratch, p.as_set(R), p.as_set(B), fixers, fixed, second
            )
            renamings += second[:length].tolist()
            C, R, B = p.as_int(image), p.as_int(red), p.as_int(blue)
            for g in renamings:
                perm = self.perms[g]
                renamed = [0] * p.n
                for v in range(p.n):
                    renamed[perm[v]] = actual[v]
                actual = renamed
        return steps


def _narrowed(layer: _Layer, beam: int) -> _Layer:
    """The `beam` cheapest states of a layer, those with fewer values to keep first among equals."""
    order = np.argsort(layer.cost, kind="stable")[:beam]
    keep = np.zeros(len(layer), dtype=np.bool_)
    keep[order] = True
    group = np.repeat(np.arange(len(layer.sets)), np.diff(layer.begin))[keep]
    begin = np.zeros(len(layer.sets) + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=len(layer.sets)), out=begin[1:])
    return _Layer(
        sets=layer.sets,
        begin=begin,
        first=layer.first[keep],
        second=layer.second[keep],
        cost=layer.cost[keep],
        parent=layer.parent[keep],
        vertex=layer.vertex[keep],
        evicted=layer.evicted[keep],
    )
