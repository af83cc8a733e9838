"""Loops in loops: an order of computes as a nest of loops over blocks, and the search for good blocks.

A family places its computes in a space in which no coordinate of an operand is above that of its result, so
that blocks of blocks, in ascending order, are a topological order whatever their sizes (supernodes: Irigoin &
Triolet 1988; recursive blocks: Frigo, Leiserson, Prokop & Ramachandran 1999).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from strategies.tiles.tuning import distinct_blocks

__all__ = ["Budget", "Choice", "Loop", "Search", "Space", "block_sizes", "nest_keys"]

_LARGEST_KEY = 1 << 62


class Loop(NamedTuple):
    """A loop over blocks of an axis, inside the block that the loops around it have chosen.

    Attributes
    ----------
    axis : str
    block : int
        Coordinates per iteration.
    turns : bool
        Whether every second run of the loop goes backwards, so that what was used last is used first.
    """

    axis: str
    block: int
    turns: bool = False


def nest_keys(
    axes: Mapping[str, NDArray[np.int64]], loops: Sequence[Loop]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    """Numbers that sort points into the order of a nest of loops, outermost first.

    Parameters
    ----------
    axes : mapping of str to ndarray of int64
        Coordinates of at least 0, one per point.
    loops : sequence of Loop

    Returns
    -------
    (ndarray of int64, dict of str to ndarray of int64)
        And the coordinates inside the innermost block, for loops that only some of the points have.

    Examples
    --------
    >>> keys, _ = nest_keys({"x": np.arange(6)}, [Loop("x", 3), Loop("x", 2, turns=True)])
    >>> np.argsort(keys, kind="stable").tolist()
    [0, 1, 2, 5, 3, 4]
    """
    rest = dict(axes)
    keys = np.zeros(len(next(iter(axes.values()))), dtype=np.int64)
    radix, around = 1, keys
    for axis, block, turns in loops:
        index = rest[axis] // block
        rest[axis] = rest[axis] - index * block
        number = int(index.max(initial=0)) + 1
        if turns:
            index = np.where(around & 1, number - 1 - index, index)
        if radix * number > _LARGEST_KEY:
            values, keys = np.unique(keys, return_inverse=True)
            radix = len(values)
        keys = keys * number + index
        radix *= number
        around = index
    return keys, rest


def block_sizes(extent: int) -> list[int]:
    """The block sizes worth trying for an axis: one for each number of blocks, ascending."""
    return [int(size) for size in distinct_blocks(max(1, extent))]


Choice = dict[str, int]
"""A value for every name of a space: mostly block sizes, else the number of an alternative."""


@dataclass(frozen=True)
class Space:
    """The nests of one graph.

    Attributes
    ----------
    values : mapping of str to sequence of int
        What each name may be, ascending.
    starts : sequence of Choice
        Where to begin.
    order : callable
        The order of computes that a choice stands for.
    """

    values: Mapping[str, Sequence[int]]
    starts: Sequence[Choice]
    order: Callable[[Choice], NDArray[np.int64]]

    def near(self, choice: Choice, name: str, steps: Sequence[int]) -> list[Choice]:
        """The choices that differ in one name, by so many places among its values."""
        values = self.values[name]
        here = values.index(choice[name])
        places = [here + step for step in steps if 0 <= here + step < len(values)]
        return [{**choice, name: values[place]} for place in places]


_STEPS = (1, -1, 2, -2, 4, -4)
# A search that is stuck goes on from the best with so many names drawn anew.
_DRAWN = 3
_DESCENTS = 2
_IDLE = 30


class Budget:
    """How many choices may be priced, and for how long; one may be in any case.

    Parameters
    ----------
    nodes : int or None
    seconds : float or None

    Attributes
    ----------
    until : float
        The share of it that may be spent for now.
    """

    def __init__(self, nodes: int | None, seconds: float | None) -> None:
        self.until = 1.0
        self.priced = 0
        self._nodes = nodes
        self._seconds = seconds
        self._start = time.monotonic()

    @property
    def spent(self) -> float:
        """The share that is spent."""
        spent = 0.0
        if self._nodes is not None:
            spent = self.priced / max(1, self._nodes)
        if self._seconds is not None:
            spent = max(spent, (time.monotonic() - self._start) / max(1e-9, self._seconds))
        return spent

    def __bool__(self) -> bool:
        return self.priced == 0 or self.spent < self.until


class Search:
    """The cheapest choice of a space, by coordinate descent from several starts.

    Each name in turn takes a neighbouring value as long as that is cheaper, then pairs of names move against
    each other (one block larger, another smaller), until nothing helps.

    Parameters
    ----------
    space : Space
    price : callable
        Total cost of the order that a choice stands for.
    budget : Budget
    seed : int
        Of what is drawn.

    Attributes
    ----------
    best : Choice or None
    least : int
        Its price.
    """

    def __init__(
        self, space: Space, price: Callable[[NDArray[np.int64]], int], budget: Budget, seed: int = 0
    ) -> None:
        self.space = space
        self.best: Choice | None = None
        self.least = 0
        self._price = price
        self._budget = budget
        self._random = random.Random(seed)
        self._known: dict[tuple[int, ...], int] = {}

    def start(self) -> None:
        """Descend from the best starts of the space."""
        priced = [
            (cost, i)
            for i, choice in enumerate(self.space.starts)
            if (cost := self._cost(choice)) is not None
        ]
        for _, i in sorted(priced)[:_DESCENTS]:
            self._descend(self.space.starts[i])

    def go_on(self) -> None:
        """Descend from the best choice with a few values drawn anew, again and again.

        It ends with the budget, or when many draws have led to nothing that was not known.
        """
        idle = 0
        values = self.space.values
        while self.best is not None and self._budget and idle < _IDLE:
            before = len(self._known)
            drawn = self._random.sample(list(values), min(_DRAWN, len(values)))
            self._descend(self.best | {name: self._random.choice(list(values[name])) for name in drawn})
            idle = idle + 1 if len(self._known) == before else 0

    def _cost(self, choice: Choice) -> int | None:
        """The price of a choice, None if there is no budget for it."""
        at = tuple(choice[name] for name in self.space.values)
        if at not in self._known:
            if not self._budget:
                return None
            self._budget.priced += 1
            found = self._known[at] = self._price(self.space.order(choice))
            if self.best is None or found < self.least:
                self.best, self.least = choice, found
        return self._known[at]

    def _descend(self, start: Choice) -> None:
        here, cost = start, self._cost(start)
        if cost is None:
            return
        names = list(self.space.values)
        improved = True
        while improved:
            improved = False
            for name in names:
                while (better := self._first_below(cost, self.space.near(here, name, _STEPS))) is not None:
                    here, cost = better
                    improved = True
            if not improved:
                pairs = (
                    pair
                    for name in names
                    for one in self.space.near(here, name, (1,))
                    for other in names
                    if other != name
                    for pair in self.space.near(one, other, (-1,))
                )
                better = self._first_below(cost, pairs)
                if better is not None:
                    here, cost = better
                    improved = True

    def _first_below(self, cost: int, choices: Iterable[Choice]) -> tuple[Choice, int] | None:
        for choice in choices:
            found = self._cost(choice)
            if found is None:
                return None
            if found < cost:
                return choice, found
        return None
