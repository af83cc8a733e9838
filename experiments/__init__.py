"""Many runs at once: sweeps over graphs, memories and players, their plots, and the report on the paper.

>>> from experiments import Grid
>>> [run.player for run in Grid(graphs=["fft:8"], memory=["4"], strategies=["belady", "lru"]).runs()]
['belady', 'lru', 'best']
"""

from __future__ import annotations

from experiments.grid import Grid, Run
from experiments.running import perform
from experiments.store import read_runs
from experiments.sweeping import Summary, SweepProgress, sweep

__all__ = ["Grid", "Run", "Summary", "SweepProgress", "perform", "read_runs", "sweep"]
