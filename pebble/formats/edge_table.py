"""CSV and TSV: one edge per row.

::

    source,target
    a,c
    b,c
    alone,

The first row may name the columns: ``source``/``from``/``u`` and ``target``/``to``/``v``; without it the two
columns are predecessor and vertex. A row without a target names a vertex; with the columns ``weight`` and
``output`` it also gives its words and says that it must end blue. Other named columns are not read. Fields
are separated by commas, semicolons or tabs and may be quoted. Names are numbered as in edge lists.
"""

from __future__ import annotations

import codecs
import csv
import io
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.annotations import json_label, label_from_text, relabelled
from pebble.formats.assembling import assemble, check_utf8, checked_weight, edge_rows, shown, whole
from pebble.formats.edge_list import Named, plain_names
from pebble.formats.names import Column, Texts

__all__ = ["edge_table_lines", "parse_edge_table"]

_SOURCE = ("source", "from", "u", "src")
_TARGET = ("target", "to", "v", "dst")
_DESCRIPTIONS = ("weight", "output", "pebble_label")
_TRUE = ("1", "true", "yes")
_FALSE = ("", "0", "false", "no")


@dataclass
class _Columns:
    source: int = 0
    target: int = 1
    weight: int | None = None
    output: int | None = None
    pebble_label: int | None = None
    count: int = 2


def parse_edge_table(data: bytes, file: str) -> CDAG:
    """The graph of a table of edges.

    Raises
    ------
    FormatError
        A row has another number of fields than the first, names no source, is a self-loop or closes a cycle.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 2 s per million rows.

    Examples
    --------
    >>> parse_edge_table(b"source,target\\na,b\\nb,c\\n", "example").labels
    ('a', 'b', 'c')
    """
    check_utf8(data, file)
    table = _Table(data.removeprefix(codecs.BOM_UTF8), file)
    if not table.read(Named(True, len(data))):
        table.read(Named(False, len(data)))
    return table.graph()


