"""Players that prove: exact solvers, and lower bounds that no schedule can beat."""

from __future__ import annotations

from solvers.bounding import best_bound, bounds
from solvers.catalog import BOUNDS, SOLVERS

__all__ = ["BOUNDS", "SOLVERS", "best_bound", "bounds"]
