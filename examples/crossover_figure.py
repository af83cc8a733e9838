"""The crossover at M = d², counted and drawn: a sweep over M, then a plot of it.

Run with ``python examples/crossover_figure.py [FILE.svg]``; it needs matplotlib.
"""

from __future__ import annotations

import sys

from experiments import Grid, perform
from experiments.plotting import new_figure, plot_io, save_figure
from experiments.series import curves

GRID = Grid(
    graphs=["attention-backward:n=1024,d=64"],
    memory=["d^2/16..16d^2:x2"],
    count=["flash-attention", "two-pass", "algorithm6"],
    bounds=["best"],
)


def main(path: str = "crossover.svg") -> None:
    # `experiments.sweep(GRID, "runs.jsonl")` does the same on all processors, and survives being killed.
    found = curves([perform(run) for run in GRID.runs()])
    for crossing in found.crossings():
        print(f"from M = {crossing.M / 64**2:.2f} d² on {crossing.after} moves less than {crossing.before}")
    figure, (ax,) = new_figure()
    plot_io(found, ax=ax)
    save_figure(figure, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
