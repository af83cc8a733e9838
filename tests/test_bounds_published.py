"""Values printed in the literature, and claims of the literature that are false."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs.catalog import build
from pebble.instance import Instance
from pebble.result import Limit
from solvers.lower_bounds.matmul import cosma_formula
from solvers.lower_bounds.spectral import SPECTRAL, published_form
from solvers.lower_bounds.wavefront import WAVEFRONT, largest_wavefront
from solvers.search import SEARCH
from tests.oracle import oracle_graphs

# Jain & Zaharia (2020), the data behind their figures: sizes, and per M the values for those sizes.
PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("published_bounds.json").read_text())


def values(graph: str, bound: str) -> list[tuple[int, int, float]]:
    """(size, M, value) of one figure."""
    figure = PUBLISHED[graph]
    return [
        (n, int(M), value)
        for M, row in figure[bound].items()
        for n, value in zip(figure["n"], row, strict=False)
    ]


@pytest.mark.parametrize(("l", "M", "value"), [v for v in values("fft", "spectral") if v[0] <= 8])
def test_spectral_values_of_the_fft(l: int, M: int, value: float) -> None:
    assert published_form(build(f"fft:{2**l}"), M) == pytest.approx(value, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("l", "M", "value"), [v for v in values("fft", "spectral") if 8 < v[0] <= 11])
def test_spectral_values_of_large_ffts(l: int, M: int, value: float) -> None:
    assert published_form(build(f"fft:{2**l}"), M) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(("n", "M", "value"), [v for v in values("matmult", "spectral") if v[0] <= 8])
def test_spectral_values_of_products(n: int, M: int, value: float) -> None:
    """Each entry one vertex that adds all its products: the flat sum."""
    assert published_form(build(f"matmul:{n}x{n}x{n},sums=flat"), M) == pytest.approx(value, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "M", "value"), [v for v in values("matmult", "spectral") if 8 < v[0] <= 20])
def test_spectral_values_of_larger_products(n: int, M: int, value: float) -> None:
    assert published_form(build(f"matmul:{n}x{n}x{n},sums=flat"), M) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(("l", "M", "value"), [v for v in values("fft", "convex_mincut") if v[0] <= 10])
def test_wavefronts_of_the_fft(l: int, M: int, value: float) -> None:
    """Theirs is 2(W − M), W the largest of the least wavefronts, every vertex counting alike."""
    width, _, complete = largest_wavefront(build(f"fft:{2**l}"))
    assert complete
    assert max(0, 2 * (width - M)) == value


def test_our_forms_count_first_loads_and_last_stores_and_no_stores_of_sources() -> None:
    """Why the certificates differ from the figures: sources start blue here, and all I/O counts."""
    instance = Instance(build("fft:128"), 4, "one-shot")
    wavefront, spectral = WAVEFRONT(instance), SPECTRAL(instance)
    assert wavefront is not None
    assert wavefront.value == 2 * 128 + 2 * (8 - 4)
    assert spectral is not None
    assert spectral.value >= 2 * 128
    assert WAVEFRONT(Instance(build("fft:128"), 4)) is None


def test_a_time_limit_leaves_a_valid_wavefront() -> None:
    cdag = build("fft:256")
    width, _, complete = largest_wavefront(cdag, limit=Limit(time=0.0))
    assert not complete
    assert width <= largest_wavefront(cdag)[0]


# -- false claims -----------------------------------------------------------------------------------------


def test_the_bound_of_cosma_is_false() -> None:
    """Theorem 1 of Kwasniewski et al. (2019) claims 34.48 words for 4 × 1 × 4 at M = 3; 33 suffice."""
    assert cosma_formula(4, 1, 4, 3) == pytest.approx(34.475, abs=1e-3)
    solved = SEARCH(Instance(build("matmul:4x1x4"), 3), limit=Limit(nodes=100_000), seed=0)
    assert solved.io == 33
    known = [graph for graph in oracle_graphs() if graph.cdag == build("matmul:4x1x4")]
    assert all(graph.optimum.get((3, "hong-kung"), 33) == 33 for graph in known)
