"""The optimum against every lower bound: how much of the truth each bound sees.

Run with ``python examples/exact_and_bounds.py``.
"""

from __future__ import annotations

import graphs
import solvers
from pebble import Instance, Limit

GRAPH = "matmul:2x2x2"


def main() -> None:
    cdag = graphs.build(GRAPH)
    sizes = [4, 5, 6, 7]
    results = list(solvers.solve_range(cdag, sizes, method="search", limit=Limit(time=60)))
    print(f"{GRAPH}: {cdag.num_vertices} vertices")
    for M, result in zip(sizes, results, strict=True):
        found = solvers.bounds(Instance(cdag, M))
        shown = ", ".join(f"{bound.name} {bound.value}" for bound in found)
        print(f"M={M}: {result.status.value} {result.io}; bounds: {shown}")


if __name__ == "__main__":
    main()
