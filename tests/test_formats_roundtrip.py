"""What a format writes it reads back: the same graph, labels, weights and outputs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import graphs
import pebble
from graphs.samples import example_inputs
from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats import parse_graph, read_graph, write_graph
from pebble.formats.catalog import REGISTRY, detect
from tests.test_catalog import SPECS

WRITABLE = [name for name in REGISTRY.names() if REGISTRY.get(name).lines is not None]


def text_of(cdag: CDAG, name: str) -> bytes:
    lines = REGISTRY.get(name).lines
    assert lines is not None
    return "".join(lines(cdag, "given")).encode()


def assert_same(back: CDAG, cdag: CDAG) -> None:
    """The same edges in the same operand order, weights, outputs and labels, types of labels included."""
    assert back == cdag
    assert np.array_equal(back.indices, cdag.indices)
    assert [back.weight(v) for v in range(back.num_vertices)] == [
        cdag.weight(v) for v in range(cdag.num_vertices)
    ]
    plain = cdag.labels is None or list(map(repr, cdag.labels)) == list(map(str, range(cdag.num_vertices)))
    assert (back.labels is None) == plain
    if not plain:
        assert list(map(repr, back.labels or ())) == list(map(repr, cdag.labels or ()))


def check(cdag: CDAG, name: str) -> None:
    """Write and read back."""
    text = text_of(cdag, name)
    assert_same(parse_graph(text, "given", format=name), cdag)
    # The content alone tells the format, except where numbers could be several.
    if name not in ("csv", "plain-dag"):
        assert detect(text, "given")[0] == name


@pytest.mark.parametrize("spec", SPECS)
def test_every_builder_in_every_format(spec: str) -> None:
    cdag = graphs.build(spec)
    for name in WRITABLE:
        check(cdag, name)


def random_graph(rng: random.Random) -> CDAG:
    """Ids in any order, operands in any order, perhaps labels of mixed types, weights and outputs."""
    n = rng.randint(1, 12)
    ids = rng.sample(range(n), n)
    pairs = [(ids[u], ids[v]) for v in range(n) for u in range(v) if rng.random() < rng.choice([0.1, 0.5])]
    rng.shuffle(pairs)
    pool: list[list[Any]] = [
        [f"v{i}" for i in range(n)],
        [10 * i - 30 for i in range(n)],
        [str(i) for i in range(n)],
        rng.sample(range(n), n),
        [("a", i, None, 1.5) for i in range(n)],
        [rng.choice(_ODD) + str(i) for i in range(n)],
        [1, "1", 1.0, True, None, ("1",), (1, ("x",)), "", " ", "\n", "a b", -0.5][:n],
        ["x"] * n,
    ]
    labels = rng.choice([None, *pool])
    weights = rng.choice([None, [rng.randint(1, 9) for _ in range(n)], [1] * (n - 1) + [2**40]])
    outputs = rng.sample(range(n), rng.randint(0, n)) if rng.random() < 0.5 else None
    return CDAG.from_edges(n, pairs, labels=labels, weights=weights, outputs=outputs)


_ODD = (
    "é",
    "日本",
    '"',
    "\\",
    "\\n",
    "<b>&amp;",
    "a:b",
    "->",
    ";",
    "#",
    "%",
    "{",
    "\t",
    "\x01",
    "\ud800",
    "\ufeff",
    "'",
)


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize(
    ("first", "last"), [(0, 100), pytest.param(100, 500, marks=pytest.mark.slow)], ids=["100", "500"]
)
def test_random_graphs(name: str, first: int, last: int) -> None:
    for i in range(first, last):
        rng = random.Random(i)
        cdag = random_graph(rng)
        try:
            check(cdag, name)
        except Exception as error:
            error.add_note(
                f"graph {i}: {cdag.edges().tolist()}, labels {cdag.labels}, weights {cdag.weights}"
            )
            raise


@pytest.mark.parametrize("name", WRITABLE)
def test_files_packed_and_not(name: str, tmp_path: Path) -> None:
    cdag = CDAG.from_edges(5, [(3, 1), (0, 1), (1, 2)], weights=[1, 2, 3, 1, 1], labels="edcba", outputs=[1])
    for end in REGISTRY.info(name).aliases or (name,):
        for packed in ("", ".gz"):
            path = tmp_path / f"g.{end}{packed}"
            write_graph(cdag, path)
            assert_same(read_graph(path), cdag)
            assert path.read_bytes().startswith(b"\x1f\x8b") == bool(packed)


@pytest.mark.parametrize("name", ["lhdag", "bench", "matrix-market-0"])
def test_formats_that_are_only_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{name} is only read; write one of edge-list, csv"):
        write_graph(CDAG.from_edges(2, [(0, 1)]), tmp_path / "g", format=name)
    assert list(tmp_path.iterdir()) == []


def test_our_own_file_is_the_whole_graph(tmp_path: Path) -> None:
    cdag = graphs.build("attention-backward:n=3,d=2,scale=true")
    write_graph(cdag, tmp_path / "g.cdag")
    back = read_graph(tmp_path / "g.cdag")
    assert_same(back, cdag)
    assert back.name == cdag.name
    assert (back.input_names, back.output_names) == (cdag.input_names, cdag.output_names)
    assert back.sums == cdag.sums
    inputs = example_inputs(cdag, seed=1)
    ours, theirs = pebble.evaluate(cdag, inputs), pebble.evaluate(back, inputs)
    for key in cdag.output_names:
        assert np.array_equal(ours[key], theirs[key])


def test_networkx_reads_what_we_write(tmp_path: Path) -> None:
    cdag = CDAG.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)], weights=[1, 2, 1, 1], labels="abcd")
    path = tmp_path / "g.graphml"
    write_graph(cdag, path)
    given = nx.read_graphml(path)
    assert {v: data.get("weight", 1) for v, data in given.nodes(data=True)} == {
        "a": 1,
        "b": 2,
        "c": 1,
        "d": 1,
    }
    assert sorted(given.edges) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    nx.write_graphml(given, path)
    assert_same(read_graph(path), cdag)
    write_graph(cdag, tmp_path / "g.json")
    document = json.loads((tmp_path / "g.json").read_text())
    assert nx.node_link_graph(document, edges="links").nodes["b"] == {"weight": 2}
