"""The figures, tables and claims of a paper, computed anew: Li et al. (2024, arXiv 2410.09397)."""

from __future__ import annotations

from experiments.paper.reproducing import reproduce

__all__ = ["reproduce"]
