"""The forward pass of attention: FlashAttention with queries outside, and the square tiles of Saha and Ye.

Both normalise after the sum over keys, as the graph does (Saha & Ye 2024, section 2.4). n tokens, d the head
dimension, Br rows (queries) and Bc columns (keys) in a block, M words of fast memory.
"""

from __future__ import annotations

from functools import partial

from strategies.algorithm6 import exponentials_step, outputs_step, tile_product
from strategies.tiles.language import Machine, Shape, Words
from strategies.tiles.strategy import TileStrategy
from strategies.tiles.tuning import Step

__all__ = [
    "FLASH_FORWARD",
    "FORWARD_STREAMING",
    "SAHA_YE",
    "flash_forward",
    "forward_square",
    "refuse_one_token",
]


def flash_forward(m: Machine, shape: Shape, block_rows: Words, block_columns: Words) -> None:
    """Queries, their sums and outputs stay while blocks of keys and values pass (Dao 2023, FlashAttention-2).

    Loads nd + 2nd⌈n/Br⌉, stores nd, about 4n²d²/M in all; peak 2dBr + Br + 2dBc + BrBc + 2. Keys outside, as
    in the first FlashAttention, costs 6n²d²/M: partial sums would go through slow memory.
    """
    c = m.whole(shape.d)
    for i in m.loop(shape.n, block_rows):
        Q, l, N = m.load("Q", i, c), m.accumulator("l", i), m.accumulator("N", i, c)
        for j in m.loop(shape.n, block_columns):
            K, V = m.load("K", j, c), m.load("V", j, c)
            u = m.map("u", m.product("S", Q, K))
            m.multiply(N, u, V)
            m.rowsum(l, u)
            m.free(K, V)
        m.free(Q)
        O = m.map("O", N, l)
        m.store(O)
        m.free(l, O)


def forward_square(m: Machine, shape: Shape, tile: Words) -> None:
    """Algorithm 1 of Saha and Ye (2024): one B × B tile of each of three matrices; u goes through memory.

    Loads 3nd·N + n²·Δ + n, stores n² + n + nd with N = ⌈n/B⌉, Δ = ⌈d/B⌉; peak 3B² + B + 2.
    """
    n, d = shape.n, shape.d
    for i in m.loop(n, tile):
        l = m.accumulator("l", i)
        for j in m.loop(n, tile):
            u = m.map("u", tile_product(m, "S", "Q", "K", i, j, d, tile))
            m.store(u)
            m.rowsum(l, u)
        m.store(l)
        m.free(l)
    for i in m.loop(n, tile):
        l = m.load("l", i)
        for j in m.loop(d, tile):
            N = m.accumulator("N", i, j)
            for k in m.loop(n, tile):
                u, V = m.load("u", i, k), m.load("V", k, j)
                m.multiply(N, u, V)
                m.free(u, V)
            O = m.map("O", N, l)
            m.store(O)
            m.free(O)
        m.free(l)


def refuse_one_token(shape: Shape) -> str | None:
    """With one token u and its row sum are one vertex, which no program that loads both can use."""
    return "it plays n >= 2 tokens" if shape.n == 1 else None


FORWARD_STREAMING = (
    Step(partial(exponentials_step, queries="Q", keys="K"), {"rows": "n", "columns": "n"}, label="u"),
    Step(partial(outputs_step, values="V"), {"rows": "n", "columns": "d"}, label="O"),
)

FLASH_FORWARD = TileStrategy(
    "flash-forward",
    {"attention-forward": {"": (Step(flash_forward, {"block_rows": "n", "block_columns": "n"}),)}},
)
SAHA_YE = TileStrategy(
    "saha-ye",
    {
        "attention-forward": {
            "square": (Step(forward_square, {"tile": "n"}),),
            "streaming": FORWARD_STREAMING,
        }
    },
    variants="tiles",
    refuses=refuse_one_token,
)
