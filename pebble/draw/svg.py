"""Drawings as SVG text, without any library: a graph or a position, and a schedule over time."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pebble.cdag import CDAG
from pebble.draw.layers import LAYER_GAP
from pebble.draw.layout import Layout, lay_out
from pebble.draw.position import Position
from pebble.naming import vertex_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BLUE",
    "FAINT",
    "INK",
    "LINE",
    "RED",
    "graph_svg",
    "label",
    "position_svg",
    "rectangle",
    "svg_document",
]

# Red and blue pebbles are literally red and blue, and differ in shape as well: a disc and a square.
RED, BLUE, BEGUN = "#c0392b", "#2471a3", "#1e8449"
INK, FAINT, LINE, CELL_EDGE, EDGE = "#1d2229", "#5c6672", "#d5dae1", "#aeb7c2", "#97a2af"
# Vertices of a drawing; beyond, tiles and runs stand for them.
MOST_DRAWN = 600
_MOST_EDGES = 4_000
# Larger graphs are not drawn unasked: their layout alone takes seconds.
MOST_LAID_OUT = 1_000_000
_MARGIN = 14.0
_CHARACTER = 0.62  # width of a character in font sizes, on the safe side


def graph_svg(cdag: CDAG, kind: str = "auto") -> str:
    """A graph with the pebbles of the start.

    Parameters
    ----------
    cdag : CDAG
    kind : {"auto", "layers", "arrays"}

    Returns
    -------
    str
        One ``<svg>`` element. Above 600 vertices, tiles of arrays or runs of layers.

    Examples
    --------
    >>> graph_svg(CDAG.from_edges(3, [(0, 2), (1, 2)])).startswith("<svg")
    True
    """
    return position_svg(cdag, Position.start(cdag), kind)


def position_svg(cdag: CDAG, position: Position, kind: str = "auto") -> str:
    """A position: blue squares, red discs, a dot where a value was computed and has no pebble left.

    Under partial rules the pebbles of a value that is not complete are hollow, and a ring around it fills
    with the predecessors that are aggregated.
    """
    layout = lay_out(cdag, kind, MOST_DRAWN)
    has_edges = layout.exact and layout.kind == "layers" and cdag.num_edges <= _MOST_EDGES
    fits = min(900 / layout.width, 560 / layout.height)
    scale = float(np.clip(fits, 4.0, 52.0 if layout.kind == "layers" else 30.0))
    caption_height = 13.0
    parts: list[str] = []
    for frame in layout.frames:
        x, y, w, h = (scale * side + _MARGIN for side in (frame.x, frame.y, frame.width, frame.height))
        w, h = w - _MARGIN, h - _MARGIN
        parts.append(rectangle(x - 2, y - 2, w + 4, h + 4, "none", LINE))
        # Without its shape where the title would run into the next one.
        fits = len(frame.title) * 11 * _CHARACTER <= (frame.width + 2.1) * scale
        title = frame.title if fits else frame.title.partition(" ")[0]
        parts.append(label(x - 2, y - 5, title, 11, FAINT, bold=True))
    if has_edges:
        parts.append(_edges(cdag, layout, scale))
    red, blue, past = _levels(layout, position)
    begun = [0.0] * layout.num_cells
    if layout.exact and position.begun is not None:
        begun = position.begun.tolist()
    for c in range(layout.num_cells):
        x, y = layout.x[c] * scale + _MARGIN, layout.y[c] * scale + _MARGIN
        output = layout.exact and bool(cdag.is_output[c])
        parts.append(
            _cell(x, y, layout.size[c] * scale, layout.exact and layout.kind == "layers", output)
            + _pebbles(
                x, y, layout.size[c] * scale, float(red[c]), float(blue[c]), bool(past[c]), begun[c] > 0
            )
        )
        if begun[c] > 0:
            parts.append(_ring(x, y, layout.size[c] * scale, begun[c], layout.kind == "layers"))
    if layout.exact and layout.kind == "layers" and scale >= 26:
        parts.append(_names(cdag, layout, scale))
    widest = max(
        (frame.x * scale + len(frame.title) * 11 * _CHARACTER for frame in layout.frames), default=0.0
    )
    least = 330.0 if position.begun is None else 440.0
    width = max(layout.width * scale, widest, least) + 2 * _MARGIN
    height = layout.height * scale + 2 * _MARGIN + caption_height
    parts.append(_legend(_MARGIN, height - 6, partial=position.begun is not None))
    return svg_document(width, height + 4, f"{cdag.name}: {cdag.num_vertices} vertices", parts)


def svg_document(width: float, height: float, title: str, parts: list[str]) -> str:
    """The whole ``<svg>`` element, on white paper."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="DejaVu Sans, sans-serif">'
    body = "\n".join(part for part in parts if part)
    paper = f'<rect width="{width:.0f}" height="{height:.0f}" rx="6" fill="#ffffff"/>'
    return f"{head}\n<title>{escape(title)}</title>\n{paper}\n{body}\n</svg>"


