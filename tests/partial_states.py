"""The largest progress in a window of I/Os from any state of a tiny graph under partial computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations

from pebble.cdag import CDAG

__all__ = ["most_partial_progress"]


def most_partial_progress(
    cdag: CDAG,
    goal: Sequence[int] | Mapping[int, int],
    M: int,
    Y: int,
    *,
    stores: bool = False,
    begun: Sequence[int] = (),
) -> int:
    """Most of `goal` that are completed within Y loads, from any state of the game.

    A state is what has been aggregated and what is red; all of it may as well be blue, and as much red as
    fits. Unless `stores` are counted too, whatever is made within the window may be blue as well. If they
    are, a value that is still needed is stored before its pebble goes. Beginning a vertex of `begun`, which
    is aggregating its first operand, counts as a load does.

    Parameters
    ----------
    cdag : CDAG
        Of up to some 10 vertices.
    goal : sequence of int, or a mapping of int to int
        Vertices, or their weights.
    M, Y : int
    stores : bool
    begun : sequence of int
    """
    game = _Game(cdag, set(map(int, begun)), stores)
    weight = dict(goal) if isinstance(goal, Mapping) else dict.fromkeys(map(int, goal), 1)
    best = 0
    for marked in game.aggregated():
        there = game.there(marked)
        words = [1 << v for v in range(game.n) if there >> v & 1]
        before = game.complete(marked)
        reds = [sum(red) for red in combinations(words, min(M, len(words)))]
        for after in game.reach(reds, there, marked, M, Y):
            new = game.complete(after) & ~before
            best = max(best, sum(w for v, w in weight.items() if new >> v & 1))
    return best


class _Game:
    """Bit sets of edges and vertices."""

    def __init__(self, cdag: CDAG, begun: set[int], stores: bool) -> None:
        self.n = cdag.num_vertices
        self.edges = [(int(u), int(v)) for u, v in cdag.edges().tolist()]
        self.begun, self.stores = begun, stores
        self.into = [0] * self.n
        self.out = [0] * self.n
        for e, (u, v) in enumerate(self.edges):
            self.into[v] |= 1 << e
            self.out[u] |= 1 << e

    @cache  # noqa: B019 - a game is short-lived
    def complete(self, marked: int) -> int:
        return sum(1 << v for v in range(self.n) if self.into[v] & ~marked == 0)

    def there(self, marked: int) -> int:
        """Sources, and what has been begun."""
        return sum(1 << v for v in range(self.n) if not self.into[v] or self.into[v] & marked)

    def aggregated(self) -> set[int]:
        """Every set of edges that may have been aggregated."""
        found = {0}
        stack = [0]
        while stack:
            marked = stack.pop()
            complete = self.complete(marked)
            for e, (u, _) in enumerate(self.edges):
                after = marked | 1 << e
                if complete >> u & 1 and after not in found:
                    found.add(after)
                    stack.append(after)
        return found

    def needed(self, v: int, marked: int) -> bool:
        """Whether v's value is lost if it is deleted unstored: some edge of it is still to be aggregated."""
        return not self.out[v] or bool((self.into[v] | self.out[v]) & ~marked)

    def reach(self, reds: list[int], blue: int, marked: int, M: int, Y: int) -> set[int]:
        """What may have been aggregated at the window's end, from any of these."""
        # Red, blue with its present value, aggregated, spent.
        stack = [(red, blue, marked, 0) for red in reds]
        seen = set(stack)
        while stack:
            red, blue, marked, spent = stack.pop()
            for state in self.moves(red, blue, marked, spent, M, Y):
                if state not in seen:
                    seen.add(state)
                    stack.append(state)
        return {state[2] for state in seen}

    def moves(
        self, red: int, blue: int, marked: int, spent: int, M: int, Y: int
    ) -> list[tuple[int, int, int, int]]:
        found = []
        full = red.bit_count() >= M
        for v in range(self.n):
            bit = 1 << v
            if red & bit:
                if self.stores and spent < Y and not blue & bit:
                    found.append((red, blue | bit, marked, spent + 1))
                safe = not self.stores or blue & bit or not self.needed(v, marked)
                if full and safe:
                    # What is deleted unstored, where stores are free, has been stored.
                    found.append((red & ~bit, blue | bit, marked, spent))
            elif not full and spent < Y and blue & bit:
                found.append((red | bit, blue, marked, spent + 1))
        complete = self.complete(marked)
        for e, (u, v) in enumerate(self.edges):
            if marked >> e & 1 or not (red & complete) >> u & 1:
                continue
            fresh = not self.into[v] & marked
            if not red >> v & 1 and (not fresh or full):
                continue
            price = 1 if fresh and v in self.begun else 0
            if spent + price <= Y:
                found.append((red | 1 << v, blue & ~(1 << v), marked | 1 << e, spent + price))
        return found
