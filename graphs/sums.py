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

from graphs.tape import GeneralBlock, Ints, Tape, Template, UniformBlock, ragged_positions, row_major_boxes
from pebble.errors import GraphSpecError
from pebble.operations import ScalarOp

__all__ = ["Combine", "combine_terms", "sum_of_products"]

_NONE = np.iinfo(np.int64).min
_CHUNK = 1 << 18

# What a term is: an existing vertex, or a vertex of its own.
_RAW, _PRODUCT, _SQUARE, _SCALED = range(4)
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


class _Terms(NamedTuple):
    """The terms of G sums of k terms each, and the constant added at the end."""

    kind: NDArray[np.uint8]
    a: Ints
    b: Ints
    factor: NDArray[np.float64]
    tail: NDArray[np.float64]


class _Expanded(NamedTuple):
    """Vertices of some entries in order, as in `GeneralBlock`."""

    sizes: Ints
    edges: Ints
    ops: NDArray[np.uint8]
    degree: Ints
    codes: Ints
    const: NDArray[np.float64]


def _expand(terms: _Terms, sums: str, fma: bool, combine: Combine) -> _Expanded:
    """The vertices of G sums of k terms each.

    Every entry has the same slots in the same order (leaves, inner nodes, the constant at the end); a slot
    that an entry does not need is left out, and the places of the others follow by counting.
    """
    count, k = terms.kind.shape
    flat = sums == "flat"
    has_tail = terms.tail != combine.neutral
    leaf_codes = np.full((count, k, 2), _NONE, dtype=np.int64)
    leaf_codes[:, :, 0] = terms.a
    leaf_codes[:, :, 1] = np.where(terms.kind == _PRODUCT, terms.b, _NONE)
    leaf_made = terms.kind != _RAW

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
            (tree.left < k) & (terms.kind[:, other] == _RAW), terms.a[:, other].astype(np.int64), _NONE
        )
        absorbed = (
            (tree.right < k)
            & ((kind == _PRODUCT) | (kind == _SQUARE))
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
    const[:, leaf_slots] = np.where(terms.kind == _SCALED, terms.factor, 0.0)
    const[:, -1] = np.where(has_tail, terms.tail, 0.0)

    leaf_result = np.where(terms.kind == _RAW, terms.a, -1 - place[:, leaf_slots])
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
    return _Expanded(
        made.sum(axis=1), present.sum(axis=1), ops[made], degree[made], matrix[present], const[made]
    )


@lru_cache(maxsize=64)
def _template(k: int, product: bool, sums: str, fma: bool, combine: Combine) -> Template:
    """One entry whose k terms are all products, or all existing vertices, with no repeats."""
    terms = _Terms(
        kind=np.full((1, k), _PRODUCT if product else _RAW, dtype=np.uint8),
        a=np.arange(k)[np.newaxis],
        b=np.arange(k, 2 * k)[np.newaxis],
        factor=np.zeros((1, k)),
        tail=np.full(1, combine.neutral),
    )
    entry = _expand(terms, sums, fma, combine)
    return Template.from_codes(entry.ops, entry.degree, entry.codes, k, 2 if product else 1)


# -- from traced arrays to blocks -----------------------------------------------------------------------


def sum_of_products(tape: Tape, shape: tuple[int, ...], left: Ints, right: Ints) -> Ints:
    """The values of ``sum over l of left[..., l] * right[..., l]``.

    Parameters
    ----------
    tape : Tape
    shape : tuple of int
        Shape of the result.
    left, right : ndarray of int
        Values or codes of constants, of shapes that broadcast to ``shape + (k,)``.

    Returns
    -------
    ndarray of int, of that shape
    """
    k = max(left.shape[-1], right.shape[-1])
    distinct = _all_values(left) and _all_values(right) and _disjoint(left, right)
    if k and (distinct or (_all_values(left) and _all_values(right) and not _any_equal(left, right))):
        layout = (k, tape.sums + ("-fma" if tape.fma else ""))
        template = _template(k, True, tape.sums, tape.fma, SUM)
        block = UniformBlock(tape.num_values, shape, template, (left, right), layout=layout)
        return tape.add_block(block).reshape(shape)
    return _irregular(tape, shape, k, left, right, SUM)


def combine_terms(tape: Tape, terms: Ints, combine: Combine) -> Ints:
    """The values of a sum or maximum over the last axis; the shape of the result lacks that axis."""
    shape, k = terms.shape[:-1], terms.shape[-1]
    if k > 1 and _all_values(terms) and len(np.unique(terms)) == terms.size:
        template = _template(k, False, tape.sums, False, combine)
        layout = (k, tape.sums + "-reduce") if combine is SUM else None
        block = UniformBlock(tape.num_values, shape, template, (terms,), layout=layout)
        return tape.add_block(block).reshape(shape)
    return _irregular(tape, shape, k, terms, None, combine)


def check_sums(sums: str, fma: bool) -> None:
    """GraphSpecError unless `sums` names a way to sum that `fma` goes with."""
    if sums not in ("chain", "tree", "flat"):
        raise GraphSpecError(f"sums={sums!r} is none of chain, tree, flat")
    if fma and sums == "flat":
        raise GraphSpecError("fma=True goes with sums=chain or tree: a flat sum has no adds to fuse with")


def _all_values(ids: Ints) -> bool:
    return ids.size == 0 or int(ids.min()) >= 0


def _disjoint(left: Ints, right: Ints) -> bool:
    if left.size == 0 or right.size == 0 or left.max() < right.min() or right.max() < left.min():
        return True
    return not np.isin(left, right).any()


def _any_equal(left: Ints, right: Ints) -> bool:
    full = np.broadcast_shapes(left.shape, right.shape)
    left, right = np.broadcast_to(left, full), np.broadcast_to(right, full)
    return any((left[box] == right[box]).any() for box, _ in row_major_boxes(full, _CHUNK))


def _irregular(
    tape: Tape, shape: tuple[int, ...], k: int, left: Ints, right: Ints | None, combine: Combine
) -> Ints:
    """Sums with constants or repeated operands: sorted out term by term, a few entries at a time."""
    first = tape.num_values
    whole = (*shape, k)
    pieces: list[_Expanded] = []
    results: list[Ints] = []
    fresh = 0
    regular = True
    for box, number in row_major_boxes(shape, max(1, _CHUNK // max(k, 1))):
        a = np.broadcast_to(left, whole)[box].reshape(number, k)
        b = None if right is None else np.broadcast_to(right, whole)[box].reshape(number, k)
        terms, keep = _classify(tape, a, b, combine)
        keep = _merge_repeats(terms, keep, tape.sums, combine)
        result, made = _settle(tape, terms, keep, combine)
        number_made = int(np.count_nonzero(made))
        result[made] = first + fresh + np.arange(number_made)
        fresh += number_made
        wanted = _PRODUCT if right is not None else _RAW
        regular &= bool(keep.all() and made.all() and (terms.tail == combine.neutral).all())
        regular &= bool(
            ((terms.kind == wanted) | (terms.kind == (_SQUARE if right is not None else _RAW))).all()
        )
        pieces.append(_expand_groups(terms, keep, made, tape, combine))
        results.append(result)
    layout = None
    if regular and combine is SUM and k > (0 if right is not None else 1):
        kind = "-reduce" if right is None else "-fma" if tape.fma else ""
        layout = (k, tape.sums + kind)
    joined = _Expanded(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))
    const = joined.const if joined.const.any() else None
    block = GeneralBlock(first, joined.sizes, joined.ops, joined.degree, joined.codes, const, layout)
    tape.add_block(block)
    return np.concatenate(results).reshape(shape)


def _classify(tape: Tape, a: Ints, b: Ints | None, combine: Combine) -> tuple[_Terms, NDArray[np.bool_]]:
    """Sort terms into products, squares, multiples, existing vertices and constants (which are not kept)."""
    const_a = a < 0
    tail = np.full(len(a), combine.neutral)
    factor = np.zeros(a.shape)
    if b is None:
        kind = np.full(a.shape, _RAW, dtype=np.uint8)
        if const_a.any():
            constants = np.where(const_a, tape.constants_of(np.where(const_a, a, -1)), combine.neutral)
            tail = constants.sum(axis=1) if combine is SUM else constants.max(axis=1)
        return _Terms(kind, a, a, factor, tail), ~const_a
    const_b = b < 0
    kind = np.where(a == b, _SQUARE, _PRODUCT).astype(np.uint8)
    value_a = np.where(const_a, tape.constants_of(np.where(const_a, a, -1)), 1.0)
    value_b = np.where(const_b, tape.constants_of(np.where(const_b, b, -1)), 1.0)
    both, one = const_a & const_b, const_a ^ const_b
    tail = np.where(both, value_a * value_b, 0.0).sum(axis=1)
    factor = np.where(one, value_a * value_b, 0.0)
    kind[one] = _SCALED
    kind[one & (factor == 1.0)] = _RAW
    keep = ~(both | (one & (factor == 0.0)))
    return _Terms(kind, np.where(const_a, b, a), b, factor, tail), keep


def _merge_repeats(terms: _Terms, keep: NDArray[np.bool_], sums: str, combine: Combine) -> NDArray[np.bool_]:
    """Keep one of each repeated existing vertex where repeats cannot be operands: in maxima and flat sums."""
    if combine is SUM and sums != "flat":
        return keep
    rows, columns = np.nonzero(keep & (terms.kind == _RAW))
    values = terms.a[rows, columns]
    order = np.lexsort((columns, values, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    head = np.ones(len(rows), dtype=np.bool_)
    head[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    if head.all():
        return keep
    kept = keep.copy()
    kept[rows[~head], columns[~head]] = False
    if combine is SUM:
        times = np.diff(np.append(np.flatnonzero(head), len(head)))
        r, c = rows[head][times > 1], columns[head][times > 1]
        terms.kind[r, c] = _SCALED
        terms.factor[r, c] = times[times > 1]
    return kept


def _settle(
    tape: Tape, terms: _Terms, keep: NDArray[np.bool_], combine: Combine
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Results that need no vertex (constants, sums of one existing vertex), and a mask of those that do."""
    number = keep.sum(axis=1)
    made = number > 0
    result = np.empty(len(keep), dtype=np.int64)
    result[~made] = tape.lift(terms.tail[~made])
    single = np.flatnonzero((number == 1) & (terms.tail == combine.neutral))
    column = keep[single].argmax(axis=1) if len(single) else single
    plain = terms.kind[single, column] == _RAW
    result[single[plain]] = terms.a[single[plain], column[plain]]
    made[single[plain]] = False
    return result, made


def _expand_groups(
    terms: _Terms, keep: NDArray[np.bool_], made: NDArray[np.bool_], tape: Tape, combine: Combine
) -> _Expanded:
    """Expand the entries that need vertices, those of equal length together, back in their own order."""
    entries = np.flatnonzero(made)
    number = keep[entries].sum(axis=1)
    groups: list[tuple[Ints, _Expanded]] = []
    for k in np.unique(number).tolist():
        places = np.flatnonzero(number == k)
        rows = entries[places]
        mask = keep[rows]
        picked = _Terms(
            *(field[rows][mask].reshape(len(rows), k) for field in terms[:4]), tail=terms.tail[rows]
        )
        groups.append((places, _expand(picked, tape.sums, tape.fma, combine)))
    if len(groups) == 1:
        return groups[0][1]
    sizes, edges = np.zeros(len(entries), dtype=np.int64), np.zeros(len(entries), dtype=np.int64)
    for places, group in groups:
        sizes[places], edges[places] = group.sizes, group.edges
    starts, edge_starts = np.cumsum(sizes) - sizes, np.cumsum(edges) - edges
    total, total_edges = int(sizes.sum()), int(edges.sum())
    whole = _Expanded(
        sizes,
        edges,
        np.empty(total, dtype=np.uint8),
        np.empty(total, dtype=np.int64),
        np.empty(total_edges, dtype=np.int64),
        np.empty(total),
    )
    for places, group in groups:
        at = ragged_positions(starts[places], group.sizes)
        whole.ops[at], whole.degree[at], whole.const[at] = group.ops, group.degree, group.const
        whole.codes[ragged_positions(edge_starts[places], group.edges)] = group.codes
    return whole