def _levels(
    layout: Layout, position: Position
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """How full each cell is of red and of blue, and whether only past values are in it."""
    shares = [
        np.minimum(np.bincount(layout.cell_of[mask], minlength=layout.num_cells) / layout.scale, 1.0)
        for mask in (position.red, position.blue, position.computed)
    ]
    red, blue, done = shares
    return red, blue, (done > 0) & (red == 0) & (blue == 0)


def _cell(x: float, y: float, side: float, is_round: bool, output: bool) -> str:
    edge, width = (INK, 2.0) if output else (CELL_EDGE, 1.0)
    if is_round:
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{side / 2:.1f}" fill="#fff" stroke="{edge}" '
            f'stroke-width="{width:g}"/>'
        )
    return rectangle(x - side / 2, y - side / 2, side, side, "#fff", edge, width if side > 8 else width / 2)


def _pebbles(
    x: float, y: float, side: float, red: float, blue: float, past: bool, hollow: bool = False
) -> str:
    text = ""
    if blue:
        b = side * 0.66 * max(blue, 0.06) ** 0.5
        text += (
            rectangle(x - b / 2, y - b / 2, b, b, "none", BLUE, 2)
            if hollow
            else rectangle(x - b / 2, y - b / 2, b, b, BLUE)
        )
    if red and hollow:
        r = side * (0.18 if blue else 0.28)
        text += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="none" stroke="{RED}" stroke-width="2"/>'
    elif red:
        r = side * (0.22 if blue else 0.32) * max(red, 0.06) ** 0.5
        ring = f' stroke="#fff" stroke-width="{max(0.6, side / 16):.1f}"' if blue else ""
        text += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="{RED}"{ring}/>'
    if past:
        text += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{max(0.8, side * 0.09):.1f}" fill="{FAINT}"/>'
    return text


def _ring(x: float, y: float, side: float, share: float, is_round: bool) -> str:
    """The outline of a cell, of which a share is marked, clockwise from the top or its left corner."""
    width = max(1.5, min(4.0, side / 9))
    r = (side - width) / 2
    if is_round:
        outline = f"M{x:.1f} {y - r:.1f}a{r:.1f} {r:.1f} 0 1 1 -0.01 0"
    else:
        outline = f"M{x - r:.1f} {y - r:.1f}h{2 * r:.1f}v{2 * r:.1f}h{-2 * r:.1f}z"
    shape = f'<path d="{outline}" pathLength="1" fill="none" stroke-width="{width:.1f}"'
    return f'{shape} stroke="{LINE}"/>{shape} stroke="{BEGUN}" stroke-dasharray="{share:.3f} 1"/>'


def _edges(cdag: CDAG, layout: Layout, scale: float) -> str:
    pieces = []
    for u, v in cdag.edges().tolist():
        x0, y0, x1, y1 = (
            float(value) * scale + _MARGIN for value in (layout.x[u], layout.y[u], layout.x[v], layout.y[v])
        )
        length = float(np.hypot(x1 - x0, y1 - y0)) or 1.0
        # An edge that passes over other layers is bent, so that it does not run through their vertices.
        over = abs(y1 - y0) if layout.upward else abs(x1 - x0)
        bend = min(0.6 * scale, 0.08 * length) if over > 1.4 * LAYER_GAP * scale else 0.0
        if bend:
            cx = (x0 + x1) / 2 - (y1 - y0) / length * bend
            cy = (y0 + y1) / 2 + (x1 - x0) / length * bend
            pieces.append(f"M{x0:.1f} {y0:.1f}Q{cx:.1f} {cy:.1f} {x1:.1f} {y1:.1f}")
        else:
            pieces.append(f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}")
    return f'<path d="{"".join(pieces)}" fill="none" stroke="{EDGE}" stroke-width="1"/>'


def _names(cdag: CDAG, layout: Layout, scale: float) -> str:
    size = min(11.0, scale * 0.26)
    room = max(2, int(scale * 1.02 / (size * _CHARACTER)))
    parts = []
    for v, name in enumerate(vertex_names(cdag)):
        shown = name if len(name) <= room else name[: room - 1] + "…"
        x = layout.x[v] * scale + _MARGIN
        y = (layout.y[v] + layout.size[v] / 2) * scale + _MARGIN + size
        parts.append(label(x, y, shown, size, INK, anchor="middle", halo=True))
    return "".join(parts)


def _legend(x: float, y: float, *, partial: bool) -> str:
    disc = f'<circle cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="4.5" fill="{RED}"/>'
    square = rectangle(x + 60, y - 8, 8, 8, BLUE)
    dot = f'<circle cx="{x + 124:.1f}" cy="{y - 4:.1f}" r="2" fill="{FAINT}"/>'
    output = rectangle(x + 247, y - 9, 9, 9, "#fff", INK, 2)
    words = [(14, "red"), (73, "blue"), (131, "computed before"), (261, "output")]
    if partial:
        output += _ring(x + 318, y - 4, 11, 0.4, is_round=True)
        words.append((328, "hollow: not complete"))
    return disc + square + dot + output + "".join(label(x + dx, y, word, 11, FAINT) for dx, word in words)


def rectangle(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "", stroke_width: float = 1.0
) -> str:
    edge = f' stroke="{stroke}" stroke-width="{stroke_width:g}"' if stroke else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{edge}/>'


def label(
    x: float,
    y: float,
    text: str,
    size: float,
    fill: str,
    *,
    anchor: str = "start",
    bold: bool = False,
    halo: bool = False,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    around = ' stroke="#fff" stroke-width="3" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.3g}" text-anchor="{anchor}" '
        f'fill="{fill}"{weight}{around}>{escape(text)}</text>'
    )
