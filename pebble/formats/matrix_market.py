"""Matrix Market: a square sparse matrix as a graph.

::

    %%MatrixMarket matrix coordinate real general
    3 3 2
    2 1 1
    3 2 1

The entry (r, c) off the diagonal is the edge from vertex c to vertex r, counted from 0: a row needs the
columns in which it has entries, as in a triangular solve. The diagonal is no edge, values are not read. Of a
symmetric matrix the entries that the file holds count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.annotations import Annotations, annotation_lines
from pebble.formats.assembling import ROOM, Edges, assemble, edge_rows, numbered_lines, shown, whole

__all__ = ["matrix_market_lines", "parse_matrix_market"]

_BANNER = re.compile(rb"%%MatrixMarket\s+matrix\s+(\w+)\s+(\w+)\s+([\w-]+)\s*\Z", re.IGNORECASE)
# How many values an entry has after its row and column.
_VALUES = {b"pattern": 0, b"real": 1, b"integer": 1, b"complex": 2}
_SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric", b"hermitian")


def parse_matrix_market(data: bytes, file: str, base: int = 1) -> CDAG:
    """The graph of a square sparse matrix.

    Parameters
    ----------
    data : bytes
    file : str
    base : int
        The number of the first row and column: 1, or 0 for files of programs that count from 0.

    Raises
    ------
    FormatError
        The matrix is dense or not square, an entry is out of range or given twice, the counts disagree, the
        entries close a cycle (both triangles hold entries, as in the file of an undirected graph).

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 2 s per million entries.

    Examples
    --------
    >>> text = b"%%MatrixMarket matrix coordinate pattern general\\n3 3 2\\n2 1\\n3 2\\n"
    >>> parse_matrix_market(text, "example").edges().tolist()
    [[0, 1], [1, 2]]
    """
    banner = data[: data.find(b"\n") if b"\n" in data else len(data)].strip()
    match = _BANNER.match(banner)
    if match is None:
        raise FormatError(
            file, f"'{shown(banner)}' is no '%%MatrixMarket matrix coordinate pattern general'", 1
        )
    layout, field, symmetry = (part.lower() for part in match.groups())
    if layout != b"coordinate":
        raise FormatError(file, "the matrix is dense: a graph is a matrix in coordinate form", 1)
    if field not in _VALUES or symmetry not in _SYMMETRIES:
        raise FormatError(file, f"'{shown(field)} {shown(symmetry)}' is no kind of matrix", 1)
    notes = Annotations(file)
    notes.scan(data, b"%")
    rows = numbered_lines(data, b"%")
    line, fields = next(rows, (1, []))
    if len(fields) != 3:
        raise FormatError(file, "the size line gives rows, columns and entries", line)
    height, width, count = (whole(part, "count", file, line) for part in fields)
    if height != width:
        raise FormatError(file, f"the matrix is {height} x {width}: that of a graph is square", line)
    if not height:
        raise FormatError(file, "the file holds no vertices", line)
    if height > max(ROOM, len(data)) or count > len(data):
        raise FormatError(
            file, f"{height} rows with {count} entries are declared, the file has {len(data)} bytes", line
        )
    edges = Edges(len(data))
    diagonal = 0
    expected = 2 + _VALUES[field]
    for line, fields in rows:
        if len(edges) + diagonal == count:
            raise FormatError(file, f"there are more entries than the {count} of the size line", line)
        if len(fields) != expected:
            raise FormatError(
                file, f"a {field.decode()} entry has {expected} fields, not {len(fields)}", line
            )
        r, c = (_index(part, base, height, file, line) for part in fields[:2])
        if r == c:
            diagonal += 1
        else:
            edges.add(c, r, line)
    if len(edges) + diagonal < count:
        raise FormatError(
            file, f"the file holds {len(edges) + diagonal} entries of {count}: it was cut off", line
        )
    return assemble(
        file,
        height,
        edges,
        labels=notes.labels(height),
        weights=notes.weights(height),
        outputs=notes.outputs(height),
        first=base,
    )


def _index(field: bytes, base: int, size: int, file: str, line: int) -> int:
    number = whole(field, "row or column", file, line)
    if not base <= number < base + size:
        raise FormatError(
            file, f"row or column {number} is out of range, they go from {base} to {size - 1 + base}", line
        )
    return number - base


def matrix_market_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph's matrix; `parse_matrix_market` gives the same graph back.

    Labels, weights and further outputs stand in comments.

    Examples
    --------
    >>> print(*matrix_market_lines(CDAG.from_edges(2, [(0, 1)]), "example"), sep="", end="")
    %%MatrixMarket matrix coordinate real general
    2 2 1
    2 1 1
    """
    # A value stands in every entry, since some readers refuse patterns.
    yield "%%MatrixMarket matrix coordinate real general\n"
    yield from annotation_lines(cdag, file, "%")
    yield f"{cdag.num_vertices} {cdag.num_vertices} {cdag.num_edges}\n"
    for u, v in edge_rows(cdag):
        yield f"{v + 1} {u + 1} 1\n"
