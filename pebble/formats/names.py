"""Names and texts of many vertices in a few bytes each, as readers collect them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.labels import TextLabels

__all__ = ["Column", "NameTable", "Texts", "utf8", "vertices_of"]

_LOW = 0xFFFFFFFF
_FIRST_SLOTS = 1 << 10
_PER_BLOCK = 1 << 16
# Names whose numbers are also in a dictionary, which is quicker: so many, or one per so many bytes of a file.
_RECENT = 1 << 15
_BYTES_PER_RECENT = 160
# Texts that are compared one by one.
_LONG_TEXTS = 1 << 20


class Texts:
    """Texts one after the other: their bytes and four more for each."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.ends = array("I", [0])

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, i: int) -> bytearray:
        return self.text[self.ends[i] : self.ends[i + 1]]

    def append(self, text: bytes | bytearray) -> None:
        """Add one more text."""
        self.text += text
        try:
            self.ends.append(len(self.text))
        except OverflowError:
            self.ends = array("Q", self.ends)
            self.ends.append(len(self.text))

    def extend(self, texts: Sequence[bytes]) -> None:
        """Add several texts."""
        sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        ends = len(self.text) + np.cumsum(sizes)
        self.text += b"".join(texts)
        if len(self.text) >= _LOW and self.ends.typecode == "I":
            # Beyond 4 GB every end takes eight bytes.
            self.ends = array("Q", self.ends)
        self.ends.frombytes(ends.astype(self.ends.typecode).tobytes())

    def equal(self, places: NDArray[np.int64], texts: Sequence[bytes]) -> NDArray[np.bool_]:
        """Which of the texts at some places are those given."""
        sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        if int(sizes.sum()) > _LONG_TEXTS:
            return np.array([self[v] == text for v, text in zip(places.tolist(), texts, strict=True)])
        if not self.text:
            empty: NDArray[np.bool_] = sizes == 0
            return empty
        ends = np.frombuffer(self.ends, dtype=self.ends.typecode)
        first = ends[places].astype(np.int64)
        equal: NDArray[np.bool_] = ends[places + 1] - first == sizes
        # All bytes side by side; where the sizes differ it does not matter what is compared.
        stops = np.cumsum(sizes)
        at = np.repeat(first - (stops - sizes), sizes) + np.arange(int(sizes.sum()))
        held = np.frombuffer(self.text, dtype=np.uint8).take(at, mode="clip")
        differ = np.zeros(len(at) + 1, dtype=np.int64)
        np.cumsum(held != np.frombuffer(b"".join(texts), dtype=np.uint8), out=differ[1:])
        equal &= differ[stops] == differ[stops - sizes]
        return equal

    def labels(self, as_json: bool = False) -> TextLabels:
        """The texts as labels; nothing may be added afterwards."""
        return TextLabels(self.text, np.frombuffer(self.ends, dtype=self.ends.typecode), as_json)


# A text in UTF-8, surrogates that stand alone encoded too.
utf8: Callable[[str], bytes] = methodcaller("encode", "utf-8", "surrogatepass")


