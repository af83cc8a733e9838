"""The one-shot search: passes over layers of states, each pass with a highest cost to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.search.budget import Budget
from solvers.search.problem import Problem, bits
from solvers.search.steps import Step
from solvers.search.symmetry import automorphisms, byte_tables

__all__ = ["OneShotSearch", "Outcome"]

# Between two looks at the clock: this many states.
_SLICE = 100_000
_NEVER = np.iinfo(np.int32).max


@dataclass
class Outcome:
    """What a pass found.

    Attributes
    ----------
    cost : int or None
        Least cost of the schedules that the pass kept, in words of I/O.
    steps : list of (int, int)
        The vertex computed and the set evicted before it, step by step, in the problem's numbers.
    complete : bool
        Whether every state up to the pass's highest cost was seen, so that `cost` is the optimum, or None
        proves that no schedule costs so little.
    states : int
        States kept in all layers.
    """

    cost: int | None
    steps: list[Step]
    complete: bool
    states: int


@dataclass
class _Layer:
    """States of one layer in the order of `sort_layer`."""

    sets: NDArray[np.uint64]
    begin: NDArray[np.int64]
    reds: NDArray[np.uint64]
    blues: NDArray[np.uint64]
    cost: NDArray[np.int32]
    parent: NDArray[np.int32]
    vertex: NDArray[np.int16]
    evicted: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.cost)


@dataclass
class _Pool:
    """The next layer while it grows: its states in order of arrival, and the hash tables over them."""

    words: int
    room: int
    groups_room: int
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        w = self.words
        self.arrays = {
            "sets": np.empty((self.groups_room, w), np.uint64),
            "group": np.empty(self.room, np.int32),
            "reds": np.empty((self.room, w), np.uint64),
            "blues": np.empty((self.room, w), np.uint64),
            "cost": np.empty(self.room, np.int32),
            "parent": np.empty(self.room, np.int32),
            "vertex": np.empty(self.room, np.int16),
            "evicted": np.empty((self.room, w), np.uint64),
        }
        self.group_table = np.full(_power(2 * self.groups_room), -1, np.int32)
        self.state_table = np.full(_power(2 * self.room), -1, np.int32)

    @property
    def bytes_used(self) -> int:
        """Bytes of all arrays."""
        return sum(a.nbytes for a in self.arrays.values()) + self.group_table.nbytes + self.state_table.nbytes


def _power(n: int) -> int:
    return 1 << max(4, (n - 1).bit_length())


class OneShotSearch:
    """Every pass over one problem.

    Parameters
    ----------
    problem : Problem
    symmetry : bool
        Whether to look for automorphisms.
    """

    def __init__(self, problem: Problem, *, symmetry: bool = True) -> None:
        self.problem = problem
        self.perms = automorphisms(problem) if symmetry else []
        self.tables = byte_tables(problem, self.perms)
        p = problem
        self.sources = self._set(p.sources)
        self.everything = self._set((1 << p.n) - 1 & ~p.sources)
        self.stored_early = self._set(
            p.mask([v for v in range(p.n) if p.is_output[v] and p.succs[v]])
        )
        self.preds = p.packed(p.preds)
        self.succs = p.packed(p.succs)
        self.dominated = 0

    def _set(self, mask: int) -> Any:
        row = self.problem.packed([mask])[0]
        return row[0] if self.problem.words == 1 else tuple(row)

    def _int(self, a: Any) -> int:
        if isinstance(a, tuple):
            return sum(int(word) << 64 * k for k, word in enumerate(a))
        return int(a)

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
            Called with the number of states so far between slices.
        """
        from solvers.search import one_shot_kernels as kernels

        p = self.problem
        tally = np.zeros(9, dtype=np.int64)
        tally[kernels.BEST] = _NEVER
        w = p.words
        layer = _Layer(
            sets=np.zeros((1, w), np.uint64),
            begin=np.array([0, 1], np.int64),
            reds=np.zeros((1, w), np.uint64),
            blues=np.zeros((1, w), np.uint64),
            cost=np.array([p.compulsory], np.int32),
            parent=np.zeros(1, np.int32),
            vertex=np.zeros(1, np.int16),
            evicted=np.zeros((1, w), np.uint64),
        )
        history: list[tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.uint64]]] = []
        complete = p.compulsory <= limit
        states = 1
        if not complete:
            return Outcome(None, [], True, 0)
        depth = int((~p.is_source).sum())
        expanded = 0
        for level in range(depth + 1):
            history.append((layer.parent, layer.vertex, layer.evicted))
            kept = sum(a.nbytes + b.nbytes + c.nbytes for a, b, c in history)
            alive = np.ones(len(layer), dtype=np.bool_)
            pool = _Pool(w, max(1 << 10, min(2 * len(layer), 1 << 22)), max(1 << 9, 2 * len(layer.sets) + 2 * p.n))
            tally[[kernels.GROUP, kernels.STATE, kernels.GROUPS, kernels.STATES]] = 0
            while True:
                a = pool.arrays
                verdict = kernels.expand(
                    p.M, p.weights, p.unit, self.preds, self.succs, self.sources, self.stored_early,
                    self.everything, self.tables, limit,
                    layer.sets, layer.begin, layer.reds, layer.blues, layer.cost, alive,
                    a["sets"], a["group"], a["reds"], a["blues"], a["cost"], a["parent"], a["vertex"],
                    a["evicted"], pool.group_table, pool.state_table, tally, tally[kernels.EXPANDED] + _SLICE,
                )  # fmt: skip
                here = layer.cost.nbytes * (3 + 4 * w)
                if verdict == kernels.FULL:
                    grown = self._grown(pool, tally, kernels)
                    if grown is None or not budget.memory_ok(kept + here + pool.bytes_used + grown.bytes_used):
                        return Outcome(None, [], False, states + int(tally[kernels.STATES]))
                    pool = grown
                budget.spend(int(tally[kernels.EXPANDED]) - expanded)
                expanded = int(tally[kernels.EXPANDED])
                if on_slice is not None:
                    on_slice(expanded)
                if verdict == kernels.DONE:
                    break
                if budget.exhausted():
                    return Outcome(None, [], False, states + int(tally[kernels.STATES]))
            if tally[kernels.BEST] < _NEVER or not tally[kernels.STATES]:
                break
            layer = self._next_layer(pool, tally, kernels)
            if beam is not None and len(layer) > beam:
                layer = _narrowed(layer, beam)
                complete = False
            states += len(layer)
        self.dominated = int(tally[kernels.DOMINATED])
        if tally[kernels.BEST] == _NEVER:
            return Outcome(None, [], complete, states)
        steps = self._trace(history, int(tally[kernels.BEST_PARENT]))
        return Outcome(int(tally[kernels.BEST]), steps, complete, states)

    def _grown(self, pool: _Pool, tally: NDArray[np.int64], kernels: Any) -> _Pool | None:
        """A pool with twice the room, or None if there is no memory for it."""
        states, groups = int(tally[kernels.STATES]), int(tally[kernels.GROUPS])
        full_states = states + 2 >= pool.room
        try:
            grown = _Pool(
                pool.words,
                pool.room * 2 if full_states else pool.room,
                pool.groups_room if full_states else pool.groups_room * 2,
            )
        except MemoryError:
            return None
        for name, array in pool.arrays.items():
            used = groups if name == "sets" else states
            grown.arrays[name][:used] = array[:used]
        a = grown.arrays
        kernels.rehash(
            grown.group_table, grown.state_table, a["sets"], a["group"], a["reds"], a["blues"], tally,
            self.problem.zero,
        )  # fmt: skip
        return grown

    def _next_layer(self, pool: _Pool, tally: NDArray[np.int64], kernels: Any) -> _Layer:
        states, groups = int(tally[kernels.STATES]), int(tally[kernels.GROUPS])
        a = {name: array[: groups if name == "sets" else states] for name, array in pool.arrays.items()}
        order, begin = kernels.sort_layer(
            a["group"], a["cost"], a["reds"], a["blues"], groups, self.problem.zero
        )
        return _Layer(
            sets=a["sets"].copy(),
            begin=begin,
            **{name: a[name][order] for name in ("reds", "blues", "cost", "parent", "vertex", "evicted")},
        )

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
            image, length, fixed = kernels.descend(self.tables, scratch, self._set(C), first, fixers)
            renamings = first[:length].tolist()
            for g in renamings:
                R = self._int(kernels.rename(self.tables, g, scratch, self._set(R)))
                B = self._int(kernels.rename(self.tables, g, scratch, self._set(B)))
            red, blue, length = kernels.descend_pair(
                self.tables, scratch, self._set(R), self._set(B), fixers, fixed, second
            )
            renamings += second[:length].tolist()
            C, R, B = self._int(image), self._int(red), self._int(blue)
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
        reds=layer.reds[keep],
        blues=layer.blues[keep],
        cost=layer.cost[keep],
        parent=layer.parent[keep],
        vertex=layer.vertex[keep],
        evicted=layer.evicted[keep],
    )
