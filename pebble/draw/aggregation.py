"""A schedule in few steps of time: counts per step, and how full of pebbles each cell is after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.draw.effects import Replay
from pebble.instance import Instance
from pebble.moves import Op

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
        Most red words within the step; in a slide, where one pebble moves, never above M.
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
    """Cut moves that are legal under the instance's rules into at most `most_steps` steps.

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
    count, cells = len(moves), len(scale)
    cuts = max(1, min(most_steps, count))
    steps = cuts + 1
    ends = (np.arange(steps) * count) // cuts
    tallies = np.zeros((4, steps), dtype=np.int64)
    peak = np.zeros(steps, dtype=np.int64)
    turned = np.zeros((2, steps * cells), dtype=np.int64)
    replay = Replay(instance)
    # The start stands in the first row.
    for row, mask in zip(turned, (replay.red, replay.blue), strict=True):
        row[:cells] = np.bincount(cell_of[mask], minlength=cells)
    words_red = replay.red_words
    peak[0] = words_red
    for lo in range(0, count, _SLICE):
        done = replay.play(moves[lo : lo + _SLICE])
        step = np.searchsorted(ends, np.arange(lo, lo + len(done.ops)), side="right")
        held = words_red + np.cumsum(done.red * done.words)
        words_last = int(held[-1])
        # In an open slide one pebble is on its way between two vertices.
        held = np.minimum(held, replay.capacity)
        np.maximum.at(peak, step, held)
        # A step begins with what the one before left, which may be its peak.
        peak[step[0]] = max(int(peak[step[0]]), min(words_red, replay.capacity))
        words_red = words_last
        begins = np.flatnonzero(np.diff(step) > 0)
        np.maximum.at(peak, step[begins + 1], held[begins])
        place = step * cells + cell_of[done.vertices]
        for row, turns in zip(turned, (done.red, done.blue), strict=True):
            row += np.bincount(place, weights=turns, minlength=len(row)).astype(np.int64)
        counted = (
            done.words * (done.ops == Op.LOAD),
            done.words * (done.ops == Op.STORE),
            done.completed > 0,
            done.completed > 1,
        )
        for tally, figures in zip(tallies, counted, strict=True):
            tally += np.bincount(step, weights=figures, minlength=steps).astype(np.int64)
    red, blue = (_levels(np.cumsum(row.reshape(steps, cells), axis=0), scale) for row in turned)
    loads, stores, computes, recomputes = np.cumsum(tallies, axis=1)
    return Steps(ends, loads, stores, computes, recomputes, peak, red, blue)


def _levels(count: Ints, scale: Ints) -> NDArray[np.uint8]:
    """Counts as shares of 255, rounded up, so that a single pebble is seen."""
    levels: NDArray[np.uint8] = np.minimum(-(-count * 255 // scale), 255).astype(np.uint8)
    return levels
