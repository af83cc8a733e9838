"""Exact solving by an integer program over orders and kept values (OR-Tools)."""

from solvers.ilp.solver import ILP, IntegerProgram

__all__ = ["ILP", "IntegerProgram"]
