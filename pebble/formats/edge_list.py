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

import io
import re
from array import array
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.annotations import Annotations, annotation_lines
from pebble.formats.assembling import ROOM, assemble, edge_rows, shown
from pebble.formats.names import NameTable, Texts
from pebble.labels import IntegerLabels, PackedLabels

__all__ = ["Named", "edge_list_lines", "parse_edge_list", "plain_names"]

_HEADER = re.compile(rb"#\s*vertices\s*[:=]?\s*(\d+)\s*\Z")
# One word behind `vertices` that begins like a number: no remark, but a header that is damaged.
_DAMAGED = re.compile(rb"#\s*vertices\s*[:=]?\s*[-+.]?\d\S*\s*\Z")
_NUMBER = re.compile(rb"\d{1,18}\Z")
# Names, or numbers, that are looked up or replaced at once.
_NAMES_PER_BLOCK = 1 << 15
# Of large files so many more, which is quicker: one per so many bytes.
_BYTES_PER_NAME = 384


class Named:
    """Vertices by name, edges between them: what edge lists and tables have in common.

    While all names are numbers nothing but the numbers is kept.

    Parameters
    ----------
    numeric : bool
        Whether all names are expected to be numbers; `add` and `alone` return False at the first that is not.
    size : int
        Bytes of the file.
    """

    def __init__(self, numeric: bool, size: int) -> None:
        self.numeric = numeric
        self._most = max(_NAMES_PER_BLOCK, size // _BYTES_PER_NAME)
        self.ends = array("i")
        self.single = array("i")
        self._table = NameTable()
        self.texts = self._table.texts  # of names that are no numbers, as they were met
        # Names since the last settling, numbered from 0 where they are new: see `_settle`.
        self._index: dict[bytes, int] = {}
        self._settled = [0, 0]

    def add(self, u: bytes, v: bytes) -> bool:
        """Append an edge."""
        if not self.numeric:
            index = self._index
            self.ends.append(index.setdefault(u, len(index)))
            self.ends.append(index.setdefault(v, len(index)))
            if len(index) >= self._most:
                self._settle()
            return True
        if not (u.isdigit() and v.isdigit() and len(u) < 19 and len(v) < 19):
            return False
        try:
            self.ends.append(int(u))
            self.ends.append(int(v))
        except OverflowError:
            self._widen(len(self.ends) // 2 * 2)
            self.ends.extend((int(u), int(v)))
        return True

    def alone(self, name: bytes) -> bool:
        """Name a vertex."""
        if not self.numeric:
            self.single.append(self._index.setdefault(name, len(self._index)))
            if len(self._index) >= self._most:
                self._settle()
            return True
        if not _NUMBER.match(name):
            return False
        try:
            self.single.append(int(name))
        except OverflowError:
            self._widen(len(self.ends))
            self.single.append(int(name))
        return True

    def __bool__(self) -> bool:
        return bool(self.ends or self.single)

    def _widen(self, whole: int) -> None:
        """Go on with numbers of eight bytes, after the ends of so many whole edges."""
        self.ends = array("q", self.ends[:whole])
        self.single = array("q", self.single)

    def _settle(self) -> None:
        """Look the names since the last time up in the table, all at once, and put their numbers in place."""
        if not self._index:
            return
        ids = self._table.ids(list(self._index))
        self._index.clear()
        for i, numbers in enumerate((self.ends, self.single)):
            flat = np.frombuffer(numbers, dtype=numbers.typecode) if numbers else np.empty(0, dtype=np.int32)
            flat[self._settled[i] :] = ids[flat[self._settled[i] :]]
            self._settled[i] = len(flat)

    def finish(self) -> tuple[int, PackedLabels | None, NDArray[Any], NDArray[Any]]:
        """What has been read; nothing may be added afterwards.

        Returns
        -------
        vertices : int
        labels : PackedLabels or None
            Their names, unless they are 0, 1, …; strings may hold what is no UTF-8.
        pairs : ndarray, shape (edges, 2)
        alone : ndarray of int64
            The vertices that were named alone, in that order.
        """
        if self.numeric:
            return self._numbered()
        self._settle()
        ends, single = _view(self.ends), _view(self.single)
        count = len(self._table)
        labels = self._table.drop_index().labels()
        # The names that stand alone come first: that is how labelled graphs are written.
        others = np.ones(count, dtype=np.bool_)
        others[single] = False
        if not (single[1:] > single[:-1]).all():
            _, first = np.unique(single, return_index=True)
            distinct = single[np.sort(first)]
        else:
            distinct = single
        renumber = np.empty(count, dtype=single.dtype)
        renumber[distinct] = np.arange(len(distinct), dtype=single.dtype)
        renumber[others] = np.arange(len(distinct), count, dtype=single.dtype)
        if not (renumber[1:] > renumber[:-1]).all():
            order = np.empty_like(renumber)
            order[renumber] = np.arange(count, dtype=single.dtype)
            labels = labels.take(order)
            _rename(ends, renumber)
            _rename(single, renumber)
        return count, labels, ends.reshape(-1, 2), single

    def _numbered(self) -> tuple[int, PackedLabels | None, NDArray[Any], NDArray[Any]]:
        ends, single = _view(self.ends), _view(self.single)
        largest = max((int(part.max()) for part in (ends, single) if len(part)), default=-1)
        if largest <= len(ends) + len(single):
            # Mostly the names are 0, 1, …, N-1 or nearly so, which a mask tells without sorting them.
            named = np.zeros(largest + 1, dtype=np.bool_)
            named[ends] = named[single] = True
            if named.all():
                return largest + 1, None, ends.reshape(-1, 2), single
            distinct = np.flatnonzero(named)
            rank = np.cumsum(named, dtype=np.int32 if largest < 2**31 else np.int64)
            for ids in (ends, single):
                _rename(ids, rank)
                ids -= 1
        else:
            distinct = np.unique(np.concatenate((np.unique(ends), np.unique(single))))
            for ids in (ends, single):
                for lo in range(0, len(ids), _NAMES_PER_BLOCK):
                    block = ids[lo : lo + _NAMES_PER_BLOCK]
                    block[:] = np.searchsorted(distinct, block)
        plain = not len(distinct) or int(distinct[-1]) == len(distinct) - 1
        labels = None if plain else IntegerLabels(distinct.astype(np.int64))
        return len(distinct), labels, ends.reshape(-1, 2), single


def _view(numbers: array[int]) -> NDArray[Any]:
    """The numbers as an array, in the same memory."""
    dtype = np.dtype(numbers.typecode)
    return np.frombuffer(numbers, dtype=dtype) if numbers else np.empty(0, dtype=dtype)


def _rename(ids: NDArray[Any], number: NDArray[Any]) -> None:
    """Put ``number[v]`` where v stands, block by block."""
    for lo in range(0, len(ids), _NAMES_PER_BLOCK):
        block = ids[lo : lo + _NAMES_PER_BLOCK]
        block[:] = number[block]


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
    O(size of the file + |V| + |E| log |E|), about 1.5 s per million lines.

    Examples
    --------
    >>> parse_edge_list(b"a b\\nb c\\n", "example").labels
    ('a', 'b', 'c')
    """
    declared, notes = _comments(data, file)
    named = _read(data, file, Named(True, len(data)), declared)
    if named is None:
        named = _read(data, file, Named(False, len(data)), declared)
        assert named is not None
    if not named and declared is None:
        raise FormatError(file, "the file holds no vertices: write one edge 'u v' per line")
    labels: Sequence[Hashable] | None = None
    if declared is None:
        vertices, labels, pairs, _ = named.finish()
        if labels is not None and not data.isascii():
            _check_names(named.texts, data, file)
    else:
        vertices, pairs = declared, _view(named.ends).reshape(-1, 2)
    noted = notes.labels(vertices)
    return assemble(
        file,
        vertices,
        pairs,
        labels=labels if noted is None else noted,
        weights=notes.weights(vertices),
        outputs=notes.outputs(vertices),
        line_of=lambda edge: next(islice(_edge_lines(data), edge, None)),
    )


def edge_list_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph's edge list; `parse_edge_list` gives the same graph back.

    Raises
    ------
    FormatError
        A label is no string, number, tuple of them or None.

    Examples
    --------
    >>> print(*edge_list_lines(CDAG.from_edges(3, [(0, 2), (1, 2)]), "example"), sep="", end="")
    # vertices 3
    0 2
    1 2
    """
    names = None if cdag.labels is None else plain_names(cdag.labels, _SPECIAL)
    if names is None:
        yield f"# vertices {cdag.num_vertices}\n"
        yield from annotation_lines(cdag, file, "#")
        for u, v in edge_rows(cdag):
            yield f"{u} {v}\n"
        return
    yield from annotation_lines(cdag, file, "#", labels=False)
    # Named first, in order, so that the ids are the same when read back.
    for name in names:
        yield f"{name}\n"
    for u, v in edge_rows(cdag):
        yield f"{names[u]} {names[v]}\n"


def plain_names(labels: Sequence[Hashable], special: str) -> list[str] | None:
    """The labels as names, if reading them gives the same labels in the same order; else None.

    Parameters
    ----------
    labels : sequence of hashable
    special : str
        Characters that a name must not hold.
    """
    kind = int if all(type(label) is int for label in labels) else str
    names = [str(label) for label in labels]
    if kind is str:
        for label, name in zip(labels, names, strict=True):
            free = name.isprintable() and not set(name) & set(special) and name[:1] not in _STARTS
            if type(label) is not str or not free or name.split() != [name]:
                return None
        if all(name.isdigit() for name in names) or len(set(names)) < len(names):
            return None
        # A first line such as this would be taken for another format.
        return None if names[0].lower() in ("digraph", "graph", "strict") else names
    good = all(map(_NUMBER.match, (name.encode() for name in names)))
    return names if good and all(int(a) < int(b) for a, b in pairwise(names)) else None


_STARTS = ("", "{", "[", "<", "%", "\ufeff")
# What would make a line look like another format's.
_SPECIAL = ' #",;:=('


def _comments(data: bytes, file: str) -> tuple[int | None, Annotations]:
    """The number of vertices in the header, and the annotations."""
    declared: int | None = None
    notes = Annotations(file)
    if b"#" not in data:
        return declared, notes
    for number, line in enumerate(io.BytesIO(data), 1):
        if b"#" not in line:
            continue
        text = line.strip()
        header = _HEADER.match(text)
        if header is not None:
            if declared is not None:
                raise FormatError(file, "the number of vertices is given twice", number)
            declared = _vertex_count(header[1], len(data), file, number)
        elif _DAMAGED.match(text):
            raise FormatError(file, f"'{shown(text)}' is no number of vertices", number)
        elif text.startswith(b"#"):
            notes.see(text[1:].strip(), number)
    return declared, notes


def _vertex_count(digits: bytes, size: int, file: str, line: int) -> int:
    if len(digits) > 18 or int(digits) > max(ROOM, size):
        raise FormatError(
            file,
            f"{shown(digits)} vertices are declared, the file has {size} bytes: isolated ones cost nothing",
            line,
        )
    if not int(digits):
        raise FormatError(file, "the file holds no vertices: its header counts none", line)
    return int(digits)


def _read(data: bytes, file: str, named: Named, declared: int | None) -> Named | None:
    """Fill `named` from the lines; None if a name is no number though all were expected to be."""
    for number, line in enumerate(io.BytesIO(data), 1):
        fields = line.split()
        if b"#" in line:
            fields = line[: line.index(b"#")].split()
        if len(fields) == 3 and fields[2] == b"{}":
            del fields[2]
        if len(fields) == 2:
            good = named.add(fields[0], fields[1])
        elif len(fields) == 1:
            good = named.alone(fields[0])
        elif not fields:
            continue
        else:
            raise FormatError(file, _not_an_edge(fields, line), number)
        if not good:
            if declared is None:
                return None
            bad = next(name for name in fields if not _NUMBER.match(name))
            raise FormatError(
                file, f"'{shown(bad)}' is no vertex number, and the header counts vertices", number
            )
        if declared is not None:
            largest = max(map(int, fields))
            if largest >= declared:
                raise FormatError(
                    file,
                    f"vertex {largest} is out of range, the header says ids go from 0 to {declared - 1}",
                    number,
                )
    return named


def _edge_lines(data: bytes) -> Iterator[int]:
    """The line of each edge in turn; an error's second look at the file."""
    for number, line in enumerate(io.BytesIO(data), 1):
        fields = (line[: line.index(b"#")] if b"#" in line else line).split()
        if len(fields) > 1:
            yield number


def _check_names(names: Texts, data: bytes, file: str) -> None:
    """FormatError if a name is no UTF-8 text."""
    for i in range(len(names)):
        name = bytes(names[i])
        try:
            name.decode("utf-8")
        except UnicodeDecodeError:
            lines = enumerate(io.BytesIO(data), 1)
            where = next((number for number, line in lines if name in line.split()), None)
            raise FormatError(file, f"the name '{shown(name)}' is no UTF-8 text", where) from None


def _not_an_edge(fields: list[bytes], line: bytes) -> str:
    text = shown(line.strip())
    return f"'{text}' has {len(fields)} fields: write one edge 'u v' per line, comments after #"
