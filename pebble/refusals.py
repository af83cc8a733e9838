"""The sentence behind each refused move, so that both referees speak alike.

Which reason applies is decided by each referee on its own; only the wording lives here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pebble.aggregates import aggregate_of
from pebble.cdag import CDAG
from pebble.errors import IllegalMoveError
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason

__all__ = ["refusal"]


def refusal(
    instance: Instance, index: int, move: Move, reason: Reason, vertices: Sequence[int], red_words: int
) -> IllegalMoveError:
    """The error for one refused move.

    Parameters
    ----------
    instance : Instance
    index : int
        Position of the move in the schedule, from 0.
    move : Move
    reason : Reason
    vertices : sequence of int
        What the reason names: the missing predecessor, else the move's own vertex.
    red_words : int
        Words that are red before the move.
    """
    cdag, M = instance.cdag, instance.M
    if reason is Reason.OUT_OF_RANGE:
        text = _out_of_range(instance, move)
        return IllegalMoveError(index, move, reason.value, text, vertices)
    # The vertex that the move is about, and for an aggregate the edge into it.
    v, edge = move.vertex, ""
    if instance.rules.partial and move.op == Op.COMPUTE:
        u, v = aggregate_of(cdag, move.vertex)
        edge = f"edge {move.vertex}, {u} into {v}," if u >= 0 else ""
    of_computed = _named(cdag, v, "")
    if reason is Reason.SLIDE_OPEN:
        over = red_words - M
        size = f" of at least {over} words" if over > 1 else ""
        text = (
            f"the slide into {_named(cdag, vertices[0], '')} is open: delete a predecessor of it{size} first"
        )
    elif reason is Reason.NO_DELETION:
        text = f"{instance.rules} rules allow no deletion: store {_named(cdag, v)} to make room"
    elif reason is Reason.IS_SOURCE:
        text = f"{_named(cdag, v)} is a source, it cannot be computed: load it"
    elif reason is Reason.ALREADY_RED:
        text = f"{_named(cdag, v)} is already red"
    elif reason is Reason.ALREADY_COMPUTED and edge:
        text = f"{edge} is already aggregated, {instance.rules} rules allow it once"
    elif reason is Reason.ALREADY_COMPUTED:
        text = f"{_named(cdag, v)} is already computed, {instance.rules} rules allow one computation each"
    elif reason is Reason.PREDECESSOR_INCOMPLETE:
        text = f"aggregating {_named(cdag, vertices[0], '')} into {of_computed} needs it complete"
    elif reason is Reason.PREDECESSOR_NOT_RED:
        text = f"computing {of_computed} needs predecessor {_named(cdag, vertices[0], '')} red"
    elif reason is Reason.PARTIAL_NOT_RED:
        text = f"the partial value of {_named(cdag, v)} is not red: load it first"
    elif reason is Reason.NOT_BLUE:
        text = f"{_named(cdag, v)} is not blue, there is nothing to load"
    elif reason is Reason.NOT_RED:
        text = f"{_named(cdag, v)} is not red, there is nothing to {Op(move.op).name.lower()}"
    elif red_words >= M:
        text = f"all {M} red words are in use"
    else:
        text = f"{_named(cdag, v)} takes {cdag.weight(v)} words, only {M - red_words} of {M} are free"
    return IllegalMoveError(index, move, reason.value, text, vertices)


def _out_of_range(instance: Instance, move: Move) -> str:
    cdag = instance.cdag
    n, edges = cdag.num_vertices, cdag.num_edges
    if instance.rules.partial and move.op == Op.COMPUTE:
        text = f"there is no edge {move.vertex} to aggregate, {_ids(edges, 'edges')}"
        if instance.rules.free_sources:
            text += f"; {edges} + v computes a source v"
        return text
    return f"vertex {move.vertex} is out of range, {_ids(n, 'vertices')}"


def _ids(count: int, kind: str) -> str:
    return f"ids go from 0 to {count - 1}" if count else f"the graph has no {kind}"


def _named(cdag: CDAG, v: int, kind: str = "vertex ") -> str:
    label = "" if cdag.labels is None else f" ({cdag.labels[v]})"
    return f"{kind}{v}{label}"
