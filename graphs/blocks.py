"""Blocks of vertices: the results of one array operation, and how they are written into a graph's arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pebble.operations import ScalarOp

__all__ = [
    "Block",
    "GeneralBlock",
    "InputBlock",
    "Ints",
    "Target",
    "Template",
    "UniformBlock",
    "ragged_positions",
    "row_major_boxes",
]

Ints = NDArray[Any]
Floats = NDArray[np.float64]

# Terms written at a time: small enough that the temporaries stay in cache.
_CHUNK = 1 << 17


class Template(NamedTuple):
    """The vertices that every entry of a uniform block consists of.

    Attributes
    ----------
    ops : ndarray of uint8, shape (size,)
    indptr : ndarray, shape (size + 1,)
        Where each vertex's operands start among the entry's edges.
    operand_edges : tuple of ndarray, each of shape (k,)
        For each operand array, the edge that its term l fills.
    inner_edges, inner_vertices : ndarray
        Edges within the entry, and the vertex of the entry that each comes from.
    """

    ops: NDArray[np.uint8]
    indptr: Ints
    operand_edges: tuple[Ints, ...]
    inner_edges: Ints
    inner_vertices: Ints

    @classmethod
    def from_codes(cls, ops: NDArray[np.uint8], degree: Ints, codes: Ints, k: int, operands: int) -> Template:
        """From an entry whose codes ``j * k + l`` stand for term l of operand j; negative ones are inner."""
        columns = tuple(
            np.flatnonzero((codes >= j * k) & (codes < (j + 1) * k))[
                np.argsort(codes[(codes >= j * k) & (codes < (j + 1) * k)], kind="stable")
            ]
            for j in range(operands)
        )
        inner = np.flatnonzero(codes < 0)
        indptr = np.concatenate(([0], np.cumsum(degree)))
        return cls(ops, indptr, columns, inner, -1 - codes[inner])


class Target(NamedTuple):
    """The arrays of the graph being written, and the vertex of every value."""

    indptr: Ints
    indices: Ints
    ops: NDArray[np.uint8]
    op_const: Floats | None
    vertex_of: Ints


class Block(Protocol):
    """Consecutive results of one array operation."""

    first: int
    count: int
    layout: tuple[int, str] | None

    @property
    def has_constants(self) -> bool:
        """Whether some vertex of the block has an entry in `op_const`."""

    def mark(self, used: NDArray[np.bool_], keep: NDArray[np.bool_] | None) -> None:
        """Mark the operands of the entries kept; None means that all are."""

    def sizes(self, keep: NDArray[np.bool_] | None) -> tuple[int, int, Ints]:
        """Vertices, edges, and the offset of each kept result from the block's first vertex."""

    def write(self, target: Target, vertex: int, edge: int, keep: NDArray[np.bool_] | None) -> None:
        """Write the block's vertices from `vertex` and its edges from `edge`."""


