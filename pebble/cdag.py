"""CDAG: a computation as a directed acyclic graph of scalar operations, in frozen arrays."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble import topology
from pebble.errors import DuplicateEdgeWarning, InvalidCDAGError
from pebble.labels import PackedLabels

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["CDAG", "SumLayout"]

# Above this many vertices and edges the loops over the graph are worth loading the compiler for.
_COMPILE_FROM = 50_000


class SumLayout(NamedTuple):
    """Where the partial sums of an array of sums lie.

    Attributes
    ----------
    base : int
        First vertex id; entries follow in row-major order, each a contiguous block of ids. -1 if ragged.
    shape : tuple of int
        Shape of the array of results.
    k : int
        Terms per sum, the most that one has if they are ragged.
    layout : str
        ``chain``, ``chain-fma``, ``tree``, ``tree-fma`` or ``flat``; with ``-reduce`` the terms are vertices
        of other arrays. ``ragged-`` before it says that entries may lack some of the terms, be absent or in
        another order: each is still a contiguous block that ends with its result.
    """

    base: int
    shape: tuple[int, ...]
    k: int
    layout: str


@dataclass(frozen=True, eq=False)
class CDAG:
    """A computational DAG: one vertex per scalar, edges from operands to results.

    Builders fill the arrays directly; `from_edges` and `from_networkx` check and convert other graphs.
    Vertex ids may be in any order; builders number them topologically.

    Attributes
    ----------
    indptr : ndarray of int32 or int64, shape (num_vertices + 1,)
    indices : ndarray of int32 or int64, shape (num_edges,)
        Predecessors of vertex v in operand order: ``indices[indptr[v]:indptr[v + 1]]``, without repeats.
    weights : ndarray of int64, shape (num_vertices,), or None
        Words per vertex; None means one each.
    further_outputs : ndarray of int64
        Vertices besides the sinks that must end blue.
    labels : sequence of hashable, or None
    tensors : mapping of str to ndarray
        Vertex ids of named arrays: inputs, intermediate arrays, outputs.
    input_names, output_names : tuple of str
        Which of `tensors` are declared inputs and returned outputs.
    sums : mapping of str to SumLayout
    ops : ndarray of uint8, shape (num_vertices,), or None
        `pebble.operations.ScalarOp` codes; None where the graph has no numbers.
    op_const : ndarray of float64, shape (num_vertices,), or None
        The constant operand of each vertex whose op has one.
    family : str
        The builder's name, empty for a custom graph.
    params : mapping
        The builder's parameters.

    Examples
    --------
    >>> g = CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)])
    >>> g
    <CDAG custom: 4 vertices, 3 edges, 2 sources, 1 sinks>
    >>> g.preds(2).tolist(), g.sources.tolist(), g.sinks.tolist()
    ([0, 1], [0, 1], [3])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.int64] | None = None
    further_outputs: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    labels: Sequence[Hashable] | None = None
    tensors: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    sums: Mapping[str, SumLayout] = field(default_factory=dict)
    ops: NDArray[np.uint8] | None = None
    op_const: NDArray[np.float64] | None = None
    family: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.weights, self.further_outputs, self.ops, self.op_const):
            if array is not None:
                array.setflags(write=False)

    # -- construction ---------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        num_vertices: int,
        edges: Iterable[Sequence[int]] | ArrayLike,
        *,
        weights: ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
        outputs: ArrayLike | None = None,
        **provenance: Any,
    ) -> CDAG:
        """Build a CDAG from edges ``(predecessor, vertex)``.

        Parameters
        ----------
        num_vertices : int
        edges : array_like of int, shape (num_edges, 2)
            A vertex's operand order is the order in which its edges are given. An edge given twice is kept
            once, with a DuplicateEdgeWarning.
        weights : array_like of int, shape (num_vertices,), optional
            Words per vertex, at least 1 each.
        labels : sequence of hashable, optional
        outputs : array_like of int, optional
            Vertices that must end blue, besides the sinks.
        **provenance
            Further fields of the class (`family`, `params`, `tensors`, `ops`, …).

        Raises
        ------
        InvalidCDAGError
            A vertex out of range, a self-loop, a cycle (one is named), wrong lengths of weights or labels.

        Notes
        -----
        O(|V| + |E| log |E|).

        Examples
        --------
        >>> CDAG.from_edges(3, [(0, 1), (1, 2), (2, 0)])
        Traceback (most recent call last):
        ...
        pebble.errors.InvalidCDAGError: the graph has a cycle: 0 -> 1 -> 2 -> 0
        """
        n = int(num_vertices)
        if n < 0:
            raise InvalidCDAGError(f"num_vertices={n} is negative")
        pairs = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))  # type: ignore[arg-type]
        if pairs.size == 0:
            pairs = np.empty((0, 2), dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidCDAGError(
                f"edges must be pairs (predecessor, vertex), got an array of shape {pairs.shape}"
            )
        if not np.issubdtype(pairs.dtype, np.integer):
            raise InvalidCDAGError(f"edges must hold whole numbers, got {pairs.dtype}")
        if pairs.dtype != np.int32:
            pairs = pairs.astype(np.int64, copy=False)
        if pairs.size and (int(pairs.min()) < 0 or int(pairs.max()) >= n):
            bad = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n).any(axis=1))
            u, v = pairs[bad[0]].tolist()
            who = u if not 0 <= u < n else v
            raise InvalidCDAGError(
                f"edge ({u}, {v}): vertex {who} is out of range, ids go from 0 to {n - 1}", (who,)
            )
        loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
        if len(loops):
            v = int(pairs[loops[0], 0])
            raise InvalidCDAGError(f"vertex {v} has an edge to itself", (v,))
        indptr, indices, repeats = topology.predecessor_csr(pairs, n)
        if repeats:
            count, u, v = repeats
            warnings.warn(
                f"{count} duplicate edge(s) merged, the first is ({u}, {v})",
                DuplicateEdgeWarning,
                stacklevel=2,
            )
        cdag = cls(
            indptr=indptr,
            indices=indices,
            weights=_check_weights(weights, n),
            further_outputs=np.empty(0, dtype=np.int64),
            labels=labels if labels is None or isinstance(labels, PackedLabels) else tuple(labels),
            **_as_arrays(provenance),
        )
        if cdag.labels is not None and len(cdag.labels) != n:
            raise InvalidCDAGError(f"{len(cdag.labels)} labels for {n} vertices")
        cdag.topological_order  # noqa: B018 - raises on a cycle
        return cdag if outputs is None else cdag.with_outputs(outputs)

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> CDAG:
        """Build a CDAG from a `networkx.DiGraph`; nodes keep their iteration order and become the labels.

        A node attribute ``weight`` gives the words of a vertex. Raises InvalidCDAGError as `from_edges`.

        Examples
        --------
        >>> import networkx as nx
        >>> CDAG.from_networkx(nx.DiGraph([("a", "b"), ("b", "c")])).labels
        ('a', 'b', 'c')
        """
        if not graph.is_directed():
            raise InvalidCDAGError("the networkx graph is undirected: pass a DiGraph")
        nodes = list(graph.nodes)
        index = {node: i for i, node in enumerate(nodes)}
        edges = [(index[u], index[v]) for u, v in graph.edges()]
        given = [data.get("weight") for _, data in graph.nodes(data=True)]
        weights = None if all(w is None for w in given) else [1 if w is None else w for w in given]
        return cls.from_edges(len(nodes), edges, weights=weights, labels=nodes)

    def to_networkx(self) -> nx.DiGraph:
        """The graph as a `networkx.DiGraph` on vertex ids, with ``label`` and ``weight`` node attributes."""
        import networkx as nx

        graph = nx.DiGraph()
        for v in range(self.num_vertices):
            attributes: dict[str, Any] = {}
            if self.labels is not None:
                attributes["label"] = self.labels[v]
            if self.weights is not None:
                attributes["weight"] = int(self.weights[v])
            graph.add_node(v, **attributes)
        graph.add_edges_from(map(tuple, self.edges().tolist()))
        return graph

    def with_outputs(self, outputs: ArrayLike) -> CDAG:
        """The same graph where `outputs` must end blue besides the sinks; sources among them cost nothing."""
        ids = np.unique(np.asarray(outputs, dtype=np.int64))
        if len(ids) and (ids[0] < 0 or ids[-1] >= self.num_vertices):
            raise InvalidCDAGError(f"an output is out of range, ids go from 0 to {self.num_vertices - 1}")
        return self._replace(further_outputs=ids[np.isin(ids, self.sinks, invert=True)])

    def renumber(self, order: ArrayLike) -> CDAG:
        """The same graph with vertex ``order[i]`` renamed ``i``; O(|V| + |E|).

        Players that replay often number vertices in their own order of computation: replay is then about
        three times faster, since memory is read in sequence.
        """
        old = np.asarray(order, dtype=np.int64)
        n = self.num_vertices
        new = np.full(n, -1, dtype=np.int64)
        if old.shape != (n,):
            raise InvalidCDAGError(f"the order has {old.size} entries for {n} vertices")
        if n and old.min() >= 0 and old.max() < n:
            new[old] = np.arange(n)
        if n and (new < 0).any():
            raise InvalidCDAGError("the order is no permutation of the vertices")
        degree = np.diff(self.indptr)[old].astype(np.int64)
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(degree, out=indptr[1:])
        take = np.repeat(self.indptr[old].astype(np.int64) - indptr[:-1], degree) + np.arange(indptr[-1])
        return self._replace(
            indptr=indptr.astype(self.indptr.dtype),
            indices=new[self.indices[take]].astype(self.indices.dtype),
            weights=None if self.weights is None else self.weights[old],
            further_outputs=np.sort(new[self.further_outputs]),
            labels=_taken(self.labels, old),
            tensors={name: new[ids] for name, ids in self.tensors.items()},
            sums={},
            ops=None if self.ops is None else self.ops[old],
            op_const=None if self.op_const is None else self.op_const[old],
        )

    def _replace(self, **changes: Any) -> CDAG:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return CDAG(**(fields | changes))

    # -- sizes and neighbours -------------------------------------------------------------------------

    @property
    def num_vertices(self) -> int:
        """|V|."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """|E|, repeated operands counted once."""
        return len(self.indices)

    def preds(self, v: int) -> NDArray[Any]:
        """Predecessors of `v` in operand order."""
        return self.indices[self.indptr[v] : self.indptr[v + 1]]

    def succs(self, v: int) -> NDArray[np.int64]:
        """Successors of `v`, ascending."""
        indptr, indices = self.successors
        return indices[indptr[v] : indptr[v + 1]]

    def weight(self, v: int) -> int:
        """Words of `v`."""
        return 1 if self.weights is None else int(self.weights[v])

    def edges(self) -> NDArray[np.int64]:
        """All edges ``(predecessor, vertex)``, by vertex and operand order, shape (num_edges, 2)."""
        targets = np.repeat(np.arange(self.num_vertices), np.diff(self.indptr))
        return np.column_stack((self.indices, targets)).astype(np.int64)

    @cached_property
    def successors(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Successor CSR ``(indptr, indices)``; built on first use in O(|V| + |E|)."""
        if self.num_vertices + self.num_edges < _COMPILE_FROM:
            return topology.reverse_csr(self.indptr, self.indices)
        from pebble import kernels

        pair: tuple[NDArray[np.int64], NDArray[np.int64]] = kernels.reverse_csr(self.indptr, self.indices)
        return pair

    @cached_property
    def in_degree(self) -> NDArray[np.int64]:
        """In-degree of every vertex, shape (num_vertices,)."""
        return np.diff(self.indptr).astype(np.int64)

    @cached_property
    def is_source(self) -> NDArray[np.bool_]:
        """Mask of the vertices without predecessors: the inputs, blue at the start."""
        mask: NDArray[np.bool_] = self.in_degree == 0
        return mask

    @cached_property
    def is_output(self) -> NDArray[np.bool_]:
        """Mask of the vertices that must end blue: the sinks and the further outputs."""
        mask = np.ones(self.num_vertices, dtype=np.bool_)
        mask[self.indices] = False
        mask[self.further_outputs] = True
        return mask

    @cached_property
    def sources(self) -> NDArray[np.int64]:
        """Ids of the sources, ascending."""
        return np.flatnonzero(self.is_source)

    @cached_property
    def sinks(self) -> NDArray[np.int64]:
        """Ids of the vertices without successors, ascending; an isolated vertex is a source and a sink."""
        mask = np.ones(self.num_vertices, dtype=np.bool_)
        mask[self.indices] = False
        return np.flatnonzero(mask)

    @cached_property
    def outputs(self) -> NDArray[np.int64]:
        """Ids of the vertices that must end blue, ascending."""
        return np.flatnonzero(self.is_output)

    @cached_property
    def ids_are_topological(self) -> bool:
        """Whether every predecessor has a lower id than its vertex."""
        # In slices, so that a graph of 10^8 edges needs no second copy of itself.
        step = 1 << 18
        for lo in range(0, self.num_vertices, step):
            hi = min(lo + step, self.num_vertices)
            row = self.indices[self.indptr[lo] : self.indptr[hi]]
            if (row >= np.repeat(np.arange(lo, hi), np.diff(self.indptr[lo : hi + 1]))).any():
                return False
        return True

    @cached_property
    def topological_order(self) -> NDArray[np.int64]:
        """A topological order: the ids themselves where they are one, else Kahn's; O(|V| + |E|).

        Raises InvalidCDAGError, naming one cycle, if there is none.
        """
        n = self.num_vertices
        if self.ids_are_topological:
            return np.arange(n)
        succ_ptr, succ = self.successors
        if n + self.num_edges < _COMPILE_FROM:
            order, reached = topology.topological_order(self.indptr, self.indices, succ_ptr, succ)
        else:
            from pebble import kernels

            order, reached = kernels.topological_order(self.indptr, self.indices, succ_ptr, succ)
        if reached < n:
            mask = np.zeros(n, dtype=np.bool_)
            mask[order[:reached]] = True
            cycle = topology.find_cycle(self.indptr, self.indices, mask)
            text = " -> ".join(map(str, [*cycle[:12], *(["…"] if len(cycle) > 12 else []), cycle[0]]))
            raise InvalidCDAGError(f"the graph has a cycle: {text}", cycle)
        return order

    # -- identity -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The graph's spec where it has one, else ``custom``."""
        if not self.family:
            return "custom"
        parts = ",".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.family}:{parts}" if parts else self.family

    @cached_property
    def digest(self) -> str:
        """SHA-256 over edges (in operand order), weights and outputs: what a schedule file refers to."""
        state = hashlib.sha256()
        state.update(np.int64(self.num_vertices).tobytes())
        step = 1 << 20
        for array in (self.indptr, self.indices):
            for lo in range(0, len(array), step):
                state.update(array[lo : lo + step].astype("<i8").tobytes())
        state.update(b"" if self.weights is None else self.weights.astype("<i8").tobytes())
        state.update(b"outputs" + np.sort(self.further_outputs).astype("<i8").tobytes())
        return state.hexdigest()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, CDAG)
            and self.num_vertices == other.num_vertices
            and self.num_edges == other.num_edges
            and self.digest == other.digest
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return (
            f"<CDAG {self.name}: {self.num_vertices} vertices, {self.num_edges} edges, "
            f"{len(self.sources)} sources, {len(self.sinks)} sinks>"
        )

    def _repr_svg_(self) -> str | None:
        """The graph as notebooks show it; None, for the text, where it is too large to lay out."""
        from pebble.draw.svg import MOST_LAID_OUT, graph_svg

        return graph_svg(self) if self.num_vertices <= MOST_LAID_OUT else None


