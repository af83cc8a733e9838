"""Moves and numbers as text, both ways: plain Python for short texts, the compiled loops for long ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.errors import FormatError

__all__ = ["moves_text", "numbers_text", "read_moves", "read_numbers"]

# Bytes or items from which loading the compiler pays.
_COMPILE_FROM = 1 << 18
_ITEMS_PER_BLOCK = 1 << 20
# The longest text of one item and its separator: a letter, 20 digits, a space.
_ROOM = 22

_TOKEN = re.compile(rb"[^ \t\r\n]+")
_MOVE = re.compile(rb"[LSCD][0-9]{1,18}\Z")
_NUMBER = re.compile(rb"[0-9]{1,18}\Z")
_OP = {76: 0, 83: 1, 67: 2, 68: 3}


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
    if len(text) < _COMPILE_FROM:
        codes = []
        for token in _TOKEN.finditer(text):
            if _MOVE.match(token[0]) is None:
                raise _bad(text, token.start(), "move: write L, S, C or D and a vertex id", file, line)
            codes.append(int(token[0][1:]) << 2 | _OP[token[0][0]])
        return np.array(codes, dtype=np.uint64)
    from pebble.formats import schedule_kernels

    # The shortest move and its separator take three bytes.
    out = np.empty(len(text) // 3 + 1, dtype=np.uint64)
    count, offset = schedule_kernels.parse_moves(np.frombuffer(text, dtype=np.uint8), out)
    if offset >= 0:
        raise _bad(text, offset, "move: write L, S, C or D and a vertex id", file, line)
    return out[:count]


def read_numbers(text: bytes, file: str, line: int) -> NDArray[np.int64]:
    """The whole numbers of a text; FormatError names the line of the first bad one."""
    if len(text) < _COMPILE_FROM:
        numbers = []
        for token in _TOKEN.finditer(text):
            if _NUMBER.match(token[0]) is None:
                raise _bad(text, token.start(), "whole number of at least 0", file, line)
            numbers.append(int(token[0]))
        return np.array(numbers, dtype=np.int64)
    from pebble.formats import schedule_kernels

    out = np.empty(len(text) // 2 + 1, dtype=np.int64)
    count, offset = schedule_kernels.parse_numbers(np.frombuffer(text, dtype=np.uint8), out)
    if offset >= 0:
        raise _bad(text, offset, "whole number of at least 0", file, line)
    return out[:count]


def moves_text(codes: NDArray[Any], per_line: int) -> Iterator[bytes]:
    """Packed moves as text, `per_line` on a line, in blocks of bytes."""
    if len(codes) < _COMPILE_FROM:
        texts = [f"{'LSCD'[code & 3]}{code >> 2}" for code in codes.tolist()]
        yield _lines(texts, per_line)
        return
    from pebble.formats import schedule_kernels

    yield from _compiled(schedule_kernels.format_moves, codes, per_line)


def numbers_text(numbers: NDArray[np.int64], per_line: int) -> Iterator[bytes]:
    """Numbers of at least 0 as text, `per_line` on a line, in blocks of bytes."""
    if len(numbers) < _COMPILE_FROM:
        yield _lines(list(map(str, numbers.tolist())), per_line)
        return
    from pebble.formats import schedule_kernels

    yield from _compiled(schedule_kernels.format_numbers, numbers, per_line)


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
