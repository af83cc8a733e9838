"""Renaming sets by an automorphism, and descending to a small representative. Imports numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from solvers.search.mask_kernels import either, empty_like, fetch, less, put, same
from solvers.search.records import Scratch

__all__ = ["MAX_STEPS", "descend", "descend_pair", "new_scratch", "rename"]

# Longest sequence of renamings in one descent; stopping early gives a larger, but valid, representative.
MAX_STEPS = 64


@numba.njit(cache=True, nogil=True)
def new_scratch(game: Any) -> Any:
    """Room for what one expansion works out anew; O(n²) words."""
    n = len(game.weights)
    return Scratch(
        np.zeros((1, game.preds.shape[1]), np.uint64),
        np.zeros(MAX_STEPS, np.int64),
        np.zeros((n, n), np.int64),
        np.zeros(n, np.int64),
        np.zeros(2 * n, np.int64),
        np.zeros(2 * n, np.int64),
    )


@numba.njit(cache=True, nogil=True)
def rename(tables: Any, g: int, scratch: Any, a: Any) -> Any:
    """The image of the set `a` under renaming `g`; `scratch` has one row of machine words."""
    image = empty_like(a)
    put(scratch, 0, 0, a)
    for k in range(tables.shape[1]):
        byte = (scratch[0, k >> 3] >> np.uint64(8 * (k & 7))) & np.uint64(255)
        if byte != np.uint64(0):
            image = either(image, fetch(tables[g, k], np.int64(byte), 0, a))
    return image


@numba.njit(cache=True, nogil=True)
def descend(tables: Any, scratch: Any, a: Any, steps: Any, fixers: Any) -> Any:
    """Rename `a` while a renaming makes it smaller.

    Returns the representative, the number of renamings applied (their indices are in `steps`), and the
    number of renamings that leave the representative as it is (in `fixers`).
    """
    length = 0
    moved = True
    while moved and length < MAX_STEPS:
        moved = False
        for g in range(tables.shape[0]):
            image = rename(tables, g, scratch, a)
            if less(image, a) and length < MAX_STEPS:
                a = image
                steps[length] = g
                length += 1
                moved = True
    fixed = 0
    for g in range(tables.shape[0]):
        if same(rename(tables, g, scratch, a), a):
            fixers[fixed] = g
            fixed += 1
    return a, length, fixed


@numba.njit(cache=True, nogil=True)
def descend_pair(tables: Any, scratch: Any, a: Any, b: Any, fixers: Any, fixed: int, steps: Any) -> Any:
    """Rename the pair (a, b) by the given renamings while it gets smaller, `a` first.

    Returns the pair and the number of renamings applied (their indices are in `steps`).
    """
    length = 0
    moved = True
    while moved and length < MAX_STEPS:
        moved = False
        for i in range(fixed):
            g = fixers[i]
            image = rename(tables, g, scratch, a)
            if less(a, image) or length >= MAX_STEPS:
                continue
            second = rename(tables, g, scratch, b)
            if less(image, a) or less(second, b):
                a = image
                b = second
                steps[length] = g
                length += 1
                moved = True
    return a, b, length
