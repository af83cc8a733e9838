"""Labels of large graphs, packed: a few bytes each where a tuple of Python objects takes a hundred."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["IntegerLabels", "PackedLabels", "TextLabels", "tuples_of_lists"]

_PER_BLOCK = 1 << 12
# Bytes of a block from which its texts are copied one by one.
_LONG_BLOCK = 1 << 18


class PackedLabels(Sequence[Hashable]):
    """A read-only sequence that compares, hashes and shows like the tuple of its items.

    Items are made when they are asked for, in O(1); a slice is a tuple.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _items(self, start: int, stop: int) -> Sequence[Hashable]:
        """The items from `start` to `stop`, both in range."""

    @abstractmethod
    def take(self, ids: NDArray[Any]) -> PackedLabels:
        """The labels of these vertices, in their order; O(size of the result)."""

    @overload
    def __getitem__(self, place: int) -> Hashable: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, place: int | slice) -> Hashable | tuple[Hashable, ...]:
        places = range(len(self))[place]
        if isinstance(places, range):
            return tuple(self._items(i, i + 1)[0] for i in places)
        return self._items(places, places + 1)[0]

    def __iter__(self) -> Iterator[Hashable]:
        count = len(self)
        for start in range(0, count, _PER_BLOCK):
            yield from self._items(start, min(start + _PER_BLOCK, count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | PackedLabels):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class IntegerLabels(PackedLabels):
    """Labels that are whole numbers.

    Parameters
    ----------
    numbers : ndarray of int64
        Kept as an attribute.

    Examples
    --------
    >>> labels = IntegerLabels(np.array([7, -3]))
    >>> labels[1], labels == (7, -3), labels
    (-3, True, (7, -3))
    """

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def _items(self, start: int, stop: int) -> Sequence[Hashable]:
        items: list[Hashable] = self.numbers[start:stop].tolist()
        return items

    def take(self, ids: NDArray[Any]) -> IntegerLabels:
        return IntegerLabels(self.numbers[ids])


class TextLabels(PackedLabels):
    """Labels in one text, either strings or any labels as JSON.

    Parameters
    ----------
    text : bytes or bytearray
        The labels in UTF-8 (surrogates alone encoded too), one right after the other. Not copied.
    ends : ndarray of integers, shape (number of labels + 1,)
        Label v is ``text[ends[v]:ends[v + 1]]``.
    as_json : bool
        Whether the texts are JSON; lists are then tuples.

    Examples
    --------
    >>> TextLabels(b"acafe", np.array([0, 1, 5]))
    ('a', 'cafe')
    >>> TextLabels(b'1"1"[1]', np.array([0, 1, 4, 7]), as_json=True)
    (1, '1', (1,))
    """

    def __init__(self, text: bytes | bytearray, ends: NDArray[Any], as_json: bool = False) -> None:
        self._text = text
        self._ends = ends
        self._as_json = as_json

    def __len__(self) -> int:
        return len(self._ends) - 1

    def _items(self, start: int, stop: int) -> Sequence[Hashable]:
        text, ends = self._text, self._ends[start : stop + 1].tolist()
        texts = [text[lo:hi].decode("utf-8", "surrogatepass") for lo, hi in pairwise(ends)]
        return [tuples_of_lists(json.loads(one)) for one in texts] if self._as_json else texts

    def take(self, ids: NDArray[Any]) -> TextLabels:
        text = bytearray()
        sizes = np.diff(self._ends)[ids]
        ends = np.zeros(len(ids) + 1, dtype=self._ends.dtype)
        np.cumsum(sizes, out=ends[1:])
        held = np.frombuffer(self._text, dtype=np.uint8)
        for start in range(0, len(ids), _PER_BLOCK):
            first = self._ends[ids[start : start + _PER_BLOCK]].astype(np.int64)
            size = sizes[start : start + _PER_BLOCK].astype(np.int64)
            if int(size.sum()) > _LONG_BLOCK:
                for lo, hi in zip(first.tolist(), (first + size).tolist(), strict=True):
                    text += self._text[lo:hi]
                continue
            # The place of every byte of the block.
            stops = np.cumsum(size)
            text += held[np.repeat(first - stops + size, size) + np.arange(int(size.sum()))].tobytes()
        return TextLabels(text, ends, self._as_json)


def tuples_of_lists(value: Any) -> Any:
    """A JSON value with tuples for its lists: the label that JSON made a list of."""
    return tuple(map(tuples_of_lists, value)) if isinstance(value, list) else value
