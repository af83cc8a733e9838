"""Files made to hurt: each is refused in a second of computing and 200 MB of memory, whatever came before."""

# Rows of the table below are one text each, however long.
# ruff: noqa: E501

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Seconds of computing, the least of three tries: a busy machine makes the same work take longer.
SECONDS, MEGABYTES = 1.0, 200

CHILD = """
import json, sys, time
from pebble.errors import FormatError
from pebble.formats import builtin, read_graph
found = {}
for name, (path, format) in json.load(sys.stdin).items():
    seconds = []
    while len(seconds) < 3 and min(seconds, default=9.0) > 0.5:
        start = time.process_time()
        try:
            read_graph(path, format=format or None)
            message = "no error"
        except FormatError as error:
            message = str(error)
        seconds.append(time.process_time() - start)
    # The peak of this process alone; getrusage counts that of the process it came from.
    with open("/proc/self/status") as status:
        megabytes = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    found[name] = message, min(seconds), megabytes
print(json.dumps(found))
"""

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {x} "{f"&{y};" * 10}">' for x, y in zip("bcdefghij", "abcdefghi", strict=True))
    + ']><graphml><graph><node id="&j;"/></graph></graphml>'
)
EXTERNAL = '<!DOCTYPE graphml [<!ENTITY e SYSTEM "file:///etc/passwd">]><graphml><graph><node id="&e;"/></graph></graphml>'


def _bomb() -> bytes:
    """A gigabyte of edges in a few hundred kilobytes."""
    return gzip.compress(b"0 1\n" * (1 << 20)) * 256


CASES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "JSON in JSON": ("", lambda: b'{"nodes": ' + b"[" * 10**6, "nested too deeply"),
    "JSON in JSON that is not read": ("", lambda: b'{"x": ' + b'[{"a":' * 10**6, "nested too deeply"),
    "a number of a million digits": ("", lambda: b'{"nodes": [' + b"9" * 10**6 + b"]}", "a huge number"),
    "empty lists in a key that is not read": (
        "", lambda: b'{"graph": [' + b"[]," * 4 * 10**6 + b"1], ", "a key in quotes expected"),
    "10^9 vertices declared": ("edge-list", lambda: b"# vertices 1000000000\n0 1\n", "1000000000 vertices are declared"),
    "10^9 rows": (
        "", lambda: b"%%MatrixMarket matrix coordinate pattern general\n1000000000 1000000000 1\n2 1\n", "are declared"),
    "10^9 lines": ("kth", lambda: b"1000000000\n1:\n", "1000000000 vertices are declared"),
    "10^9 hyperedges": ("hyperdag", lambda: b"1000000000 2 2\n0 1\n", "the header counts 1000000000 lines"),
    "10^9 pins": ("lhdag", lambda: b"1 2 1000000000\n0 0\n", "the header counts 1000000000 lines"),
    "10^9 vertices in the plain dialect": ("plain-dag", lambda: b"1000000000 1\n0 1\n", "counts 1000000000 lines"),
    "10^9 vertices in our own": (
        "",
        lambda: b"red-blue-pebble graph 1\ndigest: x\nnum_vertices: 1000000000\nnum_edges: 0\n\nedges\nend\n",
        "num_vertices 1000000000 is out of range",
    ),
    "a tensor of 10^22 entries": (
        "",
        lambda: b"red-blue-pebble graph 1\ndigest: x\nnum_vertices: 1\nnum_edges: 0\n\nedges\n"
        b"tensor A 100000000000x100000000000\nend\n",
        "holds 0 numbers, not 10000000000000000000000",
    ),
    "a gzip bomb": ("", _bomb, "the gzip data unpacks to more than 100 times its size"),
    "a billion laughs": ("", lambda: LAUGHS.encode(), "document types and entities are refused"),
    "an external entity": ("", lambda: EXTERNAL.encode(), "document types and entities are refused"),
    "XML in XML": ("", lambda: b"<graphml>" + b"<graph>" * 10**6, "there is a second graph, or one in another"),
    "XML in XML of no meaning": ("", lambda: b"<graphml>" + b"<x>" * 10**6, "nested more than 50 deep"),
    "DOT in DOT": ("", lambda: b"digraph {" + b"{" * 10**6, "subgraphs are nested more than 100 deep"),
    "DOT in brackets": ("", lambda: b"digraph { " + b"<" * 10**6, "a '<' without its closing '>'"),
    "DOT that multiplies": (
        "",
        lambda: b"digraph { {" + b" ".join(b"a%d" % i for i in range(20000)) + b"} -> {"
        + b" ".join(b"b%d" % i for i in range(20000)) + b"} }",
        "20000 x 20000 edges between subgraphs: more than 1000000 in all",
    ),
    "a quote that never closes": ("", lambda: b'digraph { "' + b'\\"' * 2 * 10**6, "without its closing quote"),
    "a comment that never closes": ("", lambda: b"digraph { " + b"/*" + b"x" * 10**6, "is no comment"),
    "zeros": ("", lambda: bytes(10**7), "the file is no text"),
    "one field of 20 MB": ("csv", lambda: b"a" * 2 * 10**7 + b",b\n", "the table is malformed"),
    "brackets": ("", lambda: b"[" * 10**7, "the JSON is no object"),
    "a label within a label": ("edge-list", lambda: b"# vertices 1\n# pebble labels 0 [" + b"[" * 500 + b"]" * 501, "nested too deeply"),
}  # fmt: skip


MILLION = """
import sys, time, warnings
from pebble.formats import builtin, read_graph
start = time.process_time()
g = read_graph(sys.argv[1])
seconds = time.process_time() - start
with open("/proc/self/status") as status:
    megabytes = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
print(g.num_vertices, g.num_edges, seconds, megabytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured through /proc")
@pytest.mark.parametrize("name", ["", pytest.param("v", marks=pytest.mark.slow)])
def test_a_million_edges_between_a_million_vertices(name: str, tmp_path: Path) -> None:
    path = tmp_path / "g.edges"
    with open(path, "w") as out:
        out.writelines(f"{name}{v * 7 // 9} {name}{v}\n" for v in range(1, 1_000_001))
    ran = subprocess.run(
        [sys.executable, "-c", MILLION, str(path)], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    vertices, edges, seconds, megabytes = ran.stdout.split()
    assert (vertices, edges) == ("1000001", "1000000")
    assert float(seconds) < 10
    # Ten times the file would be 260 MB and more; here with the interpreter and NumPy.
    assert float(megabytes) < 250


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float, float]]:
    """Per case what was said, the seconds of computing, and the memory that the process has ever held."""
    folder = tmp_path_factory.mktemp("hostile")
    files = {}
    for i, (name, (format, content, _)) in enumerate(CASES.items()):
        (folder / str(i)).write_bytes(content())
        files[name] = str(folder / str(i)), format
    command = [sys.executable, "-c", CHILD]
    ran = subprocess.run(
        command, input=json.dumps(files), capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    document: dict[str, tuple[str, float, float]] = json.loads(ran.stdout)
    return document


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured through /proc")
@pytest.mark.parametrize("name", CASES)
def test_hostile_files(name: str, found: dict[str, tuple[str, float, float]]) -> None:
    said, seconds, megabytes = found[name]
    assert CASES[name][2] in said
    assert len(said) < 600
    assert seconds < SECONDS
    assert megabytes < MEGABYTES
