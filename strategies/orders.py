"""Topological orders by name: which vertex to compute when. Eviction is another matter.

Every order holds each non-source once, after its operands: in a CDAG every vertex leads to a sink, and every
sink is an output, so all of them are needed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import UnknownNameError

__all__ = ["ORDERS", "greedy", "order_named"]


def natural(cdag: CDAG) -> NDArray[Any]:
    """The ids themselves where they are topological, else first ready, first computed. O(|V| + |E|)."""
    order = cdag.topological_order
    return order[~cdag.is_source[order]].astype(cdag.indices.dtype)


def bfs(cdag: CDAG) -> NDArray[Any]:
    """By level, the longest path from a source; then by id. O(|V| log |V| + |E|)."""
    from strategies.order_kernels import heights

    height = heights(cdag.indptr, cdag.indices, cdag.topological_order)
    order = np.argsort(height, kind="stable")[np.count_nonzero(cdag.is_source) :]
    return order.astype(cdag.indices.dtype)


def dfs(cdag: CDAG) -> NDArray[Any]:
    """Depth first from the sinks, operands in their own order, then the vertex itself. O(|V| + |E|)."""
    return _depth_first(cdag, cdag.indices)


def dfs_deep(cdag: CDAG) -> NDArray[Any]:
    """`dfs`, operands with the longest path from a source first. O(|V| + |E|) plus sorting the rows."""
    from strategies.order_kernels import heights

    return _depth_first(cdag, _ranked(cdag, heights(cdag.indptr, cdag.indices, cdag.topological_order)))


def dfs_large(cdag: CDAG) -> NDArray[Any]:
    """`dfs`, operands with most work behind them (unfolded to a tree) first."""
    from strategies.order_kernels import tree_sizes

    return _depth_first(cdag, _ranked(cdag, tree_sizes(cdag.indptr, cdag.indices, cdag.topological_order)))


def dfs_need(cdag: CDAG) -> NDArray[Any]:
    """`dfs`, operands that need most words first: on trees the order of Sethi & Ullman (1970)."""
    return _depth_first(cdag, _by_need(cdag))


def eager(cdag: CDAG) -> NDArray[Any]:
    """`dfs-need`, but what can be computed without taking more words is computed at once."""
    return _eager(cdag, _by_need(cdag))


def eager_deep(cdag: CDAG) -> NDArray[Any]:
    """`dfs-deep`, but what can be computed without taking more words is computed at once."""
    from strategies.order_kernels import heights

    return _eager(cdag, _ranked(cdag, heights(cdag.indptr, cdag.indices, cdag.topological_order)))


def stack(cdag: CDAG) -> NDArray[Any]:
    """Last ready, first computed. O(|V| + |E|)."""
    from strategies.order_kernels import stack_order

    order: NDArray[Any] = stack_order(cdag.indptr, cdag.indices, *cdag.successors)
    return order


def greedy(cdag: CDAG, ties: NDArray[Any] | None = None) -> NDArray[Any]:
    """Least live words: next the ready vertex whose compute frees most words less its own.

    Parameters
    ----------
    cdag : CDAG
    ties : ndarray of int, shape (num_vertices,), optional
        A permutation of the vertices. Among equals the vertex whose operands were touched latest goes first,
        then the first in `ties`; by default the lowest id.

    Notes
    -----
    O(|E| log |V|).
    """
    from strategies import order_kernels as kernels

    rank = np.arange(cdag.num_vertices, dtype=np.int32)
    if ties is not None:
        rank[ties] = rank.copy()
    order: NDArray[Any] = kernels.greedy(cdag.indptr, cdag.indices, *cdag.successors, _words(cdag), rank)
    return order


ORDERS: dict[str, Callable[[CDAG], NDArray[Any]]] = {
    "natural": natural,
    "greedy": greedy,
    "eager": eager,
    "eager-deep": eager_deep,
    "stack": stack,
    "dfs": dfs,
    "dfs-deep": dfs_deep,
    "dfs-large": dfs_large,
    "dfs-need": dfs_need,
    "bfs": bfs,
}
"""Name to ``order(cdag)``, which returns the non-sources, each once and after its operands."""


def order_named(name: str) -> Callable[[CDAG], NDArray[Any]]:
    """The order of that name; UnknownNameError, with suggestions, if there is none.

    ``greedy~7`` is `greedy` with ties broken by the seventh shuffle of the vertices.

    Examples
    --------
    >>> order_named("dfs")(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)])).tolist()
    [2, 3]
    """
    key = name.strip().lower().replace("_", "-")
    base, shuffle, number = key.partition("~")
    if base == "greedy" and shuffle and number.isdecimal():
        return lambda cdag: greedy(cdag, np.random.default_rng(int(number)).permutation(cdag.num_vertices))
    if key not in ORDERS:
        near = difflib.get_close_matches(key, ORDERS, 2)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UnknownNameError(f"no order '{name}'{hint} (known: {', '.join(ORDERS)})", name, near)
    return ORDERS[key]


def _words(cdag: CDAG) -> NDArray[np.int64]:
    # Read-only like the graph's own arrays: one compiled kernel serves both.
    words = np.empty(0, dtype=np.int64) if cdag.weights is None else cdag.weights
    words.setflags(write=False)
    return words


def _ranked(cdag: CDAG, key: NDArray[np.float64]) -> NDArray[Any]:
    from strategies.order_kernels import ranked_operands

    rows: NDArray[Any] = ranked_operands(cdag.indptr, cdag.indices, key)
    rows.setflags(write=False)
    return rows


def _by_need(cdag: CDAG) -> NDArray[Any]:
    from strategies.order_kernels import words_needed

    need = words_needed(cdag.indptr, cdag.indices, cdag.topological_order, _words(cdag))
    return _ranked(cdag, need)


def _depth_first(cdag: CDAG, rows: NDArray[Any]) -> NDArray[Any]:
    from strategies.order_kernels import postorder

    order: NDArray[Any] = postorder(cdag.indptr, rows, cdag.sinks)
    return order


def _eager(cdag: CDAG, rows: NDArray[Any]) -> NDArray[Any]:
    from strategies.order_kernels import eager_postorder

    order: NDArray[Any] = eager_postorder(cdag.indptr, rows, *cdag.successors, _words(cdag), cdag.sinks)
    return order
