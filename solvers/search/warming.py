"""Compiling the searches before a clock starts: on a cold cache that takes longer than many a limit."""

from __future__ import annotations

import time
from functools import cache

from pebble.cdag import CDAG
from pebble.instance import Instance
from solvers.search.budget import Budget
from solvers.search.hong_kung import HongKungSearch
from solvers.search.one_shot import OneShotSearch
from solvers.search.problem import Problem

__all__ = ["compile_kernels"]

# Vertices that make a set of one, two and four machine words.
_VERTICES = {1: 8, 2: 70, 4: 130}


def compile_kernels(instance: Instance) -> float:
    """Have the kernels ready that a search of this plain instance calls; the seconds that this took.

    Under half a minute for each number of machine words if nothing is in numba's cache, about a second if
    all is, nothing in a process that has done it before. Where recomputation is allowed the one-shot search
    is needed as well. The bound by segments, a few seconds, is left to the search: it takes a library with it
    that memory may be too short for.

    Examples
    --------
    >>> instance = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), 3)
    >>> compile_kernels(instance) >= 0 and compile_kernels(instance) < 1
    True
    """
    started = time.perf_counter()
    words = Problem.of(instance).words
    _compile(words, False)
    if instance.rules.recomputation:
        _compile(words, True)
    return time.perf_counter() - started


@cache
def _compile(words: int, recomputation: bool) -> None:
    """Search a path that begins with two sources, which can be exchanged, with every kernel of the passes."""
    n = _VERTICES[words]
    path = [(v, v + 1) for v in range(2, n - 1)]
    cdag = CDAG.from_edges(n, [(0, 2), (1, 2), *path])
    rules = "hong-kung" if recomputation else "one-shot"
    problem = Problem.of(Instance(cdag, 3, rules))
    search = HongKungSearch(problem) if recomputation else OneShotSearch(problem)
    search.run(problem.compulsory, Budget(None))
