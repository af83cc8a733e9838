"""Schedule files: a header of ``key: value`` lines, the graph if embedded, the moves as text.

docs/schedule-file.md describes the format.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import DuplicateEdgeWarning, FormatError, InvalidCDAGError, InvalidMemoryError
from pebble.formats.files import atomic_writer, reading
from pebble.formats.schedule_header import FORMAT, SECTIONS, VERSION, Header, Reader, parse_header
from pebble.formats.tokens import moves_text, numbers_text, read_moves, read_numbers
from pebble.instance import Instance
from pebble.moves import move_dtype
from pebble.schedule import Schedule

__all__ = ["Header", "load", "read_header", "save"]

_PER_LINE = 16


def save(schedule: Schedule, path: str | os.PathLike[str], *, embed: bool = False) -> None:
    """Write a schedule file; see `Schedule.save`.

    The file appears whole or not at all: a failed write leaves what was there before.

    Raises
    ------
    FormatError
        It cannot be written, or `embed` meets labels that are neither strings nor integers.
    """
    cdag = schedule.instance.cdag
    labels = _labels_line(cdag, os.fspath(path)) if embed else None
    with atomic_writer(path) as out:
        out.write(_header_text(schedule, embed).encode("utf-8"))
        if embed:
            _write_numbers(out, "edges", cdag.edges().ravel(), 2)
            if cdag.weights is not None:
                _write_numbers(out, "weights", cdag.weights, _PER_LINE)
            if len(cdag.further_outputs):
                _write_numbers(out, "outputs", np.sort(cdag.further_outputs), _PER_LINE)
            if labels is not None:
                out.write(b"\nlabels\n" + labels)
        out.write(b"\nmoves\n")
        for block in moves_text(schedule.moves, _PER_LINE):
            out.write(block)
        out.write(b"end\n")


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
        if cdag is not None:
            _check_graph(cdag, header, name)
        elif not header.embedded:
            raise FormatError(
                name, f"the file does not hold its graph: build '{header.graph}' and pass it as cdag"
            )
        sections = _read_sections(reader, header)
    if cdag is None:
        cdag = _embedded_graph(sections, header, name)
        _check_graph(cdag, header, name)
    try:
        instance = Instance(cdag, header.M, header.rules, header.red_at_start)
    except (InvalidCDAGError, InvalidMemoryError) as error:
        raise FormatError(name, str(error), header.lines["red_at_start"]) from None
    return Schedule(
        instance,
        sections["moves"],
        producer=header.producer,
        claim=header.claim,
        seed=header.seed,
        info=header.info,
    )


# -- writing ------------------------------------------------------------------------------------------


def _header_text(schedule: Schedule, embed: bool) -> str:
    instance = schedule.instance
    cdag = instance.cdag
    lines: dict[str, object] = {
        "graph": cdag.name,
        "digest": f"sha256:{cdag.digest}",
        "num_vertices": cdag.num_vertices,
        "num_edges": cdag.num_edges,
        "M": instance.M,
        "rules": instance.rules.name,
    }
    if instance.red_at_start:
        lines["red_at_start"] = " ".join(map(str, instance.red_at_start))
    if schedule.producer:
        lines["producer"] = schedule.producer
    lines["seed"] = schedule.seed
    if schedule.claim is not None:
        lines["claim"] = schedule.claim
    if schedule.info:
        lines["info"] = json.dumps(dict(schedule.info), default=_plain, sort_keys=True)
    if embed:
        lines["embedded"] = "yes"
    lines["moves"] = len(schedule)
    # A value is one line: inner line breaks become spaces.
    text = "".join(f"{key}: {' '.join(str(value).split())}\n" for key, value in lines.items())
    return f"{FORMAT} {VERSION}\n{text}"


def _plain(value: object) -> object:
    """JSON form of NumPy's scalars and arrays, the text of anything else."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def _labels_line(cdag: CDAG, file: str) -> bytes | None:
    if cdag.labels is None:
        return None
    for v, label in enumerate(cdag.labels):
        if type(label) not in (str, int):
            raise FormatError(
                file, f"the label {label!r} of vertex {v} is neither a string nor an integer: not embedded"
            )
    return (json.dumps(list(cdag.labels)) + "\n").encode("utf-8")


