"""A slow counter of legal move sequences, written from the rules alone.

It imports nothing of the project, so that it can disagree with it. A position is a triple of frozensets
(red, blue, computed); a sequence of moves is legal if each of its moves is. The rules, after Hong and Kung
(1981), section 2, with each move's corner cases made explicit:

* at the start every source is blue, nothing is red, nothing is computed;
* load v: v is blue, v is not red, and v's words still fit; v becomes red;
* store v: v is red (it may be blue already); v becomes blue;
* compute v: v has predecessors, all are red, v is not red, and v's words still fit; under the one-shot rules
  v has not been computed before; v becomes red;
* delete v: v is red; it is red no more. Blue pebbles stay for ever.

``python tests/perft_reference.py`` prints perft_tables.toml anew.
"""

from __future__ import annotations

from collections import Counter

# name, number of vertices, edges (predecessor, vertex), weights or None, the values of M, depth
GRAPHS = [
    ("edge", 2, [(0, 1)], None, [1, 2, 3], 10),
    ("isolated vertex beside an edge", 3, [(0, 1)], None, [2], 8),
    ("two inputs, one output", 3, [(0, 2), (1, 2)], None, [2, 3], 9),
    ("path of four", 4, [(0, 1), (1, 2), (2, 3)], None, [2, 3], 9),
    ("diamond", 4, [(0, 1), (0, 2), (1, 3), (2, 3)], None, [3, 4], 8),
    ("pyramid of height 2", 6, [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5)], None, [3, 4], 7),
    ("ids against the edges", 4, [(3, 1), (2, 1), (1, 0)], None, [3], 8),
    ("butterfly on 2 points", 4, [(0, 2), (1, 2), (0, 3), (1, 3)], None, [3, 4], 8),
    ("weighted fork", 4, [(0, 1), (0, 2), (1, 3), (2, 3)], [2, 1, 3, 1], [5, 6], 8),
    ("weighted path", 3, [(0, 1), (1, 2)], [1, 2, 1], [2, 3, 4], 9),
]
RULES = ["hong-kung", "one-shot"]

Position = tuple[frozenset[int], frozenset[int], frozenset[int]]


def moves_from(
    position: Position, n: int, edges: list[tuple[int, int]], weights: list[int], M: int, rules: str
) -> list[Position]:
    """The position after each legal move."""
    red, blue, computed = position
    room = M - sum(weights[v] for v in red)
    after = []
    for v in range(n):
        preds = {u for u, w in edges if w == v}
        fits = v not in red and weights[v] <= room
        if v in blue and fits:
            after.append((red | {v}, blue, computed))
        if v in red:
            after.append((red, blue | {v}, computed))
        if preds and preds <= red and fits and not (rules == "one-shot" and v in computed):
            after.append((red | {v}, blue, computed | {v}))
        if v in red:
            after.append((red - {v}, blue, computed))
    return after


def perft(
    n: int, edges: list[tuple[int, int]], weights: list[int] | None, M: int, rules: str, depth: int
) -> list[int]:
    """How many legal sequences of 0, 1, …, `depth` moves there are from the start."""
    words = weights or [1] * n
    sources = frozenset(range(n)) - {v for _, v in edges}
    front: Counter[Position] = Counter({(frozenset(), sources, frozenset()): 1})
    counts = [1]
    for _ in range(depth):
        following: Counter[Position] = Counter()
        for position, ways in front.items():
            for after in moves_from(position, n, edges, words, M, rules):
                following[after] += ways
        front = following
        counts.append(sum(front.values()))
    return counts


def tables() -> str:
    """The data file's text."""
    lines = [
        "# Numbers of legal move sequences of length 0, 1, 2, … from the start, for tiny graphs.",
        "# Conventions: a vertex that is red cannot be loaded or computed; storing a red vertex is legal",
        "# even if it is blue already; blue pebbles are never removed; sources cannot be computed; the",
        "# sequence goes on after every output is blue. Written by tests/perft_reference.py, which imports",
        "# nothing of the project.",
    ]
    for name, n, edges, weights, memories, depth in GRAPHS:
        for M in memories:
            for rules in RULES:
                lines += ["", "[[case]]", f'graph = "{name}"', f"num_vertices = {n}"]
                lines.append(f"edges = {[list(edge) for edge in edges]}")
                if weights:
                    lines.append(f"weights = {weights}")
                counts = perft(n, edges, weights, M, rules, depth)
                lines += [f"M = {M}", f'rules = "{rules}"', f"counts = {counts}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(tables(), end="")
