"""The tile language: one program, two readings (docs/tiles.md)."""

from __future__ import annotations

from strategies.tiles.language import Block, Machine, Shape, Tile, TileProgramError
from strategies.tiles.strategy import TileStrategy
from strategies.tiles.tuning import Step

__all__ = ["Block", "Machine", "Shape", "Step", "Tile", "TileProgramError", "TileStrategy"]
