"""JSON read piece by piece: a list's elements one at a time, what is not wanted skipped, errors by line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from pebble.errors import FormatError
from pebble.formats.assembling import decoded

__all__ = ["JsonText", "finite_json", "list_elements"]

_BLANKS = re.compile(r"[ \t\n\r]*+")
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_FLAT = rf"{_STRING}|-?+\d++(?:\.\d++)?+(?:[eE][-+]?\d++)?+|true|false|null|NaN|-?+Infinity"
_ATOM = re.compile(_FLAT)
# Whole runs of what holds nothing, each with its comma: skipped at once.
_HOLLOW = rf"(?:{_FLAT}|\[\s*+\]|\{{\s*+\}})\s*+,\s*+"
_ITEMS = re.compile(rf"(?:{_HOLLOW})*+")
_MEMBERS = re.compile(rf"(?:{_STRING}\s*+:\s*+{_HOLLOW})*+")
_DEEPEST = 1000
_BYTES_PER_BLOCK = 1 << 16
_DECODE = json.JSONDecoder().raw_decode


def finite_json(text: str | bytes) -> Any:
    """A JSON value; ValueError if it is none or holds a number that JSON cannot write again: NaN, 1e400."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that JSON has")
    return number


def list_elements(text: bytes) -> Iterator[Any]:
    """The elements of a JSON list, decoded a block at a time where lines end between them.

    Raises
    ------
    ValueError, RecursionError
        It is no list; elements before the fault may have been given.
    """
    text = text.strip()
    if not text.startswith(b"["):
        raise ValueError
    at = 1
    while True:
        end = text.find(b",\n", at + _BYTES_PER_BLOCK)
        if end < 0:
            break
        try:
            values = json.loads(b"[%b]" % text[at:end])
        except ValueError:
            # An element of several lines, or a fault, which the rest as a whole will show.
            break
        if not values:
            raise ValueError
        yield from values
        at = end + 1
    values = json.loads(b"[%b" % text[at:])
    if not values and at > 1:
        raise ValueError
    yield from values


class JsonText:
    """A JSON document and a place in it.

    Parameters
    ----------
    data : bytes
    file : str
        Its name, for errors.
    """

    def __init__(self, data: bytes, file: str) -> None:
        self.text = decoded(data, file)
        self.file = file
        self.at = 0
        self._counted = 0
        self._line = 1

    def line(self) -> int:
        """The line of the place; cheap while places ascend."""
        if self.at < self._counted:
            self._counted, self._line = 0, 1
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def peek(self) -> str:
        """The next character that is no blank, empty at the end."""
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def malformed(self, wanted: str) -> FormatError:
        """The error that something else stands here."""
        cut = " (the file seems to be cut off)" if not self.peek() else ""
        return FormatError(self.file, f"the JSON is malformed: {wanted} expected{cut}", self.line())

    def take(self, sign: str) -> bool:
        """Go past a sign if it is next."""
        if self.peek() != sign:
            return False
        self.at += 1
        return True

    def value(self) -> Any:
        """The value that begins here, decoded."""
        self.peek()
        try:
            value, self.at = _DECODE(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            cut = " (the file seems to be cut off)" if error.pos >= len(self.text.rstrip()) else ""
            raise FormatError(self.file, f"the JSON is malformed: {error.msg}{cut}", self.line()) from None
        except (RecursionError, ValueError):
            # ValueError: a number of thousands of digits.
            raise FormatError(
                self.file, "the JSON is nested too deeply or holds a huge number", self.line()
            ) from None
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; take or skip the value of each before the next."""
        if not self.take("{"):
            raise self.malformed("'{'")
        if self.take("}"):
            return
        while True:
            if self.peek() != '"':
                raise self.malformed("a key in quotes")
            key = self.value()
            if not self.take(":"):
                raise self.malformed("':' delimiter")
            yield key
            if self.take("}"):
                return
            if not self.take(","):
                raise self.malformed("',' delimiter")

    def elements(self) -> Iterator[Any]:
        """The elements of the list that begins here, each decoded when it is asked for."""
        if not self.take("["):
            raise self.malformed("'['")
        if self.take("]"):
            return
        while True:
            yield self.value()
            if self.take("]"):
                return
            if not self.take(","):
                raise self.malformed("',' delimiter")

    def skip(self) -> None:
        """Go past the value that begins here without building it."""
        closers = bytearray()
        while True:
            sign = self.peek()
            if sign in ("{", "["):
                self.at += 1
                closers += b"}" if sign == "{" else b"]"
                if len(closers) > _DEEPEST:
                    raise FormatError(self.file, "the JSON is nested too deeply", self.line())
                if self.peek() != chr(closers[-1]):
                    self._skip_key(closers)
                    continue
            else:
                match = _ATOM.match(self.text, self.at)
                if match is None:
                    raise self.malformed("a value")
                self.at = match.end()
            while closers and self.take(chr(closers[-1])):
                del closers[-1]
            if not closers:
                return
            if not self.take(","):
                raise self.malformed("',' delimiter")
            self._skip_key(closers)

    def _skip_key(self, closers: bytearray) -> None:
        """Go past flat items, and past the key of one that is not, where an item may begin."""
        run = _MEMBERS if closers[-1:] == b"}" else _ITEMS
        self.peek()
        self.at = run.match(self.text, self.at).end()  # type: ignore[union-attr]
        if closers[-1:] != b"}":
            return
        match = _ATOM.match(self.text, self.at) if self.peek() == '"' else None
        if match is None:
            raise self.malformed("a key in quotes")
        self.at = match.end()
        if not self.take(":"):
            raise self.malformed("':' delimiter")

    def end(self) -> None:
        """FormatError if anything but blanks follows."""
        if self.peek():
            raise FormatError(self.file, "the JSON is malformed: Extra data", self.line())
