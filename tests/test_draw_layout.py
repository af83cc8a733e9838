"""Layers, arrays and tiles: every vertex has its place, and places do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.draw.arrays import array_blocks, has_array_form
from pebble.draw.layers import find_layers, layer_coordinates
from pebble.draw.layout import lay_out

LAYERED = ["fft:16", "pyramid:5", "tree:16", "chain:9", "grid:4x5", "random:n=60,p=0.06,seed=3", "reduce:8"]
ARRAYED = ["attention-backward:n=4,d=2", "matmul:2x3x2", "lu:4", "attention-gradient:n=4,d=2,fma=True"]


@pytest.mark.parametrize("spec", [*LAYERED, *ARRAYED])
def test_edges_lead_to_later_layers(spec: str) -> None:
    g = build(spec)
    layers = find_layers(g)
    assert sorted(layers.order.tolist()) == list(range(g.num_vertices))
    level = np.empty(g.num_vertices, dtype=np.int64)
    for l in range(layers.depth):
        level[layers[l]] = l
    for v in range(g.num_vertices):
        before = level[g.preds(v)].tolist()
        assert level[v] == (1 + max(before) if before else 0)


def _crossings(g: CDAG) -> int:
    """Pairs of edges between the same two layers that cross."""
    layers = find_layers(g)
    level, rank = np.empty(g.num_vertices), np.empty(g.num_vertices)
    for l in range(layers.depth):
        level[layers[l]], rank[layers[l]] = l, np.arange(len(layers[l]))
    edges = g.edges().tolist()
    return sum(
        level[a] == level[c] and level[b] == level[d] and (rank[a] - rank[c]) * (rank[b] - rank[d]) < 0
        for (a, b), (c, d) in itertools.combinations(edges, 2)
    )


def test_barycentres_untangle() -> None:
    rng = np.random.default_rng(1)
    for spec in ("tree:16", "pyramid:5", "chain:9", "stencil1d:n=6,t=3"):
        g = build(spec)
        plain = _crossings(g)
        assert _crossings(g.renumber(rng.permutation(g.num_vertices))) <= plain, spec
    assert _crossings(build("tree:16")) == 0
    # The known drawing of a butterfly is kept, although others have shorter edges.
    assert find_layers(build("fft:16")).order.tolist() == list(range(80))


@pytest.mark.parametrize("spec", LAYERED)
def test_neighbours_in_a_layer_keep_their_distance(spec: str) -> None:
    g = build(spec)
    layers = find_layers(g)
    x, y, upward = layer_coordinates(g, layers)
    across, along = (x, y) if upward else (y, x)
    for l in range(layers.depth):
        assert len(set(along[layers[l]].tolist())) == 1
        assert (np.diff(across[layers[l]]) >= 1 - 1e-9).all()


def test_a_vertex_of_a_tree_stands_over_its_operands() -> None:
    g = build("tree:8")
    x, y, upward = layer_coordinates(g, find_layers(g))
    assert upward
    for v in range(g.num_vertices):
        if not g.is_source[v]:
            assert x[v] == pytest.approx(x[g.preds(v)].mean())
            assert (y[v] < y[g.preds(v)]).all()


@pytest.mark.parametrize("spec", [*LAYERED, *ARRAYED])
@pytest.mark.parametrize("kind", ["layers", "arrays"])
def test_no_two_cells_overlap(spec: str, kind: str) -> None:
    g = build(spec)
    layout = lay_out(g, kind)
    assert layout.exact
    assert layout.cell_of.tolist() == list(range(g.num_vertices))
    half = layout.size / 2
    apart = np.maximum(
        abs(layout.x[:, None] - layout.x) - half[:, None] - half,
        abs(layout.y[:, None] - layout.y) - half[:, None] - half,
    )
    np.fill_diagonal(apart, 1.0)
    assert apart.min() > 0
    assert ((layout.x - half >= 0) & (layout.x + half <= layout.width)).all()
    assert ((layout.y - half >= 0) & (layout.y + half <= layout.height)).all()


def test_arrays_are_matrices_in_the_order_of_the_computation() -> None:
    g = build("attention-backward:n=4,d=2")
    layout = lay_out(g)
    assert layout.kind == "arrays"
    frames = {frame.title.split()[0]: frame for frame in layout.frames}
    assert [frame.title for frame in layout.frames][:7] == [
        *["Q 4×2", "K 4×2", "V 4×2", "dO 4×2", "L 4", "D 4", "S 4×4"]
    ]
    for before, after in itertools.pairwise(["Q", "S", "Z", "P", "dS", "dQ"]):
        assert frames[before].x + frames[before].width < frames[after].x
    for name, ids in g.tensors.items():
        frame = frames[name]
        x, y = layout.x[ids], layout.y[ids]
        assert ((x > frame.x) & (x < frame.x + frame.width)).all()
        assert ((y > frame.y) & (y < frame.y + frame.height)).all()
        if ids.ndim == 2:
            assert (np.diff(x, axis=1) > 0).all()
            assert (np.diff(y, axis=0) > 0).all()
    # The partial results of an entry lie in its place: below it, above the next row.
    out = int(g.tensors["dV"][1, 0])
    partial = np.arange(out - 6, out)
    assert (layout.y[partial] > layout.y[out]).all()
    assert (layout.y[partial] < layout.y[g.tensors["dV"][2, 0]]).all()


@pytest.mark.parametrize("spec", [*ARRAYED, *LAYERED, "cholesky:4", "attention-forward:n=3,d=2,sums=tree"])
def test_blocks_part_the_vertices(spec: str) -> None:
    g = build(spec)
    blocks = array_blocks(g)
    assert sorted(np.concatenate([b.vertices for b in blocks]).tolist()) == list(range(g.num_vertices))
    for block in blocks:
        assert block.entry.max() < block.rows * block.columns
        assert (block.inner < 0).any()


def test_which_graphs_have_an_array_form() -> None:
    assert all(has_array_form(build(spec)) for spec in ARRAYED)
    assert not any(has_array_form(build(spec)) for spec in LAYERED)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("attention-backward:n=32,d=8", "arrays"),
        ("lu:24", "layers"),
        ("fft:512", "layers"),
        ("chain:5000", "layers"),
        ("random-layered:w=90,d=60", "layers"),
    ],
)
def test_large_graphs_are_drawn_in_groups(spec: str, kind: str) -> None:
    g = build(spec)
    layout = lay_out(g)
    assert layout.kind == kind
    assert not layout.exact
    assert 500 < layout.num_cells == len(layout.names) <= 2_000
    members = np.bincount(layout.cell_of, minlength=layout.num_cells)
    assert members.min() >= 1 or kind == "arrays"
    assert members.sum() == g.num_vertices
    assert (layout.scale <= np.maximum(members, 1)).all()
    places = set(zip(layout.x.tolist(), layout.y.tolist(), strict=True))
    assert len(places) == layout.num_cells
    assert len(set(layout.names)) == layout.num_cells


def test_a_tile_is_named_by_its_entries() -> None:
    g = build("attention-backward:n=32,d=8")
    layout = lay_out(g)
    cell = layout.cell_of[g.tensors["P"][31, 0]]
    assert layout.names[cell].startswith("P, rows ")
    assert layout.names[cell].split("rows ")[1].split(",")[0].endswith("31")
    assert layout.names[cell].split("columns ")[1].startswith("0")


def test_odd_graphs() -> None:
    assert lay_out(CDAG.from_edges(0, [])).num_cells == 0
    assert lay_out(CDAG.from_edges(1, [])).x.tolist() == [0.5]
    assert len(set(lay_out(CDAG.from_edges(3, [])).x.tolist())) == 3
    with pytest.raises(ValueError, match="layout 'tower' is unknown"):
        lay_out(CDAG.from_edges(1, []), "tower")
