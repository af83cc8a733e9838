"""From the steps of the search under further rule sets back to the moves of the game."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pebble.moves import Op, pack_arrays
from pebble.schedule import Schedule
from solvers.search.problem import bits
from solvers.search.variant_problem import Item, VariantProblem

__all__ = ["VariantStep", "plain_schedule", "schedule_of_steps"]


class VariantStep(NamedTuple):
    """One step, sets as Python ints in the problem's numbers.

    Attributes
    ----------
    item : int
        What is computed or aggregated.
    evicted : int
        Values that make room. An operand among them gives its pebble to the result.
    stored : int
        With recomputation: which of `evicted` are stored first.
    """

    item: int
    evicted: int
    stored: int


class _Player:
    """The position while moves are written down."""

    def __init__(self, problem: VariantProblem) -> None:
        self.problem = problem
        self.rules = problem.rules
        self.red = problem.given
        self.blue = 0 if self.rules.free_sources else problem.sources
        self.done = problem.settled_items
        self.ops: list[int] = []
        self.ids: list[int] = []

    def _move(self, op: Op, index: int) -> None:
        self.ops.append(int(op))
        self.ids.append(index)

    def _on(self, op: Op, v: int) -> None:
        self._move(op, int(self.problem.original[v]))

    def load(self, v: int) -> None:
        """Load `v`."""
        self._on(Op.LOAD, v)
        self.red |= 1 << v

    def store(self, v: int) -> None:
        """Store `v`; without deletion its red pebble is gone."""
        self._on(Op.STORE, v)
        self.blue |= 1 << v
        if not self.rules.deletion:
            self.red &= ~(1 << v)

    def delete(self, v: int) -> None:
        """Delete `v`."""
        self._on(Op.DELETE, v)
        self.red &= ~(1 << v)

    def compute(self, index: int) -> None:
        """Do an item."""
        item = self.problem.items[index]
        self._move(Op.COMPUTE, item.move)
        self.red |= 1 << item.result
        self.done |= 1 << index
        if self.rules.partial:
            self.blue &= ~(1 << item.result)

    def remove(self, v: int, keep: bool) -> None:
        """Take the red pebble of `v` away; with `keep` its value stays, blue."""
        if not self.rules.deletion or (keep and not self.blue >> v & 1):
            self.store(v)
        if self.rules.deletion:
            self.delete(v)

    def complete(self, v: int) -> bool:
        """Whether `v` has its final value."""
        return not self.problem.into[v] & ~self.done

    def fresh(self, v: int) -> bool:
        """Whether `v` has no value yet."""
        into = self.problem.into[v]
        return bool(into) and not into & self.done

    def needed(self, v: int) -> bool:
        """Whether the value of `v`, in a game where every item is done once, must be red again."""
        return bool(self.problem.uses[v] & ~self.done) or not self.complete(v)

    def schedule(self, producer: str, seed: int) -> Schedule:
        """The moves so far."""
        cdag = self.problem.instance.cdag
        room = cdag.num_vertices
        if self.rules.partial:
            room = max(room, cdag.num_edges + cdag.num_vertices)
        moves = pack_arrays(np.array(self.ops, np.int64), np.array(self.ids, np.int64), room)
        return Schedule(self.problem.instance, moves, producer=producer, seed=seed)


def schedule_of_steps(
    problem: VariantProblem, steps: Iterable[VariantStep], producer: str, seed: int = 0
) -> Schedule:
    """The moves of the steps, in the instance's own numbers; O(moves + steps · |V|)."""
    p, rules = problem, problem.rules
    player = _Player(p)
    _tidy(player)
    for step in steps:
        item = p.items[step.item]
        slid = step.evicted & item.operands
        sown, loads = _operands(player, item)
        kept = step.stored if rules.recomputation else ~0
        for v in bits(step.evicted & ~slid):
            player.remove(v, bool(kept >> v & 1))
        for v in bits(sown):
            player.compute(_source_item(p, v))
            if rules.deletion and rules.outputs == "blue" and p.outputs >> v & 1 and not player.blue >> v & 1:
                player.store(v)
        for v in bits(loads):
            player.load(v)
        done = player.done | 1 << step.item
        for v in bits(slid):
            wanted = bool(kept >> v & 1)
            if not rules.recomputation:
                saved = rules.outputs == "any" or not rules.deletion
                wanted = bool(p.uses[v] & ~done) or (saved and bool(p.outputs >> v & 1))
            if wanted and not player.blue >> v & 1:
                player.store(v)
                if not rules.deletion:
                    player.load(v)
        player.compute(step.item)
        for v in bits(slid):
            player.delete(v)
        _tidy(player)
    if rules.outputs == "blue":
        for v in bits(p.outputs & player.red & ~player.blue):
            player.store(v)
    return player.schedule(producer, seed)


