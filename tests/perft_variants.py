"""A slow counter of legal move sequences under the variants of the game, written from their rules alone.

It imports nothing of the project, so that it can disagree with it. A position is (red, blue, done, last):
frozensets of red and blue vertices; what is done: the vertices computed, or under partial computation the
edges aggregated; and the vertex that the last move computed, where the next may be half of a slide.

On top of the rules in perft_reference.py:

* free sources: nothing is blue at the start, and a source is computed like a vertex without needs;
* sliding: a compute may exceed M if deleting one predecessor of the vertex, which must then be the very next
  move, leaves at most M words red;
* no deletion: a store takes the red pebble away; a delete is only legal as half of a slide, right after a
  compute, of a predecessor of the vertex computed;
* partial: an edge (u, v) is aggregated once, if u is red and all its own edges are aggregated (a source has
  none), and v is red, or has no edge aggregated yet and fits; v becomes red, and is blue no more;
* red at the start: red, computed, and blue only if it is a source that is not free.
"""

from __future__ import annotations

from collections import Counter

Edge = tuple[int, int]
Position = tuple[frozenset[int], frozenset[int], frozenset[object], int]


class Variant:
    """A graph, M and flags; `after` lists the position after each legal move."""

    def __init__(
        self,
        n: int,
        edges: list[Edge],
        M: int,
        flags: frozenset[str],
        weights: list[int] | None = None,
        red: tuple[int, ...] = (),
    ) -> None:
        self.n, self.edges, self.M, self.flags = n, edges, M, flags
        self.weight = weights or [1] * n
        self.preds = {v: {u for u, w in edges if w == v} for v in range(n)}
        self.given = frozenset(v for v in range(n) if not self.preds[v] and "free" not in flags)
        done: set[object] = set(red) - self.given
        if "partial" in flags:
            done = {(u, v) for u, v in edges if v in red} | {v for v in red if not self.preds[v]}
        self.start: Position = (frozenset(red), self.given, frozenset(done), -1)

    def words(self, red: frozenset[int]) -> int:
        return sum(self.weight[v] for v in red)

    def after(self, position: Position) -> list[Position]:
        red, blue, done, last = position
        used = self.words(red)
        found: list[Position] = []
        for v in red:
            half_slide = last >= 0 and v in self.preds[last] and used - self.weight[v] <= self.M
            if half_slide or (used <= self.M and "no-delete" not in self.flags):
                found.append((red - {v}, blue, done, -1))
        if used > self.M:
            return found
        for v in range(self.n):
            if v in red:
                kept = red - {v} if "no-delete" in self.flags else red
                found.append((kept, blue | {v}, done, -1))
            elif v in blue and used + self.weight[v] <= self.M:
                found.append((red | {v}, blue, done, -1))
        if "partial" in self.flags:
            return found + self.aggregations(position)
        for v in range(self.n):
            if v in red or v in self.given or not self.preds[v] <= red:
                continue
            if "one-shot" in self.flags and v in done:
                continue
            more = used + self.weight[v]
            slides = "sliding" in self.flags and any(more - self.weight[u] <= self.M for u in self.preds[v])
            if more <= self.M or slides:
                noted = "sliding" in self.flags and (more > self.M or "no-delete" in self.flags)
                found.append((red | {v}, blue, done | {v}, v if noted else -1))
        return found

    def aggregations(self, position: Position) -> list[Position]:
        red, blue, done, _ = position
        used = self.words(red)
        found: list[Position] = []
        for u, v in self.edges:
            complete = (
                all((x, u) in done for x in self.preds[u]) if self.preds[u] else u in self.given or u in done
            )
            if (u, v) in done or not complete or u not in red:
                continue
            untouched = not any((x, v) in done for x in self.preds[v])
            if v in red or (untouched and used + self.weight[v] <= self.M):
                found.append((red | {v}, blue - {v}, done | {(u, v)}, -1))
        for v in range(self.n):
            fits = used + self.weight[v] <= self.M
            if not self.preds[v] and v not in self.given and v not in red and v not in done and fits:
                found.append((red | {v}, blue, done | {v}, -1))
        return found

    def perft(self, depth: int) -> list[int]:
        """How many legal sequences of 0, 1, …, `depth` moves there are from the start."""
        front: Counter[Position] = Counter({self.start: 1})
        counts = [1]
        for _ in range(depth):
            following: Counter[Position] = Counter()
            for position, ways in front.items():
                for after in self.after(position):
                    following[after] += ways
            front = following
            counts.append(sum(front.values()))
        return counts
