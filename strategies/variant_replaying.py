"""Replay under the variants of the rules: an order of computes becomes moves within M words.

One kernel plays sliding, free sources, no deletion, costs, outputs of any colour, what is red at the start;
another plays sequences of edges under partial computation. What is legal without sliding stays legal with it,
and a one-shot schedule is one of partial computation, so those are tried too and the cheapest is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.moves import Op, move_dtype, pack_arrays, unpack_arrays
from pebble.rules import Rules
from pebble.schedule import Schedule

__all__ = ["VariantPlan", "translated"]

# A store weighs this many times what it costs: evicting what is not blue yet is put off. Short orders are
# replayed with the others too.
_STORE_FACTORS = (1.0, 0.5, 2.0, 7.0)
_SHORT = 20_000


@dataclass(frozen=True, eq=False)
class VariantPlan:
    """An order checked and prepared for replay under rules that are not plain.

    Attributes
    ----------
    cdag, rules, red_at_start
        What the order is for; M comes with each replay.
    steps, operands, first_step, first_use, after_step, after_use
        As in `strategies.replaying.Plan`.
    first_event : ndarray of int
        What happens first to every vertex, in the same coding.
    """

    cdag: CDAG
    rules: Rules
    red_at_start: tuple[int, ...]
    steps: NDArray[Any]
    operands: NDArray[Any]
    first_step: int
    first_use: int
    after_step: NDArray[np.int32]
    after_use: NDArray[np.int32]
    first_event: NDArray[np.int32]

    def play(self, M: int, policy: str, seed: int) -> tuple[int, NDArray[Any]]:
        """The cheapest replay found: its I/O cost and its moves."""
        best = min(self._variants(M, policy), key=lambda variant: self._run(M, policy, seed, variant)[0])
        return self._run(M, policy, seed, best, emit=True)

    def io(self, M: int, policy: str, seed: int) -> int:
        """The I/O cost of `play` with the same arguments."""
        return min(self._run(M, policy, seed, variant)[0] for variant in self._variants(M, policy))

    def cheapest(self, M: int) -> tuple[Rules, str, float]:
        """The way to replay by Belady's rule that costs least; `priced` takes it."""
        return min(self._variants(M, "belady"), key=lambda variant: self.priced(M, variant))

    def priced(self, M: int, variant: tuple[Rules, str, float]) -> int:
        """The I/O cost of one way to replay: a single pass, where `io` makes up to sixteen."""
        return self._run(M, "belady", 0, variant)[0]

    def _variants(self, M: int, policy: str) -> Iterator[tuple[Rules, str, float]]:
        """Rules under which to play within M, how to sequence edges, and what a store weighs."""
        short = len(self.after_use) - self.first_use <= _SHORT
        factors = _STORE_FACTORS if policy == "belady" and short else _STORE_FACTORS[:1]
        sequences = _SEQUENCES if self.rules.partial else ("",)
        for factor in factors:
            for sequence in sequences:
                yield self.rules, sequence, factor
            stricter = replace(self.rules, sliding=False, partial=False)
            if stricter != self.rules and Instance(self.cdag, M, stricter, self.red_at_start).feasible:
                yield stricter, "", factor

    def _run(
        self, M: int, policy: str, seed: int, variant: tuple[Rules, str, float], emit: bool = False
    ) -> tuple[int, NDArray[Any]]:
        """One replay: its I/O cost, and its moves if they are to be emitted."""
        from strategies import variant_kernels as kernels

        g = self.cdag
        rules, sequence, factor = variant
        code = {"lru": kernels.LRU, "fifo": kernels.FIFO, "random": kernels.RANDOM}.get(
            policy, kernels.BELADY
        )
        flags = np.array(
            [rules.sliding, rules.deletion, rules.outputs == "any", rules.recomputation, code],
            dtype=np.int64,
        )
        load, store = float(rules.load_cost), factor * rules.store_cost
        if policy == "furthest":
            load, store = 1.0, 0.0
        prices = np.zeros(4) if code else np.array([0.0, load, store, load + store])
        seed &= 2**32 - 1
        state = self._state(rules)
        if rules.partial:
            edges = _sequenced(self, sequence)
            room = 9 * len(edges) + 5 * g.num_vertices
            moves = np.empty(room if emit else 0, dtype=move_dtype(g.num_edges + g.num_vertices))
            is_output = g.is_output
            given = np.zeros(g.num_vertices, dtype=np.bool_)
            given[list(self.red_at_start)] = True
            state[~given & ~g.is_source] &= ~np.uint8(kernels.OUTPUT)
            counted = kernels.aggregate(
                edges, g.indices, _heads(g), _weights(g), M, state, is_output, flags, prices, seed, moves
            )
        else:
            room = 4 * (len(self.after_use) - self.first_use) + 5 * (
                len(self.steps) - self.first_step + g.num_vertices
            )
            moves = np.empty(room if emit else 0, dtype=move_dtype(g.num_vertices))
            plan = (self.steps, self.first_step, self.after_step, self.after_use, self.first_use)
            counted = kernels.play(
                g.indptr,
                self.operands,
                _weights(g),
                M,
                state,
                *plan,
                self.first_event,
                flags,
                prices,
                seed,
                moves,
            )
        loads, stores, length = counted
        moves = moves[:length].copy()
        if emit and self.rules.partial and not rules.partial:
            moves = _in_aggregates(g, moves)
        return rules.load_cost * loads + rules.store_cost * stores, moves

    def _state(self, rules: Rules) -> NDArray[np.uint8]:
        """The board at the start in the kernels' bits."""
        from strategies.variant_kernels import BLUE, DONE, OUTPUT, RED, SOURCE

        g = self.cdag
        start = np.uint8(SOURCE if rules.free_sources else BLUE | DONE)
        state = g.is_source * start | g.is_output * np.uint8(OUTPUT)
        state[list(self.red_at_start)] |= RED | DONE
        return state


