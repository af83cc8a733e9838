"""Graph files: every form reads, what is written reads back, every fault names the file and the line."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.cdag import CDAG
from pebble.errors import DuplicateEdgeWarning, FormatError
from pebble.formats import parse_graph, read_graph, write_graph
from pebble.formats.catalog import REGISTRY

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]


def parse(text: str | dict[str, Any]) -> CDAG:
    return parse_graph((text if isinstance(text, str) else json.dumps(text)).encode(), "given")


def edges(g: CDAG) -> list[tuple[int, int]]:
    return sorted(map(tuple, g.edges().tolist()))


# -- what is read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n0 2\n1 3\n2 3\n",
        "0 1\n0 2\n1 3\n2 3",
        "\n  # a diamond\n0\t1\r\n0 2   # left\r\n\r\n1 3\n2 3\n\n",
        "# vertices 4\n0 1\n0 2\n1 3\n2 3\n",
        "0 1\n0 2\n1 3\n2 3\n# Vertices".lower() + ": 4\n",
        "0 1 {}\n0 2 {}\n1 3 {}\n2 3 {}\n",
        "\ufeff0 1\n0 2\n1 3\n2 3\n",
    ],
)
def test_edge_lists(text: str) -> None:
    g = parse(text)
    assert edges(g) == DIAMOND
    assert g.labels is None


def test_edge_list_names() -> None:
    g = parse("x y\nx z\ny s\nz s\nalone\n")
    assert g.labels == ("alone", "x", "y", "z", "s")
    assert edges(g) == [(1, 2), (1, 3), (2, 4), (3, 4)]
    assert parse("10 20\n5 20\n").labels == (5, 10, 20)
    assert edges(parse("10 20\n5 20\n")) == [(0, 2), (1, 2)]
    mixed = parse("1 a\n2 a\n")
    assert mixed.labels == ("1", "a", "2")
    assert parse("# vertices 6\n4 5\n").num_vertices == 6
    assert parse("# vertices 3\n").num_edges == 0
    assert parse("7\n").num_vertices == 1


def test_edge_order_is_operand_order() -> None:
    assert parse("2 3\n0 3\n1 3\n").preds(3).tolist() == [2, 0, 1]


@pytest.mark.parametrize("key", ["links", "edges"])
@pytest.mark.parametrize("name", ["id", "name"])
@pytest.mark.parametrize(("u", "v"), [("source", "target"), ("0", "1")])
def test_node_link_dialects(key: str, name: str, u: str, v: str) -> None:
    g = parse({"nodes": [{name: i} for i in range(4)], key: [{u: a, v: b, "weight": 2} for a, b in DIAMOND]})
    assert edges(g) == DIAMOND
    assert g.labels is None
    assert g.weights is None


@pytest.mark.parametrize("key", ["links", "edges"])
def test_what_networkx_writes(key: str) -> None:
    given = nx.DiGraph()
    for name in (1, "1", ("a", 0), ("a", 1)):
        given.add_node(name, weight=3)
    given.add_edges_from([(1, "1"), ("1", ("a", 0)), (1, ("a", 1))])
    g = parse(nx.node_link_data(given, edges=key))
    assert g.labels == (1, "1", ("a", 0), ("a", 1))
    assert edges(g) == [(0, 1), (0, 3), (1, 2)]
    assert g.weights is not None
    assert g.weights.tolist() == [3] * 4


def test_node_link_further_keys() -> None:
    g = parse(
        {
            "nodes": [{}, {"weight": 2.0}, {"output": True}, {}],
            "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}, {"source": 2, "target": 3}],
        }
    )
    assert g.weights is not None
    assert g.weights.tolist() == [1, 2, 1, 1]
    assert g.outputs.tolist() == [2, 3]
    assert edges(parse({"nodes": ["p", "q"], "edges": [["p", "q"]]})) == [(0, 1)]
    assert parse({"nodes": [{"id": 0}, {"id": 1}], "links": []}).num_edges == 0


def test_duplicate_edges_are_merged_with_a_warning() -> None:
    with pytest.warns(DuplicateEdgeWarning, match=r"1 duplicate edge\(s\) merged, the first is \(0, 1\)"):
        g = parse("0 1\n1 2\n0 1\n")
    assert edges(g) == [(0, 1), (1, 2)]


def test_files_are_told_apart_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(
        {"nodes": [{"id": i} for i in range(4)], "links": [{"0": u, "1": v} for u, v in DIAMOND]}
    )
    (tmp_path / "looks-like.edges").write_text("\n " + text)
    (tmp_path / "looks-like.json").write_text("0 1\n0 2\n1 3\n2 3\n")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(b"0 1\n0 2\n1 3\n2 3\n"))
    for path in tmp_path.iterdir():
        assert edges(read_graph(path)) == DIAMOND
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert edges(read_graph("-")) == DIAMOND


# -- faults -----------------------------------------------------------------------------------------------

NODES = [{"id": i} for i in range(3)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty"),
        (" \n\n", None, "the file is empty"),
        ("# nothing\n\n", None, "the file holds no vertices: write one edge 'u v' per line"),
        ("0 1\n1 2\n2 0\n", 1, "the graph has a cycle: 0 -> 1 -> 2 -> 0"),
        ("a b\nb c\nc b\n", 2, "the graph has a cycle: b -> c -> b"),
        ("0 1\n1 1\n", 2, "vertex 1 has an edge to itself"),
        ("a b\n\nb b\n", 3, "vertex b has an edge to itself"),
        ("# vertices 3\n0 1\n1 3\n", 3, "vertex 3 is out of range, the header says ids go from 0 to 2"),
        ("# vertices 3\n0 1\n7\n", 3, "vertex 7 is out of range"),
        ("# vertices 3\n0 1\n1 x\n", 3, "'x' is no vertex number, and the header counts vertices"),
        ("# vertices 3\n0 1\n1 -1\n", 3, "'-1' is no vertex number"),
        ("# vertices 3\n# vertices 4\n0 1\n", 2, "the number of vertices is given twice"),
        ("# vertices 99999999999999999999\n", 1, "99999999999999999999 vertices are declared"),
        ("0 1\n1 2 3\n", 2, "'1 2 3' has 3 fields: write one edge 'u v' per line, comments after #"),
        ("%% x y z\n", 1, "the file ends before its header, the numbers of hyperedges, vertices and pins"),
        ("0 1\n\0 2\n", None, "the file is no text"),
        ("# vertices 0\n", 1, "the file holds no vertices: its header counts none"),
        ("[]", 1, "the JSON is no object"),
        ('{"links": []}', None, 'the JSON has no list "nodes"'),
        ({"nodes": NODES}, None, 'the JSON has neither "links" nor "edges"'),
        ({"nodes": NODES, "links": [], "edges": []}, 1, 'the JSON has both "links" and "edges"'),
        ({"nodes": NODES, "links": {}}, 1, '"links" is no list'),
        ({"nodes": [], "links": []}, None, 'the file holds no vertices: "nodes" is empty'),
        ({"nodes": NODES, "links": [], "directed": False}, 1, "the graph is undirected"),
        ({"nodes": [{"id": 1}, {"id": 1}], "links": []}, 1, "nodes[1]: the id 1 is given twice"),
        ({"nodes": [{"id": {}}], "links": []}, 1, "nodes[0]: an object is no id"),
        ({"nodes": NODES, "links": [{"source": 0}]}, 1, 'links[0]: an edge needs "source" and "target"'),
        ({"nodes": NODES, "edges": [[0, 1], [1, 3]]}, 1, "edges[1]: vertex 3 is out of range"),
        ({"nodes": NODES, "edges": [[0, "1"]]}, 1, 'edges[0]: vertex "1" is out of range'),
        ({"nodes": NODES, "edges": [[2, 2]]}, 1, "edges[0]: vertex 2 has an edge to itself"),
        ({"nodes": NODES, "edges": [[0, 1], [1, 0]]}, 1, "the graph has a cycle: 0 -> 1 -> 0"),
        ({"nodes": [{"weight": 0}], "edges": []}, 1, "nodes[0]: the weight 0 is no whole number"),
        ({"nodes": [{"weight": 1.5}], "edges": []}, 1, "nodes[0]: the weight 1.5 is no whole number"),
        ('{"nodes": [1,\n1e400], "edges": []}', 2, "nodes[1]: the id Infinity is no number that JSON has"),
        ('{"nodes": [{"id": NaN}], "edges": []}', 1, "nodes[0]: the id NaN is no number that JSON has"),
        (
            '{"nodes": [0, [1, -Infinity]], "edges": []}',
            1,
            "the label [1, -Infinity] is no number that JSON has",
        ),
        ('{"nodes": [{"pebble_label": 1e999}], "edges": []}', 1, "nodes[0]: the id Infinity is no number"),
        ('{"nodes": [0], "edges": [[0, NaN]]}', 1, "edges[0]: the id NaN is no number that JSON has"),
        ('{"nodes": [{"weight": NaN}], "edges": []}', 1, "nodes[0]: the weight NaN is no whole number"),
        ('{"nodes": [\n{"id": 0},\n', 3, "the JSON is malformed"),
        ('{"nodes": [\n{"id" 0}], "links": []}', 2, "the JSON is malformed: Expecting ':' delimiter"),
        ('{"nodes": ' + "[" * 100_000, 1, "the JSON is nested too deeply"),
    ],
)
def test_faults(text: str | dict[str, Any], line: int | None, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert caught.value.file == "given"
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


LABELLED = CDAG.from_edges(2, [(0, 1)], labels=[0.5, "b"])


@pytest.mark.parametrize("number", ["NaN", "1e400", "-Infinity", "[1, NaN]"])
@pytest.mark.parametrize(
    "format", [name for name in REGISTRY.names() if REGISTRY.get(name).lines is not None]
)
def test_labels_that_json_has_no_number_for(format: str, number: str, tmp_path: Path) -> None:
    write_graph(LABELLED, tmp_path / "g", format=format)
    text = (tmp_path / "g").read_text()
    assert text.count("0.5") >= 1
    with pytest.raises(FormatError, match="is no number that JSON has") as caught:
        parse_graph(text.replace("0.5", number).encode(), "given", format=format)
    assert caught.value.line is not None
    wrong = CDAG.from_edges(2, [(0, 1)], labels=[float("inf"), "b"])
    with pytest.raises(FormatError, match="the label inf cannot be written: relabel"):
        write_graph(wrong, tmp_path / "h", format=format)
    assert not (tmp_path / "h").exists()


def test_a_truncated_json_says_so() -> None:
    whole = json.dumps({"nodes": NODES, "links": [{"source": 0, "target": 1}]})
    for length in range(1, len(whole)):
        with pytest.raises(FormatError, match="malformed"):
            parse(whole[:length])
    with pytest.raises(FormatError, match="cut off"):
        parse(whole[:-1])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent\.txt: cannot be read: No such file"):
        read_graph(tmp_path / "absent.txt")
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        read_graph(tmp_path)
    with pytest.raises(FormatError, match="cannot be written"):
        write_graph(CDAG.from_edges(2, [(0, 1)]), tmp_path / "absent" / "g.txt")
    (tmp_path / "latin.txt").write_bytes("0 1\nä b\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"latin\.txt:2: the name '\\xe4' is no UTF-8 text"):
        read_graph(tmp_path / "latin.txt")
    (tmp_path / "latin.json").write_bytes(b'{"nodes":\n["\xe4"]}')
    with pytest.raises(FormatError, match=r"latin\.json:2: the file is no UTF-8 text"):
        read_graph(tmp_path / "latin.json")


# -- what is written reads back ---------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> CDAG:
    n = draw(st.integers(1, 8))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    name = st.one_of(
        st.integers(-3, 9),
        st.text("ab1# {\ud800\ufeffé\0", max_size=2),
        st.tuples(st.text("x", max_size=1), st.integers(0, 2)),
    )
    labels = draw(st.none() | st.lists(name, min_size=n, max_size=n, unique_by=repr))
    weights = draw(st.none() | st.lists(st.integers(1, 5), min_size=n, max_size=n))
    outputs = draw(st.lists(st.integers(0, n - 1), max_size=2))
    return CDAG.from_edges(n, chosen, labels=labels, weights=weights, outputs=outputs)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, g: CDAG) -> None:
    folder = tmp_path_factory.getbasetemp()
    plain = None if g.labels == tuple(range(g.num_vertices)) else g.labels
    refusals: list[tuple[str, str]] = []
    for name in ("g.json", "g.edges", "g.edges.gz"):
        try:
            write_graph(g, folder / name)
        except FormatError as error:
            refusals.append((name, str(error)))
            continue
        back = read_graph(folder / name)
        assert back == g
        assert np.array_equal(back.indices, g.indices)
        assert back.labels == plain
    assert refusals == []


@pytest.mark.parametrize("text", ["a, b\nb, c\n", "source, target\na, b\nb, c\n", "a; b\nb; c\n"])
def test_blanks_behind_commas_are_a_table(text: str) -> None:
    graph = parse_graph(text.encode(), "-")
    assert graph.labels is not None
    assert all(str(label).isalpha() for label in graph.labels)


@pytest.mark.parametrize("count", ["5x", "5.0", "-5", "+3"])
def test_a_damaged_number_of_vertices_is_no_remark(count: str) -> None:
    with pytest.raises(FormatError, match="is no number of vertices"):
        parse_graph(f"# vertices {count}\n0 1\n".encode(), "-")
    assert parse_graph(b"# vertices of a path\n0 1\n", "-").num_vertices == 2


@pytest.mark.parametrize(
    ("file", "text"),
    [("t.cdag", "red-blue-pebble gra"), ("t.dot", "digraph"), ("t.graphml", "graphml"), ("t.json", "nodes")],
)
def test_a_damaged_file_of_a_known_format_is_no_edge_list(file: str, text: str) -> None:
    with pytest.raises(FormatError):
        parse_graph(text.encode(), file)


def test_formats_need_no_import_of_their_own() -> None:
    code = "import pebble; print(pebble.formats.parse_graph(b'0 1\\n', '-').num_vertices)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "2\n"
