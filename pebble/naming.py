"""Names of vertices for people, derived from the named arrays when asked for: ``S[0,1]``, ``S[0,1].3``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pebble.cdag import CDAG

__all__ = ["sum_blocks", "vertex_name", "vertex_names"]


def vertex_name(cdag: CDAG, v: int) -> str:
    """A readable name of a vertex.

    Parameters
    ----------
    cdag : CDAG
    v : int

    Returns
    -------
    str
        Its label if the graph has labels; the entry of the named array that it is, as ``S[0,1]``; for the
        j-th vertex inside the sum of an entry, ``S[0,1].j``; else ``v`` and its number.

    Notes
    -----
    O(size of the named arrays); nothing is stored. `vertex_names` names all vertices at once.

    Examples
    --------
    >>> g = CDAG.from_edges(3, [(0, 2), (1, 2)], tensors={"x": [0, 1]})
    >>> [vertex_name(g, v) for v in range(3)]
    ['x[0]', 'x[1]', 'v2']
    """
    if not 0 <= v < cdag.num_vertices:
        raise IndexError(f"vertex {v} is out of range, ids go from 0 to {cdag.num_vertices - 1}")
    if cdag.labels is not None:
        return str(cdag.labels[v])
    for name, ids in cdag.tensors.items():
        hits = np.flatnonzero(ids == v)
        if len(hits):
            return _entry(name, ids.shape, int(hits[0]))
    for name, base, size, count in sum_blocks(cdag):
        entry, inside = divmod(v - base, size)
        if 0 <= entry < count:
            return f"{_entry(name, cdag.sums[name].shape, entry)}.{inside}"
    return f"v{v}"


def vertex_names(cdag: CDAG) -> list[str]:
    """The name of every vertex, as `vertex_name`, in O(|V|).

    Examples
    --------
    >>> from pebble.cdag import SumLayout
    >>> edges = [(0, 2), (1, 2), (0, 3), (2, 4), (3, 4)]
    >>> sums = {"z": SumLayout(2, (), 2, "chain")}
    >>> vertex_names(CDAG.from_edges(5, edges, tensors={"x": [0, 1], "z": 4}, sums=sums))
    ['x[0]', 'x[1]', 'z.0', 'z.1', 'z']
    """
    if cdag.labels is not None:
        return [str(label) for label in cdag.labels]
    names = [f"v{v}" for v in range(cdag.num_vertices)]
    for name, base, size, count in sum_blocks(cdag):
        for entry in range(count):
            text = _entry(name, cdag.sums[name].shape, entry)
            for inside in range(size - 1):
                names[base + entry * size + inside] = f"{text}.{inside}"
    # In reverse, so that the first name of an array with two of them stays.
    for name, ids in reversed(list(cdag.tensors.items())):
        for entry, v in enumerate(ids.ravel().tolist()):
            if v >= 0:
                names[v] = _entry(name, ids.shape, entry)
    return names


def _entry(name: str, shape: tuple[int, ...], flat: int) -> str:
    index = ",".join(str(int(i)) for i in np.unravel_index(flat, shape))
    return f"{name}[{index}]" if index else name


def sum_blocks(cdag: CDAG) -> Iterator[tuple[str, int, int, int]]:
    """Name, base, vertices per entry and number of entries of every sum whose entries lie in blocks."""
    for name, layout in cdag.sums.items():
        if layout.layout.startswith("ragged"):
            continue
        ids = cdag.tensors[name].ravel()
        size = int(ids[0]) + 1 - layout.base
        if len(ids) > 1 and int(ids[1] - ids[0]) != size:
            continue
        yield name, layout.base, size, len(ids)
