"""The least I/O of tiny graphs by Dijkstra over (red, blue, computed), written from the rules alone.

Nothing is reduced, ordered or bounded here, and nothing of the project is imported: this is what the
searches are compared with.
"""

from __future__ import annotations

import heapq


def least_io(
    num_vertices: int,
    edges: list[tuple[int, int]],
    M: int,
    *,
    one_shot: bool,
    weights: list[int] | None = None,
    outputs: tuple[int, ...] = (),
) -> int | None:
    """Least I/O, in words, of any schedule; None if there is none."""
    w = weights or [1] * num_vertices
    preds = [0] * num_vertices
    has_successor = [False] * num_vertices
    for u, v in edges:
        preds[v] |= 1 << u
        has_successor[u] = True
    blue = goal = 0
    for v in range(num_vertices):
        if not preds[v]:
            blue |= 1 << v
        if not has_successor[v] or v in outputs:
            goal |= 1 << v
    start = (0, blue, 0)
    best = {start: 0}
    queue = [(0, *start)]
    while queue:
        cost, red, blue, computed = heapq.heappop(queue)
        if cost > best[red, blue, computed]:
            continue
        if blue & goal == goal:
            return cost
        words = sum(w[v] for v in range(num_vertices) if red >> v & 1)
        for v in range(num_vertices):
            bit = 1 << v
            moves = []
            if red & bit:
                moves.append((cost, red & ~bit, blue, computed))
                moves.append((cost + w[v], red, blue | bit, computed))
            elif words + w[v] <= M:
                if blue & bit:
                    moves.append((cost + w[v], red | bit, blue, computed))
                if preds[v] and preds[v] & ~red == 0 and not (one_shot and computed & bit):
                    moves.append((cost, red | bit, blue, computed | bit if one_shot else 0))
            for move in moves:
                state = move[1:]
                if move[0] < best.get(state, 1 << 60):
                    best[state] = move[0]
                    heapq.heappush(queue, move)
    return None
