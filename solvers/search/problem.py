"""What the searches need to know of an instance, in arrays of machine words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.instance import Instance

__all__ = ["MAX_VERTICES", "Problem", "bits", "mask_words", "table_size"]

# Four words: compiled code for sets is unrolled word by word, which pays while the words are few.
MAX_VERTICES = 256


def mask_words(num_vertices: int) -> int:
    """Words per set of vertices: 1, 2 or 4, so that few variants are compiled."""
    return 1 if num_vertices <= 64 else 2 if num_vertices <= 128 else 4


def bits(mask: int) -> list[int]:
    """The members of a set given as a Python int, ascending.

    Examples
    --------
    >>> bits(0b10110)
    [1, 2, 4]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def table_size(entries: int) -> int:
    """Slots of a hash table for so many entries: a power of two, at most half full."""
    return 1 << max(4, (2 * entries - 1).bit_length())


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance renumbered topologically, without its isolated vertices.

    Attributes
    ----------
    instance : Instance
    original : ndarray of int64, shape (n,)
        The instance's vertex behind each of the problem's.
    edges : ndarray of int64, shape (num_edges, 2)
        ``(predecessor, vertex)`` in the problem's numbers.
    weights : ndarray of int64, shape (n,)
        Words per vertex.
    is_source, is_output : ndarray of bool, shape (n,)
        Outputs that are sources are left out: they are blue from the start.
    outside : ndarray of int64, shape (n,), optional
        Of a block of a larger graph: words of each vertex's predecessors outside.
    """

    instance: Instance
    original: NDArray[np.int64]
    edges: NDArray[np.int64]
    weights: NDArray[np.int64]
    is_source: NDArray[np.bool_]
    is_output: NDArray[np.bool_]
    outside: NDArray[np.int64] | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, instance: Instance) -> Problem:
        """Prepare `instance`; O(|V| + |E|)."""
        g = instance.cdag
        order = g.topological_order
        touched = g.in_degree > 0
        touched[g.indices] = True
        original = order[touched[order]]
        new = np.full(g.num_vertices, -1, dtype=np.int64)
        new[original] = np.arange(len(original))
        pairs = g.edges()
        weights = np.ones(len(original), dtype=np.int64) if g.weights is None else g.weights[original]
        is_source = g.is_source[original]
        return cls(
            instance=instance,
            original=original,
            edges=new[pairs] if len(pairs) else pairs,
            weights=weights,
            is_source=is_source,
            is_output=g.is_output[original] & ~is_source,
        )

    @property
    def n(self) -> int:
        """Number of vertices left."""
        return len(self.original)

    @property
    def M(self) -> int:
        """Words of fast memory; more than all the graph's words make no difference and are cut off."""
        if self.outside is not None:
            return self.instance.M
        return int(min(self.instance.M, self.weights.sum() + 1))

    @property
    def rooms(self) -> NDArray[np.int64]:
        """Words that computing each vertex takes besides those of its predecessors."""
        return self.weights if self.outside is None else self.weights + self.outside

    @property
    def words(self) -> int:
        """Machine words per set."""
        return mask_words(self.n)

    @property
    def unit(self) -> bool:
        """Whether every vertex is one word."""
        return bool((self.weights == 1).all())

    @cached_property
    def preds(self) -> list[int]:
        """Predecessors of every vertex, as Python ints."""
        masks = [0] * self.n
        for u, v in self.edges.tolist():
            masks[v] |= 1 << u
        return masks

    @cached_property
    def succs(self) -> list[int]:
        """Successors of every vertex, as Python ints."""
        masks = [0] * self.n
        for u, v in self.edges.tolist():
            masks[u] |= 1 << v
        return masks

    @cached_property
    def sources(self) -> int:
        """The sources, as a Python int."""
        return self.mask(np.flatnonzero(self.is_source).tolist())

    @cached_property
    def outputs(self) -> int:
        """The vertices to be stored, as a Python int."""
        return self.mask(np.flatnonzero(self.is_output).tolist())

    @property
    def cost_unit(self) -> int:
        """What every cost is a multiple of."""
        return 1

    @property
    def compulsory(self) -> int:
        """I/Os, in words, that every schedule pays: each source loaded once, each output stored once."""
        return int(self.weights[self.is_source | self.is_output].sum())

    @staticmethod
    def mask(members: list[int]) -> int:
        """The set of `members` as a Python int."""
        total = 0
        for v in members:
            total |= 1 << v
        return total

    def packed(self, masks: list[int]) -> NDArray[np.uint64]:
        """Sets as rows of machine words, shape (len(masks), words)."""
        rows = [[mask >> 64 * k & 0xFFFFFFFFFFFFFFFF for k in range(self.words)] for mask in masks]
        return np.array(rows, dtype=np.uint64).reshape(len(masks), self.words)

    def as_set(self, mask: int) -> Any:
        """A set given as a Python int, in the form that the kernels are compiled for."""
        words = [np.uint64(mask >> 64 * k & 0xFFFFFFFFFFFFFFFF) for k in range(self.words)]
        return words[0] if len(words) == 1 else tuple(words)

    @staticmethod
    def as_int(a: Any) -> int:
        """A set that a kernel returned, as a Python int."""
        if isinstance(a, tuple):
            return sum(int(word) << 64 * k for k, word in enumerate(a))
        return int(a)

    def unpacked(self, row: NDArray[np.uint64]) -> int:
        """One row of machine words as a Python int."""
        return sum(int(word) << 64 * k for k, word in enumerate(row))

    @property
    def zero(self) -> Any:
        """The empty set in the form that the kernels are compiled for."""
        return self.as_set(0)
