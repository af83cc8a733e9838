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

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.assembling import Edges, assemble, shown

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
    index: dict[str, int] = {}
    gates: list[tuple[int, str, int]] = []  # vertex, operands as text, line
    outputs: list[tuple[str, int]] = []
    for line, raw in enumerate(io.BytesIO(data), 1):
        try:
            text = raw.partition(b"#")[0].decode("utf-8").strip()
        except UnicodeDecodeError:
            raise FormatError(file, "the line is no UTF-8 text", line) from None
        if not text:
            continue
        if port := _PORT.match(text):
            if port[1].upper() == "OUTPUT":
                outputs.append((port[2], line))
                continue
            name, operands = port[2], ""
        elif gate := _GATE.match(text):
            name, operands = gate[1], gate[3]
            if gate[2].upper().startswith("DFF"):
                raise FormatError(
                    file, f"signal {shown(name)} is a flip-flop: only circuits without memory are DAGs", line
                )
            if not operands.strip():
                raise FormatError(file, f"gate {shown(name)} has no operands", line)
        elif constant := _CONSTANT.match(text):
            name, operands = constant[1], ""
        else:
            raise FormatError(
                file, f"'{shown(text)}' is no INPUT(a), no OUTPUT(a) and no gate a = AND(b, c)", line
            )
        if name in index:
            raise FormatError(file, f"signal {shown(name)} is given twice", line)
        index[name] = len(index)
        if operands:
            gates.append((index[name], operands, line))
    if not index:
        raise FormatError(file, "the file holds no signals")

    def vertex(name: str, line: int) -> int:
        if name not in index:
            raise FormatError(file, f"signal {shown(name)} is used but never given a value", line)
        return index[name]

    edges = Edges()
    for v, operands, line in gates:
        # A signal that stands twice in a gate is one operand.
        for name in dict.fromkeys(part.strip() for part in operands.split(",")):
            edges.add(vertex(name, line), v, line)
    ends = [vertex(name, line) for name, line in outputs]
    return assemble(file, len(index), edges, labels=list(index), outputs=ends)
