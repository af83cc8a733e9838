"""Chains of down-sets with few parts; compiled."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["least_dominator", "least_parts", "list_down_sets"]


@numba.njit(cache=True, nogil=True)
def list_down_sets(preds: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Every set closed under predecessors, ids being topological; an empty array if more than `most`."""
    n = len(preds)
    found = np.empty(most, dtype=np.int64)
    found[0] = 0
    count = 1
    # Down-sets among the first v vertices, without v or with it.
    for v in range(n):
        known = count
        for i in range(known):
            s = found[i]
            if s & preds[v] == preds[v]:
                if count == most:
                    return np.empty(0, dtype=np.int64)
                found[count] = s | (np.int64(1) << v)
                count += 1
    return found[:count].copy()


@numba.njit(cache=True, nogil=True)
def least_dominator(
    part: int, preds: Any, sources: int, enough: int, room: Any, parent: Any, queue: Any
) -> int:
    """Least number of vertices that meet every path from a source to `part`; stops beyond `enough`.

    A maximum flow: nodes v (entrance) and n + v (exit), a start and an end; `room` is the residual matrix.
    """
    n = len(preds)
    start, end = 2 * n, 2 * n + 1
    room[:] = 0
    for v in range(n):
        room[v, n + v] = 1
        for u in range(n):
            if preds[v] >> u & 1:
                room[n + u, v] = n
        if sources >> v & 1:
            room[start, v] = n
        if part >> v & 1:
            room[n + v, end] = n
    flow = 0
    while flow <= enough:
        parent[:] = -1
        parent[start] = start
        queue[0] = start
        head, tail = 0, 1
        while head < tail and parent[end] < 0:
            a = queue[head]
            head += 1
            for b in range(2 * n + 2):
                if room[a, b] > 0 and parent[b] < 0:
                    parent[b] = a
                    queue[tail] = b
                    tail += 1
        if parent[end] < 0:
            return flow
        b = end
        while b != start:
            a = parent[b]
            room[a, b] -= 1
            room[b, a] += 1
            b = a
        flow += 1
    return flow


@numba.njit(cache=True, nogil=True)
def least_parts(
    sets: NDArray[np.int64],
    preds: NDArray[np.int64],
    succs: NDArray[np.int64],
    sources: int,
    M: int,
    Y: int,
) -> int:
    """The least number of parts of a chain of down-sets, each part one that a segment of Y I/Os can add.

    `sets` are the down-sets, the empty one first; -1 if there is no chain.
    """
    n = len(preds)
    count = len(sets)
    whole = (np.int64(1) << n) - 1
    level = np.full(count, -1, dtype=np.int64)
    level[0] = 0
    queue = np.empty(count, dtype=np.int64)
    queue[0] = 0
    room = np.zeros((2 * n + 2, 2 * n + 2), dtype=np.int16)
    parent = np.empty(2 * n + 2, dtype=np.int64)
    nodes = np.empty(2 * n + 2, dtype=np.int64)
    head, tail = 0, 1
    while head < tail:
        i = queue[head]
        head += 1
        for j in range(count):
            if level[j] >= 0 or sets[i] & ~sets[j] or sets[i] == sets[j]:
                continue
            part = sets[j] & ~sets[i]
            ends = 0
            for v in range(n):
                if part >> v & 1 and succs[v] & part == 0:
                    ends += 1
            stores = max(0, ends - M)
            if stores > Y:
                continue
            # Nothing is red before the first part.
            enough = Y - stores + (M if i > 0 else 0)
            if least_dominator(part, preds, sources, enough, room, parent, nodes) > enough:
                continue
            level[j] = level[i] + 1
            if sets[j] == whole:
                return int(level[j])
            queue[tail] = j
            tail += 1
    return -1
