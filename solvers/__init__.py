"""Players that prove: exact solvers, and lower bounds that no schedule can beat."""

from __future__ import annotations

from solvers.bounding import best_bound, bounds
from solvers.catalog import BOUNDS, SOLVERS
from solvers.hierarchical import hierarchy_bounds
from solvers.improving import improve
from solvers.progress import Progress
from solvers.solving import solve, solve_range

__all__ = [
    "BOUNDS",
    "SOLVERS",
    "Progress",
    "best_bound",
    "bounds",
    "hierarchy_bounds",
    "improve",
    "solve",
    "solve_range",
]
