"""Orders and cycles of a predecessor CSR, as plain loops.

The functions run as Python on small graphs; `pebble.kernels` compiles the very same functions for large
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["find_cycle", "generations", "predecessor_csr", "reverse_csr", "topological_order"]

_EDGES_PER_BLOCK = 1 << 16


def predecessor_csr(
    pairs: NDArray[Any], n: int
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int, int] | None]:
    """Predecessor CSR of edges, each kept once; predecessors in the order in which their edges are given.

    Parameters
    ----------
    pairs : ndarray of int32 or int64, shape (m, 2)
        Edges (predecessor, vertex), in range.
    n : int
        Number of vertices.

    Returns
    -------
    indptr, indices : ndarray of int32, or int64 where that is too small
    repeats : tuple of int, or None
        How many edges were dropped because they are given before, and the ends of the first of them.

    Notes
    -----
    O(n + m log m). Some 16 bytes per edge besides the result, twice that where edges are given twice.
    """
    m = len(pairs)
    index: type[Any] = np.int32 if max(n, m) < 2**31 else np.int64
    targets = pairs[:, 1]
    counts: NDArray[Any] = np.zeros(n + 1, dtype=index)
    ascending, last = True, -1
    for lo in range(0, m, _EDGES_PER_BLOCK):
        block: NDArray[np.int64] = targets[lo : lo + _EDGES_PER_BLOCK].astype(np.int64)
        np.add.at(counts[1:], block, 1)
        ascending = ascending and last <= block[0] and bool((block[1:] >= block[:-1]).all())
        last = int(block[-1])
    indices = pairs[:, 0].astype(index)
    if not ascending:
        indices = indices[_stable_order(targets)]
    owners: NDArray[Any] = np.repeat(np.arange(n, dtype=index), counts[1:])
    if m and _any_twice(owners, indices, n):
        twice = _given_before(owners, indices, n)
        first = int(np.flatnonzero(twice)[0])
        repeats = int(twice.sum()), int(indices[first]), int(owners[first])
        np.subtract.at(counts[1:], owners[twice], 1)
        return np.cumsum(counts, dtype=index), indices[~twice], repeats
    return np.cumsum(counts, dtype=index), indices, None


def _stable_order(keys: NDArray[Any]) -> NDArray[np.int64]:
    """The order that sorts small whole numbers of at least 0, equal ones as they stand."""
    m = len(keys)
    if not m or m > 2**32 or int(keys.max()) >= 2**31:
        return np.argsort(keys, kind="stable")
    # Key and position in one number: sorted in place, which is quicker and takes half the memory.
    order = np.empty(m, dtype=np.int64)
    for lo in range(0, m, _EDGES_PER_BLOCK):
        block = keys[lo : lo + _EDGES_PER_BLOCK].astype(np.int64)
        order[lo : lo + len(block)] = block << 32 | np.arange(lo, lo + len(block))
    order.sort()
    order &= 2**32 - 1
    return order


def _edge_keys(owners: NDArray[Any], indices: NDArray[Any], n: int) -> NDArray[np.int64]:
    """One number for each edge, the same for the same ends."""
    keys = owners.astype(np.int64)
    keys *= n
    keys += indices
    return keys


def _any_twice(owners: NDArray[Any], indices: NDArray[Any], n: int) -> bool:
    """Whether some edge is given twice, of edges sorted by owner."""
    keys = _edge_keys(owners, indices, n)
    if (keys[1:] > keys[:-1]).all():
        return False
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def _given_before(owners: NDArray[Any], indices: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Which edges are given before."""
    keys = _edge_keys(owners, indices, n)
    order = np.argsort(keys, kind="stable")
    before = np.zeros(len(keys), dtype=np.bool_)
    for lo in range(1, len(keys), _EDGES_PER_BLOCK):
        hi = min(lo + _EDGES_PER_BLOCK, len(keys))
        same = keys[order[lo:hi]] == keys[order[lo - 1 : hi - 1]]
        before[order[lo:hi][same]] = True
    return before


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
