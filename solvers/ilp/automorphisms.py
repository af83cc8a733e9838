"""Orbits along a stabiliser chain of a CDAG's automorphism group.

The positions of the vertices' first computes are all different. For all-different variables the symmetries
of a problem are broken completely by few binary constraints (Puget 2005, "Breaking symmetries in all
different problems"): take a vertex, let it come first of its orbit, go on with the automorphisms that fix it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from pebble.cdag import CDAG

__all__ = ["stabiliser_orbits"]

_Colours = list[int]


class _Graph:
    def __init__(self, cdag: CDAG) -> None:
        self.n = cdag.num_vertices
        self.preds = [cdag.preds(v).tolist() for v in range(self.n)]
        self.succs = [cdag.succs(v).tolist() for v in range(self.n)]

    def signatures(self, colours: _Colours) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
        """Each vertex's colour with those around it."""
        return [
            (
                colours[v],
                tuple(sorted([colours[u] for u in self.preds[v]])),
                tuple(sorted([colours[u] for u in self.succs[v]])),
            )
            for v in range(self.n)
        ]

    def refine(self, first: _Colours, second: _Colours) -> tuple[_Colours, _Colours] | None:
        """Both colourings refined alike until stable, None once they differ in how often a colour occurs."""
        while True:
            a, b = self.signatures(first), self.signatures(second)
            if Counter(a) != Counter(b):
                return None
            number = {signature: i for i, signature in enumerate(sorted(set(a)))}
            before = len(set(first))
            first, second = [number[s] for s in a], [number[s] for s in b]
            if len(number) == before:
                return first, second

    def carries(self, first: _Colours, second: _Colours, budget: list[int]) -> bool:
        """Whether some automorphism carries the first colouring to the second."""
        stack = [(first, second)]
        while stack:
            if budget[0] <= 0:
                return False
            budget[0] -= 1
            refined = self.refine(*stack.pop())
            if refined is None:
                continue
            first, second = refined
            classes = defaultdict(list)
            for v, colour in enumerate(first):
                classes[colour].append(v)
            if len(classes) == self.n:
                return self._preserves_edges(first, second)
            colour = min((len(c), k) for k, c in classes.items() if len(c) > 1)[1]
            chosen = classes[colour][0]
            stack += [
                (_with(first, chosen, self.n), _with(second, u, self.n))
                for u in range(self.n)
                if second[u] == colour
            ]
        return False

    def _preserves_edges(self, first: _Colours, second: _Colours) -> bool:
        image = {colour: v for v, colour in enumerate(second)}
        to = [image[colour] for colour in first]
        return all(sorted(to[u] for u in self.preds[v]) == sorted(self.preds[to[v]]) for v in range(self.n))


def _with(colours: _Colours, v: int, colour: int) -> _Colours:
    copy = colours.copy()
    copy[v] = colour
    return copy


def stabiliser_orbits(
    cdag: CDAG,
    effort: int = 2_000,
    *,
    kinds: Sequence[Any] | None = None,
    ordered: Sequence[bool] | None = None,
) -> list[tuple[int, list[int]]]:
    """A vertex and the others of its orbit, for each step of a stabiliser chain.

    Parameters
    ----------
    cdag : CDAG
    effort : int
        Colourings refined at most; past it fewer symmetries are reported, never false ones.
    kinds : sequence, optional
        What else automorphisms must preserve: one comparable value per vertex.
    ordered : sequence of bool, optional
        Which vertices may be named; all that are no sources by default. Automorphisms must preserve it.

    Returns
    -------
    list of (int, list of int)
        Vertices of `ordered`. The orbits are those of the automorphisms (of edges, weights and outputs) that
        fix every vertex named before.

    Notes
    -----
    Individualisation and colour refinement, O((|V| + |E|) log |E|) per refinement.

    Examples
    --------
    >>> stabiliser_orbits(CDAG.from_edges(4, [(0, 1), (0, 2), (0, 3)]))
    [(1, [2, 3]), (2, [3])]
    """
    graph = _Graph(cdag)
    n = cdag.num_vertices
    output = cdag.is_output.tolist()
    named = [bool(preds) for preds in graph.preds] if ordered is None else ordered
    own = [(cdag.weight(v), output[v], () if kinds is None else kinds[v]) for v in range(n)]
    number = {colour: i for i, colour in enumerate(sorted(set(own)))}
    start = [number[colour] for colour in own]
    refined = graph.refine(start, start)
    assert refined is not None
    colours = refined[0]
    budget = [effort]
    chain: list[tuple[int, list[int]]] = []
    while budget[0] > 0:
        classes = defaultdict(list)
        for v, colour in enumerate(colours):
            if named[v]:
                classes[colour].append(v)
        open_classes = [c for c in classes.values() if len(c) > 1]
        if not open_classes:
            break
        largest = max(open_classes, key=len)
        chosen = largest[0]
        orbit = [
            u for u in largest[1:] if graph.carries(_with(colours, chosen, n), _with(colours, u, n), budget)
        ]
        if orbit:
            chain.append((chosen, orbit))
        individual = _with(colours, chosen, n)
        refined = graph.refine(individual, individual)
        assert refined is not None
        colours = refined[0]
    return chain
