"""Nests for products of matrices and for attention: blocks of rows and columns in blocks, level by level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from strategies.hierarchical_nests import Choice, Loop, Space, block_sizes, nest_keys

__all__ = ["product_spaces"]


@dataclass(frozen=True)
class _Phase:
    """An array of sums, and the arrays computed elementwise from it as soon as a sum is complete.

    Attributes
    ----------
    sums : str
    axes : str
        The axes of the array, a letter each.
    terms : str
        The axis that is summed over.
    then : sequence of str
        Further arrays with the same axes, computed where the last term is added.
    """

    sums: str
    axes: str
    terms: str
    then: Sequence[str] = ()

    @property
    def group(self) -> str:
        """Phases of one group have tiles of one size: those over rows and columns, and the others."""
        return "scores" if self.axes == "ij" else "sums"


@dataclass(frozen=True)
class _Family:
    """How the arrays of a family are computed.

    Attributes
    ----------
    phases : sequence of _Phase
        In their order.
    blocks : str
        The axes that blocks are made of at every level.
    stages : sequence of sequence of int
        Ways to put the phases one after the other rather than block by block: the stage of each phase.
    turning : str
        Axes whose loops may go backwards: no phase sums over them.
    in_rows : bool
        Whether the stages follow each other inside a block of rows rather than on the whole.
    """

    phases: Sequence[_Phase]
    blocks: str
    stages: Sequence[Sequence[int]]
    turning: str = ""
    in_rows: bool = False


_FAMILIES = {
    "matmul": _Family([_Phase("C", "ij", "l")], "ijl", [(0,)], "ij"),
    "a1xa2t": _Family([_Phase("T", "ie", "c"), _Phase("S", "ij", "e")], "ij", [(0, 0), (0, 1)], "i"),
    "attention-forward": _Family(
        [_Phase("S", "ij", "c", ["u"]), _Phase("l", "i", "j"), _Phase("N", "ic", "j", ["O"])],
        "ij",
        [(0, 0, 0), (0, 0, 1)],
        "i",
    ),
    "attention-backward": _Family(
        [
            _Phase("S", "ij", "c", ["Z", "P"]),
            _Phase("dV", "jc", "i"),
            _Phase("dP", "ij", "c", ["R", "dS"]),
            _Phase("dQ", "ic", "j"),
            _Phase("dK", "jc", "i"),
        ],
        "ij",
        [(0, 0, 0, 0, 0), (0, 0, 0, 1, 2), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1), (0, 1, 2, 3, 4)],
    ),
    "attention-gradient": _Family(
        [
            _Phase("T", "ie", "c"),
            _Phase("S", "ij", "e", ["u"]),
            _Phase("l", "i", "j"),
            _Phase("h", "je", "c"),
            _Phase("N", "ie", "j", ["O", "c", "cO"]),
            _Phase("v", "i", "e"),
            _Phase("q", "ij", "e", ["f", "r", "p"]),
            _Phase("G", "ie", "j"),
            _Phase("g", "ce", "i"),
        ],
        "ij",
        [(0, 0, 0, 0, 0, 1, 1, 1, 2), (0, 0, 0, 0, 1, 2, 2, 3, 4)],
        in_rows=True,
    ),
}


@dataclass(frozen=True)
class _Points:
    """The computes of a graph, one phase after the other, and their coordinates.

    Attributes
    ----------
    vertices : ndarray of int64
    axes : dict of str to ndarray of int64
        One per letter, 0 where a phase lacks the axis; and ``phase``.
    ends : list of int
        Where each phase ends.
    extents : dict of str to int
    """

    vertices: NDArray[np.int64]
    axes: dict[str, NDArray[np.int64]]
    ends: list[int]
    extents: dict[str, int]


def product_spaces(cdag: CDAG, sizes: Sequence[int]) -> list[Space]:
    """The nests of a graph of products on levels of so many words; none if it is not such a graph.

    Every level, from the largest, loops over blocks of rows, columns (and terms, for a single product) inside
    the block of the level above; inside the innermost the phases of a stage follow each other, each by tiles
    of its own array that stay in level 1 while the terms stream by. One space for each way to form stages.
    """
    family = _FAMILIES.get(cdag.family)
    points = None if family is None else _points(cdag, family)
    if family is None or points is None:
        return []
    return [_space(family, points, stages, sizes) for stages in family.stages]


def _space(family: _Family, points: _Points, stages: Sequence[int], sizes: Sequence[int]) -> Space:
    extents = points.extents
    values: dict[str, Sequence[int]] = {}
    if family.in_rows:
        values["rows"] = block_sizes(extents["i"])
    for stage in range(max(stages) + 1):
        # A single product has its own tiles at level 1.
        alone = stages.count(stage) == 1
        for level in range(len(sizes), 1 if alone else 0, -1):
            values |= {
                _name(axis, level, stage, stages): block_sizes(extents[axis]) for axis in family.blocks
            }
            values[_name("first", level, stage, stages)] = range(len(family.blocks))
    for group in sorted({phase.group for phase in family.phases}):
        phases = [phase for phase in family.phases if phase.group == group]
        for place, side in enumerate(_SIDES):
            longest = max((extents[p.axes[place]] for p in phases if len(p.axes) > place), default=1)
            values[f"{group}_{side}"] = block_sizes(longest)
        if len(family.phases) > 1:
            values[f"{group}_terms"] = block_sizes(max(extents[phase.terms] for phase in phases))

    def order(choice: Choice) -> NDArray[np.int64]:
        return _order(family, points, stages, len(sizes), choice)

    return Space(values, _starts(family, extents, sizes, values), order)


def _name(axis: str, level: int, stage: int, stages: Sequence[int]) -> str:
    """The name of a block size: axis, level, and the stage where there are several."""
    return f"{axis}{level}" + (f"_{stage}" if max(stages) else "")


def _points(cdag: CDAG, family: _Family) -> _Points | None:
    """The coordinates of all computes; None where the graph is not entirely made of the family's phases."""
    extents: dict[str, int] = {}
    columns: dict[str, list[NDArray[np.int64]]] = {axis: [] for axis in ("vertex", *_AXES, "phase")}
    ends = [0]
    for number, phase in enumerate(family.phases):
        layout = cdag.sums.get(phase.sums)
        if layout is None or layout.layout not in _TERM or len(layout.shape) != len(phase.axes):
            return None
        extents |= dict(zip(phase.axes, layout.shape, strict=True)) | {phase.terms: layout.k}
        term_of = _TERM[layout.layout](layout.k)
        entries = int(np.prod(layout.shape))
        ids = [layout.base + np.arange(entries * len(term_of))]
        entry, term = [np.repeat(np.arange(entries), len(term_of))], [np.tile(term_of, entries)]
        for name in phase.then:
            array = cdag.tensors.get(name)
            if array is None or array.shape != layout.shape:
                return None
            ids.append(array.ravel())
            entry.append(np.arange(entries))
            term.append(np.full(entries, layout.k - 1))
        vertex = np.concatenate(ids).astype(np.int64)
        # Computes at one point follow each other by their numbers: a product, its sum, what is made of it.
        ascending = np.argsort(vertex, kind="stable")
        at = np.unravel_index(np.concatenate(entry)[ascending], layout.shape)
        found = {"vertex": vertex[ascending], phase.terms: np.concatenate(term)[ascending]}
        found |= dict(zip(phase.axes, at, strict=True))
        for axis, column in columns.items():
            constant = number if axis == "phase" else 0
            column.append(found.get(axis, np.full(len(vertex), constant)).astype(np.int64))
        ends.append(ends[-1] + len(vertex))
    if ends[-1] != cdag.num_vertices - len(cdag.sources):
        return None
    axes = {axis: np.concatenate(column) for axis, column in columns.items()}
    return _Points(axes.pop("vertex"), axes, ends, extents)


