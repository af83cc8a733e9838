"""Schedule files of several levels of memory: like schedule files, with a level in every move.

docs/formats.md describes the format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pebble.cdag import CDAG
from pebble.errors import InvalidMemoryError
from pebble.formats.files import atomic_writer, reading
from pebble.formats.hierarchy_tokens import moves_text, read_moves
from pebble.formats.schedule_header import LEVELS_FORMAT, VERSION, Reader, read_keys
from pebble.formats.schedule_sections import PER_LINE, graph_of, header_lines, labels_line, write_sections
from pebble.hierarchy import Hierarchy, HierarchySchedule
from pebble.rules import Rules

__all__ = ["HierarchyHeader", "is_hierarchy_file", "load", "read_header", "save"]

_REQUIRED = ("graph", "digest", "num_vertices", "num_edges", "M", "costs", "rules", "moves")
_OPTIONAL = ("producer", "seed", "claim", "info", "embedded")


@dataclass(frozen=True)
class HierarchyHeader:
    """What a schedule file of several levels says about itself before its moves.

    Attributes
    ----------
    graph : str
        The graph's spec, or ``custom``.
    digest : str
        `CDAG.digest` of the graph.
    num_vertices, num_edges : int
    hierarchy : Hierarchy
    rules : Rules
    num_moves : int
    producer : str
    seed : int
    claim : int or None
        The total cost claimed.
    info : mapping
        The producer's notes.
    embedded : bool
        Whether the file holds the graph's edges.
    lines : mapping of str to int
        The line of each key, for messages.
    """

    graph: str
    digest: str
    num_vertices: int
    num_edges: int
    hierarchy: Hierarchy
    rules: Rules
    num_moves: int
    producer: str = ""
    seed: int = 0
    claim: int | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    embedded: bool = False
    lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)


def save(schedule: HierarchySchedule, path: str | os.PathLike[str], *, embed: bool = False) -> None:
    """Write a schedule file of several levels; see `HierarchySchedule.save`."""
    g, hierarchy = schedule.cdag, schedule.hierarchy
    labels = labels_line(g, os.fspath(path)) if embed else None
    own = {
        "M": ",".join(map(str, hierarchy.sizes)),
        "costs": ",".join(map(str, hierarchy.costs)),
        "rules": schedule.rules.name,
        "producer": schedule.producer or None,
        "seed": schedule.seed,
        "claim": schedule.claim,
        "info": schedule.info,
        "embedded": "yes" if embed else None,
        "moves": len(schedule),
    }
    with atomic_writer(path) as out:
        out.write(header_lines(f"{LEVELS_FORMAT} {VERSION}", g, own).encode("utf-8"))
        write_sections(out, g if embed else None, labels, moves_text(schedule.moves, PER_LINE))


def is_hierarchy_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a schedule of several levels.

    Raises
    ------
    FormatError
        It cannot be read.
    """
    with reading(path) as file:
        return file.read(len(LEVELS_FORMAT)) == LEVELS_FORMAT.encode()


def read_header(path: str | os.PathLike[str]) -> HierarchyHeader:
    """Read only the header, for instance to learn which graph to build.

    Raises
    ------
    FormatError
        The file cannot be read, is no schedule of several levels, or its header is damaged.
    """
    with reading(path) as file:
        return _parse_header(Reader(file, os.fspath(path)))


def load(path: str | os.PathLike[str], cdag: CDAG | None = None) -> HierarchySchedule:
    """Read a schedule file of several levels; see `HierarchySchedule.load`. O(size of the file)."""
    with reading(path) as file:
        reader = Reader(file, os.fspath(path))
        header = _parse_header(reader)
        graph, moves = graph_of(reader, header, cdag, read_moves)
    return HierarchySchedule(
        graph,
        header.hierarchy,
        moves,
        producer=header.producer,
        info=header.info,
        rules=header.rules,
        claim=header.claim,
        seed=header.seed,
    )


def _parse_header(reader: Reader) -> HierarchyHeader:
    keys = read_keys(reader, _REQUIRED, _OPTIONAL, form=LEVELS_FORMAT)
    rules = keys.rules()
    if not rules.is_plain:
        raise keys.error("rules", f"several levels have hong-kung or one-shot rules, not {rules.name}")
    sizes, costs = keys.integers("M", 1), keys.integers("costs", 0)
    try:
        hierarchy = Hierarchy(sizes, costs)
    except InvalidMemoryError as error:
        raise keys.error("costs" if "costs" in str(error) else "M", str(error)) from None
    return HierarchyHeader(
        graph=keys.text("graph"),
        digest=keys.digest(),
        num_vertices=keys.integer("num_vertices", 0),
        num_edges=keys.integer("num_edges", 0),
        hierarchy=hierarchy,
        rules=rules,
        num_moves=keys.integer("moves", 0),
        producer=keys.text("producer"),
        seed=keys.integer("seed", None) if "seed" in keys else 0,
        claim=keys.integer("claim", 0) if "claim" in keys else None,
        info=keys.info(),
        embedded=keys.embedded(),
        lines=keys.lines,
    )
