"""A CDAG in layers: generations, an order within each that keeps edges short, coordinates.

The method is that of Sugiyama, Tagawa & Toda (1981): barycentres, swept up and down. An edge that spans
several layers counts with its end points alone, without dummy vertices.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pebble import topology
from pebble.cdag import CDAG

__all__ = ["LAYER_GAP", "Layers", "find_layers", "layer_coordinates"]

_COMPILE_FROM = 50_000
# Above these sizes the builder's own numbering is kept: sweeps would take long and show nothing.
_MOST_SWEPT_VERTICES = 200_000
_MOST_SWEPT_LAYERS = 2_000
_SWEEPS = 12
# The given numbering stays unless squared edge lengths fall to this share: a butterfly keeps its known form.
_WORTH_IT = 0.6
LAYER_GAP = 1.7

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Layers:
    """Vertices by layer.

    Attributes
    ----------
    order : ndarray of int64, shape (num_vertices,)
        All vertices, layer after layer, in their order within the layer.
    starts : ndarray of int64, shape (num_layers + 1,)
        Layer ``l`` is ``order[starts[l]:starts[l + 1]]``.
    """

    order: Ints
    starts: Ints

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self.starts) - 1

    def __getitem__(self, layer: int) -> Ints:
        """The vertices of one layer, in order."""
        return self.order[self.starts[layer] : self.starts[layer + 1]]


def find_layers(cdag: CDAG) -> Layers:
    """Vertices by generation, each layer ordered by barycentres; O(|V| + |E|) per sweep, twelve sweeps.

    Examples
    --------
    >>> g = CDAG.from_edges(6, [(0, 5), (1, 4), (2, 3)])
    >>> layers = find_layers(g)
    >>> layers[0].tolist(), layers[1].tolist()
    ([0, 1, 2], [5, 4, 3])
    """
    level = _generations(cdag)
    order = np.argsort(level, kind="stable")
    depth = int(level.max(initial=-1)) + 1
    starts = np.searchsorted(level[order], np.arange(depth + 1))
    layers = Layers(order, starts)
    if depth < 2 or cdag.num_vertices > _MOST_SWEPT_VERTICES or depth > _MOST_SWEPT_LAYERS:
        return layers
    return Layers(order[_untangled(cdag.renumber(order), layers)], starts)


def layer_coordinates(cdag: CDAG, layers: Layers) -> tuple[Floats, Floats, bool]:
    """A point for every vertex, neighbours in a layer at least 1 apart, and whether layers lie in rows.

    Wide graphs are drawn upwards (sources at the bottom, y grows downwards), deep ones from left to right.
    A layer much wider than the picture is folded into several rows.
    """
    n, depth = cdag.num_vertices, layers.depth
    across, along = np.zeros(n), np.zeros(n)
    widest = int(np.diff(layers.starts).max(initial=0))
    fold = max(30, int(np.ceil(2.2 * np.sqrt(n))))
    if widest > fold:
        row = 0.0
        for l in range(depth):
            members = layers[l]
            rows = -(-len(members) // fold)
            width = -(-len(members) // rows)
            column, line = np.arange(len(members)) % width, np.arange(len(members)) // width
            across[members] = column - (width - 1) / 2
            along[members] = row + line
            row += rows - 1 + LAYER_GAP
    else:
        for l in range(depth):
            along[layers[l]] = l * LAYER_GAP
        across = _relaxed(cdag, layers)
    across -= across.min(initial=0)
    if across.max(initial=0) + 1 >= depth:
        return across, along.max(initial=0) - along, True
    return along, across, False


def _generations(cdag: CDAG) -> Ints:
    order = cdag.topological_order
    if cdag.num_vertices + cdag.num_edges < _COMPILE_FROM:
        return topology.generations(cdag.indptr, cdag.indices, order)
    from pebble import kernels

    level: Ints = kernels.generations(cdag.indptr, cdag.indices, order)
    return level


def _untangled(cdag: CDAG, layers: Layers) -> Ints:
    """The best order found by sweeps; vertices of `cdag` are numbered layer after layer."""
    n, starts = cdag.num_vertices, layers.starts
    succ_ptr, succ = cdag.successors
    edges = cdag.edges()
    rank = np.empty(n)
    for lo, hi in itertools.pairwise(starts):
        rank[lo:hi] = np.arange(hi - lo) - (hi - lo - 1) / 2
    best, shortest, given = rank, np.inf, np.inf
    for sweep in range(_SWEEPS + 1):
        length = float(((rank[edges[:, 0]] - rank[edges[:, 1]]) ** 2).sum())
        if sweep == 0 or length < min(shortest, _WORTH_IT * given):
            best, shortest = rank.copy(), length
            given = length if sweep == 0 else given
        down = sweep % 2 == 0
        ptr, near = (cdag.indptr, cdag.indices) if down else (succ_ptr, succ)
        for l in range(layers.depth) if down else range(layers.depth - 1, -1, -1):
            lo, hi = int(starts[l]), int(starts[l + 1])
            wanted = _neighbour_means(rank, ptr, near, lo, hi)
            rank[lo + np.argsort(wanted, kind="stable")] = np.arange(hi - lo) - (hi - lo - 1) / 2
    layer_of = np.repeat(np.arange(layers.depth), np.diff(starts))
    return np.lexsort((best, layer_of))


def _neighbour_means(
    value: Floats, ptr: NDArray[np.int64], near: NDArray[np.int64], lo: int, hi: int
) -> Floats:
    """The mean value of each vertex's neighbours, its own where it has none."""
    first = int(ptr[lo])
    sums = np.concatenate(([0.0], np.cumsum(value[near[first : int(ptr[hi])]])))
    ends = ptr[lo : hi + 1].astype(np.int64) - first
    count = np.diff(ends)
    total = sums[ends[1:]] - sums[ends[:-1]]
    return np.where(count > 0, total / np.maximum(count, 1), value[lo:hi])


def _relaxed(cdag: CDAG, layers: Layers) -> Floats:
    """Coordinates across the layers: near the neighbours' mean, in order, at least 1 apart."""
    n = cdag.num_vertices
    ordered = cdag.renumber(layers.order)
    succ_ptr, succ = ordered.successors
    x = np.empty(n)
    starts = layers.starts
    for lo, hi in itertools.pairwise(starts):
        x[lo:hi] = np.arange(hi - lo) - (hi - lo - 1) / 2
    if layers.depth <= _MOST_SWEPT_LAYERS:
        for down in (True, False, True):
            ptr, near = (ordered.indptr, ordered.indices) if down else (succ_ptr, succ)
            for l in range(layers.depth) if down else range(layers.depth - 1, -1, -1):
                lo, hi = int(starts[l]), int(starts[l + 1])
                x[lo:hi] = _spread(_neighbour_means(x, ptr, near, lo, hi))
    result = np.empty(n)
    result[layers.order] = x
    return result


def _spread(wanted: Floats) -> Floats:
    """The points nearest to `wanted`, in least squares, that ascend by at least 1 (pooling violators)."""
    means: list[float] = []
    sizes: list[int] = []
    for i, value in enumerate(wanted.tolist()):
        mean, size = value - i, 1
        while means and means[-1] > mean:
            last = sizes.pop()
            mean = (mean * size + means.pop() * last) / (size + last)
            size += last
        means.append(mean)
        sizes.append(size)
    return np.repeat(means, sizes) + np.arange(len(wanted))
