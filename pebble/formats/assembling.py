"""What every reader ends with: the vertices and edges it has found become a CDAG, or an error with a line."""

from __future__ import annotations

import codecs
import io
import re
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError, InvalidCDAGError
from pebble.formats.names import NameTable, Texts
from pebble.labels import IntegerLabels, PackedLabels

__all__ = [
    "ROOM",
    "Edges",
    "Lines",
    "assemble",
    "check_utf8",
    "checked_weight",
    "cycle_text",
    "decoded",
    "edge_rows",
    "labels_of_names",
    "numbered_lines",
    "shown",
    "whole",
]

# Vertices, or edges of a product of sets, that a file may ask for without a byte of text for each.
ROOM = 1_000_000
_LARGEST = 10**18
_INTEGER_NAME = re.compile(rb"(?:0|-?[1-9]\d{0,17})\Z")
_ROWS_PER_BLOCK = 1 << 16
_BYTES_PER_BLOCK = 1 << 20


class Lines:
    """The line of each of many things as a reader meets them: a byte each."""

    def __init__(self) -> None:
        self._steps = bytearray()
        self._far: dict[int, int] = {}  # the lines that are no small step after the one before
        self._last = 0

    def append(self, line: int) -> None:
        """Add the line of one more."""
        step = line - self._last
        self._last = line
        if 0 <= step < 256:
            self._steps.append(step)
        else:
            self._far[len(self._steps)] = line
            self._steps.append(0)

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, i: int) -> int:
        """The line of one; O(i), for errors."""
        start = max((far for far in self._far if far <= i), default=-1)
        return self._far.get(start, 0) + sum(self._steps[start + 1 : i + 1])


class Edges:
    """Edges as a reader meets them, and the line of each: 9 bytes together.

    Parameters
    ----------
    size : int
        Bytes of the file: vertices are fewer.

    Attributes
    ----------
    ends : array of int32, of int64 for files of 2 GB and more
        Predecessor and vertex in turn.
    lines : Lines
        The line of each edge.

    Examples
    --------
    >>> edges = Edges(100)
    >>> edges.add(0, 2, 7)
    >>> edges.add(1, 2, 1000)
    >>> len(edges), edges.lines[0], edges.lines[1], edges.pairs().tolist()
    (2, 7, 1000, [[0, 2], [1, 2]])
    """

    def __init__(self, size: int) -> None:
        self.ends = array("i" if max(size, ROOM) < 2**31 - 1 else "q")
        self.lines = Lines()

    def add(self, u: int, v: int, line: int) -> None:
        """Append the edge (u, v)."""
        self.ends.append(u)
        self.ends.append(v)
        self.lines.append(line)

    def __len__(self) -> int:
        return len(self.lines)

    def pairs(self) -> NDArray[Any]:
        """The edges, shape (len, 2)."""
        if not self.ends:
            return np.empty((0, 2), dtype=self.ends.typecode)
        return np.frombuffer(self.ends, dtype=self.ends.typecode).reshape(-1, 2)

    def renumbered(self, number: NDArray[Any]) -> NDArray[Any]:
        """The edges with vertex v called ``number[v]``, in the same memory."""
        pairs = self.pairs()
        if len(pairs):
            flat = pairs.reshape(-1)
            for lo in range(0, len(flat), _ROWS_PER_BLOCK):
                block = flat[lo : lo + _ROWS_PER_BLOCK]
                block[:] = number[block]
        return pairs


def assemble(
    file: str,
    vertices: int,
    edges: Edges | NDArray[Any],
    *,
    labels: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    outputs: Sequence[int] | NDArray[np.int64] = (),
    line_of: Callable[[int], int | None] | None = None,
    first: int = 0,
) -> CDAG:
    """The CDAG of what a reader has found.

    Parameters
    ----------
    file : str
        Its name, for errors.
    vertices : int
    edges : Edges or ndarray of int32 or int64, shape (m, 2)
        Pairs (predecessor, vertex), in range.
    labels : sequence of hashable, optional
        Dropped where they are the vertex numbers.
    weights, outputs
        As for `CDAG.from_edges`.
    line_of : callable, optional
        The line of an edge given its index, if `edges` does not know it.
    first : int
        What the file calls vertex 0, for errors.

    Raises
    ------
    FormatError
        A self-loop or a cycle; the line of one of its edges and its vertices' names are in the text.

    Notes
    -----
    O(|V| + |E| log |E|).
    """
    pairs = edges.pairs() if isinstance(edges, Edges) else edges
    if isinstance(edges, Edges):
        lines = edges.lines
        line_of = lines.__getitem__
    if labels is not None and all(type(name) is int and name == v for v, name in enumerate(labels)):
        labels = None

    def name(v: int) -> Any:
        return v + first if labels is None else labels[v]

    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        edge = int(loops[0])
        where = None if line_of is None else line_of(edge)
        raise FormatError(file, f"vertex {shown(name(int(pairs[edge, 0])))} has an edge to itself", where)
    try:
        cdag = CDAG.from_edges(vertices, pairs, weights=weights, labels=labels)
    except InvalidCDAGError as error:
        message, where = str(error), None
        if len(error.vertices) > 1:
            cycle = error.vertices
            message = cycle_text([name(v) for v in cycle])
            closing = (pairs[:, 0] == cycle[0]) & (pairs[:, 1] == cycle[1])
            where = None if line_of is None else line_of(int(np.flatnonzero(closing)[0]))
        raise FormatError(file, message, where) from None
    return cdag.with_outputs(outputs) if len(outputs) else cdag


