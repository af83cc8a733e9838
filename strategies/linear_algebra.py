"""Products of matrices by output tiles: one operand's column resident, the other streamed."""

from __future__ import annotations

from strategies.tiles.products import streamed_step
from strategies.tiles.strategy import TileStrategy

__all__ = ["TILED"]

TILED = TileStrategy(
    "tiled",
    {
        "matmul": {"": (streamed_step("C", "A", "B", "m", "n", "k"),)},
        "a1xa2t": {
            "": (
                streamed_step("T", "A1", "X", "n", "d", "d"),
                streamed_step("S", "T", "A2", "n", "n", "d", BT=True),
            )
        },
    },
)
