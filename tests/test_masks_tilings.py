"""The tiles of a mask, counted by arithmetic, are those that looking at every pair finds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphs.masks import PATTERNS, attention_mask
from strategies.tiles.tilings import Tiling, outer_blocks, tiling

MASKS = [
    ("full", 7, 7),
    ("full", 12, 7),
    ("causal", 12, 12),
    ("causal", 7, 12),
    ("window:1", 7, 7),
    ("window:3", 12, 12),
    ("window:2:1", 12, 12),
    ("window:0:9", 7, 7),
    *((f"block:{b}:{pattern}", 12, 12) for b in (2, 5) for pattern in PATTERNS),
]

Row = tuple[int, ...]


def _by_looking(dense: NDArray[np.bool_], outside: int, inside: int) -> list[Row]:
    """Outer block, pairs, rows, columns, begun, begin and new of every tile with a pair."""
    found = []
    n, keys = dense.shape
    for k, a in enumerate(range(0, n, outside)):
        rows = dense[a : a + outside]
        for x in range(0, keys, inside):
            tile = rows[:, x : x + inside]
            if not tile.any():
                continue
            begun = rows[:, :x].any(axis=1)
            new = tile.any(axis=0) & ~dense[:a, x : x + inside].any(axis=0)
            begin = tile.any(axis=1) & ~begun
            counts = (tile, tile.any(axis=1), tile.any(axis=0), begun, begin, new)
            found.append((k, *(int(c.sum()) for c in counts)))
    return sorted(found)


def _listed(found: Tiling) -> list[Row]:
    columns = (found.outer, found.pairs, found.rows, found.columns, found.begun, found.begin, found.new)
    rows = [tuple(int(x) for x in row) for row in zip(*columns, strict=True)]
    return sorted(row for row, times in zip(rows, found.times.tolist(), strict=True) for _ in range(times))


@pytest.mark.parametrize(("text", "queries", "keys"), MASKS)
def test_tiles_are_those_of_the_array(text: str, queries: int, keys: int) -> None:
    mask = attention_mask(text, queries, keys)
    for view in (mask, mask.transposed(), mask.repeated(2)):
        dense = view.dense()
        for outside, inside in itertools.product((1, 2, 3, 5, 12, 40), repeat=2):
            found = tiling(view, outside, inside)
            assert _listed(found) == _by_looking(dense, outside, inside)
            sizes = np.diff([*range(0, view.queries, outside), view.queries])
            assert found.sizes.tolist() == sizes.tolist()


def test_tiles_of_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    dense = rng.random((9, 11)) < 0.25
    dense[np.arange(9), np.arange(9)] = dense[8, 9:] = True
    path = tmp_path / "mask.mtx"
    entries = "\n".join(f"{i + 1} {j + 1}" for i, j in np.argwhere(dense).tolist())
    path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n9 11 {int(dense.sum())}\n{entries}\n")
    mask = attention_mask(str(path), 9, 11)
    for outside, inside in itertools.product((1, 2, 4, 11), repeat=2):
        assert _listed(tiling(mask, outside, inside)) == _by_looking(dense, outside, inside)
        transposed = tiling(mask.transposed(), outside, inside)
        assert _listed(transposed) == _by_looking(dense.T, outside, inside)


@pytest.mark.parametrize("text", ["causal", "window:3", "block:4:butterfly"])
def test_a_sample_looks_at_some_blocks(text: str) -> None:
    mask = attention_mask(text, 64, 64)
    blocks = outer_blocks(64, 4, 6).tolist()
    assert blocks[0] == 0
    assert blocks[-1] == 15
    assert len(blocks) <= 6
    assert outer_blocks(64, 4).tolist() == list(range(16))
    whole = _listed(tiling(mask, 4, 3))
    seen = [(blocks.index(k), *rest) for k, *rest in whole if k in blocks]
    assert _listed(tiling(mask, 4, 3, 6)) == seen


@pytest.mark.parametrize("text", ["full", "causal", "window:128", "window:512:64"])
def test_kinds_grow_with_the_number_of_blocks_only(text: str) -> None:
    n = 65536
    mask = attention_mask(text, n, n)
    for outside, inside in [(64, 16), (16, 64), (500, 300)]:
        found = tiling(mask, outside, inside)
        assert (found.times * found.pairs).sum() == mask.pairs
        assert found.new.sum() <= n
        assert len(found.times) <= 3 * n / inside + 7 * n / outside


def test_kinds_of_cells_do_not_grow_as_inner_blocks_shrink() -> None:
    mask = attention_mask("block:64:butterfly", 65536, 65536)
    found = tiling(mask, 256, 1)
    assert (found.times * found.pairs).sum() == mask.pairs
    assert len(found.times) < 2 * len(tiling(mask, 256, 32).times)
