"""Attention under a mask, with heads: only the pairs that are seen are computed, and only their rows move.

Z pairs per head are seen, d is the head dimension, Bc keys or Br queries stay in a block, and A counts the
rows that a pass moves: for each block that stays, the indices of the other axis that it meets. Without a mask
A is n²/B; under a causal mask about half of that, under a window of w about n(1 + w/B). docs/masks.md has the
language, and the cost against the lower bounds.
"""

from __future__ import annotations

from strategies.masked_tiles import (
    BACKWARD_TILES,
    FORWARD_TILES,
    gradient_of_scores,
    keys_stay,
    probabilities,
)
from strategies.tiles.language import Block, Machine, Shape, Tile
from strategies.tiles.masked_language import MaskedMachine, MaskedShape
from strategies.tiles.masked_strategy import MaskedStrategy
from strategies.tiles.tuning import Step

__all__ = [
    "MASKED_ATTENTION",
    "forward",
    "keys_outside",
    "keys_pass",
    "queries_outside",
    "queries_pass",
    "row_dots",
]


def keys_outside(m: MaskedMachine, shape: MaskedShape, block_columns: int, block_rows: int) -> None:
    """FlashAttention's backward pass: keys outside, partial sums of dQ go through slow memory.

    Loads 2nd + A(3d + 2) − nd, stores Ad + 2nd; about 16Zd²/M in all. Peak 4dBc + 2dBr + 2BrBc + 2.
    """

    def feed_dQ(j: Block, i: Block, dS: Tile, K: Tile) -> None:
        dQ = m.resume("dQ", i, m.columns, before=j)
        m.multiply(dQ, dS, K)
        m.store(dQ)
        m.free(dQ)

    keys_stay(m, block_columns, block_rows, feed_dQ)


def queries_outside(m: MaskedMachine, shape: MaskedShape, block_rows: int, block_columns: int) -> None:
    """The backward pass with queries outside: partial sums of dK and dV go through slow memory.

    Loads 2n + 4Ad, stores 2Ad + nd; about 18Zd²/M in all. Peak 3dBr + 2Br + dBc + 2BrBc + 3. It is for few
    queries, which stay in one block, and for masks of blocks.
    """
    c = m.columns
    for i in m.loop("queries", block_rows):
        Q, dO = m.load("Q", i, c), m.load("dO", i, c)
        L, D = m.load("L", i), m.load("D", i)
        dQ = m.accumulator("dQ", i, c)
        for j in m.loop("keys", block_columns):
            K = m.load("K", j, c)
            P = probabilities(m, Q, K, L)
            dS = gradient_of_scores(m, dO, m.stream("V", j, c), P, D)
            m.multiply(dQ, dS, K)
            m.free(K)
            for name, pairs, rows in (("dV", P, dO), ("dK", dS, Q)):
                total = m.resume(name, j, c, before=i)
                m.multiply(total, pairs, rows)
                m.store(total)
                m.free(total, pairs)
        m.store(dQ)
        m.free(Q, dO, L, D, dQ)


def keys_pass(m: MaskedMachine, shape: MaskedShape, block_columns: int, inner_rows: int) -> None:
    """dK and dV: keys, values and their gradients stay while the queries that see them pass.

    Loads 2nd + A(2d + 2), stores 2nd; peak 4dBc + 2dBr + 2BrBc + 2.
    """
    keys_stay(m, block_columns, inner_rows)


def queries_pass(m: MaskedMachine, shape: MaskedShape, block_rows: int, inner_columns: int) -> None:
    """dQ: queries, dO and dQ stay while the keys that they see pass; values are streamed word by word.

    Loads 2nd + 2n + 2Ad, stores nd; peak 3dBr + 2Br + dBc + 2BrBc + 3.
    """
    c = m.columns
    for i in m.loop("queries", block_rows):
        Q, dO = m.load("Q", i, c), m.load("dO", i, c)
        L, D = m.load("L", i), m.load("D", i)
        dQ = m.accumulator("dQ", i, c)
        for j in m.loop("keys", inner_columns):
            K = m.load("K", j, c)
            P = probabilities(m, Q, K, L)
            dS = gradient_of_scores(m, dO, m.stream("V", j, c), P, D)
            m.free(P)
            m.multiply(dQ, dS, K)
            m.free(K, dS)
        m.store(dQ)
        m.free(Q, dO, L, D, dQ)


def forward(m: MaskedMachine, shape: MaskedShape, block_rows: int, inner_columns: int) -> None:
    """The forward pass: queries and what they add up stay while the keys that they see pass.

    Loads nd + 2Ad, stores nd; about 4Zd²/M in all. Peak 2dBr + Br + dBc + BrBc + 2.
    """
    c = m.columns
    for i in m.loop("queries", block_rows):
        Q = m.load("Q", i, c)
        N, l = m.accumulator("N", i, c), m.accumulator("l", i)
        for j in m.loop("keys", inner_columns):
            u = m.map("u", m.product("S", Q, m.stream("K", j, c)))
            V = m.load("V", j, c)
            m.multiply(N, u, V)
            m.free(V)
            m.rowsum(l, u)
        O = m.map("O", N, l)
        m.store(O)
        m.free(Q, O, l)


def row_dots(m: Machine, shape: Shape) -> None:
    """D = rowsum(dO ∘ O) of all heads, where O is given: 4 words."""
    c = m.whole(shape.d)
    for h in m.loop(shape.heads, 1):
        for i in m.loop(shape.n, 1):
            rows = (h, i) if shape.heads > 1 else (i,)
            D = m.accumulator("D", *rows)
            m.rowsum(D, m.map("dOO", m.stream("dO", *rows, c), m.stream("O", *rows, c)))
            m.store(D)
            m.free(D)


_KEYS_OUTSIDE = {"block_columns": "keys", "block_rows": "queries"}
_QUERIES_OUTSIDE = {"block_rows": "queries", "block_columns": "keys"}
_QUERIES_PASS = {"block_rows": "queries", "inner_columns": "keys"}

MASKED_ATTENTION = MaskedStrategy(
    "masked-attention",
    {
        "attention-backward": {
            "keys-outside": [Step(keys_outside, _KEYS_OUTSIDE)],
            "queries-outside": [Step(queries_outside, _QUERIES_OUTSIDE)],
            "two-pass": [
                Step(keys_pass, {"block_columns": "keys", "inner_rows": "queries"}),
                Step(queries_pass, _QUERIES_PASS),
            ],
            **BACKWARD_TILES,
        },
        "attention-forward": {"queries-outside": [Step(forward, _QUERIES_PASS)], **FORWARD_TILES},
    },
    recomputing=("two-pass",),
    first=row_dots,
    first_when=lambda shape: shape.given == "O",
)
