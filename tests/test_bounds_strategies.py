"""No certificate exceeds the I/O of any strategy, on a grid of sizes and memories for every family."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphs.catalog import build, parse
from pebble.instance import Instance
from pebble.referee import verify
from solvers.bounding import best_bound, bounds
from solvers.catalog import BOUNDS
from strategies.catalog import REGISTRY
from strategies.playing import count, play
from strategies.protocol import Countable

COUNTED = [
    ("attention-backward:n={n},d={d}", ("D", "O")),
    ("attention-gradient:n={n},d={d}", ("E", "dO")),
]


def counts(spec: str, M: int) -> Iterator[tuple[str, int]]:
    """I/O of every tile program that plays the spec with M words."""
    parsed = parse(spec)
    for name in REGISTRY.names():
        strategy = REGISTRY.get(name)
        if not isinstance(strategy, Countable) or strategy.count_supports(parsed) is not None:
            continue
        if strategy.count_least_M(parsed) <= M:
            yield name, count(strategy, parsed, M).io


SHAPES = [(2, 1), (3, 5), (16, 4), (64, 16), (100, 7), (1024, 64), (4096, 128), (40, 200)]
FACTORS = [1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32, 1000]


def _grid_case(family: str, choice: str, shapes: list[tuple[int, int]], factors: list[float]) -> int:
    compared = 0
    for n, d in shapes:
        for fma in ("", ",fma=true"):
            spec = family.format(n=n, d=d) + f",given={choice}{fma}"
            for factor in factors:
                M = max(6, int(factor * d * d))
                found = bounds(spec, M)
                for name, io in counts(spec, M):
                    for bound in found:
                        assert bound.value <= io, (spec, M, name, bound)
                        compared += 1
    return compared


@pytest.mark.parametrize(("family", "given"), COUNTED)
def test_no_bound_exceeds_a_tile_program(family: str, given: tuple[str, ...]) -> None:
    assert _grid_case(family, given[0], [SHAPES[3]], FACTORS[::4]) > 50
    assert _grid_case(family, given[1], [SHAPES[1]], FACTORS[1::4]) > 10


@pytest.mark.slow
@pytest.mark.parametrize(("family", "given"), COUNTED)
def test_no_bound_exceeds_a_tile_program_on_the_whole_grid(family: str, given: tuple[str, ...]) -> None:
    for choice in given:
        assert _grid_case(family, choice, SHAPES, FACTORS) > 500


@pytest.mark.parametrize("shape", ["4x1x4", "60x2x60", "64x8x64", "100x100x100", "7x300x5", "1000x1000x10"])
def test_no_bound_exceeds_a_tiled_product(shape: str) -> None:
    for options in ("", ",fma=true"):
        for M in (4, 16, 100, 1000, 5000):
            spec = f"matmul:{shape}{options}"
            for rules in ("hong-kung", "one-shot"):
                for bound in bounds(spec, M, rules):
                    for name, io in counts(spec, M):
                        assert bound.value <= io, (spec, M, name, bound)


MASKED = [
    "mask=causal",
    "mask=window:7",
    "mask=window:3:5",
    "mask=block:4:butterfly",
    "mask=block:8:global,heads=2",
    "mask=causal,heads=4,kv_heads=2",
    "heads=6,kv_heads=2",
    "n_k=200,mask=causal",
]


def _masked_case(family: str, options: str, shapes: list[tuple[int, int]], factors: list[float]) -> int:
    compared = 0
    for n, d in shapes:
        spec = f"{family}:n={n},d={d},{options}"
        for factor in factors:
            M = max(10, int(factor * d * d))
            found = bounds(spec, M)
            for name, io in counts(spec, M):
                for bound in found:
                    assert bound.value <= io, (spec, M, name, bound)
                    compared += 1
    return compared


@pytest.mark.parametrize("options", MASKED[::3])
def test_no_bound_exceeds_a_masked_program(options: str) -> None:
    for family in ("attention-backward", "attention-forward"):
        assert _masked_case(family, options, [(64, 4)], [2, 16]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("options", MASKED)
def test_no_bound_exceeds_a_masked_program_on_the_whole_grid(options: str) -> None:
    for family in ("attention-backward", "attention-forward"):
        shapes = [(32, 1), (100, 7), (128, 16), (160, 30)]
        assert _masked_case(family, options, shapes, FACTORS) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        "attention-backward:n=12,d=3",
        "attention-backward:n=10,d=2,mask=causal",
        "attention-gradient:n=10,d=3",
        "attention-forward:n=14,d=3",
        "a1xa2t:n=8,d=4",
        "matmul:8x10x6",
        "fft:64",
        "pyramid:16",
        "stencil1d:n=24,t=12",
        "stencil2d:rows=6,cols=6,t=4",
        "grid:9x9",
    ],
)
def test_no_bound_exceeds_what_auto_and_tuned_play(spec: str) -> None:
    """The best players there are, at small memories and large."""
    cdag = build(spec)
    least = Instance(cdag, 999).least_M
    names = [name for name in BOUNDS.names() if name not in DEAR]
    for rules in ("hong-kung", "one-shot"):
        for M in (least, least + 2, 2 * least + 4, 24, 48, 100):
            instance = Instance(cdag, M, rules)
            found = [b for b in bounds(instance, names=names) if b.certificate]
            for name in ("auto", "tuned", "hybrid", "blocked", "tiled", "masked-attention"):
                strategy = REGISTRY.get(name)
                if strategy.supports(instance) is None and strategy.least_M(instance) <= M:
                    io = verify(play(name, instance)).io
                    for bound in found:
                        assert bound.value <= io, (instance, name, bound)


PLAYED = [
    "attention-backward:n=6,d=3",
    "attention-backward:n=5,d=2,sums=tree",
    "attention-backward:n=5,d=2,scale=true,given=O",
    "attention-backward:n=7,d=2,mask=causal",
    "attention-backward:n=4,d=2,mask=window:1,heads=2,kv_heads=1",
    "attention-forward:n=6,d=2,mask=causal,heads=2",
    "attention-gradient:n=5,d=3",
    "attention-gradient:n=4,d=2,outputs=dX+dY,sums=flat",
    "attention-forward:n=6,d=3",
    "attention-forward:n=8,d=2,fma=true",
    "attention-backward:n=8,d=2,mask=causal",
    "attention-backward:n=8,d=3,mask=window:2,fma=true",
    "attention-backward:n=5,d=2,heads=4,kv_heads=2,mask=causal",
    "attention-backward:n=4,d=2,heads=2,n_k=9",
    "attention-forward:n=9,d=3,mask=block:2:butterfly",
    "attention-forward:n=3,d=2,heads=4,kv_heads=1,n_k=7",
    "a1xa2t:n=6,d=3",
    "a1xa2t:n=3,d=5,sums=tree",
    "matmul:5x6x4",
    "matmul:4x9x4,sums=tree",
    "matvec:6x6",
    "dot:16",
    "lu:5",
    "cholesky:5",
    "fft:64",
    "grid:7x7",
    "stencil1d:n=20,t=9",
    "stencil2d:rows=6,cols=5,t=3",
    "chain:9",
    "tree:leaves=27,arity=3",
    "pyramid:14",
    "reduce:11",
    "random:n=40,p=0.1,seed=3",
    "random-layered:w=5,d=5,seed=3",
]
# Bounds whose time grows fast with the graph.
DEAR = {"search", "partition", "block-projection"}


@pytest.mark.parametrize("spec", PLAYED)
def test_no_bound_exceeds_a_played_schedule(spec: str) -> None:
    cdag = build(spec)
    least = Instance(cdag, 99).least_M
    names = [name for name in BOUNDS.names() if name not in DEAR]
    for rules in ("hong-kung", "one-shot"):
        for M in (least, least + 3, 2 * least + 8, 60):
            instance = Instance(cdag, max(M, least), rules)
            found = [b for b in bounds(instance, names=names) if b.certificate]
            assert found
            for strategy in ("belady", "belady:order=dfs", "lru"):
                io = verify(play(strategy, instance)).io
                for bound in found:
                    assert bound.value <= io, (instance, strategy, bound)


# Best count over best bound; the targets are what the bounds reach, with a little room.
FRACTIONS = [1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32]
RATIOS = [
    (1024, 64, [2.3, 2.5, 2.5, 2.4, 2.4, 2.4, 2.7, 2.4, 1.8]),
    (4096, 128, [2.2, 2.4, 2.3, 2.2, 2.2, 2.0, 2.3, 2.0, 2.0]),
]


def _gap_case(n: int, d: int, ratios: list[float], step: int) -> None:
    spec = f"attention-backward:n={n},d={d}"
    for factor, most in list(zip(FRACTIONS, ratios, strict=True))[::step]:
        M = int(factor * d * d)
        best = min(io for _, io in counts(spec, M))
        assert 1 <= best / best_bound(spec, M).value <= most


def test_the_gap_of_attention_backward() -> None:
    _gap_case(*RATIOS[0], step=4)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "ratios"), RATIOS)
def test_the_gap_of_attention_backward_at_every_memory(n: int, d: int, ratios: list[float]) -> None:
    _gap_case(n, d, ratios, step=1)
