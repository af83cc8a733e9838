"""Slow players written from the rules alone, to hold against the compiled replay."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from pebble.cdag import CDAG

__all__ = ["furthest_next_use", "optimal_eviction"]


def furthest_next_use(cdag: CDAG, order: Sequence[int], M: int) -> tuple[int, int]:
    """Loads and stores of Belady's rule on an order without repeats, unit weights: by scanning the future."""
    accesses = [(t, p) for t, v in enumerate(order) for p in cdag.preds(v).tolist()]

    def next_access(u: int, after: int) -> int:
        return next((i for i, (t, p) in enumerate(accesses) if t > after and p == u), len(accesses))

    red: set[int] = set()
    blue = set(cdag.sources.tolist())
    outputs = set(cdag.outputs.tolist())
    loads = stores = 0
    for t, v in enumerate(order):
        operands = cdag.preds(v).tolist()
        missing = [p for p in operands if p not in red]
        while len(red) + len(missing) + 1 > M:
            u = max(red - set(operands), key=lambda u: next_access(u, t - 1))
            if u not in blue:
                stores += 1
                blue.add(u)
            red.remove(u)
        assert blue >= set(missing)
        loads += len(missing)
        red |= {*missing, v}
        for u in [*operands, v]:
            if next_access(u, t) == len(accesses):
                if u in outputs - blue:
                    stores += 1
                    blue.add(u)
                red.discard(u)
    assert blue >= outputs
    return loads, stores


def optimal_eviction(cdag: CDAG, order: Sequence[int], M: int) -> int:
    """Least I/O, in words, of all schedules with this order of computes: shortest path over all states."""
    weight = [cdag.weight(v) for v in range(cdag.num_vertices)]
    outputs = frozenset(cdag.outputs.tolist())
    start = (0, frozenset[int](), frozenset(cdag.sources.tolist()))
    best = {start: 0}
    queue = [(0, 0, start)]
    count = 0
    while queue:
        cost, _, state = heapq.heappop(queue)
        if cost > best[state]:
            continue
        t, red, blue = state
        if t == len(order) and outputs <= blue:
            return cost
        used = sum(weight[u] for u in red)
        after: list[tuple[int, tuple[int, frozenset[int], frozenset[int]]]] = []
        after += [(weight[u], (t, red, blue | {u})) for u in red - blue]
        after += [(0, (t, red - {u}, blue)) for u in red]
        after += [(weight[u], (t, red | {u}, blue)) for u in blue - red if used + weight[u] <= M]
        if t < len(order):
            v = order[t]
            if v not in red and red >= set(cdag.preds(v).tolist()) and used + weight[v] <= M:
                after.append((0, (t + 1, red | {v}, blue)))
        for words, new in after:
            if cost + words < best.get(new, 1 << 60):
                best[new] = cost + words
                count += 1
                heapq.heappush(queue, (cost + words, count, new))
    raise AssertionError("no schedule has this order")
