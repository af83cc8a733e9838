"""Sets of vertices as machine words, for the compiled searches.

A set over at most 64 vertices is one ``uint64``; a larger one is a tuple of them. Every function is
overloaded on that type, so one kernel source compiles to plain register code in the first case and to
unrolled word-by-word code in the second. Arrays of sets have shape ``(length, words)``. The functions exist
in compiled code only: their Python bodies are their documentation.
"""

# ruff: noqa: RUF005 - numba joins tuples with +, it does not unpack into them
from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic, overload

__all__ = [
    "both",
    "count",
    "either",
    "empty_like",
    "fetch",
    "has",
    "hash_of",
    "is_empty",
    "less",
    "lowest",
    "minus",
    "put",
    "same",
    "single",
    "without_lowest",
]


def empty_like(a: Any) -> Any:
    """The empty set, of the type of `a`."""


def single(v: Any, a: Any) -> Any:
    """The set {v}, of the type of `a`."""


def both(a: Any, b: Any) -> Any:
    """The intersection of `a` and `b`."""


def either(a: Any, b: Any) -> Any:
    """The union of `a` and `b`."""


def minus(a: Any, b: Any) -> Any:
    """The members of `a` that are not in `b`."""


def is_empty(a: Any) -> Any:
    """Whether `a` has no member."""


def same(a: Any, b: Any) -> Any:
    """Whether `a` and `b` are equal."""


def less(a: Any, b: Any) -> Any:
    """Whether `a` comes before `b` in the order that compares the last words first."""


def count(a: Any) -> Any:
    """The number of members of `a`, an int64."""


def lowest(a: Any) -> Any:
    """The lowest member of a set that is not empty, an int64."""


def without_lowest(a: Any) -> Any:
    """`a` without its lowest member."""


def has(a: Any, v: Any) -> Any:
    """Whether the vertex `v` is in `a`."""


def hash_of(a: Any, seed: Any) -> Any:
    """A 64-bit hash of `a`, chained from `seed`."""


def fetch(array: Any, i: Any, k: Any, a: Any) -> Any:
    """The set in row `i` of `array` from word `k` on, of the type of `a`."""


def put(array: Any, i: Any, k: Any, a: Any) -> Any:
    """Write `a` into row `i` of `array` from word `k` on."""


@intrinsic
def _popcount(typingctx: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


def _is_set(kind: Any) -> bool:
    return isinstance(kind, types.Integer | types.UniTuple)


@overload(empty_like, strict=False)
def _empty_like(a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a: np.uint64(0)
    if a.count == 1:
        return lambda a: (np.uint64(0),)
    return lambda a: (np.uint64(0),) + empty_like(a[1:])


@overload(single, strict=False)
def _single(v: Any, a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda v, a: np.uint64(1) << np.uint64(v)

    if a.count == 1:
        return lambda v, a: (np.uint64(1) << np.uint64(v) if 0 <= v < 64 else np.uint64(0),)
    return lambda v, a: (
        (np.uint64(1) << np.uint64(v) if 0 <= v < 64 else np.uint64(0),) + single(v - 64, a[1:])
    )


@overload(both, strict=False)
def _both(a: Any, b: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a, b: a & b
    if a.count == 1:
        return lambda a, b: (a[0] & b[0],)
    return lambda a, b: (a[0] & b[0],) + both(a[1:], b[1:])


@overload(either, strict=False)
def _either(a: Any, b: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a, b: a | b
    if a.count == 1:
        return lambda a, b: (a[0] | b[0],)
    return lambda a, b: (a[0] | b[0],) + either(a[1:], b[1:])


@overload(minus, strict=False)
def _minus(a: Any, b: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a, b: a & ~b
    if a.count == 1:
        return lambda a, b: (a[0] & ~b[0],)
    return lambda a, b: (a[0] & ~b[0],) + minus(a[1:], b[1:])


@overload(is_empty, strict=False)
def _is_empty(a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a: a == np.uint64(0)
    if a.count == 1:
        return lambda a: a[0] == np.uint64(0)
    return lambda a: a[0] == np.uint64(0) and is_empty(a[1:])


@overload(same, strict=False)
def _same(a: Any, b: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a, b: a == b
    if a.count == 1:
        return lambda a, b: a[0] == b[0]
    return lambda a, b: a[0] == b[0] and same(a[1:], b[1:])


@overload(less, strict=False)
def _less(a: Any, b: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a, b: a < b
    if a.count == 1:
        return lambda a, b: a[0] < b[0]
    return lambda a, b: less(a[1:], b[1:]) or (same(a[1:], b[1:]) and a[0] < b[0])


@overload(count, strict=False)
def _count(a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a: np.int64(_popcount(a))
    if a.count == 1:
        return lambda a: np.int64(_popcount(a[0]))
    return lambda a: np.int64(_popcount(a[0])) + count(a[1:])


@overload(lowest, strict=False)
def _lowest(a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a: np.int64(trailing_zeros(a))
    if a.count == 1:
        return lambda a: np.int64(trailing_zeros(a[0]))
    return lambda a: np.int64(trailing_zeros(a[0])) if a[0] != np.uint64(0) else np.int64(64) + lowest(a[1:])


@overload(without_lowest, strict=False)
def _without_lowest(a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a: a & (a - np.uint64(1))
    if a.count == 1:
        return lambda a: (a[0] & (a[0] - np.uint64(1)),)
    return lambda a: (
        (a[0] & (a[0] - np.uint64(1)),) + a[1:] if a[0] != np.uint64(0) else (a[0],) + without_lowest(a[1:])
    )


@overload(has, strict=False)
def _has(a: Any, v: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda a, v: (a >> np.uint64(v)) & np.uint64(1) != np.uint64(0)
    return lambda a, v: (a[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != np.uint64(0)


@overload(hash_of, strict=False)
def _hash_of(a: Any, seed: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):

        def mix(a: Any, seed: Any) -> Any:
            # The finaliser of a splitmix generator: every input bit reaches every output bit.
            x = (a ^ seed) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return x ^ (x >> np.uint64(31))

        return mix
    if a.count == 1:
        return lambda a, seed: hash_of(a[0], seed)
    return lambda a, seed: hash_of(a[1:], hash_of(a[0], seed))


@overload(fetch, strict=False)
def _fetch(array: Any, i: Any, k: Any, a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):
        return lambda array, i, k, a: array[i, k]
    if a.count == 1:
        return lambda array, i, k, a: (array[i, k],)
    return lambda array, i, k, a: (array[i, k],) + fetch(array, i, k + 1, a[1:])


@overload(put, strict=False)
def _put(array: Any, i: Any, k: Any, a: Any) -> Any:
    if not _is_set(a):
        return None
    if isinstance(a, types.Integer):

        def write(array: Any, i: Any, k: Any, a: Any) -> None:
            array[i, k] = a

        return write
    if a.count == 1:

        def write_last(array: Any, i: Any, k: Any, a: Any) -> None:
            array[i, k] = a[0]

        return write_last

    def write_more(array: Any, i: Any, k: Any, a: Any) -> None:
        array[i, k] = a[0]
        put(array, i, k + 1, a[1:])

    return write_more
