"""DOT, the language of Graphviz.

::

    digraph {
      a -> {b c} -> "d e";
      b [weight=3];
    }

The whole language is read: quoted, numeric and HTML names, ports, chains, subgraphs as ends of edges,
defaults, comments. A node's words are its attribute ``mem_weight``, else ``comm_weight`` (as OneStopParallel
writes them), else ``weight``. Nodes are numbered as they appear, unless their names are exactly
0, 1, …, N-1; names that are all integers become integer labels.
"""

from __future__ import annotations

import re
import warnings
from array import array
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import FormatError, FormatWarning
from pebble.formats.annotations import json_label, label_from_text, relabelled
from pebble.formats.assembling import (
    ROOM,
    Edges,
    assemble,
    checked_weight,
    decoded,
    edge_rows,
    labels_of_names,
    shown,
)
from pebble.formats.dot_tokens import END, Words
from pebble.formats.names import Column, NameTable, utf8, vertices_of
from pebble.labels import IntegerLabels

__all__ = ["dot_lines", "named_labels", "parse_dot", "quoted", "words_of_number"]

_WEIGHTS = ("mem_weight", "comm_weight", "weight")
_WORDS = re.compile(r"\s*\+?(\d{1,19})(?:\.0*)?\s*", re.ASCII)
_READ = (*_WEIGHTS, "pebble_label", "pebble_output")
_DEEPEST = 100
_FEW = 1000


def parse_dot(data: bytes, file: str) -> CDAG:
    """The graph of a DOT file.

    Raises
    ------
    FormatError
        It is no DOT, cut off, undirected, a weight is no whole number or given twice, an edge is a self-loop
        or closes a cycle, subgraphs as ends of edges stand for far more edges than the file has bytes.

    Notes
    -----
    O(size of the file + |V| + |E| log |E|), about 4 s per million edges.

    Examples
    --------
    >>> g = parse_dot(b'digraph { "a:b" -> {c d}; c [weight=2] }', "example")
    >>> g.labels, g.edges().tolist(), g.weight(1)
    (('a:b', 'c', 'd'), [[0, 1], [0, 2]], 2)
    """
    size, words = len(data), Words(decoded(data, file), file)
    # Often the last reference: from here on the text is enough.
    del data
    parser = _Parser(words, file, size)
    parser.parse()
    return parser.graph()


@dataclass
class _Scope:
    """A pair of braces: the nodes named in it (None: the outermost), and the statement being read."""

    defaults: int  # place in the list of all defaults
    members: array[int] | None
    tails: Sequence[int] | None = None  # the end before the arrow that was read last


