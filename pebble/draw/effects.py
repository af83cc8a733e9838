"""What the moves of a legal schedule do to pebbles, under any rules: what drawings over time are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pebble.aggregates import computed_vertices
from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays

__all__ = ["Effects", "Replay"]


class Effects(NamedTuple):
    """Arrays with an entry per move.

    Attributes
    ----------
    ops : ndarray of uint8
    vertices : ndarray of int64
        The vertex that a move is about: under partial rules, of an aggregate, the one aggregated into.
    words : ndarray of int64
        Its words.
    red, blue : ndarray of int8
        1 if the vertex gains a pebble, -1 if it loses one, else 0.
    completed : ndarray of int8
        1 if the move computes a value, under partial rules completes it; 2 if it was computed before.
    """

    ops: NDArray[np.uint8]
    vertices: NDArray[np.int64]
    words: NDArray[np.int64]
    red: NDArray[np.int8]
    blue: NDArray[np.int8]
    completed: NDArray[np.int8]


class Replay:
    """Plays legal moves in slices and tells what each does.

    Attributes
    ----------
    red, blue, computed : ndarray of bool, shape (num_vertices,)
        The position; its start before the first slice. Under partial rules sources are computed.
    red_words : int
        Words that are red at the start.
    capacity : int
        M, as far as it fits 64 bits.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from pebble.moves import pack
    >>> instance = Instance(CDAG.from_edges(2, [(0, 1)]), 2, "one-shot+no-delete")
    >>> done = Replay(instance).play(pack(["L0", "C1", "S0", "S1"], 2))
    >>> done.red.tolist(), done.blue.tolist(), done.completed.tolist()
    ([1, 1, -1, -1], [0, 0, 0, 1], [0, 1, 0, 0])
    """

    def __init__(self, instance: Instance) -> None:
        from pebble.boards import Board

        board = Board.of(instance)
        self._instance = instance
        self._state = board.state
        self._degree = np.diff(instance.cdag.indptr).astype(np.int64)
        self._aggregated = np.zeros(instance.cdag.num_vertices, dtype=np.int64)
        self.red_words = board.red_words
        self.capacity = board.capacity

    def play(self, moves: NDArray[Any]) -> Effects:
        """What packed moves, known to be legal, do; O(their number), times log |V| under partial rules."""
        from pebble.draw.effect_kernels import effects

        cdag, rules = self._instance.cdag, self._instance.rules
        ops, vertices = unpack_arrays(moves)
        if rules.partial:
            computes = ops == Op.COMPUTE
            vertices[computes] = computed_vertices(cdag, vertices[computes])
        turns = np.zeros((3, len(ops)), dtype=np.int8)
        flags = (rules.partial, rules.deletion)
        effects(ops, vertices, self._degree, *flags, self._state, self._aggregated, turns)
        words = np.ones(len(ops), dtype=np.int64) if cdag.weights is None else cdag.weights[vertices]
        return Effects(ops, vertices, words, *turns)

    @property
    def red(self) -> NDArray[np.bool_]:
        from pebble.referee_kernels import RED

        return np.asarray(self._state & RED != 0)

    @property
    def blue(self) -> NDArray[np.bool_]:
        from pebble.referee_kernels import BLUE

        return np.asarray(self._state & BLUE != 0)

    @property
    def computed(self) -> NDArray[np.bool_]:
        from pebble.referee_kernels import COMPUTED

        return np.asarray(self._state & COMPUTED != 0)
