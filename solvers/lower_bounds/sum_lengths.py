"""How many sums there are of each number of terms: what bounds on sums need to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["SumLengths"]


@dataclass(frozen=True, eq=False)
class SumLengths:
    """Sums by their numbers of terms.

    Attributes
    ----------
    terms : ndarray of int64
        Numbers of terms, in ascending order, each once.
    sums : ndarray of int64
        How many sums have so many terms.

    Examples
    --------
    >>> lengths = SumLengths.of({5: 2, 3: 1})
    >>> lengths.products, lengths.longest, lengths.shortest
    (13, 5, 3)
    """

    terms: NDArray[np.int64]
    sums: NDArray[np.int64]

    @classmethod
    def of(cls, lengths: Mapping[int, int] | SumLengths) -> SumLengths:
        """From a mapping of numbers of terms to numbers of sums."""
        if isinstance(lengths, SumLengths):
            return lengths
        terms = sorted(lengths)
        return cls(np.array(terms, dtype=np.int64), np.array([lengths[t] for t in terms], dtype=np.int64))

    @classmethod
    def together(cls, *parts: tuple[NDArray[np.int64], NDArray[np.int64]]) -> SumLengths:
        """From several pairs of numbers of terms and numbers of sums.

        Examples
        --------
        >>> both = SumLengths.together((np.array([1, 4]), np.array([2, 3])), (np.array([4]), np.array([5])))
        >>> both.terms.tolist(), both.sums.tolist()
        ([1, 4], [2, 8])
        """
        terms, place = np.unique(np.concatenate([terms for terms, _ in parts]), return_inverse=True)
        sums = np.zeros(len(terms), dtype=np.int64)
        np.add.at(sums, place, np.concatenate([sums for _, sums in parts]))
        return cls(terms, sums)

    @property
    def products(self) -> int:
        """Terms of all sums."""
        return int(self.terms @ self.sums)

    @property
    def longest(self) -> int:
        """The largest number of terms; 0 if there are no sums."""
        return int(self.terms[-1]) if len(self.terms) else 0

    @property
    def shortest(self) -> int:
        """The least number of terms; 0 if there are no sums."""
        return int(self.terms[0]) if len(self.terms) else 0

    def beyond(self, c: NDArray[np.int64]) -> NDArray[np.int64]:
        """Terms of all sums after their first c, for each c.

        Examples
        --------
        >>> SumLengths.of({5: 2, 3: 1}).beyond(np.array([0, 3, 4, 9])).tolist()
        [13, 4, 2, 0]
        """
        many, long = self._from_each_on
        at = np.searchsorted(self.terms, c, side="right")
        return np.asarray(long[at] - many[at] * c)

    @cached_property
    def _from_each_on(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sums, and their terms, from each length on."""
        many = np.concatenate((np.cumsum(self.sums[::-1])[::-1], [0]))
        long = np.concatenate((np.cumsum((self.sums * self.terms)[::-1])[::-1], [0]))
        return many, long
