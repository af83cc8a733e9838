"""Random tiny graphs for comparisons with brute force: weights, further outputs and any vertex numbering."""

from __future__ import annotations

import random
from typing import NamedTuple

from pebble.cdag import CDAG

__all__ = ["TinyGraph", "tiny_graph"]


class TinyGraph(NamedTuple):
    """A graph twice: as plain data, and as a CDAG."""

    num_vertices: int
    edges: list[tuple[int, int]]
    weights: list[int] | None
    outputs: tuple[int, ...]
    M: int
    cdag: CDAG


def tiny_graph(seed: int) -> TinyGraph:
    """Graph number `seed`: 3 to 8 vertices, M at or a little above its least feasible value."""
    rng = random.Random(seed)
    n = rng.randint(3, 8)
    density = rng.choice([0.25, 0.4, 0.6])
    degree = rng.choice([2, 2, 3, 4])
    edges = []
    for v in range(1, n):
        below = [u for u in range(v) if rng.random() < density]
        rng.shuffle(below)
        edges += [(u, v) for u in below[:degree]]
    names = list(range(n))
    rng.shuffle(names)
    edges = [(names[u], names[v]) for u, v in edges]
    weights = [rng.choice([1, 1, 2, 3]) for _ in range(n)] if rng.random() < 0.3 else None
    outputs = tuple(rng.sample(range(n), rng.randint(1, 2))) if rng.random() < 0.25 else ()
    cdag = CDAG.from_edges(n, edges, weights=weights, outputs=list(outputs) if outputs else None)
    words = weights or [1] * n
    need = [words[v] + sum(words[u] for u, head in edges if head == v) for v in range(n)]
    least = max((need[v] for v in range(n) if any(head == v for _, head in edges)), default=1)
    return TinyGraph(n, edges, weights, outputs, least + rng.choice([0, 0, 0, 1, 1, 2]), cdag)
