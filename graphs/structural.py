"""Families given by their edges: FFT, grids, trees, pyramids, chains and reductions.

Each builder writes the predecessor arrays directly, whole levels at a time, so its cost is O(|V| + |E|).
Inputs come first, ids are topological, and every vertex with one, two or more operands copies or adds
them, so that each of these graphs also computes numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG, SumLayout
from pebble.errors import GraphSpecError
from pebble.operations import ScalarOp

__all__ = ["chain", "fft", "grid", "pyramid", "reduce", "tree"]


def fft(n: int) -> CDAG:
    """The FFT's butterfly on `n` points (Hong & Kung 1981, section 4).

    Parameters
    ----------
    n : int
        Number of points, a power of two.

    Returns
    -------
    CDAG
        ``n * (log2(n) + 1)`` vertices and ``2 * n * log2(n)`` edges, in-degree 2. Vertex ``r * n + i`` is
        point `i` after rank `r`; its operands are the points `i` with bit ``r - 1`` clear, then set.
        Tensors: ``x`` (inputs) and ``y`` (outputs), both of shape (n,).

    Raises
    ------
    GraphSpecError
        If `n` is no power of two.

    Notes
    -----
    The I/O cost is Theta(n log n / log M) (Hong & Kung 1981, theorem 2.1 and corollary 4.1). The
    numbers are those of the butterfly with all twiddle factors 1, which is the Walsh-Hadamard transform:
    twiddles scale values and change no edge.

    Examples
    --------
    >>> fft(8)
    <CDAG fft:n=8: 32 vertices, 48 edges, 8 sources, 8 sinks>
    """
    at_least("fft", n=n)
    if n & (n - 1):
        below = 1 << (n.bit_length() - 1)
        raise GraphSpecError(f"fft: n={n} is no power of two; the nearest are {below} and {2 * below}")
    ranks = n.bit_length() - 1
    vertices = n * (ranks + 1)
    index = index_type(vertices, 2 * n * ranks)
    points: NDArray[Any] = np.arange(n, dtype=index)
    indices = np.empty((ranks, n, 2), dtype=index)
    ops = np.zeros((ranks + 1, n), dtype=np.uint8)
    for r in range(ranks):
        low = points & ~index(1 << r)
        indices[r, :, 0] = low + index(r * n)
        indices[r, :, 1] = low + index(r * n + (1 << r))
        ops[r + 1] = np.where(points & index(1 << r), ScalarOp.SUB, ScalarOp.ADD)
    indptr: NDArray[Any] = np.zeros(vertices + 1, dtype=index)
    indptr[n:] = 2 * np.arange(n * ranks + 1)
    ids = np.arange(vertices)
    return CDAG(
        indptr=indptr,
        indices=indices.ravel(),
        ops=ops.ravel(),
        **provenance("fft", {"n": n}, x=ids[:n], y=ids[vertices - n :]),
    )


def grid(rows: int, cols: int) -> CDAG:
    """The diamond grid: every vertex needs its neighbours above and to the left.

    Parameters
    ----------
    rows, cols : int

    Returns
    -------
    CDAG
        ``rows * cols`` vertices, ``2 * rows * cols - rows - cols`` edges, one source and one sink.
        Vertex ``i * cols + j`` is row `i`, column `j`; operands above, then left. Tensors: ``x`` and
        ``y``, one value each.

    Notes
    -----
    The pattern of dynamic programs such as edit distance; the diamond graph of Cook (1974) and of
    Aggarwal, Chandra & Snir (1990). With sums as operations the sink is ``x`` times a binomial coefficient.
    The I/O cost is 2 from M = min(rows, cols) + 1 on.

    Examples
    --------
    >>> grid(3, 3)
    <CDAG grid:rows=3,cols=3: 9 vertices, 12 edges, 1 sources, 1 sinks>
    """
    at_least("grid", rows=rows, cols=cols)
    ids = np.arange(rows * cols).reshape(rows, cols)
    above = np.full((rows, cols), -1)
    above[1:] = ids[:-1]
    left = np.full((rows, cols), -1)
    left[:, 1:] = ids[:, :-1]
    return from_operands(
        np.stack((above, left), axis=-1).reshape(-1, 2),
        **provenance("grid", {"rows": rows, "cols": cols}, x=ids[0, :1], y=ids[-1, -1:]),
    )


def chain(n: int) -> CDAG:
    """A path of `n` vertices: one input copied from vertex to vertex.

    Parameters
    ----------
    n : int
        Number of vertices.

    Returns
    -------
    CDAG
        `n` vertices, ``n - 1`` edges. Tensors: ``x`` and ``y``, one value each. The I/O cost is 2 at any
        M >= 2, and 0 for the single vertex.

    Examples
    --------
    >>> chain(5)
    <CDAG chain:n=5: 5 vertices, 4 edges, 1 sources, 1 sinks>
    """
    at_least("chain", n=n)
    ids = np.arange(n)
    return from_operands(ids[:, None] - 1, **provenance("chain", {"n": n}, x=ids[:1], y=ids[-1:]))


def tree(leaves: int, arity: int = 2) -> CDAG:
    """An in-tree that adds up `leaves` inputs, `arity` at a time, level by level.

    Parameters
    ----------
    leaves : int
        Number of inputs, at least 1.
    arity : int
        Largest in-degree, at least 2.

    Returns
    -------
    CDAG
        A complete tree has ``(arity * leaves - 1) / (arity - 1)`` vertices; other trees group each level's
        values from the left, and a group of one passes up without a vertex. Every vertex but the root has
        one successor. The leaves come first, the others in post-order, so that computing by id is a
        depth-first order. Tensors: ``x`` of shape (leaves,) and ``y``, one value.

    Notes
    -----
    A complete binary tree of depth k has the optimum ``2**(k + 1) - 1`` at M = 3, and costs its leaves and
    the root alone from M = k + 2 on. Depth-first orders of trees: Sethi & Ullman (1970), Liu (1987).

    Examples
    --------
    >>> tree(8)
    <CDAG tree:leaves=8: 15 vertices, 14 edges, 8 sources, 1 sinks>
    """
    at_least("tree", leaves=leaves)
    at_least("tree", 2, arity=arity)
    level_ids: list[NDArray[np.int64]] = []
    operands: list[NDArray[np.int64]] = []
    right_end: list[NDArray[np.int64]] = []
    values, ends = np.arange(leaves), np.arange(leaves)
    vertices = leaves
    while len(values) > 1:
        groups = -(-len(values) // arity)
        padded = np.full(groups * arity, -1)
        padded[: len(values)] = values
        rows = padded.reshape(groups, arity)
        last = np.minimum(np.arange(1, groups + 1) * arity, len(values)) - 1
        added = (rows >= 0).sum(axis=1) > 1
        ids = rows[:, 0].copy()
        ids[added] = vertices + np.arange(int(added.sum()))
        level_ids.append(ids[added])
        operands.append(rows[added])
        right_end.append(ends[last][added])
        vertices += int(added.sum())
        values, ends = ids, ends[last]
    # A subtree covers an interval of leaves, so post-order is by its right end, then from the bottom up.
    new = np.arange(vertices)
    if level_ids:
        order = np.lexsort((np.concatenate(level_ids), np.concatenate(right_end)))
        new[leaves + order] = np.arange(leaves, vertices)
        rows = np.concatenate(operands)[order]
        table = np.full((vertices, arity), -1)
        table[leaves:] = np.where(rows >= 0, new[rows], -1)
    else:
        table = np.full((1, arity), -1)
    params = {"leaves": leaves} if arity == 2 else {"leaves": leaves, "arity": arity}
    ids = np.arange(vertices)
    return from_operands(table, **provenance("tree", params, x=ids[:leaves], y=ids[-1:]))


def pyramid(h: int) -> CDAG:
    """The pyramid of height `h`: rows of h+1, h, …, 1 vertices, each on two neighbours of the row below.

    Parameters
    ----------
    h : int
        Height in edges, at least 1.

    Returns
    -------
    CDAG
        ``(h + 1) * (h + 2) / 2`` vertices, ``h * (h + 1)`` edges, h+1 sources, one sink. Ids go row by row
        from the base. Tensors: ``x`` of shape (h + 1,) and ``y``, one value.

    Notes
    -----
    Cook (1974), where the pebbling number is h + 2; from that M on, the I/O cost is h + 2 as well. With
    sums as operations the apex is the inputs weighted by the binomial coefficients of h.

    Examples
    --------
    >>> pyramid(2)
    <CDAG pyramid:h=2: 6 vertices, 6 edges, 3 sources, 1 sinks>
    """
    at_least("pyramid", h=h)
    vertices = (h + 1) * (h + 2) // 2
    width = np.arange(h + 1, 0, -1)
    start = np.concatenate(([0], np.cumsum(width)))
    row = np.repeat(np.arange(h + 1), width)
    below = np.arange(vertices) - width[row] - 1
    table = np.stack((below, below + 1), axis=-1)
    table[: h + 1] = -1
    assert start[-1] == vertices
    ids = np.arange(vertices)
    return from_operands(table, **provenance("pyramid", {"h": h}, x=ids[: h + 1], y=ids[-1:]))


def reduce(n: int, sums: Literal["chain", "tree", "flat"] = "chain") -> CDAG:
    """The sum of `n` inputs.

    Parameters
    ----------
    n : int
        Number of inputs.
    sums : {"chain", "tree", "flat"}
        Sequential adds, balanced adds, or one vertex of in-degree n.

    Returns
    -------
    CDAG
        ``2 * n - 1`` vertices and ``2 * n - 2`` edges (flat: n + 1 vertices, n edges). Tensors: ``x`` of
        shape (n,) and ``y``, one value. The I/O cost is n + 1 from M = 3 on for the chain.

    Examples
    --------
    >>> reduce(8)
    <CDAG reduce:n=8: 15 vertices, 14 edges, 8 sources, 1 sinks>
    """
    at_least("reduce", n=n)
    params = {"n": n} if sums == "chain" else {"n": n, "sums": sums}
    if sums not in ("chain", "tree", "flat"):
        raise GraphSpecError(f"reduce: sums={sums!r} is none of chain, tree, flat")
    if sums == "tree":
        balanced = tree(n)
        layout = {"y": SumLayout(n, (), n, "tree-reduce")} if n > 1 else {}
        return balanced._replace(family="reduce", params=params, sums=layout)
    if n == 1:
        table = np.full((1, 1), -1)
    elif sums == "flat":
        indptr = np.zeros(n + 2, dtype=index_type(n + 1, n))
        indptr[-1] = n
        ops = np.zeros(n + 1, dtype=np.uint8)
        ops[n] = ScalarOp.SUM if n > 2 else ScalarOp.ADD
        ids = np.arange(n + 1)
        return CDAG(
            indptr=indptr,
            indices=np.arange(n, dtype=indptr.dtype),
            ops=ops,
            sums={"y": SumLayout(n, (), n, "flat")},
            **provenance("reduce", params, x=ids[:n], y=ids[n:]),
        )
    else:
        table = np.full((2 * n - 1, 2), -1)
        table[n:, 0] = np.arange(n - 1, 2 * n - 2)
        table[n, 0] = 0
        table[n:, 1] = np.arange(1, n)
    ids = np.arange(len(table))
    return from_operands(
        table,
        sums={"y": SumLayout(n, (), n, "chain-reduce")} if n > 1 else {},
        **provenance("reduce", params, x=ids[:n], y=ids[-1:]),
    )


# -- what the families share ------------------------------------------------------------------------------


def at_least(family: str, least: int = 1, **sizes: int) -> None:
    """GraphSpecError, naming the parameter, unless all `sizes` are whole numbers of at least `least`."""
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise GraphSpecError(f"{family}: {name}={value} is out of range, give a whole number >= {least}")


def index_type(vertices: int, edges: int) -> type[np.int32] | type[np.int64]:
    """The type of the arrays of a CDAG of that size: int32 while it holds every id and offset."""
    return np.int32 if max(vertices, edges) < 2**31 else np.int64


def provenance(family: str, params: Mapping[str, Any], **tensors: NDArray[np.int64]) -> dict[str, Any]:
    """CDAG fields for a graph of `family` with input ``x`` and output ``y``."""
    return {
        "family": family,
        "params": dict(params),
        "tensors": tensors,
        "input_names": ("x",),
        "output_names": ("y",),
    }


def from_operands(table: NDArray[np.int64], **fields: Any) -> CDAG:
    """A CDAG from a table of operands, one row per vertex, padded with -1; its ops copy or add them.

    Parameters
    ----------
    table : ndarray of int, shape (num_vertices, largest in-degree)
        Operands in order; rows of -1 alone are inputs.
    **fields
        Further fields of the CDAG.
    """
    present = table >= 0
    degree = present.sum(axis=1)
    index = index_type(len(table), int(degree.sum()))
    indptr = np.zeros(len(table) + 1, dtype=index)
    np.cumsum(degree, out=indptr[1:])
    by_degree = np.array([ScalarOp.INPUT, ScalarOp.COPY, ScalarOp.ADD, ScalarOp.SUM], dtype=np.uint8)
    return CDAG(
        indptr=indptr,
        indices=table[present].astype(index),
        ops=by_degree[np.minimum(degree, 3)],
        **fields,
    )
