"""Where the vertices of a graph's arrays and of their partial sums lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from pebble.cdag import CDAG, SumLayout
from pebble.errors import UnsupportedInstanceError

__all__ = ["Addresses"]

# How far the vertex of one partial sum lies from the next one's.
_STEPS = {"chain": 2, "chain-fma": 1, "chain-reduce": 1}


class Addresses:
    """The arrays of a graph by name, each checked on first use in O(its size).

    Parameters
    ----------
    cdag : CDAG
    """

    def __init__(self, cdag: CDAG) -> None:
        self._cdag = cdag
        self._arrays: dict[str, tuple[int, tuple[int, ...]]] = {}

    def array(self, name: str) -> tuple[int, tuple[int, ...]]:
        """The first vertex of an array and how far the next one lies along each axis.

        Raises
        ------
        UnsupportedInstanceError
            The graph has no such array, or its vertices are no affine function of the indices.
        """
        if name not in self._arrays:
            if name not in self._cdag.tensors:
                raise UnsupportedInstanceError(
                    f"the graph names no array {name}, which the tile program uses"
                )
            ids = self._cdag.tensors[name]
            origin = int(ids.flat[0])
            strides = []
            affine: Any = origin
            for axis, length in enumerate(ids.shape):
                stride = int(ids.take(1, axis).flat[0]) - origin if length > 1 else 0
                strides.append(stride)
                affine = affine + (stride * np.arange(length)).reshape(-1, *[1] * (ids.ndim - axis - 1))
            if not np.array_equal(ids, affine):
                raise UnsupportedInstanceError(
                    f"the vertices of array {name} are not numbered row by row: "
                    "play the tile program on the graph as it was built"
                )
            self._arrays[name] = origin, tuple(strides)
        return self._arrays[name]

    def sums(self, name: str) -> SumLayout:
        """Where the partial sums of an array lie; UnsupportedInstanceError if it has none in sequence."""
        layout = self._cdag.sums.get(name)
        if layout is None or layout.layout not in _STEPS:
            found = "no sums" if layout is None else f"{layout.layout} sums"
            raise UnsupportedInstanceError(f"{name} has {found} in this graph: tile programs need sums=chain")
        return layout

    def step(self, name: str) -> int:
        """How far the sum after one more term lies: 2 where a product stands before each add, else 1."""
        return _STEPS[self.sums(name).layout]
