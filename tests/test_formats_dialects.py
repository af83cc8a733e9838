"""Every graph format: the dialects that are read, and the faults, each with the file, the line and the id."""

# Rows of the tables below are one text each, however long.
# ruff: noqa: E501

from __future__ import annotations

import warnings

import pytest

from pebble.cdag import CDAG
from pebble.errors import DuplicateEdgeWarning, FormatError, FormatWarning
from pebble.formats import parse_graph
from pebble.formats.catalog import detect

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]


def edges(g: CDAG) -> list[tuple[int, int]]:
    return sorted(map(tuple, g.edges().tolist()))


def read(text: str, format: str | None = None) -> CDAG:
    return parse_graph(text.encode(), "given", format=format)


HYPERDAG = "% a comment\n3 4 7\n0 1\n1 1\n2 1\n0 1\n1 1\n2 1\n3 1\n0 0\n0 1\n0 2\n1 1\n1 3\n2 2\n2 3\n"
DOT = 'digraph "a b" { 0 -> {1 2} -> 3 }'
READ = {
    "database": ("hyperdag", HYPERDAG),
    "versioned": ("hyperdag", "%% x\n% HyperDAG file format v1\n" + HYPERDAG + "% the end\n"),
    "without comments": ("hyperdag", HYPERDAG.partition("\n")[2]),
    "CRLF": ("hyperdag", HYPERDAG.replace("\n", "\r\n")),
    "comments in lines": ("hyperdag", HYPERDAG.replace("0 1\n1 1\n", "0 1 % weights\n1 1 % go on\n", 1)),
    "junk after the counts": ("hyperdag", HYPERDAG.replace("3 4 7\n", "3 4 7 junk\n")),
    "extracted": (
        "hyperdag",
        "%%MatrixMarket weighted-matrix coordinate pattern general\n%\t0: input scalar\n3 4 7\n"
        "0 % no data\n1\n2\n0 1 0 x\n1 9 1\n2 69 1\n3 103 7\n0 0\n0 1\n0 2\n1 1\n1 3\n2 2\n2 3\n",
    ),
    ".hdag": ("hyperdag", HYPERDAG.replace("0 1\n1 1\n2 1\n0 1\n1 1\n2 1\n3 1\n", "0 1 1\n1 1 1\n2 1 1\n0 5 0\n1 5 0\n2 5 1\n3 5 0\n")),
    "pins in any order": (
        "hyperdag",
        HYPERDAG.replace("0 0\n0 1\n0 2\n1 1\n1 3\n2 2\n2 3\n", "1 1\n0 0\n2 2\n2 3\n0 2\n1 3\n0 1\n"),
    ),
    "plain DAG": ("plain-dag", "% DAG\n4 4\n0 1\n1 2\n2 3\n3 4\n0 1\n1 1\n2 1\n3 1\n0 1\n0 2\n1 3\n2 3\n"),
    "lhdag": ("lhdag", "3 4 7\n0 0\n0 1\n0 2\n1 1\n1 3\n2 2\n2 3\n0 4 1\n1 4 1\n2 4 1\n3 4 1\n"),
    "DOT": ("dot", DOT),
    "DOT of OneStopParallel": (
        "dot",
        "digraph G {\n" + "".join(f'{v}[work_weight="8";comm_weight="1";mem_weight="1";type="1";];\n' for v in range(4))
        + "".join(f'{u}->{v} [comm_weight="1";];\n' for u, v in DIAMOND) + "}\n",
    ),
    "DOT of daggen": (
        "dot",
        "// DAG automatically generated\ndigraph G {\n  0 [size=\"8\", alpha=\"0.1\"]\n  0 -> 1 [size =\"3\"]\n  0 -> 2\n"
        "  1 [size=\"8\"]\n  1 -> 3\n  2 -> 3\n}\n",
    ),
    "DOT with everything": (
        "dot",
        "# first\n/* a\n comment */ Strict DiGraph <b <i>x</i>> {\n graph [rankdir=LR]; rankdir = TB node [shape=box, x=1]\n"
        ' edge[color="red;"] subgraph cluster_0 { label="{"; 0:p:n -> 1:"q" [a=1][b="]"] ; 0 -> 2 }\n'
        ' 1 -> 3; {2} -> "3" // done\n}\n',
    ),
    "DOT joined strings": ("dot", 'digraph { "0" -> "1"; 0->2; 1 -> "" + "3" ; 2 -> "\\\n3" }'),
    "GraphML": (
        "graphml",
        '<?xml version="1.0"?>\n<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns"><g:graph '
        'edgedefault="directed"><g:desc>x</g:desc>' + "".join(f'<g:node id="{v}"><g:port name="p"/></g:node>' for v in range(4))
        + "".join(f'<g:edge id="e{u}{v}" source="{u}" target="{v}" sourceport="p"/>' for u, v in DIAMOND)
        + "</g:graph></g:graphml>",
    ),
    "GraphML, edges first": (
        "graphml",
        "<graphml><graph>" + "".join(f'<edge source="{u}" target="{v}"/>' for u, v in DIAMOND)
        + "".join(f'<node id="{v}"/>' for v in range(4)) + "</graph></graphml>",
    ),
    "GraphML in UTF-16": ("graphml", ""),
    "Matrix Market": (
        "matrix-market",
        "%%MatrixMarket matrix coordinate real general\n% x\n4 4 6\n1 1 2.5\n2 1 1\n3 1 1e3\n4 2 -1\n4 3 1\n4 4 0\n",
    ),
    "Matrix Market pattern": (
        "matrix-market",
        "%%matrixmarket MATRIX Coordinate Pattern symmetric\n\n4 4 4\n2 1\n3 1\n4 2\n4 3\n",
    ),
    "Matrix Market complex": (
        "matrix-market",
        "%%MatrixMarket matrix coordinate complex hermitian\n4 4 4\n2 1 0 1\n3 1 0 1\n4 2 0 1\n4 3 0 1\n",
    ),
    "Matrix Market from 0": (
        "matrix-market-0",
        "%%MatrixMarket matrix coordinate pattern general\n4 4 4\n1 0\n2 0\n3 1\n3 2\n",
    ),
    "KTH": ("kth", "c a diamond\nc\n4\n1 :\n2 : 1\n3 : 1\n4 : 2 3\n"),
    "KTH without blanks": ("kth", "4\n1:\n2:1\n3:1\n4:2 3"),
    "KTH with zeros": ("kth", "4\n1 : 0\n2 : 1 0\n\n4 : 2 3 0\n3 : 1 0\n"),
    "bench": (
        "bench",
        "# c\nINPUT( 0 )\nOUTPUT(3)\n\n1 = not(0)\n2 = BUFF(0)  # twice the same signal\n3 = NAND( 1,2 , 1)\n",
    ),
    "CSV": ("csv", "0,1\n0,2\n1,3\n2,3\n"),
    "CSV with a header": ("csv", '"Target";"kind";"Source"\n"1";"a;b";"0"\n"2";"";"0"\n3;;1\n3;;2\n'),
    "TSV": ("csv", "from\tto\n0\t1\n0\t2\n1\t3\n2\t3\n"),
    "JSON, edges first": ("node-link", '{"edges": [[0,1],[0,2],[1,3],[2,3]], "graph": [{"a": [[]]}, "]"], "nodes": [0,1,2,3]}'),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_dialects(name: str) -> None:
    format, text = READ[name]
    data = text.encode()
    if name == "GraphML in UTF-16":
        data = ('<?xml version="1.0" encoding="UTF-16"?>' + READ["GraphML, edges first"][1]).encode("utf-16")
    g = parse_graph(data, "given", format=format)
    assert edges(g) == DIAMOND
    labels = tuple("0123") if format == "bench" else None
    assert g.labels in (None, labels)
    assert g.weights is None
    if name not in ("lhdag", "Matrix Market from 0", "TSV", "GraphML in UTF-16", "CSV with a header"):
        assert detect(data, "given")[0] == format
        assert edges(parse_graph(data, "given")) == DIAMOND


def test_weights() -> None:
    text = HYPERDAG.replace("0 1\n1 1\n2 1\n", "0 3\n1 1\n2 2\n", 1)
    assert read(text).weights.tolist() == [3, 1, 2, 1]  # type: ignore[union-attr]
    text = HYPERDAG.replace("0 1\n1 1\n2 1\n", "0 9 3\n1 1 1\n2 2 2\n", 1)
    with pytest.warns(FormatWarning, match="communication weights of 1 hyperedges differ from their memory"):
        assert read(text).weight(0) == 3
    g = read("4 0\n0 1\n1 1\n2 1\n3 1\n0 1\n1 7\n2 1\n3 1\n", "plain-dag")
    assert g.weights.tolist() == [1, 7, 1, 1]  # type: ignore[union-attr]
    assert read("1 2 2\n0 0\n0 1\n0 4 6\n1 4 1\n", "lhdag").weights.tolist() == [6, 1]  # type: ignore[union-attr]
    g = read('digraph { b; node [weight=4]; a -> b; c [weight="2.0"]; d[comm_weight=3] }')
    assert g.labels == ("b", "a", "c", "d")
    assert g.weights.tolist() == [1, 4, 2, 3]  # type: ignore[union-attr]
    text = (
        '<graphml><key id="k" for="node" attr.name="weight"><default>2</default></key><key id="x" for="edge" '
        'attr.name="weight"/><graph><node id="a"/><node id="b"><data key="k"> 5 </data></node>'
        '<edge source="b" target="a"><data key="x">9</data></edge></graph></graphml>'
    )
    assert read(text).weights.tolist() == [2, 5]  # type: ignore[union-attr]


def test_isolated_vertices_and_small_hyperedges() -> None:
    g = read("% isolated\n1 4 2\n0 1\n0 1\n1 1\n2 1\n3 1\n0 0\n0 1\n")
    assert (g.num_vertices, edges(g)) == (4, [(0, 1)])
    g = read("1 2 1\n0 8\n0 1\n1 1\n0 1\n", "hyperdag")
    assert (g.num_edges, g.weight(1)) == (0, 8)
    assert read("0 1 0\n0 1\n", "hyperdag").num_vertices == 1
    assert read("digraph { a }").num_vertices == 1


def test_labels_are_kept_as_they_are() -> None:
    assert read("digraph { c -> a; b }").labels == ("c", "a", "b")
    assert read("digraph { 30 -> 7 }").labels == (30, 7)
    assert read('digraph { 3 -> 2 -> "1" -> 0 }').labels is None
    assert read("digraph { 1.5 -> 1 }").labels == ("1.5", "1")
    assert read("digraph { 01 -> 1 }").labels == ("01", "1")
    assert read("digraph { <b> -> b }").labels == ("<b>", "b")
    assert read('digraph { "say \\"hi\\"" -> "a\\nb" }').labels == ('say "hi"', "a\\nb")
    assert read("INPUT(x[0])\ny.1 = NOT(x[0])\n").labels == ("x[0]", "y.1")
    assert read("INPUT(a)\nOUTPUT(b)\nOUTPUT(c)\nb = NOT(a)\nc = NOT(b)\n").further_outputs.tolist() == [1]
    assert read("source,target\nz,a\n1,a\n").labels == ("z", "a", "1")
    assert read('<graphml><graph><node id="&#x3C;1&gt;"/></graph></graphml>').labels == ("<1>",)


def test_repeated_pins_and_edges_count_once() -> None:
    text = HYPERDAG.replace("3 4 7", "3 4 9").replace("0 0\n0 1\n0 2\n", "0 0\n0 1\n0 0\n0 2\n0 0\n")
    with pytest.warns(
        DuplicateEdgeWarning, match="given:12: node 0 is listed 3 times in hyperedge 0; it counts once"
    ):
        assert edges(read(text)) == DIAMOND
    for text, format in (
        ("digraph { 0 -> {1 2} -> 3; 0 -> 1 }", None),
        (HYPERDAG.replace("3 4 7", "3 4 8").replace("0 1\n0 2\n", "0 1\n0 2\n0 1\n"), None),
        ("4\n1:\n2:1 1\n3:1\n4:2 3", None),
        ("0,1\n0,2\n1,3\n2,3\n0,1\n", "csv"),
    ):
        with pytest.warns(DuplicateEdgeWarning, match=r"1 duplicate edge\(s\) merged, the first is \(0, 1\)"):
            assert edges(read(text, format)) == DIAMOND
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("INPUT(a)\nb = AND(a, a)\n").num_edges == 1


H = "hyperdag"
MM = "%%MatrixMarket matrix coordinate pattern general\n"
FAULTS = [
    (H, HYPERDAG[:-4], 15, "the file ends before pin 6 of 7: it was cut off"),
    (H, HYPERDAG.replace("2 3\n", "2 9\n"), 16, "node 9 is out of range, the file says they go from 0 to 3"),
    (H, HYPERDAG.replace("2 2\n2 3\n", "3 2\n2 3\n"), 15, "hyperedge 3 is out of range"),
    (H, HYPERDAG.replace("2 1\n3 1\n", "2 1\n2 1\n"), 9, "node 2 is given twice"),
    (H, HYPERDAG.replace("1 1\n2 1\n0 1\n", "1 1\n1 1\n0 1\n"), 5, "hyperedge 1 is given twice"),
    (H, HYPERDAG + "2 3\n", 17, "'2 3' stands after all that the header counts"),
    (H, HYPERDAG.replace("3 4 7", "3 4"), 2, "the header has 2 numbers, it gives hyperedges, vertices and pins"),
    (H, HYPERDAG.replace("3 4 7", "3 4 -7"), 2, "'-7' is no count: a whole number of at least 0 is"),
    (H, "% v\n1000000000 4 7\n", 2, "the header counts 1000000000 lines, the file has 19 bytes"),
    (H, HYPERDAG.replace("0 1\n1 1", "0 0\n1 1", 1), 3, "the source of hyperedge 0 weighs 0 words"),
    (H, HYPERDAG.replace("1 1\n1 3\n", "1 3\n1 0\n"), 12, "the graph has a cycle: 0 -> 2 -> 3"),
    (H, HYPERDAG.replace("1 1\n1 3\n", "1 0\n1 3\n"), 13, "node 0 is the source of hyperedge 0 and of hyperedge 1"),
    (H, HYPERDAG.replace("3 4 7", "3 4 5").replace("2 2\n2 3\n", ""), None, "hyperedge 2 has no pin: its source is not"),
    (H, "% HyperDAG file format v2\n1 1 1\n", None, "HyperDAG version 2 is not known, version 1 is"),
    (H, HYPERDAG.replace("0 2\n1 1\n", "0\n1 1\n"), 12, "a pin is a hyperedge and a node, this line has one field"),
    ("plain-dag", "% x\n2 1\n0 1\n1 1\n0 1\n1 1\n0 2\n", 7, "node 2 is out of range"),
    ("plain-dag", "2 2\n0 1\n1 1\n0 1\n1 1\n0 1\n", 6, "the file ends before edge 1 of 2: it was cut off"),
    ("plain-dag", "2 1\n0 1\n1 1\n0 1\n1 1\n1 1\n", 6, "vertex 1 has an edge to itself"),
    ("lhdag", "1 2 2\n0 0\n0 1\n0 4 6\n", 4, "the file ends before node line 1 of 2"),
    ("dot", "graph { a -- b }", 1, "the graph is undirected ('graph'): a CDAG is a 'digraph'"),
    ("dot", "digraph { a -- b }", 1, "'--' is an undirected edge"),
    ("dot", "digraph {\n a -> b\n b -> c", 3, "the file ends where a node, an edge or '}' is expected: it was cut off"),
    ("dot", "digraph {\n a ->\n}", 3, "an edge has no end: '}' follows its arrow"),
    ("dot", "digraph { a -> b -> ; }", 1, "';' stands where a node, an edge or '}' is expected"),
    ("dot", "digraph { a }\ndigraph { b }", 2, "'digraph' stands after the graph: a file holds one graph"),
    ("dot", 'digraph { "a\n\n', 1, "is a quoted name without its closing quote"),
    ("dot", "digraph { a <b> [x", 1, "the file ends where an attribute or ']' is expected: it was cut off"),
    ("dot", "digraph {\n\n2a -> b }", 3, "the number '2' runs into a name: quote the name"),
    ("dot", "digraph { a -> a }", 1, "vertex a has an edge to itself"),
    ("dot", "digraph {\n a -> b\n b -> a }", 2, "the graph has a cycle: a -> b -> a"),
    ("dot", "digraph {\n a [weight=1.5] }", 2, "the weight 1.5 of a is no whole number of words >= 1"),
    ("dot", "digraph {\n a [weight=2]\n a [weight=3] }", 3, "the weight of a is given twice: 2, now 3"),
    ("dot", "digraph { a [weight=0] }", 1, "vertex a weighs 0 words"),
    ("dot", "digraph { }", None, "the file holds no vertices"),
    ("dot", "digraph " + "{" * 200, 1, "subgraphs are nested more than 100 deep"),
    ("dot", "digraph { a $ b }", 1, "'$ b }' is no DOT"),
    ("dot", "digraph { <a<b> }", 1, "a '<' without its closing '>'"),
    ("graphml", "<graphml><graph><node id='a'/>", 1, "the XML is malformed (no element found): it was cut off"),
    ("graphml", "<html/>", 1, "<html> is no <graphml>: of XML, GraphML is read"),
    ("graphml", "<graphml>\n<graph><node/></graph></graphml>", 2, "<node> lacks its attribute 'id'"),
    ("graphml", "<graphml><graph><node id='a'/>\n<node id='a'/></graph></graphml>", 2, "the node a is given twice"),
    ("graphml", "<graphml><graph><node id='a'/>\n<edge source='a' target='b'/></graph></graphml>", 2, "vertex b is no node"),
    ("graphml", "<graphml><graph edgedefault='undirected'/></graphml>", 1, "the graph is undirected"),
    ("graphml", "<graphml><graph><hyperedge/></graph></graphml>", 1, "there is a hyperedge"),
    ("graphml", "<graphml><graph/><graph/></graphml>", 1, "there is a second graph"),
    ("graphml", "<graphml><graph/></graphml>", None, "the file holds no vertices"),
    ("graphml", "<!DOCTYPE graphml>\n<graphml/>", 1, "document types and entities are refused"),
    ("graphml", "<?xml version='1.0' encoding='klingon'?><graphml/>", 1, "the XML"),
    ("matrix-market", MM + "4 4 2\n2 1\n", 3, "the file holds 1 entries of 2: it was cut off"),
    ("matrix-market", MM + "4 4 1\n2 1\n3 1\n", 4, "there are more entries than the 1 of the size line"),
    ("matrix-market", MM + "4 4 1\n5 1\n", 3, "row or column 5 is out of range, they go from 1 to 4"),
    ("matrix-market", MM + "4 4 1\n1 0\n", 3, "row or column 0 is out of range, they go from 1 to 4"),
    ("matrix-market", MM + "4 3 0\n", 2, "the matrix is 4 x 3: that of a graph is square"),
    ("matrix-market", MM + "2 2 2\n1 2\n2 1\n", 4, "the graph has a cycle: 1 -> 2 -> 1"),
    ("matrix-market", MM + "2 2 1\n2 1 1.0\n", 3, "a pattern entry has 2 fields, not 3"),
    ("matrix-market", MM.replace("coordinate", "array") + "2 2\n", 1, "the matrix is dense"),
    ("matrix-market", MM + "1000000000 1000000000 0\n", 2, "1000000000 rows with 0 entries are declared"),
    ("kth", "3\n1:\n2:1\n", None, "vertex 3 of 3 has no line: the file was cut off or edited"),
    ("kth", "2\n1:\n2:1\n2:1\n", 4, "vertex 2 is given twice"),
    ("kth", "2\n1:\n2:3\n", 3, "vertex 3 is out of range, they go from 1 to 2"),
    ("kth", "2\n1:1\n2:\n", 2, "vertex 1 has an edge to itself"),
    ("kth", "2\n1:2\n2:1\n", 3, "the graph has a cycle: 1 -> 2 -> 1"),
    ("kth", "2\n1:\n2 1\n", 3, "'2 1' is no line 'vertex : predecessors'"),
    ("kth", "c x\n1000000000\n1:\n", 2, "1000000000 vertices are declared, the file has 18 bytes"),
    ("kth", "3\n1: 0\n2: 1 0\n3: 1", 4, "the line of vertex 3 lacks the 0 at its end: it was cut off"),
    ("bench", "INPUT(a)\nz = AND(a, b)\n", 2, "signal b is used but never given a value"),
    ("bench", "INPUT(a)\nOUTPUT(z)\n", 2, "signal z is used but never given a value"),
    ("bench", "INPUT(a)\na = NOT(a)\n", 2, "signal a is given twice"),
    ("bench", "INPUT(a)\nb = NOT(b)\n", 2, "vertex b has an edge to itself"),
    ("bench", "INPUT(a)\nb = AND(c, a)\nc = NOT(b)\n", 3, "the graph has a cycle: b -> c -> b"),
    ("bench", "INPUT(a)\nb = DFF(a)\n", 2, "signal b is a flip-flop"),
    ("bench", "INPUT(a)\nb = NOT(a\n", 2, "'b = NOT(a' is no INPUT(a), no OUTPUT(a) and no gate"),
    ("csv", "a,b\nc\n", 2, "the row has 1 fields, the first one has 2"),
    ("csv", "a,b,c\n", 1, "the first row has 3 columns: name them, source and target among them"),
    ("csv", "a,b\nb,b\n", 2, "vertex b has an edge to itself"),
    ("csv", "source,target\na,b\n,b\n", 3, "the row has no source"),
    ("csv", 'a,b\n"c,d\n', 2, "the table is malformed"),
    ("csv", "source,target,weight\na,,2\na,,3\n", 3, "vertex a is described twice"),
    ("csv", "source,target,weight\na,,x\n", 2, "'x' is no weight: a whole number of at least 0 is"),
    ("edge-list", "# pebble weights 0 [1]\n# vertices 2\n", 1, "1 weights are given for 2 vertices"),
    ("edge-list", "# pebble weights 0 [1, 2\n# vertices 2\n", 1, "its list is damaged"),
    ("edge-list", "# pebble weights 1 [1, 2]\n# vertices 2\n", 1, "the weights go on at 1, but 0 are given before"),
    ("edge-list", "# pebble outputs 0 [7]\n# vertices 2\n", 1, "output 7 is out of range"),
    ("node-link", '{"nodes": [0, 1],\n "nodes": [], "links": []}', 2, '"nodes" is given twice'),
    ("node-link", '{"nodes": [0, 1], "links": []} x', 1, "the JSON is malformed: Extra data"),
    ("node-link", '{"a": [1, }', 1, "the JSON is malformed: a value expected"),
    ("pebble", "red-blue-pebble graph 2\n", 1, "the first line must be 'red-blue-pebble graph 1'"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text", "line", "message"), FAULTS)
def test_faults(format: str, text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(text, format)
    assert message in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("given", line)
    assert "\n" not in str(caught.value)


def test_a_wrong_guess_says_so() -> None:
    with pytest.raises(
        FormatError, match=r"\(the file was taken for hyperdag; the option 'format' names another\)"
    ):
        read("% x\n3 2 2\n1 2\n")


def test_a_cut_file_is_never_a_smaller_graph() -> None:
    """Cut anywhere, a file is refused, or nothing but blanks and comments is missing."""
    for format, text in (
        (H, HYPERDAG),
        ("plain-dag", READ["plain DAG"][1]),
        ("kth", READ["KTH with zeros"][1]),
        ("dot", DOT),
    ):
        whole = len(text.rstrip())
        for length in range(whole):
            part = text[:length]
            if not part.strip() or part.strip() == text.strip():
                continue
            with pytest.raises(FormatError):
                read(part, format)
