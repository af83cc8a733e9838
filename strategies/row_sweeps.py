"""Passes with blocks of queries resident while keys and values go by, one at a time.

They serve the forward pass, and the gradient of attention in X, whose first half is a forward pass. What a
pass computes again, and what stays with its rows, follows from what it reads and writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strategies.algorithm6 import gives_target
from strategies.tiles.language import Block, Machine, Shape, Tile, Words
from strategies.tiles.tuning import Step

__all__ = ["ForwardSweep", "GradientSweep"]


@dataclass(frozen=True)
class _RowSweep:
    """A pass with the rows of a block of queries resident.

    Attributes
    ----------
    reads, writes : tuple of str
        Arrays that it reads instead of computing them again, and what it writes.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def name(self) -> str:
        """``reads.writes@rows``, as in ``u.O@rows``."""
        reads = "+".join(self.reads) + "." if self.reads else ""
        return f"{reads}{'+'.join(self.writes)}@rows"

    def step(self, when: Callable[[Shape], bool] | None = None) -> Step:
        """The pass as a step; its I/O depends on the size of the blocks of rows alone."""
        return Step(self, {"outside": "n"}, when=when)

    def __call__(self, m: Machine, shape: Shape, outside: Words) -> None:
        raise NotImplementedError

    def _softmax(
        self, m: Machine, shape: Shape, i: Block, rows: Tile | None, keys: str, values: str | None, c: Block
    ) -> tuple[Tile, Tile | None]:
        """The row sums l of u and, where values are named, N = u · values; u is read if there are no rows."""
        l = m.load("l", i) if rows is None else m.accumulator("l", i)
        N = None if values is None else m.accumulator("N", i, c)
        for j in m.loop(shape.n, 1):
            if rows is None:
                u = m.stream("u", i, j)
            else:
                u = m.map("u", m.product("S", rows, m.stream(keys, j, c)))
            if "u" in self.writes:
                m.store(u)
            if N is not None and values is not None:
                m.multiply(N, u, m.stream(values, j, c))
            if rows is not None:
                m.rowsum(l, u)
        return l, N


class ForwardSweep(_RowSweep):
    """A pass of the forward pass: Q, K, or u, and V where the outputs O are written."""

    def __call__(self, m: Machine, shape: Shape, outside: Words) -> None:
        c = m.whole(shape.d)
        for i in m.loop(shape.n, outside):
            Q = None if "u" in self.reads else m.load("Q", i, c)
            l, N = self._softmax(m, shape, i, Q, "K", "V" if "O" in self.writes else None, c)
            if Q is not None:
                m.free(Q)
            if N is None:
                m.store(l)
            else:
                O = m.map("O", N, l)
                m.store(O)
                m.free(O)
            m.free(l)


class GradientSweep(_RowSweep):
    """A pass of the gradient in X, of its first half, its second, or both.

    The first half are the scores, their row sums l and, where the target is given, the residuals c with their
    dots v. The second half are the gradient p of the scores, G = p A2 and g = A1ᵀ G. A pass that reads c has
    no first half; one that writes neither p, G nor g has no second. Without T or u to read, T is computed
    again. Where dO and O are given, dO takes the place of c.
    """

    def __call__(self, m: Machine, shape: Shape, outside: Words) -> None:
        a, c = m.whole(shape.d), m.whole(shape.d)
        for i in m.loop(shape.n, outside):
            T = None
            if "T" in self.reads:
                T = m.load("T", i, c)
            elif "u" not in self.reads:
                T = m.product("T", m.stream("A1", i, a), m.stream("X", a, c))
            if not {"p", "G", "g"} & {*self.writes}:
                self._first_half(m, shape, i, c, T)
                continue
            if "c" in self.reads:
                C = m.load("c" if gives_target(shape) else "dO", i, c)
                l, v = m.load("l", i), m.load("v", i)
            else:
                l, C, v = self._kept_half(m, shape, i, c, T)
            self._second_half(m, shape, i, c, T, l, C, v)

    def _first_half(self, m: Machine, shape: Shape, i: Block, c: Block, T: Tile | None) -> None:
        """Write what the first half comes to."""
        l, N = self._softmax(m, shape, i, T, "A2", "h" if "c" in self.writes else None, c)
        if T is not None:
            m.free(T)
        if "l" in self.writes:
            m.store(l)
        if N is None:
            m.free(l)
            return
        O, v = m.map("O", N, l), m.accumulator("v", i)
        m.free(l)
        for b in m.loop(shape.d, 1):
            residual = m.map("c", O.part(i, b), m.stream("E", i, b), keep=True)
            m.store(residual)
            m.rowsum(v, m.map("cO", residual, O.part(i, b)))
        m.store(v)
        m.free(O, v)

    def _kept_half(
        self, m: Machine, shape: Shape, i: Block, c: Block, T: Tile | None
    ) -> tuple[Tile, Tile, Tile]:
        """l, c (or dO) and v, which stay for the second half."""
        l, N = self._softmax(m, shape, i, T, "A2", "h" if gives_target(shape) else None, c)
        v = m.accumulator("v", i)
        if N is None:
            C = m.load("dO", i, c)
            m.rowsum(v, m.map("cO", m.stream("O", i, c), C))
        else:
            O = m.map("O", N, l)
            C = m.map("c", O, m.stream("E", i, c), keep=True)
            m.rowsum(v, m.map("cO", O, C))
        return l, C, v

    def _second_half(
        self, m: Machine, shape: Shape, i: Block, c: Block, T: Tile | None, l: Tile, C: Tile, v: Tile
    ) -> None:
        """Write p, G or g, and give up all that the pass has kept."""
        G = None if "p" in self.writes else m.accumulator("G", i, c)
        for j in m.loop(shape.n, 1):
            A2 = (m.stream if T is None or G is None else m.load)("A2", j, c)
            u = m.stream("u", i, j) if T is None else m.map("u", m.product("S", T, A2))
            f = m.map("f", u, l)
            p = m.map("p", m.map("r", m.product("q", C, m.stream("h", j, c)), v), f)
            m.free(f)
            if G is None:
                m.store(p)
            else:
                m.multiply(G, p, A2)
            m.free(p, A2)
        m.free(*([] if T is None else [T]), C, l, v)
        if G is None:
            return
        if "G" in self.writes:
            m.store(G)
        else:
            for b in m.loop(shape.d, 1):
                g = m.accumulator("g", b, c) if i.first else m.load("g", b, c, before=i)
                m.multiply(g, m.stream("A1", i, b), G)
                m.store(g)
                m.free(g)
        m.free(G)
