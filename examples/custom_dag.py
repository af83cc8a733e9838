"""A graph of your own from edges: name its vertices, weigh them, play it, see the best schedule there is.

Run with ``python examples/custom_dag.py``.
"""

from __future__ import annotations

import pebble
import solvers
import strategies

# A small build: every file is made from others, and takes as many words as it is large.
FILES = {
    "grammar": 2,
    "types": 2,
    "library": 3,
    "parser": 1,
    "checker": 2,
    "optimiser": 1,
    "codegen": 2,
    "docs": 1,
    "binary": 2,
}
MADE_FROM = {
    "parser": ["grammar", "types"],
    "checker": ["parser", "types"],
    "optimiser": ["checker", "library"],
    "codegen": ["optimiser", "grammar"],
    "docs": ["grammar", "library"],
    "binary": ["codegen", "docs"],
}


def build() -> pebble.CDAG:
    """The CDAG; the order of the vertices does not matter."""
    number = {name: i for i, name in enumerate(FILES)}
    edges = [(number[source], number[made]) for made, sources in MADE_FROM.items() for source in sources]
    return pebble.CDAG.from_edges(len(FILES), edges, weights=list(FILES.values()), labels=list(FILES))


def main() -> None:
    cdag = build()
    least = pebble.Instance(cdag, 1).least_M
    print(f"{cdag.num_vertices} files; the largest step needs {least} words")
    for M in range(least, least + 5):
        instance = pebble.Instance(cdag, M)
        belady = pebble.verify(strategies.play("belady", instance)).io
        result = solvers.solve(instance)
        print(f"M={M}: belady moves {belady} words, the optimum is {result.io} ({result.status.value})")
    assert result.schedule is not None
    print("the last schedule:", " ".join(str(move) for move in result.schedule))


if __name__ == "__main__":
    main()
