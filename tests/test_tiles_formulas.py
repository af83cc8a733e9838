"""What the tile programs cost, in closed form, and the marks that they have to reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphs
import strategies
from strategies import algorithm6, attention_backward, attention_gradient
from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Shape
from strategies.tiles.products import square_product, streamed_product
from strategies.tiles.tuning import Step, best_blocks, distinct_blocks

SHAPES = [(n, d) for n in (4, 7, 12, 24, 25) for d in (2, 3, 8, 16)]


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _read(
    program: Callable[..., None], n: int, d: int, given: str = "D", /, **blocks: int
) -> tuple[int, int, int]:
    machine = CountingMachine(Shape.of({"n": n, "d": d, "given": given}))
    program(machine, Shape.of({"n": n, "d": d, "given": given}), **blocks)
    machine.check_empty()
    return int(machine.loads), int(machine.stores), int(machine.peak)


def _two_blocks(n: int) -> list[tuple[int, int]]:
    return [(a, b) for a in (1, 2, 3, 5, n) for b in (1, 2, 3, 5, n) if a <= n and b <= n]


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_flash_attention(n: int, d: int) -> None:
    for Bc, Br in _two_blocks(n):
        T = _up(n, Bc)
        blocks = {"block_columns": Bc, "block_rows": Br}
        loads, stores, peak = _read(attention_backward.flash_attention, n, d, **blocks)
        assert loads == 2 * n * d + T * (3 * n * d + 2 * n) - n * d
        assert stores == T * n * d + 2 * n * d
        if 2 * Br <= n:
            assert peak == 4 * d * Bc + 2 * d * Br + 2 * Br * Bc + 2
        loads, stores, peak = _read(attention_backward.flash_attention_1, n, d, "O", **blocks)
        assert loads == 2 * n * d + T * (4 * n * d + n) - n * d
        assert stores == T * n * d + 2 * n * d
        if 2 * Br <= n:
            assert peak == 4 * d * Bc + 2 * d * Br + 2 * Br * Bc + Br + 2
    spec = graphs.GraphSpec.parse(f"attention-backward:n={n},d={d}")
    assert attention_backward.FLASH_ATTENTION.count_least_M(spec) == 6 * d + 4


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_two_pass(n: int, d: int) -> None:
    for Bc, Br in _two_blocks(n):
        T, N = _up(n, Bc), _up(n, Br)
        loads, stores, peak = _read(attention_backward.keys_pass, n, d, block_columns=Bc, inner_rows=Br)
        assert (loads, stores) == (2 * n * d + T * (2 * n * d + 2 * n), 2 * n * d)
        if 2 * Br <= n:
            assert peak == 4 * d * Bc + 2 * d * Br + 2 * Br * Bc + 2
        loads2, stores2, peak = _read(attention_backward.queries_pass, n, d, block_rows=Br, inner_columns=Bc)
        assert (loads2, stores2) == (2 * n * d + 2 * n + 2 * n * d * N, n * d)
        if 2 * Bc <= n:
            assert peak == 3 * d * Br + 2 * Br + d * Bc + 2 * Br * Bc + 3
        both = loads + stores + loads2 + stores2
        assert both == (3 * n * d + 2 * n + 2 * n * d * N) + (4 * n * d + T * (2 * n * d + 2 * n))


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_naive(n: int, d: int) -> None:
    io = 10 * n * n * d + 7 * n * n, 6 * n * n + 3 * n * d
    assert _read(attention_backward.naive, n, d) == (*io, 5)
    assert _read(attention_backward.naive, n, d, "O") == (io[0] + 3 * n * d, io[1] + n * d + n, 5)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_algorithm6_square(n: int, d: int) -> None:
    for B in (1, 2, 3, 5):
        N, delta = _up(n, B), _up(d, B)
        loads, stores, peak = _read(algorithm6.backward_square, n, d, tile=B)
        assert loads == 7 * n * d * N + 3 * n * n * delta + n * n + 2 * n
        assert stores == 2 * n * n + 3 * n * d
        if min(n, d) >= B and d > 1:
            assert peak == 3 * B * B + B + 2
        with_dots = _read(algorithm6.backward_square, n, d, "O", tile=B)
        assert with_dots[:2] == (loads + 2 * n * d, stores + n)

        loads, stores, peak = _read(algorithm6.gradient_square, n, d, "E", tile=B)
        assert loads == (
            6 * n * d * N + 2 * n * n * delta + 4 * n * d * delta + 2 * d * d * N + n * n + n * d + 3 * n
        )
        assert stores == 2 * n * n + 4 * n * d + d * d + 2 * n
        if min(n, d) >= B:
            assert peak == 3 * B * B + 2 * B + 2
        loads, stores, _ = _read(algorithm6.gradient_square, n, d, "dO", tile=B)
        assert loads == (
            5 * n * d * N + n * n * delta + 4 * n * d * delta + 2 * d * d * N + n * n + 2 * n * d + 2 * n
        )
        assert stores == 2 * n * n + 3 * n * d + d * d + 2 * n


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_algorithm6_streaming(n: int, d: int) -> None:
    for a, b in _two_blocks(n):
        N, T = _up(n, a), _up(n, b)
        entries = n * d * N + n * d * T
        peak = a * b + min(a, b) + 3
        blocks = {"rows": a, "columns": b}
        probabilities, gradients = algorithm6.probabilities_step, algorithm6.gradient_of_scores_step
        assert _read(probabilities, n, d, **blocks) == (entries + n * T, n * n, peak)
        assert _read(gradients, n, d, **blocks) == (entries + n * T + n * n, n * n, peak)
        loads, stores, most = _read(algorithm6.exponentials_step, n, d, "E", **blocks)
        assert (loads, stores) == (entries, n * n + n)
        if T == 1 or 2 * b <= n:
            assert most == peak + (a if T > 1 else 0)
        loads, stores, most = _read(algorithm6.weights_gradient_step, n, d, "E", **blocks)
        assert (loads, stores, most) == (entries + 2 * n * T + n * n, n * n, max(peak, a * b + 4))
        c = min(b, d)
        loads, stores, most = _read(algorithm6.outputs_step, n, d, "E", rows=a, columns=c)
        assert loads == n * n * _up(d, c) + n * d * N + n * _up(d, c)
        assert (stores, most) == (n * d, a * c + min(a, c) + 3)
    assert _read(algorithm6.residuals_step, n, d, "E") == (2 * n * d, n * d + n, 4)
    assert _read(algorithm6.output_dots, n, d, "dO") == (2 * n * d, n, 4)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_row_resident(n: int, d: int) -> None:
    for Br, Bc in _two_blocks(n):
        N = _up(n, Br)
        blocks = {"block_rows": Br, "inner_columns": Bc}
        loads, stores, peak = _read(attention_gradient.softmax_pass, n, d, "E", **blocks)
        assert (loads, stores) == (2 * n * d + d * d * N + 2 * n * d * N, n * d + 2 * n)
        if 2 * Bc <= n:
            assert peak == 2 * d * Br + Br + Br * Bc + 3
        loads, stores, _ = _read(attention_gradient.row_sums_pass, n, d, "dO", **blocks)
        assert (loads, stores) == (n * d + d * d * N + n * d * N, n)
        blocks = {"gradient_rows": Br, "gradient_columns": Bc}
        loads, stores, peak = _read(attention_gradient.gradient_pass, n, d, "E", **blocks)
        assert loads == 3 * n * d + 2 * n + d * d * N + 2 * n * d * N + (N - 1) * d * d
        assert stores == d * d * N
        if 2 * Bc <= n:
            assert peak == 3 * d * Br + 2 * Br + d * Bc + 2 * Br * Bc + 3


def test_row_resident_leading_term() -> None:
    """(4 + 6) n²d²/M once d² << M << nd."""
    n, d = 1 << 22, 64
    M = 64 * d * d
    io = strategies.count("row-resident", f"attention-gradient:n={n},d={d}", M).io
    assert io * M / (n * d) ** 2 == pytest.approx(10, rel=0.03)


@pytest.mark.parametrize(("p", "r", "k"), [(5, 7, 3), (12, 12, 12), (1, 9, 4), (8, 1, 2), (6, 5, 20)])
def test_products(p: int, r: int, k: int) -> None:
    for a in (1, 2, 5):
        for b in (1, 3, 4):
            machine = CountingMachine(Shape.of({}))
            streamed_product(machine, "C", "A", "B", (p, r, k), a, b)
            assert machine.loads == p * k * _up(r, b) + k * r * _up(p, a)
            assert machine.stores == p * r
            a0, b0 = min(a, p), min(b, r)
            assert machine.peak == a0 * b0 + min(a0, b0) + 3
        machine = CountingMachine(Shape.of({}))
        square_product(machine, "C", "A", "B", (p, r, k), a)
        assert machine.loads == p * k * _up(r, a) + k * r * _up(p, a)
        if a <= min(p, r, k):
            assert machine.peak == 3 * a * a + 2


def test_tiled_products_are_near_the_least_possible() -> None:
    for M in (64, 256, 1024, 4096):
        io = strategies.count("tiled", "matmul:2048x2048x2048", M).io
        assert io <= 1.25 * 2 * 2048**3 / M**0.5
    n, d, M = 1024, 64, 1024
    spec = f"a1xa2t:n={n},d={d}"
    _, blocks = strategies.count_detail("tiled", spec, M)
    a, b, x, y = (blocks[key] for key in ("T_rows", "T_columns", "S_rows", "S_columns"))
    loads = n * d * (_up(d, b) + _up(n, x) + _up(n, y)) + d * d * _up(n, a)
    assert strategies.count("tiled", spec, M).io == loads + n * d + n * n


# -- marks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("M", "flash", "small"),
    [(64, None, 113_408), (256, 96_000, 61_824), (1024, 24_192, None), (4300, 7_296, None)],
)
def test_marks_at_64x16(M: int, flash: int | None, small: int | None) -> None:
    spec = "attention-backward:n=64,d=16"
    if flash is not None:
        assert min(strategies.count(name, spec, M).io for name in ("flash-attention", "two-pass")) <= flash
    if small is not None:
        assert strategies.count("algorithm6", spec, M).io <= small


def test_the_crossing_lies_between_d2_and_2_d2() -> None:
    """Li, Liang, Shi, Song et al. (2024): below M = Θ(d²) FlashAttention is not the best, Algorithm 6 is."""
    n, d = 1024, 64
    spec = f"attention-backward:n={n},d={d}"
    for M in [6 * d + 4, 400, 512, 700, 1024, 1500, 2048, 2600, 3072, 3600, 4000, d * d - 1]:
        assert strategies.count("algorithm6", spec, M).io < strategies.count("flash-attention", spec, M).io
    assert (
        strategies.count("algorithm6", spec, 2 * d * d).io
        > strategies.count("flash-attention", spec, 2 * d * d).io
    )


# -- the search for blocks ---------------------------------------------------------------------------------


def test_distinct_blocks() -> None:
    for extent in (1, 2, 3, 10, 36, 97, 1024):
        expected = sorted({-(-extent // number) for number in range(1, extent + 1)})
        assert distinct_blocks(extent).tolist() == expected


SEARCHED: list[tuple[Callable[..., None], dict[str, str], str]] = [
    (attention_backward.flash_attention, {"block_columns": "n", "block_rows": "n"}, "D"),
    (attention_backward.flash_attention_1, {"block_columns": "n", "block_rows": "n"}, "O"),
    (attention_backward.keys_pass, {"block_columns": "n", "inner_rows": "n"}, "D"),
    (attention_backward.queries_pass, {"block_rows": "n", "inner_columns": "n"}, "D"),
    (algorithm6.backward_square, {"tile": "n"}, "D"),
    (algorithm6.probabilities_step, {"rows": "n", "columns": "n"}, "D"),
    (algorithm6.exponentials_step, {"rows": "n", "columns": "n"}, "E"),
    (algorithm6.outputs_step, {"rows": "n", "columns": "d"}, "E"),
    (algorithm6.weights_gradient_step, {"rows": "n", "columns": "n"}, "E"),
    (attention_gradient.softmax_pass, {"block_rows": "n", "inner_columns": "n"}, "E"),
    (attention_gradient.gradient_pass, {"gradient_rows": "n", "gradient_columns": "n"}, "E"),
]


@pytest.mark.parametrize(("body", "axes", "given"), SEARCHED)
def test_search_is_exact(body: Callable[..., None], axes: dict[str, str], given: str) -> None:
    """Against every combination of integers, from the least M to no spill."""
    n, d = 13, 3
    shape = Shape.of({"n": n, "d": d, "given": given})
    grid = np.meshgrid(*(np.arange(1, getattr(shape, axis) + 1) for axis in axes.values()))
    every = {name: sizes.reshape(-1) for name, sizes in zip(axes, grid, strict=True)}
    machine = CountingMachine(shape, len(next(iter(every.values()))))
    body(machine, shape, **every)
    io, peak = np.asarray(machine.loads + machine.stores), np.asarray(machine.peak)
    step = Step(body, axes)
    for M in np.unique(np.geomspace(int(peak.min()), int(peak.max()), 12).astype(int)).tolist():
        blocks = best_blocks(step, shape, M)
        assert blocks is not None
        found = CountingMachine(shape)
        body(found, shape, **blocks)
        assert found.peak <= M
        assert found.loads + found.stores == io[peak <= M].min()
    assert best_blocks(step, shape, int(peak.min()) - 1) is None


def test_one_pass_prices_every_candidate() -> None:
    """An array of block sizes gives what each size gives alone, as does a mixture of arrays and numbers."""
    shape = Shape.of({"n": 12, "d": 4, "given": "D"})
    rows = np.arange(1, 13)
    for columns in (1, 5, 12):
        many = CountingMachine(shape, len(rows))
        attention_backward.flash_attention(many, shape, columns, rows)
        for place, size in enumerate(rows.tolist()):
            one = CountingMachine(shape)
            attention_backward.flash_attention(one, shape, columns, size)
            for figure in ("loads", "stores", "peak"):
                figures: Any = np.broadcast_to(getattr(many, figure), rows.shape)
                assert figures[place] == getattr(one, figure)
