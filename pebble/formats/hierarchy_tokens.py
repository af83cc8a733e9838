"""Moves of several levels as text, ``L2:7``, both ways."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pebble.formats.tokens import TokenKind, read_tokens, tokens_text

__all__ = ["moves_text", "read_moves"]


def _code(token: bytes) -> int:
    level, _, vertex = token[1:].partition(b":")
    return int(vertex) << 8 | int(level) << 2 | b"LSCD".index(token[0])


def _text(code: int) -> str:
    return f"{'LSCD'[code & 3]}{code >> 2 & 63}:{code >> 8}"


# Levels up to 63 and vertices of up to 16 digits always fit the packed form.
_KIND = TokenKind(
    pattern=rb"[LSCD](?:[0-9]|[1-5][0-9]|6[0-3]):[0-9]{1,16}\Z",
    what="move of several levels: write L, S, C or D, a level, a colon and a vertex id",
    parse=_code,
    text=_text,
    parse_kernel="parse_level_moves",
    text_kernel="format_level_moves",
    least_bytes=5,
    dtype=np.uint64,
)


def read_moves(text: bytes, file: str, line: int) -> NDArray[np.uint64]:
    """Packed moves of a text such as ``L2:3 C1:7``; FormatError names the line of the first bad one.

    Parameters
    ----------
    text : bytes
        Whole tokens.
    file : str
    line : int
        Line number of the text's first line.
    """
    return read_tokens(_KIND, text, file, line)


def moves_text(codes: NDArray[np.uint64], per_line: int) -> Iterator[bytes]:
    """Packed moves as text, `per_line` on a line, in blocks of bytes."""
    return tokens_text(_KIND, codes, per_line)
