"""Masks and heads of attention: what is seen, which vertices there are, and NumPy's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphs
import pebble
from graphs.attention import attention_backward_numpy, attention_forward_numpy
from graphs.heads import grouped, ungrouped
from graphs.masks import PATTERNS, Cells, Mask, attention_mask
from graphs.sizes import num_vertices
from pebble.errors import GraphSpecError
from tests.tracing_checks import check_graph

MASKS = [
    "full",
    "causal",
    "window:1",
    "window:3",
    "window:2:1",
    "window:0:9",
    *(f"block:2:{pattern}" for pattern in PATTERNS),
    "block:3:101-111-010",
]


def _shown(mask: Mask) -> list[str]:
    return ["".join(".#"[seen] for seen in row) for row in mask.dense().astype(int)]


def test_what_is_seen() -> None:
    assert _shown(attention_mask("causal", 3, 5)) == ["###..", "####.", "#####"]
    assert _shown(attention_mask("window:2", 3, 3)) == ["#..", "##.", ".##"]
    assert _shown(attention_mask("window:0:1", 3, 3)) == ["##.", ".##", "..#"]
    assert _shown(attention_mask("block:2:lower", 3, 3)) == ["##.", "##.", "###"]
    assert _shown(attention_mask("block:1:butterfly", 4, 4)) == ["###.", "##.#", "#.##", ".###"]
    assert _shown(attention_mask("block:1:global", 5, 5)) == ["#####", "###..", "####.", "#.###", "#..##"]
    assert _shown(attention_mask("block:1:10-11", 2, 2)) == ["#.", "##"]


@pytest.mark.parametrize(
    ("text", "queries", "keys"),
    [
        *((text, 7, 7) for text in MASKS),
        *((text, 7, 9) for text in ("full", "causal", "window:4", "window:2:1", "block:3:global")),
        ("full", 9, 7),
    ],
)
def test_every_view_of_a_mask_agrees(text: str, queries: int, keys: int) -> None:
    mask = attention_mask(text, queries, keys)
    dense = mask.dense()
    assert dense.shape == (mask.queries, mask.keys) == (queries, keys)
    assert mask.pairs == dense.sum()
    assert mask.keys_per_query().tolist() == dense.sum(axis=1).tolist()
    assert mask.queries_per_key().tolist() == dense.sum(axis=0).tolist()
    assert (mask.transposed().dense() == dense.T).all()
    assert (mask.repeated(3).dense() == np.repeat(dense, 3, axis=0)).all()


def test_large_masks_need_no_array() -> None:
    n = 65536
    assert attention_mask("causal", n, n).pairs == n * (n + 1) // 2
    assert attention_mask("window:128", n, n).pairs == 128 * n - 128 * 127 // 2
    assert attention_mask("block:64:butterfly", n, n).pairs == 64 * 64 * 1024 * 11


def test_files(tmp_path: Path) -> None:
    general = tmp_path / "mask.mtx"
    general.write_text("%%MatrixMarket matrix coordinate pattern general\n3 4 5\n1 1\n1 2\n2 3\n3 4\n3 1\n")
    assert _shown(attention_mask(str(general), 3, 4)) == ["##..", "..#.", "#..#"]
    symmetric = tmp_path / "symmetric.mtx"
    symmetric.write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n% stored zeros count\n3 3 4\n"
        "1 1 0.0\n2 1 4\n2 2 -1\n3 3 2e3\n"
    )
    mask = attention_mask(str(symmetric), 3, 3)
    assert isinstance(mask, Cells)
    assert _shown(mask) == ["##.", "##.", "..#"]
    g = graphs.build(f"attention-forward:n=3,d=2,mask={symmetric}")
    assert (g.tensors["S"] >= 0).sum() == 5
    assert graphs.GraphSpec.parse(g.name).params["mask"] == str(symmetric)
    symmetric.write_text("%%MatrixMarket matrix array integer general\n3 3\n" + "1\n" * 9)
    assert attention_mask(str(symmetric), 3, 3).pairs == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("casual", r"mask=casual is none of .*did you mean 'causal'"),
        ("causal:2", "is not of the form mask=causal"),
        ("window", "is not of the form mask=window:w or window:left:right"),
        ("window:0", "'0' is no whole number of at least 1"),
        ("window:two", "'two' is no whole number"),
        ("block:2", "is not of the form mask=block:b:pattern"),
        ("block:2:diagnal", "did you mean 'diagonal'"),
        ("block:2:11-1", "the pattern must have 2 rows of 2 digits"),
        ("block:2:10-10", "key 2 is seen by no query: leave it out"),
        ("block:2:00-11", "query 0 sees no key"),
        ("missing.mtx", "there is no such file"),
    ],
)
def test_masks_that_are_none(text: str, message: str) -> None:
    with pytest.raises(GraphSpecError, match=message):
        graphs.build(f"attention-backward:n=4,d=2,mask={text}")


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "mask.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 2\n")
    with pytest.raises(GraphSpecError, match="is no Matrix Market file"):
        attention_mask(str(path), 2, 2)
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n")
    with pytest.raises(GraphSpecError, match="is a matrix of 2 x 2, the attention has 3 queries and 3 keys"):
        attention_mask(str(path), 3, 3)


def test_more_queries_than_keys_under_a_causal_mask() -> None:
    with pytest.raises(GraphSpecError, match="query 0 sees no key"):
        graphs.attention_forward(5, 2, mask="causal", n_k=3)
    assert graphs.attention_forward(5, 2, n_k=3).tensors["S"].shape == (5, 3)


SPECS = [
    *({"mask": mask} for mask in MASKS),
    {"n_k": 9},
    {"n_k": 9, "mask": "causal"},
    {"heads": 2},
    {"heads": 4, "kv_heads": 2},
    {"heads": 3, "kv_heads": 1, "mask": "causal"},
    {"heads": 4, "kv_heads": 2, "mask": "window:1:9", "n_k": 8},
]
OPTIONS: list[dict[str, Any]] = [{}, {"fma": True}, {"sums": "tree"}, {"sums": "flat"}]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_numbers_and_vertices(spec: dict[str, Any]) -> None:
    for name, fn, variants in (
        ("backward", attention_backward_numpy, [{}, {"given": "O", "scale": True}]),
        ("forward", attention_forward_numpy, [{}]),
    ):
        for i, options in enumerate(OPTIONS):
            variant = variants[i % len(variants)]
            cdag = getattr(graphs, f"attention_{name}")(7, 3, **spec, **variant, **options)
            check_graph(cdag)
            params = graphs.GraphSpec.parse(cdag.name).params
            assert cdag.num_vertices == num_vertices(f"attention-{name}", params)
            inputs = graphs.example_inputs(cdag, seed=1)
            found = pebble.evaluate(cdag, inputs)
            passed = {key: v for key, v in {**spec, **variant}.items() if key in ("mask", "scale")}
            for key, array in fn(**inputs, **passed).items():
                np.testing.assert_allclose(found[key], array, rtol=1e-10, atol=1e-12)


def _softmax_attention(Q: Any, K: Any, V: Any, mask: Any) -> Any:
    """Attention by the textbook, head by head."""
    group = len(Q) // len(K)
    out = np.empty_like(Q)
    for h, queries in enumerate(Q):
        scores = np.where(mask, queries @ K[h // group].T, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[h] = weights / weights.sum(axis=1, keepdims=True) @ V[h // group]
    return out


@pytest.mark.parametrize("mask", ["full", "causal", "window:2:3", "block:2:butterfly"])
def test_grouped_heads_are_attention_and_its_gradient(mask: str) -> None:
    cdag = graphs.attention_backward(5, 3, heads=4, kv_heads=2, mask=mask)
    x = graphs.example_inputs(cdag, seed=2)
    found = pebble.evaluate(cdag, x)
    seen = attention_mask(mask, 5, 5).dense()
    forward = graphs.attention_forward(5, 3, heads=4, kv_heads=2, mask=mask)
    qkv = {name: x[name] for name in "QKV"}
    np.testing.assert_allclose(pebble.evaluate(forward, qkv)["O"], _softmax_attention(**qkv, mask=seen))
    rng = np.random.default_rng(3)
    for name in "QKV":
        direction = rng.standard_normal(x[name].shape)
        ends = [
            (x["dO"] * _softmax_attention(**{**qkv, name: x[name] + step * direction}, mask=seen)).sum()
            for step in (1e-5, -1e-5)
        ]
        slope = (found[f"d{name}"] * direction).sum()
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, slope, rtol=1e-6, atol=1e-8)


def test_only_pairs_that_are_seen_are_in_the_graph() -> None:
    g = graphs.attention_backward(6, 2, mask="window:3")
    dense = attention_mask("window:3", 6, 6).dense()
    for name in ("S", "Z", "P", "dP", "R", "dS"):
        assert ((g.tensors[name] >= 0) == dense).all()
    assert g.sums["dQ"].layout == g.sums["S"].layout == "ragged-chain"
    t = g.tensors
    # dQ[3] sums over keys 1, 2, 3 in this order.
    out = t["dQ"][3, 1]
    products = [g.preds(v).tolist() for v in (out - 4, out - 3, out - 1)]
    assert products == [[t["dS"][3, j], t["K"][j, 1]] for j in (1, 2, 3)]
    assert g.preds(out).tolist() == [out - 2, out - 1]


def test_rows_of_a_group_are_its_heads_side_by_side() -> None:
    X = np.arange(4 * 3 * 2).reshape(4, 3, 2)
    rows = grouped(X, 3, 2)
    assert rows.shape == (2, 6, 2)
    assert (rows[1, :4] == [X[2, 0], X[3, 0], X[2, 1], X[3, 1]]).all()
    assert (ungrouped(rows, 4) == X).all()
    g = graphs.attention_backward(3, 2, heads=4, kv_heads=2)
    assert g.tensors["Q"].shape == g.tensors["dQ"].shape == (4, 3, 2)
    assert g.tensors["K"].shape == g.tensors["dV"].shape == (2, 3, 2)
    assert g.tensors["S"].shape == (2, 6, 3)


def test_one_head_is_no_axis_and_heads_must_divide() -> None:
    assert graphs.attention_backward(3, 2, heads=1) == graphs.attention_backward(3, 2)
    assert graphs.attention_backward(3, 2, kv_heads=1, n_k=3).tensors["Q"].shape == (3, 2)
    with pytest.raises(GraphSpecError, match="heads=4 are no multiple of kv_heads=3"):
        graphs.attention_backward(3, 2, heads=4, kv_heads=3)
    with pytest.raises(GraphSpecError, match="heads=0 is out of range"):
        graphs.attention_backward(3, 2, heads=0)


def test_specs_carry_masks_and_heads() -> None:
    g = graphs.build("attention-backward:n=4,d=2,mask=block:2:10-11,heads=4,kv_heads=2,n_k=4")
    assert g.params["mask"] == "block:2:10-11"
    assert graphs.build(g.name) == g
    assert graphs.GraphSpec.parse("attention-forward:n=4,d=2").params["kv_heads"] is None
    with pytest.raises(GraphSpecError, match="needs about"):
        graphs.build("attention-backward:n=65536,d=16,mask=window:8")
