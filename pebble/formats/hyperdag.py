"""HyperDAG files: a vertex and those that need it make one hyperedge.

::

    % a comment
    2 4 5          hyperedges, vertices, pins
    0 1            hyperedge and the words of its source (or communication and memory weight)
    1 1
    0 1            vertex and its work, which costs no I/O and is not read
    1 1
    2 1
    3 1
    0 0            pins: hyperedge and vertex; the first of a hyperedge is its source
    0 2
    0 3
    1 1
    1 3

Version 1 as the HyperDAG_DB data set has it, the files extracted from ALP programs (further columns are not
read) and the ``.hdag`` files of OneStopParallel, whose third column is the memory weight. Three more
texts of the same family: the plain-DAG dialect (``N E``, vertices and works, vertices and words, edges
``u v``) and the older ``.lhdag`` (``M N P``, pins, vertices with work and words), which is only read.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator

import numpy as np

from pebble.cdag import CDAG
from pebble.errors import DuplicateEdgeWarning, FormatError, FormatWarning
from pebble.formats.annotations import Annotations, annotation_lines
from pebble.formats.assembling import Edges, assemble, checked_weight, edge_rows, shown, whole

__all__ = ["hyperdag_lines", "parse_hyperdag", "parse_lhdag", "parse_plain_dag", "plain_dag_lines"]

_VERSION = re.compile(rb"%\s*HyperDAG file format v\s*(\S+)")
_EXTRACTED = b"%%MatrixMarket weighted-matrix"


def parse_hyperdag(data: bytes, file: str) -> CDAG:
    """The graph of a HyperDAG file.

    Raises
    ------
    FormatError
        The counts of the header disagree with what follows, an id is out of range or given twice, a hyperedge
        has no pin, the edges close a cycle. The line is named.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 1.5 s per million lines. A vertex listed twice in one
    hyperedge counts once, with a warning.

    Examples
    --------
    >>> text = b"1 3 3\\n0 2\\n0 1\\n1 1\\n2 1\\n0 0\\n0 1\\n0 2\\n"
    >>> g = parse_hyperdag(text, "example")
    >>> g.edges().tolist(), g.weight(0)
    ([[0, 1], [0, 2]], 2)
    """
    found = _VERSION.search(data[:4096])
    if found and found[1].lstrip(b"vV") != b"1":
        raise FormatError(file, f"HyperDAG version {shown(found[1])} is not known, version 1 is")
    reader = _Reader(data, file)
    hyperedges, vertices, pins = reader.header("hyperedges, vertices and pins", 3)
    words = [1] * hyperedges
    differ = 0
    # Programs that extract graphs write other data where the weights stand.
    weighted = not data.startswith(_EXTRACTED)
    for e, line, fields in reader.rows("hyperedge", hyperedges):
        if weighted and len(fields) > 1:
            number = whole(fields[min(2, len(fields) - 1)], "weight", file, line)
            words[e] = checked_weight(number, f"the source of hyperedge {e}", file, line)
            differ += len(fields) > 2 and fields[1] != fields[2]
    for _ in reader.rows("node", vertices):
        pass
    source, edges = _read_pins(reader, hyperedges, vertices, pins)
    reader.end()
    if differ:
        warnings.warn(
            f"{file}: the communication weights of {differ} hyperedges differ from their memory weights, "
            "which are taken as words",
            FormatWarning,
            stacklevel=2,
        )
    weights = [1] * vertices
    for e, v in enumerate(source):
        weights[v] = words[e]
    return reader.graph(vertices, edges, weights)


def parse_lhdag(data: bytes, file: str) -> CDAG:
    """The graph of an ``.lhdag`` file: ``M N P``, the pins, then every vertex's work and words."""
    reader = _Reader(data, file)
    hyperedges, vertices, pins = reader.header("hyperedges, vertices and pins", 3)
    _, edges = _read_pins(reader, hyperedges, vertices, pins)
    weights = [1] * vertices
    for v, line, fields in reader.rows("node", vertices):
        if len(fields) > 2:
            weights[v] = checked_weight(whole(fields[2], "weight", file, line), f"vertex {v}", file, line)
    reader.end()
    return reader.graph(vertices, edges, weights)


