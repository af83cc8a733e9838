"""Exact solving by an integer program over orders and kept values (OR-Tools)."""

from solvers.ilp.solver import ILP, IntegerProgram, export_model

__all__ = ["ILP", "IntegerProgram", "export_model"]
