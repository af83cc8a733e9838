"""The header of a schedule file, and the reader that knows on which line it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from pebble.errors import FormatError, UnknownNameError
from pebble.formats.json_text import finite_json
from pebble.rules import Rules

__all__ = [
    "FORMAT",
    "LEVELS_FORMAT",
    "SECTIONS",
    "VERSION",
    "Header",
    "Keys",
    "Reader",
    "parse_header",
    "read_keys",
]

FORMAT = "red-blue-pebble schedule"
LEVELS_FORMAT = "red-blue-pebble hierarchy schedule"
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


class Keys:
    """The ``key: value`` lines of a header: the texts, the line of each, and what they must be."""

    def __init__(self, reader: Reader, values: dict[str, str], lines: dict[str, int]) -> None:
        self.reader = reader
        self.values = values
        self.lines = lines

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, key: str, message: str) -> FormatError:
        """The error for the line of a key."""
        return self.reader.error(message, self.lines[key])

    def text(self, key: str) -> str:
        """The value, empty if the key is not there."""
        return self.values.get(key, "")

    def integer(self, key: str, least: int | None) -> int:
        """A whole number, of at least `least` and within reason unless that is None."""
        return self._integer(key, self.values[key], least)

    def integers(self, key: str, least: int) -> tuple[int, ...]:
        """Whole numbers with commas between."""
        return tuple(self._integer(key, part.strip(), least) for part in self.values[key].split(","))

    def _integer(self, key: str, text: str, least: int | None) -> int:
        if not _INTEGER.match(text):
            raise self.error(key, f"{key} '{text[:40]}' is no whole number")
        number = int(text)
        if least is not None and not least <= number <= _LARGEST:
            raise self.error(key, f"{key} {number} is out of range")
        return number

    def rules(self) -> Rules:
        """The rule set, ``hong-kung`` if it is not named."""
        try:
            return Rules.named(self.values.get("rules", "hong-kung"))
        except UnknownNameError as error:
            raise self.error("rules", str(error)) from None

    def digest(self) -> str:
        """The 64 digits of the graph's digest."""
        digest = self.values["digest"].removeprefix("sha256:")
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise self.error("digest", "digest is not 'sha256:' and 64 hexadecimal digits")
        return digest

    def embedded(self) -> bool:
        """Whether the file holds its graph."""
        if self.values.get("embedded", "no") not in ("yes", "no"):
            raise self.error("embedded", "embedded must be 'yes' or 'no'")
        return self.values.get("embedded") == "yes"

    def info(self) -> dict[str, Any]:
        """The producer's notes."""
        try:
            info = finite_json(self.values.get("info", "{}"))
        except (ValueError, RecursionError):
            raise self.error("info", "info is no JSON object") from None
        if not isinstance(info, dict):
            raise self.error("info", "info is no JSON object")
        return info


def read_keys(
    reader: Reader, required: Sequence[str], optional: Sequence[str], *, form: str = FORMAT
) -> Keys:
    """Read a header of the format `form` to its blank line; FormatError names the line that is damaged."""
    first = reader.header_line()
    if not first:
        raise FormatError(reader.name, "the file is empty")
    if not first.startswith(form.encode()):
        what = form.removeprefix("red-blue-pebble ")
        if first.startswith(LEVELS_FORMAT.encode()):
            raise reader.error("this is a schedule of several levels: 'pebble verify' referees it")
        raise reader.error(f"this is no {what} file: the first line must be '{form} {VERSION}'")
    version = first[len(form) :].strip()
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
        if key not in required and key not in optional:
            known = ", ".join((*required, *optional))
            raise reader.error(f"unknown key '{key[:40]}' (keys: {known})")
        if key in values:
            raise reader.error(f"'{key}' is given twice")
        values[key], lines[key] = value.strip(), reader.line
    absent = [key for key in required if key not in values]
    if absent:
        raise reader.error(f"the header ends without '{absent[0]}'")
    return Keys(reader, values, lines)


def parse_header(reader: Reader) -> Header:
    """Read the header, up to its blank line; FormatError names the line that is damaged."""
    keys = read_keys(reader, _REQUIRED, _OPTIONAL)
    words = keys.text("red_at_start").split()
    if not all(_INTEGER.match(word) and 0 <= int(word) <= _LARGEST for word in words):
        raise keys.error("red_at_start", "red_at_start is no list of vertex ids")
    return Header(
        rules=keys.rules(),
        red_at_start=tuple(map(int, words)),
        digest=keys.digest(),
        embedded=keys.embedded(),
        info=keys.info(),
        graph=keys.text("graph"),
        num_vertices=keys.integer("num_vertices", 0),
        num_edges=keys.integer("num_edges", 0),
        M=keys.integer("M", 1),
        num_moves=keys.integer("moves", 0),
        producer=keys.text("producer"),
        seed=keys.integer("seed", None) if "seed" in keys else 0,
        claim=keys.integer("claim", 0) if "claim" in keys else None,
        lines=keys.lines,
    )
