"""Products of arrays summed over shared axes: matmul, dot and einsum of one or two operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphs.blocks import Ints
from graphs.elementwise import apply_binary
from graphs.sums import SUM
from graphs.tape import Tape
from graphs.terms import combine_terms, sum_of_products
from pebble.errors import UnsupportedFunctionError

__all__ = ["contract", "dot", "einsum", "matmul"]


def matmul(tape: Tape, left: Ints, right: Ints) -> Ints:
    """Values of ``left @ right``; leading axes are broadcast.

    Raises ValueError where the shapes do not match, as NumPy does.
    """
    if left.ndim == 0 or right.ndim == 0:
        raise ValueError("matmul of a scalar: write x * y")
    a = left[np.newaxis] if left.ndim == 1 else left
    b = right[:, np.newaxis] if right.ndim == 1 else right
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: shapes {left.shape} and {right.shape} do not match")
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*lead, a.shape[-2], b.shape[-1])
    values = sum_of_products(
        tape, shape, a[..., :, np.newaxis, :], np.swapaxes(b, -1, -2)[..., np.newaxis, :, :]
    )
    if left.ndim == 1:
        values = values[..., 0, :]
    return values[..., 0] if right.ndim == 1 else values


def dot(tape: Tape, left: Ints, right: Ints) -> Ints:
    """Values of `numpy.dot`: over the last axis of `left` and the last but one of `right`."""
    if left.ndim == 0 or right.ndim == 0:
        return apply_binary(tape, "multiply", left, right)
    letters = [chr(ord("a") + i) for i in range(left.ndim + right.ndim)]
    a, b = letters[: left.ndim], letters[left.ndim :]
    shared = max(right.ndim - 2, 0)
    b[shared] = a[-1]
    out = a[:-1] + [c for i, c in enumerate(b) if i != shared]
    return contract(tape, left, a, right, b, out, "dot")


def contract(
    tape: Tape,
    left: Ints,
    left_axes: Sequence[str],
    right: Ints,
    right_axes: Sequence[str],
    out: Sequence[str],
    function: str,
) -> Ints:
    """Values of the sum of products over the axes that `out` does not list.

    Terms go in row-major order of those axes, in the order in which the operands first name them.
    """
    length: dict[str, int] = {}
    for axes, ids in ((left_axes, left), (right_axes, right)):
        for axis, n in zip(axes, ids.shape, strict=True):
            if length.setdefault(axis, n) not in (n, 1) and n != 1:
                raise ValueError(f"{function}: axis '{axis}' has lengths {length[axis]} and {n}")
            length[axis] = max(length[axis], n) if n and length[axis] else 0
    over = [axis for axis in dict.fromkeys((*left_axes, *right_axes)) if axis not in out]
    shape = tuple(length[axis] for axis in out)
    k = int(np.prod([length[axis] for axis in over], dtype=np.int64))
    operands = []
    for axes, ids in ((left_axes, left), (right_axes, right)):
        order = [axes.index(axis) for axis in (*out, *over) if axis in axes]
        compact = ids.transpose(order)
        spread = [slice(None) if axis in axes else np.newaxis for axis in (*out, *over)]
        compact = compact[tuple(spread)]
        kept = compact.shape[: len(out)]
        full = np.broadcast_to(compact, (*kept, *(length[axis] for axis in over)))
        operands.append(full.reshape(*kept, k))
    if not over:
        return np.broadcast_to(
            apply_binary(tape, "multiply", operands[0][..., 0], operands[1][..., 0]), shape
        )
    return sum_of_products(tape, shape, operands[0], operands[1])


def einsum(tape: Tape, subscripts: str, operands: Sequence[Ints]) -> Ints:
    """Values of `numpy.einsum` of one or two operands, general subscripts and ``...`` included."""
    if len(operands) > 2:
        raise UnsupportedFunctionError(
            f"np.einsum of {len(operands)} operands cannot be traced, since the order of products is open: "
            "multiply two at a time"
        )
    labels, out = _parse(subscripts, [ids.ndim for ids in operands])
    reduced = [_diagonals(ids, axes) for ids, axes in zip(operands, labels, strict=True)]
    if len(reduced) == 2:
        (a, a_axes), (b, b_axes) = reduced
        return contract(tape, a, a_axes, b, b_axes, out, "einsum")
    ids, axes = reduced[0]
    over = [axis for axis in axes if axis not in out]
    moved = ids.transpose([axes.index(axis) for axis in (*out, *over)])
    if not over:
        return moved
    return combine_terms(tape, moved.reshape(*moved.shape[: len(out)], -1), SUM)


def _parse(subscripts: str, ndims: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(ndims):
        raise ValueError(f"einsum: '{subscripts}' names {len(parts)} operands, got {len(ndims)}")
    labels = []
    extra = 0
    for part, ndim in zip(parts, ndims, strict=True):
        named = part.replace("...", "")
        hidden = ndim - len(named)
        if hidden < 0 or (hidden and "..." not in part) or not (named == "" or named.isalpha()):
            raise ValueError(f"einsum: '{part}' in '{subscripts}' does not fit an array of {ndim} axes")
        # Hidden axes align at the right, as in broadcasting: digit labels count from the last.
        before, _, after = part.partition("...")
        labels.append([*before, *(str(i) for i in range(hidden - 1, -1, -1)), *after])
        extra = max(extra, hidden)
    dots = [str(i) for i in range(extra - 1, -1, -1)]
    if arrow:
        before, ellipsis, after = output.partition("...")
        out = [*before, *(dots if ellipsis else []), *after]
    else:
        flat = [axis for axes in labels for axis in axes if axis.isalpha()]
        out = [*dots, *sorted(axis for axis in set(flat) if flat.count(axis) == 1)]
    known = {axis for axes in labels for axis in axes}
    if len(set(out)) < len(out) or not set(out) <= known:
        raise ValueError(f"einsum: the output of '{subscripts}' repeats an axis or names a new one")
    return labels, out


def _diagonals(ids: Ints, axes: list[str]) -> tuple[Ints, list[str]]:
    """Take diagonals until no axis label is repeated."""
    axes = list(axes)
    for axis in dict.fromkeys(axes):
        while axes.count(axis) > 1:
            i = axes.index(axis)
            j = axes.index(axis, i + 1)
            if ids.shape[i] != ids.shape[j]:
                raise ValueError(f"einsum: axis '{axis}' has lengths {ids.shape[i]} and {ids.shape[j]}")
            ids = ids.diagonal(0, i, j)
            del axes[j], axes[i]
            axes.append(axis)
    return ids, axes
