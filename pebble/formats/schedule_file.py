"""Schedule files: a header of ``key: value`` lines, the graph if embedded, the moves as text.

docs/schedule-file.md describes the format.
"""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError, InvalidCDAGError, InvalidMemoryError
from pebble.formats.files import atomic_writer, reading
from pebble.formats.schedule_header import FORMAT, VERSION, Header, Reader, parse_header
from pebble.formats.schedule_sections import PER_LINE, graph_of, header_lines, labels_line, write_sections
from pebble.formats.tokens import moves_text, read_moves
from pebble.instance import Instance
from pebble.moves import move_dtype
from pebble.schedule import Schedule

__all__ = ["Header", "load", "read_header", "save"]


def save(schedule: Schedule, path: str | os.PathLike[str], *, embed: bool = False) -> None:
    """Write a schedule file; see `Schedule.save`.

    The file appears whole or not at all: a failed write leaves what was there before.

    Raises
    ------
    FormatError
        It cannot be written, or `embed` meets labels that are neither strings nor integers.
    """
    cdag = schedule.instance.cdag
    labels = labels_line(cdag, os.fspath(path)) if embed else None
    with atomic_writer(path) as out:
        out.write(_header_text(schedule, embed).encode("utf-8"))
        write_sections(out, cdag if embed else None, labels, moves_text(schedule.moves, PER_LINE))


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read only the header of a schedule file, for instance to learn which graph to build.

    Raises
    ------
    FormatError
        The file cannot be read, is no schedule file, or its header is damaged.
    """
    with reading(path) as file:
        return parse_header(Reader(file, os.fspath(path)))


def load(path: str | os.PathLike[str], cdag: CDAG | None = None) -> Schedule:
    """Read a schedule file; see `Schedule.load`. O(size of the file)."""
    name = os.fspath(path)
    with reading(path) as file:
        reader = Reader(file, name)
        header = parse_header(reader)
        narrow = move_dtype(header.num_vertices)

        def parse(text: bytes, name: str, line: int) -> NDArray[Any]:
            codes = read_moves(text, name, line)
            # A vertex beyond the graph stays whole: it is the referee who refuses it.
            return codes if len(codes) and int(codes.max()) >> 32 else codes.astype(narrow)

        cdag, moves = graph_of(reader, header, cdag, parse)
    try:
        instance = Instance(cdag, header.M, header.rules, header.red_at_start)
    except (InvalidCDAGError, InvalidMemoryError) as error:
        raise FormatError(name, str(error), header.lines["red_at_start"]) from None
    return Schedule(
        instance,
        moves,
        producer=header.producer,
        claim=header.claim,
        seed=header.seed,
        info=header.info,
    )


def _header_text(schedule: Schedule, embed: bool) -> str:
    instance = schedule.instance
    own = {
        "M": instance.M,
        "rules": instance.rules.name,
        "red_at_start": " ".join(map(str, instance.red_at_start)) or None,
        "producer": schedule.producer or None,
        "seed": schedule.seed,
        "claim": schedule.claim,
        "info": schedule.info,
        "embedded": "yes" if embed else None,
        "moves": len(schedule),
    }
    return header_lines(f"{FORMAT} {VERSION}", instance.cdag, own)
