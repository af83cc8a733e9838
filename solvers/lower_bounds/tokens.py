"""Token arguments: progress bounded by how many words a segment can see, and the bounds that follow.

A segment of a schedule sees at most M words that are red at its start and the words that it loads; if what
it leaves behind is counted too, at most M more that are red at its end and the words that it stores. Each of
them is a *token* for something (an input, a pair, a tree), and T tokens allow at most Φ(T) progress. All
functions here are nondecreasing and are evaluated from above on grids, so that every value is a true upper
bound. docs/bounds.md has the statements and proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.lower_bounds.sum_lengths import SumLengths

__all__ = [
    "Supply",
    "TokenProgress",
    "TokenTable",
    "backward_supply",
    "best_tokens",
    "best_with_restarts",
    "product_supply",
    "rectangle_supply",
]

Supply = Callable[[NDArray[Any]], NDArray[np.float64]]
TokenProgress = tuple[NDArray[np.float64], NDArray[np.float64]]

_GUARD = 1 + 1e-11
_TOKEN_RATIO = 1.01
_SUPPLY_RATIO = 1.005
# Fractions of the tokens that go into the supply; below the first, progress is far from its maximum.
_SHARES = np.concatenate(([0.0], np.linspace(0.3, 1.0, 281)))


def product_supply(u: NDArray[Any]) -> NDArray[np.float64]:
    """u²/4: the largest a·b with a + b = u, of a product whose operands are inputs."""
    return np.asarray(u, dtype=np.float64) ** 2 / 4


@cache
def rectangle_supply(d: int, divisor: int = 27) -> Supply:
    """max(u²/4, u³/(divisor·d²)): one operand a pair, kept or made from whole rows of d words."""

    def supply(u: NDArray[Any]) -> NDArray[np.float64]:
        x = np.asarray(u, dtype=np.float64)
        return np.maximum(x**2 / 4, x**3 / (divisor * float(d) ** 2))

    return supply


@cache
def _row_curve() -> TokenProgress:
    """Grid of ν and upper bounds on c(ν) = max over α of α²(1 − 2α) + 2α·min(α², (1 − 2α)ν) on each cell."""
    nu = np.concatenate((np.arange(0, 1, 0.008), np.geomspace(1, 8, 25), [np.inf]))
    alpha = np.linspace(0, 0.5, 1501)
    low, high = alpha[:-1, None], alpha[1:, None]
    rest = 1 - 2 * low
    pairs = np.minimum(high**2, np.where(rest > 0, rest * nu[None, 1:], high**2))
    return nu, np.asarray((high**2 * rest + 2 * high * pairs).max(axis=0))


@cache
def backward_supply(d: int) -> Supply:
    """H(u) for the three products dV, dQ, dK of attention's backward pass.

    The largest (p + a²/d²)·o + (p + min(a², o·v)/d²)·2a with p + 2a + o + v = u: p pairs kept, 2a words of Q
    and K, o of dO, v of V. With x = o + 2a and v = νx it is the largest (u − (1 + ν)x)·x + c(ν)x³/d².
    """

    def supply(u: NDArray[Any]) -> NDArray[np.float64]:
        nu, c = _row_curve()
        scale = float(d) ** 2
        x = np.asarray(u, dtype=np.float64)[..., None] / scale
        spread = 1 + nu[:-1]
        # Without pairs kept, and the local maximum with some, where there is one.
        ends = c * (x / spread) ** 3
        under = spread**2 - 3 * c * x
        # The smaller root of 3cz² − 2·spread·z + x, without the difference of two nearly equal numbers.
        root = x / (spread + np.sqrt(np.maximum(under, 0)))
        root = np.minimum(root, x / spread)
        inner = np.where(under >= 0, (x - spread * root) * root + c * root**3, 0.0)
        return np.asarray(np.maximum(ends, inner).max(axis=-1) * scale**2 * (1 + 1e-9))

    return supply


class TokenTable:
    """Φ(T) = max over t of √(t·H(T − t)) + restart·H(T − t), from above, on a grid of T.

    Parameters
    ----------
    M : int
        Words of fast memory; the grid goes from M to `span`·M.
    supply : callable
        H, nondecreasing, with H(λu) <= λ²H(u) for 0 <= λ <= 1.
    span : float

    Notes
    -----
    An interval of t is bounded by its larger t and by H at the next point of a finer grid, so the values are
    above the true ones, by less than 1 %.
    """

    def __init__(self, M: int, supply: Supply, span: float = 12.0) -> None:
        count = int(np.log(span) / np.log(_TOKEN_RATIO)) + 1
        self.tokens = np.floor(np.geomspace(M, span * M, count))
        low, high = 0.3 * M, float(self.tokens[-1]) * _SUPPLY_RATIO
        points = low * _SUPPLY_RATIO ** np.arange(int(np.log(high / low) / np.log(_SUPPLY_RATIO)) + 2)
        used = self.tokens[:, None] * _SHARES[None, 1:]
        at = np.ceil(np.log(used / low) / np.log(_SUPPLY_RATIO) - 1e-9).astype(np.int64)
        self._supply = (supply(points) * _GUARD)[np.clip(at, 0, len(points) - 1)]
        self._roots = np.sqrt(self.tokens[:, None] * (1 - _SHARES[None, :-1]) * self._supply)

    def progress(self, restart: float = 0.0, *, singles: bool = False) -> TokenProgress:
        """The grid and Φ on it.

        Parameters
        ----------
        restart : float
            What sums that are begun anew in a segment may add, per unit of supply.
        singles : bool
            Whether a word may be spent on one unit of progress by itself; then Φ(T) is at least T.
        """
        most = (self._roots + restart * self._supply if restart else self._roots).max(axis=1) * _GUARD
        if singles:
            most = np.maximum(most, self.tokens)
        return self.tokens, np.maximum.accumulate(most)


def best_tokens(total: int, M: int, sides: int, progress: TokenProgress) -> tuple[int, int]:
    """The best bound over all segment lengths on the grid.

    Parameters
    ----------
    total : int
        Units of progress that a schedule must make.
    M : int
        Words of fast memory.
    sides : int
        1 if segments are counted in loads and tokens are seen at the start or loaded, T = M + Y; 2 if they
        are counted in I/Os and what is left behind counts too, T = 2M + Y.
    progress : TokenProgress
        Φ on a grid.

    Returns
    -------
    value, Y : int
        I/Os (loads, for one side) that no schedule can stay below, and the segment length.

    Notes
    -----
    Nothing is red at first: a first segment of M + Y makes no more progress than a later one of Y. So with
    h = ⌈total/Φ(T)⌉ >= 2 the I/O is at least M + Y(h − 1), and the last segment needs what is left: at
    least r with Φ(M + r) >= total − (h − 1)Φ(T), since nothing need be left behind at the end.
    """
    tokens, most = progress
    whole = np.floor(most)
    lengths = tokens - sides * M
    usable = lengths >= 1
    if total <= 0 or not usable.any():
        return 0, 0
    counts = np.where(usable, np.ceil(total / np.maximum(whole, 1.0) * (1 - 1e-12)), 0)
    values = np.where(usable & (counts >= 2), M + lengths * (counts - 1), 0)
    i = int(values.argmax())
    if values[i] <= 0:
        # One segment may do: it needs Φ(r) >= total.
        below = tokens[whole < total]
        return (int(below[-1]) if len(below) else 0), 0
    rest = total - (int(counts[i]) - 1) * int(whole[i])
    below = tokens[whole < rest]
    last = max(0, int(below[-1]) - M) if len(below) else 0
    return int(values[i]) + min(last, int(lengths[i])), int(lengths[i])


def best_with_restarts(
    lengths: Mapping[int, int] | SumLengths, M: int, table: TokenTable, *, singles: bool
) -> tuple[int, int, int]:
    """The best bound on loads for sequential sums, over the number of first terms that are not counted.

    A sum may be begun anew in any segment, which costs no word for what it had come to. Such sums have to
    make up for what is lost: if the first c terms of a sum are not counted, those begun anew in a segment
    contribute at most H/(4c).

    Parameters
    ----------
    lengths : SumLengths, or a mapping of int to int
        How many sums there are of each number of terms.
    M : int
    table : TokenTable
    singles : bool
        Whether products are vertices of their own, which may be kept one by one.

    Returns
    -------
    loads, Y, c : int
    """
    lengths = SumLengths.of(lengths)
    longest = lengths.longest
    if longest < 2:
        return 0, 0, 0

    def at(c: int) -> tuple[int, int, int]:
        total = int(lengths.beyond(np.array([c]))[0])
        loads, Y = best_tokens(total, M, 1, table.progress(1 / (4 * c), singles=singles))
        return loads, Y, c

    def among(low: int, high: int, count: int) -> list[int]:
        return sorted(
            set(np.geomspace(max(1, low), max(1, min(high, longest - 1)), count).astype(int).tolist())
        )

    best = max(at(c) for c in among(1, longest - 1, 14))
    return max(best, *(at(c) for c in among(best[2] * 2 // 3, best[2] * 3 // 2, 8)))
