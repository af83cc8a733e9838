"""The registries of solvers and of lower bounds, their entries imported on first use."""

from __future__ import annotations

from collections.abc import Callable

from pebble.registry import Registry
from pebble.result import Bound, Result

__all__ = ["BOUNDS", "SOLVERS"]

SOLVERS: Registry[Callable[..., Result]] = Registry("solver", "pebble.solvers")
BOUNDS: Registry[Callable[..., Bound | None]] = Registry("bound", "pebble.bounds")

for _name, _target, _requires, _summary in [
    (
        "auto",
        "solvers.auto:AUTO",
        (),
        "strategies, bounds, then the exact methods in a sensible order",
    ),
    (
        "search",
        "solvers.search:SEARCH",
        ("numba",),
        "search over game states, every rule set, up to 256 vertices",
    ),
    (
        "ilp",
        "solvers.ilp:ILP",
        ("ortools",),
        "integer program over orders and kept values, every rule set: CP-SAT, HiGHS, SCIP",
    ),
]:
    SOLVERS.register(_name, _target, _summary, requires=_requires)

for _name, _target, _requires, _summary in [
    (
        "compulsory",
        "compulsory:COMPULSORY",
        (),
        "any graph: every needed source is loaded, every computed output stored",
    ),
    (
        "attention-products",
        "attention:PRODUCTS",
        (),
        "attention: segments of I/Os, leaf products of the scores (LB-A)",
    ),
    (
        "attention-pairs",
        "attention:PAIRS",
        (),
        "attention: segments of loads, pairs of tokens (LB-B)",
    ),
    (
        "attention-outputs",
        "attention_outputs:OUTPUTS",
        (),
        "attention: segments of I/Os, products that take pairs (LB-O)",
    ),
    (
        "attention-sequential",
        "attention_outputs:SEQUENTIAL",
        (),
        "attention, sequential sums: segments of loads, products that take pairs (LB-S)",
    ),
    (
        "attention-rectangles",
        "attention_outputs:RECTANGLES",
        (),
        "attention-backward, sequential sums, large memory: rectangles of pairs (LB-R)",
    ),
    (
        "attention-one-shot",
        "attention_outputs:ONE_SHOT",
        (),
        "attention, one-shot, sequential sums: no pair or sum is begun twice (LB-C)",
    ),
    (
        "matmul-products",
        "matmul:PRODUCTS",
        (),
        "matmul: segments of I/Os, leaf products",
    ),
    (
        "min-cut-wavefront",
        "wavefront:WAVEFRONT",
        ("numba",),
        "any graph, one-shot: what must be alive when a vertex is computed",
    ),
    (
        "aggregation",
        "aggregation:AGGREGATION",
        (),
        "any graph, partial computation and one-shot: every edge needs both its ends red",
    ),
    (
        "full-memory",
        "full_memory:FULL_MEMORY",
        ("numba",),
        "any graph: what comes back after computes that fill fast memory",
    ),
    (
        "spectral",
        "spectral:SPECTRAL",
        ("scipy",),
        "any graph, one-shot: least eigenvalues of its Laplacian",
    ),
    (
        "partition",
        "partition:PARTITION",
        ("numba",),
        "small graphs: the least number of parts of a Hong-Kung partition",
    ),
    (
        "block-projection",
        "projection:PROJECTION",
        ("numba",),
        "any graph: exact optima of relaxed games on disjoint blocks, added up",
    ),
    (
        "search",
        "exact:EXACT",
        ("numba",),
        "up to 256 vertices: what the exact search proves within a limit",
    ),
    ("matmul-closed-form", "matmul:CLOSED_FORM", (), "matmul: mkn/√(2M) − M"),
    (
        "matmul-sequential",
        "matmul:SEQUENTIAL",
        (),
        "matmul, sequential sums: segments of loads, leaf products",
    ),
    (
        "a1xa2t-products",
        "matmul:TWO_PRODUCTS",
        (),
        "a1xa2t: segments, leaf products of either product",
    ),
    (
        "matmul-one-shot",
        "matmul:ONE_SHOT",
        (),
        "matmul, one-shot, sequential sums: about 2mkn/√M (Smith et al.)",
    ),
    (
        "dominators",
        "dominators:DOMINATORS",
        (),
        "fft, pyramid, stencils: segments of loads, dominated vertices",
    ),
    (
        "theorem-1.1",
        "asymptotic:THEOREM_1_1",
        (),
        "attention, asymptotic, no certificate: Li et al. (2024), theorem 1.1",
    ),
    (
        "sparse-theorem",
        "asymptotic:SPARSE",
        (),
        "attention, asymptotic, no certificate: Li et al. (2024), theorem 4.5",
    ),
    (
        "saha-ye",
        "asymptotic:SAHA_YE",
        (),
        "attention-forward, asymptotic, no certificate: Saha & Ye (2024)",
    ),
]:
    BOUNDS.register(_name, f"solvers.lower_bounds.{_target}", _summary, requires=_requires)
