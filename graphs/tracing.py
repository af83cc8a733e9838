"""From a NumPy function to its CDAG: `trace` runs the function on arrays of vertices in place of numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from graphs.blocks import Block, Ints
from graphs.sums import check_sums
from graphs.tape import BuiltArrays, Tape
from graphs.tensors import TracedArray
from pebble.cdag import CDAG, SumLayout
from pebble.errors import GraphSpecError, UnsupportedFunctionError

__all__ = ["named", "trace", "trace_family"]

A = TypeVar("A")


def named(name: str, array: A) -> A:
    """Name an intermediate array of a traced function; returns it unchanged.

    In the CDAG, ``tensors[name]`` are its vertices: -1 for entries that are constants or that no returned
    array needs. On an ndarray the call does nothing, so that the function still computes numbers. A JAX array
    gets the name for `graphs.from_jax`.

    Raises
    ------
    GraphSpecError
        The name is taken by another array of the trace.

    Examples
    --------
    >>> g = trace(lambda x: {"z": named("y", x * x) + 1}, x=2)
    >>> g.tensors["y"].tolist(), g.tensors["z"].tolist()
    ([2, 3], [4, 5])
    """
    if isinstance(array, TracedArray):
        _name(array.tape, name, array.ids)
    elif type(array).__module__.partition(".")[0] in ("jax", "jaxlib"):
        from jax.ad_checkpoint import checkpoint_name

        return cast(A, checkpoint_name(array, name))
    return array


def trace(
    fn: Callable[..., Any],
    /,
    *,
    sums: str = "chain",
    fma: bool = False,
    **shapes: int | tuple[int, ...],
) -> CDAG:
    """The CDAG of a NumPy function: one vertex per scalar input and per scalar operation.

    Parameters
    ----------
    fn : callable
        Takes the named arrays as keyword arguments and returns an array, or a tuple, list or dict of arrays.
        It may use + - * / @ and their functions, exp, log, sqrt, square, tanh, sin, cos, absolute, sign,
        powers with a constant exponent, maximum, minimum, `numpy.where` on fixed masks, sums, means and
        maxima over axes, dot, einsum of one or two operands, and whatever moves entries without computing
        (indexing, reshape, transpose, concatenate, …).
    sums : {"chain", "tree", "flat"}
        How k terms are added: one after another, in a balanced tree, or in one vertex of in-degree k.
        `graphs.sums` describes the order of the vertices.
    fma : bool
        Fuse the adds of sums of products with the products (``chain`` and ``tree`` only).
    **shapes : int or tuple of int
        Shape of every input. The vertices of the inputs come first, in this order.

    Returns
    -------
    CDAG
        With exactly the vertices that the returned arrays need, and all inputs; an unused input is isolated.
        Returned arrays are outputs under their dict keys, else ``out``, or ``out0``, ``out1``, … A returned
        input costs nothing. Vertices are numbered in the order of the operations, entries in row-major order.

    Raises
    ------
    UnsupportedFunctionError
        The function uses something that has no CDAG form; the text names it.
    GraphSpecError
        A bad shape, a bad choice of `sums`, a name used twice, or a returned constant.

    Notes
    -----
    O(|V| + |E|). Constants are no vertices: ``2 * x`` is one vertex per entry with the 2 in `CDAG.op_const`,
    and operations that a constant makes trivial (``x + 0``, ``x * 1``, ``x * 0``) make no vertex. A repeated
    operand is one edge, as in ``x * x``, a SQUARE.

    Examples
    --------
    >>> import numpy as np
    >>> def softmax(S):
    ...     u = np.exp(S)
    ...     return u / u.sum(axis=1, keepdims=True)
    >>> trace(softmax, S=(2, 3))
    <CDAG custom: 22 vertices, 26 edges, 6 sources, 6 sinks>
    >>> trace(lambda A, B: A @ B, A=(2, 3), B=(3, 2), fma=True).num_vertices
    24
    """
    return trace_family(fn, shapes, sums=sums, fma=fma)


def trace_family(
    fn: Callable[..., Any],
    shapes: Mapping[str, int | tuple[int, ...]],
    *,
    sums: str,
    fma: bool,
    family: str = "",
    params: Mapping[str, Any] | None = None,
) -> CDAG:
    """`trace` for builders: with a family and the parameters that differ from its defaults."""
    check_sums(sums, fma)
    tape = Tape(sums, fma)
    inputs = {}
    for name, shape in shapes.items():
        ids = tape.add_input(_checked_shape(name, shape))
        _name(tape, name, ids)
        inputs[name] = TracedArray(tape, ids)
    returned = _returned(tape, fn(**inputs))
    for name, ids in returned.items():
        _name(tape, name, ids)
    outputs = np.concatenate([ids.ravel() for ids in returned.values()])
    built = tape.build(outputs)
    found = {name: _vertices(built, ids) for name, ids in tape.names.items()}
    # An intermediate array that nothing returned depends on is not in the graph.
    tensors = {name: ids for name, ids in found.items() if name in inputs or (ids >= 0).any()}
    return CDAG(
        indptr=built.indptr,
        indices=built.indices,
        further_outputs=np.unique(built.vertex_of[outputs[built.used[outputs]]]),
        tensors=tensors,
        input_names=tuple(inputs),
        output_names=tuple(returned),
        sums=_sum_layouts(tape, built, tensors),
        ops=built.ops,
        op_const=built.op_const,
        family=family,
        params=dict(params or {}),
    )


def _checked_shape(name: str, shape: int | tuple[int, ...]) -> tuple[int, ...]:
    axes = shape if isinstance(shape, tuple) else (shape,)
    for n in axes:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise GraphSpecError(f"the shape of {name} is {shape!r}: give whole numbers of at least 1")
    return tuple(int(n) for n in axes)


def _name(tape: Tape, name: str, ids: Ints) -> None:
    known = tape.names.get(name)
    if known is not None and not np.array_equal(known, ids):
        raise GraphSpecError(f"two different arrays of the traced function are named '{name}'")
    tape.names[name] = ids


def _returned(tape: Tape, result: Any) -> dict[str, Ints]:
    """The returned arrays by name, each checked to hold values of this trace."""
    if isinstance(result, Mapping):
        arrays = {str(name): array for name, array in result.items()}
    elif isinstance(result, (tuple, list)):
        arrays = {f"out{i}": array for i, array in enumerate(result)}
    else:
        arrays = {"out": result}
    if not arrays:
        raise GraphSpecError("the traced function returned no array")
    found = {}
    for name, array in arrays.items():
        if not isinstance(array, TracedArray):
            raise GraphSpecError(
                f"the returned '{name}' is a constant ({type(array).__name__}): return arrays computed "
                "from the inputs"
            )
        if array.tape is not tape:
            raise UnsupportedFunctionError(f"the returned '{name}' comes from another trace")
        constant = np.argwhere(array.ids < 0)
        if len(constant):
            where = ",".join(map(str, constant[0].tolist()))
            value = float(tape.constants_of(array.ids[tuple(constant[0])]))
            raise GraphSpecError(
                f"the returned '{name}' holds {len(constant)} constant(s), the first is "
                f"{name}[{where}] = {value:g}: a constant is no vertex, return the other entries only"
            )
        found[name] = array.ids
    return found


def _vertices(built: BuiltArrays, ids: Ints) -> NDArray[np.int64]:
    constant = ids < 0
    vertices: NDArray[np.int64] = np.where(constant, -1, built.vertex_of[np.where(constant, 0, ids)])
    return vertices


def _sum_layouts(
    tape: Tape, built: BuiltArrays, tensors: Mapping[str, NDArray[np.int64]]
) -> dict[str, SumLayout]:
    """The layout of every named array whose entries are the sums of one block, some of them or all."""
    layouts = {}
    firsts = [block.first for block in tape.blocks]
    for name, vertices in tensors.items():
        ids = tape.names[name].ravel()
        there = ids[vertices.ravel() >= 0]
        block = tape.blocks[bisect_right(firsts, int(there.max())) - 1] if len(there) else None
        if block is None or block.layout is None:
            continue
        k, layout = block.layout
        whole = np.array_equal(ids, np.arange(block.first, block.first + block.count))
        if whole and len(there) == len(ids) and not layout.startswith("ragged"):
            offset = int(block.sizes(None)[2][0])
            layouts[name] = SumLayout(int(vertices.flat[0]) - offset, vertices.shape, k, layout)
        elif len(np.unique(there)) == len(there) and _are_sums_of(block, there):
            layouts[name] = SumLayout(-1, vertices.shape, k, "ragged-" + layout.removeprefix("ragged-"))
    return layouts


def _are_sums_of(block: Block, ids: Ints) -> bool:
    """Whether all entries are sums of the block; one of a single vertex is that vertex, in no block."""
    inside = ids >= block.first
    return bool(inside.all()) or (block.layout is not None and block.layout[1].endswith("reduce"))
