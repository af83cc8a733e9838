"""The backward pass of attention with whole rows resident: FlashAttention, its relatives, the naive way.

Each program is a dozen lines over tiles; docs/tiles.md explains the language. n tokens, d the head dimension,
Br rows (queries) and Bc columns (keys) in a block, M words of fast memory.
"""

from __future__ import annotations

from collections.abc import Callable

from strategies.tiles.language import Block, Machine, Shape, Tile, Words
from strategies.tiles.products import streamed_product
from strategies.tiles.strategy import TileStrategy
from strategies.tiles.tuning import Step

__all__ = [
    "FLASH_ATTENTION",
    "FLASH_ATTENTION_1",
    "NAIVE",
    "ROW_DOTS",
    "TWO_PASS",
    "flash_attention",
    "flash_attention_1",
    "gradient_of_scores",
    "keys_pass",
    "naive",
    "probabilities",
    "queries_pass",
    "row_dots",
]


def probabilities(m: Machine, Q: Tile, K: Tile, L: Tile) -> Tile:
    """P = exp(Q Kᵀ − L), a tile in the place of the scores."""
    return m.map("P", m.map("Z", m.product("S", Q, K), L))


def gradient_of_scores(m: Machine, dO: Tile, V: Tile, P: Tile, D: Tile) -> Tile:
    """dS = P ∘ (dO Vᵀ − D), a tile in the place of dP; P stays."""
    return m.map("dS", m.map("R", m.product("dP", dO, V), D), P)


def row_dots(m: Machine, shape: Shape) -> None:
    """D = rowsum(dO ∘ O), where O is given: 2nd loads, n stores, 4 words."""
    c = m.whole(shape.d)
    for i in m.loop(shape.n, 1):
        D = m.accumulator("D", i)
        m.rowsum(D, m.map("dOO", m.stream("dO", i, c), m.stream("O", i, c)))
        m.store(D)
        m.free(D)


ROW_DOTS = Step(row_dots, when=lambda shape: shape.given == "O")


def flash_attention(m: Machine, shape: Shape, block_columns: Words, block_rows: Words) -> None:
    """Keys and values stay while the queries pass; partial sums of dQ go through slow memory.

    Loads 2nd + T(3nd + 2n) − nd, stores T·nd + 2nd with T = ⌈n/Bc⌉, about 16n²d²/M in all for Bc ≈ M/4d; peak
    4dBc + 2dBr + 2BrBc + 2 (a little less where one block holds all rows); least M 6d + 4.
    """
    _keys_stay(m, shape, block_columns, block_rows, lambda i, dO: m.stream("D", i))


def flash_attention_1(m: Machine, shape: Shape, block_columns: Words, block_rows: Words) -> None:
    """Algorithm 4 of Dao et al. (2022): D is computed again for each block of keys.

    Loads 2nd + T(4nd + n) − nd, stores T·nd + 2nd with T = ⌈n/Bc⌉, about 20n²d²/M; peak
    4dBc + 2dBr + 2BrBc + Br + 2. Its block sizes Bc = ⌈M/4d⌉, Br = min(Bc, d) do not fit a strict memory of
    M words; here they are the best that do.
    """

    def dots(i: Block, dO: Tile) -> Tile:
        D = m.accumulator("D", i)
        m.rowsum(D, m.map("dOO", m.stream("O", *dO.index), dO))
        return D

    _keys_stay(m, shape, block_columns, block_rows, dots)


def keys_pass(m: Machine, shape: Shape, block_columns: Words, inner_rows: Words) -> None:
    """dK and dV: keys, values and their gradients stay while the queries pass.

    Loads 2nd + T(2nd + 2n), stores 2nd with T = ⌈n/Bc⌉; peak 4dBc + 2dBr + 2BrBc + 2.
    """
    _keys_stay(m, shape, block_columns, inner_rows, lambda i, dO: m.stream("D", i), dQ_too=False)