def parse_plain_dag(data: bytes, file: str) -> CDAG:
    """The graph of the plain-DAG dialect: ``N E``, works, words, edges ``u v``.

    Examples
    --------
    >>> parse_plain_dag(b"2 1\\n0 1\\n1 1\\n0 1\\n1 1\\n0 1\\n", "example").edges().tolist()
    [[0, 1]]
    """
    reader = _Reader(data, file)
    vertices, count = reader.header("vertices and edges", 2)
    weights = [1] * vertices
    for _ in reader.rows("node", vertices):
        pass
    for v, line, fields in reader.rows("node", vertices):
        if len(fields) > 1:
            weights[v] = checked_weight(whole(fields[1], "weight", file, line), f"vertex {v}", file, line)
    edges = Edges(reader.size)
    for _ in range(count):
        line, fields = reader.next(f"edge {len(edges)} of {count}")
        if len(fields) != 2:
            raise FormatError(file, f"an edge has two ends, this line has {len(fields)} fields", line)
        u, v = (whole(field, "node", file, line, vertices) for field in fields)
        edges.add(u, v, line)
    reader.end()
    return reader.graph(vertices, edges, weights)


class _Reader:
    """The lines of a file of this family that hold data, one after the other."""

    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        self.size = len(data)
        self.notes = Annotations(file)
        self.notes.scan(data, b"%")
        self._lines = enumerate(io.BytesIO(data), 1)
        self._line = 0

    def _advance(self) -> list[bytes]:
        for line, text in self._lines:
            self._line = line
            fields = (text[: text.index(b"%")] if b"%" in text else text).split()
            if fields:
                return fields
        return []

    def next(self, what: str) -> tuple[int, list[bytes]]:
        """The next line of data; FormatError if the file ends before `what`."""
        fields = self._advance()
        if not fields:
            raise FormatError(self.file, f"the file ends before {what}: it was cut off", max(self._line, 1))
        return self._line, fields

    def header(self, what: str, count: int) -> list[int]:
        """The first numbers of the first line; no count can exceed what the file has bytes for."""
        line, fields = self.next(f"its header, the numbers of {what}")
        if len(fields) < count:
            raise FormatError(self.file, f"the header has {len(fields)} numbers, it gives {what}", line)
        numbers = [whole(field, "count", self.file, line) for field in fields[:count]]
        for number in numbers:
            # Each has a line of its own, of at least a digit and a line end.
            if 2 * number > self.size + 2:
                raise FormatError(
                    self.file, f"the header counts {number} lines, the file has {self.size} bytes", line
                )
        return numbers

    def rows(self, what: str, count: int) -> Iterator[tuple[int, int, list[bytes]]]:
        """`count` lines that begin with the ids below `count`, each once."""
        seen = bytearray(count)
        for i in range(count):
            line, fields = self.next(f"{what} line {i} of {count}")
            item = whole(fields[0], what, self.file, line, count)
            if seen[item]:
                raise FormatError(self.file, f"{what} {item} is given twice", line)
            seen[item] = 1
            yield item, line, fields

    def end(self) -> None:
        """FormatError if there is more data."""
        fields = self._advance()
        if fields:
            text = shown(b" ".join(fields))
            raise FormatError(self.file, f"'{text}' stands after all that the header counts", self._line)

    def graph(self, vertices: int, edges: Edges, weights: list[int]) -> CDAG:
        """The CDAG, with what the comments annotate."""
        if not vertices:
            raise FormatError(self.file, "the file holds no vertices")
        return assemble(
            self.file,
            vertices,
            edges,
            labels=self.notes.labels(vertices),
            weights=weights,
            outputs=self.notes.outputs(vertices),
        )


