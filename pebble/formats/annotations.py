"""What a text format has no place for, kept in its comments.

A comment such as ``% pebble weights 0 [1, 1, 3]`` gives the weights of the vertices 0, 1, 2; several such
lines follow each other, each of moderate length. The key is ``labels``, ``weights`` or ``outputs``; outputs
are listed without a vertex. Other programs skip them as they skip any comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.assembling import checked_weight, shown

__all__ = ["Annotations", "annotation_lines", "json_label", "label_from_json", "label_from_text"]

_LINE = re.compile(rb"pebble\s+(labels|weights|outputs)\s+(\d{1,18})\s+(\[.*\])\s*\Z")
_START = re.compile(rb"pebble\s+(?:labels|weights|outputs)\s+[\d\[]")
_PER_LINE = 100
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
        self._values: dict[str, list[Any]] = {}
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
        held = self._values.setdefault(key, [])
        self._lines[key] = line
        if int(match[2]) != len(held):
            raise FormatError(
                self.file, f"the {key} go on at {int(match[2])}, but {len(held)} are given before", line
            )
        try:
            held += json.loads(match[3])
        except (ValueError, RecursionError):
            raise FormatError(self.file, f"the {key} are no JSON list", line) from None

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

    def labels(self, vertices: int) -> list[Hashable] | None:
        """One label per vertex, or None."""
        values = self._column("labels", vertices)
        return None if values is None else [label_from_json(v, self.file, None) for v in values]

    def weights(self, vertices: int) -> list[int] | None:
        """One weight per vertex, or None."""
        values = self._column("weights", vertices)
        if values is None:
            return None
        line = self._lines["weights"]
        return [
            checked_weight(self._integer(w, "weight", line), f"vertex {v}", self.file, line)
            for v, w in enumerate(values)
        ]

    def outputs(self, vertices: int) -> list[int]:
        """The further outputs."""
        line = self._lines.get("outputs", 0)
        ids = [self._integer(v, "output", line) for v in self._values.get("outputs", [])]
        for v in ids:
            if not 0 <= v < vertices:
                raise FormatError(
                    self.file, f"output {v} is out of range, vertices go from 0 to {vertices - 1}", line
                )
        return ids

    def _column(self, key: str, vertices: int) -> list[Any] | None:
        values = self._values.get(key)
        if values is not None and len(values) != vertices:
            raise FormatError(
                self.file, f"{len(values)} {key} are given for {vertices} vertices", self._lines[key]
            )
        return values

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


def label_from_json(value: Any, file: str, line: int | None, depth: int = 0) -> Hashable:
    """The label behind a JSON value: lists are the tuples that JSON made of them."""
    if isinstance(value, dict):
        raise FormatError(file, "an object is no label, give a string or a number", line)
    if isinstance(value, list):
        if depth == _DEEPEST:
            raise FormatError(file, "a label is nested too deeply", line)
        return tuple(label_from_json(part, file, line, depth + 1) for part in value)
    label: Hashable = value
    return label


def label_from_text(text: str, file: str, line: int | None) -> Hashable:
    """The label that `json_label` wrote."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError(file, f"the label {shown(text)} is no JSON", line) from None
    return label_from_json(value, file, line)


def _is_json(label: Any) -> bool:
    if isinstance(label, tuple):
        return all(map(_is_json, label))
    return label is None or type(label) in (str, int, float, bool)


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
