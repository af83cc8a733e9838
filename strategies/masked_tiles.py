"""Attention under a mask for small memories: pairs go through slow memory, each product has its own tiles.

As in Algorithm 6 (`strategies.algorithm6`) a tile of results stays while its operands pass, without the pairs
that the mask hides. With a × b tiles, of which T hold a pair, an n × n product of two n × d matrices loads
about T(a + b)d words, 2Zd/√M for square tiles and wide masks; a product of the Z pairs with an n × d matrix
loads Z words for each block of columns, and the rows that each block of its own rows meets.
"""

from __future__ import annotations

from collections.abc import Callable

from strategies.tiles.language import Block, Tile
from strategies.tiles.masked_language import Axis, MaskedMachine, MaskedShape
from strategies.tiles.tuning import Step

__all__ = ["BACKWARD_TILES", "FORWARD_TILES", "gradient_of_scores", "keys_stay", "probabilities"]


def probabilities(m: MaskedMachine, Q: Tile, K: Tile, L: Tile) -> Tile:
    """P = exp(Q Kᵀ − L) of the pairs that are seen."""
    return m.map("P", m.map("Z", m.product("S", Q, K), L))


def gradient_of_scores(m: MaskedMachine, dO: Tile, V: Tile, P: Tile, D: Tile) -> Tile:
    """dS = P ∘ (dO Vᵀ − D) of the pairs that are seen; P stays."""
    return m.map("dS", m.map("R", m.product("dP", dO, V), D), P)


def P_tiles(m: MaskedMachine, shape: MaskedShape, rows: int, columns: int) -> None:
    """P tile by tile: stores Z; peak ab + min(a, b) + 3."""
    c = m.columns
    for i in m.loop("queries", rows):
        for j in m.loop("keys", columns):
            P = probabilities(m, m.stream("Q", i, c), m.stream("K", j, c), m.stream("L", i))
            m.store(P)
            m.free(P)


def dS_tiles(m: MaskedMachine, shape: MaskedShape, rows: int, columns: int) -> None:
    """dS from P tile by tile: loads Z more than `P_tiles`, stores Z; peak ab + min(a, b) + 3."""
    c = m.columns
    for i in m.loop("queries", rows):
        for j in m.loop("keys", columns):
            dO, V = m.stream("dO", i, c), m.stream("V", j, c)
            dS = gradient_of_scores(m, dO, V, m.stream("P", i, j), m.stream("D", i))
            m.store(dS)
            m.free(dS)


def P_rows(m: MaskedMachine, shape: MaskedShape, block_rows: int, inner_columns: int) -> None:
    """P with queries outside: loads nd + n + Ad, stores Z; peak dBr + Br + BrBc + 3."""
    c = m.columns
    for i in m.loop("queries", block_rows):
        Q, L = m.load("Q", i, c), m.load("L", i)
        for j in m.loop("keys", inner_columns):
            P = probabilities(m, Q, m.stream("K", j, c), L)
            m.store(P)
            m.free(P)
        m.free(Q, L)


def dV_dS_from_P(m: MaskedMachine, shape: MaskedShape, block_columns: int, inner_rows: int) -> None:
    """dV and dS with keys outside: loads nd + A(d + 1) + Z, stores nd + Z; peak 2dBc + dBr + 2BrBc + 2."""
    c = m.columns
    for j in m.loop("keys", block_columns):
        V, dV = m.load("V", j, c), m.accumulator("dV", j, c)
        for i in m.loop("queries", inner_rows):
            dO, P = m.load("dO", i, c), m.load("P", i, j)
            m.multiply(dV, P, dO)
            dS = gradient_of_scores(m, dO, V, P, m.stream("D", i))
            m.store(dS)
            m.free(dO, P, dS)
        m.store(dV)
        m.free(V, dV)


def dV_dS(m: MaskedMachine, shape: MaskedShape, block_columns: int, inner_rows: int) -> None:
    """dV and dS with keys outside, P computed: loads 2nd + A(2d + 2), stores nd + Z.

    Peak 3dBc + dBr + 2BrBc + 2.
    """
    c = m.columns
    for j in m.loop("keys", block_columns):
        K, V, dV = m.load("K", j, c), m.load("V", j, c), m.accumulator("dV", j, c)
        for i in m.loop("queries", inner_rows):
            P = probabilities(m, m.stream("Q", i, c), K, m.stream("L", i))
            dO = m.load("dO", i, c)
            m.multiply(dV, P, dO)
            dS = gradient_of_scores(m, dO, V, P, m.stream("D", i))
            m.store(dS)
            m.free(dO, P, dS)
        m.store(dV)
        m.free(K, V, dV)


def dV_dK_dS(m: MaskedMachine, shape: MaskedShape, block_columns: int, inner_rows: int) -> None:
    """dV, dK and dS with keys outside: loads 2nd + A(2d + 2), stores 2nd + Z.

    Peak 4dBc + 2dBr + 2BrBc + 2.
    """
    keys_stay(m, block_columns, inner_rows, lambda j, i, dS, K: m.store(dS))


