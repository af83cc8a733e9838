"""The search under the further rule sets: passes over all states, each with a highest cost to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.search.budget import Budget
from solvers.search.pool import Pool
from solvers.search.steps import Outcome
from solvers.search.variant_problem import VariantProblem, variant_game
from solvers.search.variant_steps import VariantStep

__all__ = ["Frontier", "VariantSearch"]

_SLICE = 20_000


class Frontier(NamedTuple):
    """Open states by cost and closed ones by group, see `frontier_kernels`."""

    heads: Any
    node_state: Any
    node_next: Any
    closed: Any
    group_head: Any


class _Queue:
    """The frontier's arrays, which grow with the pool of states."""

    def __init__(self, pool: Pool, costs: int) -> None:
        self.heads = np.full(costs, -1, np.int32)
        self.node_state = np.empty(0, np.int32)
        self.node_next = np.empty(0, np.int32)
        self.closed = np.empty(0, np.int32)
        self.group_head = np.empty(0, np.int32)
        self.free = -1
        self.fit(pool)

    def fit(self, pool: Pool, free: int = -1) -> int:
        """Grow with the pool; the first free node comes back."""
        self.closed = _longer(self.closed, pool.room)
        self.group_head = _longer(self.group_head, pool.groups_room)
        if free >= 0:
            return free
        old = len(self.node_state)
        new = max(2 * pool.room, 2 * old)
        self.node_state, self.node_next = _longer(self.node_state, new), _longer(self.node_next, new)
        self.node_next[old:] = np.arange(old + 1, new + 1)
        self.node_next[-1] = -1
        return old

    @property
    def record(self) -> Frontier:
        """The arrays in the kernels' form."""
        return Frontier(self.heads, self.node_state, self.node_next, self.closed, self.group_head)

    @property
    def bytes_used(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.record)


def _longer(array: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    grown = np.empty(length, np.int32)
    grown[: len(array)] = array
    return grown


class VariantSearch:
    """Every pass over one problem, under any rule set.

    Parameters
    ----------
    problem : VariantProblem
    """

    def __init__(self, problem: VariantProblem) -> None:
        self.problem = problem
        self.game = variant_game(problem)
        self.dominated = 0

    def _start(self) -> tuple[Any, Any, Any]:
        """Key, first and second set of the start, once everything free is done there."""
        from solvers.search import again_kernels, once_kernels

        p, rules = self.problem, self.problem.rules
        given = p.as_set(p.given)
        if rules.recomputation:
            key, first = again_kernels.settle(p.zero, given, self.game)
            return key, first, p.zero
        blue = p.zero if rules.free_sources else p.as_set(p.given & p.sources)
        key, first, second = once_kernels.settle(p.as_set(p.settled_items), given, blue, self.game)
        return key, first, second

    def _hopeless(self, key: Any, first: Any, second: Any, top: int) -> bool:
        """Whether the start alone shows that `top` is too little."""
        from solvers.search import again_kernels, once_kernels

        if top < 0:
            return True
        if self.problem.rules.recomputation:
            return bool(again_kernels.root_exceeds(key, first, self.game, top))
        return bool(once_kernels.root_extra(key, first, second, self.game) > top)

    def run(self, limit: int, budget: Budget, *, on_slice: Callable[[int], None] | None = None) -> Outcome:
        """One pass; see `OneShotSearch.run`."""
        from solvers.search import again_kernels, frontier_kernels, once_kernels

        p = self.problem
        unit = p.cost_unit
        top = (limit - p.owed) // unit
        if 4 * top > budget.memory:
            # The queue has a list for every cost.
            budget.hit = "memory"
            return Outcome(None, [], False, 0)
        key, first, second = self._start()
        if self._hopeless(key, first, second, top):
            return Outcome(None, [], True, 0)
        tally = np.zeros(8, np.int64)
        tally[frontier_kernels.CURRENT] = tally[frontier_kernels.GOAL] = -1
        expand = again_kernels.expand if p.rules.recomputation else once_kernels.expand
        verdict = frontier_kernels.PAUSED
        try:
            pool = Pool(p.words, 1 << 12, 1 << 11, origins=False)
            queue = _Queue(pool, top + 1)
            tally[frontier_kernels.FREE] = 0
            frontier_kernels.enter(key, first, second, 0, -1, -1, p.zero, pool.record, queue.record, tally)
            while budget.memory_ok(pool.bytes_used + queue.bytes_used):
                before = int(tally[frontier_kernels.EXPANDED])
                verdict = expand(
                    self.game, pool.record, queue.record, tally, top, before + budget.slice(_SLICE)
                )
                spent = int(tally[frontier_kernels.EXPANDED]) - before
                budget.spend(spent)
                if on_slice is not None:
                    on_slice(spent)
                if verdict in (frontier_kernels.DONE, frontier_kernels.FOUND):
                    break
                if budget.exhausted():
                    break
                if verdict == frontier_kernels.FULL:
                    states, groups = (
                        int(tally[k]) for k in (frontier_kernels.STATES, frontier_kernels.GROUPS)
                    )
                    if states + 2 > pool.room or groups + 2 > pool.groups_room:
                        pool = pool.grown(states, groups, p.zero)
                    tally[frontier_kernels.FREE] = queue.fit(pool, int(tally[frontier_kernels.FREE]))
        except MemoryError:
            budget.hit = "memory"
            return Outcome(None, [], False, int(tally[frontier_kernels.EXPANDED]))
        self.dominated = int(tally[frontier_kernels.DOMINATED])
        states = int(tally[frontier_kernels.EXPANDED])
        if verdict not in (frontier_kernels.DONE, frontier_kernels.FOUND):
            return Outcome(None, [], False, states)
        if verdict == frontier_kernels.DONE:
            return Outcome(None, [], True, states)
        goal = int(tally[frontier_kernels.GOAL])
        cost = p.owed + unit * int(pool.arrays["cost"][goal])
        return Outcome(cost, self._steps(pool, goal), True, states)

    def _steps(self, pool: Pool, goal: int) -> list[Any]:
        """The steps that lead to a state."""
        p = self.problem
        steps: list[Any] = []
        at = goal
        while (parent := int(pool.arrays["parent"][at])) >= 0:
            evicted = p.unpacked(pool.arrays["evicted"][at])
            stored = 0
            if p.rules.recomputation:
                stored = evicted & p.unpacked(pool.groups[pool.group[at]])
                stored &= ~p.unpacked(pool.groups[pool.group[parent]])
            steps.append(VariantStep(int(pool.arrays["vertex"][at]), evicted, stored))
            at = parent
        return steps[::-1]
