"""GraphML, the XML of graph editors and libraries.

Nodes are numbered as the file lists them; their ids are text whatever other attributes say, and ids that are
all integers become integer labels. A node's data named ``weight`` (or ``mem_weight``, ``comm_weight``) is its
words. Entities and document types are refused: nothing outside the file is read and nothing in it multiplies.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.annotations import json_label, label_from_text, relabelled
from pebble.formats.assembling import Edges, assemble, edge_rows, labels_of_names, shown
from pebble.formats.dot import named_labels, words_of_number
from pebble.formats.names import Column, NameTable, utf8, vertices_of
from pebble.labels import IntegerLabels

__all__ = ["graphml_lines", "parse_graphml"]

_WEIGHTS = ("mem_weight", "comm_weight", "weight")
_READ = (*_WEIGHTS, "pebble_label", "pebble_output")
_DEEPEST = 50
_BLOCK = 1 << 20


def parse_graphml(data: bytes, file: str) -> CDAG:
    """The graph of a GraphML file.

    Raises
    ------
    FormatError
        It is no well-formed XML (the line is named) or cut off, has a document type, is undirected, holds
        hyperedges, nested graphs or several graphs; an id is given twice, an edge names no node, is a
        self-loop or closes a cycle; a weight is no whole number.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 4 s per million edges.

    Examples
    --------
    >>> text = b'<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'
    >>> parse_graphml(text, "example").labels
    ('a', 'b')
    """
    reader = _Reader(file, len(data))
    parser = expat.ParserCreate()
    reader.parser = parser
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    try:
        for lo in range(0, len(data), _BLOCK):
            parser.Parse(data[lo : lo + _BLOCK], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        cut = ": it was cut off" if "no element found" in message or "unclosed" in message else ""
        raise FormatError(file, f"the XML is malformed ({message}){cut}", error.lineno) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(file, f"the XML's encoding is not known ({error})", 1) from None
    return reader.graph()


class _Reader:
    """What the elements of a GraphML document say, one after the other."""

    parser: expat.XMLParserType

    def __init__(self, file: str, size: int) -> None:
        self.file = file
        self.path: list[str] = []
        self.keys: dict[str, str] = {}  # what a key's id stands for, of the names that are read
        self.defaults: dict[str, str] = {}
        self.names = NameTable(size, utf8)  # in the order in which ids are met, in edges too
        self.listed = array("I")  # in the order of the nodes
        self.is_listed = bytearray()
        self.edges = Edges(size)
        self.given = {key: Column() for key in _READ}
        self.graphs = 0
        self.owner: int | None = None
        self.key = ""
        self.parts: list[str] | None = None

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def error(self, message: str) -> FormatError:
        return FormatError(self.file, message, self.line)

    def refuse(self, *_: Any) -> None:
        raise self.error("document types and entities are refused: delete the <!DOCTYPE ...>")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(":")[2]
        if not self.path and element != "graphml":
            raise self.error(f"<{shown(element)}> is no <graphml>: of XML, GraphML is read")
        if len(self.path) == _DEEPEST:
            raise self.error(f"elements are nested more than {_DEEPEST} deep")
        outer = self.path[-1] if self.path else ""
        self.path.append(element)
        if element == "node":
            self._node(self._attribute(attributes, "id"))
        elif element == "edge":
            self._edge(attributes)
        elif element == "data" and outer == "node":
            self.key = self.keys.get(self._attribute(attributes, "key"), "")
            self.parts = [] if self.key else None
        elif element == "key":
            if attributes.get("for", "all") in ("node", "all") and attributes.get("attr.name") in _READ:
                self.keys[self._attribute(attributes, "id")] = attributes["attr.name"]
                self.key = attributes["attr.name"]
            else:
                self.key = ""
        elif element == "default" and outer == "key":
            self.parts = [] if self.key else None
        elif element == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise self.error("there is a second graph, or one in another: a file holds one graph")
            if attributes.get("edgedefault") == "undirected":
                raise self.error("the graph is undirected (edgedefault): a CDAG has directed edges")
        elif element == "hyperedge":
            raise self.error("there is a hyperedge: a CDAG has edges from one vertex to another")

    def end(self, tag: str) -> None:
        element = self.path.pop()
        if element in ("data", "default") and self.parts is not None:
            text = "".join(self.parts)
            self.parts = None
            if element == "default":
                self.defaults[self.key] = text
            elif self.owner is not None:
                held = self.given[self.key].get(self.owner)
                if held is None:
                    self.given[self.key].put(self.owner, text, self.line)
                elif held != text:
                    raise self.error(f"a node has two data '{self.key}'")
        elif element == "node":
            self.owner = None

    def text(self, text: str) -> None:
        if self.parts is not None:
            self.parts.append(text)

    def _attribute(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self.error(f"<{self.path[-1]}> lacks its attribute '{name}'")
        return attributes[name]

    def _vertex(self, name: str) -> int:
        v = self.names.number(name)
        if v == len(self.is_listed):
            self.is_listed.append(0)
        return v

    def _node(self, name: str) -> None:
        v = self._vertex(name)
        if self.is_listed[v]:
            raise self.error(f"the node {shown(name)} is given twice")
        self.is_listed[v] = 1
        self.listed.append(v)
        self.owner = v

    def _edge(self, attributes: dict[str, str]) -> None:
        if attributes.get("directed") == "false":
            raise self.error("an edge is undirected: a CDAG has directed edges")
        u, v = (self._vertex(self._attribute(attributes, end)) for end in ("source", "target"))
        self.edges.add(u, v, self.line)

    def graph(self) -> CDAG:
        """The CDAG of all that was read."""
        file, names = self.file, self.names
        count = len(names)
        if not count:
            raise FormatError(file, "the file holds no vertices")
        absent = self.is_listed.find(0)
        if absent >= 0:
            edge = self.edges.ends.index(absent) // 2
            raise FormatError(
                file,
                f"the edge's vertex {shown(names.name(absent))} is no node of the file",
                self.edges.lines[edge],
            )
        weights: NDArray[np.int64] | None = None
        outputs = array("q")
        texts = Column()
        given = [(key, column) for key, column in self.given.items() if column]
        for v in self._described():
            said = dict(self.defaults)
            line = 0
            for key, column in given:
                if (text := column.get(v)) is not None:
                    said[key], line = text, max(line, column.line(v))
            line = line or 1
            weight = next((said[key] for key in _WEIGHTS if key in said), None)
            if weight is not None:
                weights = np.ones(count, dtype=np.int64) if weights is None else weights
                weights[v] = words_of_number(weight, names, v, file, line)
            if said.get("pebble_output", "").strip() in ("true", "1"):
                outputs.append(v)
            if "pebble_label" in said:
                label_from_text(said["pebble_label"], file, line)
                texts.put(v, said["pebble_label"], line)
        order = np.array(self.listed, dtype=self.listed.typecode)
        number = np.empty(count, dtype=order.dtype)
        labels, renumber = labels_of_names(names, order)
        number[order] = np.arange(count) if renumber is None or texts else renumber
        if texts:
            labels = IntegerLabels(renumber) if labels is None and renumber is not None else labels
            labels = relabelled(labels, count, texts, number)
        if weights is not None:
            by_number = np.empty_like(weights)
            by_number[number] = weights
            weights = by_number
        lines = self.edges.lines
        return assemble(
            file,
            count,
            self.edges.renumbered(number),
            labels=labels,
            weights=weights,
            outputs=number[outputs] if outputs else (),
            line_of=lines.__getitem__,
        )

    def _described(self) -> Iterable[int]:
        """The vertices with data, of their own or by default."""
        if self.defaults:
            return range(len(self.names))
        return vertices_of(self.given.values(), len(self.names))


def graphml_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph's GraphML; `parse_graphml` gives the same graph back.

    Labels that are no distinct names are data of the nodes.

    Examples
    --------
    >>> text = "".join(graphml_lines(CDAG.from_edges(2, [(0, 1)]), "example"))
    >>> parse_graphml(text.encode(), "example").num_edges
    1
    """
    names = None if cdag.labels is None else named_labels(cdag.labels)
    if names is not None and not all(name.isprintable() and name for name in names):
        names = None
    further = set(cdag.further_outputs.tolist())
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    if cdag.weights is not None:
        yield '<key id="weight" for="node" attr.name="weight" attr.type="long"/>\n'
    if further:
        yield '<key id="output" for="node" attr.name="pebble_output" attr.type="boolean"/>\n'
    if cdag.labels is not None and names is None:
        yield '<key id="label" for="node" attr.name="pebble_label" attr.type="string"/>\n'
    yield '<graph edgedefault="directed">\n'
    for v in range(cdag.num_vertices):
        inside = ""
        if cdag.weights is not None:
            inside += f'<data key="weight">{cdag.weight(v)}</data>'
        if v in further:
            inside += '<data key="output">true</data>'
        if cdag.labels is not None and names is None:
            inside += f'<data key="label">{escape(json_label(cdag.labels[v], file))}</data>'
        name = quoteattr(names[v]) if names is not None else f'"{v}"'
        yield f"<node id={name}>{inside}</node>\n" if inside else f"<node id={name}/>\n"
    ends = [quoteattr(name) for name in names] if names is not None else None
    for u, v in edge_rows(cdag):
        source, target = (f'"{u}"', f'"{v}"') if ends is None else (ends[u], ends[v])
        yield f"<edge source={source} target={target}/>\n"
    yield "</graph>\n</graphml>\n"