class _Table:
    def __init__(self, data: bytes, file: str) -> None:
        self.data = data
        self.file = file
        first = next((line for line in io.BytesIO(data) if line.strip()), b"").decode("utf-8")
        self.delimiter = max(",;\t", key=first.count)
        self.named = Named(True, len(data))
        self._forget()

    def _forget(self) -> None:
        # Rows without a target that describe their source: which of the vertices named alone, line, texts.
        self.described, self.lines = array("I"), array("I")
        self.said = {key: Texts() for key in _DESCRIPTIONS}

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        lines = io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8", newline="")
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        try:
            for row in reader:
                if row and any(field.strip() for field in row):
                    yield reader.line_num, [field.strip() for field in row]
        except csv.Error as error:
            raise FormatError(self.file, f"the table is malformed: {error}", reader.line_num) from None

    def read(self, named: Named) -> bool:
        """Fill `named` from the rows; False if a name is no number though all were expected to be."""
        self.named = named
        self._forget()
        columns: _Columns | None = None
        for line, row in self.rows():
            if columns is None:
                columns, is_header = self._columns(row, line)
                if is_header:
                    continue
            if len(row) != columns.count:
                raise FormatError(
                    self.file, f"the row has {len(row)} fields, the first one has {columns.count}", line
                )
            source, target = row[columns.source], row[columns.target]
            if not source:
                raise FormatError(self.file, "the row has no source", line)
            name = source.encode("utf-8", "surrogatepass")
            good = named.add(name, target.encode("utf-8", "surrogatepass")) if target else named.alone(name)
            if not good:
                return False
            if target:
                continue
            given = (columns.weight, columns.output, columns.pebble_label)
            said = ["" if column is None else row[column] for column in given]
            if any(said):
                self.described.append(len(named.single) - 1)
                self.lines.append(line)
                for texts, column, text in zip(self.said.values(), given, said, strict=True):
                    if column is not None:
                        texts.append(text.encode())
        return True

    def _columns(self, row: Sequence[str], line: int) -> tuple[_Columns, bool]:
        names = [field.lower() for field in row]
        sources = [i for i, name in enumerate(names) if name in _SOURCE]
        targets = [i for i, name in enumerate(names) if name in _TARGET]
        if len(sources) != 1 or len(targets) != 1:
            if len(row) != 2:
                raise FormatError(
                    self.file,
                    f"the first row has {len(row)} columns: name them, source and target among them",
                    line,
                )
            return _Columns(), False
        found = {key: names.index(key) for key in ("weight", "output", "pebble_label") if key in names}
        return _Columns(sources[0], targets[0], **found, count=len(row)), True

    def _check_described_once(self, ids: NDArray[Any], names: Sequence[Any]) -> None:
        if (ids[1:] > ids[:-1]).all():
            return
        order = np.argsort(ids, kind="stable")
        again = order[1:][ids[order[1:]] == ids[order[:-1]]]
        if len(again):
            i = int(again.min())
            raise FormatError(
                self.file, f"vertex {shown(names[int(ids[i])])} is described twice", self.lines[i]
            )

    def graph(self) -> CDAG:
        vertices, labels, pairs, alone = self.named.finish()
        if not vertices:
            raise FormatError(self.file, "the file holds no vertices: write one edge 'u,v' per row")
        ids = alone[self.described] if self.described else np.empty(0, dtype=np.int64)
        names: Sequence[Any] = range(vertices) if labels is None else labels
        self._check_described_once(ids, names)
        weights = np.ones(vertices, dtype=np.int64) if self.said["weight"].text else None
        outputs = array("q")
        given = Column()
        for i, v in enumerate(map(int, ids)):
            line = self.lines[i]
            weight, output, label = (texts[i].decode() if len(texts) else "" for texts in self.said.values())
            if label:
                label_from_text(label, self.file, line)
                given.put(v, label, line)
            if weight and weights is not None:
                number = whole(weight, "weight", self.file, line)
                # Names are made readable only for errors.
                who = "" if 0 < number < 10**18 else f"vertex {shown(names[v])}"
                weights[v] = checked_weight(number, who, self.file, line)
            if output.lower() in _TRUE:
                outputs.append(v)
            elif output.lower() not in _FALSE:
                raise FormatError(self.file, f"output '{shown(output)}' is neither 1 nor 0", line)
        if given:
            labels = relabelled(labels, vertices, given)
        return assemble(
            self.file,
            vertices,
            pairs,
            labels=labels,
            weights=weights,
            outputs=outputs,
            line_of=self._line_of,
        )

    def _line_of(self, edge: int) -> int | None:
        """The line of an edge; an error's second look at the file."""
        columns = None
        for line, row in self.rows():
            if columns is None:
                columns, is_header = self._columns(row, line)
                if is_header:
                    continue
            if row[columns.target]:
                if edge == 0:
                    return line
                edge -= 1
        return None


def edge_table_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph's CSV table; `parse_edge_table` gives the same graph back.

    Labels that would not read back as names stand in a column of their own.

    Examples
    --------
    >>> print(*edge_table_lines(CDAG.from_edges(2, [(0, 1)]), "example"), sep="", end="")
    source,target
    0,1
    """
    plain = None if cdag.labels is None else plain_names(cdag.labels, ',;"\t')
    names: Sequence[str | int] = range(cdag.num_vertices) if plain is None else plain
    labelled = cdag.labels is not None and plain is None
    extra = labelled or cdag.weights is not None or len(cdag.further_outputs) > 0
    further = set(cdag.further_outputs.tolist())
    columns = [
        "source",
        "target",
        *(["weight", "output"] if extra else []),
        *(["pebble_label"] if labelled else []),
    ]
    yield ",".join(columns) + "\n"
    tail = "," * (len(columns) - 2)
    # Named first, in order, so that the ids are the same when read back; numbers need it only where isolated.
    touched = cdag.in_degree > 0
    touched[cdag.indices] = True
    for v, name in enumerate(names):
        if labelled:
            label = json_label(cdag.labels[v], file).replace('"', '""')  # type: ignore[index]
            yield f'{name},,{cdag.weight(v)},{int(v in further)},"{label}"\n'
        elif extra and (cdag.weight(v) > 1 or v in further):
            yield f"{name},,{cdag.weight(v)},{int(v in further)}\n"
        elif cdag.labels is not None or not touched[v]:
            yield f"{name},{tail}\n"
    for u, v in edge_rows(cdag):
        yield f"{names[u]},{names[v]}{tail}\n"
