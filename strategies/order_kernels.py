"""Compiled topological orders. Importing this module imports numba, so only functions import it.

All of them return the non-sources, each after its operands; none recurses.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "eager_postorder",
    "greedy",
    "heights",
    "postorder",
    "ranked_operands",
    "stack_order",
    "tree_sizes",
    "words_needed",
]

# An operand tells its users that it was used while at most this many of them are left.
_FEW = 4
# Rows up to this long are sorted by insertion.
_SHORT_ROW = 32


@numba.njit(cache=True, nogil=True)
def heights(indptr: NDArray[Any], indices: NDArray[Any], order: NDArray[Any]) -> NDArray[np.float64]:
    """Edges on the longest path from a source, per vertex; `order` is topological. O(|V| + |E|)."""
    height = np.zeros(len(indptr) - 1, dtype=np.float64)
    for v in order:
        for e in range(indptr[v], indptr[v + 1]):
            height[v] = max(height[v], height[indices[e]] + 1)
    return height


@numba.njit(cache=True, nogil=True)
def tree_sizes(indptr: NDArray[Any], indices: NDArray[Any], order: NDArray[Any]) -> NDArray[np.float64]:
    """Vertices of the graph above each vertex, unfolded to a tree (shared ones count each time)."""
    size = np.ones(len(indptr) - 1, dtype=np.float64)
    for v in order:
        for e in range(indptr[v], indptr[v + 1]):
            size[v] = min(size[v] + size[indices[e]], 1e300)
    return size


@numba.njit(cache=True, nogil=True)
def _rank(row: NDArray[Any], key: NDArray[np.float64]) -> None:
    """Sort vertices by `key`, largest first, stably."""
    if len(row) > _SHORT_ROW:
        own = np.empty(len(row), dtype=np.float64)
        for i in range(len(row)):
            own[i] = -key[row[i]]
        row[:] = row[np.argsort(own, kind="mergesort")]
        return
    for i in range(1, len(row)):
        u = row[i]
        j = i
        while j > 0 and key[row[j - 1]] < key[u]:
            row[j] = row[j - 1]
            j -= 1
        row[j] = u


@numba.njit(cache=True, nogil=True)
def words_needed(
    indptr: NDArray[Any], indices: NDArray[Any], order: NDArray[Any], words: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Words that computing each vertex takes without a spill, less its own, its graph unfolded to a tree.

    Operands are best made in descending order of this figure (Sethi & Ullman 1970; Liu 1987 for weights),
    since a finished one holds its own words. Sources come last: they are held only while their vertex is
    computed. O(|V| + |E| log of the in-degree).
    """
    spare = np.zeros(len(indptr) - 1, dtype=np.float64)
    longest = 0
    for v in range(len(indptr) - 1):
        longest = max(longest, indptr[v + 1] - indptr[v])
    row = np.empty(longest, dtype=indices.dtype)
    for v in order:
        lo, hi = indptr[v], indptr[v + 1]
        if lo == hi:
            spare[v] = -1.0
            continue
        row[: hi - lo] = indices[lo:hi]
        _rank(row[: hi - lo], spare)
        held = most = 0.0
        for i in range(hi - lo):
            p = row[i]
            own = float(words[p]) if len(words) else 1.0
            if indptr[p] < indptr[p + 1]:
                most = max(most, held + own + spare[p])
            held += own
        spare[v] = max(most - (float(words[v]) if len(words) else 1.0), held)
    return spare


@numba.njit(cache=True, nogil=True)
def ranked_operands(indptr: NDArray[Any], indices: NDArray[Any], key: NDArray[np.float64]) -> NDArray[Any]:
    """`indices` with every row sorted by `key`, largest first, stably. O(|E| log of the in-degree)."""
    rows = indices.copy()
    for v in range(len(indptr) - 1):
        _rank(rows[indptr[v] : indptr[v + 1]], key)
    return rows


@numba.njit(cache=True, nogil=True)
def postorder(indptr: NDArray[Any], rows: NDArray[Any], roots: NDArray[Any]) -> NDArray[Any]:
    """Depth-first from the roots through the operands, in the order of `rows`; a vertex follows its operands.

    O(|V| + |E|).
    """
    n = len(indptr) - 1
    cursor = np.full(n, -1, dtype=indptr.dtype)
    stack = np.empty(n, dtype=rows.dtype)
    order = np.empty(n, dtype=rows.dtype)
    done = 0
    for root in roots:
        if cursor[root] >= 0 or indptr[root] == indptr[root + 1]:
            continue
        stack[0] = root
        depth = 1
        while depth:
            v = stack[depth - 1]
            if cursor[v] < 0:
                cursor[v] = indptr[v]
            if cursor[v] == indptr[v + 1]:
                order[done] = v
                done += 1
                depth -= 1
                continue
            p = rows[cursor[v]]
            cursor[v] += 1
            if cursor[p] < 0 and indptr[p] < indptr[p + 1]:
                stack[depth] = p
                depth += 1
    return order[:done]