def _order(
    family: _Family, points: _Points, stages: Sequence[int], levels: int, choice: Choice
) -> NDArray[np.int64]:
    """The order of a choice: stages, in each the loops that its phases share, then each phase's own."""
    stage_of = np.asarray(stages)[points.axes["phase"]]
    around = [Loop("i", choice["rows"])] if family.in_rows else []
    outer, rest = nest_keys({**points.axes, "stage": stage_of}, [*around, Loop("stage", 1)])
    rest = {axis: column.copy() for axis, column in rest.items()}
    middle, inner = np.empty_like(outer), np.empty_like(outer)
    for stage in range(max(stages) + 1):
        loops = []
        for level in range(levels, 0, -1):
            if (first := choice.get(_name("first", level, stage, stages))) is not None:
                for axis in family.blocks[first:] + family.blocks[:first]:
                    block = choice[_name(axis, level, stage, stages)]
                    loops.append(Loop(axis, block, axis in family.turning))
        mine = np.flatnonzero(stage_of == stage)
        middle[mine], left = nest_keys(
            {axis: column[mine] for axis, column in rest.items()}, [*loops, Loop("phase", 1)]
        )
        for axis, column in left.items():
            rest[axis][mine] = column
    for number, phase in enumerate(family.phases):
        part = slice(points.ends[number], points.ends[number + 1])
        tile = [(a, choice[f"{phase.group}_{side}"]) for a, side in zip(phase.axes, _SIDES, strict=False)]
        loops = [Loop(phase.terms, choice[f"{phase.group}_terms"])] if len(family.phases) > 1 else []
        loops += [Loop(axis, block, turns=True) for axis, block in tile]
        loops += [Loop(phase.terms, 1), *(Loop(axis, 1, turns=True) for axis, _ in tile)]
        inner[part], _ = nest_keys({axis: column[part] for axis, column in rest.items()}, loops)
    return points.vertices[np.lexsort((inner, middle, outer))]