def _read_pins(reader: _Reader, hyperedges: int, vertices: int, pins: int) -> tuple[list[int], Edges]:
    """The source of every hyperedge, and the edges from it to the other pins."""
    file = reader.file
    source = [-1] * hyperedges
    first_line = [0] * hyperedges
    edges = Edges(reader.size)
    repeated: list[tuple[int, int, int]] = []
    for i in range(pins):
        line, fields = reader.next(f"pin {i} of {pins}")
        if len(fields) < 2:
            raise FormatError(file, "a pin is a hyperedge and a node, this line has one field", line)
        e = whole(fields[0], "hyperedge", file, line, hyperedges)
        v = whole(fields[1], "node", file, line, vertices)
        if source[e] < 0:
            source[e], first_line[e] = v, line
        elif source[e] == v:
            repeated.append((e, v, line))
        else:
            edges.add(source[e], v, line)
    if -1 in source:
        raise FormatError(file, f"hyperedge {source.index(-1)} has no pin: its source is not given")
    _check_one_hyperedge_per_source(source, first_line, file)
    if repeated:
        e, v, line = repeated[0]
        warnings.warn(
            f"{file}:{line}: node {v} is listed {len(repeated) + 1} times in hyperedge {e}; it counts once",
            DuplicateEdgeWarning,
            stacklevel=3,
        )
    return source, edges


def _check_one_hyperedge_per_source(source: list[int], lines: list[int], file: str) -> None:
    owners = np.sort(np.array(source, dtype=np.int64))
    twice = owners[1:][owners[1:] == owners[:-1]]
    if len(twice):
        v = int(twice[0])
        e, f = [e for e, s in enumerate(source) if s == v][:2]
        raise FormatError(file, f"node {v} is the source of hyperedge {e} and of hyperedge {f}", lines[f])


def hyperdag_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph's HyperDAG file; `parse_hyperdag` gives the same graph back.

    Labels and further outputs stand in comments. A sink of more than one word is the only pin of a hyperedge.

    Examples
    --------
    >>> print(*hyperdag_lines(CDAG.from_edges(2, [(0, 1)]), "example"), sep="", end="")
    %% HyperDAG of 2 vertices, written by red-blue-pebble
    % HyperDAG file format v1
    1 2 2
    0 1
    0 1
    1 1
    0 0
    0 1
    """
    n = cdag.num_vertices
    has_edge = np.zeros(n, dtype=bool)
    has_edge[cdag.indices] = True
    if cdag.weights is not None:
        has_edge |= cdag.weights > 1
    hyperedge = np.cumsum(has_edge) - 1
    sources = np.flatnonzero(has_edge).tolist()
    yield f"%% HyperDAG of {n} vertices, written by red-blue-pebble\n% HyperDAG file format v1\n"
    yield from annotation_lines(cdag, file, "%", weights=False)
    yield f"{len(sources)} {n} {len(sources) + cdag.num_edges}\n"
    weighted = cdag.weights is not None
    for e, v in enumerate(sources):
        # Communication and memory weight are both the words of the value.
        yield f"{e} {cdag.weight(v)} {cdag.weight(v)}\n" if weighted else f"{e} 1\n"
    for v in range(n):
        yield f"{v} 1\n"
    if _rows_ascend(cdag):
        rows = edge_rows(cdag, by_source=True)
        row = next(rows, None)
        for e, v in enumerate(sources):
            yield f"{e} {v}\n"
            while row is not None and row[0] == v:
                yield f"{e} {row[1]}\n"
                row = next(rows, None)
        return
    # All sources first, then the other pins vertex by vertex: that keeps the order of the operands.
    for e, v in enumerate(sources):
        yield f"{e} {v}\n"
    for u, v in edge_rows(cdag):
        yield f"{hyperedge[u]} {v}\n"


def _rows_ascend(cdag: CDAG) -> bool:
    """Whether every vertex's predecessors are listed in ascending order."""
    falls = np.diff(cdag.indices.astype(np.int64)) < 0
    starts = cdag.indptr[1:-1].astype(np.int64)
    starts = starts[(starts > 0) & (starts < cdag.num_edges)]
    falls[starts - 1] = False
    return not falls.any()


def plain_dag_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph in the plain-DAG dialect; `parse_plain_dag` gives the same graph back."""
    n = cdag.num_vertices
    yield f"% DAG of {n} vertices, written by red-blue-pebble\n"
    yield from annotation_lines(cdag, file, "%", weights=False)
    yield f"{n} {cdag.num_edges}\n"
    for v in range(n):
        yield f"{v} 1\n"
    for v in range(n):
        yield f"{v} {cdag.weight(v)}\n"
    for u, v in edge_rows(cdag):
        yield f"{u} {v}\n"
