"""The report's pictures: Figure 1 as formulas and as counts, the band of the optimum, gaps, peaks."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.paper.document import Picture
from experiments.paper.studies import LARGE, NAMES, PROGRAMS, SMALL, Facts, Scale
from experiments.plotting import new_figure, plot_gap, plot_io, plot_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_one", "gap_picture", "io_picture", "peak_picture"]

# The published figure's own colours; the dashes tell the curves apart as well.
_THEOREM: dict[str, Any] = {"color": "#c0392b", "linestyle": "-", "linewidth": 2.2}
_FLASH: dict[str, Any] = {"color": "#2471a3", "linestyle": "--", "linewidth": 1.6}
_LAST = 4.0


def figure_one(facts: Facts, scale: Scale) -> Picture:
    """Both curves as formulas, and beside them what is counted at a true size, on the same axes."""
    from solvers.lower_bounds.asymptotic import theorem_1_1

    figure, (left, right) = new_figure(1, 2, width=5.0, height=3.6)
    n, d = scale.n, scale.d
    ratio = np.linspace(1 / 64, _LAST, 400)
    theorem = np.array([theorem_1_1(n, d, float(r * d * d)) for r in ratio])  # type: ignore[arg-type]
    flash = n * d * (n + d) / (ratio * d)
    left.plot(ratio, theorem, label="theorem 1.1: min(d/M, 1/√M)", **_THEOREM)
    left.plot(ratio, flash, label="FlashAttention: d/M", **_FLASH)
    left.set_title(f"formulas, constant 1; n = {n:,}, d = {d}")
    found = facts.curves(scale, PROGRAMS)
    markers: dict[str, dict[str, Any]] = {
        "flash-attention": _FLASH | {"marker": "^"},
        "flash-attention-1": {"color": "#555555", "marker": "D"},
    }
    markers["algorithm6:tiles=square"] = {"color": "#b8860b", "marker": "s", "linestyle": "-."}
    markers["algorithm6:tiles=streaming"] = {"color": "#117733", "marker": "o", "linestyle": ":"}
    for name, style in markers.items():
        curve = {M: v for M, v in found.players.get(NAMES[name], {}).items() if _LAST * d * d >= M}
        shown: dict[str, Any] = {"markersize": 4, "linewidth": 1.2, **style}
        right.plot([M / d**2 for M in curve], list(curve.values()), label=NAMES[name], **shown)
    lower = {M: v for M, v in found.lower.items() if _LAST * d * d >= M}
    right.plot([M / d**2 for M in lower], list(lower.values()), color="black", label="lower bound")
    right.set_title(f"counted words; n = {n:,}, d = {d}")
    # As in the published figure the steep part is cut off, so that the crossing can be seen.
    counted = found.players[NAMES["algorithm6:tiles=square"]]
    left.set_ylim(0, 1.05 * float(theorem[0]))
    right.set_ylim(0, 1.05 * max(counted[M] for M in counted if d * d / 16 <= M))
    for ax in (left, right):
        ax.axvline(1, color="0.35", linestyle=":", linewidth=1)
        ax.text(1.03, 0.97, "M = d²", transform=ax.get_xaxis_transform(), va="top", fontsize=8)
        ax.set(xlim=(0, _LAST), xlabel="fast memory M (in units of d² words)", ylabel="I/O (words)")
        ax.legend(frameon=False, fontsize=8, loc="center right")
    return Picture(
        "figure1",
        _svg(figure),
        "Figure 1. Left: the two formulas of the published figure, with constant 1. Right: the exact counts "
        "of the "
        "programs at a true size, and the best lower bound; no constant is fitted.",
    )


def io_picture(facts: Facts, scale: Scale) -> Picture:
    """I/O against M for every program, with the band of the optimum."""
    figure, (ax,) = new_figure()
    plot_io(facts.curves(scale, (*SMALL, *LARGE, "naive")), ax=ax)
    return Picture(
        "io",
        _svg(figure),
        "I/O against M. The optimum lies in the band between the best lower bound and the cheapest of these "
        "programs; dotted lines mark where another program becomes the cheapest.",
    )


def gap_picture(facts: Facts, scale: Scale) -> Picture:
    """I/O over the best lower bound."""
    figure, (ax,) = new_figure()
    plot_gap(facts.curves(scale, PROGRAMS), ax=ax)
    return Picture("gap", _svg(figure), "I/O over the best lower bound. 1 would be proved optimal.")


def peak_picture(facts: Facts, scale: Scale) -> Picture:
    """The words that FlashAttention-1 needs with its own block sizes, over M."""
    figure, (ax,) = new_figure(height=2.8)
    shares = [facts.literal_peak(scale.spec, scale.d, M) / M for M in scale.sizes()]
    ax.plot(scale.ratios, shares, color="#882299", marker="D", markersize=4, label="blocks as printed")
    ax.axhline(1, color="black", linewidth=1.6, label="what M allows")
    ax.set(
        xscale="log",
        ylim=(0, None),
        xlabel="fast memory M (in units of d² words)",
        ylabel="peak / M (no unit)",
    )
    ax.set_title(f"FlashAttention-1, backward, n = {scale.n:,}, d = {scale.d}")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return Picture(
        "peak",
        _svg(figure),
        "What FlashAttention-1 holds at its peak with Bc = ⌈M/4d⌉ and Br = min(Bc, d), over M.",
    )


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    with plot_style():
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
