"""The search with recomputation: passes over layers of stored sets, each with a highest cost to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.search.budget import Budget
from solvers.search.one_shot import Outcome, _power
from solvers.search.problem import Problem, bits
from solvers.search.steps import Step
from solvers.search.symmetry import automorphisms, byte_tables

__all__ = ["HongKungSearch"]

_SLICE = 50_000
_NEVER = np.iinfo(np.int32).max


@dataclass
class _Layer:
    """The entries of one layer: states reached by storing one more vertex, group by group."""

    sets: NDArray[np.uint64]
    begin: NDArray[np.int64]
    reds: NDArray[np.uint64]
    paids: NDArray[np.uint64]
    cost: NDArray[np.int32]
    origin: NDArray[np.int32]
    parent: NDArray[np.int32]
    vertex: NDArray[np.int16]
    evicted: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def bytes_used(self) -> int:
        return sum(value.nbytes for value in vars(self).values())


class _Entries:
    """The next layer while it grows."""

    def __init__(self, words: int, room: int, groups_room: int) -> None:
        self.words, self.room, self.groups_room = words, room, groups_room
        self.arrays: dict[str, NDArray[Any]] = {
            "sets": np.empty((groups_room, words), np.uint64),
            "group": np.empty(room, np.int32),
            "reds": np.empty((room, words), np.uint64),
            "paids": np.empty((room, words), np.uint64),
            "cost": np.empty(room, np.int32),
            "origin": np.empty(room, np.int32),
            "parent": np.empty(room, np.int32),
            "vertex": np.empty(room, np.int16),
            "evicted": np.empty((room, words), np.uint64),
        }
        self.group_table = np.full(_power(2 * groups_room), -1, np.int32)
        self.state_table = np.full(_power(2 * room), -1, np.int32)

    @property
    def bytes_used(self) -> int:
        return sum(a.nbytes for a in self.arrays.values()) + self.group_table.nbytes + self.state_table.nbytes

    def grown(self, tally: NDArray[np.int64], kernels: Any, zero: Any) -> _Entries:
        """The same entries with twice the room."""
        states, groups = int(tally[kernels.STATES]), int(tally[kernels.GROUPS])
        full_states = states + 2 > self.room
        bigger = _Entries(
            self.words,
            self.room * 2 if full_states else self.room,
            self.groups_room if full_states else self.groups_room * 2,
        )
        for name, array in self.arrays.items():
            used = groups if name == "sets" else states
            bigger.arrays[name][:used] = array[:used]
        a = bigger.arrays
        kernels.rehash(
            bigger.group_table, bigger.state_table, a["sets"], a["group"], a["reds"], a["paids"], tally, zero
        )
        return bigger


class _Locals:
    """The states of the group at work."""

    def __init__(self, words: int, room: int) -> None:
        self.words, self.room = words, room
        self.reds = np.empty((room, words), np.uint64)
        self.paids = np.empty((room, words), np.uint64)
        self.cost = np.empty(room, np.int32)
        self.parent = np.empty(room, np.int32)
        self.vertex = np.empty(room, np.int16)
        self.evicted = np.empty((room, words), np.uint64)
        self.slot = np.empty(room, np.int32)
        self.table = np.full(_power(2 * room), -1, np.int32)
        self.settled = np.empty(room, np.int32)
        self.node_state = np.empty(2 * room, np.int32)
        self.node_next = np.empty(2 * room, np.int32)

    @property
    def bytes_used(self) -> int:
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))

    def grown(self, tally: NDArray[np.int64], kernels: Any, zero: Any) -> _Locals:
        """The same states with twice the room."""
        bigger = _Locals(self.words, 2 * self.room)
        for name in ("reds", "paids", "cost", "parent", "vertex", "evicted", "settled", "node_state", "node_next"):
            old = getattr(self, name)
            getattr(bigger, name)[: len(old)] = old
        if tally[kernels.STARTED]:
            kernels.rehash_local(bigger.table, bigger.slot, bigger.reds, bigger.paids, tally, zero)
        return bigger


class HongKungSearch:
    """Every pass over one problem.

    Parameters
    ----------
    problem : Problem
    symmetry : bool
        Whether to look for automorphisms.
    """

    def __init__(self, problem: Problem, *, symmetry: bool = True) -> None:
        self.problem = p = problem
        self.perms = automorphisms(p) if symmetry else []
        self.tables = byte_tables(p, self.perms)
        self.sources = self._set(p.sources)
        self.outputs = self._set(p.outputs)
        self.preds = p.packed(p.preds)
        self.succs = p.packed(p.succs)
        self.base = int(p.weights[p.is_output].sum())
        self.dominated = 0

    def _set(self, mask: int) -> Any:
        row = self.problem.packed([mask])[0]
        return row[0] if self.problem.words == 1 else tuple(row)

    def _int(self, a: Any) -> int:
        if isinstance(a, tuple):
            return sum(int(word) << 64 * k for k, word in enumerate(a))
        return int(a)

    def _settle(
        self, layer: _Layer, local: _Locals, entries: _Entries, heads: Any, tally: Any, limit: int, budget: int, stop: int
    ) -> int:
        from solvers.search import hong_kung_kernels as kernels

        p, a = self.problem, entries.arrays
        verdict: int = kernels.settle(
            p.M, p.weights, p.unit, self.preds, self.succs, self.sources, self.outputs, self.tables,
            self.base, limit,
            layer.sets, layer.begin, layer.reds, layer.paids, layer.cost,
            local.reds, local.paids, local.cost, local.parent, local.vertex, local.evicted, local.slot,
            local.table, local.settled, local.node_state, local.node_next, heads,
            a["sets"], a["group"], a["reds"], a["paids"], a["cost"], a["origin"], a["parent"], a["vertex"],
            a["evicted"], entries.group_table, entries.state_table, tally, budget, stop,
        )  # fmt: skip
        return verdict

    def run(self, limit: int, budget: Budget, *, on_slice: Callable[[int], None] | None = None) -> Outcome:
        """One pass; see `OneShotSearch.run`."""
        from solvers.search import hong_kung_kernels as kernels

        p = self.problem
        w = p.words
        if limit < self.base:
            return Outcome(None, [], True, 0)
        tally = np.zeros(13, dtype=np.int64)
        tally[kernels.BEST] = _NEVER
        layer = _Layer(
            sets=np.zeros((1, w), np.uint64),
            begin=np.array([0, 1], np.int64),
            reds=np.zeros((1, w), np.uint64),
            paids=np.zeros((1, w), np.uint64),
            cost=np.zeros(1, np.int32),
            origin=np.zeros(1, np.int32),
            parent=np.zeros(1, np.int32),
            vertex=np.zeros(1, np.int16),
            evicted=np.zeros((1, w), np.uint64),
        )
        if kernels.root_exceeds(
            p.zero, self.sources, self.outputs, self.preds, self.succs, p.weights, limit - self.base
        ):
            return Outcome(None, [], True, 0)
        history = [layer]
        local = _Locals(w, 1 << 12)
        heads = np.empty(limit - self.base + 2, np.int32)
        best = (_NEVER, 0, 0)
        entered = 0
        while True:
            entries = _Entries(w, max(1 << 10, 2 * len(layer)), max(1 << 9, 2 * len(layer.sets)))
            tally[[kernels.GROUP, kernels.STARTED, kernels.GROUPS, kernels.STATES]] = 0
            kept = sum(old.bytes_used for old in history)
            while True:
                before = int(tally[kernels.EXPANDED])
                verdict = self._settle(
                    layer, local, entries, heads, tally, limit, before + _SLICE, len(layer.sets)
                )
                try:
                    if verdict == kernels.FULL_NEXT:
                        entries = entries.grown(tally, kernels, p.zero)
                    elif verdict == kernels.FULL_LOCAL:
                        local = local.grown(tally, kernels, p.zero)
                except MemoryError:
                    budget.hit = "memory"
                    return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
                if not budget.memory_ok(kept + entries.bytes_used + local.bytes_used):
                    return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
                budget.spend(int(tally[kernels.EXPANDED]) - before)
                if on_slice is not None:
                    on_slice(int(tally[kernels.EXPANDED]))
                if verdict == kernels.DONE:
                    break
                if budget.exhausted():
                    return Outcome(None, [], False, int(tally[kernels.EXPANDED]))
            if tally[kernels.BEST] < best[0]:
                best = (int(tally[kernels.BEST]), len(history) - 1, int(tally[kernels.BEST_STATE]))
            if not tally[kernels.STATES]:
                break
            layer = self._next_layer(entries, tally, kernels)
            entered += len(layer)
            history.append(layer)
        self.dominated = int(tally[kernels.DOMINATED])
        states = int(tally[kernels.EXPANDED])
        if best[0] == _NEVER:
            return Outcome(None, [], True, states)
        return Outcome(best[0], self._trace(history, best[1], best[2], local, heads, limit), True, states)

    def _next_layer(self, entries: _Entries, tally: NDArray[np.int64], kernels: Any) -> _Layer:
        states, groups = int(tally[kernels.STATES]), int(tally[kernels.GROUPS])
        a = {name: array[: groups if name == "sets" else states] for name, array in entries.arrays.items()}
        order = np.argsort(a["group"], kind="stable")
        begin = np.zeros(groups + 1, np.int64)
        np.cumsum(np.bincount(a["group"], minlength=groups), out=begin[1:])
        names = ("reds", "paids", "cost", "origin", "parent", "vertex", "evicted")
        return _Layer(sets=a["sets"].copy(), begin=begin, **{name: a[name][order] for name in names})

    def _trace(
        self, history: list[_Layer], level: int, goal: int, local: _Locals, heads: Any, limit: int
    ) -> list[Step]:
        """The steps to a goal: each group on the way is settled again, then followed back."""
        from solvers.search import hong_kung_kernels as kernels

        p = self.problem
        paths: list[list[tuple[int, int]]] = []
        at = goal
        for depth in range(level, 0, -1):
            layer, before = history[depth], history[depth - 1]
            origin = int(layer.origin[at])
            path = [(int(layer.vertex[at]), p.unpacked(layer.evicted[at]))]
            tally = np.zeros(13, dtype=np.int64)
            tally[kernels.BEST] = _NEVER
            tally[kernels.GROUP] = origin
            local.table[:] = -1
            entries = _Entries(p.words, 1 << 10, 1 << 9)
            while True:
                verdict = self._settle(before, local, entries, heads, tally, limit, 1 << 60, origin + 1)
                if verdict == kernels.FULL_NEXT:
                    entries = entries.grown(tally, kernels, p.zero)
                elif verdict == kernels.FULL_LOCAL:
                    local = local.grown(tally, kernels, p.zero)
                else:
                    break
            here = int(layer.parent[at])
            while local.parent[here] >= 0:
                path.append((int(local.vertex[here]), p.unpacked(local.evicted[here])))
                here = int(local.parent[here])
            paths.append(path[::-1])
            at = -1 - int(local.parent[here])
        return self._forward([step for path in reversed(paths) for step in path])

    def _forward(self, moves: list[tuple[int, int]]) -> list[Step]:
        """Moves in the names of each representative, turned into steps in the problem's own names."""
        from solvers.search import hong_kung_kernels as kernels
        from solvers.search import symmetry_kernels as renaming

        p, n = self.problem, self.problem.n
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
            wanted = self._set(p.outputs & ~B)
            useful = kernels.useful_of(wanted, self.preds)
            useful_set = self._set(self._int(useful))
            R = self._int(kernels.normal(self._set(red), useful_set, self.succs, p.weights))
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
                image, length, _ = renaming.descend(self.tables, scratch, self._set(B), first, fixers)
                B = self._int(image)
                used = first[:length].tolist()
            fixed = 0
            for g in range(len(self.perms)):
                if self._int(renaming.rename(self.tables, g, scratch, self._set(B))) == B:
                    fixers[fixed] = g
                    fixed += 1
            for g in used:
                R = self._int(renaming.rename(self.tables, g, scratch, self._set(R)))
                P = self._int(renaming.rename(self.tables, g, scratch, self._set(P)))
            red_set, paid_set, length = renaming.descend_pair(
                self.tables, scratch, self._set(R), self._set(P), fixers, fixed, second
            )
            R, P = self._int(red_set), self._int(paid_set)
            for g in used + second[:length].tolist():
                perm = self.perms[g]
                renamed = [0] * n
                for u in range(n):
                    renamed[perm[u]] = actual[u]
                actual = renamed
        return steps
