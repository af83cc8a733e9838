"""Node-link JSON, as networkx and d3 write it.

::

    {"directed": true, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}

Edges stand under ``links`` or ``edges``, ids under ``id`` or ``name`` (none: the position), endpoints under
``source`` and ``target`` or ``0`` and ``1``. A node's ``weight`` is its words, ``"output": true`` says that
it must end blue besides the sinks. Vertices are numbered as `nodes` lists them; ids that are not exactly
0, 1, …, N-1 are kept as labels.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Hashable, Iterator
from json.encoder import encode_basestring_ascii
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats.annotations import json_label, label_from_json, relabelled
from pebble.formats.assembling import Edges, assemble, edge_rows, shown
from pebble.formats.json_text import JsonText
from pebble.formats.names import Column, NameTable
from pebble.labels import tuples_of_lists

__all__ = ["node_link_lines", "parse_node_link"]

_ID_KEYS = ("id", "name")
_ENDPOINT_KEYS = (("source", "target"), ("0", "1"))
_EDGE_KEYS = ("links", "edges")


def parse_node_link(data: bytes, file: str) -> CDAG:
    """The graph of node-link JSON.

    Parameters
    ----------
    data : bytes
    file : str
        Its name, for errors.

    Returns
    -------
    CDAG

    Raises
    ------
    FormatError
        The JSON is malformed, lacks nodes or edges, is undirected, an id is given twice, an edge names no
        node, is a self-loop or closes a cycle (one is named), a weight is no whole number. The line is named.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 3 s per million edges; nodes and edges are decoded one at a
    time.

    Examples
    --------
    >>> text = b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]}'
    >>> parse_node_link(text, "example").labels
    ('a', 'b')
    """
    size, text = len(data), JsonText(data, file)
    # Often the last reference: from here on the text is enough.
    del data
    reader = _Reader(text, file, size)
    reader.read()
    return reader.graph()


class _Reader:
    def __init__(self, json_text: JsonText, file: str, size: int) -> None:
        self.json = json_text
        self.file = file
        self.names = NameTable(size, _key)  # ids as JSON, in the order in which they were met
        self.order = array("I")  # of the nodes, as numbers of their ids
        self.is_node = bytearray()
        self.weighted, self.weights = array("I"), array("q")
        self.outputs = array("q")
        self.relabelled = Column()
        self.edges = Edges(size)
        self.edge_key = ""

    def error(self, message: str) -> FormatError:
        return FormatError(self.file, message, self.json.line())

    def read(self) -> None:
        """Read the whole document."""
        if self.json.peek() != "{":
            raise self.error('the JSON is no object: node-link JSON is {"nodes": […], "links": […]}')
        seen: set[str] = set()
        for key in self.json.members():
            if key in ("directed", "nodes", *_EDGE_KEYS):
                if key in seen:
                    raise self.error(f'"{key}" is given twice')
                seen.add(key)
            if key == "directed":
                if self.json.value() is False:
                    raise self.error('the graph is undirected ("directed": false): a CDAG has directed edges')
            elif key == "nodes":
                self._list(key)
                for i, node in enumerate(self.json.elements()):
                    self._node(node, i)
            elif key in _EDGE_KEYS:
                if self.edge_key:
                    raise self.error('the JSON has both "links" and "edges": keep the one that counts')
                self.edge_key = key
                self._list(key)
                for i, edge in enumerate(self.json.elements()):
                    self._edge(edge, i)
            else:
                self.json.skip()
        self.json.end()
        if "nodes" not in seen:
            raise FormatError(
                self.file, 'the JSON has no list "nodes": node-link JSON is {"nodes": […], "links": […]}'
            )
        if not self.order:
            raise FormatError(self.file, 'the file holds no vertices: "nodes" is empty')
        if not self.edge_key:
            raise FormatError(
                self.file, 'the JSON has neither "links" nor "edges": add one, empty if there are none'
            )

    def _list(self, key: str) -> None:
        sign = self.json.peek()
        if not sign:
            raise self.json.malformed("a list")
        if sign != "[":
            raise self.error(f'"{key}" is no list')

    def _vertex(self, label: Hashable) -> int:
        # What is no string or integer might equal another label: 1.0 and true equal 1.
        v = self.names.number(label if type(label) in (str, int) else _key(label))
        if v == len(self.is_node):
            self.is_node.append(0)
        return v

    def _node(self, node: Any, i: int) -> None:
        if isinstance(node, dict):
            found = [key for key in _ID_KEYS if key in node]
            label = self._label(node[found[0]], f"nodes[{i}]") if found else i
        else:
            label = self._label(node, f"nodes[{i}]")
        v = self._vertex(label)
        if self.is_node[v]:
            raise self.error(f"nodes[{i}]: the id {shown(json.dumps(label))} is given twice")
        self.is_node[v] = 1
        self.order.append(v)
        if isinstance(node, dict):
            if node.get("weight") is not None:
                self.weights.append(self._weight(node["weight"], i))
                self.weighted.append(i)
            if node.get("output") is True:
                self.outputs.append(i)
            if "pebble_label" in node:
                label = self._label(node["pebble_label"], f"nodes[{i}]")
                self.relabelled.put(i, json.dumps(label), 0)

    def _edge(self, edge: Any, i: int) -> None:
        where = f"{self.edge_key}[{i}]"
        if isinstance(edge, list) and len(edge) == 2:
            ends = edge
        else:
            keys = [pair for pair in _ENDPOINT_KEYS if isinstance(edge, dict) and set(pair) <= edge.keys()]
            if not keys:
                raise self.error(f'{where}: an edge needs "source" and "target" (or "0" and "1")')
            ends = [edge[key] for key in keys[0]]
        u, v = (self._vertex(self._label(end, where)) for end in ends)
        if u == v:
            raise self.error(f"{where}: vertex {shown(self._name(u))} has an edge to itself")
        self.edges.add(u, v, self.json.line())

    def _label(self, value: Any, where: str) -> Hashable:
        kind = type(value)
        if kind is str or kind is int:
            return value  # type: ignore[no-any-return]
        if kind is dict:
            raise self.error(f"{where}: an object is no id, give a string or a number")
        if kind is float and not math.isfinite(value):
            raise self.error(f"{where}: the id {json.dumps(value)} is no number that JSON has: use a string")
        return label_from_json(value, self.file, self.json.line()) if kind is list else value  # type: ignore[no-any-return]

    def _name(self, v: int) -> Hashable:
        return tuples_of_lists(json.loads(self.names.name(v)))  # type: ignore[no-any-return]

    def _weight(self, number: Any, i: int) -> int:
        whole = type(number) is int or (type(number) is float and number.is_integer())
        if not whole or not 1 <= number < 2**62:
            raise self.error(
                f"nodes[{i}]: the weight {shown(json.dumps(number))} is no whole number of words >= 1"
            )
        return int(number)

    def graph(self) -> CDAG:
        """The CDAG of all that was read."""
        # The document is in the way of what follows.
        self.json.text = ""
        absent = self.is_node.find(0)
        if absent >= 0:
            edge = self.edges.ends.index(absent) // 2
            raise FormatError(
                self.file,
                f"{self.edge_key}[{edge}]: vertex {shown(json.dumps(self._name(absent)))} is out of range, "
                "no node has that id",
                self.edges.lines[edge],
            )
        n = len(self.order)
        weights: NDArray[np.int64] | None = None
        if self.weighted:
            weights = np.ones(n, dtype=np.int64)
            weights[self.weighted] = self.weights
        labels = self.names.drop_index().labels(as_json=True)
        order = np.frombuffer(self.order, dtype=np.uint32)
        pairs = self.edges.pairs()
        if not (order[1:] > order[:-1]).all():
            labels = labels.take(order)
            number = np.empty(n, dtype=np.uint32)
            number[order] = np.arange(n, dtype=np.uint32)
            pairs = self.edges.renumbered(number)
        lines = self.edges.lines
        return assemble(
            self.file,
            n,
            pairs,
            labels=relabelled(labels, n, self.relabelled) if self.relabelled else labels,
            weights=weights,
            outputs=self.outputs,
            line_of=lines.__getitem__,
        )


def node_link_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """Node-link JSON of a graph, a node and an edge per line; `parse_node_link` gives the same graph back.

    Raises
    ------
    FormatError
        A label is no string, number, tuple of them or None.
    """
    n = cdag.num_vertices
    ids, names = [str(v) for v in range(n)], None
    if cdag.labels is not None:
        ids = [json_label(label, file) for label in cdag.labels]
        if len({_key(label) for label in cdag.labels}) < n:
            # Ids must differ, labels need not.
            names, ids = ids, [str(v) for v in range(n)]
    further = set(cdag.further_outputs.tolist())
    yield '{"directed": true, "multigraph": false, "graph": {}, "nodes": ['
    for v in range(n):
        weight = f', "weight": {cdag.weight(v)}' if cdag.weights is not None else ""
        output = ', "output": true' if v in further else ""
        label = f', "pebble_label": {names[v]}' if names else ""
        yield f'{"," if v else ""}\n{{"id": {ids[v]}{weight}{output}{label}}}'
    yield '\n], "links": ['
    for i, (u, v) in enumerate(edge_rows(cdag)):
        yield f'{"," if i else ""}\n{{"source": {ids[u]}, "target": {ids[v]}}}'
    yield "\n]}\n"


def _key(label: Any) -> bytes:
    """What tells labels apart: 1, 1.0, true and "1" are four."""
    if type(label) is str:
        return encode_basestring_ascii(label).encode("ascii")
    if type(label) is int:
        return b"%d" % label
    if type(label) is bytes:
        return label
    # 0.0 and -0.0 are the same number.
    return json.dumps(label + 0.0 if type(label) is float else label).encode("ascii")
