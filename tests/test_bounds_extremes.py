"""Bounds stay bounds at sizes where floating-point cancellation or 64-bit overflow would make them false."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.bounding import bounds
from solvers.lower_bounds.dominators import pyramid_dominated
from solvers.lower_bounds.tokens import backward_supply


@pytest.mark.parametrize("d", [1, 10**4, 10**7, 10**9])
def test_supply_is_never_below_what_kept_pairs_and_whole_rows_give(d: int) -> None:
    u = np.array([0.9, 3.0, 6.0, 72.0, 1e5])
    assert (backward_supply(d)(u) >= u**2 / 4).all()
    # dV alone: a²·o/d² with 2a + o = u.
    assert (backward_supply(d)(u) >= u**3 / (27 * float(d) ** 2)).all()


def test_long_rows_of_one_token_cost_a_few_passes() -> None:
    # Two passes over Q, K, V, dO and one store of dQ, dK, dV, at most 11 words per column.
    d = 10**9
    for bound in bounds(f"attention-backward:n=1,d={d}", 6):
        assert bound.value <= 11 * d + 10, bound


@pytest.mark.parametrize(
    ("spec", "M", "io"),
    [
        # Everything fits: inputs are loaded once, outputs stored once.
        ("matmul:2000000x2000000x2000000", 13 * 10**12, 12 * 10**12),
        ("pyramid:2000000000", 3 * 10**9, 2 * 10**9 + 2),
        ("stencil1d:n=4000000000,t=1", 9 * 10**9, 8 * 10**9),
    ],
)
def test_huge_problems_that_fit_cost_the_compulsory_io(spec: str, M: int, io: int) -> None:
    for bound in bounds(spec, M):
        assert bound.value <= io, bound


def test_a_large_row_dominates_a_large_pyramid() -> None:
    assert int(pyramid_dominated(np.array([2 * 10**9]))[0]) >= 10**18