@numba.njit(cache=True, nogil=True)
def _last_uses(
    v: int, indptr: NDArray[Any], indices: NDArray[Any], left: NDArray[Any], words: NDArray[np.int64]
) -> int:
    """Words of the operands of `v` that have no other use left."""
    total = 0
    for e in range(indptr[v], indptr[v + 1]):
        p = indices[e]
        if left[p] == 1:
            total += words[p] if len(words) else 1
    return total


@numba.njit(cache=True, nogil=True)
def eager_postorder(
    indptr: NDArray[Any],
    rows: NDArray[Any],
    succ_ptr: NDArray[Any],
    succ: NDArray[Any],
    words: NDArray[np.int64],
    roots: NDArray[Any],
) -> NDArray[Any]:
    """`postorder`, but whatever can be computed without more words is computed as soon as it can be.

    That is a vertex whose operands are all there and whose last uses free at least its own words, or a sink.
    """
    n = len(indptr) - 1
    cursor = np.full(n, -1, dtype=indptr.dtype)
    missing = np.empty(n, dtype=indptr.dtype)
    left = np.empty(n, dtype=succ_ptr.dtype)
    for v in range(n):
        left[v] = succ_ptr[v + 1] - succ_ptr[v]
        missing[v] = 0
        for e in range(indptr[v], indptr[v + 1]):
            if indptr[rows[e]] < indptr[rows[e] + 1]:
                missing[v] += 1
    computed = np.zeros(n, dtype=np.bool_)
    stack = np.empty(n, dtype=rows.dtype)
    ready = np.empty(n, dtype=rows.dtype)
    order = np.empty(n, dtype=rows.dtype)
    done = 0
    for root in roots:
        if computed[root] or indptr[root] == indptr[root + 1]:
            continue
        stack[0] = root
        depth = 1
        while depth:
            v = stack[depth - 1]
            if computed[v]:
                depth -= 1
                continue
            if cursor[v] < 0:
                cursor[v] = indptr[v]
            if cursor[v] < indptr[v + 1]:
                p = rows[cursor[v]]
                cursor[v] += 1
                if not computed[p] and indptr[p] < indptr[p + 1]:
                    stack[depth] = p
                    depth += 1
                continue
            depth -= 1
            ready[0] = v
            num_ready = 1
            while num_ready:
                num_ready -= 1
                u = ready[num_ready]
                computed[u] = True
                order[done] = u
                done += 1
                for e in range(indptr[u], indptr[u + 1]):
                    left[rows[e]] -= 1
                for e in range(succ_ptr[u], succ_ptr[u + 1]):
                    s = succ[e]
                    missing[s] -= 1
                    if missing[s] == 0 and (
                        succ_ptr[s] == succ_ptr[s + 1]
                        or _last_uses(s, indptr, rows, left, words) >= (words[s] if len(words) else 1)
                    ):
                        ready[num_ready] = s
                        num_ready += 1
    return order[:done]


@numba.njit(cache=True, nogil=True)
def stack_order(
    indptr: NDArray[Any], indices: NDArray[Any], succ_ptr: NDArray[Any], succ: NDArray[Any]
) -> NDArray[Any]:
    """Last ready, first computed: what a finished vertex has made ready goes next. O(|V| + |E|)."""
    n = len(indptr) - 1
    missing = np.zeros(n, dtype=indptr.dtype)
    stack = np.empty(n, dtype=indices.dtype)
    order = np.empty(n, dtype=indices.dtype)
    size = done = 0
    for v in range(n - 1, -1, -1):
        for e in range(indptr[v], indptr[v + 1]):
            if indptr[indices[e]] < indptr[indices[e] + 1]:
                missing[v] += 1
        if missing[v] == 0 and indptr[v] < indptr[v + 1]:
            stack[size] = v
            size += 1
    while size:
        size -= 1
        v = stack[size]
        order[done] = v
        done += 1
        for e in range(succ_ptr[v + 1] - 1, succ_ptr[v] - 1, -1):
            s = succ[e]
            missing[s] -= 1
            if missing[s] == 0:
                stack[size] = s
                size += 1
    return order[:done]


