"""Moves and numbers as text, both ways: plain Python for short texts, the compiled loops for long ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.errors import FormatError

__all__ = [
    "TokenKind",
    "moves_text",
    "numbers_text",
    "read_moves",
    "read_numbers",
    "read_tokens",
    "tokens_text",
]

# Bytes or items from which loading the compiler pays.
_COMPILE_FROM = 1 << 18
_ITEMS_PER_BLOCK = 1 << 20
# The longest text of one item and its separator: a letter, a level and its colon, 20 digits, a space.
_ROOM = 25

_TOKEN = re.compile(rb"[^ \t\r\n]+")


@dataclass(frozen=True)
class TokenKind:
    """What one item of a text looks like, and the compiled loops that read and write many.

    Attributes
    ----------
    pattern : bytes
        Regular expression that a token matches as a whole.
    what : str
        For messages.
    parse, text : callable
        A token's number, and a number's text.
    parse_kernel, text_kernel : str
        Functions of `pebble.formats.schedule_kernels`.
    least_bytes : int
        The shortest token and its separator.
    dtype : type
    """

    pattern: bytes
    what: str
    parse: Callable[[bytes], int]
    text: Callable[[int], str]
    parse_kernel: str
    text_kernel: str
    least_bytes: int
    dtype: type[np.uint64] | type[np.int64]


_MOVES = TokenKind(
    pattern=rb"[LSCD][0-9]{1,18}\Z",
    what="move: write L, S, C or D and a vertex id",
    parse=lambda token: int(token[1:]) << 2 | b"LSCD".index(token[0]),
    text=lambda code: f"{'LSCD'[code & 3]}{code >> 2}",
    parse_kernel="parse_moves",
    text_kernel="format_moves",
    least_bytes=3,
    dtype=np.uint64,
)
_NUMBERS = TokenKind(
    pattern=rb"[0-9]{1,18}\Z",
    what="whole number of at least 0",
    parse=int,
    text=str,
    parse_kernel="parse_numbers",
    text_kernel="format_numbers",
    least_bytes=2,
    dtype=np.int64,
)


def read_moves(text: bytes, file: str, line: int) -> NDArray[np.uint64]:
    """Packed moves of a text such as ``L3 S3 C7``; FormatError names the line of the first bad one.

    Parameters
    ----------
    text : bytes
        Whole tokens.
    file : str
    line : int
        Line number of the text's first line.
    """
    return read_tokens(_MOVES, text, file, line)


def read_numbers(text: bytes, file: str, line: int) -> NDArray[np.int64]:
    """The whole numbers of a text; FormatError names the line of the first bad one."""
    return read_tokens(_NUMBERS, text, file, line)


def moves_text(codes: NDArray[Any], per_line: int) -> Iterator[bytes]:
    """Packed moves as text, `per_line` on a line, in blocks of bytes."""
    return tokens_text(_MOVES, codes, per_line)


def numbers_text(numbers: NDArray[np.int64], per_line: int) -> Iterator[bytes]:
    """Numbers of at least 0 as text, `per_line` on a line, in blocks of bytes."""
    return tokens_text(_NUMBERS, numbers, per_line)


def read_tokens(kind: TokenKind, text: bytes, file: str, line: int) -> NDArray[Any]:
    """The items of a text of whole tokens; FormatError names the line of the first bad one."""
    if len(text) < _COMPILE_FROM:
        pattern = re.compile(kind.pattern)
        items = []
        for token in _TOKEN.finditer(text):
            if pattern.match(token[0]) is None:
                raise _bad(text, token.start(), kind.what, file, line)
            items.append(kind.parse(token[0]))
        return np.array(items, dtype=kind.dtype)
    from pebble.formats import schedule_kernels

    out = np.empty(len(text) // kind.least_bytes + 1, dtype=kind.dtype)
    count, offset = getattr(schedule_kernels, kind.parse_kernel)(np.frombuffer(text, dtype=np.uint8), out)
    if offset >= 0:
        raise _bad(text, offset, kind.what, file, line)
    return out[:count]


def tokens_text(kind: TokenKind, items: NDArray[Any], per_line: int) -> Iterator[bytes]:
    """Items as text, `per_line` on a line, in blocks of bytes."""
    if len(items) < _COMPILE_FROM:
        yield _lines(list(map(kind.text, items.tolist())), per_line)
        return
    from pebble.formats import schedule_kernels

    yield from _compiled(getattr(schedule_kernels, kind.text_kernel), items, per_line)


def _compiled(kernel: Any, items: NDArray[Any], per_line: int) -> Iterator[bytes]:
    # Whole lines to a block, so that the blocks join without a seam.
    step = _ITEMS_PER_BLOCK // per_line * per_line
    buffer = np.empty(_ROOM * min(step, len(items)), dtype=np.uint8)
    for lo in range(0, len(items), step):
        size = kernel(items[lo : lo + step], per_line, buffer)
        yield buffer[:size].tobytes()


def _lines(texts: list[str], per_line: int) -> bytes:
    rows = (" ".join(texts[lo : lo + per_line]) for lo in range(0, len(texts), per_line))
    return "".join(f"{row}\n" for row in rows).encode("ascii")


def _bad(text: bytes, offset: int, what: str, file: str, line: int) -> FormatError:
    match = _TOKEN.match(text, offset)
    assert match is not None
    token = match[0][:40].decode("utf-8", errors="backslashreplace")
    return FormatError(file, f"'{token}' is no {what}", line + text.count(b"\n", 0, offset))
