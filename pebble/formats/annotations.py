"""What a text format has no place for, kept in its comments.

A comment such as ``% pebble weights 0 [1, 1, 3]`` gives the weights of the vertices 0, 1, 2; several such
lines follow each other, each of moderate length. The key is ``labels``, ``weights`` or ``outputs``; outputs
are listed without a vertex. Other programs skip them as they skip any comment.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.assembling import checked_weight, shown
from pebble.formats.json_text import JsonText
from pebble.formats.names import Column, Texts
from pebble.labels import PackedLabels, tuples_of_lists

__all__ = [
    "Annotations",
    "annotation_lines",
    "json_label",
    "label_from_json",
    "label_from_text",
    "relabelled",
]

_LINE = re.compile(rb"pebble\s+(labels|weights|outputs)\s+(\d{1,18})\s+(\[.*\])\s*\Z")
_START = re.compile(rb"pebble\s+(?:labels|weights|outputs)\s+[\d\[]")
_PER_LINE = 100
# Bytes from which a list is read one element at a time.
_LONG_LIST = 1 << 16
# Some readers of these formats hold a line in a buffer of 1024 bytes.
_LONGEST = 900
_DEEPEST = 100


class Annotations:
    """The annotations of one file.

    Parameters
    ----------
    file : str
        Its name, for errors.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._labels = Texts()  # as JSON
        self._numbers = {"weights": array("q"), "outputs": array("q")}
        self._lines: dict[str, int] = {}

    def see(self, comment: bytes, line: int) -> None:
        """Look at the text of a comment, without its sign and the blanks around it."""
        if not _START.match(comment):
            return
        match = _LINE.match(comment)
        if match is None:
            raise FormatError(
                self.file, "this comment looks like 'pebble labels 0 [...]', but its list is damaged", line
            )
        key = match[1].decode()
        held = len(self._labels if key == "labels" else self._numbers[key])
        self._lines[key] = line
        if int(match[2]) != held:
            raise FormatError(
                self.file, f"the {key} go on at {int(match[2])}, but {held} are given before", line
            )
        for value in self._values(match[3], key, line):
            if key == "labels":
                label_from_json(value, self.file, line)
                self._labels.append(json.dumps(value).encode())
            elif key == "weights":
                who = f"vertex {len(self._numbers[key])}"
                number = checked_weight(self._integer(value, "weight", line), who, self.file, line)
                self._numbers[key].append(number)
            else:
                number = self._integer(value, "output", line)
                if not 0 <= number < 2**63:
                    raise FormatError(self.file, f"output {shown(number)} is out of range", line)
                self._numbers[key].append(number)

    def _values(self, text: bytes, key: str, line: int) -> Iterator[Any]:
        """The elements of a list, one at a time where it is long."""
        try:
            if len(text) < _LONG_LIST:
                yield from json.loads(text)
                return
            long = JsonText(text, self.file)
            elements = long.elements()
        except (ValueError, RecursionError):
            raise FormatError(self.file, f"the {key} are no JSON list", line) from None
        while True:
            try:
                value = next(elements, elements)
                if value is elements:
                    long.end()
                    return
            except FormatError:
                raise FormatError(self.file, f"the {key} are no JSON list", line) from None
            yield value

    def scan(self, data: bytes, comment: bytes) -> None:
        """Look at the comments of a whole file; free where nothing is annotated."""
        sign = re.escape(comment) + rb"[ \t]*pebble (?:labels|weights|outputs) "
        line, start = 1, 0
        for match in re.finditer(rb"^[ \t]*" + sign, data, re.MULTILINE):
            line += data.count(b"\n", start, match.start())
            start = match.start()
            end = data.find(b"\n", start)
            text = data[start : end if end >= 0 else len(data)].strip()
            self.see(text[len(comment) :].strip(), line)

    def labels(self, vertices: int) -> PackedLabels | None:
        """One label per vertex, or None; no more comments may be seen afterwards."""
        if self._lines.get("labels") is None:
            return None
        self._check_count("labels", len(self._labels), vertices)
        return self._labels.labels(as_json=True)

    def weights(self, vertices: int) -> NDArray[np.int64] | None:
        """One weight per vertex, or None."""
        if self._lines.get("weights") is None:
            return None
        self._check_count("weights", len(self._numbers["weights"]), vertices)
        return np.array(self._numbers["weights"], dtype=np.int64)

    def outputs(self, vertices: int) -> NDArray[np.int64]:
        """The further outputs."""
        ids = np.array(self._numbers["outputs"], dtype=np.int64)
        beyond = ids[ids >= vertices]
        if len(beyond):
            raise FormatError(
                self.file,
                f"output {beyond[0]} is out of range, vertices go from 0 to {vertices - 1}",
                self._lines["outputs"],
            )
        return ids

    def _check_count(self, key: str, count: int, vertices: int) -> None:
        if count != vertices:
            raise FormatError(self.file, f"{count} {key} are given for {vertices} vertices", self._lines[key])

    def _integer(self, value: Any, what: str, line: int) -> int:
        if type(value) is not int:
            raise FormatError(self.file, f"'{shown(value)}' is no {what}: a whole number is", line)
        return value


