"""What a graph format is to the rest: a name, a way in and perhaps a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pebble.cdag import CDAG

__all__ = ["GraphFormat"]


@dataclass(frozen=True)
class GraphFormat:
    """A file format of graphs.

    Attributes
    ----------
    parse : callable
        ``parse(data, file)`` is the graph of a file's content, or raises FormatError; `file` is its name.
    lines : callable or None
        ``lines(cdag, file)`` are pieces of text that make the file; None for a format that is only read.
    """

    parse: Callable[[bytes, str], CDAG]
    lines: Callable[[CDAG, str], Iterator[str]] | None = None
