"""Edge lists: one edge ``u v`` per line.

::

    # vertices 5
    0 2
    1 2
    2 3

Blank lines and what follows a ``#`` are skipped. With the header ``# vertices N`` the vertices are the
numbers 0 to N-1, so that isolated ones need no line. Without it they are what the lines name: a line with
one name is an isolated vertex, and names that are not exactly 0, 1, …, N-1 are kept as labels (numbers in
ascending order, other names as they appear). An empty ``{}`` after an edge, as networkx writes, is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError, InvalidCDAGError

__all__ = ["edge_list_text", "parse_edge_list"]

_HEADER = re.compile(rb"#\s*vertices\s*[:=]?\s*(\d+)\s*\Z")
_NUMBER = re.compile(rb"\d{1,18}\Z")
_MOST_VERTICES = 10**10
_FOREIGN = {
    b"digraph": "DOT",
    b"strict": "DOT",
    b"graph": "DOT",
    b"<?xml": "GraphML",
    b"<graphml": "GraphML",
    b"%%": "a HyperDAG or Matrix Market file",
}


def parse_edge_list(data: bytes, file: str) -> CDAG:
    """The graph of an edge list.

    Parameters
    ----------
    data : bytes
    file : str
        Its name, for errors.

    Returns
    -------
    CDAG

    Raises
    ------
    FormatError
        A line is no edge, a vertex is out of range, a self-loop, a cycle (one is named), no vertex at all.
        The line is named.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 2 s per million lines.

    Examples
    --------
    >>> parse_edge_list(b"a b\\nb c\\n", "example").labels
    ('a', 'b', 'c')
    """
    names: list[bytes] = []  # of the edges, u and v in turn
    lines: list[int] = []
    alone: list[bytes] = []
    alone_lines: list[int] = []
    declared: int | None = None
    for number, line in enumerate(data.split(b"\n"), 1):
        fields = line.split()
        if len(fields) == 2 and b"#" not in line:
            names += fields
            lines.append(number)
            continue
        if not fields:
            continue
        if b"#" in line:
            header = _HEADER.match(line.strip())
            if header is not None:
                if declared is not None:
                    raise FormatError(file, "the number of vertices is given twice", number)
                if len(header[1]) > 18 or int(header[1]) > _MOST_VERTICES:
                    raise FormatError(file, f"{_shown(header[1])} vertices fit in no memory", number)
                declared = int(header[1])
                continue
            fields = line[: line.index(b"#")].split()
            if not fields:
                continue
        if len(fields) == 3 and fields[2] == b"{}":
            del fields[2]
        if len(fields) == 2:
            names += fields
            lines.append(number)
        elif len(fields) == 1:
            alone += fields
            alone_lines.append(number)
        else:
            raise FormatError(file, _not_an_edge(fields, line), number)
    if not names and not alone and declared is None:
        raise FormatError(file, "the file holds no vertices: write one edge 'u v' per line")
    vertices, labels, ids = _number(file, declared, names + alone, lines, alone_lines)
    pairs = ids[: len(names)].reshape(-1, 2)
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        edge = int(loops[0])
        raise FormatError(file, f"vertex {_shown(names[2 * edge])} has an edge to itself", lines[edge])
    try:
        return CDAG.from_edges(vertices, pairs, labels=labels)
    except InvalidCDAGError as error:
        message, edge_index = str(error), None
        if len(error.vertices) > 1:
            cycle = error.vertices
            message = cycle_text([v if labels is None else labels[v] for v in cycle])
            closing = (pairs[:, 0] == cycle[0]) & (pairs[:, 1] == cycle[1])
            edge_index = int(np.flatnonzero(closing)[0])
        raise FormatError(file, message, None if edge_index is None else lines[edge_index]) from None


def edge_list_text(cdag: CDAG, file: str) -> str:
    """The edge list of a graph; `parse_edge_list` gives the same graph back.

    Raises
    ------
    FormatError
        The graph has weights, outputs besides its sinks, or labels that an edge list cannot hold.

    Examples
    --------
    >>> print(edge_list_text(CDAG.from_edges(3, [(0, 2), (1, 2)]), "example"), end="")
    # vertices 3
    0 2
    1 2
    """
    if cdag.weights is not None or len(cdag.further_outputs):
        raise FormatError(file, "an edge list holds no weights and no further outputs: write .json instead")
    if cdag.labels is None:
        names: list[str] = []
        lines = [f"# vertices {cdag.num_vertices}"]
    else:
        names = _names(cdag.labels, file)
        # Named first, in order, so that the ids are the same when read back.
        lines = list(names)
    for u, v in cdag.edges().tolist():
        lines.append(f"{names[u]} {names[v]}" if names else f"{u} {v}")
    return "\n".join(lines) + "\n"


def _names(labels: Sequence[Hashable], file: str) -> list[str]:
    """The labels as text, if reading them gives the same labels in the same order."""
    names = [str(label) for label in labels]
    numbers = all(_NUMBER.match(name.encode("utf-8", "replace")) for name in names)
    for label, name in zip(labels, names, strict=True):
        plain = name.isprintable() and not set(name) & {" ", "#"} and name[:1] not in ("", "{", "[")
        if not plain or type(label) is not (int if numbers else str):
            raise FormatError(file, f"an edge list cannot hold the label {label!r}: write .json instead")
    ascending = all(int(a) < int(b) for a, b in pairwise(names)) if numbers else len(set(names)) == len(names)
    if not ascending:
        raise FormatError(file, "an edge list cannot hold labels in that order: write .json instead")
    return names


def cycle_text(names: list[Any]) -> str:
    """One line that names a cycle, its middle left out if it is long."""
    shown = [str(n) for n in names[:12]] + (["…"] if len(names) > 12 else [])
    return f"the graph has a cycle: {' -> '.join([*shown, str(names[0])])}"


def _number(
    file: str, declared: int | None, names: list[bytes], lines: list[int], alone_lines: list[int]
) -> tuple[int, list[Any] | None, NDArray[np.int64]]:
    """How many vertices there are, their labels if they need any, and the id of each name."""

    def line_of(index: int) -> int:
        return lines[index // 2] if index < 2 * len(lines) else alone_lines[index - 2 * len(lines)]

    numeric = all(map(_NUMBER.match, names))
    if declared is not None:
        for index, name in enumerate(names) if not numeric else ():
            if not _NUMBER.match(name):
                raise FormatError(
                    file,
                    f"'{_shown(name)}' is no vertex number, and the header counts vertices",
                    line_of(index),
                )
        values = [int(name) for name in names]
        if values and max(values) >= declared:
            index = next(i for i, v in enumerate(values) if v >= declared)
            raise FormatError(
                file,
                f"vertex {values[index]} is out of range, the header says ids go from 0 to {declared - 1}",
                line_of(index),
            )
        return declared, None, np.array(values, dtype=np.int64)
    if numeric:
        values = [int(name) for name in names]
        distinct, ids = np.unique(np.array(values, dtype=np.int64), return_inverse=True)
        plain = int(distinct[-1]) == len(distinct) - 1
        return len(distinct), None if plain else distinct.tolist(), ids.astype(np.int64)
    index_of: dict[bytes, int] = {}
    # The names that stand alone come first: that is how labelled graphs are written.
    for name in (*names[2 * len(lines) :], *names):
        index_of.setdefault(name, len(index_of))
    labels: list[Any] = []
    for name in index_of:
        try:
            labels.append(name.decode("utf-8"))
        except UnicodeDecodeError:
            where = line_of(names.index(name))
            raise FormatError(file, f"the name '{_shown(name)}' is no UTF-8 text", where) from None
    return len(labels), labels, np.array([index_of[name] for name in names], dtype=np.int64)


def _not_an_edge(fields: list[bytes], line: bytes) -> str:
    for start, name in _FOREIGN.items():
        if fields[0].lower().startswith(start):
            return f"this looks like {name}; an edge list and node-link JSON are read"
    text = line.decode("utf-8", errors="backslashreplace").strip()
    shown = text if len(text) <= 60 else text[:57] + "…"
    return f"'{shown}' has {len(fields)} fields: write one edge 'u v' per line, comments after #"


def _shown(name: bytes) -> str:
    return name[:60].decode("utf-8", errors="backslashreplace")