_SEQUENCES = ("late", "early", "single")


def _sequenced(plan: VariantPlan, how: str) -> NDArray[np.int64]:
    """The edges into the steps in an order to aggregate them.

    ``late`` aggregates all edges into a vertex when its turn comes, those from the operands touched latest
    first. ``early`` aggregates every edge as soon as its tail is complete, ``single`` does so where the tail
    has no other successor.
    """
    g = plan.cdag
    steps = plan.steps[plan.first_step :].astype(np.int64)
    turn = np.full(g.num_vertices, -1, dtype=np.int64)
    turn[steps] = np.arange(len(steps))
    heads = _heads(g)
    edges = np.flatnonzero(turn[heads] >= 0)
    tails = g.indices[edges].astype(np.int64)
    last = turn[heads[edges]]
    ready = turn[tails]
    if how == "late":
        # Within a vertex: the tails computed latest first.
        return edges[np.lexsort((-ready, last))]
    moved = ready >= 0
    if how == "single":
        moved &= np.bincount(g.indices, minlength=g.num_vertices)[tails] == 1
    # Edges moved forward follow the last edge into their tail; the others stand at their head's turn.
    at = np.where(moved, ready, last)
    return edges[np.lexsort((last, moved, at))]


def translated(schedule: Schedule, instance: Instance) -> Schedule | None:
    """A plain schedule move by move under the rules of `instance`, or None if it may not be legal there.

    Costs, outputs of any colour and sliding take nothing away from plain rules, and under partial computation
    a compute is the edges into its vertex. The claim is left out: it is another one.
    """
    rules = instance.rules
    if rules.free_sources or not rules.deletion or instance.red_at_start:
        return None
    moves = _in_aggregates(instance.cdag, schedule.moves) if rules.partial else schedule.moves
    return replace(schedule, instance=instance, moves=moves, claim=None)


def _in_aggregates(cdag: CDAG, moves: NDArray[Any]) -> NDArray[Any]:
    """A one-shot schedule as one of partial computation: a compute becomes the edges into its vertex."""
    ops, vertices = unpack_arrays(moves)
    computes = ops == Op.COMPUTE
    degree = np.where(computes, np.maximum(cdag.in_degree[vertices], 1), 1)
    first = np.where(
        computes,
        np.where(cdag.is_source[vertices], cdag.num_edges + vertices, cdag.indptr[vertices]),
        vertices,
    )
    starts = np.cumsum(degree) - degree
    within = np.arange(int(degree.sum())) - np.repeat(starts, degree)
    items = np.repeat(first, degree) + within
    return pack_arrays(np.repeat(ops, degree), items, cdag.num_edges + cdag.num_vertices)


def _heads(cdag: CDAG) -> NDArray[Any]:
    return np.repeat(np.arange(cdag.num_vertices, dtype=cdag.indices.dtype), np.diff(cdag.indptr))


def _weights(cdag: CDAG) -> NDArray[np.int64]:
    # Read-only like the graph's own arrays: one compiled kernel serves both.
    weights = np.empty(0, dtype=np.int64) if cdag.weights is None else cdag.weights
    weights.setflags(write=False)
    return weights
