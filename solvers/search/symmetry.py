"""Automorphisms of a problem: the renamings of vertices under which nothing changes."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from solvers.search.problem import Problem

__all__ = ["automorphisms", "byte_tables"]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def _scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> _SHIFT)) * _MIX
    return x ^ (x >> np.uint64(32))


class _Refiner:
    """Colour refinement with hashed colours: equal vertices of two colourings get equal hashes."""

    def __init__(self, problem: Problem) -> None:
        self.n = problem.n
        self.tail, self.head = problem.edges[:, 0], problem.edges[:, 1]
        kind = (problem.weights * 4 + problem.is_source * 2 + problem.is_output) * 65_537 + problem.rooms
        self.start = self.refine(_scramble(kind.astype(np.uint64) + np.uint64(1)))

    def refine(self, colour: NDArray[np.uint64]) -> NDArray[np.uint64]:
        classes = len(np.unique(colour))
        while True:
            into = np.zeros(self.n, dtype=np.uint64)
            out = np.zeros(self.n, dtype=np.uint64)
            np.add.at(into, self.head, _scramble(colour[self.tail]))
            np.add.at(out, self.tail, _scramble(colour[self.head] + np.uint64(77)))
            colour = _scramble(colour + np.uint64(3) * into + np.uint64(5) * out)
            now = len(np.unique(colour))
            if now == classes or now == self.n:
                return colour
            classes = now

    def pin(self, colour: NDArray[np.uint64], v: int, depth: int) -> NDArray[np.uint64]:
        pinned = colour.copy()
        pinned[v] = _scramble(np.array([1_000_003 + depth], dtype=np.uint64))[0]
        return self.refine(pinned)


def automorphisms(problem: Problem, *, most: int = 96, seconds: float = 1.0) -> list[list[int]]:
    """Renamings of the vertices that keep edges, weights, sources and outputs.

    For a base b1, b2, … of vertices (the highest ids first), one automorphism for each vertex to which bi
    can be moved while b1 … b(i-1) stay: together they generate the whole group (Sims 1970), unless `most`
    or `seconds` cuts the list short, which makes it less useful but no less true: every one is checked
    edge by edge.

    Parameters
    ----------
    problem : Problem
    most : int
        Longest list to return.
    seconds : float
        Time after which no further one is sought.

    Returns
    -------
    list of list of int
        Each maps vertex v to ``p[v]``; the identity is not among them.
    """
    if problem.n < 2:
        return []
    deadline = time.perf_counter() + seconds
    refiner = _Refiner(problem)
    edges = set(map(tuple, problem.edges.tolist()))
    found: list[list[int]] = []
    fixed = refiner.start
    depth = 0
    while len(np.unique(fixed)) < problem.n:
        values, sizes = np.unique(fixed, return_counts=True)
        crowded = np.isin(fixed, values[sizes > 1])
        base = int(np.flatnonzero(crowded)[-1])
        rest = refiner.pin(fixed, base, depth)
        for other in np.flatnonzero(fixed == fixed[base])[::-1].tolist():
            if other == base:
                continue
            if len(found) >= most or time.perf_counter() > deadline:
                return found
            image = refiner.pin(fixed, other, depth)
            mapping = _match(refiner, rest, image, depth + 1)
            if mapping is not None and _is_automorphism(problem, edges, mapping):
                found.append(mapping)
        fixed = rest
        depth += 1
    return found


def _match(
    refiner: _Refiner, left: NDArray[np.uint64], right: NDArray[np.uint64], depth: int
) -> list[int] | None:
    """A renaming that turns the colouring `left` into `right`, pinning one vertex after another."""
    while True:
        if not np.array_equal(np.sort(left), np.sort(right)):
            return None
        values, sizes = np.unique(left, return_counts=True)
        crowded = np.flatnonzero(np.isin(left, values[sizes > 1]))
        if not len(crowded):
            place = {int(c): v for v, c in enumerate(right)}
            return [place[int(c)] for c in left]
        v = int(crowded[-1])
        # The vertex itself first: renamings that move little are the ones worth having.
        choices = np.flatnonzero(right == left[v]).tolist()
        choices.sort(key=lambda u: u != v)
        left = refiner.pin(left, v, depth)
        for u in choices:
            tried = refiner.pin(right, u, depth)
            if np.array_equal(np.sort(left), np.sort(tried)):
                right = tried
                break
        else:
            return None
        depth += 1


def _is_automorphism(problem: Problem, edges: set[tuple[int, ...]], p: list[int]) -> bool:
    image = np.array(p)
    return (
        len(set(p)) == problem.n
        and bool((problem.weights[image] == problem.weights).all())
        and bool((problem.is_source[image] == problem.is_source).all())
        and bool((problem.is_output[image] == problem.is_output).all())
        and all((p[u], p[v]) in edges for u, v in edges)
    )


def byte_tables(problem: Problem, perms: list[list[int]]) -> NDArray[np.uint64]:
    """Tables that rename a set byte by byte, shape (len(perms), bytes, 256, words).

    Row ``[g, i, b]`` is the image under renaming g of the members that byte i of a set holds when its
    value is b.
    """
    octets = (problem.n + 7) // 8
    tables = np.zeros((len(perms), octets, 256, problem.words), dtype=np.uint64)
    for g, p in enumerate(perms):
        for v, image in enumerate(p):
            word, bit = divmod(image, 64)
            byte, place = divmod(v, 8)
            holds = (np.arange(256) >> place & 1).astype(bool)
            tables[g, byte, holds, word] |= np.uint64(1 << bit)
    return tables
