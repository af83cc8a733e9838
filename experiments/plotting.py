"""Plots of sweeps: I/O against M, gaps. Each function takes ``ax=`` and returns it; matplotlib is needed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from experiments.running import Record
from experiments.series import Curves, curves, instances
from pebble.errors import FormatError, MissingExtraError, PebbleError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "KINDS", "new_figure", "plot_gap", "plot_io", "plot_sweep", "save_figure"]

FORMATS = ("png", "svg", "pdf")
_MOST_PANELS = 12
# Told apart by colour, by marker and by dashes: each alone is enough. Red and blue are kept for pebbles.
_COLOURS = ("#b8860b", "#117733", "#882299", "#555555", "#00848a", "#8c510a", "#c2407f", "#222222")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
_LABEL = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "red-blue-pebble",
}


def plot_io(source: Sequence[Record] | Curves, *, ax: Axes | None = None) -> Axes:
    """I/O against M on logarithmic axes, one curve per player, down to the best lower bound.

    The band reaches from the best lower bound to the best schedule: the optimum is in it. Dotted lines mark
    where the cheapest player changes, a dashed one M = d² where the graph has a d.

    Parameters
    ----------
    source : sequence of dict, or Curves
        Records of one graph under one rule set, or their curves.
    ax : matplotlib Axes, optional
        A new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    found = source if isinstance(source, Curves) else curves(source)
    ax = _axes(ax)
    for style, (name, curve) in zip(_styles(), found.players.items(), strict=False):
        ax.plot(list(curve), list(curve.values()), label=name, **style)
    if found.lower:
        ax.plot(
            list(found.lower),
            list(found.lower.values()),
            color="black",
            linewidth=1.6,
            label="best lower bound",
        )
    best = found.best
    both = [M for M in best if M in found.lower]
    if both:
        ax.fill_between(
            both,
            [found.lower[M] for M in both],
            [best[M] for M in both],
            color="0.88",
            label="the optimum is here",
            zorder=0,
        )
    ax.set(xscale="log", yscale="log", xlabel="fast memory M (words)", ylabel="I/O (words)")
    _mark_sizes(ax, found)
    ax.set_title(_title(found))
    _finish(ax)
    return ax


def plot_gap(source: Sequence[Record] | Curves, *, ax: Axes | None = None) -> Axes:
    """I/O over the best lower bound against M: 1 is proved optimal.

    Parameters
    ----------
    source : sequence of dict, or Curves
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    PebbleError
        There is no lower bound to compare with.
    """
    found = source if isinstance(source, Curves) else curves(source)
    if not any(found.lower.values()):
        raise PebbleError(f"no lower bounds for {found.graph}: sweep with --bounds best")
    ax = _axes(ax)
    for style, (name, curve) in zip(_styles(), found.players.items(), strict=False):
        ratios = {M: io / found.lower[M] for M, io in curve.items() if found.lower.get(M)}
        ax.plot(list(ratios), list(ratios.values()), label=name, **style)
    ax.axhline(1, color="black", linewidth=1.6, label="proved optimal")
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="fast memory M (words)",
        ylabel="I/O / best lower bound (no unit)",
    )
    _mark_sizes(ax, found)
    ax.set_title(_title(found))
    _finish(ax)
    return ax


KINDS: dict[str, Callable[..., Any]] = {"io": plot_io, "gap": plot_gap}


def plot_sweep(records: Sequence[Record], kind: str = "io") -> Figure:
    """One panel per graph and rule set.

    Parameters
    ----------
    records : sequence of dict
    kind : str
        ``io`` or ``gap``.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    PebbleError
        There is nothing to plot, or more panels than can be read.
    """
    found = instances(records)
    if not found:
        raise PebbleError("there are no runs with figures to plot")
    if len(found) > _MOST_PANELS:
        raise PebbleError(
            f"{len(found)} graphs and rule sets are too many for one picture: choose with --graph"
        )
    columns = 1 if len(found) == 1 else 2
    rows = math.ceil(len(found) / columns)
    figure, axes = new_figure(rows, columns)
    for ax, (graph, rules) in zip(axes, found, strict=False):
        KINDS[kind](curves(records, graph, rules), ax=ax)
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    return figure


def new_figure(
    rows: int = 1, columns: int = 1, width: float = 7.2, height: float = 3.8
) -> tuple[Figure, Any]:
    """A figure that no window manager knows of, and its axes in a list; sizes in inches per panel."""
    _require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure; the name's ending says how: png, svg or pdf. The same figure gives the same bytes.

    Raises
    ------
    FormatError
        Another ending, or the file cannot be written.
    """
    import matplotlib

    from pebble.formats.files import atomic_writer

    name = os.fspath(path)
    kind = name.rpartition(".")[2].lower()
    if kind not in FORMATS:
        raise FormatError(name, f"a plot is written as one of .{', .'.join(FORMATS)}")
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with matplotlib.rc_context(_STYLE), atomic_writer(path) as stream:
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    _, axes = new_figure()
    made: Axes = axes[0]
    return made


def _styles() -> Iterator[dict[str, Any]]:
    i = 0
    while True:
        yield {
            "color": _COLOURS[i % len(_COLOURS)],
            "marker": _MARKERS[i % len(_MARKERS)],
            "linestyle": _DASHES[i % len(_DASHES)],
            "markersize": 4,
            "linewidth": 1.2,
        }
        i += 1


def _mark_sizes(ax: Axes, found: Curves) -> None:
    """Vertical lines at d² and where the cheapest player changes, named in the plot."""
    sizes = [*found.best, *found.lower]
    square = None if found.d is None else found.d**2
    if square is not None and min(sizes) <= square <= max(sizes):
        ax.axvline(square, color="0.35", linestyle=(0, (6, 3)), linewidth=1, zorder=1)
        ax.text(
            square,
            0.04,
            " M = d²",
            transform=ax.get_xaxis_transform(),
            ha="left",
            va="bottom",
            fontsize=8,
            bbox=_LABEL,
        )
    for i, crossing in enumerate(found.crossings()):
        where = f"{crossing.M:,.0f}" if square is None else f"{crossing.M / square:.2f} d²"
        ax.axvline(crossing.M, color="0.6", linestyle=":", linewidth=1, zorder=1)
        ax.text(
            crossing.M,
            0.98 - 0.06 * (i % 3),
            f" {where}",
            transform=ax.get_xaxis_transform(),
            ha="left",
            va="top",
            fontsize=7,
            bbox=_LABEL,
        )


def _finish(ax: Axes) -> None:
    """Ticks in plain numbers where an axis spans few decades, the legend beside the plot."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if high / low < 200:
            axis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, frameon=False, fontsize=8)


def _title(found: Curves) -> str:
    return found.graph if found.rules == "hong-kung" else f"{found.graph}, {found.rules} rules"


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("plots need matplotlib: pip install 'red-blue-pebble[plot]'") from error


@contextmanager
def plot_style() -> Iterator[None]:
    """The plots' fonts and frames, for figures made elsewhere."""
    _require_matplotlib()
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield
