"""The memory-hierarchy game in plain Python, from its rules alone: sets of vertices, one per level."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from pebble.cdag import CDAG
from pebble.hierarchy import Hierarchy, HierarchyMove
from pebble.moves import Op

Board = tuple[frozenset[int], ...]  # levels 1 to k, then slow memory


def start(g: CDAG, hierarchy: Hierarchy) -> Board:
    return (*(frozenset[int]() for _ in hierarchy.sizes), frozenset(g.sources.tolist()))


def after(g: CDAG, hierarchy: Hierarchy, board: Board, move: HierarchyMove) -> Board | None:
    """The board after a move; None if the move is illegal."""
    op, level, v = move
    if (
        not 0 <= v < g.num_vertices
        or not 1 <= level <= hierarchy.num_levels
        or (op is Op.COMPUTE and level > 1)
    ):
        return None
    levels = list(board)
    here, below = levels[level - 1], levels[level]
    if op is Op.DELETE:
        if v not in here:
            return None
        levels[level - 1] = here - {v}
    elif op is Op.STORE:
        if v not in here:
            return None
        levels[level] = below | {v}
    else:
        preds = set(g.preds(v).tolist())
        allowed = v in below if op is Op.LOAD else bool(preds) and preds <= here
        if v in here or not allowed:
            return None
        levels[level - 1] = here | {v}
    for words, held in zip(hierarchy.sizes, levels, strict=False):
        if sum(map(g.weight, held)) > words:
            return None
    return tuple(levels)


def all_moves(g: CDAG, hierarchy: Hierarchy) -> Iterator[HierarchyMove]:
    for v in range(g.num_vertices):
        yield HierarchyMove(Op.COMPUTE, 1, v)
        for level in range(1, hierarchy.num_levels + 1):
            for op in (Op.LOAD, Op.STORE, Op.DELETE):
                yield HierarchyMove(op, level, v)


def price(g: CDAG, hierarchy: Hierarchy, move: HierarchyMove) -> int:
    return hierarchy.costs[move.level - 1] * g.weight(move.vertex) if move.op in (Op.LOAD, Op.STORE) else 0


def optimum(g: CDAG, hierarchy: Hierarchy) -> int:
    """The least total cost, by Dijkstra over all boards."""
    outputs = set(g.outputs.tolist())
    moves = list(all_moves(g, hierarchy))
    first = start(g, hierarchy)
    best = {first: 0}
    queue: list[tuple[int, int, Board]] = [(0, 0, first)]
    count = 0
    while queue:
        cost, _, board = heapq.heappop(queue)
        if cost > best[board]:
            continue
        if outputs <= board[-1]:
            return cost
        for move in moves:
            following = after(g, hierarchy, board, move)
            if following is None:
                continue
            total = cost + price(g, hierarchy, move)
            if total < best.get(following, total + 1):
                best[following] = total
                count += 1
                heapq.heappush(queue, (total, count, following))
    raise AssertionError("no schedule exists")