def decoded(data: bytes, file: str) -> str:
    """The text of a file, a byte-order mark left out; FormatError names the line that is no UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(file, "the file is no UTF-8 text", line) from None


def check_utf8(data: bytes, file: str) -> None:
    """The same FormatError as `decoded`, without the memory of a text."""
    if not data.isascii():
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for lo in range(0, len(data), _BYTES_PER_BLOCK):
                decoder.decode(data[lo : lo + _BYTES_PER_BLOCK], lo + _BYTES_PER_BLOCK >= len(data))
        except UnicodeDecodeError:
            decoded(data, file)
            raise


def cycle_text(names: Sequence[Any]) -> str:
    """One line that names a cycle, its middle left out if it is long."""
    listed = [shown(n) for n in names[:12]] + (["…"] if len(names) > 12 else [])
    return f"the graph has a cycle: {' -> '.join([*listed, shown(names[0])])}"


def shown(name: Any, most: int = 60) -> str:
    """A name from a file as it may stand in an error: one line, not too long, printable.

    Examples
    --------
    >>> shown(b"caf\\xc3\\xa9"), shown(7), shown("two" + chr(10) + "lines")
    ('café', '7', 'two\\\\nlines')
    """
    text = name[:most].decode("utf-8", errors="backslashreplace") if isinstance(name, bytes) else str(name)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def whole(field: bytes | str, what: str, file: str, line: int, below: int | None = None) -> int:
    """The whole number that a field is; FormatError says what it should have been.

    Parameters
    ----------
    field : bytes or str
    what : str
        What it stands for, such as ``"node"``.
    file, line
    below : int, optional
        Numbers from here on are out of range.
    """
    digits = field.isdigit() and (isinstance(field, bytes) or field.isascii())
    if not digits or len(field) > 18:
        raise FormatError(file, f"'{shown(field)}' is no {what}: a whole number of at least 0 is", line)
    number = int(field)
    if below is not None and number >= below:
        raise FormatError(
            file, f"{what} {number} is out of range, the file says they go from 0 to {below - 1}", line
        )
    return number


def checked_weight(number: int, who: str, file: str, line: int | None) -> int:
    """`number` if it can be the words of a vertex, else FormatError."""
    if not 1 <= number < _LARGEST:
        raise FormatError(
            file, f"{who} weighs {number} words: weights are whole numbers from 1 to 10^18", line
        )
    return number


def numbered_lines(data: bytes, comment: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The fields of every line that has some, with its number; `comment` hides the rest of a line."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if comment in line:
            line = line[: line.index(comment)]
        fields = line.split()
        if fields:
            yield number, fields


def labels_of_names(
    names: NameTable, order: NDArray[Any] | None = None
) -> tuple[PackedLabels | None, NDArray[np.int64] | None]:
    """Labels of vertices that are named in a format where all names are text.

    If every name is an integer the labels are integers, else all are strings. Names that are 0, 1, …, N-1 in
    any order are the vertex numbers themselves.

    Parameters
    ----------
    names : NameTable
        Nothing may be added to it, or asked of it, afterwards.
    order : ndarray of integers, optional
        The vertices as places in the table; by default those of the table itself.

    Returns
    -------
    labels : PackedLabels, or None if they are the vertex numbers
    renumber : ndarray of int64, or None
        The vertex number of each name, where that is not its position.

    Examples
    --------
    >>> table = NameTable()
    >>> table.ids([b"b", b"1"]).tolist(), labels_of_names(table)
    ([0, 1], (('b', '1'), None))
    >>> table = NameTable()
    >>> table.ids([b"1", b"0"]).tolist(), labels_of_names(table)
    ([0, 1], (None, array([1, 0])))
    """
    texts = names.drop_index()
    numbers = _integers(texts)
    if numbers is None:
        labels = texts.labels()
        return labels if order is None or _ascends(order) else labels.take(order), None
    ids = numbers if order is None else numbers[order]
    n = len(ids)
    if n and int(ids.min()) == 0 and int(ids.max()) == n - 1:
        there = np.zeros(n, dtype=np.bool_)
        there[ids] = True
        if there.all():
            return None, None if (ids == np.arange(n)).all() else ids
    return IntegerLabels(ids), None


def _ascends(order: NDArray[Any]) -> bool:
    return bool((order[1:] > order[:-1]).all())


def _integers(texts: Texts) -> NDArray[np.int64] | None:
    """The numbers that the texts are, if all are integers as Python writes them."""
    numbers = array("q")
    for i in range(len(texts)):
        name = texts[i]
        if _INTEGER_NAME.match(name) is None:
            return None
        numbers.append(int(name))
    return np.frombuffer(numbers, dtype=np.int64) if numbers else np.empty(0, dtype=np.int64)


def edge_rows(cdag: CDAG, by_source: bool = False) -> Iterator[tuple[int, int]]:
    """The edges (predecessor, vertex) by vertex and operand order, or by predecessor, as Python integers."""
    if by_source:
        indptr, targets = cdag.successors
        owners: NDArray[Any] = np.repeat(np.arange(cdag.num_vertices), np.diff(indptr))
        first, second = owners, targets
    else:
        owners = np.repeat(np.arange(cdag.num_vertices), np.diff(cdag.indptr))
        first, second = cdag.indices, owners
    for lo in range(0, len(owners), _ROWS_PER_BLOCK):
        hi = lo + _ROWS_PER_BLOCK
        yield from zip(first[lo:hi].tolist(), second[lo:hi].tolist(), strict=True)
