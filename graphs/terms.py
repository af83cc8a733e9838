"""Sums and maxima of traced arrays: which terms they have, and the block of vertices that they become.

Sums whose terms are all products of two different values, or all different values, follow one template. Where
constants or repeated operands come in, terms are sorted out one by one: constant terms are added up and come
last, in one vertex; a product with a constant is a multiple, with 1 the other operand itself, with 0 nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphs.blocks import GeneralBlock, Ints, UniformBlock, ragged_positions, row_major_boxes
from graphs.sums import (
    PRODUCT,
    RAW,
    SCALED,
    SQUARE,
    SUM,
    Combine,
    Expanded,
    Terms,
    expand,
    expand_alike,
    sum_template,
)
from graphs.tape import Tape

__all__ = ["combine_terms", "sum_of_products"]

# Terms sorted out at a time.
_CHUNK = 1 << 18


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
        template = sum_template(k, True, tape.sums, tape.fma, SUM)
        block = UniformBlock(tape.num_values, shape, template, (left, right), layout=layout)
        return tape.add_block(block).reshape(shape)
    return _irregular(tape, shape, k, left, right, SUM)


def combine_terms(tape: Tape, terms: Ints, combine: Combine) -> Ints:
    """The values of a sum or maximum over the last axis; the shape of the result lacks that axis."""
    shape, k = terms.shape[:-1], terms.shape[-1]
    if k > 1 and _all_values(terms) and len(np.unique(terms)) == terms.size:
        template = sum_template(k, False, tape.sums, False, combine)
        layout = (k, tape.sums + "-reduce") if combine is SUM else None
        block = UniformBlock(tape.num_values, shape, template, (terms,), layout=layout)
        return tape.add_block(block).reshape(shape)
    return _irregular(tape, shape, k, terms, None, combine)


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
    pieces: list[Expanded] = []
    results: list[Ints] = []
    fresh = 0
    regular = ragged = True
    for box, number in row_major_boxes(shape, max(1, _CHUNK // max(k, 1))):
        a = np.broadcast_to(left, whole)[box].reshape(number, k)
        b = None if right is None else np.broadcast_to(right, whole)[box].reshape(number, k)
        terms, keep = _classify(tape, a, b, combine)
        keep = _merge_repeats(terms, keep, tape.sums, combine)
        result, made = _settle(tape, terms, keep, combine)
        number_made = int(np.count_nonzero(made))
        result[made] = first + fresh + np.arange(number_made)
        fresh += number_made
        # Alike but for their number of terms, as sums under a mask are; all of them alike without one.
        plain = np.isin(terms.kind, (RAW,) if right is None else (PRODUCT, SQUARE)) | ~keep
        ragged &= bool(plain.all() and (terms.tail == combine.neutral).all())
        regular &= bool(keep.all() and made.all())
        pieces.append(_expand_groups(terms, keep, made, tape, combine))
        results.append(result)
    layout = None
    if ragged and combine is SUM and k > (1 if right is None else 0):
        kind = "-reduce" if right is None else "-fma" if tape.fma else ""
        layout = (k, ("" if regular else "ragged-") + tape.sums + kind)
    joined = Expanded(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))
    const = joined.const if joined.const.any() else None
    block = GeneralBlock(first, joined.sizes, joined.ops, joined.degree, joined.codes, const, layout)
    tape.add_block(block)
    return np.concatenate(results).astype(tape.dtype).reshape(shape)


def _classify(tape: Tape, a: Ints, b: Ints | None, combine: Combine) -> tuple[Terms, NDArray[np.bool_]]:
    """Sort terms into products, squares, multiples, existing vertices and constants (which are not kept)."""
    const_a = a < 0
    tail = np.full(len(a), combine.neutral)
    factor = np.zeros(a.shape)
    if b is None:
        kind = np.full(a.shape, RAW, dtype=np.uint8)
        if const_a.any():
            constants = np.where(const_a, tape.constants_of(np.where(const_a, a, -1)), combine.neutral)
            tail = constants.sum(axis=1) if combine is SUM else constants.max(axis=1)
        return Terms(kind, a, a, factor, tail), ~const_a
    const_b = b < 0
    kind = np.where(a == b, SQUARE, PRODUCT).astype(np.uint8)
    value_a = np.where(const_a, tape.constants_of(np.where(const_a, a, -1)), 1.0)
    value_b = np.where(const_b, tape.constants_of(np.where(const_b, b, -1)), 1.0)
    both, one = const_a & const_b, const_a ^ const_b
    tail = np.where(both, value_a * value_b, 0.0).sum(axis=1)
    factor = np.where(one, value_a * value_b, 0.0)
    kind[one] = SCALED
    kind[one & (factor == 1.0)] = RAW
    keep = ~(both | (one & (factor == 0.0)))
    return Terms(kind, np.where(const_a, b, a), b, factor, tail), keep


def _merge_repeats(terms: Terms, keep: NDArray[np.bool_], sums: str, combine: Combine) -> NDArray[np.bool_]:
    """Keep one of each repeated existing vertex where repeats cannot be operands: in maxima and flat sums."""
    if combine is SUM and sums != "flat":
        return keep
    rows, columns = np.nonzero(keep & (terms.kind == RAW))
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
        terms.kind[r, c] = SCALED
        terms.factor[r, c] = times[times > 1]
    return kept


def _settle(
    tape: Tape, terms: Terms, keep: NDArray[np.bool_], combine: Combine
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Results that need no vertex (constants, sums of one existing vertex), and a mask of those that do."""
    number = keep.sum(axis=1)
    made = number > 0
    result = np.empty(len(keep), dtype=np.int64)
    result[~made] = tape.lift(terms.tail[~made])
    single = np.flatnonzero((number == 1) & (terms.tail == combine.neutral))
    column = keep[single].argmax(axis=1) if len(single) else single
    plain = terms.kind[single, column] == RAW
    result[single[plain]] = terms.a[single[plain], column[plain]]
    made[single[plain]] = False
    return result, made


