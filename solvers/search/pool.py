"""The next layer of a search while it grows: states in order of arrival, and the hash tables over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.search.problem import table_size
from solvers.search.records import Growing

__all__ = ["Pool"]


class Pool:
    """Arrays of the states and groups of one layer.

    Parameters
    ----------
    words : int
        Machine words per set.
    room, groups_room : int
        States and groups for which there is room.
    origins : bool
        Whether states remember their parent's group.
    """

    def __init__(self, words: int, room: int, groups_room: int, *, origins: bool) -> None:
        self.words, self.room, self.groups_room = words, room, groups_room
        self.origins = origins
        self.groups = np.empty((groups_room, words), np.uint64)
        self.group = np.empty(room, np.int32)
        self.arrays: dict[str, NDArray[Any]] = {
            "first": np.empty((room, words), np.uint64),
            "second": np.empty((room, words), np.uint64),
            "evicted": np.empty((room, words), np.uint64),
            "cost": np.empty(room, np.int32),
            "origin": np.empty(room if origins else 0, np.int32),
            "parent": np.empty(room, np.int32),
            "vertex": np.empty(room, np.int16),
        }
        self.group_table = np.full(table_size(groups_room), -1, np.int32)
        self.state_table = np.full(table_size(room), -1, np.int32)

    @property
    def record(self) -> Growing:
        """The arrays in the kernels' form."""
        return Growing(self.groups, self.group, self.group_table, self.state_table, **self.arrays)

    def layer(self, states: int, groups: int, order: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The arrays of all states in the order given, and the groups' sets."""
        kept = {name: array[:states][order] for name, array in self.arrays.items() if len(array)}
        return {"sets": self.groups[:groups].copy()} | kept

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
            origins=self.origins,
        )
        bigger.groups[:groups] = self.groups[:groups]
        bigger.group[:states] = self.group[:states]
        for name, array in self.arrays.items():
            bigger.arrays[name][: min(states, len(array))] = array[:states]
        first, second = bigger.arrays["first"], bigger.arrays["second"]
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
