"""Instances under the further rule sets, in the form that their search works with: vertices and items.

docs/exact.md has the definitions: an item is a piece of work that is done exactly once, a vertex in the
one-shot games, an edge under partial computation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from pebble.instance import Instance
from pebble.rules import Rules
from solvers.search.problem import MAX_VERTICES, Problem, bits, mask_words

__all__ = ["Item", "VariantGame", "VariantProblem", "variant_game"]


class Item(NamedTuple):
    """What is done once: `operands`, a set, are combined into `result`; `move` is the id of its COMPUTE."""

    operands: int
    result: int
    move: int


class VariantGame(NamedTuple):
    """A problem in the kernels' form; the names that `records.Game` has too mean the same."""

    M: int
    weights: Any
    unit: bool
    preds: Any
    succs: Any
    sources: Any
    outputs: Any
    operands: Any  # of each item, a set of vertices
    result: Any  # of each item, a vertex
    into: Any  # of each vertex, the items that make it
    uses: Any  # of each vertex, the items that need it
    items: Any  # all items
    load: int  # per word, in units
    store: int
    sliding: bool
    deletion: bool
    blue: bool  # whether outputs must be blue, not just red or blue
    free: bool
    partial: bool


@dataclass(frozen=True, eq=False)
class VariantProblem(Problem):
    """A problem under any rule set.

    Sets of vertices and sets of items share one number of machine words. Isolated vertices are left out
    unless they must be computed, or are red at the start.
    """

    @classmethod
    def of(cls, instance: Instance) -> VariantProblem:
        """Prepare `instance`; O(|V| + |E|)."""
        g = instance.cdag
        free = instance.rules.free_sources
        order = g.topological_order
        touched = g.in_degree > 0
        touched[g.indices] = True
        touched |= free
        touched[list(instance.red_at_start)] = True
        original = order[touched[order]]
        new = np.full(g.num_vertices, -1, dtype=np.int64)
        new[original] = np.arange(len(original))
        pairs = g.edges()
        return cls(
            instance=instance,
            original=original,
            edges=new[pairs] if len(pairs) else pairs,
            weights=np.ones(len(original), np.int64) if g.weights is None else g.weights[original],
            is_source=g.is_source[original],
            is_output=g.is_output[original] & (~g.is_source[original] | free),
        )

    @property
    def rules(self) -> Rules:
        """The instance's rules."""
        return self.instance.rules

    @property
    def words(self) -> int:
        """Machine words per set, of vertices or of items."""
        return mask_words(max(self.n, len(self.items)))

    @property
    def too_large(self) -> bool:
        """Whether the search takes no graph of this size."""
        return max(self.n, len(self.items)) > MAX_VERTICES

    @property
    def cost_unit(self) -> int:
        """The unit in which the kernels count."""
        return gcd(self.rules.load_cost, self.rules.store_cost) or 1

    @cached_property
    def given(self) -> int:
        """The vertices that are red at the start."""
        at = {int(v): i for i, v in enumerate(self.original)}
        return self.mask([at[v] for v in self.instance.red_at_start])

    @cached_property
    def wanted(self) -> int:
        """The vertices that outputs depend on other than through what is red at the start."""
        found = todo = self.outputs & ~self.given
        while todo:
            v = todo.bit_length() - 1
            new = self.preds[v] & ~self.given & ~found
            found |= new
            todo = todo & ~(1 << v) | new
        return found

    @cached_property
    def items(self) -> list[Item]:
        """Every item: one per vertex, or one per edge and, under free sources, one per source."""
        original = self.original.tolist()
        if not self.rules.partial:
            return [Item(self.preds[v], v, original[v]) for v in range(self.n)]
        found = [Item(1 << u, v, e) for e, (u, v) in enumerate(self.edges.tolist())]
        if self.rules.free_sources:
            found += [Item(0, v, len(self.edges) + original[v]) for v in bits(self.sources)]
        return found

    @cached_property
    def into(self) -> list[int]:
        """The items that make each vertex; none for a source that is blue at the start."""
        masks = [0] * self.n
        for i, item in enumerate(self.items):
            if self.rules.free_sources or not self.sources >> item.result & 1:
                masks[item.result] |= 1 << i
        return masks

    @cached_property
    def uses(self) -> list[int]:
        """The items that need each vertex."""
        masks = [0] * self.n
        for i, item in enumerate(self.items):
            for u in bits(item.operands):
                masks[u] |= 1 << i
        return masks

    @cached_property
    def settled_items(self) -> int:
        """The items that need not be done: those of vertices that are given, or that nothing wanted needs."""
        required = 0
        for v in bits(self.wanted):
            required |= self.into[v]
        return ((1 << len(self.items)) - 1) & ~required

    def _cost(self, members: int) -> int:
        return int(self.weights[bits(members)].sum()) if members else 0

    @cached_property
    def owed(self) -> int:
        """I/Os that the search counts from the start: stores of outputs, and the first loads of operands.

        With recomputation, only the stores: loads are bounded state by state.
        """
        rules = self.rules
        total = rules.store_cost * self._cost(self.outputs) if rules.outputs == "blue" else 0
        if not rules.recomputation and not rules.free_sources:
            loaded = self.sources & ~self.given
            loaded = self.mask([v for v in bits(loaded) if self.uses[v] & ~self.settled_items])
            total += rules.load_cost * self._cost(loaded)
        return total

    @property
    def compulsory(self) -> int:
        """I/Os that every schedule pays; like `owed`, and for outputs of any colour what does not fit."""
        rules = self.rules
        extra = 0
        if rules.outputs == "any":
            extra = rules.store_cost * max(0, self._cost(self.outputs) - self.instance.M)
        return self.owed + extra


def variant_game(problem: VariantProblem) -> VariantGame:
    """The kernels' form of a problem."""
    p, rules = problem, problem.rules
    return VariantGame(
        M=p.M,
        weights=p.weights,
        unit=p.unit,
        preds=p.packed(p.preds),
        succs=p.packed(p.succs),
        sources=p.as_set(p.sources),
        outputs=p.as_set(p.outputs),
        operands=p.packed([item.operands for item in p.items]),
        result=np.array([item.result for item in p.items], np.int64),
        into=p.packed(p.into),
        uses=p.packed(p.uses),
        items=p.as_set((1 << len(p.items)) - 1),
        load=rules.load_cost // problem.cost_unit,
        store=rules.store_cost // problem.cost_unit,
        sliding=rules.sliding,
        deletion=rules.deletion,
        blue=rules.outputs == "blue",
        free=rules.free_sources,
        partial=rules.partial,
    )
