"""The text form of a position, ``red:1,3,4 blue:0-3 computed:5``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.rules import Rules

__all__ = ["parse_position", "position_text"]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")


def position_text(**parts: Iterable[int]) -> str:
    """The parts in their order, `red` and `blue` always, others unless empty.

    Examples
    --------
    >>> position_text(red={0, 1, 2, 3, 5}, blue={0, 1}, computed=())
    'red:0-3,5 blue:0,1'
    """
    texts = {name: _ranges(vertices) for name, vertices in parts.items()}
    return " ".join(f"{name}:{text}" for name, text in texts.items() if text or name in ("red", "blue"))


def parse_position(text: str, cdag: CDAG, rules: Rules) -> dict[str, set[int]]:
    """The parts of a position's text, empty where it has none; FormatError if it is malformed."""
    parts: dict[str, set[int]] = {name: set() for name in ("red", "blue", "computed", "aggregated", "slide")}
    known = {"red", "blue", "computed"}
    known |= {"aggregated"} if rules.partial else set()
    known |= {"slide"} if rules.sliding else set()
    seen = set()
    for word in text.split():
        name, colon, ids = word.partition(":")
        if not colon or name not in known or name in seen:
            raise FormatError("position", f"'{word}' is unclear: write red:1,3,4 blue:0-3")
        seen.add(name)
        kind, count = ("edge", cdag.num_edges) if name == "aggregated" else ("vertex", cdag.num_vertices)
        for item in ids.split(",") if ids else []:
            match = _RANGE.match(item)
            if match is None:
                raise FormatError("position", f"'{item}' in '{word}' is no {kind} id or range")
            first, last = int(match[1]), int(match[2] or match[1])
            if last >= count:
                raise FormatError("position", f"{kind} {last} is out of range, ids go from 0 to {count - 1}")
            parts[name].update(range(first, last + 1))
    if len(parts["slide"]) > 1:
        raise FormatError("position", "more than one vertex after slide: only the last compute can slide")
    return parts


def _ranges(vertices: Iterable[int]) -> str:
    """``{0, 1, 2, 3, 5, 6}`` as ``0-3,5,6``: runs of three or more are shortened."""
    runs: list[list[int]] = []
    for v in sorted(vertices):
        if runs and v == runs[-1][-1] + 1:
            runs[-1].append(v)
        else:
            runs.append([v])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
