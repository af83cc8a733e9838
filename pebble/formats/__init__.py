"""File formats: graphs (edge list, node-link JSON) and schedules, one module each."""

from __future__ import annotations

from pebble.formats.reading import parse_graph, read_graph, write_graph

__all__ = ["parse_graph", "read_graph", "write_graph"]
