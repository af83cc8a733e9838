"""ISCAS ``.bench`` netlists: gates as vertices, wires as edges. They are only read.

::

    # a comment
    INPUT(a)
    INPUT(b)
    OUTPUT(z)
    z = NAND(a, b)

The vertices are the signals, in the order in which they are given a value (``INPUT`` or ``=``); their names
are the labels. An ``OUTPUT`` that feeds other gates is a further output.
"""

from __future__ import annotations

import io
import re
from array import array

import numpy as np

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.assembling import Edges, assemble, shown
from pebble.formats.names import NameTable, utf8
from pebble.labels import PackedLabels

__all__ = ["parse_bench"]

_PORT = re.compile(r"(INPUT|OUTPUT)\s*\(\s*([^\s(),=]+)\s*\)\s*\Z", re.IGNORECASE)
_GATE = re.compile(r"([^\s(),=]+)\s*=\s*([A-Za-z_][\w.$]*)\s*\(([^()]*)\)\s*\Z")
_CONSTANT = re.compile(r"([^\s(),=]+)\s*=\s*(vdd|gnd)\s*\Z", re.IGNORECASE)


def parse_bench(data: bytes, file: str) -> CDAG:
    """The graph of a netlist.

    Raises
    ------
    FormatError
        A line is none of the four forms, a signal is given twice or never, the gates form a cycle.

    Notes
    -----
    O(size of the file + |E| log |E|), about 3 s per million gates.

    Examples
    --------
    >>> g = parse_bench(b"INPUT(a)\\nOUTPUT(z)\\nz = NOT(a)\\n", "example")
    >>> g.labels, g.edges().tolist()
    (('a', 'z'), [[0, 1]])
    """
    names = NameTable(len(data), utf8)  # in the order in which they are met, as operands too
    given = array("q")  # in the order in which signals are given a value
    is_given = bytearray()
    edges = Edges(len(data))
    outputs, output_lines = array("q"), array("q")

    number_of = names.number

    def vertex(name: str) -> int:
        v = number_of(name)
        if v == len(is_given):
            is_given.append(0)
        return v

    for line, raw in enumerate(io.BytesIO(data), 1):
        try:
            text = (raw[: raw.index(b"#")] if b"#" in raw else raw).decode("utf-8").strip()
        except UnicodeDecodeError:
            raise FormatError(file, "the line is no UTF-8 text", line) from None
        if not text:
            continue
        gate = _GATE.match(text) if "=" in text else None
        if gate is not None:
            name, operands = gate[1], gate[3]
            if gate[2].upper().startswith("DFF"):
                raise FormatError(
                    file, f"signal {shown(name)} is a flip-flop: only circuits without memory are DAGs", line
                )
            if not operands.strip():
                raise FormatError(file, f"gate {shown(name)} has no operands", line)
        elif port := _PORT.match(text):
            if port[1].upper() == "OUTPUT":
                outputs.append(vertex(port[2]))
                output_lines.append(line)
                continue
            name, operands = port[2], ""
        elif constant := _CONSTANT.match(text):
            name, operands = constant[1], ""
        else:
            raise FormatError(
                file, f"'{shown(text)}' is no INPUT(a), no OUTPUT(a) and no gate a = AND(b, c)", line
            )
        v = vertex(name)
        if is_given[v]:
            raise FormatError(file, f"signal {shown(name)} is given twice", line)
        is_given[v] = 1
        given.append(v)
        if operands:
            # A signal that stands twice in a gate is one operand.
            for operand in dict.fromkeys(map(str.strip, operands.split(","))):
                edges.add(vertex(operand), v, line)
    if not given:
        raise FormatError(file, "the file holds no signals")
    _check_all_given(is_given, edges, outputs, output_lines, names, file)
    order = np.array(given, dtype=np.int64)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    labels: PackedLabels = names.drop_index().labels()
    if not (number == np.arange(len(order))).all():
        labels = labels.take(order)
    lines = edges.lines
    return assemble(
        file,
        len(order),
        edges.renumbered(number),
        labels=labels,
        outputs=number[outputs] if outputs else (),
        line_of=lines.__getitem__,
    )


def _check_all_given(
    is_given: bytearray,
    edges: Edges,
    outputs: array[int],
    output_lines: array[int],
    names: NameTable,
    file: str,
) -> None:
    """FormatError if a signal is used, as an operand or else as an output, and never given a value."""
    absent = np.frombuffer(is_given, dtype=np.uint8) == 0
    if not absent.any():
        return
    used = np.flatnonzero(absent[edges.pairs()[:, 0]])
    if len(used):
        signal, line = int(edges.pairs()[used[0], 0]), edges.lines[used[0]]
    else:
        at = int(np.flatnonzero(absent[np.array(outputs)])[0])
        signal, line = outputs[at], output_lines[at]
    raise FormatError(file, f"signal {shown(names.name(signal))} is used but never given a value", line)
