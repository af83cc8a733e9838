"""Orders and cycles of a predecessor CSR, as plain loops.

The functions run as Python on small graphs; `pebble.kernels` compiles the very same functions for large
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["find_cycle", "generations", "reverse_csr", "topological_order"]


def reverse_csr(indptr: NDArray[Any], indices: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Successor CSR of a predecessor CSR (or back), each row ascending; O(|V| + |E|)."""
    n = len(indptr) - 1
    out_ptr = np.zeros(n + 1, dtype=np.int64)
    for e in range(len(indices)):
        out_ptr[indices[e] + 1] += 1
    for v in range(n):
        out_ptr[v + 1] += out_ptr[v]
    fill = out_ptr[:n].copy()
    out = np.empty(len(indices), dtype=np.int64)
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            out[fill[u]] = v
            fill[u] += 1
    return out_ptr, out


def topological_order(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    succ_ptr: NDArray[Any],
    succ: NDArray[Any],
) -> tuple[NDArray[np.int64], int]:
    """Kahn's order (first in, first out) and how many vertices it reached; fewer than |V| means a cycle."""
    n = len(indptr) - 1
    order = np.empty(n, dtype=np.int64)
    missing = np.empty(n, dtype=np.int64)
    tail = 0
    for v in range(n):
        missing[v] = indptr[v + 1] - indptr[v]
        if missing[v] == 0:
            order[tail] = v
            tail += 1
    head = 0
    while head < tail:
        u = order[head]
        head += 1
        for e in range(succ_ptr[u], succ_ptr[u + 1]):
            w = succ[e]
            missing[w] -= 1
            if missing[w] == 0:
                order[tail] = w
                tail += 1
    return order, tail


def find_cycle(indptr: NDArray[Any], indices: NDArray[Any], reached: NDArray[np.bool_]) -> list[int]:
    """One cycle, in edge order, among the vertices that Kahn's order did not reach.

    Every such vertex has a predecessor of the same kind, so walking to predecessors must close a loop.
    """
    start = int(np.flatnonzero(~reached)[0])
    seen: dict[int, int] = {}
    walk: list[int] = []
    v = start
    while v not in seen:
        seen[v] = len(walk)
        walk.append(v)
        row = indices[indptr[v] : indptr[v + 1]]
        v = int(row[~reached[row]][0])
    loop = walk[seen[v] :][::-1]
    pivot = loop.index(min(loop))
    return loop[pivot:] + loop[:pivot]


def generations(indptr: NDArray[Any], indices: NDArray[Any], order: NDArray[Any]) -> NDArray[np.int64]:
    """Per vertex the edges of the longest path that ends in it; O(|V| + |E|) along a topological order."""
    level = np.zeros(len(indptr) - 1, dtype=np.int64)
    for i in range(len(order)):
        v = order[i]
        for e in range(indptr[v], indptr[v + 1]):
            level[v] = max(level[v], level[indices[e]] + 1)
    return level
