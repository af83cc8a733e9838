"""Players that are fast: an order with an eviction policy, or a tile program; each returns a claim."""

from __future__ import annotations

from strategies.catalog import REGISTRY
from strategies.hierarchical import play_hierarchy
from strategies.playing import count, count_detail, parse_strategy, play
from strategies.protocol import Countable, Strategy

__all__ = [
    "REGISTRY",
    "Countable",
    "Strategy",
    "count",
    "count_detail",
    "get",
    "info",
    "names",
    "parse_strategy",
    "play",
    "play_hierarchy",
    "register",
]

get = REGISTRY.get
info = REGISTRY.info
names = REGISTRY.names
register = REGISTRY.register
