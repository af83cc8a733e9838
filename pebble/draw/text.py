"""A position or a graph as text: a letter per vertex, arrays as matrices, layers as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pebble.cdag import CDAG
from pebble.draw.arrays import ArrayBlock, array_blocks, has_array_form
from pebble.draw.layers import find_layers
from pebble.draw.position import Position
from pebble.naming import vertex_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BEGUN_MARKS", "MARKS", "graph_text", "position_text"]

# One letter per vertex: so that a position reads without colour.
MARKS = {"R": "red", "B": "blue", "P": "red and blue", "x": "computed, no pebble left", ".": "no pebble"}
# Under partial rules small letters stand for values that are not complete.
BEGUN_MARKS = {"r": "red, not complete", "b": "blue, not complete", "p": "both, not complete"}
_MOST_VERTICES = 2_000
_MOST_LISTED = 120
_WIDTH = 100


def position_text(cdag: CDAG, position: Position) -> str:
    """The pebbles of a position.

    Parameters
    ----------
    cdag : CDAG
    position : Position

    Returns
    -------
    str
        Arrays as matrices of letters, other graphs layer by layer, sources last: ``R`` red, ``B`` blue,
        ``P`` both, ``x`` computed before, ``.`` none; small letters for values that partial rules have
        not completed. Above 2,000 vertices, counts per array or layer.

    Examples
    --------
    >>> g = CDAG.from_edges(3, [(0, 2), (1, 2)])
    >>> print(position_text(g, Position.start(g)))
    layer 1  v2 .
    layer 0  v0 B  v1 B
    """
    if cdag.num_vertices > _MOST_VERTICES:
        return _counts(cdag, position)
    marks = _marks(position)
    return _matrices(cdag, marks) if has_array_form(cdag) else _layer_lines(cdag, marks)


def graph_text(cdag: CDAG) -> str:
    """A small graph: each computed vertex with what it is computed from, layer by layer.

    Examples
    --------
    >>> print(graph_text(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)])))
    layer 0  sources: v0, v1
    layer 1  v2 from v0, v1
    layer 2  v3 from v2 (output)
    """
    if cdag.num_vertices > _MOST_LISTED:
        return _counts(cdag, None)
    names = vertex_names(cdag)
    layers = find_layers(cdag)
    lines = []
    if layers.depth:
        sources = ", ".join(names[v] + _output(cdag, v) for v in sorted(layers[0].tolist()))
        lines += _folded(f"layer 0  sources: {sources}", len("layer 0  "))
    for l in range(1, layers.depth):
        head = f"layer {l}  "
        for v in sorted(layers[l].tolist()):
            operands = ", ".join(names[u] for u in cdag.preds(v).tolist())
            lines += _folded(f"{head}{names[v]} from {operands}{_output(cdag, v)}", len(head))
            head = " " * len(head)
    return "\n".join(lines)


def _output(cdag: CDAG, v: int) -> str:
    return " (output)" if cdag.is_output[v] else ""


def _marks(position: Position) -> NDArray[np.str_]:
    marks = np.full(len(position.red), ".", dtype="<U1")
    marks[position.computed] = "x"
    marks[position.blue] = "B"
    marks[position.red] = np.where(position.blue[position.red], "P", "R")
    if position.begun is not None:
        begun = position.begun > 0
        marks[begun] = np.char.lower(marks[begun])
    return marks


def _layer_lines(cdag: CDAG, marks: NDArray[np.str_]) -> str:
    names = vertex_names(cdag)
    layers = find_layers(cdag)
    width = max(map(len, names), default=0)
    head = len(f"layer {layers.depth - 1}  ")
    per_line = max(1, (_WIDTH - head) // (width + 4))
    lines = []
    for l in range(layers.depth - 1, -1, -1):
        cells = [f"{names[v]:>{width}} {marks[v]}" for v in layers[l].tolist()]
        for lo in range(0, len(cells), per_line):
            start = f"layer {l}" if lo == 0 else ""
            lines.append(f"{start:<{head}}" + "  ".join(cells[lo : lo + per_line]))
    return "\n".join(lines)


def _matrices(cdag: CDAG, marks: NDArray[np.str_]) -> str:
    """Arrays side by side; an entry's partial results are counted beside the matrix."""
    pictures = [_matrix(block, marks) for block in array_blocks(cdag)]
    shelves: list[list[list[str]]] = [[]]
    for picture in pictures:
        used = sum(len(other[0]) + 3 for other in shelves[-1])
        if shelves[-1] and used + len(picture[0]) > _WIDTH:
            shelves.append([])
        shelves[-1].append(picture)
    lines = []
    for shelf in shelves:
        height = max(map(len, shelf))
        rows = (
            "   ".join(p[row] if row < len(p) else " " * len(p[0]) for p in shelf) for row in range(height)
        )
        lines += [*(row.rstrip() for row in rows), ""]
    return "\n".join(lines).rstrip()


def _matrix(block: ArrayBlock, marks: NDArray[np.str_]) -> list[str]:
    cells = np.full(block.rows * block.columns, " ", dtype="<U1")
    own = block.inner < 0
    cells[block.entry[own]] = marks[block.vertices[own]]
    rows = [" ".join(row) for row in cells.reshape(block.rows, block.columns).tolist()]
    title = block.title
    if not own.all():
        partial = marks[block.vertices[~own]]
        red, blue = int(np.isin(partial, list("RPrp")).sum()), int(np.isin(partial, list("BPbp")).sum())
        title += f" + {red}R {blue}B of {len(partial)} partial"
    width = max(len(title), *map(len, rows))
    return [f"{line:<{width}}" for line in (title, *rows)]


def _counts(cdag: CDAG, position: Position | None) -> str:
    groups: list[tuple[str, NDArray[np.int64]]]
    if has_array_form(cdag):
        groups = [(block.title, block.vertices) for block in array_blocks(cdag)]
    else:
        layers = find_layers(cdag)
        groups = [(f"layer {l}", layers[l]) for l in range(min(layers.depth, _MOST_LISTED))]
        if layers.depth > _MOST_LISTED:
            groups.append(
                (f"layers {_MOST_LISTED}-{layers.depth - 1}", layers.order[layers.starts[_MOST_LISTED] :])
            )
    width = max(len(title) for title, _ in groups)
    lines = []
    for title, vertices in groups:
        line = f"{title:<{width}}  {len(vertices):>9,} vertices"
        if position is not None:
            red, blue = int(position.red[vertices].sum()), int(position.blue[vertices].sum())
            done = int(position.computed[vertices].sum())
            line += f"  {red:>9,} red  {blue:>9,} blue  {done:>9,} computed"
        lines.append(line)
    return "\n".join(lines)


def _folded(text: str, indent: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _WIDTH, subsequent_indent=" " * (indent + 2), break_on_hyphens=False)
