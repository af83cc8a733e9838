"""The search with recomputation: passes over layers of stored sets, each with a highest cost to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.search.budget import Budget
from solvers.search.pool import Pool
from solvers.search.problem import Problem, bits, table_size
from solvers.search.records import Game, Local, Settled, game_of
from solvers.search.segments import Segments
from solvers.search.steps import Outcome, Step
from solvers.search.symmetry import automorphisms, byte_tables

__all__ = ["HongKungSearch"]

_SLICE = 50_000
_NEVER = np.iinfo(np.int32).max


@dataclass
class _Layer:
    """The entries of one layer: states reached by storing one more vertex, group by group."""

    sets: NDArray[np.uint64]
    begin: NDArray[np.int64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    cost: NDArray[np.int32]
    origin: NDArray[np.int32]
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
        return sum(value.nbytes for value in vars(self).values())


class _Locals:
    """The states of the group at work."""

    def __init__(self, words: int, room: int) -> None:
        self.words, self.room = words, room
        self.arrays: dict[str, NDArray[Any]] = {
            name: np.empty((room, words), np.uint64) for name in ("reds", "paids", "evicted")
        }
        for name in ("cost", "parent", "slot", "settled"):
            self.arrays[name] = np.empty(room, np.int32)
        self.arrays["vertex"] = np.empty(room, np.int16)
        for name, factor in (("chain_state", 4), ("chain_next", 4), ("node_state", 2), ("node_next", 2)):
            self.arrays[name] = np.empty(factor * room, np.int32)
        self.arrays["table"] = np.full(table_size(room), -1, np.int32)

    @property
    def bytes_used(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def grown(self, tally: NDArray[np.int64], zero: Any) -> _Locals:
        """The same states with twice the room."""
        from solvers.search import hong_kung_kernels as kernels

        bigger = _Locals(self.words, 2 * self.room)
        for name, old in self.arrays.items():
            if name != "table":
                bigger.arrays[name][: len(old)] = old
        if tally[kernels.STARTED]:
            a = bigger.arrays
            kernels.rehash_local(a["table"], a["slot"], a["reds"], a["paids"], tally, zero)
        return bigger


class _Work:
    """What the kernel works with in one pass: the local states, and the lists of them by cost."""

    def __init__(self, game: Game, local: _Locals, limit: int) -> None:
        self.game = game
        self.local = local
        self.limit = limit
        self.heads = np.empty(limit - game.output_words + 2, np.int32)
        self.chain_head = np.empty(len(game.weights), np.int32)
        self.chain_size = np.empty(len(game.weights), np.int32)

    @property
    def record(self) -> Local:
        """The arrays in the kernels' form."""
        return Local(
            heads=self.heads, chain_head=self.chain_head, chain_size=self.chain_size, **self.local.arrays
        )


def _new_tally(kernels: Any) -> NDArray[np.int64]:
    tally = np.zeros(14, dtype=np.int64)
    tally[kernels.BEST] = _NEVER
    return tally


def _start(words: int) -> _Layer:
    """The layer that holds the start alone."""
    empty = np.zeros((1, words), np.uint64)
    zero = np.zeros(1, np.int32)
    return _Layer(
        sets=empty,
        begin=np.array([0, 1], np.int64),
        first=empty,
        second=empty,
        cost=zero,
        origin=zero,
        parent=zero,
        vertex=np.zeros(1, np.int16),
        evicted=empty,
    )


def _layer_of(entries: Pool, states: int, groups: int) -> _Layer:
    """The entries sorted by group."""
    group = entries.group[:states]
    begin = np.zeros(groups + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=groups), out=begin[1:])
    return _Layer(begin=begin, **entries.layer(states, groups, np.argsort(group, kind="stable")))


