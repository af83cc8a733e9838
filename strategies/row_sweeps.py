"""Passes with blocks of queries resident while keys and values go by, one at a time.

They serve the forward pass, and the gradient of attention in X, whose first half is a forward pass. What a
pass computes again, and what stays with its rows, follows from what it reads and writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from strategies.algorithm6 import gives_target
from strategies.tiles.language import Block, Machine, Shape, Tile, Words
from strategies.tiles.tuning import Step

__all__ = ["ForwardSweep", "GradientSweep"]


class _Keys:
    """The matrices with one row per key, going by row by row; the first `kept` rows stay.

    Parameters
    ----------
    m : Machine
    shape : Shape
    kept : int or ndarray
    columns : Block
    names : sequence of str
        The matrices that the pass uses.
    """

    def __init__(self, m: Machine, shape: Shape, kept: Words, columns: Block, names: tuple[str, ...]) -> None:
        self._m, self._n, self._kept, self._columns = m, shape.n, kept, columns
        head = m.head(shape.n, kept)
        self._stay = {name: m.load(name, head, columns) for name in names}
        self._here = False

    def __iter__(self) -> Iterator[Block]:
        """Each key, as a block of one."""
        self._here = True
        yield from self._m.loop(self._n, 1, end=self._kept)
        self._here = False
        yield from self._m.loop(self._n, 1, begin=self._kept)

    def row(self, name: str, j: Block, uses: int = 1) -> Tile:
        """A matrix' row for the present key; to be freed if it is used more than once."""
        if self._here:
            return self._stay[name].part(j, self._columns)
        return (self._m.load if uses > 1 else self._m.stream)(name, j, self._columns)

    def free(self) -> None:
        """Give up the rows that stayed."""
        self._m.free(*self._stay.values())


@dataclass(frozen=True)
class _RowSweep(ABC):
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
        """The pass as a step, of the blocks of rows and the number of keys whose rows stay too."""
        return Step(self, {"outside": "n", "kept": "n"}, when=when, kept="kept")

    @abstractmethod
    def __call__(self, m: Machine, shape: Shape, outside: Words, kept: Words) -> None:
        """Play the pass on machine `m`, with blocks of `outside` rows and `kept` keys that stay."""

    def _softmax(
        self, m: Machine, keys: _Keys, i: Block, c: Block, rows: Tile | None, right: str, values: str
    ) -> tuple[Tile, Tile | None]:
        """The row sums l of u = exp(rows · rightᵀ) and, where values are named, N = u · values.

        Without rows, u and l are read.
        """
        l = m.load("l", i) if rows is None else m.accumulator("l", i)
        N = m.accumulator("N", i, c) if values else None
        for j in keys:
            u = m.stream("u", i, j) if rows is None else m.map("u", m.product("S", rows, keys.row(right, j)))
            if "u" in self.writes:
                m.store(u)
            if N is not None:
                m.multiply(N, u, keys.row(values, j))
            if rows is not None:
                m.rowsum(l, u)
        return l, N


class ForwardSweep(_RowSweep):
    """A pass of the forward pass: u and its row sums l are written, or the outputs O."""

    def __call__(self, m: Machine, shape: Shape, outside: Words, kept: Words) -> None:
        c, values = m.whole(shape.d), "V" if "O" in self.writes else ""
        keys = _Keys(m, shape, kept, c, ("K", values) if values else ("K",))
        for i in m.loop(shape.n, outside):
            Q = m.load("Q", i, c)
            l, N = self._softmax(m, keys, i, c, Q, "K", values)
            m.free(Q)
            if N is None:
                m.store(l)
            else:
                O = m.map("O", N, l)
                m.store(O)
                m.free(O)
            m.free(l)
        keys.free()


class GradientSweep(_RowSweep):
    """A pass of the gradient in X, of its first half, its second, or both.

    The first half are the scores, their row sums l and, where the target is given, the residuals c with their
    dots v. The second half are the gradient p of the scores, G = p A2 and g = A1ᵀ G. A pass that reads c has
    no first half; one that writes neither p, G nor g has no second. Without T or u to read, T is computed
    again. Where dO and O are given, dO takes the place of c.
    """

    def __call__(self, m: Machine, shape: Shape, outside: Words, kept: Words) -> None:
        a, c = m.whole(shape.d), m.whole(shape.d)
        second = bool({"p", "G", "g"} & {*self.writes})
        uses_A2 = "u" not in self.reads or (second and "p" not in self.writes)
        uses_h = second or "c" in self.writes
        keys = _Keys(m, shape, kept, c, (*(("A2",) if uses_A2 else ()), *(("h",) if uses_h else ())))
        for i in m.loop(shape.n, outside):
            T = None
            if "T" in self.reads:
                T = m.load("T", i, c)
            elif "u" not in self.reads:
                T = m.product("T", m.stream("A1", i, a), m.stream("X", a, c))
            if not second:
                self._first_half(m, shape, keys, i, c, T)
                continue
            if "c" in self.reads:
                C = m.load("c" if gives_target(shape) else "dO", i, c)
                l, v = m.load("l", i), m.load("v", i)
            else:
                l, C, v = self._kept_half(m, shape, keys, i, c, T)
            self._second_half(m, shape, keys, i, c, T, l, C, v)
        keys.free()

    def _first_half(self, m: Machine, shape: Shape, keys: _Keys, i: Block, c: Block, T: Tile | None) -> None:
        """Write what the first half comes to."""
        l, N = self._softmax(m, keys, i, c, T, "A2", "h" if "c" in self.writes else "")
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
        self, m: Machine, shape: Shape, keys: _Keys, i: Block, c: Block, T: Tile | None
    ) -> tuple[Tile, Tile, Tile]:
        """l, c (or dO) and v, which stay for the second half."""
        l, N = self._softmax(m, keys, i, c, T, "A2", "h" if gives_target(shape) else "")
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
        self,
        m: Machine,
        shape: Shape,
        keys: _Keys,
        i: Block,
        c: Block,
        T: Tile | None,
        l: Tile,
        C: Tile,
        v: Tile,
    ) -> None:
        """Write p, G or g, and give up all that the pass has kept."""
        G = None if "p" in self.writes else m.accumulator("G", i, c)
        for j in keys:
            used = (T is not None) + (G is not None)
            A2 = keys.row("A2", j, used) if used else None
            u = m.stream("u", i, j) if T is None or A2 is None else m.map("u", m.product("S", T, A2))
            f = m.map("f", u, l)
            p = m.map("p", m.map("r", m.product("q", C, keys.row("h", j)), v), f)
            m.free(f)
            if G is None or A2 is None:
                m.store(p)
            else:
                m.multiply(G, p, A2)
            m.free(p, *([] if A2 is None else [A2]))
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