class NameTable:
    """Numbers names in the order in which they are first met.

    A table of hashes with linear probing: beside its text a name takes some 16 bytes, where a dictionary of
    Python objects takes 150. `ids` numbers many at a time, which is quicker than `number`.

    Parameters
    ----------
    size : int
        Bytes of the file that the names are from.
    encode : callable, optional
        What makes bytes of the names that `number` is given, different ones of different names; by default
        they are bytes.

    Examples
    --------
    >>> table = NameTable()
    >>> table.number(b"a"), table.number(b"b"), table.number(b"a"), len(table), table.name(1)
    (0, 1, 0, 2, b'b')
    >>> table.ids([b"c", b"a"]).tolist()
    [2, 0]
    >>> NameTable(encode=utf8).number("caf\u00e9")
    0
    """

    def __init__(self, size: int = 0, encode: Callable[[Any], bytes] = bytes) -> None:
        self._encode = encode
        self.texts = Texts()  # of the names in the slots
        self._most = max(_RECENT, size // _BYTES_PER_RECENT)
        self._count = 0
        # Names met lately; those that are new, with their tags, are put into the slots all at once.
        self._recent: dict[Hashable, int] = {}
        self._new: list[bytes] = []
        self._new_tags = array("I")
        # Of every name in the slots 32 bits of its hash.
        self._tags = array("I")
        self._allocate(_FIRST_SLOTS)

    def __len__(self) -> int:
        return self._count

    def number(self, given: Hashable) -> int:
        """The number of a name, a new one if it was never met."""
        recent = self._recent
        v = recent.get(given)
        if v is not None:
            return v
        name = self._encode(given)
        tag = hash(name) & _LOW
        cells, tags, size = self._cells, self._tags, self._size
        at = tag * size >> 32
        while entry := cells[at]:
            if tags[entry - 1] == tag and self.texts[entry - 1] == name:
                v = entry - 1
                break
            at = at + 1 if at + 1 < size else 0
        else:
            v = self._count
            self._count = v + 1
            self._new.append(name)
            self._new_tags.append(tag)
        recent[given] = v
        if len(recent) >= self._most:
            self.settle()
        return v

    def settle(self) -> None:
        """Put the names that are new into the slots; `texts` holds all names then."""
        self._recent.clear()
        if self._new:
            self._add(self._new, np.array(self._new_tags, dtype=np.uint32))
            self._new, self._new_tags = [], array("I")

    def ids(self, names: Sequence[bytes]) -> NDArray[np.int64]:
        """The numbers of names that all differ; those never met are numbered in their order."""
        self.settle()
        tags = _tags_of(names)
        found = np.full(len(names), -1, dtype=np.int64)
        pending = np.arange(len(names))
        at = self._home(tags)
        held = np.frombuffer(self._tags, dtype=np.uint32) if self._tags else np.empty(0, dtype=np.uint32)
        while len(pending):
            entries = self._slots[at[pending]].astype(np.int64)
            pending, candidates = pending[entries != 0], entries[entries != 0] - 1
            alike = held[candidates] == tags[pending]
            places, candidates = pending[alike], candidates[alike]
            same = self.texts.equal(candidates, [names[i] for i in places.tolist()])
            found[places[same]] = candidates[same]
            pending = pending[found[pending] < 0]
            at[pending] = (at[pending] + 1) % self._size
        del held
        new = np.flatnonzero(found < 0)
        found[new] = self._count + np.arange(len(new))
        self._count += len(new)
        self._add([names[i] for i in new.tolist()], tags[new])
        return found

    def name(self, v: int) -> bytes:
        """The name with a number."""
        if v >= len(self.texts):
            self.settle()
        return bytes(self.texts[v])

    def __iter__(self) -> Iterator[bytes]:
        self.settle()
        return (bytes(self.texts[v]) for v in range(self._count))

    def drop_index(self) -> Texts:
        """The names; the table must not be used afterwards, and its memory is free."""
        self.settle()
        self._tags = array("I")
        self._allocate(0)
        return self.texts

    def _add(self, names: Sequence[bytes], tags: NDArray[np.uint32]) -> None:
        """Put names that are not in the slots there, at most half of which are taken."""
        self.texts.extend(names)
        self._tags.frombytes(tags.tobytes())
        size = self._size
        while 2 * len(self.texts) > size:
            # Small tables grow quickly, large ones by no more than they need.
            size += size if size < _PER_BLOCK else size // 2
        first = len(self.texts) - len(names)
        if size > self._size:
            self._allocate(size)
            first = 0
        tags = np.frombuffer(self._tags, dtype=np.uint32)
        for lo in range(first, len(tags), _PER_BLOCK):
            block = tags[lo : lo + _PER_BLOCK]
            self._insert(np.arange(lo + 1, lo + len(block) + 1, dtype=np.uint32), self._home(block))

    def _allocate(self, size: int) -> None:
        # A slot is 0 while it is free, else a name's number plus 1.
        self._cells: memoryview[int] = memoryview(b"")
        self._slots: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        # Only now, when the old ones are free.
        self._slots = np.zeros(size, dtype=np.uint32)
        self._cells = memoryview(self._slots)  # type: ignore[arg-type]
        self._size = size

    def _home(self, tags: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The slot from which a name is looked for."""
        return (tags.astype(np.uint64) * np.uint64(self._size) >> np.uint64(32)).astype(np.int64)

    def _insert(self, entries: NDArray[np.uint32], at: NDArray[np.int64]) -> None:
        """Put entries that are not in the slots there, each in the first free slot from its own."""
        slots = self._slots
        while len(entries):
            free = slots[at] == 0
            # Of several that want one slot the last gets it.
            slots[at[free]] = entries[free]
            waiting = slots[at] != entries
            entries, at = entries[waiting], (at[waiting] + 1) % self._size


def _tags_of(names: Sequence[bytes]) -> NDArray[np.uint32]:
    """Of every name 32 bits of its hash."""
    return np.fromiter(map(hash, names), dtype=np.int64, count=len(names)).astype(np.uint32)


def vertices_of(columns: Iterable[Column], count: int, others: array[int] | None = None) -> Iterator[int]:
    """The vertices, of `count` in all, with a text in some column or a number other than 0 in `others`."""
    has = np.zeros(count, dtype=np.bool_)
    if others:
        has[: len(others)] = np.frombuffer(others, dtype=np.uint32) != 0
    for column in columns:
        if column:
            has[column.vertices] = True
    return map(int, np.flatnonzero(has))


class Column:
    """What some vertices have, one text and one line each.

    Attributes
    ----------
    texts : Texts
        In the order in which they were given, in UTF-8.
    """

    def __init__(self) -> None:
        self._place = array("I")  # by vertex: 1 more than the place of its text, 0 if it has none
        self.texts = Texts()
        self._lines = array("I")
        self._vertices = array("I")

    def __len__(self) -> int:
        return len(self._vertices)

    def __bool__(self) -> bool:
        return bool(self._vertices)

    def get(self, v: int) -> str | None:
        """The text of a vertex, if it has one."""
        place = self._place[v] if v < len(self._place) else 0
        return self.texts[place - 1].decode("utf-8", "surrogatepass") if place else None

    def line(self, v: int) -> int:
        """The line of a vertex's text, 0 if it has none."""
        place = self._place[v] if v < len(self._place) else 0
        return self._lines[place - 1] if place else 0

    @property
    def vertices(self) -> NDArray[np.uint32]:
        """The vertices that have a text, in the order in which they got it."""
        return np.array(self._vertices, dtype=np.uint32)

    def put(self, v: int, text: str, line: int) -> None:
        """Give a vertex that has none its text."""
        if v >= len(self._place):
            self._place.frombytes(bytes(4 * (v + 1 - len(self._place))))
        self.texts.append(utf8(text))
        self._lines.append(line)
        self._vertices.append(v)
        self._place[v] = len(self._vertices)

    def __iter__(self) -> Iterator[tuple[int, str, int]]:
        """Vertex, text and line, in the order in which they were given."""
        for i, v in enumerate(self._vertices):
            yield v, self.texts[i].decode("utf-8", "surrogatepass"), self._lines[i]
