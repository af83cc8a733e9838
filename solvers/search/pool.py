"""The next layer of a search while it grows: states in order of arrival, and the hash tables over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pool", "table_size"]


def table_size(entries: int) -> int:
    """Slots of a hash table for so many entries: a power of two, at most half full."""
    return 1 << max(4, (2 * entries - 1).bit_length())


class Pool:
    """Arrays of the states and groups of one layer.

    Parameters
    ----------
    words : int
        Machine words per set.
    room, groups_room : int
        States and groups for which there is room.
    sets : tuple of str
        Names of the state's two sets, and of further arrays of sets.
    numbers : mapping of str to dtype
        Further arrays.
    """

    def __init__(
        self, words: int, room: int, groups_room: int, sets: tuple[str, ...], numbers: dict[str, Any]
    ) -> None:
        self.words, self.room, self.groups_room = words, room, groups_room
        self._sets, self._numbers = sets, numbers
        self.groups = np.empty((groups_room, words), np.uint64)
        self.group = np.empty(room, np.int32)
        self.arrays: dict[str, NDArray[Any]] = {name: np.empty((room, words), np.uint64) for name in sets}
        self.arrays |= {name: np.empty(room, kind) for name, kind in numbers.items()}
        self.group_table = np.full(table_size(groups_room), -1, np.int32)
        self.state_table = np.full(table_size(room), -1, np.int32)

    @property
    def bytes_used(self) -> int:
        """Bytes of all arrays."""
        tables = self.group_table.nbytes + self.state_table.nbytes
        own = self.groups.nbytes + self.group.nbytes
        return tables + own + sum(array.nbytes for array in self.arrays.values())

    def grown(self, states: int, groups: int, zero: Any) -> Pool:
        """A pool with twice the room for what has run out, holding the same; MemoryError if there is none."""
        from solvers.search import table_kernels

        full_states = states + 2 > self.room
        bigger = Pool(
            self.words,
            self.room * 2 if full_states else self.room,
            self.groups_room if full_states else self.groups_room * 2,
            self._sets,
            self._numbers,
        )
        bigger.groups[:groups] = self.groups[:groups]
        bigger.group[:states] = self.group[:states]
        for name, array in self.arrays.items():
            bigger.arrays[name][:states] = array[:states]
        first, second = (bigger.arrays[name] for name in self._sets[:2])
        table_kernels.rehash(
            bigger.group_table,
            bigger.state_table,
            bigger.groups,
            bigger.group,
            first,
            second,
            groups,
            states,
            zero,
        )
        return bigger
