"""Several levels of memory: total cost over its lower bound, by player.

    python benchmarks/hierarchy_table.py                # all rows, as Markdown
    python benchmarks/hierarchy_table.py --only matmul

"Alone" is the best single strategy on level 1 with Belady's rule above, "in each other" the best program in
a program. Seconds are processor time of `auto`, kernels compiled.
"""

from __future__ import annotations

import argparse
import time

import graphs
import solvers
import strategies
from pebble import CDAG, Hierarchy, Instance, UnsupportedInstanceError, verify_hierarchy

ROWS = [
    ("matmul:16x16x16", (24, 150), (1, 10)),
    ("matmul:16x16x16", (12, 60, 300), (1, 10, 100)),
    ("a1xa2t:n=16,d=4", (24, 150), (1, 10)),
    ("attention-forward:n=16,d=4", (24, 150), (1, 10)),
    ("attention-backward:n=16,d=4", (24, 150), (1, 10)),
    ("attention-backward:n=32,d=8", (24, 150), (1, 10)),
    ("attention-gradient:n=16,d=4", (24, 150), (1, 10)),
    ("fft:256", (8, 64), (1, 10)),
    ("stencil1d:n=128,t=32", (8, 64), (1, 10)),
    ("stencil2d:rows=16,cols=16,t=8", (24, 150), (1, 10)),
    ("pyramid:48", (8, 64), (1, 10)),
]
# Programs that are put into each other; those that do not play a graph are passed over.
PROGRAMS = ("tiled", "hybrid", "algorithm6", "saha-ye", "blocked", "belady")


def best(specs: list[str], g: CDAG, levels: Hierarchy) -> int:
    """The least total cost of several players."""
    totals = []
    for spec in specs:
        try:
            totals.append(verify_hierarchy(strategies.play_hierarchy(spec, g, levels)).total)
        except UnsupportedInstanceError:
            continue
    return min(totals)


def row(spec: str, sizes: tuple[int, ...], costs: tuple[int, ...]) -> list[str]:
    """One row of the table."""
    g, levels = graphs.build(spec), Hierarchy(sizes, costs)
    bounds = solvers.hierarchy_bounds(g, levels)
    least = sum(c * bound.value for c, bound in zip(costs, bounds, strict=True))
    instance = Instance(g, sizes[0])
    alone = [n for n in strategies.names() if n != "auto" and strategies.get(n).supports(instance) is None]
    programs = [name for name in PROGRAMS if name in alone]
    pairs = [f"{outer}/{inner}" for outer in programs for inner in programs]
    strategies.play_hierarchy("auto", g, levels)
    before = time.process_time()
    auto = verify_hierarchy(strategies.play_hierarchy("auto", g, levels))
    seconds = time.process_time() - before
    ratios = [best(specs, g, levels) / least for specs in (["belady"], alone, pairs, ["nested"])]
    words = [", ".join(map(str, numbers)) for numbers in (sizes, costs, auto.io)]
    figures = [f"{ratio:.3f}" for ratio in (*ratios, auto.total / least)]
    return [f"`{spec}`", *words, f"{auto.total:,}", f"{least:,}", *figures, f"{seconds:.0f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose graph contains this")
    only = parser.parse_args().only
    heads = [
        "graph",
        "M",
        "costs",
        "I/O",
        "cost",
        "bound",
        "belady",
        "alone",
        "in each other",
        "nested",
        "auto",
    ]
    print("| " + " | ".join([*heads, "s"]) + " |")
    print("|" + "---|" * 4 + "---:|" * (len(heads) - 3))
    for spec, sizes, costs in ROWS:
        if only in spec:
            print("| " + " | ".join(row(spec, sizes, costs)) + " |", flush=True)


if __name__ == "__main__":
    main()
