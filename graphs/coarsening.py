"""Coarse graphs: groups of vertices as single vertices of several words, and the way back to fine moves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import InvalidCDAGError, UnsupportedInstanceError
from pebble.instance import Instance
from pebble.moves import Move, Op
from pebble.schedule import Schedule

__all__ = ["Grouping", "coarsen", "grouping", "refine"]

Tile = tuple[int, ...]


class Grouping(NamedTuple):
    """Which group each vertex belongs to.

    Attributes
    ----------
    of_vertex : ndarray of int64, shape (num_vertices,)
    labels : list of hashable
        One per group.
    tensors : dict of str to ndarray
        For each tensor the groups of its tiles, in the order of the tiles.
    """

    of_vertex: NDArray[np.int64]
    labels: list[Hashable]
    tensors: dict[str, NDArray[np.int64]]


def grouping(
    cdag: CDAG, groups: str | Tile | Mapping[str, Tile] | Sequence[Hashable] | NDArray[Any]
) -> Grouping:
    """The groups that the argument of `coarsen` stands for."""
    if isinstance(groups, str):
        if groups != "tensor":
            raise InvalidCDAGError(
                f"groups='{groups}': say 'tensor', a tile, a tile per tensor, or one group per vertex"
            )
        return _by_tensor(cdag, {})
    if isinstance(groups, Mapping):
        unknown = [name for name in groups if name not in cdag.tensors]
        if unknown:
            raise InvalidCDAGError(
                f"{cdag.name} has no tensor '{unknown[0]}' (tensors: {', '.join(cdag.tensors) or 'none'})"
            )
        return _by_tensor(cdag, {name: _checked(tile) for name, tile in groups.items()})
    if isinstance(groups, tuple) and len(groups) <= 2 and len(groups) != cdag.num_vertices:
        tile = _checked(groups)
        return _by_tensor(cdag, {name: tile[: max(ids.ndim, 1)] for name, ids in cdag.tensors.items()})
    given = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(given) != cdag.num_vertices:
        raise InvalidCDAGError(
            f"{len(given)} groups are given for {cdag.num_vertices} vertices: one each is needed"
        )
    index: dict[Hashable, int] = {}
    of_vertex = np.array([index.setdefault(label, len(index)) for label in given], dtype=np.int64)
    return Grouping(of_vertex, list(index), {})


def coarsen(cdag: CDAG, groups: str | Tile | Mapping[str, Tile] | Sequence[Hashable] | NDArray[Any]) -> CDAG:
    """Group the vertices of a graph: each group becomes one vertex that weighs the words that leave it.

    Parameters
    ----------
    cdag : CDAG
    groups : "tensor", tuple, mapping, or sequence
        ``"tensor"``: a group per named array. A tile ``(r, c)``: a group per r×c tile of every named array
        (r entries of an array with one axis; leading axes one by one). A mapping of names to tiles: those
        arrays in tiles, the others whole. Else one label per vertex, equal labels for a group: your own map.
        Vertices of no named array (products, partial sums) are in the group of their first successor.

    Returns
    -------
    CDAG
        One vertex per group. There is an edge where some vertex needs one of another group. A group weighs
        the words of those of its vertices that another group needs or that are outputs: at least 1, since the
        last vertex of a group leaves it. Groups of sources are sources; a group with an output is an output.
        `labels` are the groups, ``S[0:2,4:6]`` for a tile; `tensors` has the groups of each array's tiles.

    Raises
    ------
    InvalidCDAGError
        The groups depend on each other in a cycle, which is named; a group mixes sources and computed
        vertices; a bad tile, or not one group per vertex.

    Notes
    -----
    O(|V| + |E| log |E|). A schedule of the coarse graph with M words is one of the graph itself with M + s
    words, of the same I/O, where s is the largest number of words of one group that stay in it: `refine`
    writes it down. So a coarse optimum bounds the graph's from above, at M + s words, and not from below.

    Examples
    --------
    >>> from graphs.linear_algebra import matmul
    >>> g = coarsen(matmul(4, 4, 4), (2, 2))
    >>> g, g.labels[0], g.weights[:4].tolist()
    (<CDAG custom: 12 vertices, 16 edges, 8 sources, 4 sinks>, 'A[0:2,0:2]', [4, 4, 4, 4])
    """
    parts = grouping(cdag, groups)
    count = len(parts.labels)
    of_vertex = parts.of_vertex
    edges = of_vertex[cdag.edges()] if cdag.num_edges else np.empty((0, 2), dtype=np.int64)
    across = edges[edges[:, 0] != edges[:, 1]]
    leaves = leaving(cdag, of_vertex)
    words = np.ones(cdag.num_vertices) if cdag.weights is None else cdag.weights
    weights = np.bincount(of_vertex[leaves], weights=words[leaves], minlength=count).astype(np.int64)
    _refuse_mixed(cdag, parts)
    try:
        return CDAG.from_edges(
            count,
            np.unique(across, axis=0),
            weights=weights,
            labels=parts.labels,
            outputs=np.unique(of_vertex[cdag.outputs]),
            tensors=parts.tensors,
            input_names=tuple(name for name in cdag.input_names if name in parts.tensors),
            output_names=tuple(name for name in cdag.output_names if name in parts.tensors),
        )
    except InvalidCDAGError as error:
        if not error.vertices:
            raise
        cycle = [str(parts.labels[v]) for v in error.vertices]
        text = " -> ".join([*cycle[:12], *(["…"] if len(cycle) > 12 else []), cycle[0]])
        raise InvalidCDAGError(
            f"the groups depend on each other in a cycle: {text}; split one of them", error.vertices
        ) from error


def leaving(cdag: CDAG, of_vertex: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the vertices that another group needs or that are outputs."""
    mask = cdag.is_output.copy()
    edges = cdag.edges()
    mask[edges[of_vertex[edges[:, 0]] != of_vertex[edges[:, 1]], 0]] = True
    return mask


