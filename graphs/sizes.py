"""Closed forms for the number of vertices and edges of each family, before any graph is built.

They let `graphs.build` refuse a graph that cannot fit, and say how large it would be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphs.einsums import einsum_steps
from graphs.heads import key_heads
from graphs.heads import keys as key_count
from graphs.masks import attention_mask
from graphs.sparsity import given_pattern
from pebble.errors import GraphSpecError

__all__ = ["num_vertices", "refuse_absurd"]

# What a build holds at its peak: the arrays of the CDAG, 14 bytes per vertex with its operands, and the
# temporaries of one phase.
_BYTES_PER_VERTEX = 20
_MOST_IN_USE = 0.9
# What a trace holds for each pair of a query and a key while it leaves out those that a mask hides.
_BYTES_PER_MASKED_PAIR = 80
# Where Linux keeps a container's limit (control groups, versions 2 and 1).
_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_Params = Mapping[str, Any]  # whole numbers, but for the choices and a probability


def _whole(p: _Params, *names: str) -> list[int]:
    return [int(p[name]) for name in names]


def _lu(p: _Params) -> int:
    (n,) = _whole(p, "n")
    # Column k divides below the pivot and updates what is right of it, a product and a difference each.
    return n * n + n * (n - 1) // 2 + (n - 1) * n * (2 * n - 1) // 3


def _cholesky(p: _Params) -> int:
    return _lu(p) // 2 + int(p["n"]) ** 2


def _sum_of_products(p: _Params, k: int) -> int:
    """Vertices of one sum of `k` products."""
    if p.get("sums") == "flat":
        return k + 1 if k > 1 else 1
    return k if p.get("fma") else 2 * k - 1


def _sum(p: _Params, k: int) -> int:
    """Vertices of one sum of `k` vertices."""
    return min(k - 1, 1) if p.get("sums") == "flat" else k - 1


def _terms(p: _Params, tallied: tuple[NDArray[np.int64], NDArray[np.int64]], times: int) -> int:
    """Vertices of sums of products: of each number of terms so many, and all of it `times` times."""
    numbers, counts = tallied
    if p.get("sums") == "flat":
        each = np.where(numbers > 1, numbers + 1, 1)
    else:
        each = numbers if p.get("fma") else 2 * numbers - 1
    return times * int(each @ counts)


def _attention(p: _Params) -> tuple[int, int, int, int, int, int]:
    """Of an attention family: rows (queries of all heads), keys of all heads, pairs, and the vertices of one
    column of sums over keys, and over queries; and the head dimension."""
    n, d, n_k, heads = int(p["n"]), int(p["d"]), key_count(p), int(p.get("heads", 1))
    groups = key_heads("attention", p)
    mask = attention_mask(p.get("mask", "full"), n, n_k)
    (seen, rows), (seeing, columns) = mask.tallies
    over_keys = _terms(p, (seen, rows), heads)
    over_queries = _terms(p, (seeing * (heads // groups), columns), groups)
    return heads * n, groups * n_k, heads * mask.pairs, over_keys, over_queries, d


def _attention_backward(p: _Params) -> int:
    rows, columns, pairs, over_keys, over_queries, d = _attention(p)
    over_d = _sum_of_products(p, d)
    inputs = 2 * rows * d + 2 * columns * d + 2 * rows
    given = rows * (2 * d - 1 + _sum(p, d)) if p.get("given") == "O" else 0
    scale = pairs + (rows + columns) * d if p.get("scale") else 0
    return inputs + given + 2 * pairs * over_d + 4 * pairs + d * (over_keys + 2 * over_queries) + scale


def _attention_gradient(p: _Params) -> int:
    n, d = _whole(p, "n", "d")
    over_d, over_n = _sum_of_products(p, d), _sum_of_products(p, n)
    sums = n * d * (2 * over_d + 2 * over_n) + 2 * n * n * over_d + d * d * over_n  # T, h, N, G; S, q; g
    both = sums if p.get("outputs") == "dX+dY" else 0
    return 4 * n * d + 2 * d * d + sums + 4 * n * n + n * (n - 1) + 2 * n * d + n * over_d + both


def _attention_forward(p: _Params) -> int:
    rows, columns, pairs, over_keys, _, d = _attention(p)
    scores = pairs * (_sum_of_products(p, d) + 1)
    mask = attention_mask(p.get("mask", "full"), int(p["n"]), key_count(p))
    seen, times = mask.tallies[0]
    several = int(p.get("heads", 1)) * int(times[seen > 1].sum())
    row_sums = several if p.get("sums") == "flat" else pairs - rows
    return 2 * rows * d + 2 * columns * d + scores + row_sums + d * over_keys


def _a1xa2t(p: _Params) -> int:
    n, d = _whole(p, "n", "d")
    return 2 * n * d + d * d + (n * d + n * n) * _sum_of_products(p, d)


def _matmul(p: _Params) -> int:
    m, k, n = _whole(p, "m", "k", "n")
    return m * k + k * n + m * n * _sum_of_products(p, k)


def _matvec(p: _Params) -> int:
    m, n = _whole(p, "m", "n")
    return m * n + n + m * _sum_of_products(p, n)


def _einsum(p: _Params) -> int:
    def entries(axes: str) -> int:
        return prod(int(p[c]) for c in axes)

    subscripts = str(p["subscripts"])
    vertices = sum(entries(axes) for axes in subscripts.partition("->")[0].split(","))
    for step in einsum_steps(subscripts):
        k = entries("".join(set(step.left_axes + step.right_axes) - set(step.out_axes)))
        vertices += entries(step.out_axes) * _sum_of_products(p, k)
    return vertices


def _sparse(family: str, p: _Params) -> int:
    """A sparse matrix, the products with it, and the vectors."""
    pattern = given_pattern(family, p)
    if pattern is None:
        n = width = int(p["n"])
        nonzeros = n + int(p["p"] * n * (n - 1))
    else:
        (n, width), nonzeros = pattern.shape, len(pattern.rows)
    k = int(p.get("k") or 1)
    products = nonzeros + k * (2 * nonzeros if p.get("sums") == "chain" else nonzeros + n)
    vectors = {"knn": 1, "cg": n * (3 + 9 * k)}
    return products + vectors.get(family, width)


_VERTICES: dict[str, Callable[[_Params], int]] = {
    "attention-backward": _attention_backward,
    "attention-gradient": _attention_gradient,
    "attention-forward": _attention_forward,
    "a1xa2t": _a1xa2t,
    "matmul": _matmul,
    "matvec": _matvec,
    "dot": lambda p: 2 * p["n"] + _sum_of_products(p, p["n"]),
    "einsum": _einsum,
    "lu": _lu,
    "cholesky": _cholesky,
    "fft": lambda p: p["n"] * p["n"].bit_length(),
    "grid": lambda p: p["rows"] * p["cols"],
    "stencil1d": lambda p: p["n"] * (p["t"] + 1),
    "stencil2d": lambda p: p["rows"] * p["cols"] * (p["t"] + 1),
    "chain": lambda p: p["n"],
    "tree": lambda p: p["leaves"] + -(-(p["leaves"] - 1) // max(1, p["arity"] - 1)),
    "pyramid": lambda p: (p["h"] + 1) * (p["h"] + 2) // 2,
    "reduce": lambda p: 2 * p["n"] - 1,
    **{family: partial(_sparse, family) for family in ("spmv", "spmv-power", "knn", "cg")},
    "random": lambda p: p["n"] + int(p["p"] * p["n"] * (p["n"] - 1) / 2),
    "random-layered": lambda p: p["w"] * p["d"] * max(1, min(p["k"], p["w"])),
}


def num_vertices(family: str, params: _Params) -> int | None:
    """About how many vertices a graph has, exact for most families; None for a family not known here.

    Random graphs count their edges as well, since those are what takes the memory.
    """
    formula = _VERTICES.get(family)
    return None if formula is None else max(1, formula(params))


def refuse_absurd(text: str, family: str, params: _Params) -> None:
    """GraphSpecError, with the size, if the graph would not fit in this machine's memory."""
    vertices = num_vertices(family, params)
    if vertices is None:
        return
    need, have = vertices * _BYTES_PER_VERTEX, _memory()
    if params.get("mask", "full") != "full":
        need += int(params["heads"]) * int(params["n"]) * key_count(params) * _BYTES_PER_MASKED_PAIR
    if need > _MOST_IN_USE * have:
        raise GraphSpecError(
            f"{text} has about {vertices:.3g} vertices and needs about {need / 1e9:,.0f} GB, this "
            f"machine has {have / 1e9:,.0f} GB: take smaller sizes (count builds no graph)"
        )


def _memory() -> float:
    """Bytes of memory that this process may have: the machine's, or less if a limit is set."""
    if not hasattr(os, "sysconf"):  # Windows does not say without further libraries
        return float("inf")
    have = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in _LIMIT_FILES:
        if os.access(file, os.R_OK):
            with open(file) as stream:
                limit = stream.read().strip()
            if limit.isdigit():
                have = min(have, float(limit))
    return have
