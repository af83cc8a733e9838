"""Random CDAGs, reproducible: the same parameters give the same graph on every machine.

They draw from the raw stream of PCG64, which NumPy guarantees, not from its distributions, which it does
not. They have no operations, so they are played but not evaluated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphs.structural import at_least, index_type
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError

__all__ = ["random", "random_layered", "random_pairs"]


def random(n: int, p: float, seed: int = 0) -> CDAG:
    """A random CDAG: each pair ``u < v`` is an edge with probability `p`, independently.

    Parameters
    ----------
    n : int
        Number of vertices.
    p : float
        Probability of an edge, from 0 to 1.
    seed : int

    Returns
    -------
    CDAG
        `n` vertices, about ``p * n * (n - 1) / 2`` edges; isolated vertices may occur.

    Notes
    -----
    Erdős & Rényi (1959), in the order of ids; drawn in O(|V| + |E|) by skipping from edge to edge
    (Batagelj & Brandes 2005).

    Examples
    --------
    >>> random(30, 0.2, seed=7) == random(30, 0.2, seed=7)
    True
    """
    at_least("random", n=n)
    at_least("random", 0, seed=seed)
    if not 0 <= p <= 1:
        raise GraphSpecError(f"random: p={p} is out of range, give a probability from 0 to 1")
    chosen = random_pairs(n * (n - 1) // 2, p, seed)
    # Pair k is (k - v(v-1)/2, v): the square root is one off at worst, and corrected.
    target = ((1 + np.sqrt(1 + 8 * chosen.astype(np.float64))) / 2).astype(np.int64)
    target -= target * (target - 1) // 2 > chosen
    target += (target + 1) * target // 2 <= chosen
    index = index_type(n, len(chosen))
    indptr = np.zeros(n + 1, dtype=index)
    np.cumsum(np.bincount(target, minlength=n), out=indptr[1:])
    return CDAG(
        indptr=indptr,
        indices=(chosen - target * (target - 1) // 2).astype(index),
        family="random",
        params={"n": n, "p": p} if seed == 0 else {"n": n, "p": p, "seed": seed},
    )


def random_layered(w: int, d: int, seed: int = 0, k: int = 2) -> CDAG:
    """A random layered CDAG: each vertex needs `k` vertices of the layer before.

    Parameters
    ----------
    w : int
        Vertices per layer.
    d : int
        Number of layers, the first being the sources.
    seed : int
    k : int
        In-degree of the other layers; at most `w` are drawn.

    Returns
    -------
    CDAG
        ``w * d`` vertices and ``w * (d - 1) * min(k, w)`` edges. Vertex ``l * w + i`` is in layer `l`.

    Notes
    -----
    The k distinct predecessors are a uniform sample, by Floyd's algorithm (Bentley & Floyd 1987).

    Examples
    --------
    >>> random_layered(4, 5, seed=7)
    <CDAG random-layered:w=4,d=5,seed=7: 20 vertices, 32 edges, 4 sources, 5 sinks>
    """
    at_least("random-layered", w=w, d=d, k=k)
    at_least("random-layered", 0, seed=seed)
    degree = min(k, w)
    rows = w * (d - 1)
    bits = np.random.PCG64(seed)
    picked = np.empty((rows, degree), dtype=np.int64)
    for j in range(degree):
        top = w - degree + j
        drawn = (_uniform(bits, rows) * (top + 1)).astype(np.int64)
        seen = (picked[:, :j] == drawn[:, None]).any(axis=1)
        picked[:, j] = np.where(seen, top, drawn)
    picked.sort(axis=1)
    picked += (np.arange(rows) // w * w)[:, None]
    index = index_type(w * d, rows * degree)
    indptr = np.zeros(w * d + 1, dtype=index)
    indptr[w:] = np.arange(rows + 1) * degree
    params = {"w": w, "d": d}
    if seed:
        params["seed"] = seed
    if k != 2:
        params["k"] = k
    return CDAG(indptr=indptr, indices=picked.ravel().astype(index), family="random-layered", params=params)


def random_pairs(pairs: int, p: float, seed: int) -> NDArray[np.int64]:
    """The indices below `pairs` that are chosen with probability `p` each, ascending; O(chosen) time."""
    if p == 0 or pairs == 0:
        return np.empty(0, dtype=np.int64)
    return np.arange(pairs) if p == 1 else _skips(pairs, p, np.random.PCG64(seed))


def _uniform(bits: np.random.PCG64, count: int) -> NDArray[np.float64]:
    """`count` numbers in [0, 1), 53 bits each."""
    raw = np.asarray(bits.random_raw(count), dtype=np.uint64)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _skips(pairs: int, p: float, bits: np.random.PCG64) -> NDArray[np.int64]:
    """The indices below `pairs` that are chosen with probability `p` each, ascending."""
    parts: list[NDArray[np.int64]] = []
    last = -1
    while last < pairs:
        count = min(1 << 22, int((pairs - last) * p * 1.1) + 16)
        gaps = np.floor(np.log1p(-_uniform(bits, count)) / np.log1p(-p))
        ids = last + np.cumsum(np.minimum(gaps, pairs) + 1).astype(np.int64)
        parts.append(ids[ids < pairs])
        last = int(ids[-1])
    return np.concatenate(parts)