class _Parser:
    def __init__(self, words: Words, file: str, size: int) -> None:
        self.words = words
        self.file = file
        # Edges between sets of nodes have no bytes of their own.
        self.room = max(ROOM, size // 4)
        # In the shortest files a node and its edge take five bytes: little room for names kept twice.
        self.names = NameTable(size // 2, utf8)
        self.edges = Edges(size)
        self.given = {key: Column() for key in _READ}
        self.defaults: list[dict[str, str]] = [{}]
        # Of nodes that appear after some defaults: which, 0 for none, and the line.
        self.inherited, self.inherited_at = array("I"), array("I")

    def parse(self) -> None:
        """Read one graph and the end of the file."""
        words = self.words
        if words.keyword() == "strict":
            words.advance()
        if words.keyword() == "graph":
            raise words.error("the graph is undirected ('graph'): a CDAG is a 'digraph'")
        if words.keyword() != "digraph":
            raise words.unexpected("'digraph'")
        words.advance()
        if words.is_identifier:
            words.identifier("a name")
        if not words.accepts("{"):
            raise words.unexpected("'{'")
        scopes = [_Scope(0, None)]
        while scopes:
            self._step(scopes)
        if words.kind != END:
            raise words.error(f"'{shown(words.text)}' stands after the graph: a file holds one graph")

    def _step(self, scopes: list[_Scope]) -> None:
        """Read one end of an edge, one statement without edges, or one closing brace."""
        words, scope = self.words, scopes[-1]
        line = words.line
        if words.accepts("}"):
            if scope.tails is not None:
                raise words.error("an edge has no end: '}' follows its arrow")
            scopes.pop()
            if scopes:
                outer, members = scopes[-1], _distinct(scope.members or _NO_NODES)
                if outer.members is not None:
                    outer.members.extend(members)
                self._end_of_edge(outer, members, line)
            return
        if scope.tails is None:
            if words.accepts(";", ","):
                return
            if self._plain(scope):
                return
        keyword = words.keyword()
        if keyword == "subgraph" or (words.kind == "mark" and words.text == "{"):
            if keyword:
                words.advance()
                if words.is_identifier:
                    words.identifier("a name")
            if not words.accepts("{"):
                raise words.unexpected("'{'")
            if len(scopes) == _DEEPEST:
                raise words.error(f"subgraphs are nested more than {_DEEPEST} deep")
            scopes.append(_Scope(scope.defaults, array("I")))
            return
        if keyword in ("node", "edge", "graph") and scope.tails is None:
            words.advance()
            attributes = self._attributes()
            if keyword == "node" and attributes:
                self.defaults.append(self.defaults[scope.defaults] | attributes)
                scope.defaults = len(self.defaults) - 1
            return
        name = words.identifier("a node, an edge or '}'")
        if scope.tails is None and words.accepts("="):
            words.identifier("a value")
            return
        node = self._node(name, scope, line)
        if words.accepts(":"):
            words.identifier("a port")
            if words.accepts(":"):
                words.identifier("a compass point")
        alone = scope.tails is None
        attributes = self._end_of_edge(scope, [node], line)
        if alone and attributes:
            self._describe(node, name, attributes, line)

    def _plain(self, scope: _Scope) -> bool:
        """Read the plain statements that follow, if any do."""
        found = False
        for tail, head, line in self.words.statements():
            found = True
            u = self._node(tail.strip('"'), scope, line)
            if head:
                self.edges.add(u, self._node(head.strip('"'), scope, line), line)
        return found

    def _node(self, name: str, scope: _Scope, line: int) -> int:
        known = len(self.names)
        node = self.names.number(name)
        # Defaults count for the nodes that appear after them.
        if scope.defaults and node == known:
            for numbers, number in ((self.inherited, scope.defaults), (self.inherited_at, line)):
                numbers.frombytes(bytes(4 * (node - len(numbers))))
                numbers.append(number)
        if scope.members is not None:
            scope.members.append(node)
        return node

    def _end_of_edge(self, scope: _Scope, heads: Sequence[int], line: int) -> dict[str, str]:
        """Draw the edges to `heads`; go on after an arrow, or take the attributes that end a statement."""
        words = self.words
        if scope.tails is not None:
            product = len(scope.tails) * len(heads)
            if product > 1 and len(self.edges) + product > self.room:
                raise words.error(
                    f"{len(scope.tails)} x {len(heads)} edges between subgraphs: more than {self.room} in all"
                )
            for u in scope.tails:
                for v in heads:
                    self.edges.add(u, v, line)
            scope.tails = None
        if words.kind == "mark" and words.text == "--":
            raise words.error("'--' is an undirected edge: a CDAG has directed ones, '->'")
        if words.accepts("->"):
            scope.tails = heads
            return {}
        return self._attributes()

    def _attributes(self) -> dict[str, str]:
        """The attributes in brackets, of those that are read."""
        words = self.words
        found: dict[str, str] = {}
        while words.accepts("["):
            while not words.accepts("]"):
                key = words.identifier("an attribute or ']'")
                value = words.identifier("a value") if words.accepts("=") else "true"
                if key in _READ:
                    found[key] = value
                words.accepts(";", ",")
        return found

    def _describe(self, node: int, name: str, attributes: dict[str, str], line: int) -> None:
        for key, value in attributes.items():
            held = self.given[key].get(node)
            if held is None:
                self.given[key].put(node, value, line)
            elif held != value:
                raise FormatError(
                    self.file,
                    f"the {key} of {shown(name)} is given twice: {shown(held)}, now {shown(value)}",
                    line,
                )

    def _described(self) -> Iterator[tuple[int, int, dict[str, str]]]:
        """Every node that has attributes, the line of one of them, and the attributes."""
        given = [(key, column) for key, column in self.given.items() if column]
        for node in vertices_of(self.given.values(), len(self.names), self.inherited):
            early = node < len(self.inherited)
            said = dict(self.defaults[self.inherited[node]]) if early else {}
            line = self.inherited_at[node] if early else 0
            for key, column in given:
                if (text := column.get(node)) is not None:
                    said[key], line = text, max(line, column.line(node))
            yield node, line, said

    def graph(self) -> CDAG:
        """The CDAG of all that was read."""
        count = len(self.names)
        if not count:
            raise FormatError(self.file, "the file holds no vertices")
        # What the parsing needed is in the way of what follows.
        self.words.drop()
        weights: NDArray[np.int64] | None = None
        outputs = array("q")
        differ = 0
        texts = Column()
        for node, line, said in self._described():
            for key in _WEIGHTS:
                if key in said:
                    weights = np.ones(count, dtype=np.int64) if weights is None else weights
                    weights[node] = words_of_number(said[key], self.names, node, self.file, line)
                    break
            both = said.get("mem_weight"), said.get("comm_weight")
            differ += None not in both and both[0] != both[1]
            if said.get("pebble_output") == "true":
                outputs.append(node)
            if "pebble_label" in said:
                label_from_text(said["pebble_label"], self.file, line)
                texts.put(node, said["pebble_label"], line)
        if differ:
            warnings.warn(
                f"{self.file}: the communication weights of {differ} vertices differ from their memory "
                "weights, which are taken as words",
                FormatWarning,
                stacklevel=2,
            )
        labels, renumber = labels_of_names(self.names)
        lines = self.edges.lines
        if texts:
            # Nodes that are called by vertex numbers keep these names as their labels.
            labels = IntegerLabels(renumber) if labels is None and renumber is not None else labels
            labels, renumber = relabelled(labels, count, texts), None
        pairs = self.edges.pairs()
        if renumber is not None:
            pairs = self.edges.renumbered(renumber)
            if weights is not None:
                by_number = np.empty_like(weights)
                by_number[renumber] = weights
                weights = by_number
            if outputs:
                outputs = array("q", renumber[outputs].tobytes())
        return assemble(
            self.file,
            count,
            pairs,
            labels=labels,
            weights=weights,
            outputs=outputs,
            line_of=lines.__getitem__,
        )


_NO_NODES = array("I")


def _distinct(nodes: array[int]) -> array[int]:
    """The nodes as they first stand there, each once."""
    if len(nodes) < _FEW:
        return array("I", dict.fromkeys(nodes))
    ids = np.frombuffer(nodes, dtype=np.uint32)
    if (ids[1:] > ids[:-1]).all():
        return nodes
    _, first = np.unique(ids, return_index=True)
    return array("I", ids[np.sort(first)].tobytes())


def words_of_number(text: str, names: NameTable, v: int, file: str, line: int) -> int:
    """The words that an attribute such as ``3`` or ``3.0`` gives a vertex."""
    match = _WORDS.fullmatch(text)
    number = int(match[1]) if match else 0
    if 0 < number < 10**18:
        return number
    # Names are made readable only for errors.
    name = shown(names.name(v))
    if match is None:
        raise FormatError(file, f"the weight {shown(text)} of {name} is no whole number of words >= 1", line)
    return checked_weight(number, f"vertex {name}", file, line)


def dot_lines(cdag: CDAG, file: str) -> Iterator[str]:
    """The lines of a graph in DOT; `parse_dot` gives the same graph back.

    Weights are written as OneStopParallel does. Labels that are no distinct names stand in an attribute.

    Examples
    --------
    >>> print(*dot_lines(CDAG.from_edges(2, [(0, 1)], labels="ab"), "example"), sep="", end="")
    digraph {
    "a";
    "b";
    "a" -> "b";
    }
    """
    n = cdag.num_vertices
    names = None if cdag.labels is None else named_labels(cdag.labels)
    # A backslash means something else to each reader of DOT.
    if names is not None and any("\\" in name or not name.isprintable() for name in names):
        names = None
    ids = [str(v) for v in range(n)] if names is None else [quoted(name) for name in names]
    further = set(cdag.further_outputs.tolist())
    yield "digraph {\n"
    for v in range(n):
        attributes = []
        if cdag.weights is not None:
            w = cdag.weight(v)
            attributes += ['work_weight="1"', f'comm_weight="{w}"', f'mem_weight="{w}"', 'type="0"']
        if v in further:
            attributes.append('pebble_output="true"')
        if cdag.labels is not None and names is None:
            text = json_label(cdag.labels[v], file)
            attributes.append(f"pebble_label={quoted(_ESCAPE.sub(_as_unicode, text))}")
        # Weighted vertices look as OneStopParallel's reader, which goes line by line, wants them.
        yield f"{ids[v]}[{';'.join(attributes)};];\n" if attributes else f"{ids[v]};\n"
    for u, v in edge_rows(cdag):
        yield f"{ids[u]} -> {ids[v]};\n"
    yield "}\n"


def named_labels(labels: Sequence[Hashable]) -> list[str] | None:
    """The labels as the names of a format where every name is text, if reading gives them back; else None."""
    if not all(type(label) in (str, int) for label in labels):
        return None
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        return None
    table = NameTable()
    table.ids(list(map(utf8, names)))
    read, renumber = labels_of_names(table)
    if renumber is not None:
        return None
    same = all(type(a) is type(b) and a == b for a, b in zip(read or range(len(names)), labels, strict=True))
    return names if same else None


_BARE = re.compile(r"-?\d+\Z", re.ASCII)
_ESCAPE = re.compile(r'\\(["\\])')


def quoted(name: str) -> str:
    """A name as DOT writes it: whole numbers bare, all else in quotes."""
    return name if _BARE.match(name) else '"' + name.replace('"', '\\"') + '"'


def _as_unicode(match: re.Match[str]) -> str:
    return f"\\u{ord(match[1]):04x}"
