"""Graph files: read by what they hold, written by what they are called."""

from __future__ import annotations

import os
import sys

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.edge_list import edge_list_text, parse_edge_list
from pebble.formats.files import atomic_writer, reading
from pebble.formats.node_link import node_link_text, parse_node_link
from pebble.formats.schedule_header import FORMAT

__all__ = ["parse_graph", "read_graph", "write_graph"]

_BOM = b"\xef\xbb\xbf"


def read_graph(path: str | os.PathLike[str]) -> CDAG:
    """Read a graph from a file, gzipped or not: an edge list or node-link JSON, told apart by content.

    Parameters
    ----------
    path : path-like
        ``-`` reads standard input.

    Returns
    -------
    CDAG

    Raises
    ------
    FormatError
        The file cannot be read or does not hold a CDAG; the file and, where there is one, the line are named.

    Notes
    -----
    An edge that is given twice is kept once, with a DuplicateEdgeWarning.
    """
    if os.fspath(path) == "-":
        return parse_graph(sys.stdin.buffer.read(), "standard input")
    with reading(path) as stream:
        data = stream.read()
    return parse_graph(data, os.fspath(path))


def parse_graph(data: bytes, file: str) -> CDAG:
    """The graph that the content of a file describes; see `read_graph`."""
    text = data.removeprefix(_BOM).lstrip()
    if not text:
        raise FormatError(file, "the file is empty: write one edge 'u v' per line, or node-link JSON")
    if text[:1] in (b"{", b"["):
        return parse_node_link(data, file)
    if text.startswith(FORMAT.encode()):
        raise FormatError(file, "this is a schedule, not a graph: 'pebble verify' referees it", 1)
    if b"\0" in data:
        raise FormatError(file, "the file is no text: an edge list and node-link JSON are read")
    return parse_edge_list(data.removeprefix(_BOM), file)


def write_graph(cdag: CDAG, path: str | os.PathLike[str]) -> None:
    """Write a graph: node-link JSON if the name ends in ``.json`` (or ``.json.gz``), else an edge list.

    Raises
    ------
    FormatError
        The file cannot be written, or the format cannot hold the graph's weights, outputs or labels.
    """
    name = os.fspath(path)
    as_json = name.removesuffix(".gz").endswith(".json")
    text = node_link_text(cdag, name) if as_json else edge_list_text(cdag, name)
    with atomic_writer(path) as stream:
        stream.write(text.encode("utf-8"))
