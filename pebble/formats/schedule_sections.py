"""The sections of a schedule file: its graph if that is embedded, and the moves, which come last."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import DuplicateEdgeWarning, FormatError, InvalidCDAGError
from pebble.formats.schedule_header import SECTIONS, Reader
from pebble.formats.tokens import numbers_text, read_numbers

__all__ = [
    "PER_LINE",
    "GraphHeader",
    "graph_of",
    "header_lines",
    "labels_line",
    "write_sections",
]

PER_LINE = 16

Parse: TypeAlias = Callable[[bytes, str, int], NDArray[Any]]


class GraphHeader(Protocol):
    """What any schedule file's header says of its graph."""

    @property
    def graph(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def num_vertices(self) -> int: ...
    @property
    def num_edges(self) -> int: ...
    @property
    def num_moves(self) -> int: ...
    @property
    def embedded(self) -> bool: ...
    @property
    def lines(self) -> Mapping[str, int]: ...


# -- writing ------------------------------------------------------------------------------------------


def header_lines(first: str, cdag: CDAG, own: Mapping[str, object]) -> str:
    """A header's text: its first line, the graph, and the keys of the format's own.

    Keys whose value is None are left out; a mapping becomes JSON, and is left out if it is empty.
    """
    lines: dict[str, object] = {
        "graph": cdag.name,
        "digest": f"sha256:{cdag.digest}",
        "num_vertices": cdag.num_vertices,
        "num_edges": cdag.num_edges,
    }
    for key, value in own.items():
        if isinstance(value, Mapping):
            value = json.dumps(_finite(dict(value)), default=_plain, sort_keys=True) if value else None
        if value is not None:
            lines[key] = value
    # A value is one line: inner line breaks become spaces.
    return f"{first}\n" + "".join(f"{key}: {' '.join(str(value).split())}\n" for key, value in lines.items())


def _finite(value: object) -> object:
    """The same with infinite numbers as texts: JSON has none, and a schedule is worth more than a note."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, np.generic | np.ndarray):
        return _finite(value.tolist())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: object) -> object:
    """JSON form of NumPy's scalars and arrays, the text of anything else."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def labels_line(cdag: CDAG, file: str) -> bytes | None:
    """The labels as JSON; FormatError if JSON would not give them back as they are."""
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


def write_sections(out: IO[bytes], cdag: CDAG | None, labels: bytes | None, moves: Iterable[bytes]) -> None:
    """Write the sections of a graph, where one is given, and of the moves."""
    if cdag is not None:
        _write_numbers(out, "edges", cdag.edges().ravel(), 2)
        if cdag.weights is not None:
            _write_numbers(out, "weights", cdag.weights, PER_LINE)
        if len(cdag.further_outputs):
            _write_numbers(out, "outputs", np.sort(cdag.further_outputs), PER_LINE)
        if labels is not None:
            out.write(b"\nlabels\n" + labels)
    out.write(b"\nmoves\n")
    for block in moves:
        out.write(block)
    out.write(b"end\n")


# -- reading ------------------------------------------------------------------------------------------


def graph_of(
    reader: Reader, header: GraphHeader, cdag: CDAG | None, parse_moves: Parse
) -> tuple[CDAG, NDArray[Any]]:
    """What follows a header: the graph, which is the one given or else the embedded one, and the moves.

    Raises
    ------
    FormatError
        A section is damaged, the graph is neither given nor embedded, or it is not the header's.
    """
    name = reader.name
    if cdag is not None:
        _check_graph(cdag, header, name)
    elif not header.embedded:
        raise FormatError(
            name, f"the file does not hold its graph: build '{header.graph}' and pass it as cdag"
        )
    sections = _read_sections(reader, header.num_moves, parse_moves)
    if cdag is None:
        cdag = _embedded_graph(sections, header, name)
        _check_graph(cdag, header, name)
    return cdag, sections["moves"]


def _read_sections(reader: Reader, num_moves: int, parse_moves: Parse) -> dict[str, Any]:
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
            sections[word] = _read_moves(reader, num_moves, parse_moves)
        elif word == "labels":
            sections[word] = _read_labels(reader)
        else:
            sections[word] = _read_all(reader, word, read_numbers)
    if "moves" not in sections:
        raise reader.error("there is no section 'moves'")
    if extra := reader.word_line():
        raise reader.error(f"'{extra[:40]}' stands after the line 'end'")
    return sections


def _read_all(reader: Reader, section: str, parse: Parse) -> NDArray[Any]:
    parts = [parse(text, reader.name, line) for text, line in reader.body(section)]
    return np.concatenate(parts) if parts else parse(b"", reader.name, reader.line)


def _read_moves(reader: Reader, num_moves: int, parse: Parse) -> NDArray[Any]:
    moves = _read_all(reader, "moves", parse)
    if len(moves) != num_moves:
        raise reader.error(
            f"the file holds {len(moves)} moves, its header says {num_moves}: it was cut off or edited"
        )
    return moves


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


def _embedded_graph(sections: Mapping[str, Any], header: GraphHeader, name: str) -> CDAG:
    """The graph that the sections hold; FormatError if it is not as the header says."""
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


def _check_graph(cdag: CDAG, header: GraphHeader, name: str) -> None:
    """Raise FormatError unless the graph is the one that the header tells of."""
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
