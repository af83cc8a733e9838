"""The header of a schedule file, and the reader that knows on which line it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from pebble.errors import FormatError, UnknownNameError
from pebble.rules import Rules

__all__ = ["FORMAT", "SECTIONS", "VERSION", "Header", "Reader", "parse_header"]

FORMAT = "red-blue-pebble schedule"
VERSION = 1
SECTIONS = ("edges", "weights", "outputs", "labels", "moves")

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 20
_REQUIRED = ("graph", "digest", "num_vertices", "num_edges", "M", "rules", "moves")
_OPTIONAL = ("red_at_start", "producer", "seed", "claim", "info", "embedded")
_SECTION_LINE = re.compile(rb"^(?:edges|weights|outputs|labels|moves|end)[ \t\r]*$", re.MULTILINE)
_INTEGER = re.compile(r"-?[0-9]{1,40}\Z")
_LARGEST = 1 << 60


@dataclass(frozen=True)
class Header:
    """What a schedule file says about itself before its moves.

    Attributes
    ----------
    graph : str
        The graph's spec, or ``custom``.
    digest : str
        `CDAG.digest` of the graph.
    num_vertices, num_edges : int
    M : int
        Words of fast memory.
    rules : Rules
    num_moves : int
    red_at_start : tuple of int
        Vertices that are red at the start.
    producer : str
    seed : int
    claim : int or None
        The I/O cost claimed, in words.
    info : mapping
        The producer's notes.
    embedded : bool
        Whether the file holds the graph's edges.
    lines : mapping of str to int
        The line of each key, for messages.
    """

    graph: str
    digest: str
    num_vertices: int
    num_edges: int
    M: int
    rules: Rules
    num_moves: int
    red_at_start: tuple[int, ...] = ()
    producer: str = ""
    seed: int = 0
    claim: int | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    embedded: bool = False
    lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)


class Reader:
    """Lines, and blocks of whole lines, with the line number of each."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._rest = b""
        self.name = name
        self.line = 0  # of the line read last

    def header_line(self) -> bytes:
        """The next line, empty at the end of the file."""
        text = self._file.readline(_LONGEST_LINE)
        self.line += bool(text)
        return text

    def word_line(self) -> str:
        """The next line that is not blank, stripped; empty at the end of the file."""
        while block := self._block():
            end = block.find(b"\n") + 1 or len(block)
            text, self._rest = block[:end].strip(), block[end:]
            self.line += 1
            if text:
                return text[:80].decode("utf-8", errors="backslashreplace")
        return ""

    def body(self, section: str) -> Iterator[tuple[bytes, int]]:
        """Blocks of a section's body and the line on which each begins."""
        while block := self._block():
            # Only `end` can follow the moves, and no move holds these letters: the quick way to most blocks.
            found = None if section == "moves" and b"end" not in block else _SECTION_LINE.search(block)
            text = block if found is None else block[: found.start()]
            yield text, self.line + 1
            self.line += text.count(b"\n")
            if found is not None:
                self._rest = block[found.start() :]
                return

    def _block(self) -> bytes:
        if self._rest:
            block, self._rest = self._rest, b""
            return block
        block = self._file.read(_BLOCK)
        return block + self._file.readline() if block and block[-1] != 10 else block

    def error(self, message: str, line: int | None = None) -> FormatError:
        """The error for a line, by default the one read last."""
        return FormatError(self.name, message, self.line if line is None else line)


def parse_header(reader: Reader) -> Header:
    """Read the header, up to its blank line; FormatError names the line that is damaged."""
    first = reader.header_line()
    if not first:
        raise FormatError(reader.name, "the file is empty")
    if not first.startswith(FORMAT.encode()):
        raise reader.error(f"this is no schedule file: the first line must be '{FORMAT} {VERSION}'")
    version = first[len(FORMAT) :].strip()
    if version != str(VERSION).encode():
        shown = version[:20].decode("utf-8", errors="backslashreplace")
        raise reader.error(f"format version '{shown}' is not known, this program reads version {VERSION}")
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    while raw := reader.header_line():
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise reader.error("the header is damaged: this line is no UTF-8 text") from None
        if not text:
            break
        key, colon, value = text.partition(":")
        if not colon:
            raise reader.error(f"'{text[:40]}' is no 'key: value' (a blank line ends the header)")
        if key not in _REQUIRED and key not in _OPTIONAL:
            known = ", ".join(_REQUIRED + _OPTIONAL)
            raise reader.error(f"unknown key '{key[:40]}' (keys: {known})")
        if key in values:
            raise reader.error(f"'{key}' is given twice")
        values[key], lines[key] = value.strip(), reader.line
    absent = [key for key in _REQUIRED if key not in values]
    if absent:
        raise reader.error(f"the header ends without '{absent[0]}'")

    def integer(key: str, least: int | None) -> int:
        if not _INTEGER.match(values[key]):
            raise reader.error(f"{key} '{values[key][:40]}' is no whole number", lines[key])
        number = int(values[key])
        if least is not None and not least <= number <= _LARGEST:
            raise reader.error(f"{key} {number} is out of range", lines[key])
        return number

    try:
        rules = Rules.named(values["rules"])
    except UnknownNameError as error:
        raise reader.error(str(error), lines["rules"]) from None
    words = values.get("red_at_start", "").split()
    if not all(_INTEGER.match(word) and 0 <= int(word) <= _LARGEST for word in words):
        raise reader.error("red_at_start is no list of vertex ids", lines["red_at_start"])
    red = tuple(map(int, words))
    digest = values["digest"].removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise reader.error("digest is not 'sha256:' and 64 hexadecimal digits", lines["digest"])
    if values.get("embedded", "no") not in ("yes", "no"):
        raise reader.error("embedded must be 'yes' or 'no'", lines["embedded"])
    try:
        info = json.loads(values.get("info", "{}"))
    except (ValueError, RecursionError):
        raise reader.error("info is no JSON object", lines["info"]) from None
    if not isinstance(info, dict):
        raise reader.error("info is no JSON object", lines["info"])
    return Header(
        graph=values["graph"],
        digest=digest,
        num_vertices=integer("num_vertices", 0),
        num_edges=integer("num_edges", 0),
        M=integer("M", 1),
        rules=rules,
        num_moves=integer("moves", 0),
        red_at_start=red,
        producer=values.get("producer", ""),
        seed=integer("seed", None) if "seed" in values else 0,
        claim=integer("claim", 0) if "claim" in values else None,
        info=info,
        embedded=values.get("embedded") == "yes",
        lines=lines,
    )
