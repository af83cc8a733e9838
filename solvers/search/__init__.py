"""Exact search over game states; `SEARCH` is the solver."""

from solvers.search.solver import SEARCH

__all__ = ["SEARCH"]
