"""How a sum becomes vertices: chains, balanced trees, single wide vertices; products apart or fused.

The block of a sum of k terms lists its vertices in postorder, the result last:

chain
    ``m0, m1, a1, m2, a2, …``: each product just before the add that takes it in; 2k - 1 vertices.
tree
    The first ⌈k/2⌉ terms, the other ⌊k/2⌋, then the add of the two halves, and so on down; 2k - 1 vertices.
flat
    ``m0, …, m(k-1)``, then one vertex of in-degree k; k + 1 vertices (1 if k = 1).

With `fma` an add whose right operand is a single product takes that product in: operands (sum, left, right).
A chain then has k vertices. Terms that are already vertices (a plain reduction) bring no product.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphs.blocks import Ints, Template
from pebble.errors import GraphSpecError
from pebble.operations import ScalarOp

__all__ = [
    "MAX",
    "SUM",
    "Combine",
    "Expanded",
    "Terms",
    "check_sums",
    "expand",
    "expand_alike",
    "sum_template",
]

# An int64 and no Python int, so that codes of 32 bits are widened where it comes in.
_NONE = np.int64(np.iinfo(np.int64).min)

# What a term is: an existing vertex, or a vertex of its own.
RAW, PRODUCT, SQUARE, SCALED = range(4)
_LEAF_OPS = np.array([ScalarOp.COPY, ScalarOp.MUL, ScalarOp.SQUARE, ScalarOp.MUL_CONST], dtype=np.uint8)


class Combine(NamedTuple):
    """An associative operation over terms: its vertex of two operands, of many, and with a constant."""

    pair: ScalarOp
    many: ScalarOp
    with_constant: ScalarOp
    neutral: float


SUM = Combine(ScalarOp.ADD, ScalarOp.SUM, ScalarOp.ADD_CONST, 0.0)
MAX = Combine(ScalarOp.MAX, ScalarOp.MAX_ALL, ScalarOp.MAX_CONST, -np.inf)


class _Tree(NamedTuple):
    """A binary tree over k leaves whose k - 1 inner nodes are numbered in postorder.

    `left` and `right` hold a leaf l as l and a node t as k + t; `slot_of_leaf` and `slot_of_node` are the
    positions in the postorder of all 2k - 1.
    """

    left: Ints
    right: Ints
    slot_of_leaf: Ints
    slot_of_node: Ints


@lru_cache(maxsize=64)
def _tree(k: int, sums: str) -> _Tree:
    if sums == "chain":
        nodes = np.arange(k - 1)
        left = np.where(nodes == 0, 0, k + nodes - 1)
        leaves = np.arange(k)
        return _Tree(left, nodes + 1, np.maximum(2 * leaves - 1, 0), 2 * nodes + 2)
    left, right = np.empty(k - 1, dtype=np.int64), np.empty(k - 1, dtype=np.int64)
    slot_of_leaf, slot_of_node = np.empty(k, dtype=np.int64), np.empty(k - 1, dtype=np.int64)
    # Postorder with a stack of spans; a span met for the second time has both halves done.
    done: list[int] = []
    stack = [(0, k, False)]
    slot = node = 0
    while stack:
        lo, hi, expanded = stack.pop()
        if hi - lo == 1:
            slot_of_leaf[lo] = slot
            done.append(lo)
            slot += 1
        elif expanded:
            right[node], left[node] = done.pop(), done.pop()
            slot_of_node[node] = slot
            done.append(k + node)
            slot += 1
            node += 1
        else:
            middle = lo + (hi - lo + 1) // 2
            stack += [(lo, hi, True), (middle, hi, False), (lo, middle, False)]
    return _Tree(left, right, slot_of_leaf, slot_of_node)


class Terms(NamedTuple):
    """The terms of G sums of k terms each, and the constant added at the end."""

    kind: NDArray[np.uint8]
    a: Ints
    b: Ints
    factor: NDArray[np.float64]
    tail: NDArray[np.float64]


class Expanded(NamedTuple):
    """Vertices of some entries in order, as in `GeneralBlock`."""

    sizes: Ints
    edges: Ints
    ops: NDArray[np.uint8]
    degree: Ints
    codes: Ints
    const: NDArray[np.float64]


def expand(terms: Terms, sums: str, fma: bool, combine: Combine) -> Expanded:
    """The vertices of G sums of k terms each.

    Every entry has the same slots in the same order (leaves, inner nodes, the constant at the end); a slot
    that an entry does not need is left out, and the places of the others follow by counting.
    """
    count, k = terms.kind.shape
    flat = sums == "flat"
    has_tail = terms.tail != combine.neutral
    leaf_codes = np.full((count, k, 2), _NONE, dtype=np.int64)
    leaf_codes[:, :, 0] = terms.a
    leaf_codes[:, :, 1] = np.where(terms.kind == PRODUCT, terms.b, _NONE)
    leaf_made = terms.kind != RAW

    inner = (1 if k > 1 else 0) if flat else k - 1
    slots = k + inner + 1
    tree = None if flat else _tree(k, sums)
    leaf_slots = np.arange(k) if tree is None else tree.slot_of_leaf
    node_slots = np.arange(k, k + inner) if tree is None else tree.slot_of_node

    absorbed = np.zeros((count, inner), dtype=np.bool_)
    if tree is not None and fma and combine is SUM and inner:
        leaf = np.minimum(tree.right, k - 1)
        other = np.minimum(tree.left, k - 1)
        kind = terms.kind[:, leaf]
        previous = np.where(
            (tree.left < k) & (terms.kind[:, other] == RAW), terms.a[:, other].astype(np.int64), _NONE
        )
        absorbed = (
            (tree.right < k)
            & ((kind == PRODUCT) | (kind == SQUARE))
            & (previous != leaf_codes[:, leaf, 0])
            & ((previous != leaf_codes[:, leaf, 1]) | (previous == _NONE))
        )
        rows, nodes = np.nonzero(absorbed)
        leaf_made[rows, tree.right[nodes]] = False

    made = np.empty((count, slots), dtype=np.bool_)
    made[:, leaf_slots] = leaf_made
    made[:, node_slots] = True
    made[:, -1] = has_tail
    place = np.cumsum(made, axis=1) - made
    ops = np.empty((count, slots), dtype=np.uint8)
    ops[:, leaf_slots] = _LEAF_OPS[terms.kind]
    ops[:, -1] = combine.with_constant
    const = np.zeros((count, slots))
    const[:, leaf_slots] = np.where(terms.kind == SCALED, terms.factor, 0.0)
    const[:, -1] = np.where(has_tail, terms.tail, 0.0)

    leaf_result = np.where(terms.kind == RAW, terms.a, -1 - place[:, leaf_slots])
    node_result = -1 - place[:, node_slots]
    results = np.concatenate((leaf_result, node_result), axis=1)
    tail_codes = np.where(has_tail, results[:, -1], _NONE)[:, np.newaxis]

    if tree is None:
        ops[:, node_slots] = combine.many
        children = leaf_result if inner else leaf_result[:, :0]
        leaf_codes[~leaf_made] = _NONE
        matrix = np.concatenate((leaf_codes.reshape(count, 2 * k), children, tail_codes), axis=1)
        degree = np.empty((count, slots), dtype=np.int64)
        degree[:, :k] = (leaf_codes != _NONE).sum(axis=2)
        degree[:, k:-1] = k
        degree[:, -1] = 1
    else:
        operands = np.full((count, slots, 3), _NONE, dtype=np.int64)
        operands[:, leaf_slots, :2] = leaf_codes
        if inner:
            left, right = results[:, tree.left], results[:, tree.right]
            twice = left == right
            fused = leaf_codes[:, np.minimum(tree.right, k - 1)]
            node = np.full((count, inner, 3), _NONE, dtype=np.int64)
            node[:, :, 0] = left
            node[:, :, 1] = np.where(absorbed, fused[:, :, 0], np.where(twice, _NONE, right))
            node[:, :, 2] = np.where(absorbed, fused[:, :, 1], _NONE)
            operands[:, node_slots] = node
            fused_ops = np.where(fused[:, :, 1] == _NONE, ScalarOp.FMA_SQUARE, ScalarOp.FMA)
            plain_ops = np.where(twice, ScalarOp.DOUBLE, combine.pair)
            ops[:, node_slots] = np.where(absorbed, fused_ops, plain_ops)
        operands[:, -1, 0] = tail_codes[:, 0]
        operands[~made] = _NONE
        degree = (operands != _NONE).sum(axis=2)
        matrix = operands.reshape(count, 3 * slots)
    present = matrix != _NONE
    return Expanded(
        sizes=made.sum(axis=1),
        edges=present.sum(axis=1),
        ops=ops[made],
        degree=degree[made].astype(np.int32),
        codes=matrix[present].astype(terms.a.dtype),
        const=const[made],
    )


@lru_cache(maxsize=64)
def sum_template(k: int, product: bool, sums: str, fma: bool, combine: Combine) -> Template:
    """One entry whose k terms are all products, or all existing vertices, with no repeats."""
    terms = Terms(
        kind=np.full((1, k), PRODUCT if product else RAW, dtype=np.uint8),
        a=np.arange(k)[np.newaxis],
        b=np.arange(k, 2 * k)[np.newaxis],
        factor=np.zeros((1, k)),
        tail=np.full(1, combine.neutral),
    )
    entry = expand(terms, sums, fma, combine)
    return Template.from_codes(entry.ops, entry.degree, entry.codes, k, 2 if product else 1)


def expand_alike(operands: tuple[Ints, ...], template: Template) -> Expanded:
    """The vertices of G sums that all follow one template; each operand has shape (G, k)."""
    count = len(operands[0])
    size, edges = len(template.ops), int(template.indptr[-1])
    codes = np.empty((count, edges), dtype=operands[0].dtype)
    for columns, values in zip(template.operand_edges, operands, strict=True):
        codes[:, columns] = values
    codes[:, template.inner_edges] = -1 - template.inner_vertices
    return Expanded(
        sizes=np.full(count, size),
        edges=np.full(count, edges),
        ops=np.tile(template.ops, count),
        degree=np.tile(np.diff(template.indptr).astype(np.int32), count),
        codes=codes.ravel(),
        const=np.zeros(count * size),
    )


def check_sums(sums: str, fma: bool) -> None:
    """GraphSpecError unless `sums` names a way to sum that `fma` goes with."""
    if sums not in ("chain", "tree", "flat"):
        raise GraphSpecError(f"sums={sums!r} is none of chain, tree, flat")
    if fma and sums == "flat":
        raise GraphSpecError("fma=True goes with sums=chain or tree: a flat sum has no adds to fuse with")
