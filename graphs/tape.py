"""What a trace writes down: blocks of scalar operations, turned into CSR arrays once all of them are known.

A traced array holds *values*, numbered from 0 in the order of tracing: an input, the result of a scalar
operation, the result of a sum. The vertices inside a sum have no number of their own, so the tape stays
small (n² values where the graph has n²d vertices), and which results are needed is settled before any
vertex exists. `Tape.build` then numbers the vertices and writes every array of the graph once.

A negative number in a traced array is a constant: ``-1 - i`` is entry i of `Tape.constants`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphs.blocks import Block, Floats, InputBlock, Ints, Target

__all__ = ["ZERO_CODE", "BuiltArrays", "Tape"]

# The code of the constant 0.0, known in advance so that masks need no look-up.
ZERO_CODE = -1


class BuiltArrays(NamedTuple):
    """The finished arrays of a graph; `vertex_of` maps a value to its vertex, -1 where it has none."""

    indptr: Ints
    indices: Ints
    ops: NDArray[np.uint8]
    op_const: Floats | None
    vertex_of: Ints
    used: NDArray[np.bool_]


class Tape:
    """The blocks of one trace, its constants and its names.

    Parameters
    ----------
    sums : str
        ``chain``, ``tree`` or ``flat``.
    fma : bool
        Whether a sum of products fuses each add with a product.
    """

    def __init__(self, sums: str = "chain", fma: bool = False) -> None:
        self.sums = sums
        self.fma = fma
        self.blocks: list[Block] = []
        self.num_values = 0
        self.names: dict[str, Ints] = {}
        self._constants: list[float] = [0.0]
        self._code_of: dict[float, int] = {0.0: ZERO_CODE}
        self._table: Floats | None = None

    # -- values and constants -------------------------------------------------------------------------

    def _allocate(self, count: int) -> Ints:
        first = self.num_values
        self.num_values += count
        return np.arange(first, first + count, dtype=self.dtype)

    @property
    def dtype(self) -> type[np.signedinteger[Any]]:
        """The integers that hold every value so far."""
        return np.int32 if self.num_values < 2**31 else np.int64

    def add_input(self, shape: tuple[int, ...]) -> Ints:
        """The values of a declared input."""
        count = int(np.prod(shape))
        self.blocks.append(InputBlock(self.num_values, count))
        return self._allocate(count).reshape(shape)

    def add_block(self, block: Block) -> Ints:
        """Append a block whose `first` is the next value; its values, shape (count,)."""
        if block.count:
            self.blocks.append(block)
        return self._allocate(block.count)

    def lift(self, constants: Floats | float) -> Ints:
        """Codes of constants, in their shape."""
        array = np.asarray(constants, dtype=np.float64)
        distinct, inverse = np.unique(array, return_inverse=True)
        codes = np.array([self._code(float(c)) for c in distinct], dtype=np.int32)
        return codes[inverse].reshape(array.shape)

    def _code(self, constant: float) -> int:
        # A NaN equals nothing, so that each one gets a code of its own: harmless.
        code = self._code_of.get(constant)
        if code is None:
            code = -1 - len(self._constants)
            self._constants.append(constant)
            self._code_of[constant] = code
            self._table = None
        return code

    def constants_of(self, codes: Ints) -> Floats:
        """The constants behind negative codes."""
        if self._table is None:
            self._table = np.array(self._constants)
        constants: Floats = self._table[-1 - codes]
        return constants

    # -- the graph ------------------------------------------------------------------------------------

    def build(self, outputs: Ints) -> BuiltArrays:
        """Number and write the vertices that the values `outputs` need, and all inputs."""
        used = np.zeros(self.num_values, dtype=np.bool_)
        returned = np.zeros(self.num_values, dtype=np.bool_)
        returned[outputs] = True
        kept: list[NDArray[np.bool_] | None] = []
        for block in reversed(self.blocks):
            span = slice(block.first, block.first + block.count)
            mask = used[span] | returned[span]
            keep = None if isinstance(block, InputBlock) or mask.all() else mask
            kept.append(keep)
            block.mark(used, keep)
        kept.reverse()

        num_vertices = num_edges = 0
        vertex_of = np.full(self.num_values, -1, dtype=np.int64)
        starts: list[tuple[int, int]] = []
        has_constants = False
        for block, keep in zip(self.blocks, kept, strict=True):
            starts.append((num_vertices, num_edges))
            vertices, edges, offsets = block.sizes(keep)
            values = slice(block.first, block.first + block.count)
            if keep is None:
                vertex_of[values] = num_vertices + offsets
            else:
                vertex_of[block.first + np.flatnonzero(keep)] = num_vertices + offsets
            has_constants |= block.has_constants and vertices > 0
            num_vertices += vertices
            num_edges += edges

        index = np.dtype(np.int32 if max(num_vertices, num_edges) < 2**31 - 1 else np.int64)
        target = Target(
            indptr=np.empty(num_vertices + 1, dtype=index),
            indices=np.empty(num_edges, dtype=index),
            ops=np.empty(num_vertices, dtype=np.uint8),
            # Zeroed pages cost no memory until a constant is written to them.
            op_const=np.zeros(num_vertices) if has_constants else None,
            vertex_of=vertex_of.astype(index),
        )
        target.indptr[0] = 0
        for block, keep, (vertex, edge) in zip(self.blocks, kept, starts, strict=True):
            block.write(target, vertex, edge, keep)
        return BuiltArrays(target.indptr, target.indices, target.ops, target.op_const, vertex_of, used)
