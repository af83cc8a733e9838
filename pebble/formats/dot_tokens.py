"""The words of the DOT language: identifiers of four kinds, marks, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pebble.errors import FormatError
from pebble.formats.assembling import shown

__all__ = ["END", "Words"]

_TOKEN = re.compile(
    r"""
      (?P<skip> \s++ | //[^\n]*+ | /\*.*?\*/ | ^\#[^\n]*+ )
    | (?P<mark> ->|--|[{}\[\];,=:+] )
    | (?P<numeral> -?+(?:\.\d++|\d++(?:\.\d*+)?+) )
    | (?P<word> [^\W\d]\w*+ )
    | " (?P<string> [^"\\]*+(?:\\.[^"\\]*+)*+ ) "
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NAME = r'(?:-?+\d++|[^\W\d]\w*+|"[^"\\\n]*+")'
# A node or one edge, and what shows that nothing more belongs to it.
_STATEMENT = re.compile(
    rf"({_NAME})(?:[ \t]*+->[ \t]*+({_NAME}))?+[ \t\r]*+(?:;|(?=\n\s*+(?:[\w\"}}]|-[\d.])))\s*+"
)
_KEYWORD = re.compile("node|edge|graph|digraph|subgraph|strict", re.IGNORECASE)
_ESCAPED = re.compile(r'\\(["\n]|\r\n)')
_BRACKET = re.compile("[<>]")
END = ""


class Words:
    """The words of a DOT text, one ahead.

    Attributes
    ----------
    kind : str
        Of the next word: ``mark``, ``word``, ``numeral``, ``string``, ``html``, or empty at the end.
    text : str
        The next word; of a string what stands between its quotes.
    line : int
        Its line.
    """

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._start = self._end = 0
        self.line = 1
        self.kind = self.text = END
        self.advance()

    def advance(self) -> None:
        """Go on to the next word."""
        while self._end < len(self._text):
            start = self._end
            match = _TOKEN.match(self._text, start)
            if match is None:
                self._move_to(start)
                self._html_or_error()
                return
            self._end = match.end()
            kind = match.lastgroup or "string"
            if kind == "skip":
                continue
            self._move_to(start)
            self.kind, self.text = kind, match[kind]
            if kind == "string" and "\\" in self.text:
                self.text = _ESCAPED.sub(lambda m: '"' if m[1] == '"' else "", self.text)
            elif kind == "numeral" and self._text[self._end : self._end + 1].isidentifier():
                raise self.error(f"the number '{shown(self.text)}' runs into a name: quote the name")
            return
        self._move_to(self._end)
        self.kind = self.text = END

    def statements(self) -> Iterator[tuple[str, str, int]]:
        """The plain statements that begin with the next word: ``a;`` or ``a -> b;`` on a line, nothing else.

        Names and line of each, quickly; the second name is empty if there is none. All else is left to the
        other methods.
        """
        text, at = self._text, self._start
        while (match := _STATEMENT.match(text, at)) is not None:
            tail, head = match.groups("")
            if _KEYWORD.fullmatch(tail) or _KEYWORD.fullmatch(head):
                break
            yield tail, head, self.line
            at = match.end()
            self._move_to(at)
        if at >= self._end:
            self._end = at
            self.advance()

    @property
    def is_identifier(self) -> bool:
        """Whether the next word names something."""
        return self.kind not in ("mark", END)

    def identifier(self, what: str) -> str:
        """Take an identifier, strings joined by ``+`` included; FormatError if there is none."""
        if not self.is_identifier:
            raise self.unexpected(what)
        joined, quoted = self.text, self.kind == "string"
        self.advance()
        while quoted and self.kind == "mark" and self.text == "+":
            self.advance()
            if self.kind != "string":
                raise self.unexpected("another quoted string after '+'")
            joined += self.text
            self.advance()
        return joined

    def accepts(self, *marks: str) -> bool:
        """Take the next word if it is one of these marks."""
        if self.kind == "mark" and self.text in marks:
            self.advance()
            return True
        return False

    def keyword(self) -> str:
        """The next word in lower case if it is a bare one, else an empty text."""
        return self.text.lower() if self.kind == "word" else ""

    def error(self, message: str) -> FormatError:
        """The error at the next word."""
        return FormatError(self._file, message, self.line)

    def unexpected(self, wanted: str) -> FormatError:
        """The error that the next word is not what is wanted."""
        if self.kind == END:
            return self.error(f"the file ends where {wanted} is expected: it was cut off")
        return self.error(f"'{shown(self.text)}' stands where {wanted} is expected")

    def drop(self) -> None:
        """Free the text, of which nothing more is wanted."""
        self._text = ""

    def _move_to(self, position: int) -> None:
        self.line += self._text.count("\n", self._start, position)
        self._start = position

    def _html_or_error(self) -> None:
        """Take ``<...>`` with brackets that match; anything else is no DOT."""
        sign = self._text[self._start]
        if sign != "<":
            what = {'"': "a quoted name without its closing quote", "/": "no comment"}.get(sign, "no DOT")
            raise self.error(f"'{shown(self._text[self._start : self._start + 20])}' is {what}")
        depth = 0
        for bracket in _BRACKET.finditer(self._text, self._start):
            depth += 1 if bracket[0] == "<" else -1
            if depth == 0:
                self._end = bracket.end()
                self.kind, self.text = "html", self._text[self._start : self._end]
                return
        raise self.error("a '<' without its closing '>'")
