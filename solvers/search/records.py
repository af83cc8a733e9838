"""What the compiled searches are called with, as named tuples of arrays and sets.

Numba takes named tuples apart when it compiles, so a field costs no more than an argument of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from solvers.search.problem import Problem
from solvers.search.segments import Segments

__all__ = ["Children", "Game", "Growing", "Local", "Scratch", "Settled", "game_of"]


class Game(NamedTuple):
    """A problem in the kernels' form: sets are one or several machine words, arrays of sets rows of them."""

    M: int
    weights: Any
    unit: bool
    preds: Any
    succs: Any
    sources: Any
    outputs: Any
    computed: Any  # all vertices that are not sources
    needed_outputs: Any  # outputs that have successors
    tables: Any  # renamings, see `symmetry.byte_tables`
    values: Any  # see `segments.Segments`
    most: int
    output_words: int
    rooms: Any  # words that must be free, or the vertex's own, to compute it


def game_of(problem: Problem, tables: Any, segments: Segments) -> Game:
    """The kernels' form of a problem."""
    p = problem
    return Game(
        M=p.M,
        weights=p.weights,
        unit=p.unit,
        preds=p.packed(p.preds),
        succs=p.packed(p.succs),
        sources=p.as_set(p.sources),
        outputs=p.as_set(p.outputs),
        computed=p.as_set(((1 << p.n) - 1) & ~p.sources),
        needed_outputs=p.as_set(p.mask([v for v in range(p.n) if p.is_output[v] and p.succs[v]])),
        tables=tables,
        values=segments.values,
        most=int(segments.most),
        output_words=int(p.weights[p.is_output].sum()),
        rooms=p.rooms,
    )


class Settled(NamedTuple):
    """A finished layer: groups, where each one's states begin, and the states' two sets and cost."""

    sets: Any
    begin: Any
    first: Any
    second: Any
    cost: Any


class Growing(NamedTuple):
    """The next layer while it grows, see `pool.Pool`."""

    sets: Any
    group: Any
    group_table: Any
    state_table: Any
    first: Any
    second: Any
    evicted: Any
    cost: Any
    origin: Any  # group of the state's parent, in the search with recomputation
    parent: Any
    vertex: Any


class Local(NamedTuple):
    """The states of the group at work, and their lists: by cost, and by red vertex for dominance."""

    reds: Any
    paids: Any
    cost: Any
    parent: Any
    vertex: Any
    evicted: Any
    slot: Any
    table: Any
    settled: Any
    chain_head: Any
    chain_size: Any
    chain_state: Any
    chain_next: Any
    heads: Any
    node_state: Any
    node_next: Any


class Children(NamedTuple):
    """What depends on a group and on the vertex that leads out of it, worked out on first use."""

    group: Any  # the child's group in the next layer, or -2
    useful: Any
    steps: Any
    steps_len: Any
    fixers: Any
    fixed: Any


class Scratch(NamedTuple):
    """Room to work in."""

    row: Any
    pair_steps: Any
    flow: Any
    through: Any
    queue: Any
    came: Any
