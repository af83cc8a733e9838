"""The largest progress in a window of I/Os from any state of a tiny graph: what lemmas on segments bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from pebble.cdag import CDAG

__all__ = ["most_progress"]


def most_progress(
    cdag: CDAG,
    goal: Sequence[int] | Mapping[int, int],
    M: int,
    Y: int,
    *,
    stores: bool = False,
    one_shot: bool = False,
    begun: Sequence[int] = (),
    given: Sequence[int] = (),
) -> int:
    """Most of `goal` that become red for the first time within Y loads, from any state of the game.

    A state is what is red and what has ever been red, a set closed under predecessors; all of the latter may
    as well be blue, and as much of it red as fits: what is red can be deleted. Unless `stores` are counted
    too, whatever is made within the window may be blue as well. If they are, the window is one of a clean
    schedule: what it computes is used, stored, or red at its end. Without recomputation, computing a vertex
    of `begun` counts as a load does.

    Parameters
    ----------
    cdag : CDAG
        Of up to some 15 vertices.
    goal : sequence of int, or a mapping of int to int
        Vertices, or their weights.
    M, Y : int
    stores, one_shot : bool
    begun : sequence of int
    given : sequence of int
        Only states in which these have been red before, closed under predecessors but for sources.
    """
    n = cdag.num_vertices
    weight = dict(goal) if isinstance(goal, Mapping) else dict.fromkeys(map(int, goal), 1)
    preds = [sum(1 << int(u) for u in cdag.preds(v)) for v in range(n)]
    starts = sum(1 << v for v in begun)
    best = 0
    for known in _down_sets(cdag, preds, weight, given):
        members = [1 << v for v in range(n) if known >> v & 1]
        reds = [sum(red) for red in combinations(members, min(M, len(members)))]
        for ever in _reach(preds, reds, known, M, Y, stores, one_shot, starts):
            new = ever & ~known
            best = max(best, sum(w for v, w in weight.items() if new >> v & 1))
    return best


def _down_sets(
    cdag: CDAG, preds: list[int], weight: Mapping[int, int], given: Sequence[int]
) -> Iterator[int]:
    """Sets closed under predecessors; sources that are no goal are as good as known."""
    n = cdag.num_vertices
    first = sum(1 << v for v in range(n) if not preds[v] and v not in weight)
    for v in given:
        first |= 1 << v
    assert all(preds[v] & ~first == 0 for v in range(n) if first >> v & 1)
    found = [first]
    for v in cdag.topological_order.tolist():
        if not first >> v & 1:
            found += [s | 1 << v for s in found if s & preds[v] == preds[v]]
    return iter(found)


def _reach(
    preds: list[int], reds: list[int], known: int, M: int, Y: int, stores: bool, one_shot: bool, starts: int
) -> set[int]:
    """What may ever have been red at the window's end: sets, as bits."""
    # Red, ever red, blue, computed in the window and not used yet, spent.
    stack = [(red, known, known, 0, 0) for red in reds]
    seen = set(stack)

    def visit(*state: int) -> None:
        if state not in seen:
            seen.add(state)
            stack.append(state)

    while stack:
        red, ever, blue, unused, spent = stack.pop()
        full = red.bit_count() >= M
        for v, need in enumerate(preds):
            bit = 1 << v
            if red & bit:
                # A deletion can wait until room is needed.
                if full and not unused & bit:
                    visit(red & ~bit, ever, blue, unused, spent)
                if stores and spent < Y and not blue & bit:
                    visit(red, ever, blue | bit, unused & ~bit, spent + 1)
                continue
            if full:
                continue
            if spent < Y and (not need or (blue if stores else ever) & bit):
                visit(red | bit, ever | bit, blue, unused, spent + 1)
            price = 1 if starts & bit else 0
            if need and need & ~red == 0 and spent + price <= Y and not (one_shot and ever & bit):
                idle = (unused & ~need) | bit if stores else 0
                visit(red | bit, ever | bit, blue, idle, spent + price)
    return {state[1] for state in seen}
