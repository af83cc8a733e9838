"""Our own graph files: everything a CDAG holds, so that a graph read back is also evaluated and tiled.

::

    red-blue-pebble graph 1
    digest: sha256:...
    num_vertices: 4
    num_edges: 3
    family: ""
    params: {}

    edges
    0 2
    1 2
    2 3
    end

``key: value`` lines (values are JSON) up to a blank line, then sections of whole numbers, each after a line
that holds its name: ``edges``, ``weights``, ``outputs``, ``ops`` (positions in the list of the key ``ops``),
one ``tensor NAME SHAPE`` for every named array; the sections ``labels`` and ``constants`` hold JSON lists.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG, SumLayout
from pebble.errors import FormatError, InvalidCDAGError
from pebble.formats.annotations import json_label, label_from_json
from pebble.formats.assembling import ROOM, assemble, shown
from pebble.formats.json_text import finite_json, list_elements
from pebble.formats.names import Texts
from pebble.formats.tokens import numbers_text, read_numbers
from pebble.labels import PackedLabels
from pebble.operations import ScalarOp

__all__ = ["graph_file_lines", "parse_graph_file"]

_FIRST = "red-blue-pebble graph 1"
_SECTION = re.compile(rb"^(edges|weights|outputs|labels|ops|constants|tensor .*|end)[ \t\r]*$", re.MULTILINE)
_KEYS = ("digest", "num_vertices", "num_edges", "family", "params", "inputs", "results", "sums", "ops")
_PER_LINE = 16
# Constants for which JSON has no number.
_NO_NUMBERS = ("inf", "-inf", "nan")


def parse_graph_file(data: bytes, file: str) -> CDAG:
    """The graph of one of our own graph files.

    Raises
    ------
    FormatError
        The file is cut off, damaged, or its edges are not those of its digest.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|).
    """
    return _Reader(data, file).graph()


class _Reader:
    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        self.size = len(data)
        self.header: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        body = self._read_header(data)
        self.sections = self._split(data, body)

    def error(self, message: str, key: str | None = None) -> FormatError:
        return FormatError(self.file, message, self.lines.get(key) if key else None)

    def _read_header(self, data: bytes) -> int:
        at, number = 0, 0
        while at < len(data):
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            line, at, number = data[at:end].strip(), end + 1, number + 1
            if number == 1:
                if line.decode("utf-8", "replace") != _FIRST:
                    raise FormatError(self.file, f"the first line must be '{_FIRST}'", 1)
                continue
            if not line:
                break
            key, colon, value = line.decode("utf-8", "replace").partition(":")
            if not colon or key not in _KEYS:
                raise FormatError(self.file, f"'{shown(key)}' is no key (keys: {', '.join(_KEYS)})", number)
            if key in self.header:
                raise FormatError(self.file, f"'{key}' is given twice", number)
            try:
                self.header[key] = value.strip() if key == "digest" else finite_json(value)
            except (ValueError, RecursionError):
                raise FormatError(self.file, f"the value of {key} is no JSON", number) from None
            self.lines[key] = number
        for key in ("digest", "num_vertices", "num_edges"):
            if key not in self.header:
                raise FormatError(self.file, f"the header ends without '{key}'", number)
        self.body_line = number + 1
        return at

    def _split(self, data: bytes, at: int) -> dict[str, tuple[bytes, int]]:
        """The text of every section and the line on which it begins."""
        found: dict[str, tuple[bytes, int]] = {}
        marks = list(_SECTION.finditer(data, at))
        line, counted = self.body_line, at
        for i, mark in enumerate(marks):
            line += data.count(b"\n", counted, mark.start())
            counted = mark.start()
            name = mark[1].decode("utf-8", "replace")
            if name in found:
                raise FormatError(self.file, f"section '{shown(name)}' is given twice", line)
            stop = marks[i + 1].start() if i + 1 < len(marks) else len(data)
            found[name] = (data[mark.end() : stop], line)
            if i == 0 and data[at : mark.start()].strip():
                raise FormatError(self.file, "text stands before the first section", self.body_line)
        if "end" not in found:
            raise FormatError(self.file, "the file is cut off: there is no line 'end'", line)
        if found["end"][0].strip():
            raise FormatError(self.file, "text stands after the line 'end'", found["end"][1])
        return found

    def _numbers(self, name: str, count: int, below: int | None = None) -> NDArray[np.int64] | None:
        """The numbers of a section, or None if there is no such section."""
        if name not in self.sections:
            return None
        text, line = self.sections[name]
        numbers = read_numbers(text, self.file, line)
        if len(numbers) != count and count >= 0:
            raise FormatError(
                self.file,
                f"section '{shown(name)}' holds {len(numbers)} numbers, not {count}: it was cut off",
                line,
            )
        if below is not None and len(numbers) and int(numbers.max()) >= below:
            raise FormatError(
                self.file,
                f"section '{shown(name)}': {int(numbers.max())} is out of range, the last is {below - 1}",
                line,
            )
        return numbers

    def _elements(self, name: str, count: int) -> Iterator[Any]:
        """The elements of a section that is a JSON list; FormatError if they are not so many."""
        text, line = self.sections[name]
        seen = 0
        try:
            for value in list_elements(text):
                seen += 1
                yield value
        except (ValueError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(self.file, f"section '{name}' is no JSON", line) from None
        if seen != count:
            raise FormatError(self.file, f"section '{name}' is no list of {count} entries", line)

    def _labels(self, count: int) -> PackedLabels | None:
        if "labels" not in self.sections:
            return None
        line = self.sections["labels"][1]
        texts = Texts()
        for value in self._elements("labels", count):
            label_from_json(value, self.file, line)
            texts.append(json.dumps(value).encode("ascii"))
        return texts.labels(as_json=True)

    def _constants(self, count: int) -> NDArray[np.float64] | None:
        if "constants" not in self.sections:
            return None
        numbers = array("d")
        for value in self._elements("constants", count):
            if type(value) not in (int, float) and value not in _NO_NUMBERS:
                raise FormatError(
                    self.file, "section 'constants' holds what is no number", self.sections["constants"][1]
                )
            numbers.append(float(value))
        return np.array(numbers, dtype=np.float64)

    def _count(self, key: str) -> int:
        number = self.header[key]
        if type(number) is not int or not 0 <= number <= max(ROOM, self.size):
            raise self.error(f"{key} {shown(number)} is out of range for a file of {self.size} bytes", key)
        return number

    def graph(self) -> CDAG:
        n, m = self._count("num_vertices"), self._count("num_edges")
        edges = self._numbers("edges", 2 * m, n)
        if edges is None or not n:
            raise FormatError(self.file, "there is no section 'edges'" if n else "the file holds no vertices")
        labels = self._labels(n)
        outputs = self._numbers("outputs", -1, n)
        start = self.sections["edges"][1] + 1
        try:
            cdag = assemble(
                self.file,
                n,
                edges.reshape(-1, 2),
                labels=labels,
                weights=self._numbers("weights", n),
                outputs=() if outputs is None else outputs,
                line_of=lambda edge: start + edge,
            )
            cdag = cdag._replace(**self._provenance(n))
        except InvalidCDAGError as error:
            raise FormatError(self.file, str(error)) from None
        if self.header["digest"] != f"sha256:{cdag.digest}":
            raise self.error("the graph is not the one that was written: its digest is another", "digest")
        return cdag

    def _provenance(self, n: int) -> dict[str, Any]:
        family, params = self.header.get("family", ""), self.header.get("params", {})
        if not isinstance(family, str) or not isinstance(params, dict):
            raise self.error("family must be a string and params an object", "params")
        tensors = {name[7:]: self._tensor(name, n) for name in self.sections if name.startswith("tensor ")}
        named = {name.rpartition(" ")[0]: ids for name, ids in tensors.items()}
        fields: dict[str, Any] = {"family": family, "params": params, "tensors": named, "sums": self._sums(n)}
        for key, target in (("inputs", "input_names"), ("results", "output_names")):
            names = self.header.get(key, [])
            if not isinstance(names, list) or not all(isinstance(x, str) and x in named for x in names):
                raise self.error(f"{key} is no list of tensors of the file", key)
            fields[target] = tuple(names)
        return fields | self._operations(n)

    def _tensor(self, name: str, n: int) -> NDArray[np.int64]:
        shape_text = name.rpartition(" ")[2]
        if not re.fullmatch(r"\d{1,12}(x\d{1,12})*|scalar", shape_text, re.ASCII):
            raise FormatError(self.file, f"'{shown(name)}' has no shape such as 4x2", self.sections[name][1])
        shape = () if shape_text == "scalar" else tuple(map(int, shape_text.split("x")))
        ids = self._numbers(name, math.prod(shape), n)
        assert ids is not None
        return ids.reshape(shape)

    def _sums(self, n: int) -> dict[str, SumLayout]:
        sums = self.header.get("sums", {})
        try:
            return {
                str(name): SumLayout(int(base), tuple(map(int, shape)), int(k), str(layout))
                for name, (base, shape, k, layout) in sums.items()
            }
        except (AttributeError, TypeError, ValueError):
            raise self.error("sums is no object of [base, shape, k, layout]", "sums") from None

    def _operations(self, n: int) -> dict[str, Any]:
        names = self.header.get("ops")
        codes = self._numbers("ops", n, len(names) if isinstance(names, list) else 0)
        if codes is None:
            return {}
        if not isinstance(names, list) or not all(
            isinstance(x, str) and x in ScalarOp.__members__ for x in names
        ):
            raise self.error("ops is no list of operations that this program knows", "ops")
        table = np.array([ScalarOp[name] for name in names], dtype=np.uint8)
        constants = self._constants(n)
        return {"ops": table[codes]} | ({} if constants is None else {"op_const": constants})


def graph_file_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The pieces of a graph's file; `parse_graph_file` gives all of the graph back."""
    yield f"{_FIRST}\ndigest: sha256:{cdag.digest}\n"
    header: dict[str, Any] = {"num_vertices": cdag.num_vertices, "num_edges": cdag.num_edges}
    if cdag.family:
        header |= {"family": cdag.family, "params": dict(cdag.params)}
    if cdag.input_names or cdag.output_names:
        header |= {"inputs": list(cdag.input_names), "results": list(cdag.output_names)}
    if cdag.sums:
        header["sums"] = {name: list(layout) for name, layout in cdag.sums.items()}
    used: NDArray[Any] | None = None
    if cdag.ops is not None:
        used, codes = np.unique(cdag.ops, return_inverse=True)
        header["ops"] = [ScalarOp(int(code)).name for code in used]
    for key, value in header.items():
        try:
            yield f"{key}: {json.dumps(value, default=_plain, allow_nan=False)}\n"
        except (TypeError, ValueError) as error:
            raise FormatError(file, f"{key} cannot be written: {error}") from None
    yield from _section("edges", cdag.edges().ravel(), 2)
    if cdag.weights is not None:
        yield from _section("weights", cdag.weights)
    if len(cdag.further_outputs):
        yield from _section("outputs", cdag.further_outputs)
    if cdag.labels is not None:
        yield from _json_section("labels", (json_label(label, file) for label in cdag.labels))
    if used is not None:
        yield from _section("ops", codes)
    if cdag.op_const is not None:
        yield from _json_section("constants", map(_constant, cdag.op_const.tolist()))
    for name, ids in cdag.tensors.items():
        if not name.isprintable() or name != name.strip() or not name:
            raise FormatError(file, f"the tensor name {name!r} cannot be written")
        shape = "x".join(map(str, ids.shape)) or "scalar"
        yield from _section(f"tensor {name} {shape}", ids.ravel())
    yield "end\n"


def _section(name: str, numbers: NDArray[Any], per_line: int = _PER_LINE) -> Iterator[str]:
    yield f"\n{name}\n"
    for block in numbers_text(numbers.astype(np.int64), per_line):
        yield block.decode("ascii")


def _json_section(name: str, values: Iterable[str]) -> Iterator[str]:
    yield f"\n{name}\n[\n"
    comma = ""
    for value in values:
        yield comma + value
        comma = ",\n"
    yield "\n]\n"


def _constant(number: float) -> str:
    """A constant as JSON, which has no infinite numbers: they are strings."""
    return json.dumps(number if math.isfinite(number) else str(number))


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is no JSON")
