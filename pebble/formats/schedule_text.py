"""Schedules as bare moves, ``L0 L1 C2 S2``: for people, for pipes, for programs that know the graph."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

from pebble.formats.files import reading
from pebble.formats.tokens import moves_text, read_moves
from pebble.instance import Instance
from pebble.moves import move_dtype
from pebble.schedule import Schedule

__all__ = ["moves_lines", "parse_moves", "read_moves_file"]

_COMMENT = re.compile(rb"#[^\n]*")
_PER_LINE = 16


def moves_lines(schedule: Schedule) -> Iterator[str]:
    """The moves of a schedule as text, 16 on a line, after a comment that says what they are for.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> s = Schedule.from_moves(Instance(CDAG.from_edges(2, [(0, 1)]), 2), ["L0", "C1", "S1"])
    >>> print(*moves_lines(s), sep="", end="")
    # custom, M=2, hong-kung
    L0 C1 S1
    """
    instance = schedule.instance
    yield f"# {instance.cdag.name}, M={instance.M}, {instance.rules.name}\n"
    for block in moves_text(schedule.moves, _PER_LINE):
        yield block.decode("ascii")


def parse_moves(data: bytes, file: str, instance: Instance) -> Schedule:
    """The schedule of an instance that a text of moves is; what follows a ``#`` is skipped.

    Raises
    ------
    FormatError
        A word is no move; its line is named. Whether the moves are legal is the referee's to say.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> instance = Instance(CDAG.from_edges(2, [(0, 1)]), 2)
    >>> parse_moves(b"# by hand\\nL0 C1 S1", "given", instance).text()
    'L0 C1 S1'
    """
    codes = read_moves(_COMMENT.sub(b"", data), file, 1)
    if not len(codes) or int(codes.max()) < 1 << 32:
        codes = codes.astype(move_dtype(instance.cdag.num_vertices))
    return Schedule(instance, np.ascontiguousarray(codes), producer="moves")


def read_moves_file(path: str | os.PathLike[str], instance: Instance) -> Schedule:
    """Read a text of moves from a file; see `parse_moves`."""
    with reading(path) as stream:
        data = stream.read()
    return parse_moves(data, os.fspath(path), instance)