def _starts(
    family: _Family, extents: Mapping[str, int], sizes: Sequence[int], values: Mapping[str, Sequence[int]]
) -> list[Choice]:
    """Blocks with sides of about √M at level 1, and larger ones at the others, by what they hold."""

    def at_most(name: str, wanted: float) -> int:
        return max([value for value in values[name] if value <= wanted], default=values[name][0])

    d = extents.get("c", 1)
    tile = {
        name: at_most(name, max(1.0, (sizes[0] + 1) ** 0.5 - 1)) for name in values if name.endswith(_SIDES)
    }
    starts = []
    for share in (1.0, 0.6, 0.3):
        for shape in ("square", "rows", "columns"):
            choice = {name: value[-1] for name, value in values.items()} | tile
            for name in values:
                level = name[1:].partition("_")[0]
                if name.startswith("first"):
                    choice[name] = int(shape == "columns")
                elif name[0] in "ij" and level != "1":
                    M = share * sizes[int(level) - 1]
                    if shape != "square":
                        # Three rows of d words or so stay for every index of the long side.
                        side = M / (3 * d + 2) if (name[0] == "i") == (shape == "rows") else 1.0
                    elif share == 1.0 or len(family.phases) == 1:
                        side = M**0.5
                    else:
                        # A block of pairs, and d words or so of each of its rows and columns.
                        side = (M + (3 * d) ** 2) ** 0.5 - 3 * d
                    choice[name] = at_most(name, max(1.0, side))
            starts.append(choice)
    return starts


_AXES = "ijlce"
_SIDES = ("rows", "columns")
# The terms of the computes of one sum, in the order of their vertices.
_TERM: dict[str, Callable[[int], NDArray[np.int64]]] = {
    "chain": lambda k: (np.arange(2 * k - 1) + 1) // 2,
    "chain-fma": lambda k: np.arange(k),
    "chain-reduce": lambda k: np.arange(1, k),
}