def _taken(labels: Sequence[Hashable] | None, ids: NDArray[np.int64]) -> Sequence[Hashable] | None:
    """The labels of these vertices."""
    if labels is None or isinstance(labels, PackedLabels):
        return labels if labels is None else labels.take(ids)
    return tuple(labels[i] for i in ids.tolist())


def _as_arrays(provenance: dict[str, Any]) -> dict[str, Any]:
    """The same fields with lists of ops, constants and tensor ids turned into arrays."""
    fields = dict(provenance)
    for key, dtype in (("ops", np.uint8), ("op_const", np.float64)):
        if fields.get(key) is not None:
            fields[key] = np.asarray(fields[key], dtype=dtype)
    if "tensors" in fields:
        fields["tensors"] = {name: np.asarray(ids, dtype=np.int64) for name, ids in fields["tensors"].items()}
    return fields


def _check_weights(weights: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    if weights is None:
        return None
    array = np.asarray(weights)
    if array.shape != (n,):
        raise InvalidCDAGError(f"weights have shape {array.shape}, expected ({n},)")
    if (array == 1).all():
        return None
    if not np.issubdtype(array.dtype, np.integer) and not (array == np.floor(array)).all():
        raise InvalidCDAGError("weights must be whole numbers of words")
    words = array.astype(np.int64)
    low = np.flatnonzero(words < 1)
    if len(low):
        v = int(low[0])
        raise InvalidCDAGError(f"vertex {v} weighs {words[v]} words: weights must be at least 1", (v,))
    return words