def _operands(player: _Player, item: Item) -> tuple[int, int]:
    """What a step must get first: sources to compute, values to load."""
    p, rules = player.problem, player.rules
    missing = item.operands & ~player.red
    if not rules.recomputation and not player.fresh(item.result):
        missing |= 1 << item.result & ~player.red
    sown = 0
    if rules.free_sources:
        sown = missing & p.sources
        if not rules.recomputation:
            sown = p.mask([v for v in bits(sown) if not player.complete(v)])
    return sown, missing & ~sown


def _source_item(problem: VariantProblem, v: int) -> int:
    into = problem.into[v]
    return into.bit_length() - 1


def _tidy(player: _Player) -> None:
    """What is done for free after each step, as the kernels' `settle` assumes it."""
    p, rules = player.problem, player.rules
    if rules.partial:
        _aggregate(player)
    once = not rules.recomputation
    if rules.outputs == "blue":
        for v in bits(p.outputs & player.red & ~player.blue):
            if once and not player.complete(v):
                continue
            spent = not player.needed(v) if once else not p.succs[v]
            if rules.deletion or spent:
                player.store(v)
    if not rules.deletion:
        return
    if once:
        held = p.outputs if rules.outputs == "any" else 0
        useless = p.mask([v for v in bits(player.red & ~held) if not player.needed(v)])
    else:
        useless = _useless(player)
    for v in bits(useless):
        player.delete(v)


def _aggregate(player: _Player) -> None:
    """Aggregate along every edge between red vertices whose head has a value already."""
    p = player.problem
    again = True
    while again:
        again = False
        for v in bits(player.red):
            for index in bits(p.into[v] & ~player.done):
                operands = p.items[index].operands
                if operands and not operands & ~player.red and player.complete(operands.bit_length() - 1):
                    player.compute(index)
                    again = True


def _useless(player: _Player) -> int:
    """The red vertices that are of no more use although vertices may be computed again."""
    p = player.problem
    unsaved = p.outputs & ~player.blue
    useful = _ancestors(p, unsaved)
    red = player.red & useful
    for v in bits(red):
        w = v
        while not unsaved >> w & 1:
            uses = p.succs[w] & useful
            if uses.bit_count() != 1:
                break
            w = uses.bit_length() - 1
            if red >> w & 1:
                # It serves only to compute w, which is red.
                if p.weights[w] <= p.weights[v]:
                    red &= ~(1 << v)
                break
    return player.red & ~red


def _ancestors(problem: VariantProblem, members: int) -> int:
    """`members` and everything that leads to them."""
    found = todo = members
    while todo:
        v = todo.bit_length() - 1
        new = problem.preds[v] & ~found
        found |= new
        todo = todo & ~(1 << v) | new
    return found


def plain_schedule(problem: VariantProblem, producer: str, seed: int = 0) -> Schedule:
    """Store everything, load every operand when it is needed: dear, but there at once, with the least M.

    O(|V| + |E|) moves.
    """
    p, rules = problem, problem.rules
    player = _Player(p)
    for v in bits(p.given):
        player.remove(v, True)
    if rules.free_sources:
        for v in bits(p.sources & p.wanted):
            player.compute(_source_item(p, v))
            player.remove(v, True)
    for v in range(p.n):
        if not p.wanted >> v & 1 or p.is_source[v]:
            continue
        if rules.partial:
            for index in bits(p.into[v]):
                u = p.items[index].operands.bit_length() - 1
                player.load(u)
                player.compute(index)
                player.remove(u, True)
        else:
            operands = bits(p.preds[v])
            for u in operands:
                player.load(u)
            heaviest = max(operands, key=lambda u: int(p.weights[u]))
            crowded = int(p.weights[operands].sum()) + int(p.weights[v]) > p.instance.M
            player.compute(v)
            if crowded:
                player.delete(heaviest)
            for u in bits(p.preds[v] & player.red):
                player.remove(u, True)
        player.remove(v, True)
    return player.schedule(producer, seed)
