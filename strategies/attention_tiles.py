"""Tiles of the matrices of attention: what `strategies.tiles.strips` puts side by side.

Each function makes one tile with both operands streamed, and stores it.
"""

from __future__ import annotations

from strategies.algorithm6 import gives_target
from strategies.attention_backward import gradient_of_scores, probabilities
from strategies.tiles.language import Block, Machine, Shape
from strategies.tiles.strips import MakeTile

__all__ = ["P_tile", "dS_tile", "outputs_tile", "p_tile", "product_tile"]


def P_tile(m: Machine, shape: Shape, i: Block, j: Block) -> None:
    """P = exp(Q Kᵀ − L)."""
    c = m.whole(shape.d)
    P = probabilities(m, m.stream("Q", i, c), m.stream("K", j, c), m.stream("L", i))
    m.store(P)
    m.free(P)


def dS_tile(m: Machine, shape: Shape, i: Block, j: Block) -> None:
    """dS = P ∘ (dO Vᵀ − D)."""
    c = m.whole(shape.d)
    dO, V = m.stream("dO", i, c), m.stream("V", j, c)
    dS = gradient_of_scores(m, dO, V, m.stream("P", i, j), m.stream("D", i))
    m.store(dS)
    m.free(dS)


def outputs_tile(values: str) -> MakeTile:
    """O = u · values / l."""

    def tile(m: Machine, shape: Shape, i: Block, j: Block) -> None:
        terms = m.whole(shape.n)
        N = m.product("N", m.stream("u", i, terms), m.stream(values, terms, j))
        O = m.map("O", N, m.stream("l", i))
        m.store(O)
        m.free(O)

    return tile


def p_tile(m: Machine, shape: Shape, i: Block, j: Block) -> None:
    """p = (u / l) ∘ (c hᵀ − v)."""
    d = m.whole(shape.d)
    c = m.stream("c" if gives_target(shape) else "dO", i, d)
    r = m.map("r", m.product("q", c, m.stream("h", j, d)), m.stream("v", i))
    p = m.map("p", r, m.map("f", m.stream("u", i, j), m.stream("l", i)))
    m.store(p)
    m.free(p)


def product_tile(C: str, A: str, B: str, terms_axis: str, *, AT: bool = False) -> MakeTile:
    """C = A·B; with `AT` A enters transposed."""

    def tile(m: Machine, shape: Shape, i: Block, j: Block) -> None:
        terms = m.whole(getattr(shape, terms_axis))
        left = m.stream(A, terms, i) if AT else m.stream(A, i, terms)
        product = m.product(C, left, m.stream(B, terms, j))
        m.store(product)
        m.free(product)

    return tile
