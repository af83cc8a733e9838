"""The referee's compiled loops. Importing this module imports numba, so only functions import it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["first_missing_output", "replay", "start"]

# One byte of state per vertex. NEEDED marks vertices with a successor, which need not end blue.
RED = np.uint8(1)
BLUE = np.uint8(2)
COMPUTED = np.uint8(4)
NEEDED = np.uint8(8)

# What `tally` counts, in this order.
LOADS, STORES, COMPUTES, RECOMPUTES, RED_WORDS, PEAK = range(6)


@numba.njit(cache=True, nogil=True)
def start(indptr: NDArray[Any], indices: NDArray[Any]) -> NDArray[np.uint8]:
    """The state at the start: sources are blue."""
    n = len(indptr) - 1
    state = np.zeros(n, dtype=np.uint8)
    for v in range(n):
        if indptr[v] == indptr[v + 1]:
            state[v] = BLUE
    for e in range(len(indices)):
        state[indices[e]] |= NEEDED
    return state


@numba.njit(cache=True, nogil=True)
def replay(
    codes: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[np.int64] | None,
    one_shot: bool,
    M: int,
    state: NDArray[np.uint8],
    tally: NDArray[np.int64],
) -> int:
    """Play packed moves on `state` and `tally`; the index of the first illegal one, or the number of moves.

    An illegal move changes nothing, so that its reason can be read off the state.
    """
    n = np.uint64(len(indptr) - 1)
    two = np.uint64(2)
    three = np.uint64(3)
    loads, stores, computes = tally[LOADS], tally[STORES], tally[COMPUTES]
    recomputes, red, peak = tally[RECOMPUTES], tally[RED_WORDS], tally[PEAK]
    played = len(codes)
    for i in range(len(codes)):
        code = np.uint64(codes[i])
        v = code >> two
        op = code & three
        if v >= n:
            played = i
            break
        s = state[v]
        # A weight may be as large as int64 holds: compare with the room left instead of adding first.
        w = np.int64(1) if weights is None else weights[v]
        if op == np.uint64(2):
            first, last = np.int64(indptr[v]), np.int64(indptr[v + np.uint64(1)])
            all_red = RED
            for e in range(first, last):
                all_red &= state[indices[e]]
            if first == last or s & RED or not all_red or w > M - red or (one_shot and s & COMPUTED):
                played = i
                break
            if s & COMPUTED:
                recomputes += 1
            computes += 1
            red += w
            peak = max(peak, red)
            state[v] = s | RED | COMPUTED
        elif op == three:
            if not s & RED:
                played = i
                break
            red -= w
            state[v] = s ^ RED
        elif op == np.uint64(0):
            if s & RED or not s & BLUE or w > M - red:
                played = i
                break
            loads += w
            red += w
            peak = max(peak, red)
            state[v] = s | RED
        else:
            if not s & RED:
                played = i
                break
            stores += w
            state[v] = s | BLUE
    tally[LOADS], tally[STORES], tally[COMPUTES] = loads, stores, computes
    tally[RECOMPUTES], tally[RED_WORDS], tally[PEAK] = recomputes, red, peak
    return played


@numba.njit(cache=True, nogil=True)
def first_missing_output(
    state: NDArray[np.uint8], further_outputs: NDArray[np.int64], pebbles: int, must: int
) -> tuple[int, int]:
    """The output of lowest id that lacks its pebble (or -1), and how many there are.

    An output has it if its state has one of the bits `pebbles`, and all of the bits `must`.
    """
    for i in range(len(further_outputs)):
        state[further_outputs[i]] &= ~NEEDED
    first = -1
    missing = 0
    for v in range(len(state)):
        if not state[v] & NEEDED and (not state[v] & pebbles or state[v] & must != must):
            missing += 1
            if first < 0:
                first = v
    return first, missing
