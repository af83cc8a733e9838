"""Sparsity patterns: where a matrix has entries, from a Matrix Market file or a matrix in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pebble.errors import GraphSpecError

__all__ = ["Matrix", "Pattern", "given_pattern", "pattern_of", "read_pattern"]

_LINE = re.compile(r"Line (\d+): (.*)\Z", re.DOTALL)


class _Sparse(Protocol):
    """A sparse matrix or array of SciPy."""

    def tocoo(self) -> Any: ...


Matrix: TypeAlias = str | os.PathLike[str] | _Sparse | NDArray[Any]
"""The name of a Matrix Market file; in Python also a sparse or dense matrix itself."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """The places of a matrix that hold an entry, each once, row by row.

    Attributes
    ----------
    shape : tuple of int
    rows, columns : ndarray of int64
    """

    shape: tuple[int, int]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


def read_pattern(path: str, what: str) -> Pattern:
    """The entries of a Matrix Market file, gzipped or not, stored zeros included.

    Parameters
    ----------
    path : str
    what : str
        What the file is for, such as ``"mask=A.mtx"``: errors begin with it.

    Returns
    -------
    Pattern
        Any field; coordinate or array; of a symmetric, skew-symmetric or Hermitian matrix both triangles. An
        entry that is given twice counts once.

    Raises
    ------
    GraphSpecError
        There is no such file, or it is damaged; the line is named where one is at fault.

    Notes
    -----
    O(z log z) for z entries. A file that is written anew is read anew.
    """
    stamp = os.stat(path) if os.path.exists(path) else None
    if stamp is None:
        raise GraphSpecError(f"{what}: there is no such file")
    return _read(path, what, (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=4)
def _read(path: str, what: str, version: tuple[int, ...]) -> Pattern:
    from scipy.io import mmread

    try:
        return pattern_of(mmread(path))
    except (ValueError, OverflowError, OSError, EOFError) as error:
        line = _LINE.match(str(error))
        where, problem = (f", line {line[1]}", line[2]) if line else ("", str(error))
        raise GraphSpecError(f"{what} is no Matrix Market file{where}: {problem}") from error
    except MemoryError as error:
        raise GraphSpecError(f"{what} declares more entries than fit in memory") from error


def pattern_of(matrix: _Sparse | NDArray[Any]) -> Pattern:
    """The stored entries of a sparse matrix, or the entries of a dense one that are not zero.

    Examples
    --------
    >>> pattern_of(np.eye(2, 3)).columns.tolist()
    [0, 1]
    """
    if hasattr(matrix, "tocoo"):
        sparse = matrix.tocoo()
        shape = tuple(int(extent) for extent in sparse.shape)
        rows, columns = (np.asarray(ids, dtype=np.int64) for ids in (sparse.row, sparse.col))
    else:
        dense = np.asarray(matrix)
        shape = dense.shape
        if len(shape) == 2:
            rows, columns = np.nonzero(dense)
    if len(shape) != 2:
        raise GraphSpecError(f"an array of {len(shape)} axes is no matrix")
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    return Pattern((shape[0], shape[1]), rows[first], columns[first])


def given_pattern(family: str, params: Mapping[str, Any]) -> Pattern | None:
    """The pattern of the matrix of a sparse family, or None if it is to be drawn at random.

    Parameters
    ----------
    family : str
    params : mapping
        The builder's arguments: either `file`, or the size `n` and the probability `p` (and a `seed`).

    Raises
    ------
    GraphSpecError
        Both or neither are given; the file cannot be read; the matrix holds nothing, or must be square and is
        not.
    """
    file = params.get("file")
    if file is None:
        missing = [name for name in ("n", "p") if params.get(name) is None]
        if missing:
            raise GraphSpecError(
                f"{family} lacks {', '.join(missing)}: give n and p for a random matrix, or file=FILE.mtx"
            )
        return None
    if isinstance(file, (str, os.PathLike)):
        path = os.fspath(file)
        what = f"{family}: file={path}"
        pattern = read_pattern(path, what)
    else:
        what = f"{family}: the matrix"
        pattern = pattern_of(file)
    more = [name for name in ("n", "p", "seed") if params.get(name) not in (None, 0)]
    if more:
        raise GraphSpecError(f"{what} is the whole matrix, leave out {', '.join(more)}")
    height, width = pattern.shape
    if not len(pattern.rows):
        raise GraphSpecError(f"{what} has no entries, and a product with it is no computation")
    if family != "spmv" and height != width:
        raise GraphSpecError(f"{what} is a matrix of {height} x {width}, {family} needs a square one")
    return pattern