def refine(
    schedule: Schedule,
    cdag: CDAG,
    groups: str | Tile | Mapping[str, Tile] | Sequence[Hashable] | NDArray[Any],
) -> Schedule:
    """A schedule of a graph from one of its coarse form: the same I/O, s more words of fast memory.

    A move of a group becomes the moves of the words that leave it; computing a group computes its vertices in
    topological order, and then deletes those that do not leave.

    Parameters
    ----------
    schedule : Schedule
        Of ``coarsen(cdag, groups)``.
    cdag : CDAG
        Of one word per vertex.
    groups
        As for `coarsen`.

    Returns
    -------
    Schedule
        With M + s words, s the largest number of vertices of a group that do not leave it.

    Raises
    ------
    UnsupportedInstanceError
        The schedule is of another graph.

    Examples
    --------
    >>> import pebble, strategies
    >>> from graphs.linear_algebra import matmul
    >>> g = matmul(4, 4, 4)
    >>> coarse = strategies.play("belady", pebble.Instance(coarsen(g, (2, 2)), 20))
    >>> fine = refine(coarse, g, (2, 2))
    >>> pebble.verify(fine).io == pebble.verify(coarse).io
    True
    """
    if schedule.instance.cdag != coarsen(cdag, groups):
        raise UnsupportedInstanceError(
            "the schedule is not one of the coarse form of this graph by these groups"
        )
    of_vertex = grouping(cdag, groups).of_vertex
    leaves = leaving(cdag, of_vertex)
    order = cdag.topological_order
    count = schedule.instance.cdag.num_vertices
    members = order[np.argsort(of_vertex[order], kind="stable")]
    starts = np.searchsorted(of_vertex[members], np.arange(count + 1))
    inner = np.bincount(of_vertex[~leaves], minlength=count)
    moves: list[Move] = []
    for move in schedule:
        group = members[starts[move.vertex] : starts[move.vertex + 1]]
        outside = group[leaves[group]].tolist()
        if move.op is Op.COMPUTE:
            moves += [Move(Op.COMPUTE, v) for v in group.tolist()]
            moves += [Move(Op.DELETE, v) for v in group[~leaves[group]].tolist()]
        else:
            moves += [Move(move.op, v) for v in outside]
    instance = Instance(cdag, schedule.instance.M + int(inner.max(initial=0)), schedule.instance.rules)
    return Schedule.from_moves(instance, moves, producer=schedule.producer)


