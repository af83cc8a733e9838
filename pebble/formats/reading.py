"""Graph files: read by what they hold, written by what they are called."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from itertools import islice

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.catalog import REGISTRY, detect, format_of_name
from pebble.formats.files import GZIP_MAGIC, atomic_writer, bounded, reading

__all__ = ["parse_graph", "read_graph", "write_graph"]

_BOM = b"\xef\xbb\xbf"
_PIECES_PER_WRITE = 1 << 14


def read_graph(path: str | os.PathLike[str], *, format: str | None = None) -> CDAG:
    """Read a graph from a file, gzipped or not.

    Parameters
    ----------
    path : path-like
        ``-`` reads standard input.
    format : str, optional
        A format's name or suffix, such as ``"dot"``. By default what the file holds tells it, and between
        formats that look alike its suffix.

    Returns
    -------
    CDAG

    Raises
    ------
    FormatError
        The file cannot be read or does not hold a CDAG; the file and, where there is one, the line are named.
    UnknownNameError
        There is no such format.

    Notes
    -----
    An edge that is given twice is kept once, with a DuplicateEdgeWarning.
    """
    name = os.fspath(path)
    if format is not None:
        REGISTRY.info(format)
    if name == "-":
        return parse_graph(sys.stdin.buffer.read(), "standard input", format=format)
    with reading(path) as stream:
        content = [bounded(stream, name)]
    return _parsed(content, name, format)


def parse_graph(data: bytes, file: str, *, format: str | None = None) -> CDAG:
    """The graph that the content of a file describes; see `read_graph`."""
    return _parsed([data], file, format)


def _parsed(content: list[bytes], file: str, format: str | None) -> CDAG:
    """The graph of the one item of `content`, which is taken out: its reader may free it early."""
    data = content.pop()
    if data.startswith(GZIP_MAGIC):
        data = _unpacked(data, file)
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise FormatError(file, "the file is empty: write one edge 'u v' per line, or another format's text")
    name, sure = detect(data, file) if format is None else (REGISTRY.info(format).name, True)
    content.append(data)
    del data
    try:
        return REGISTRY.get(name).parse(content.pop(), file)
    except FormatError as error:
        if sure or name == "edge-list":
            raise
        hint = f"{error.message} (the file was taken for {name}; the option 'format' names another)"
        raise FormatError(file, hint, error.line) from None
    except (MemoryError, OverflowError) as error:
        raise FormatError(
            file, f"the graph does not fit in memory ({str(error) or 'out of memory'})"
        ) from error


def write_graph(cdag: CDAG, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph in the format that the file's suffix names, ``.gz`` after it for a gzipped file.

    The file appears whole or not at all: a failed write leaves what was there before.

    Parameters
    ----------
    cdag : CDAG
    path : path-like
        ``-`` writes to standard output.
    format : str, optional
        A format's name or suffix; by default that of the name, an edge list if it has none.

    Raises
    ------
    FormatError
        The file cannot be written, the format is only read, or it cannot hold the graph's labels.
    UnknownNameError
        There is no such format.
    """
    name = os.fspath(path)
    chosen = REGISTRY.info(format).name if format is not None else format_of_name(name)
    lines = REGISTRY.get(chosen).lines
    if lines is None:
        writable = [other for other in REGISTRY.names() if REGISTRY.get(other).lines is not None]
        raise FormatError(name, f"{chosen} is only read; write one of {', '.join(writable)}")
    if not cdag.num_vertices:
        raise FormatError(name, "the graph has no vertices: a file holds at least one")
    pieces = lines(cdag, name)
    if name == "-":
        sys.stdout.flush()
        while block := "".join(islice(pieces, _PIECES_PER_WRITE)):
            sys.stdout.buffer.write(block.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    with atomic_writer(path) as stream:
        while block := "".join(islice(pieces, _PIECES_PER_WRITE)):
            stream.write(block.encode("utf-8"))


def _unpacked(data: bytes, file: str) -> bytes:
    try:
        raw = io.BytesIO(data)
        with gzip.GzipFile(fileobj=raw) as stream:
            return bounded(stream, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(file, f"the gzip data is damaged or cut off ({error})") from error
