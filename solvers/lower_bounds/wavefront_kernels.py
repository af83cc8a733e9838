"""Least wavefronts of a graph, by maximum flow; compiled."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["least_wavefronts"]

_FREE = np.int64(1) << 40


@numba.njit(cache=True, nogil=True)
def _augment(
    start: int,
    goal: Any,
    indptr: Any,
    indices: Any,
    sptr: Any,
    succ: Any,
    sedge: Any,
    cost: Any,
    used: Any,
    along: Any,
    back: Any,
    parent: Any,
    arc: Any,
    queue: Any,
    stamp: Any,
    now: int,
) -> int:
    """One shortest augmenting path from `start` to a vertex of `goal`; returns the units sent, 0 if none.

    Node 2u is u's entrance, 2u + 1 its exit. Arcs: 0 through a vertex, 1 back through it, 2 along an edge,
    3 back along it, 4 from a vertex to an operand (a computed vertex has computed operands), 5 undoing that.
    """
    head = 0
    tail = 1
    queue[0] = 2 * start
    stamp[2 * start] = now
    parent[2 * start] = -1
    end = -1
    while head < tail and end < 0:
        node = queue[head]
        head += 1
        u = node >> 1
        if node & 1 == 0:
            if goal[u]:
                end = node
                break
            if used[u] < cost[u] and stamp[node + 1] != now:
                stamp[node + 1] = now
                parent[node + 1] = node
                arc[node + 1] = 0
                queue[tail] = node + 1
                tail += 1
            for e in range(indptr[u], indptr[u + 1]):
                p = indices[e]
                if stamp[2 * p] != now:
                    stamp[2 * p] = now
                    parent[2 * p] = node
                    arc[2 * p] = 4
                    queue[tail] = 2 * p
                    tail += 1
                if along[e] > 0 and stamp[2 * p + 1] != now:
                    stamp[2 * p + 1] = now
                    parent[2 * p + 1] = node
                    arc[2 * p + 1] = 3
                    queue[tail] = 2 * p + 1
                    tail += 1
            for k in range(sptr[u], sptr[u + 1]):
                w = succ[k]
                if back[sedge[k]] > 0 and stamp[2 * w] != now:
                    stamp[2 * w] = now
                    parent[2 * w] = node
                    arc[2 * w] = 5
                    queue[tail] = 2 * w
                    tail += 1
        else:
            if used[u] > 0 and stamp[node - 1] != now:
                stamp[node - 1] = now
                parent[node - 1] = node
                arc[node - 1] = 1
                queue[tail] = node - 1
                tail += 1
            for k in range(sptr[u], sptr[u + 1]):
                w = succ[k]
                if stamp[2 * w] != now:
                    stamp[2 * w] = now
                    parent[2 * w] = node
                    arc[2 * w] = 2
                    queue[tail] = 2 * w
                    tail += 1
    if end < 0:
        return 0
    amount = _FREE
    node = end
    while parent[node] >= 0:
        before = parent[node]
        kind = arc[node]
        if kind == 0:
            amount = min(amount, cost[node >> 1] - used[node >> 1])
        elif kind == 1:
            amount = min(amount, used[node >> 1])
        elif kind == 3:
            amount = min(amount, along[_edge(before >> 1, node >> 1, indptr, indices)])
        elif kind == 5:
            amount = min(amount, back[_edge(node >> 1, before >> 1, indptr, indices)])
        node = before
    node = end
    while parent[node] >= 0:
        before = parent[node]
        kind = arc[node]
        if kind == 0:
            used[node >> 1] += amount
        elif kind == 1:
            used[node >> 1] -= amount
        elif kind == 2:
            along[_edge(node >> 1, before >> 1, indptr, indices)] += amount
        elif kind == 3:
            along[_edge(before >> 1, node >> 1, indptr, indices)] -= amount
        elif kind == 4:
            back[_edge(before >> 1, node >> 1, indptr, indices)] += amount
        else:
            back[_edge(node >> 1, before >> 1, indptr, indices)] -= amount
        node = before
    return int(amount)


@numba.njit(cache=True, nogil=True)
def _edge(v: int, p: int, indptr: Any, indices: Any) -> int:
    """Place of operand `p` among the edges into `v`."""
    for e in range(indptr[v], indptr[v + 1]):
        if indices[e] == p:
            return int(e)
    return -1


@numba.njit(cache=True, nogil=True)
def _easy_cut(
    v: int, indptr: Any, indices: Any, sptr: Any, succ: Any, cost: Any, queue: Any, stamp: Any, now: int
) -> int:
    """The cheaper of two cuts: all that v depends on against the rest, and the rest against what needs v.

    Takes three stamps from `now` on.
    """
    head = 0
    tail = 1
    queue[0] = v
    stamp[v] = now
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(indptr[u], indptr[u + 1]):
            p = indices[e]
            if stamp[p] != now:
                stamp[p] = now
                queue[tail] = p
                tail += 1
    below = 0
    for i in range(tail):
        u = queue[i]
        for k in range(sptr[u], sptr[u + 1]):
            if stamp[succ[k]] != now:
                below += cost[u]
                break
    head = 0
    tail = 1
    queue[0] = v
    stamp[v] = now + 1
    while head < tail:
        u = queue[head]
        head += 1
        for k in range(sptr[u], sptr[u + 1]):
            w = succ[k]
            if stamp[w] != now + 1:
                stamp[w] = now + 1
                queue[tail] = w
                tail += 1
    above = cost[v]
    for i in range(1, tail):
        u = queue[i]
        for e in range(indptr[u], indptr[u + 1]):
            p = indices[e]
            if stamp[p] != now + 1 and stamp[p] != now + 2:
                stamp[p] = now + 2
                above += cost[p]
    return int(min(below, above))


@numba.njit(cache=True, nogil=True)
def least_wavefronts(
    candidates: NDArray[np.int64],
    first: int,
    last: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    sptr: NDArray[np.int64],
    succ: NDArray[np.int64],
    sedge: NDArray[np.int64],
    cost: NDArray[np.int64],
    settled: NDArray[np.bool_],
    best: int,
    where: int,
) -> tuple[int, int]:
    """The largest, over candidates[first:last], of the least wavefront at the moment of their computation.

    `settled` marks the vertices that a cut found so far shows not to exceed `best`; it is updated. Returns
    the value and its vertex.
    """
    n = len(indptr) - 1
    used = np.zeros(n, dtype=np.int64)
    along = np.zeros(len(indices), dtype=np.int64)
    back = np.zeros(len(indices), dtype=np.int64)
    goal = np.zeros(n, dtype=np.bool_)
    parent = np.empty(2 * n, dtype=np.int64)
    arc = np.empty(2 * n, dtype=np.int8)
    queue = np.empty(2 * n, dtype=np.int64)
    stamp = np.zeros(2 * n, dtype=np.int64)
    now = 0
    for i in range(first, last):
        v = candidates[i]
        if settled[v]:
            continue
        now += 3
        if best > 0 and _easy_cut(v, indptr, indices, sptr, succ, cost, queue, stamp, now - 2) <= best:
            settled[v] = True
            continue
        used[:] = 0
        along[:] = 0
        back[:] = 0
        for k in range(sptr[v], sptr[v + 1]):
            goal[succ[k]] = True
        flow = 0
        while True:
            now += 1
            sent = _augment(
                v, goal, indptr, indices, sptr, succ, sedge, cost, used, along, back, parent, arc, queue,
                stamp, now,
            )  # fmt: skip
            if sent == 0:
                break
            flow += sent
        for k in range(sptr[v], sptr[v + 1]):
            goal[succ[k]] = False
        if flow > best:
            best = flow
            where = v
        # The entrances reached last are the computed side of a least cut; the cut serves every vertex on
        # that side whose successors are all on the other.
        for u in range(n):
            if stamp[2 * u] == now and not settled[u]:
                ends = True
                for k in range(sptr[u], sptr[u + 1]):
                    if stamp[2 * succ[k]] == now:
                        ends = False
                        break
                settled[u] = ends
        settled[v] = True
    return best, where