def _checked(tile: Any) -> Tile:
    sizes = tile if isinstance(tile, tuple) else (tile,)
    if not sizes or any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1 for n in sizes):
        raise InvalidCDAGError(f"the tile {tile!r} is no tuple of whole numbers of at least 1")
    return tuple(int(n) for n in sizes)


def _by_tensor(cdag: CDAG, tiles: Mapping[str, Tile]) -> Grouping:
    of_vertex = np.full(cdag.num_vertices, -1, dtype=np.int64)
    labels: list[Hashable] = []
    of_tile: dict[str, NDArray[np.int64]] = {}
    for name, ids in cdag.tensors.items():
        tile = tiles.get(name)
        steps = ids.shape if tile is None else _aligned(name, ids.shape, tile)
        grid = tuple(-(-n // step) for n, step in zip(ids.shape, steps, strict=True))
        found = np.full(grid, -1, dtype=np.int64)
        for cell in np.ndindex(*grid):
            window = tuple(
                slice(i * s, min((i + 1) * s, n)) for i, s, n in zip(cell, steps, ids.shape, strict=True)
            )
            part = ids[window].ravel()
            part = part[part >= 0]
            fresh = part[of_vertex[part] < 0]
            if len(fresh):
                of_vertex[fresh] = found[cell] = len(labels)
                labels.append(
                    name if tile is None else f"{name}[{','.join(f'{w.start}:{w.stop}' for w in window)}]"
                )
            elif len(part):
                # Another array, named before, holds the same scalars.
                found[cell] = of_vertex[part[0]]
        of_tile[name] = found
    _adopt(cdag, of_vertex, labels)
    return Grouping(of_vertex, labels, of_tile)


def _aligned(name: str, shape: tuple[int, ...], tile: Tile) -> tuple[int, ...]:
    if len(tile) > max(len(shape), 1):
        raise InvalidCDAGError(f"a tile of {len(tile)} axes for '{name}', which has {len(shape)}")
    steps: tuple[int, ...] = (1,) * (len(shape) - len(tile)) + tile if shape else ()
    return steps


def _adopt(cdag: CDAG, of_vertex: NDArray[np.int64], labels: list[Hashable]) -> None:
    """Groups for the vertices of no named array."""
    from graphs.coarsening_kernels import adopt

    order = cdag.topological_order
    position = np.empty(cdag.num_vertices, dtype=np.int64)
    position[order] = np.arange(cdag.num_vertices)
    succ_ptr, succ = cdag.successors
    known = len(labels)
    total = adopt(order, cdag.indptr, succ_ptr, succ, of_vertex, position, known)
    alone = np.full(total - known, -1, dtype=np.int64)
    for v in np.flatnonzero(of_vertex >= known).tolist():
        # A sink comes before those that adopt its group, in reverse order: the last one names the group.
        alone[of_vertex[v] - known] = v
    labels += [f"vertex {v}" for v in alone.tolist()]


def _refuse_mixed(cdag: CDAG, parts: Grouping) -> None:
    count = len(parts.labels)
    given = np.bincount(parts.of_vertex[cdag.is_source], minlength=count) > 0
    computed = np.bincount(parts.of_vertex[~cdag.is_source], minlength=count) > 0
    mixed = np.flatnonzero(given & computed)
    if len(mixed):
        raise InvalidCDAGError(
            f"group '{parts.labels[mixed[0]]}' mixes sources and computed vertices: an input is in slow "
            "memory at the start, so give sources groups of their own"
        )