def _keys_stay(
    m: Machine,
    shape: Shape,
    block_columns: Words,
    block_rows: Words,
    dots: Callable[[Block, Tile], Tile],
    dQ_too: bool = True,
) -> None:
    """dK and dV with keys outside, D from `dots`; dQ too, its partial sums through slow memory."""
    c = m.whole(shape.d)
    for j in m.loop(shape.n, block_columns):
        K, V = m.load("K", j, c), m.load("V", j, c)
        dK, dV = m.accumulator("dK", j, c), m.accumulator("dV", j, c)
        for i in m.loop(shape.n, block_rows):
            Q = m.load("Q", i, c)
            P = probabilities(m, Q, K, m.stream("L", i))
            dO = m.load("dO", i, c)
            D = dots(i, dO)
            m.multiply(dV, P, dO)
            dS = gradient_of_scores(m, dO, V, P, D)
            m.free(D, P, dO)
            m.multiply(dK, dS, Q)
            m.free(Q)
            if dQ_too:
                dQ = m.accumulator("dQ", i, c) if j.first else m.load("dQ", i, c, before=j)
                m.multiply(dQ, dS, K)
                m.store(dQ)
                m.free(dQ)
            m.free(dS)
        m.store(dK)
        m.store(dV)
        m.free(K, V, dK, dV)


def queries_pass(m: Machine, shape: Shape, block_rows: Words, inner_columns: Words) -> None:
    """dQ: queries, dO and dQ stay while the keys pass; values are streamed word by word.

    Loads 2nd + 2n + 2nd⌈n/Br⌉, stores nd; peak 3dBr + 2Br + dBc + 2BrBc + 2 (3 if that is more).
    """
    c = m.whole(shape.d)
    for i in m.loop(shape.n, block_rows):
        Q, dO = m.load("Q", i, c), m.load("dO", i, c)
        L, D = m.load("L", i), m.load("D", i)
        dQ = m.accumulator("dQ", i, c)
        for j in m.loop(shape.n, inner_columns):
            K = m.load("K", j, c)
            P = probabilities(m, Q, K, L)
            dS = gradient_of_scores(m, dO, m.stream("V", j, c), P, D)
            m.free(P)
            m.multiply(dQ, dS, K)
            m.free(K, dS)
        m.store(dQ)
        m.free(Q, dO, L, D, dQ)


def naive(m: Machine, shape: Shape) -> None:
    """One array after the other, one entry at a time, every operand from slow memory: M plays no part.

    Loads 10n²d + 7n², stores 6n² + 3nd; peak 5 words, 4 where products and adds are fused. With O given, 3nd
    more loads and nd + n more stores. This is what a program costs whose author never thought of a cache.
    """
    n, d = shape.n, shape.d

    def product(C: str, A: str, B: str, p: int, r: int, k: int, AT: bool = False, BT: bool = False) -> None:
        streamed_product(m, C, A, B, (p, r, k), 1, 1, AT=AT, BT=BT)

    def each(name: str, X: str, other: str = "", vector: bool = False, columns: int = n) -> None:
        for i in m.loop(n, 1):
            for j in m.loop(columns, 1):
                others = [m.stream(other, i) if vector else m.stream(other, i, j)] if other else []
                result = m.map(name, m.load(X, i, j), *others)
                m.store(result)
                m.free(result)

    if shape.given == "O":
        each("dOO", "dO", "O", columns=d)
        for i in m.loop(n, 1):
            D = m.accumulator("D", i)
            m.rowsum(D, m.stream("dOO", i, m.whole(d)))
            m.store(D)
            m.free(D)
    product("S", "Q", "K", n, n, d, BT=True)
    each("Z", "S", "L", vector=True)
    each("P", "Z")
    product("dP", "dO", "V", n, n, d, BT=True)
    each("R", "dP", "D", vector=True)
    each("dS", "R", "P")
    product("dV", "P", "dO", n, d, n, AT=True)
    product("dQ", "dS", "K", n, d, n)
    product("dK", "dS", "Q", n, d, n, AT=True)


_BLOCKS = {"block_columns": "n", "block_rows": "n"}
_GIVEN = {"given": ("D", "O")}

FLASH_ATTENTION = TileStrategy(
    "flash-attention", {"attention-backward": {"": (ROW_DOTS, Step(flash_attention, _BLOCKS))}}, plays=_GIVEN
)
FLASH_ATTENTION_1 = TileStrategy(
    "flash-attention-1",
    {"attention-backward": {"": (Step(flash_attention_1, _BLOCKS),)}},
    recomputes=True,
    plays={"given": ("O",)},
)
TWO_PASS = TileStrategy(
    "two-pass",
    {
        "attention-backward": {
            "": (
                ROW_DOTS,
                Step(keys_pass, {"block_columns": "n", "inner_rows": "n"}),
                Step(queries_pass, {"block_rows": "n", "inner_columns": "n"}),
            )
        }
    },
    recomputes=True,
    plays=_GIVEN,
)
NAIVE = TileStrategy("naive", {"attention-backward": {"": (Step(naive),)}}, plays=_GIVEN)
