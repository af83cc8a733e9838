"""A whole schedule as one SVG: vertices down, time to the right, and the fast memory below."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pebble.draw.aggregation import aggregate
from pebble.draw.effects import Replay
from pebble.draw.svg import BLUE, FAINT, INK, LINE, RED, label, rectangle, svg_document
from pebble.moves import Op
from pebble.naming import vertex_names

if TYPE_CHECKING:
    from pebble.schedule import Schedule

__all__ = ["schedule_svg"]

# A strip of so many vertices and moves shows each one; larger schedules are grouped.
_MOST_ROWS = 120
_PALE = "#e3a69e"
_MOST_MOVES = 1_500
_WIDTH = 860.0
_CHART = 56.0
_TOP = 26.0
_BOTTOM = 22.0


def schedule_svg(schedule: Schedule) -> str:
    """Who is in which memory when.

    Parameters
    ----------
    schedule : Schedule
        Refereed first: an illegal one is drawn up to the first broken rule, which is written below.

    Returns
    -------
    str
        One ``<svg>`` element. A thick red bar while a vertex is red, a thin blue line while it is blue;
        triangles mark loads (up) and stores (down), ticks mark computes. Below, the red words over time.
        Above 120 vertices or 1,500 moves, rows and columns stand for groups, and the height of a bar for
        how full the group is. Under partial rules a bar is pale until its value is complete.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from pebble.instance import Instance
    >>> from pebble.schedule import Schedule
    >>> inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3)
    >>> svg = schedule_svg(Schedule.from_moves(inst, ["L0", "L1", "C2", "S2"]))
    >>> svg.startswith("<svg"), "v2" in svg
    (True, True)
    """
    schedule, problem = _legal_part(schedule)
    n, count = schedule.instance.cdag.num_vertices, len(schedule)
    exact = n <= _MOST_ROWS and count <= _MOST_MOVES
    names = vertex_names(schedule.instance.cdag) if exact else []
    left = float(np.clip(16 + 6.6 * max(map(len, names), default=0), 70.0, 150.0))
    right = _WIDTH - 16
    rows = n if exact else min(n, _MOST_ROWS)
    row = float(np.clip(420 / max(rows, 1), 3.5, 16.0))
    bottom = _TOP + rows * row
    parts = (
        _exact_rows(schedule, names, left, right, row) if exact else _grouped_rows(schedule, left, right, row)
    )
    parts += _memory(schedule, left, right, bottom + 16)
    title = f"{schedule.instance.cdag.name}, M={schedule.instance.M}"
    by = f", {schedule.producer}" if schedule.producer else ""
    caption = f"{title}, {count:,} moves{by}"
    room = 58 if schedule.instance.rules.partial else 64  # characters, up to the key
    if len(caption) > room:
        caption = caption[: room - 1] + "…"
    parts.append(label(8, 16, caption, 12, INK, bold=True))
    parts.append(_key(right, exact, partial=schedule.instance.rules.partial))
    height = bottom + 16 + _CHART + _BOTTOM
    if problem:
        height += 18
        shown = problem if len(problem) <= 120 else problem[:119] + "…"
        parts.append(label(8, height - 8, f"then illegal: {shown}", 11, INK, bold=True))
    return svg_document(_WIDTH, height, title, parts)


def _legal_part(schedule: Schedule) -> tuple[Schedule, str]:
    """The moves before the first broken rule, and what breaks it."""
    from pebble.errors import IllegalMoveError, IncompleteScheduleError
    from pebble.referee import verify

    try:
        verify(schedule)
    except IncompleteScheduleError:
        pass  # a game in progress is drawn as well
    except IllegalMoveError as error:
        return dataclasses.replace(schedule, moves=schedule.moves[: error.index]), str(error)
    return schedule, ""


class _Stay(NamedTuple):
    """A vertex has a pebble from one time to another; `pale` while its value is not complete."""

    vertex: int
    start: int
    end: int
    pale: bool


def _stays(schedule: Schedule) -> tuple[list[_Stay], list[_Stay]]:
    """Every time that a vertex is red, in two parts if its value is completed then, and every time blue."""
    replay = Replay(schedule.instance)
    partial = schedule.instance.rules.partial
    red: dict[int, int] = dict.fromkeys(np.flatnonzero(replay.red).tolist(), 0)
    blue: dict[int, int] = dict.fromkeys(np.flatnonzero(replay.blue).tolist(), 0)
    complete = set(np.flatnonzero(replay.computed).tolist())
    done = replay.play(schedule.moves)
    reds, blues = [], []

    def end(v: int, t: int) -> None:
        if (since := red.pop(v)) < t:
            reds.append(_Stay(v, since, t, partial and v not in complete))

    rows = zip(*(part.tolist() for part in (done.vertices, done.red, done.blue, done.completed)), strict=True)
    for t, (v, reddened, blued, completed) in enumerate(rows):
        if reddened > 0:
            red[v] = t
        elif reddened < 0:
            end(v, t)
        if blued > 0:
            blue[v] = t + 1
        elif blued < 0:
            blues.append(_Stay(v, blue.pop(v), t, False))
        if completed:
            if partial:
                end(v, t)
                red[v] = t
            complete.add(v)
    for v in list(red):
        end(v, len(schedule))
    blues += [_Stay(v, t, len(schedule), False) for v, t in sorted(blue.items())]
    return reds, blues


def _exact_rows(schedule: Schedule, names: list[str], left: float, right: float, row: float) -> list[str]:
    count = max(1, len(schedule))
    step = (right - left) / count
    middle = [_TOP + (v + 0.5) * row for v in range(len(names))]
    font = min(11.0, row * 0.85)
    parts = []
    for v, name in enumerate(names):
        if v % 2:
            parts.append(rectangle(left, _TOP + v * row, right - left, row, "#f5f6f8"))
        if row >= 6:
            shown = name if len(name) <= 20 else name[:19] + "…"
            parts.append(label(left - 6, middle[v] + font * 0.36, shown, font, INK, anchor="end"))
    reds, blues = _stays(schedule)
    for v, start, end, _ in blues:
        x = left + start * step
        parts.append(rectangle(x, middle[v] - row * 0.06, (end - start) * step, max(0.8, row * 0.12), BLUE))
    for v, start, end, pale in reds:
        x = left + start * step
        colour = _PALE if pale else RED
        parts.append(rectangle(x, middle[v] - row * 0.28, (end - start) * step, row * 0.56, colour))
    # Marks as wide as a move, or as a row is high.
    half = min(row * 0.28, max(step * 0.5, 1.5))
    done = Replay(schedule.instance).play(schedule.moves)
    for t, (op, v) in enumerate(zip(done.ops.tolist(), done.vertices.tolist(), strict=True)):
        x, y = left + (t + 0.5) * step, middle[v]
        if op == Op.LOAD:
            parts.append(_triangle(x, y - half, half, half, "#fff"))
        elif op == Op.STORE:
            parts.append(_triangle(x, y + half, half, -half, BLUE))
        elif op == Op.COMPUTE:
            parts.append(rectangle(x - 0.6, y - half, 1.2, 2 * half, "#fff"))
    return parts


def _triangle(x: float, tip: float, half: float, height: float, fill: str) -> str:
    base = tip + 2 * height
    points = f"{x:.1f},{tip:.1f} {x - half:.1f},{base:.1f} {x + half:.1f},{base:.1f}"
    edge = "" if fill == "#fff" else ' stroke="#fff" stroke-width="0.7"'
    return f'<polygon points="{points}" fill="{fill}"{edge}/>'


def _grouped_rows(schedule: Schedule, left: float, right: float, row: float) -> list[str]:
    """Groups of consecutive ids over steps of time; bars are as high as the groups are full."""
    n = schedule.instance.cdag.num_vertices
    rows = min(n, _MOST_ROWS)
    cell_of = np.arange(n) * rows // max(n, 1)
    scale = np.bincount(cell_of, minlength=rows)
    steps = aggregate(schedule.instance, schedule.moves, cell_of, scale, 240)
    columns = len(steps.ends) - 1
    step = (right - left) / columns
    parts = []
    for r in range(rows):
        y = _TOP + (r + 0.5) * row
        if r % 2:
            parts.append(rectangle(left, y - row / 2, right - left, row, "#f5f6f8"))
        if r % max(1, int(np.ceil(14 / row))) == 0:
            parts.append(label(left - 6, y + 3, f"{int(np.argmax(cell_of == r)):,}", 9, FAINT, anchor="end"))
        for levels, colour, thick in ((steps.blue, BLUE, 0.35), (steps.red, RED, 0.95)):
            # Runs of equal fullness are one bar; what is hardly full is still seen.
            shown = np.ceil(levels[1:, r].astype(np.int64) * 8 / 255)
            edges = np.concatenate(([0], np.flatnonzero(np.diff(shown)) + 1, [columns]))
            for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                if shown[lo]:
                    height = row * thick * (0.25 + 0.75 * float(shown[lo]) / 8)
                    parts.append(
                        rectangle(left + lo * step, y - height / 2, (hi - lo) * step, height, colour)
                    )
    return parts


def _memory(schedule: Schedule, left: float, right: float, top: float) -> list[str]:
    """The red words over time, against M."""
    instance = schedule.instance
    bottom = top + _CHART - 6
    x, held = _held(schedule)
    most = max(instance.M, int(held.max(initial=0)))
    if most > 4 * max(int(held.max(initial=0)), 1):
        most = max(int(held.max(initial=0)), 1)  # M far above all that is used would flatten the curve
    total = max(1, len(schedule))
    points = [f"{left:.1f},{bottom:.1f}"]
    for i in range(len(x)):
        px = left + float(x[i]) / total * (right - left)
        py = bottom - float(held[i]) / most * (bottom - top)
        if i and len(x) <= 2_000:
            points.append(f"{px:.1f},{bottom - float(held[i - 1]) / most * (bottom - top):.1f}")
        points.append(f"{px:.1f},{py:.1f}")
    points.append(f"{right:.1f},{bottom:.1f}")
    parts = [f'<polygon points="{" ".join(points)}" fill="{RED}" fill-opacity="0.25" stroke="{RED}"/>']
    parts.append(rectangle(left, bottom, right - left, 0.8, LINE))
    if most >= instance.M:
        y = bottom - instance.M / most * (bottom - top)
        parts.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{INK}" stroke-dasharray="3 3"/>')
    parts.append(label(left - 6, top + 8, f"M={instance.M:,}", 9, INK, anchor="end"))
    parts.append(label(left - 6, bottom, "red words", 9, FAINT, anchor="end"))
    parts.append(label(right, bottom + 14, f"move {len(schedule):,}", 10, FAINT, anchor="end"))
    parts.append(label(left, bottom + 14, "move 0", 10, FAINT))
    return parts


def _held(schedule: Schedule) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Times and red words: after every move, or the most in each of 800 steps; never above M in a slide."""
    cdag = schedule.instance.cdag
    if len(schedule) > 2_000:
        one = np.zeros(cdag.num_vertices, dtype=np.int64)
        steps = aggregate(schedule.instance, schedule.moves, one, np.array([cdag.num_vertices]), 800)
        return steps.ends, steps.peak
    replay = Replay(schedule.instance)
    done = replay.play(schedule.moves)
    held = replay.red_words + np.concatenate(([0], np.cumsum(done.red * done.words)))
    return np.arange(len(held)), np.minimum(held, replay.capacity)


def _key(right: float, exact: bool, *, partial: bool) -> str:
    signs = [("red", rectangle(0, 8.5, 16, 7, RED)), ("blue", rectangle(0, 11.5, 16, 1.8, BLUE))]
    if exact:
        if partial:
            signs.insert(1, ("not complete", rectangle(0, 8.5, 16, 7, _PALE)))
        bar = rectangle(0, 8.5, 16, 7, RED)
        signs.append(("load", bar + _triangle(4, 8.8, 3, 3.2, "#fff")))
        signs.append(("compute", bar + rectangle(3, 8.5, 1.2, 7, "#fff")))
        signs.append(("store", bar + _triangle(11, 15.6, 3.4, -3.4, BLUE)))
    parts = []
    x = right
    for word, sign in reversed(signs):
        x -= 30 + 6.2 * len(word)
        parts.append(f'<g transform="translate({x:.1f} 0)">{sign}{label(20, 16, word, 10, FAINT)}</g>')
    return "".join(parts)
