"""A schedule in few steps of time: counts per step, and how full of pebbles each cell is after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays

__all__ = ["Steps", "aggregate"]

_SLICE = 1 << 20

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """A schedule cut into steps of about equally many moves; row 0 of each array is the start.

    Attributes
    ----------
    ends : ndarray of int64, shape (num_steps + 1,)
        Moves played by the end of each step.
    loads, stores, computes, recomputes : ndarray of int64, shape (num_steps + 1,)
        Counted from the start; loads and stores in words.
    peak : ndarray of int64, shape (num_steps + 1,)
        Most red words within the step.
    red, blue : ndarray of uint8, shape (num_steps + 1, num_cells)
        Share of a cell's places that hold a pebble at the end of the step, 255 for all; above 0 if any does.
    """

    ends: Ints
    loads: Ints
    stores: Ints
    computes: Ints
    recomputes: Ints
    peak: Ints
    red: NDArray[np.uint8]
    blue: NDArray[np.uint8]


def aggregate(instance: Instance, moves: NDArray[Any], cell_of: Ints, scale: Ints, most_steps: int) -> Steps:
    """Cut legal moves into at most `most_steps` steps.

    Parameters
    ----------
    instance : Instance
    moves : ndarray of uint32 or uint64
        Packed moves.
    cell_of : ndarray of int64, shape (num_vertices,)
    scale : ndarray of int64, shape (num_cells,)
        How many pebbles fill a cell.
    most_steps : int

    Notes
    -----
    O(moves + |V| + steps * cells) time; the moves are read in slices.
    """
    cdag = instance.cdag
    count, cells = len(moves), len(scale)
    cuts = max(1, min(most_steps, count))
    steps = cuts + 1
    ends = (np.arange(steps) * count) // cuts
    tallies = np.zeros((4, steps), dtype=np.int64)
    peak = np.zeros(steps, dtype=np.int64)
    red = np.zeros(steps * cells, dtype=np.int64)
    blue = np.zeros(steps * cells, dtype=np.int64)
    is_blue = cdag.is_source.copy()
    computed = np.zeros(cdag.num_vertices, dtype=np.bool_)
    words_red = 0
    for lo in range(0, count, _SLICE):
        ops, vertices = unpack_arrays(moves[lo : lo + _SLICE])
        step = np.searchsorted(ends, np.arange(lo, lo + len(ops)), side="right")
        words = np.ones(len(ops), dtype=np.int64) if cdag.weights is None else cdag.weights[vertices]
        stored, deleted, done = ops == Op.STORE, ops == Op.DELETE, ops == Op.COMPUTE
        turn = np.where(stored, 0, np.where(deleted, -1, 1))
        held = words_red + np.cumsum(turn * words)
        np.maximum.at(peak, step, held)
        # A step begins with what the one before left, which may be its peak.
        peak[step[0]] = max(int(peak[step[0]]), words_red)
        words_red = int(held[-1])
        begins = np.flatnonzero(np.diff(step) > 0)
        np.maximum.at(peak, step[begins + 1], held[begins])
        place = step * cells + cell_of[vertices]
        red += np.bincount(place, weights=turn, minlength=len(red)).astype(np.int64)
        first_stored = _first_time(vertices, stored, is_blue)
        blue += np.bincount(place[first_stored], minlength=len(blue))
        first_computed = _first_time(vertices, done, computed)
        for row, (chosen, weight) in enumerate(
            [
                (ops == Op.LOAD, words),
                (stored, words),
                (done, None),
                (done & ~first_computed, None),
            ]
        ):
            given = None if weight is None else weight[chosen]
            tallies[row] += np.bincount(step[chosen], weights=given, minlength=steps).astype(np.int64)
    red_now = np.cumsum(red.reshape(steps, cells), axis=0)
    first_blue = np.bincount(cell_of[cdag.sources], minlength=cells)
    blue_now = np.cumsum(blue.reshape(steps, cells), axis=0) + first_blue
    loads, stores, computes, recomputes = np.cumsum(tallies, axis=1)
    return Steps(
        ends, loads, stores, computes, recomputes, peak, _levels(red_now, scale), _levels(blue_now, scale)
    )


def _first_time(vertices: Ints, chosen: NDArray[np.bool_], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the chosen moves that are the first on their vertex; `seen` is brought up to date."""
    mask = np.zeros(len(vertices), dtype=np.bool_)
    at = np.flatnonzero(chosen)
    new, first = np.unique(vertices[at], return_index=True)
    mask[at[first[~seen[new]]]] = True
    seen[new] = True
    return mask


def _levels(count: Ints, scale: Ints) -> NDArray[np.uint8]:
    """Counts as shares of 255, rounded up, so that a single pebble is seen."""
    levels: NDArray[np.uint8] = np.minimum(-(-count * 255 // scale), 255).astype(np.uint8)
    return levels