def _expand_groups(
    terms: Terms, keep: NDArray[np.bool_], made: NDArray[np.bool_], tape: Tape, combine: Combine
) -> Expanded:
    """Expand the entries that need vertices, those of equal length together, back in their own order."""
    entries = np.flatnonzero(made)
    number = keep[entries].sum(axis=1)
    # Sums of nothing but products follow a template even here: under a mask, most do.
    plain = ((terms.kind == PRODUCT) | ~keep).all(axis=1) & (terms.tail == combine.neutral)
    groups: list[tuple[Ints, Expanded]] = []
    for k in np.unique(number).tolist():
        for alike in (True, False):
            places = np.flatnonzero((number == k) & (plain[entries] == alike))
            if not len(places):
                continue
            rows = entries[places]
            mask, size = keep[rows], (len(rows), k)
            kind, a, b, factor = (
                field[rows][mask].reshape(size) for field in (terms.kind, terms.a, terms.b, terms.factor)
            )
            if alike:
                template = sum_template(k, True, tape.sums, tape.fma, combine)
                groups.append((places, expand_alike((a, b), template)))
            else:
                picked = Terms(kind, a, b, factor, terms.tail[rows])
                groups.append((places, expand(picked, tape.sums, tape.fma, combine)))
    if len(groups) == 1:
        return groups[0][1]
    sizes, edges = np.zeros(len(entries), dtype=np.int64), np.zeros(len(entries), dtype=np.int64)
    for places, group in groups:
        sizes[places], edges[places] = group.sizes, group.edges
    starts, edge_starts = np.cumsum(sizes) - sizes, np.cumsum(edges) - edges
    total, total_edges = int(sizes.sum()), int(edges.sum())
    whole = Expanded(
        sizes,
        edges,
        np.empty(total, dtype=np.uint8),
        np.empty(total, dtype=np.int32),
        np.empty(total_edges, dtype=terms.a.dtype),
        np.empty(total),
    )
    for places, group in groups:
        at = ragged_positions(starts[places], group.sizes)
        whole.ops[at], whole.degree[at], whole.const[at] = group.ops, group.degree, group.const
        whole.codes[ragged_positions(edge_starts[places], group.edges)] = group.codes
    return whole
