"""File formats of graphs and schedules, one module each; docs/formats.md describes them."""

from __future__ import annotations

from pebble.formats.reading import parse_graph, read_graph, write_graph

__all__ = ["parse_graph", "read_graph", "write_graph"]
