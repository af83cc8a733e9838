"""The sentence behind each refused move, so that both referees speak alike.

Which reason applies is decided by each referee on its own; only the wording lives here.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    cdag = instance.cdag
    v = move.vertex
    if reason is Reason.OUT_OF_RANGE:
        last = cdag.num_vertices - 1
        ids = f"ids go from 0 to {last}" if last >= 0 else "the graph has no vertices"
        text = f"vertex {v} is out of range, {ids}"
    elif reason is Reason.IS_SOURCE:
        text = f"{_named(cdag, v)} is a source, it cannot be computed: load it"
    elif reason is Reason.ALREADY_RED:
        text = f"{_named(cdag, v)} is already red"
    elif reason is Reason.ALREADY_COMPUTED:
        text = f"{_named(cdag, v)} is already computed, {instance.rules} rules allow one computation each"
    elif reason is Reason.PREDECESSOR_NOT_RED:
        text = f"computing {_named(cdag, v, '')} needs predecessor {_named(cdag, vertices[0], '')} red"
    elif reason is Reason.NOT_BLUE:
        text = f"{_named(cdag, v)} is not blue, there is nothing to load"
    elif reason is Reason.NOT_RED:
        text = f"{_named(cdag, v)} is not red, there is nothing to {Op(move.op).name.lower()}"
    elif red_words >= instance.M:
        text = f"all {instance.M} red words are in use"
    else:
        free = instance.M - red_words
        text = f"{_named(cdag, v)} takes {cdag.weight(v)} words, only {free} of {instance.M} are free"
    return IllegalMoveError(index, move, reason.value, text, vertices)


def _named(cdag: CDAG, v: int, kind: str = "vertex ") -> str:
    label = "" if cdag.labels is None else f" ({cdag.labels[v]})"
    return f"{kind}{v}{label}"