class HongKungSearch:
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
        self.base = int(p.weights[p.is_output].sum())
        self.dominated = 0

    def run(self, limit: int, budget: Budget, *, on_slice: Callable[[int], None] | None = None) -> Outcome:
        """One pass; see `OneShotSearch.run`."""
        from solvers.search import hong_kung_kernels as kernels

        p = self.problem
        game = game_of(p, self.tables, self.segments)
        if limit < self.base or kernels.root_exceeds(game, limit - self.base):
            return Outcome(None, [], True, 0)
        tally = _new_tally(kernels)
        history = [_start(p.words)]
        best = (_NEVER, 0, 0)
        try:
            work = _Work(game, _Locals(p.words, 1 << 12), limit)
            while True:
                entries = self._settle_layer(history, work, budget, tally, on_slice)
                if entries is None:
                    return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
                if tally[kernels.BEST] < best[0]:
                    best = (int(tally[kernels.BEST]), len(history) - 1, int(tally[kernels.BEST_STATE]))
                if not tally[kernels.STATES]:
                    break
                history.append(_layer_of(entries, int(tally[kernels.STATES]), int(tally[kernels.GROUPS])))
        except MemoryError:
            budget.hit = "memory"
            return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
        self.dominated = int(tally[kernels.DOMINATED])
        states = int(tally[kernels.EXPANDED])
        if best[0] == _NEVER:
            return Outcome(None, [], True, states)
        return Outcome(best[0], self._trace(history, best[1], best[2], work), True, states)

    def _settle(
        self, layer: _Layer, work: _Work, entries: Pool, tally: NDArray[np.int64], budget: int, stop: int
    ) -> tuple[int, Pool]:
        """One call of the kernel; the pool of entries comes back, larger if it was full."""
        from solvers.search import hong_kung_kernels as kernels

        p = self.problem
        verdict = kernels.settle(
            work.game, layer.record, work.record, entries.record, tally, work.limit, budget, stop
        )
        if verdict == kernels.FULL_NEXT:
            entries = entries.grown(int(tally[kernels.STATES]), int(tally[kernels.GROUPS]), p.zero)
        elif verdict == kernels.FULL_LOCAL:
            work.local = work.local.grown(tally, p.zero)
        return verdict, entries

    def _settle_layer(
        self,
        history: list[_Layer],
        work: _Work,
        budget: Budget,
        tally: NDArray[np.int64],
        on_slice: Callable[[int], None] | None,
    ) -> Pool | None:
        """The entries of the layer after the last, or None if the budget ran out first."""
        from solvers.search import hong_kung_kernels as kernels

        layer = history[-1]
        entries = Pool(
            self.problem.words, max(1 << 10, 2 * len(layer)), max(1 << 9, 2 * len(layer.sets)), origins=True
        )
        tally[[kernels.GROUP, kernels.STARTED, kernels.GROUPS, kernels.STATES]] = 0
        kept = sum(old.bytes_used for old in history)
        while True:
            before = int(tally[kernels.EXPANDED])
            verdict, entries = self._settle(
                layer, work, entries, tally, before + budget.slice(_SLICE), len(layer.sets)
            )
            spent = int(tally[kernels.EXPANDED]) - before
            budget.spend(spent)
            if on_slice is not None:
                on_slice(spent)
            if verdict == kernels.DONE:
                return entries
            if budget.exhausted() or not budget.memory_ok(kept + entries.bytes_used + work.local.bytes_used):
                return None

    def _trace(self, history: list[_Layer], level: int, goal: int, work: _Work) -> list[Step]:
        """The steps to a goal: each group on the way is settled again, then followed back."""
        from solvers.search import hong_kung_kernels as kernels

        p = self.problem
        paths: list[list[tuple[int, int]]] = []
        at = goal
        for depth in range(level, 0, -1):
            layer, before = history[depth], history[depth - 1]
            origin = int(layer.origin[at])
            path = [(int(layer.vertex[at]), p.unpacked(layer.evicted[at]))]
            tally = _new_tally(kernels)
            tally[kernels.GROUP] = origin
            work.local.arrays["table"][:] = -1
            entries = Pool(p.words, 1 << 10, 1 << 9, origins=True)
            verdict = kernels.PAUSED
            while verdict != kernels.DONE:
                verdict, entries = self._settle(before, work, entries, tally, 1 << 60, origin + 1)
            local = work.record
            here = int(layer.parent[at])
            while local.parent[here] >= 0:
                path.append((int(local.vertex[here]), p.unpacked(local.evicted[here])))
                here = int(local.parent[here])
            paths.append(path[::-1])
            at = -1 - int(local.parent[here])
        return self._forward([step for path in reversed(paths) for step in path])

    def _forward(self, moves: list[tuple[int, int]]) -> list[Step]:
        """Moves in the names of each representative, turned into steps in the problem's own names."""
        from solvers.search import red_kernels as kernels
        from solvers.search import symmetry_kernels as renaming

        p, n = self.problem, self.problem.n
        preds, succs = p.packed(p.preds), p.packed(p.succs)
        actual = list(range(n))
        scratch = np.zeros((1, p.words), np.uint64)
        R = P = B = 0
        steps: list[Step] = []

        def named(mask: int) -> int:
            return p.mask([actual[v] for v in bits(mask)])

        for code, evicted in moves:
            v = code % n
            spill = code < n and R >> v & 1 == 1
            if spill:
                B |= 1 << v
                P |= 1 << v
                red = R & ~(1 << v)
            else:
                P &= ~(p.preds[v] & ~R)
                red = (R | p.preds[v]) & ~evicted | 1 << v
                if code >= n:
                    B |= 1 << v
            wanted = p.as_set(p.outputs & ~B)
            useful = kernels.useful_of(wanted, preds)
            useful_set = p.as_set(p.as_int(useful))
            R = p.as_int(kernels.normal(p.as_set(red), useful_set, succs, p.weights))
            if spill:
                steps.append(Step(named(1 << v), 0, -1, False, named(R)))
            else:
                steps.append(Step(0, named(evicted), actual[v], code >= n, named(R)))
            if not self.perms:
                continue
            first = np.zeros(renaming.MAX_STEPS, np.int64)
            second = np.zeros(renaming.MAX_STEPS, np.int64)
            fixers = np.zeros(len(self.perms), np.int64)
            used: list[int] = []
            if spill or code >= n:
                image, length, _ = renaming.descend(self.tables, scratch, p.as_set(B), first, fixers)
                B = p.as_int(image)
                used = first[:length].tolist()
            fixed = 0
            for g in range(len(self.perms)):
                if p.as_int(renaming.rename(self.tables, g, scratch, p.as_set(B))) == B:
                    fixers[fixed] = g
                    fixed += 1
            for g in used:
                R = p.as_int(renaming.rename(self.tables, g, scratch, p.as_set(R)))
                P = p.as_int(renaming.rename(self.tables, g, scratch, p.as_set(P)))
            red_set, paid_set, length = renaming.descend_pair(
                self.tables, scratch, p.as_set(R), p.as_set(P), fixers, fixed, second
            )
            R, P = p.as_int(red_set), p.as_int(paid_set)
            for g in used + second[:length].tolist():
                perm = self.perms[g]
                renamed = [0] * n
                for u in range(n):
                    renamed[perm[u]] = actual[u]
                actual = renamed
        return steps
