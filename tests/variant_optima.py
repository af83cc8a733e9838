"""The least I/O of tiny graphs under any rule set, by Dijkstra over whole positions, from docs/rules.md.

Nothing is reduced or bounded and nothing of the project is imported. `dijkstra_reference` does the same for
the two plain rule sets.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

__all__ = ["least_variant_io"]

# What is red, what is blue, the vertices computed, the edges aggregated.
_Position = tuple[int, int, int, int]


class _Variant:
    """The moves of one instance."""

    def __init__(
        self,
        num_vertices: int,
        edges: list[tuple[int, int]],
        M: int,
        *,
        recomputation: bool = True,
        sliding: bool = False,
        free_sources: bool = False,
        partial: bool = False,
        deletion: bool = True,
        outputs_any: bool = False,
        load_cost: int = 1,
        store_cost: int = 1,
        weights: list[int] | None = None,
        outputs: tuple[int, ...] = (),
        red_at_start: tuple[int, ...] = (),
    ) -> None:
        self.n, self.edges, self.M = num_vertices, sorted(set(edges)), M
        self.w = weights or [1] * num_vertices
        self.preds = [0] * num_vertices
        leads = [False] * num_vertices
        for u, v in self.edges:
            self.preds[v] |= 1 << u
            leads[u] = True
        self.goal = sum(1 << v for v in range(num_vertices) if not leads[v] or v in outputs)
        self.sources = sum(1 << v for v in range(num_vertices) if not self.preds[v])
        self.red = sum(1 << v for v in red_at_start)
        self.recomputation, self.sliding, self.free = recomputation, sliding, free_sources
        self.partial, self.deletion, self.outputs_any = partial, deletion, outputs_any
        self.costs = load_cost, store_cost

    def start(self) -> _Position:
        given = self.red | (0 if self.free else self.sources)
        return self.red, 0 if self.free else self.sources, given, 0

    def words(self, red: int) -> int:
        return sum(self.w[v] for v in range(self.n) if red >> v & 1)

    def over(self, position: _Position) -> bool:
        red, blue, computed, _ = position
        held = red | blue if self.outputs_any else blue
        return self.goal & ~(held & computed) == 0

    def moves(self, position: _Position) -> Iterator[tuple[int, _Position]]:
        red, blue, computed, marked = position
        free = self.M - self.words(red)
        for v in range(self.n):
            bit, w = 1 << v, self.w[v]
            if red & bit:
                if self.deletion:
                    yield 0, (red & ~bit, blue, computed, marked)
                left = red if self.deletion else red & ~bit
                yield w * self.costs[1], (left, blue | bit, computed, marked)
                continue
            if blue & bit and w <= free:
                yield w * self.costs[0], (red | bit, blue, computed, marked)
            if not self.preds[v] and not self.free:
                continue
            if self.partial and self.preds[v]:
                continue
            if not self.recomputation and computed & bit:
                continue
            if self.preds[v] & ~red:
                continue
            if w <= free:
                yield 0, (red | bit, blue, computed | bit, marked)
            if self.sliding:
                for u in range(self.n):
                    if self.preds[v] >> u & 1 and w <= free + self.w[u]:
                        yield 0, (red & ~(1 << u) | bit, blue, computed | bit, marked)
        if self.partial:
            yield from self.aggregations(position, free)

    def aggregations(self, position: _Position, free: int) -> Iterator[tuple[int, _Position]]:
        red, blue, computed, marked = position
        for e, (u, v) in enumerate(self.edges):
            into = sum(1 << i for i, edge in enumerate(self.edges) if edge[1] == v)
            if marked >> e & 1 or computed >> v & 1 or not (red & computed) >> u & 1:
                continue
            fresh = not marked & into and self.w[v] <= free
            if red >> v & 1 or fresh:
                after = marked | 1 << e
                done = computed | 1 << v if into & ~after == 0 else computed
                yield 0, (red | 1 << v, blue & ~(1 << v), done, after)


def least_variant_io(
    num_vertices: int, edges: list[tuple[int, int]], M: int, **variant: object
) -> int | None:
    """Least I/O of any schedule, None if there is none; keyword arguments as for the game's rules."""
    game = _Variant(num_vertices, edges, M, **variant)  # type: ignore[arg-type]
    start = game.start()
    best = {start: 0}
    queue = [(0, start)]
    while queue:
        cost, position = heapq.heappop(queue)
        if cost > best[position]:
            continue
        if game.over(position):
            return cost
        for price, after in game.moves(position):
            if cost + price < best.get(after, 1 << 60):
                best[after] = cost + price
                heapq.heappush(queue, (cost + price, after))
    return None
