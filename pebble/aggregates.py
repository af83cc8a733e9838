"""Partial computation's computes: each names an edge, and aggregates its tail into its head.

Under partial rules the id of a COMPUTE move is an **aggregate id**: ``e < |E|`` is the edge e in the order of
`CDAG.indices`, so that the in-edges of v are ``indptr[v] … indptr[v + 1] - 1``; ``|E| + v`` computes the
source v, under free sources. All other moves name vertices, as ever.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble.cdag import CDAG

__all__ = ["aggregate_id", "aggregate_of", "computed_vertices"]


def aggregate_id(cdag: CDAG, u: int, v: int) -> int:
    """The id that aggregates `u` into `v`; ValueError if there is no such edge; O(in-degree of v).

    Examples
    --------
    >>> aggregate_id(CDAG.from_edges(3, [(0, 2), (1, 2)]), 1, 2)
    1
    """
    at = np.flatnonzero(cdag.preds(v) == u)
    if not len(at):
        raise ValueError(f"there is no edge from {u} to {v}")
    return int(cdag.indptr[v]) + int(at[0])


def aggregate_of(cdag: CDAG, aggregate: int) -> tuple[int, int]:
    """The edge ``(u, v)`` that an aggregate id names, ``(-1, v)`` for a source v; O(log |V|).

    Examples
    --------
    >>> g = CDAG.from_edges(3, [(0, 2), (1, 2)])
    >>> aggregate_of(g, 1), aggregate_of(g, g.num_edges + 0)
    ((1, 2), (-1, 0))
    """
    if aggregate >= cdag.num_edges:
        return -1, aggregate - cdag.num_edges
    return int(cdag.indices[aggregate]), int(computed_vertices(cdag, aggregate))


def computed_vertices(cdag: CDAG, aggregates: ArrayLike) -> NDArray[np.int64]:
    """The vertices into which aggregate ids aggregate, or the sources that they compute; O(log |V|) each.

    Examples
    --------
    >>> computed_vertices(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), [0, 2, 3]).tolist()
    [2, 3, 0]
    """
    ids = np.asarray(aggregates, dtype=np.int64)
    heads = np.searchsorted(cdag.indptr, ids, side="right") - 1
    return np.asarray(np.where(ids < cdag.num_edges, heads, ids - cdag.num_edges), dtype=np.int64)