def keys_stay(
    m: MaskedMachine,
    block_columns: int,
    block_rows: int,
    feed: Callable[[Block, Block, Tile, Tile], None] | None = None,
) -> None:
    """dK and dV: keys, values and their gradients stay while the queries that see them pass.

    `feed` is called with every two blocks of keys and queries, their dS and the keys' K, for whatever else dS
    is wanted for.
    """
    c = m.columns
    for j in m.loop("keys", block_columns):
        K, V = m.load("K", j, c), m.load("V", j, c)
        dK, dV = m.accumulator("dK", j, c), m.accumulator("dV", j, c)
        for i in m.loop("queries", block_rows):
            Q = m.load("Q", i, c)
            P = probabilities(m, Q, K, m.stream("L", i))
            dO = m.load("dO", i, c)
            m.multiply(dV, P, dO)
            dS = gradient_of_scores(m, dO, V, P, m.stream("D", i))
            m.free(P, dO)
            m.multiply(dK, dS, Q)
            m.free(Q)
            if feed is not None:
                feed(j, i, dS, K)
            m.free(dS)
        m.store(dK)
        m.store(dV)
        m.free(K, V, dK, dV)


def product_tiles(name: str, pairs: str, matrix: str, outside: Axis) -> Step:
    """A step that adds pairs up along the inner axis: ``dQ = dS K`` and the like, as a step.

    For each of ⌈d/b⌉ blocks of columns it loads the Z pairs, and in all Ad words of the matrix; stores nd;
    peak ab + min(a, b) + 3, where rows of a block see an index of the inner axis together.
    """
    inside: Axis = "keys" if outside == "queries" else "queries"

    def body(m: MaskedMachine, shape: MaskedShape, rows: int, columns: int) -> None:
        for c in m.parts(columns):
            for o in m.loop(outside, rows):
                total = m.accumulator(name, o, c)
                for b in m.loop(inside, 1):
                    at = (o, b) if outside == "queries" else (b, o)
                    m.multiply(total, m.stream(pairs, *at), m.stream(matrix, b, c))
                m.store(total)
                m.free(total)

    return Step(body, {"rows": outside, "columns": "columns"}, label=name, tiles=True)


def u_tiles(m: MaskedMachine, shape: MaskedShape, rows: int, columns: int) -> None:
    """u = exp(Q Kᵀ) and l, its row sums: stores Z + n; peak ab + a + min(a, b) + 3."""
    c = m.columns
    for i in m.loop("queries", rows):
        l = m.accumulator("l", i)
        for j in m.loop("keys", columns):
            u = m.map("u", m.product("S", m.stream("Q", i, c), m.stream("K", j, c)))
            m.store(u)
            m.rowsum(l, u)
        m.store(l)
        m.free(l)


def O_tiles(m: MaskedMachine, shape: MaskedShape, rows: int, columns: int) -> None:
    """O = u V / l: loads Z + n for each block of columns, and Ad; stores nd; peak ab + min(a, b) + 3."""
    for c in m.parts(columns):
        for i in m.loop("queries", rows):
            N = m.accumulator("N", i, c)
            for j in m.loop("keys", 1):
                m.multiply(N, m.stream("u", i, j), m.stream("V", j, c))
            O = m.map("O", N, m.stream("l", i))
            m.store(O)
            m.free(O)


_PAIRS = {"rows": "queries", "columns": "keys"}
_KEYS_OUTSIDE = {"block_columns": "keys", "inner_rows": "queries"}

_P, _dS = Step(P_tiles, _PAIRS, label="P", tiles=True), Step(dS_tiles, _PAIRS, label="dS", tiles=True)
_P_ROWS = Step(P_rows, {"block_rows": "queries", "inner_columns": "keys"}, label="P")
_dV = product_tiles("dV", "P", "dO", "keys")
_dQ = product_tiles("dQ", "dS", "K", "queries")
_dK = product_tiles("dK", "dS", "Q", "keys")

BACKWARD_TILES = {
    "tiles": (_P, _dS, _dV, _dQ, _dK),
    "P-first": (_P_ROWS, Step(dV_dS_from_P, _KEYS_OUTSIDE, label="dS"), _dQ, _dK),
    "dV-first": (Step(dV_dS, _KEYS_OUTSIDE, label="dS"), _dQ, _dK),
    "dV-dK-first": (Step(dV_dK_dS, _KEYS_OUTSIDE, label="dS"), _dQ),
}
"""Programs of the backward pass by name: the last three start with a pass with whole rows."""

FORWARD_TILES = {
    "tiles": (
        Step(u_tiles, _PAIRS, label="u", tiles=True),
        Step(O_tiles, {"rows": "queries", "columns": "columns"}, label="O", tiles=True),
    ),
}
