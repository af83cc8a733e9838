"""KTH lists: the predecessors of every vertex, counted from 1, as pebbling formulas are given.

::

    c a comment
    3
    1 :
    2 :
    3 : 1 2

A line may end with 0, as programs that make formulas write it; blanks around the colon are optional.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.annotations import Annotations, annotation_lines
from pebble.formats.assembling import Edges, assemble, shown, whole

__all__ = ["kth_lines", "parse_kth"]


def parse_kth(data: bytes, file: str) -> CDAG:
    """The graph of a KTH list.

    Raises
    ------
    FormatError
        A vertex has no line or two, is out of range, needs itself, the edges close a cycle.

    Notes
    -----
    O(size of the file + |E| log |E|), about 1.5 s per million vertices.

    Examples
    --------
    >>> parse_kth(b"2\\n1:\\n2:1\\n", "example").edges().tolist()
    [[0, 1]]
    """
    notes = Annotations(file)
    notes.scan(data, b"c")
    vertices, closed = -1, 0
    seen = bytearray()
    edges = Edges(len(data))
    for line, text in enumerate(io.BytesIO(data), 1):
        if text[:1] == b"c" or not text.strip():
            continue
        head, colon, tail = text.partition(b":")
        if vertices < 0:
            if colon or len(head.split()) != 1:
                raise FormatError(file, f"'{shown(text.strip())}' is no number of vertices", line)
            vertices = whole(head.strip(), "number of vertices", file, line)
            # Every vertex has a line.
            if vertices > len(data):
                raise FormatError(
                    file, f"{vertices} vertices are declared, the file has {len(data)} bytes", line
                )
            seen = bytearray(vertices)
            continue
        if not colon:
            raise FormatError(file, f"'{shown(text.strip())}' is no line 'vertex : predecessors'", line)
        v = _vertex(head.strip(), vertices, file, line)
        if seen[v]:
            raise FormatError(file, f"vertex {v + 1} is given twice", line)
        seen[v] = 1
        fields = tail.split()
        if fields and fields[-1] == b"0":
            del fields[-1]
            closed += 1
        elif closed:
            raise FormatError(
                file, f"the line of vertex {v + 1} lacks the 0 at its end: it was cut off", line
            )
        for field in fields:
            edges.add(_vertex(field, vertices, file, line), v, line)
    if vertices < 1:
        raise FormatError(file, "the file holds no vertices")
    absent = seen.find(0)
    if absent >= 0:
        raise FormatError(
            file, f"vertex {absent + 1} of {vertices} has no line: the file was cut off or edited"
        )
    return assemble(
        file,
        vertices,
        edges,
        labels=notes.labels(vertices),
        weights=notes.weights(vertices),
        outputs=notes.outputs(vertices),
        first=1,
    )


def _vertex(field: bytes, vertices: int, file: str, line: int) -> int:
    number = whole(field, "vertex", file, line)
    if not 1 <= number <= vertices:
        raise FormatError(file, f"vertex {number} is out of range, they go from 1 to {vertices}", line)
    return number - 1


def kth_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph's KTH list; `parse_kth` gives the same graph back.

    Labels, weights and further outputs stand in comments.

    Examples
    --------
    >>> print(*kth_lines(CDAG.from_edges(2, [(0, 1)]), "example"), sep="", end="")
    c DAG of 2 vertices, written by red-blue-pebble
    2
    1 :
    2 : 1
    """
    yield f"c DAG of {cdag.num_vertices} vertices, written by red-blue-pebble\n"
    yield from annotation_lines(cdag, file, "c")
    yield f"{cdag.num_vertices}\n"
    for v in range(cdag.num_vertices):
        yield " ".join([str(v + 1), ":", *(str(u + 1) for u in cdag.preds(v).tolist())]) + "\n"
