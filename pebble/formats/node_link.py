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
from collections.abc import Hashable
from typing import Any

from pebble.cdag import CDAG
from pebble.errors import FormatError, InvalidCDAGError
from pebble.formats.edge_list import cycle_text

__all__ = ["node_link_text", "parse_node_link"]

_ID_KEYS = ("id", "name")
_ENDPOINT_KEYS = (("source", "target"), ("0", "1"))


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
        The JSON is malformed (the line is named), lacks nodes or edges, is undirected, an id is given twice,
        an edge names no node, is a self-loop or closes a cycle (one is named), a weight is no whole number.

    Examples
    --------
    >>> text = b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]}'
    >>> parse_node_link(text, "example").labels
    ('a', 'b')
    """
    document = _decode(data, file)
    if not isinstance(document, dict):
        raise FormatError(file, 'the JSON is no object: node-link JSON is {"nodes": […], "links": […]}', 1)
    if document.get("directed") is False:
        raise FormatError(file, 'the graph is undirected ("directed": false): a CDAG has directed edges')
    nodes = document.get("nodes")
    if not isinstance(nodes, list):
        raise FormatError(
            file, 'the JSON has no list "nodes": node-link JSON is {"nodes": […], "links": […]}'
        )
    if not nodes:
        raise FormatError(file, 'the file holds no vertices: "nodes" is empty')
    key = _edge_key(document, file)
    labels: list[Hashable] = []
    index_of: dict[Any, int] = {}
    for i, node in enumerate(nodes):
        label = _label(node, i, file)
        if _key(label) in index_of:
            raise FormatError(file, f"nodes[{i}]: the id {json.dumps(label)} is given twice")
        index_of[_key(label)] = i
        labels.append(label)
    pairs: list[tuple[int, int]] = []
    for i, edge in enumerate(document[key]):
        u, v = (_endpoint(e, f"{key}[{i}]", index_of, file) for e in _endpoints(edge, f"{key}[{i}]", file))
        if u == v:
            raise FormatError(file, f"{key}[{i}]: vertex {labels[u]} has an edge to itself")
        pairs.append((u, v))
    plain = all(type(label) is int and label == i for i, label in enumerate(labels))
    try:
        cdag = CDAG.from_edges(
            len(nodes), pairs, weights=_weights(nodes, file), labels=None if plain else labels
        )
    except InvalidCDAGError as error:
        message = str(error)
        if len(error.vertices) > 1:
            message = cycle_text([labels[v] for v in error.vertices])
        raise FormatError(file, message) from None
    outputs = [i for i, node in enumerate(nodes) if isinstance(node, dict) and node.get("output") is True]
    return cdag.with_outputs(outputs) if outputs else cdag


def node_link_text(cdag: CDAG, file: str) -> str:
    """Node-link JSON of a graph; `parse_node_link` gives the same graph back.

    Raises
    ------
    FormatError
        Two labels, or one that is no string, number, tuple of them or None, cannot be told apart in JSON.
    """
    labels = range(cdag.num_vertices) if cdag.labels is None else cdag.labels
    keys = {_key(label) for label in labels}
    bad = [label for label in labels if not _is_json(label)]
    if bad or len(keys) < cdag.num_vertices:
        what = f"the label {bad[0]!r}" if bad else "labels that read the same"
        raise FormatError(file, f"JSON cannot hold {what}: relabel the vertices with strings")
    nodes: list[dict[str, Any]] = [{"id": label} for label in labels]
    if cdag.weights is not None:
        for node, weight in zip(nodes, cdag.weights.tolist(), strict=True):
            node["weight"] = weight
    for v in cdag.further_outputs.tolist():
        nodes[v]["output"] = True
    links = [{"source": labels[u], "target": labels[v]} for u, v in cdag.edges().tolist()]
    document = {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "links": links}
    return json.dumps(document) + "\n"


def _decode(data: bytes, file: str) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(file, "the file is no UTF-8 text", line) from None
    except json.JSONDecodeError as error:
        cut = " (the file seems to be cut off)" if error.pos >= len(error.doc.rstrip()) else ""
        raise FormatError(file, f"the JSON is malformed: {error.msg}{cut}", error.lineno) from None
    except RecursionError:
        raise FormatError(file, "the JSON is nested too deeply") from None


def _edge_key(document: dict[str, Any], file: str) -> str:
    found = [key for key in ("links", "edges") if key in document]
    if not found:
        raise FormatError(file, 'the JSON has neither "links" nor "edges": add one, empty if there are none')
    if len(found) == 2:
        raise FormatError(file, 'the JSON has both "links" and "edges": keep the one that counts')
    if not isinstance(document[found[0]], list):
        raise FormatError(file, f'"{found[0]}" is no list')
    return found[0]


def _label(node: Any, position: int, file: str) -> Hashable:
    if isinstance(node, dict):
        found = [key for key in _ID_KEYS if key in node]
        return _hashable(node[found[0]], f"nodes[{position}]", file) if found else position
    return _hashable(node, f"nodes[{position}]", file)


def _hashable(value: Any, where: str, file: str) -> Hashable:
    """Lists are the tuples that JSON made of them."""
    if isinstance(value, dict):
        raise FormatError(file, f"{where}: an object is no id, give a string or a number")
    if isinstance(value, list):
        return tuple(_hashable(part, where, file) for part in value)
    label: Hashable = value
    return label


def _key(label: Any) -> Any:
    """What tells labels apart: 1, 1.0, true and "1" are four."""
    if isinstance(label, tuple):
        return (tuple, *map(_key, label))
    return (type(label), label)


def _is_json(label: Any) -> bool:
    if isinstance(label, tuple):
        return all(map(_is_json, label))
    return label is None or type(label) in (str, int, float, bool)


def _endpoints(edge: Any, where: str, file: str) -> tuple[Any, Any]:
    if isinstance(edge, list) and len(edge) == 2:
        return edge[0], edge[1]
    if isinstance(edge, dict):
        for u, v in _ENDPOINT_KEYS:
            if u in edge and v in edge:
                return edge[u], edge[v]
    raise FormatError(file, f'{where}: an edge needs "source" and "target" (or "0" and "1")')


def _endpoint(value: Any, where: str, index_of: dict[Any, int], file: str) -> int:
    label = _hashable(value, where, file)
    vertex = index_of.get(_key(label))
    if vertex is None:
        raise FormatError(file, f"{where}: vertex {json.dumps(value)} is out of range, no node has that id")
    return vertex


def _weights(nodes: list[Any], file: str) -> list[int] | None:
    given = [node.get("weight") if isinstance(node, dict) else None for node in nodes]
    if all(weight is None for weight in given):
        return None
    words = []
    for i, weight in enumerate(given):
        number = 1 if weight is None else weight
        whole = type(number) is int or (type(number) is float and number.is_integer())
        if not whole or not 1 <= number < 2**62:
            raise FormatError(
                file, f"nodes[{i}]: the weight {json.dumps(weight)} is no whole number of words >= 1"
            )
        words.append(int(number))
    return words
