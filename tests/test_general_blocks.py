"""Orders by blocks and bands: every compute once, operands first, and the I/O that the blocks promise."""

from __future__ import annotations

import numpy as np
import pytest

import graphs
import pebble
import strategies
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Limit
from strategies.blocked import _FAMILIES
from strategies.fft import fft_order
from strategies.replaying import prepare

SPECS = [
    "fft:2",
    "fft:32",
    "stencil1d:n=1,t=3",
    "stencil1d:n=9,t=7",
    "stencil2d:rows=1,cols=4,t=3",
    "stencil2d:rows=5,cols=4,t=6",
    "grid:1x5",
    "grid:6x4",
    "pyramid:1",
    "pyramid:9",
]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("extra", [0, 1, 3, 40])
def test_every_order_computes_everything_once(spec: str, extra: int) -> None:
    cdag = graphs.build(spec)
    M = Instance(cdag, 1).least_M + extra
    names = []
    for name, order in _FAMILIES[cdag.family](cdag, M):
        names.append(name)
        assert np.array_equal(np.sort(order), np.flatnonzero(~cdag.is_source)), name
        prepare(cdag, order, "one-shot")
    assert names
    assert len(set(names)) == len(names)


def played(spec: str, M: int, strategy: str = "blocked") -> int:
    schedule = strategies.play(strategy, Instance(graphs.build(spec), M))
    cost = pebble.verify(schedule)
    assert cost.io == schedule.claim
    return cost.io


@pytest.mark.parametrize(("spec", "M", "most"), [("fft:4096", 66, 16_384), ("fft:1024", 34, 4_096)])
def test_fft_in_two_passes(spec: str, M: int, most: int) -> None:
    assert played(spec, M) <= most


@pytest.mark.parametrize(("M", "most"), [(3, 112), (4, 88), (5, 72), (6, 64)])
def test_fft_of_16_points_from_blocks_of_4(M: int, most: int) -> None:
    assert played("fft:16", M, "auto") <= most


def test_a_pass_of_the_fft_keeps_to_its_blocks() -> None:
    order = fft_order(4, [2, 2])
    first, second = order[:32], order[32:]
    assert set(first // 16) == {1, 2}
    assert set(second // 16) == {3, 4}
    assert [set(block % 16 // 4) for block in first.reshape(4, 8)] == [{0}, {1}, {2}, {3}]
    assert [set(block % 4) for block in second.reshape(4, 8)] == [{3}, {2}, {1}, {0}]


@pytest.mark.parametrize("height", [1, 3, 8])
def test_a_band_of_a_stencil_costs_two_words_a_point(height: int) -> None:
    n, t = 60, 24
    assert played(f"stencil1d:n={n},t={t}", 2 * height + 2) <= 2 * n * -(-t // height)


def test_bands_of_a_grid_and_a_pyramid() -> None:
    # A front of one value per row of the band; one row is read and one written per band.
    assert played("grid:24x24", 10) <= 2 * 24 * 2 + 2
    assert played("pyramid:24", 10) <= 24 + 2 + 2 * (17 + 9)


@pytest.mark.parametrize(("arity", "depth"), [(2, 2), (2, 3), (2, 6), (3, 2), (4, 2), (3, 4)])
def test_trees_cost_their_closed_form(arity: int, depth: int) -> None:
    # k-ary in-tree of depth d at M = k + 1.
    expected = arity**depth + 2 * arity ** (depth - 1) - 1
    assert played(f"tree:leaves={arity**depth},arity={arity}", arity + 1, "auto") == expected


def test_options_and_limits() -> None:
    instance = Instance(graphs.build("fft:64"), 10)
    assert strategies.play("blocked:blocks=3+3", instance).info["blocks"] == "3+3"
    with pytest.raises(UnsupportedInstanceError, match="does not try blocks=9"):
        strategies.play("blocked:blocks=9", instance)
    one = strategies.play("blocked", instance, limit=Limit(nodes=1))
    assert one.claim is not None
    best = strategies.play("blocked", instance).claim
    assert best is not None
    assert best <= one.claim
    with pytest.raises(UnsupportedInstanceError, match="fft, stencil1d"):
        strategies.play("blocked", Instance(graphs.build("chain:4"), 3))