def _write_numbers(out: IO[bytes], section: str, numbers: NDArray[np.int64], per_line: int) -> None:
    out.write(f"\n{section}\n".encode())
    for block in numbers_text(numbers, per_line):
        out.write(block)


# -- reading ------------------------------------------------------------------------------------------


def _read_sections(reader: Reader, header: Header) -> dict[str, Any]:
    """Each section's content by name, `moves` always there, up to the line ``end``."""
    sections: dict[str, Any] = {}
    while (word := reader.word_line()) != "end":
        if not word:
            raise reader.error("the file is cut off: there is no line 'end'")
        if word not in SECTIONS:
            raise reader.error(f"'{word[:40]}' is no section (sections: {', '.join(SECTIONS)})")
        if word in sections:
            raise reader.error(f"section '{word}' is given twice")
        if "moves" in sections:
            raise reader.error(f"section '{word}' comes after the moves, which come last")
        if word == "moves":
            sections[word] = _read_moves(reader, header)
        elif word == "labels":
            sections[word] = _read_labels(reader)
        else:
            sections[word] = _read_all(reader, word, read_numbers)
    if "moves" not in sections:
        raise reader.error("there is no section 'moves'")
    if extra := reader.word_line():
        raise reader.error(f"'{extra[:40]}' stands after the line 'end'")
    return sections


def _read_all(reader: Reader, section: str, parse: Callable[[bytes, str, int], NDArray[Any]]) -> NDArray[Any]:
    parts = [parse(text, reader.name, line) for text, line in reader.body(section)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _read_moves(reader: Reader, header: Header) -> NDArray[Any]:
    narrow = move_dtype(header.num_vertices)

    def parse(text: bytes, name: str, line: int) -> NDArray[Any]:
        codes = read_moves(text, name, line)
        # A vertex beyond the graph stays whole: it is the referee who refuses it.
        return codes if len(codes) and int(codes.max()) >> 32 else codes.astype(narrow)

    moves = _read_all(reader, "moves", parse)
    if len(moves) != header.num_moves:
        raise reader.error(
            f"the file holds {len(moves)} moves, its header says {header.num_moves}: it was cut off or edited"
        )
    return moves if len(moves) else moves.astype(narrow)


def _read_labels(reader: Reader) -> tuple[str | int, ...]:
    line = reader.line + 1
    text = b"".join(part for part, _ in reader.body("labels"))
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError):
        raise reader.error("the labels are no JSON array", line) from None
    if not isinstance(labels, list) or any(type(label) not in (str, int) for label in labels):
        raise reader.error("the labels are no list of strings and integers", line)
    return tuple(labels)


def _embedded_graph(sections: Mapping[str, Any], header: Header, name: str) -> CDAG:
    if "edges" not in sections:
        raise FormatError(name, "there is no section 'edges', although the header says 'embedded: yes'")
    edges = sections["edges"]
    if len(edges) != 2 * header.num_edges:
        raise FormatError(
            name, f"section 'edges' holds {len(edges)} numbers, {header.num_edges} edges need twice as many"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DuplicateEdgeWarning)
            return CDAG.from_edges(
                header.num_vertices,
                edges.reshape(-1, 2),
                weights=sections.get("weights"),
                outputs=sections.get("outputs"),
                labels=sections.get("labels"),
            )
    except (InvalidCDAGError, DuplicateEdgeWarning) as error:
        raise FormatError(name, f"the embedded graph is damaged: {error}") from error
    except (MemoryError, OverflowError) as error:
        raise FormatError(name, f"{header.num_vertices} vertices do not fit in memory") from error


def _check_graph(cdag: CDAG, header: Header, name: str) -> None:
    theirs = (header.num_vertices, header.num_edges)
    ours = (cdag.num_vertices, cdag.num_edges)
    what = f"this schedule belongs to another graph than {cdag.name}: '{header.graph}'"
    if theirs != ours:
        line = header.lines["num_vertices"]
        raise FormatError(
            name, f"{what} with {theirs[0]} vertices and {theirs[1]} edges, not {ours[0]} and {ours[1]}", line
        )
    if header.digest != cdag.digest:
        raise FormatError(
            name,
            f"{what}: edges, weights or outputs differ (digest {header.digest[:8]}…, not {cdag.digest[:8]}…)",
            header.lines["digest"],
        )
