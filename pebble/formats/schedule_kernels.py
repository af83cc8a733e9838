"""Compiled reading and writing of moves as text. Importing this module imports numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "format_level_moves",
    "format_moves",
    "format_numbers",
    "parse_level_moves",
    "parse_moves",
    "parse_numbers",
]

_LETTERS = np.frombuffer(b"LSCD", dtype=np.uint8)
# 18 digits always fit int64.
_MOST_DIGITS = 18
# 16 digits fit the 56 bits that a move with a level leaves for its vertex.
_MOST_LEVEL_DIGITS = 16


@numba.njit(cache=True, nogil=True)
def _is_space(byte: int) -> bool:
    return byte == 32 or byte == 10 or byte == 13 or byte == 9


@numba.njit(cache=True, nogil=True)
def _op(byte: int) -> int:
    for op in range(4):
        if _LETTERS[op] == byte:
            return op
    return -1


@numba.njit(cache=True, nogil=True)
def _number(text: NDArray[np.uint8], i: int) -> tuple[np.uint64, int]:
    """The digits from `i` on as a number, which may have wrapped, and the offset after them."""
    number = np.uint64(0)
    while i < len(text) and 48 <= text[i] <= 57:
        number = number * np.uint64(10) + np.uint64(text[i] - 48)
        i += 1
    return number, i


@numba.njit(cache=True, nogil=True)
def parse_moves(text: NDArray[np.uint8], codes: NDArray[np.uint64]) -> tuple[int, int]:
    """Parse whole tokens such as ``L3`` into `codes`; (moves read, offset of the first bad token or -1)."""
    size = len(text)
    count = 0
    i = 0
    while i < size:
        if _is_space(text[i]):
            i += 1
            continue
        start = i
        op = _op(text[i])
        if op < 0:
            return count, start
        vertex, i = _number(text, start + 1)
        digits = i - start - 1
        if digits == 0 or digits > _MOST_DIGITS or (i < size and not _is_space(text[i])):
            return count, start
        codes[count] = vertex << np.uint64(2) | np.uint64(op)
        count += 1
    return count, -1


@numba.njit(cache=True, nogil=True)
def parse_level_moves(text: NDArray[np.uint8], codes: NDArray[np.uint64]) -> tuple[int, int]:
    """Parse whole tokens such as ``L2:3``, as `parse_moves` does; levels go up to 63."""
    size = len(text)
    count = 0
    i = 0
    while i < size:
        if _is_space(text[i]):
            i += 1
            continue
        start = i
        op = _op(text[i])
        if op < 0:
            return count, start
        level, colon = _number(text, start + 1)
        # One digit, or two of which the first is no zero.
        digits = colon - start - 1
        if digits == 0 or digits > 2 or (digits == 2 and level < 10) or level > 63:
            return count, start
        if colon == size or text[colon] != 58:
            return count, start
        vertex, i = _number(text, colon + 1)
        digits = i - colon - 1
        if digits == 0 or digits > _MOST_LEVEL_DIGITS or (i < size and not _is_space(text[i])):
            return count, start
        codes[count] = vertex << np.uint64(8) | level << np.uint64(2) | np.uint64(op)
        count += 1
    return count, -1


@numba.njit(cache=True, nogil=True)
def parse_numbers(text: NDArray[np.uint8], numbers: NDArray[np.int64]) -> tuple[int, int]:
    """Parse whole tokens of digits into `numbers`; (numbers read, offset of the first bad token or -1)."""
    size = len(text)
    count = 0
    i = 0
    while i < size:
        if _is_space(text[i]):
            i += 1
            continue
        start = i
        number = np.int64(0)
        while i < size and 48 <= text[i] <= 57:
            number = number * 10 + np.int64(text[i] - 48)
            i += 1
        digits = i - start
        if digits == 0 or digits > _MOST_DIGITS or (i < size and not _is_space(text[i])):
            return count, start
        numbers[count] = number
        count += 1
    return count, -1


@numba.njit(cache=True, nogil=True)
def _put(number: np.uint64, text: NDArray[np.uint8], size: int) -> int:
    """Write the digits of `number` at ``text[size:]``; the new size."""
    ten = np.uint64(10)
    width = 1
    rest = number
    while rest >= ten:
        rest //= ten
        width += 1
    for k in range(width):
        rest = number // ten
        text[size + width - 1 - k] = np.uint8(48) + np.uint8(number - rest * ten)
        number = rest
    return size + width


@numba.njit(cache=True, nogil=True)
def format_moves(codes: NDArray[Any], per_line: int, text: NDArray[np.uint8]) -> int:
    """Write moves into `text`, 25 bytes of room each, a line break after every `per_line`; bytes written."""
    size = 0
    for i in range(len(codes)):
        code = np.uint64(codes[i])
        text[size] = _LETTERS[np.int64(code & np.uint64(3))]
        size = _put(code >> np.uint64(2), text, size + 1)
        text[size] = 10 if (i + 1) % per_line == 0 or i + 1 == len(codes) else 32
        size += 1
    return size


@numba.njit(cache=True, nogil=True)
def format_level_moves(codes: NDArray[np.uint64], per_line: int, text: NDArray[np.uint8]) -> int:
    """Write moves with levels into `text`, as `format_moves` does."""
    size = 0
    for i in range(len(codes)):
        code = codes[i]
        text[size] = _LETTERS[np.int64(code & np.uint64(3))]
        size = _put(code >> np.uint64(2) & np.uint64(63), text, size + 1)
        text[size] = 58
        size = _put(code >> np.uint64(8), text, size + 1)
        text[size] = 10 if (i + 1) % per_line == 0 or i + 1 == len(codes) else 32
        size += 1
    return size


@numba.njit(cache=True, nogil=True)
def format_numbers(numbers: NDArray[np.int64], per_line: int, text: NDArray[np.uint8]) -> int:
    """Write numbers of at least 0 as `format_moves` writes moves."""
    size = 0
    for i in range(len(numbers)):
        size = _put(np.uint64(numbers[i]), text, size)
        text[size] = 10 if (i + 1) % per_line == 0 or i + 1 == len(numbers) else 32
        size += 1
    return size