def ragged_positions(starts: Ints, lengths: Ints) -> Ints:
    """The positions ``starts[i], …, starts[i] + lengths[i] - 1`` of every i, one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def row_major_boxes(shape: tuple[int, ...], budget: int) -> Iterator[tuple[tuple[slice, ...], int]]:
    """Boxes of at most about `budget` entries that cover `shape` in row-major order, with their sizes."""
    axis, inner = len(shape), 1
    while axis > 0 and inner * shape[axis - 1] <= budget:
        axis -= 1
        inner *= shape[axis]
    if axis == 0:
        yield tuple(slice(None) for _ in shape), inner
        return
    split = axis - 1
    step = max(1, budget // inner)
    for lead in np.ndindex(*shape[:split]):
        for lo in range(0, shape[split], step):
            hi = min(lo + step, shape[split])
            yield (*(slice(i, i + 1) for i in lead), slice(lo, hi)), (hi - lo) * inner


class UniformBlock:
    """Entries that all follow one template: elementwise operations, and sums of k terms each.

    Parameters
    ----------
    first : int
        First value.
    shape : tuple of int
        Shape of the entries.
    template : Template
    operands : tuple of ndarray
        Values, each of a shape that broadcasts to ``shape + (k,)``.
    const : float or ndarray of shape (count,), optional
        The constant operand, for templates of one vertex.
    layout : tuple of int and str, optional
        Terms per sum and the name of its layout.
    """

    def __init__(
        self,
        first: int,
        shape: tuple[int, ...],
        template: Template,
        operands: tuple[Ints, ...],
        const: float | Floats | None = None,
        layout: tuple[int, str] | None = None,
    ) -> None:
        self.first = first
        self.shape = shape
        self.count = int(np.prod(shape))
        self.template = template
        self.operands = operands
        self.k = len(template.operand_edges[0])
        self.const = const
        self.layout = layout

    @property
    def has_constants(self) -> bool:
        return self.const is not None

    def _rows(self, operand: Ints, entries: Ints) -> Ints:
        """The k values of each of the chosen entries."""
        full = np.broadcast_to(operand, (*self.shape, self.k))
        rows: Ints = full[np.unravel_index(entries, self.shape)] if self.shape else full[np.newaxis]
        return rows

    def mark(self, used: NDArray[np.bool_], keep: NDArray[np.bool_] | None) -> None:
        for operand in self.operands:
            if keep is None:
                used[operand.ravel()] = True
            else:
                entries = np.flatnonzero(keep)
                step = max(1, _CHUNK // self.k)
                for lo in range(0, len(entries), step):
                    used[self._rows(operand, entries[lo : lo + step]).ravel()] = True

    def sizes(self, keep: NDArray[np.bool_] | None) -> tuple[int, int, Ints]:
        kept = self.count if keep is None else int(np.count_nonzero(keep))
        size = len(self.template.ops)
        return kept * size, kept * int(self.template.indptr[-1]), np.arange(1, kept + 1) * size - 1

    def _chunks(self, vertex_of: Ints, keep: NDArray[np.bool_] | None) -> Iterator[tuple[int, list[Ints]]]:
        """Entries a few at a time: how many, and for each operand its vertices, shape (entries, k)."""
        budget = max(1, _CHUNK // self.k)
        if keep is None:
            vertices = [vertex_of[operand] for operand in self.operands]
            whole = (*self.shape, self.k)
            views = [np.broadcast_to(ids, whole) for ids in vertices]
            for box, number in row_major_boxes(self.shape, budget):
                yield number, [view[box].reshape(number, self.k) for view in views]
        else:
            entries = np.flatnonzero(keep)
            for lo in range(0, len(entries), budget):
                part = entries[lo : lo + budget]
                yield len(part), [vertex_of[self._rows(operand, part)] for operand in self.operands]

    def write(self, target: Target, vertex: int, edge: int, keep: NDArray[np.bool_] | None) -> None:
        ops, indptr, operand_edges, inner_edges, inner_vertices = self.template
        size, degree = len(ops), int(indptr[-1])
        dtype = target.indptr.dtype
        ends = indptr[1:].astype(dtype)
        inner = inner_vertices.astype(dtype)
        if target.op_const is not None and self.const is not None:
            const = np.broadcast_to(self.const, self.count)
            kept = const if keep is None else const[keep]
            target.op_const[vertex : vertex + len(kept)] = kept
        for number, operands in self._chunks(target.vertex_of, keep):
            steps = np.arange(number, dtype=dtype)[:, np.newaxis]
            span = slice(vertex, vertex + number * size)
            target.ops[span].reshape(number, size)[:] = ops
            row_ends = target.indptr[vertex + 1 : vertex + 1 + number * size].reshape(number, size)
            np.add(steps * dtype.type(degree) + dtype.type(edge), ends, out=row_ends)
            rows = target.indices[edge : edge + number * degree].reshape(number, degree)
            for columns, values in zip(operand_edges, operands, strict=True):
                rows[:, columns] = values
            if len(inner):
                rows[:, inner_edges] = steps * dtype.type(size) + dtype.type(vertex) + inner
            vertex += number * size
            edge += number * degree


class GeneralBlock:
    """Entries of different make: mixed operations in one array, sums with constants or repeated operands.

    Parameters
    ----------
    first : int
        First value.
    entry_sizes : ndarray, shape (count,)
        Vertices of each entry, its result last.
    ops : ndarray of uint8, shape (vertices,)
    degree : ndarray, shape (vertices,)
    codes : ndarray, shape (edges,)
        A value, or ``-1 - i`` for the i-th vertex of the same entry.
    const : ndarray of float64, shape (vertices,), optional
    layout : tuple of int and str, optional
    """

    def __init__(
        self,
        first: int,
        entry_sizes: Ints,
        ops: NDArray[np.uint8],
        degree: Ints,
        codes: Ints,
        const: Floats | None = None,
        layout: tuple[int, str] | None = None,
    ) -> None:
        self.first = first
        self.count = len(entry_sizes)
        self.entry_sizes = entry_sizes
        self.ops = ops
        self.degree = degree
        self.codes = codes
        self.const = const
        self.layout = layout

    @property
    def has_constants(self) -> bool:
        return self.const is not None

    def _select(
        self, keep: NDArray[np.bool_] | None
    ) -> tuple[Ints, NDArray[np.uint8], Ints, Ints, Floats | None]:
        if keep is None:
            return self.entry_sizes, self.ops, self.degree, self.codes, self.const
        vertices = np.repeat(keep, self.entry_sizes)
        return (
            self.entry_sizes[keep],
            self.ops[vertices],
            self.degree[vertices],
            self.codes[np.repeat(vertices, self.degree)],
            None if self.const is None else self.const[vertices],
        )

    def mark(self, used: NDArray[np.bool_], keep: NDArray[np.bool_] | None) -> None:
        codes = self._select(keep)[3]
        used[codes[codes >= 0]] = True

    def sizes(self, keep: NDArray[np.bool_] | None) -> tuple[int, int, Ints]:
        sizes, ops, _, codes, _ = self._select(keep)
        return len(ops), len(codes), np.cumsum(sizes) - 1

    def write(self, target: Target, vertex: int, edge: int, keep: NDArray[np.bool_] | None) -> None:
        sizes, ops, degree, codes, const = self._select(keep)
        target.ops[vertex : vertex + len(ops)] = ops
        if target.op_const is not None and const is not None:
            target.op_const[vertex : vertex + len(const)] = const
        # Some entries at a time, so that the temporaries stay small.
        ends = np.cumsum(sizes)
        entry = done = edges_done = 0
        while entry < len(sizes):
            stop = max(entry + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
            upto = int(ends[stop - 1])
            part, widths = sizes[entry:stop], degree[done:upto]
            row_ends = edges_done + np.cumsum(widths, dtype=np.int64)
            edges_upto = int(row_ends[-1])
            target.indptr[vertex + done + 1 : vertex + upto + 1] = edge + row_ends
            found = codes[edges_done:edges_upto]
            starts = np.repeat(np.repeat(vertex + ends[entry:stop] - part, part), widths)
            target.indices[edge + edges_done : edge + edges_upto] = np.where(
                found < 0, starts - 1 - found, target.vertex_of[np.maximum(found, 0)]
            )
            entry, done, edges_done = stop, upto, edges_upto


class InputBlock:
    """The scalars of one declared input."""

    has_constants = False
    layout: tuple[int, str] | None = None

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self.count = count

    def mark(self, used: NDArray[np.bool_], keep: NDArray[np.bool_] | None) -> None:
        """An input has no operands."""

    def sizes(self, keep: NDArray[np.bool_] | None) -> tuple[int, int, Ints]:
        return self.count, 0, np.arange(self.count)

    def write(self, target: Target, vertex: int, edge: int, keep: NDArray[np.bool_] | None) -> None:
        target.ops[vertex : vertex + self.count] = ScalarOp.INPUT
        target.indptr[vertex + 1 : vertex + 1 + self.count] = edge