@numba.njit(cache=True, nogil=True)
def _before(u: int, v: int, gain: NDArray[Any], seen: NDArray[Any], rank: NDArray[Any]) -> bool:
    """More gain first, then touched later, then lower rank."""
    if gain[u] != gain[v]:
        return bool(gain[u] > gain[v])
    if seen[u] != seen[v]:
        return bool(seen[u] > seen[v])
    return bool(rank[u] < rank[v])


@numba.njit(cache=True, nogil=True)
def _rise(
    heap: NDArray[Any],
    place: NDArray[Any],
    i: int,
    gain: NDArray[Any],
    seen: NDArray[Any],
    rank: NDArray[Any],
) -> None:
    """Move the vertex at place i of the heap up to where it belongs."""
    v = heap[i]
    while i > 0:
        u = heap[(i - 1) >> 1]
        if not _before(v, u, gain, seen, rank):
            break
        heap[i] = u
        place[u] = i
        i = (i - 1) >> 1
    heap[i] = v
    place[v] = i


@numba.njit(cache=True, nogil=True)
def _take_first(
    heap: NDArray[Any],
    place: NDArray[Any],
    size: int,
    gain: NDArray[Any],
    seen: NDArray[Any],
    rank: NDArray[Any],
) -> None:
    """Take the first of the heap's `size` vertices out."""
    v = heap[size - 1]
    i = 0
    while True:
        j = 2 * i + 1
        if j >= size - 1:
            break
        if j + 1 < size - 1 and _before(heap[j + 1], heap[j], gain, seen, rank):
            j += 1
        if _before(v, heap[j], gain, seen, rank):
            break
        heap[i] = heap[j]
        place[heap[i]] = i
        i = j
    heap[i] = v
    place[v] = i


@numba.njit(cache=True, nogil=True)
def greedy(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    succ_ptr: NDArray[Any],
    succ: NDArray[Any],
    words: NDArray[np.int64],
    rank: NDArray[Any],
) -> NDArray[Any]:
    """Least live words: next the ready vertex that frees most words less its own.

    Among equals the one whose operands were made or used latest, then the one of lowest `rank`. An operand
    tells its users that it was used only while few of them are left, so this is O(|E| log |V|) in all.
    """
    n = len(indptr) - 1
    missing = np.zeros(n, dtype=np.int32)
    left = np.empty(n, dtype=np.int32)
    gain = np.zeros(n, dtype=np.int64)
    seen = np.zeros(n, dtype=np.int32)
    place = np.full(n, -1, dtype=np.int32)
    heap = np.empty(n, dtype=np.int32)
    computed = np.zeros(n, dtype=np.bool_)
    order = np.empty(n, dtype=indices.dtype)
    size = done = 0
    for v in range(n):
        left[v] = succ_ptr[v + 1] - succ_ptr[v]
    for v in range(n):
        if left[v]:
            gain[v] -= words[v] if len(words) else 1
        for e in range(indptr[v], indptr[v + 1]):
            p = indices[e]
            if indptr[p] < indptr[p + 1]:
                missing[v] += 1
            if left[p] == 1:
                gain[v] += words[p] if len(words) else 1
    for v in range(n):
        if missing[v] == 0 and indptr[v] < indptr[v + 1]:
            heap[size] = v
            _rise(heap, place, size, gain, seen, rank)
            size += 1
    while size:
        v = heap[0]
        _take_first(heap, place, size, gain, seen, rank)
        size -= 1
        computed[v] = True
        order[done] = v
        done += 1
        for e in range(indptr[v], indptr[v + 1]):
            p = indices[e]
            left[p] -= 1
            if 0 < left[p] <= _FEW and (left[p] == 1 or succ_ptr[p + 1] - succ_ptr[p] <= 4 * _FEW):
                for f in range(succ_ptr[p], succ_ptr[p + 1]):
                    s = succ[f]
                    if computed[s]:
                        continue
                    if left[p] == 1:
                        gain[s] += words[p] if len(words) else 1
                    seen[s] = done
                    if missing[s] == 0:
                        _rise(heap, place, place[s], gain, seen, rank)
        for f in range(succ_ptr[v], succ_ptr[v + 1]):
            s = succ[f]
            missing[s] -= 1
            seen[s] = done
            if missing[s] == 0:
                heap[size] = s
                _rise(heap, place, size, gain, seen, rank)
                size += 1
    return order[:done]
