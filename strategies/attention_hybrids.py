"""Hybrids for the backward pass of attention: some products by tiles, others with whole rows resident.

Between FlashAttention, best above M ≈ d², and Algorithm 6, best below, there is room for programs that take
something from both. With x = d²/M and n large, the leading terms in units of n² are

    P@rows, P.dV+dS@columns, dQ and dK by tiles                5x + 5     around M = d²
    .dV+dS@columns, dQ and dK by tiles                         8x + 3
    .dV+dK+dS@columns, dQ by tiles                             9x + 2     around M = 2d²
    .dV+dK@columns and .dQ@rows, S and dP computed in both     14x        around M = 4d²
    .dV+dQ+dK@columns, which is FlashAttention                 16x
    Algorithm 6                                                10√x + 3

where x stands for a pass with rows of one matrix resident while one other goes by, the integers for the n × n
matrices that are stored and loaded. Which plan is best for given n, d and M is found by search, and none of
those above is written down anywhere in the code.
"""

from __future__ import annotations

from strategies.algorithm6 import BACKWARD_STREAMING, GRADIENT_STREAMING, gives_output, gives_target
from strategies.attention_backward import ROW_DOTS
from strategies.attention_forward import FORWARD_STREAMING
from strategies.attention_sweeps import Sweep
from strategies.attention_tiles import P_tile, dS_tile, outputs_tile, p_tile, product_tile
from strategies.row_sweeps import ForwardSweep, GradientSweep
from strategies.tiles.language import Shape
from strategies.tiles.planning import PlannedStrategy
from strategies.tiles.strips import strips_step

__all__ = ["BACKWARD_PHASES", "FORWARD_PHASES", "GRADIENT_PHASES", "HYBRID"]

_, _P, _dS, _dV, _dQ, _dK = BACKWARD_STREAMING
_u, _O = FORWARD_STREAMING
_T, _T_u, _h, _u_O, _O_c, _v, _p, _G, _g = GRADIENT_STREAMING
_SWEEPS = (
    Sweep("rows", writes=("P",)),
    Sweep("columns", writes=("P",)),
    Sweep("rows", reads=("P",), writes=("dS",)),
    Sweep("columns", reads=("P",), sums=("dV",), writes=("dS",)),
    Sweep("columns", sums=("dV",), writes=("dS",)),
    Sweep("columns", sums=("dV", "dK"), writes=("dS",)),
    Sweep("columns", sums=("dV", "dK")),
    Sweep("rows", sums=("dQ",)),
    Sweep("rows", reads=("dS",), sums=("dQ",)),
    Sweep("columns", reads=("dS",), sums=("dK",)),
    Sweep("columns", sums=("dV", "dQ", "dK")),
    Sweep("rows", sums=("dV", "dQ", "dK")),
)


BACKWARD_PHASES = {
    "D": ROW_DOTS,
    "P@tiles": _P,
    "P.dS@tiles": _dS,
    "P.dV@tiles": _dV,
    "dS.dQ@tiles": _dQ,
    "dS.dK@tiles": _dK,
    "P@strips": strips_step(P_tile, "n", "n"),
    "P.dS@strips": strips_step(dS_tile, "n", "n"),
    "P.dV@strips": strips_step(product_tile("dV", "P", "dO", "n", AT=True), "n", "d"),
    "dS.dQ@strips": strips_step(product_tile("dQ", "dS", "K", "n"), "n", "d"),
    "dS.dK@strips": strips_step(product_tile("dK", "dS", "Q", "n", AT=True), "n", "d"),
    **{sweep.name: sweep.step for sweep in _SWEEPS},
}

FORWARD_PHASES = {
    "u@tiles": _u,
    "u.O@tiles": _O,
    "u.O@strips": strips_step(outputs_tile("V"), "n", "d"),
    **{
        sweep.name: sweep.step()
        for sweep in (
            ForwardSweep((), ("u", "l")),
            ForwardSweep((), ("O",)),
        )
    },
}

GRADIENT_PHASES = {
    "T@tiles": _T,
    "h@tiles": _h,
    "T.u@tiles": _T_u,
    "u.O@tiles": _u_O,
    "O.c": _O_c,
    "v": _v,
    "u.p@tiles": _p,
    "p.G@tiles": _G,
    "G.g@tiles": _g,
    "T@strips": strips_step(product_tile("T", "A1", "X", "d"), "n", "d"),
    "h@strips": strips_step(product_tile("h", "A3", "Y", "d"), "n", "d"),
    "u.O@strips": strips_step(outputs_tile("h"), "n", "d", gives_target),
    "u.p@strips": strips_step(p_tile, "n", "n"),
    "p.G@strips": strips_step(product_tile("G", "p", "A2", "n"), "n", "d"),
    "G.g@strips": strips_step(product_tile("g", "A1", "G", "n", AT=True), "d", "d"),
    **{
        sweep.name: sweep.step(when)
        for sweep, when in (
            (GradientSweep(("T",), ("u", "l")), None),
            (GradientSweep(("T",), ("l",)), gives_output),
            (GradientSweep((), ("l",)), gives_output),
            (GradientSweep(("T",), ("l", "c")), gives_target),
            (GradientSweep((), ("l", "c")), gives_target),
            (GradientSweep(("T",), ("u", "l", "c")), gives_target),
            (GradientSweep(("u",), ("c",)), gives_target),
            (GradientSweep(("u", "c"), ("p",)), None),
            (GradientSweep(("T", "c"), ("p",)), None),
            (GradientSweep(("u", "c"), ("G",)), None),
            (GradientSweep(("T", "c"), ("G",)), None),
            (GradientSweep(("c",), ("G",)), None),
            (GradientSweep(("u", "c"), ("g",)), None),
            (GradientSweep(("T", "c"), ("g",)), None),
            (GradientSweep(("c",), ("g",)), None),
            (GradientSweep((), ("G",)), None),
            (GradientSweep((), ("g",)), None),
        )
    },
}


def refuse_one_token(shape: Shape) -> str | None:
    """With one token u and its row sum are one vertex, which no program that loads both can use."""
    one = shape.n == 1 and shape.given not in ("D", "O")
    return "it plays n >= 2 tokens" if one else None


HYBRID = PlannedStrategy(
    "hybrid",
    {
        "attention-backward": BACKWARD_PHASES,
        "attention-forward": FORWARD_PHASES,
        "attention-gradient": GRADIENT_PHASES,
    },
    {"attention-backward": ("dV", "dQ", "dK"), "attention-forward": ("O",), "attention-gradient": ("g",)},
    plays={"given": ("D", "O", "E", "dO")},
    refuses=refuse_one_token,
)
