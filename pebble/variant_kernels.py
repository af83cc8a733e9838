"""The referee's compiled loops for rules that change the moves: sliding, free sources, no deletion, partial.

Importing this module imports numba, so only functions import it. State and tally are those of
`pebble.referee_kernels`, with one entry more.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pebble.referee_kernels import (
    BLUE,
    COMPUTED,
    COMPUTES,
    LOADS,
    PEAK,
    RECOMPUTES,
    RED,
    RED_WORDS,
    STORES,
)

__all__ = ["SLIDE", "replay", "replay_partial"]

# In the tally: the vertex whose slide may be finished by the next move, or -1.
SLIDE = 6

_LOAD, _STORE, _COMPUTE = np.uint64(0), np.uint64(1), np.uint64(2)


@numba.njit(cache=True, nogil=True)
def replay(
    codes: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[np.int64] | None,
    one_shot: bool,
    sliding: bool,
    free_sources: bool,
    deletion: bool,
    M: int,
    state: NDArray[np.uint8],
    tally: NDArray[np.int64],
) -> int:
    """Play packed moves on `state` and `tally`; the index of the first illegal one, or the number of moves.

    An illegal move changes nothing, so that its reason can be read off the state.
    """
    n = np.uint64(len(indptr) - 1)
    for i in range(len(codes)):
        code = np.uint64(codes[i])
        v = np.int64(code >> np.uint64(2))
        op = code & np.uint64(3)
        if code >> np.uint64(2) >= n:
            return i
        s = state[v]
        w = np.int64(1) if weights is None else weights[v]
        red = tally[RED_WORDS]
        slide = tally[SLIDE]
        if op == np.uint64(3):
            slides = False
            if slide >= 0:
                for e in range(indptr[slide], indptr[slide + 1]):
                    slides |= indices[e] == v
            if red > M and not (slides and red - w <= M):
                return i
            if not s & RED or not (deletion or slides):
                return i
            tally[RED_WORDS] = red - w
            state[v] = s ^ RED
            tally[SLIDE] = -1
            tally[PEAK] = max(tally[PEAK], red - w)
            continue
        if red > M:
            return i
        if op == _COMPUTE:
            first, last = indptr[v], indptr[v + 1]
            all_red = RED
            heaviest = np.int64(0)
            for e in range(first, last):
                u = indices[e]
                all_red &= state[u]
                heaviest = max(heaviest, np.int64(1) if weights is None else weights[u])
            if not sliding:
                heaviest = np.int64(0)
            if s & RED or not all_red or (one_shot and s & COMPUTED) or w > M - red + heaviest:
                return i
            if first == last and not free_sources:
                return i
            if s & COMPUTED:
                tally[RECOMPUTES] += 1
            tally[COMPUTES] += 1
            tally[RED_WORDS] = red + w
            if red + w <= M:
                tally[PEAK] = max(tally[PEAK], red + w)
            state[v] = s | RED | COMPUTED
            tally[SLIDE] = v if sliding and (red + w > M or not deletion) else -1
            continue
        if op == _LOAD:
            if s & RED or not s & BLUE or w > M - red:
                return i
            tally[LOADS] += w
            tally[RED_WORDS] = red + w
            tally[PEAK] = max(tally[PEAK], red + w)
            state[v] = s | RED
        else:
            if not s & RED:
                return i
            tally[STORES] += w
            state[v] = s | BLUE
            if not deletion:
                state[v] &= ~RED
                tally[RED_WORDS] = red - w
        tally[SLIDE] = -1
    return len(codes)


@numba.njit(cache=True, nogil=True)
def replay_partial(
    codes: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    heads: NDArray[Any],
    weights: NDArray[np.int64] | None,
    free_sources: bool,
    deletion: bool,
    M: int,
    state: NDArray[np.uint8],
    pending: NDArray[np.int32],
    aggregated: NDArray[np.bool_],
    tally: NDArray[np.int64],
) -> int:
    """The same under partial computation, where a COMPUTE names an edge.

    COMPUTED in `state` marks the complete vertices; `pending` counts the in-edges yet to be aggregated.
    """
    n = np.uint64(len(indptr) - 1)
    num_edges = np.uint64(len(indices))
    for i in range(len(codes)):
        code = np.uint64(codes[i])
        item = code >> np.uint64(2)
        op = code & np.uint64(3)
        red = tally[RED_WORDS]
        if op == _COMPUTE:
            edge = item < num_edges
            if edge:
                v = np.int64(heads[item])
            else:
                if not free_sources or item - num_edges >= n:
                    return i
                v = np.int64(item - num_edges)
                if indptr[v] != indptr[v + 1]:
                    return i
            s = state[v]
            w = np.int64(1) if weights is None else weights[v]
            if edge:
                u = indices[item]
                ready = state[u] & RED and state[u] & COMPUTED and not aggregated[item]
                fresh = pending[v] == indptr[v + 1] - indptr[v]
                if not ready or (not s & RED and (not fresh or w > M - red)):
                    return i
                aggregated[item] = True
                pending[v] -= 1
            elif s & (RED | COMPUTED) or w > M - red:
                return i
            if not s & RED:
                tally[RED_WORDS] = red + w
                tally[PEAK] = max(tally[PEAK], red + w)
            state[v] = (s | RED) & ~BLUE
            if pending[v] == 0:
                state[v] |= COMPUTED
                tally[COMPUTES] += 1
            continue
        if item >= n:
            return i
        v = np.int64(item)
        s = state[v]
        w = np.int64(1) if weights is None else weights[v]
        if op == _LOAD:
            if s & RED or not s & BLUE or w > M - red:
                return i
            tally[LOADS] += w
            tally[RED_WORDS] = red + w
            tally[PEAK] = max(tally[PEAK], red + w)
            state[v] = s | RED
        elif op == _STORE:
            if not s & RED:
                return i
            tally[STORES] += w
            state[v] = s | BLUE
            if not deletion:
                state[v] &= ~RED
                tally[RED_WORDS] = red - w
        else:
            if not s & RED or not deletion:
                return i
            tally[RED_WORDS] = red - w
            state[v] = s ^ RED
    return len(codes)
