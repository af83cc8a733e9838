"""A result that reads at a glance: a few lines of text, or a table of HTML with the schedule's picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pebble.result import Result

if TYPE_CHECKING:
    from pebble.schedule import Schedule

__all__ = ["result_html", "result_text"]

_TITLE_WIDTH = 46
_LABEL_WIDTH = 13
_MOST_NAMED = 3


def result_text(result: Result, name: str = "") -> str:
    """What `str(result)` gives: the cost, the bound and the gap side by side.

    Parameters
    ----------
    result : Result
        Its schedule, if any, is refereed again for the figures shown.
    name : str
        What to call the graph; its spec, or ``custom``, by default.

    Returns
    -------
    str
        Several lines, without a line break at the end.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from pebble.instance import Instance
    >>> from pebble.result import Bound, Status
    >>> from pebble.schedule import Schedule
    >>> s = Schedule.from_moves(Instance(CDAG.from_edges(2, [(0, 1)]), M=2), ["L0", "C1", "S1"])
    >>> bound = Bound(2, "compulsory", "any rules", "")
    >>> print(result_text(Result(Status.OPTIMAL, s, 2, 2, bound, "search")))
    custom, M=2, rules hong-kung                      method search
        I/O cost     2  optimal      loads 1   stores 1
        lower bound  2  compulsory
        computes     1  recomputed 0    peak red 2/2    3 moves
    """
    how = f"method {result.method}" + (f" ({result.why})" if result.why else "")
    bound = "none proved" if result.bound is None else result.bound.name
    if result.schedule is None:
        title = how
        rows = [("I/O cost", "-", result.status.value), ("lower bound", str(result.lower_bound), bound)]
    else:
        from pebble.referee import verify

        cost = verify(result.schedule)
        instance = result.schedule.instance
        spec = f"{name or instance.cdag.name}, M={instance.M}, rules {instance.rules}"
        title = f"{spec:<{_TITLE_WIDTH}}    {how}"
        verdict = result.status.value + (f", gap {result.gap:.1%}" if result.gap else "")
        again = f"recomputed {cost.recomputes}{_recomputed(result.schedule)}"
        if cost.price:
            again += f"    charged {cost.compute_cost:g}"
        rows = [
            ("I/O cost", str(cost.io), f"{verdict}      loads {cost.loads}   stores {cost.stores}"),
            ("lower bound", str(result.lower_bound), bound),
            (
                "computes",
                str(cost.computes),
                f"{again}    peak red {cost.peak_red}/{instance.M}    {len(result.schedule)} moves",
            ),
        ]
    width = max(len(figure) for _, figure, _ in rows)
    if result.limit_hit:
        rows.append(("limit", "", result.limit_hit))
    rows += [(name, _figure(value), "") for name, value in result.stats.items() if _is_plain(value)]
    lines = [
        f"    {name + ' ':<{_LABEL_WIDTH}}{value:>{width}}  {rest}".rstrip() for name, value, rest in rows
    ]
    return "\n".join([title, *lines])


def result_html(result: Result) -> str:
    """A table of the cost, the bound and the gap, and below it the schedule over time.

    Parameters
    ----------
    result : Result
        Its schedule, if any, is refereed again for the figures shown.

    Returns
    -------
    str
        HTML without scripts or style sheets.
    """
    from html import escape

    bound = "none proved" if result.bound is None else f"{result.bound.name} ({result.bound.source})"
    rows = [("status", result.status.value), ("method", result.method)]
    picture, unit, moved = "", "words", ""
    if result.schedule is not None:
        from pebble.draw.svg_strip import schedule_svg
        from pebble.referee import verify

        cost = verify(result.schedule)
        rows.insert(0, ("instance", repr(result.schedule.instance).strip("<>")))
        if cost.load_cost != 1 or cost.store_cost != 1:
            unit, moved = "I/Os", "words "
        rows.append(("I/O cost", f"{cost.io:,} {unit}: {cost.loads:,} {moved}loaded, {cost.stores:,} stored"))
        charged = f", charged {cost.compute_cost:g}" if cost.price else ""
        rows.append(("computes", f"{cost.computes:,}, of which {cost.recomputes:,} again{charged}"))
        rows.append(("peak red", f"{cost.peak_red:,} of {result.schedule.instance.M:,} words"))
        picture = schedule_svg(result.schedule)
    rows.append(("lower bound", f"{result.lower_bound:,} {unit}: {bound}"))
    if result.gap is not None:
        rows.append(("gap", f"{result.gap:.1%}"))
    if result.limit_hit:
        rows.append(("limit", result.limit_hit))
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>{picture}"


def _recomputed(schedule: Schedule) -> str:
    """The vertices computed more than once, where they are few enough to name."""
    vertices, times = np.unique(schedule.order(), return_counts=True)
    again = vertices[times > 1].tolist()
    if not 0 < len(again) <= _MOST_NAMED:
        return ""
    return f" (vertex {again[0]})" if len(again) == 1 else f" (vertices {', '.join(map(str, again))})"


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | np.generic)


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
