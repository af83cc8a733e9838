"""The registries of solvers and of lower bounds, their entries imported on first use."""

from __future__ import annotations

from collections.abc import Callable

from pebble.registry import Registry
from pebble.result import Bound, Result

__all__ = ["BOUNDS", "SOLVERS"]

SOLVERS: Registry[Callable[..., Result]] = Registry("solver", "pebble.solvers")
BOUNDS: Registry[Callable[..., Bound | None]] = Registry("bound", "pebble.bounds")

BOUNDS.register(
    "compulsory",
    "solvers.lower_bounds.compulsory:compulsory",
    "any graph: every needed source is loaded, every computed output stored",
)
