"""The graph formats by name and suffix, and how a file's format is told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from pebble.errors import FormatError
from pebble.formats.assembling import numbered_lines
from pebble.formats.protocol import GraphFormat
from pebble.formats.schedule_header import FORMAT as SCHEDULE
from pebble.formats.schedule_header import LEVELS_FORMAT as LEVELS
from pebble.registry import Registry

__all__ = ["REGISTRY", "detect", "format_of_name", "suffix"]

# A format's name and aliases are also the suffixes of its files.
REGISTRY: Registry[GraphFormat] = Registry("graph format", "pebble.formats")

_BUILTIN = (
    ("edge-list", "EDGE_LIST", "edges 'u v', one per line", ("edges", "edgelist", "el")),
    ("csv", "CSV", "edges as rows 'source,target'", ("tsv",)),
    ("node-link", "NODE_LINK", "node-link JSON of networkx and d3", ("json",)),
    ("dot", "DOT", "Graphviz", ("gv",)),
    ("graphml", "GRAPHML", "XML of graph editors", ("xml",)),
    ("hyperdag", "HYPERDAG", "HyperDAG version 1, its dialects and .hdag", ("hdag",)),
    ("plain-dag", "PLAIN_DAG", "the plain-DAG dialect of HyperDAG_DB", ("dag",)),
    ("lhdag", "LHDAG", "the older .lhdag of OneStopParallel", ()),
    ("matrix-market", "MATRIX_MARKET", "the entries of a square sparse matrix", ("mtx",)),
    ("matrix-market-0", "MATRIX_MARKET_0", "the same, counted from 0", ()),
    ("kth", "KTH", "lists of predecessors, counted from 1", ("kthlist",)),
    ("bench", "BENCH", "ISCAS netlists", ()),
    ("pebble", "PEBBLE", "ours: with operations, tensors and provenance", ("cdag",)),
)
for _name, _attribute, _summary, _suffixes in _BUILTIN:
    REGISTRY.register(_name, f"pebble.formats.builtin:{_attribute}", _summary, aliases=_suffixes)

# How the first bytes give a format away. The order counts.
_SIGNS = (
    ("pebble", re.compile(rb"red-blue-pebble graph\b")),
    ("node-link", re.compile(rb"[{\[]")),
    ("graphml", re.compile(rb"<")),
    ("matrix-market", re.compile(rb"%%MatrixMarket\s+matrix\b", re.IGNORECASE)),
    (
        "dot",
        re.compile(
            rb"(?:\s++|//[^\n]*+\n?|/\*.*?\*/|#[^\n]*+\n?)*+(?:strict\s++)?(?:di)?graph\b[^{}\n]*+\s*+\{",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    ("bench", re.compile(rb"(?:\s++|#[^\n]*+\n?)*+(?:INPUT|OUTPUT)\s*\(", re.IGNORECASE)),
)
# Formats that begin with numbers look alike: among them the suffix decides.
_NUMBERS = ("edge-list", "csv", "hyperdag", "plain-dag", "lhdag", "kth", "matrix-market-0")
_HEAD = 1 << 16
_BOM = b"\xef\xbb\xbf"


def suffix(file: str) -> str:
    """The suffix of a name without its dot, ``.gz`` left out.

    Examples
    --------
    >>> suffix("a/b.dot.gz"), suffix("-")
    ('dot', '')
    """
    return os.path.splitext(file.removesuffix(".gz"))[1][1:].lower()


def format_of_name(file: str, default: str = "edge-list") -> str:
    """The format that a name's suffix stands for."""
    end = suffix(file)
    return REGISTRY.info(end).name if end and end in REGISTRY else default


def detect(data: bytes, file: str) -> tuple[str, bool]:
    """The format of a file's content, and whether it is sure rather than a guess.

    Raises
    ------
    FormatError
        The file is binary, or a schedule.
    """
    head = data[:_HEAD].removeprefix(_BOM).lstrip()
    if head.startswith(LEVELS.encode()):
        raise FormatError(
            file, "this is a schedule of several levels, not a graph: 'pebble verify' referees it", 1
        )
    if head.startswith(SCHEDULE.encode()):
        raise FormatError(file, "this is a schedule, not a graph: 'pebble verify' referees it", 1)
    for name, sign in _SIGNS:
        if sign.match(head):
            return name, True
    if b"\0" in data:
        raise FormatError(file, "the file is no text: graphs are read from text")
    named = format_of_name(file, "")
    if named in _NUMBERS:
        return named, True
    guess = _guess(data[:_HEAD])
    if named and guess == "edge-list" and len(_first_lines(numbered_lines(data[:_HEAD], b"#"))) < 2:
        # A single line always looks like one of an edge list: a file that is named otherwise was cut off.
        return named, True
    return guess or named or "edge-list", guess is None and bool(named)


def _guess(head: bytes) -> str | None:
    """The format that the first lines look like; None if nothing can be said."""
    text = head.lstrip()
    if text.startswith(b"%"):
        counts = _first_lines(numbered_lines(head, b"%"))[:1]
        return "plain-dag" if counts and len(counts[0]) == 2 else "hyperdag"
    rows = _first_lines(
        (number, fields) for number, fields in numbered_lines(head, b"#") if fields[0] != b"c"
    )
    if not rows:
        return None
    first = rows[0]
    second = rows[1] if len(rows) > 1 else []
    if len(first) == 1 and first[0].isdigit() and second and re.match(rb"\d+:|\d+\Z", second[0]):
        joined = b" ".join(second)
        return "kth" if b":" in joined[:20] else "edge-list"
    if (
        len(first) == 3
        and all(field.isdigit() for field in first)
        and len(second) in (1, 2)
        and second[0] == b"0"
    ):
        return "hyperdag"
    alone = len(first) == 1 and (b"," in first[0] or b";" in first[0])
    # As some write tables, with a blank behind every comma.
    if alone or (len(first) in (2, 3) and first[0].endswith((b",", b";"))):
        return "csv"
    return "edge-list" if len(first) < 3 or first[2] == b"{}" else None


def _first_lines(lines: Iterator[tuple[int, list[bytes]]]) -> list[list[bytes]]:
    return [fields for _, (_, fields) in zip(range(2), lines, strict=False)]
