"""What ``-M`` accepts: numbers, lists, ranges, and expressions in the graph's parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pebble.errors import InvalidMemoryError
from pebble.instance import check_memory

__all__ = ["parse_memory"]

_EXPRESSION = re.compile(r"(\d+)?\*?([A-Za-z][A-Za-z0-9_]*)(?:(?:\^|\*\*)(\d+))?(?:/(\d+))?\Z")
_STEP = re.compile(r"(x?)(\d+)\Z")
_MOST_VALUES = 100_000
_MOST_DIGITS = 18
_HELP = "write a number, 16,24,32, 16..64, 16..64:8, 16..4096:x2, or d^2/4 where the graph has a d"


def parse_memory(text: str, params: Mapping[str, Any]) -> list[int]:
    """The values of M that `text` names, in order, without repeats.

    Parameters
    ----------
    text : str
        Parts joined by commas. A part is a whole number; an expression such as ``d^2``, ``d^2/4`` or ``4d^2``
        in a parameter of the graph, rounded down; or a range ``a..b`` of every value, ``a..b:8`` in steps
        of 8, ``a..b:x2`` doubling.
    params : mapping
        The parameters of the graph's family.

    Raises
    ------
    InvalidMemoryError
        A part is none of these, or names no whole number of at least 1.

    Examples
    --------
    >>> parse_memory("24,d^2/4..d^2:x2", {"d": 8})
    [24, 16, 32, 64]
    """
    values: list[int] = []
    for part in text.split(","):
        low, dots, rest = part.partition("..")
        if not dots:
            values.append(_value(part, params))
            continue
        high, _, step = rest.partition(":")
        if not low.strip() or not high.strip():
            raise InvalidMemoryError(f"M={part} lacks an end: write a range as 16..64")
        first, last = _value(low, params), _value(high, params)
        if first > last:
            raise InvalidMemoryError(f"M={part} is empty: {first} is above {last}")
        values += _range(part, first, last, step)
        if len(values) > _MOST_VALUES:
            raise InvalidMemoryError(
                f"M={text} names more than {_MOST_VALUES} values: add a step, as in 16..64:8"
            )
    return list(dict.fromkeys(values))


def _range(part: str, first: int, last: int, step: str) -> list[int]:
    if not step:
        return list(range(first, min(last, first + _MOST_VALUES) + 1))
    match = _STEP.match(step)
    by = int(match[2]) if match else 0
    if match is None or by < (2 if match[1] else 1):
        raise InvalidMemoryError(f"M={part}: the step ':{step}' is neither a number nor x2, x4, …")
    if not match[1]:
        return list(range(first, min(last, first + by * _MOST_VALUES) + 1, by))
    values = []
    while first <= last:
        values.append(first)
        first *= by
    return values


def _value(part: str, params: Mapping[str, Any]) -> int:
    text = part.strip()
    if re.fullmatch(r"[+-]?\d+", text):
        if len(text.lstrip("+-0")) > _MOST_DIGITS:
            raise InvalidMemoryError(
                f"M={text} is out of range: give a number of at most {_MOST_DIGITS} digits"
            )
        return check_memory(int(text))
    match = _EXPRESSION.match(text)
    if match is None:
        raise InvalidMemoryError(f"M={text} is not a whole number of words: {_HELP}")
    factor, name, power, divisor = match.groups()
    known = [key for key, value in params.items() if isinstance(value, int) and not isinstance(value, bool)]
    if name not in known:
        has = f"the graph has {', '.join(known)}" if known else "the graph has no parameters"
        raise InvalidMemoryError(f"M={text} is not a whole number of words, and {has}: {_HELP}")
    if power is not None and int(power) > 8:
        raise InvalidMemoryError(f"M={text}: the power {power} is out of range, give at most 8")
    if divisor is not None and int(divisor) == 0:
        raise InvalidMemoryError(f"M={text} divides by zero")
    base: int = params[name]
    value: int = int(factor or 1) * base ** int(power or 1) // int(divisor or 1)
    if value < 1:
        raise InvalidMemoryError(f"M={text} is {value}, which leaves no red pebble: give at least 1")
    return value