def annotation_lines(
    cdag: CDAG, file: str, comment: str, *, weights: bool = True, labels: bool = True
) -> Iterator[str]:
    """Comment lines with the graph's labels, weights and further outputs, as far as it has them."""
    if labels and cdag.labels is not None:
        yield from _blocks("labels", [json_label(label, file) for label in cdag.labels], comment)
    if weights and cdag.weights is not None:
        yield from _blocks("weights", list(map(str, cdag.weights.tolist())), comment)
    if len(cdag.further_outputs):
        yield from _blocks("outputs", list(map(str, cdag.further_outputs.tolist())), comment)


def json_label(label: Hashable, file: str) -> str:
    """A label as JSON from which `label_from_json` makes the same label; FormatError if there is none."""
    if not _is_json(label):
        raise FormatError(file, f"the label {label!r} cannot be written: relabel the vertices with strings")
    # Surrogates and line ends are escaped, so that the text is one line of any encoding.
    return json.dumps(label)


def label_from_json(value: Any, file: str, line: int | None) -> Hashable:
    """The label behind a JSON value: lists are the tuples that JSON made of them."""
    pending = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if isinstance(part, dict):
            raise FormatError(file, "an object is no label, give a string or a number", line)
        if isinstance(part, float) and not math.isfinite(part):
            raise FormatError(
                file, f"the label {shown(json.dumps(value))} is no number that JSON has: use a string", line
            )
        if isinstance(part, list):
            if depth == _DEEPEST:
                raise FormatError(file, "a label is nested too deeply", line)
            pending += [(inner, depth + 1) for inner in part]
    label: Hashable = tuples_of_lists(value)
    return label


def label_from_text(text: str, file: str, line: int | None) -> Hashable:
    """The label that `json_label` wrote."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError(file, f"the label {shown(text)} is no JSON", line) from None
    return label_from_json(value, file, line)


def relabelled(
    labels: PackedLabels | None, vertices: int, given: Column, ids: NDArray[Any] | None = None
) -> PackedLabels:
    """The labels with those that are given in their place.

    Parameters
    ----------
    labels : PackedLabels, or None
        By default the vertex numbers.
    vertices : int
    given : Column
        Labels as JSON from which `label_from_text` makes labels.
    ids : ndarray of integers, optional
        The vertices that the column's are; by default they are the same.
    """
    place = np.full(vertices, -1, dtype=np.int64)
    place[given.vertices if ids is None else ids[given.vertices]] = np.arange(len(given))
    texts = Texts()
    others: Iterator[Hashable] = iter(range(vertices) if labels is None else labels)
    for at, other in zip(place.tolist(), others, strict=True):
        texts.append(given.texts[at] if at >= 0 else json.dumps(other).encode())
    return texts.labels(as_json=True)


def _is_json(label: Any) -> bool:
    if isinstance(label, tuple):
        return all(map(_is_json, label))
    if type(label) is float:
        return math.isfinite(label)
    return label is None or type(label) in (str, int, bool)


def _blocks(key: str, values: Sequence[str], comment: str) -> Iterator[str]:
    block: list[str] = []
    size = first = 0
    for i, text in enumerate(values):
        if block and (len(block) == _PER_LINE or size + len(text) > _LONGEST):
            yield f"{comment} pebble {key} {first} [{', '.join(block)}]\n"
            block, size, first = [], 0, i
        block.append(text)
        size += len(text) + 2
    if block:
        yield f"{comment} pebble {key} {first} [{', '.join(block)}]\n"
