"""The gradient of attention in X with whole rows resident, for memories above d² words or so."""

from __future__ import annotations

from strategies.algorithm6 import add_residuals, gives_output, gives_target, output_dots, refuse_one_token
from strategies.tiles.language import Block, Machine, Shape, Tile, Words
from strategies.tiles.products import streamed_step
from strategies.tiles.strategy import TileStrategy
from strategies.tiles.tuning import Step

__all__ = ["ROW_RESIDENT", "gradient_pass", "row_sums_pass", "softmax_pass"]


def _rows_of_T(m: Machine, i: Block, a: Block, c: Block) -> Tile:
    """T_i = A1_i X, computed where it is needed."""
    return m.product("T", m.stream("A1", i, a), m.stream("X", a, c))


def softmax_pass(m: Machine, shape: Shape, block_rows: Words, inner_columns: Words) -> None:
    """l, c and v: T_i and N_i stay while A2 and h pass, word by word.

    Loads 2nd + d²N + 2ndN with N = ⌈n/Br⌉, stores nd + 2n; peak 2dBr + Br + BrBc + 3 (Br less where one block
    holds all columns).
    """
    a, c = m.whole(shape.d), m.whole(shape.d)
    for i in m.loop(shape.n, block_rows):
        T, l = _rows_of_T(m, i, a, c), m.accumulator("l", i)
        N = m.accumulator("N", i, c)
        for j in m.loop(shape.n, inner_columns):
            u = m.map("u", m.product("S", T, m.stream("A2", j, c)))
            m.multiply(N, u, m.stream("h", j, c))
            m.rowsum(l, u)
        m.free(T)
        m.store(l)
        O, v = m.map("O", N, l), m.accumulator("v", i)
        m.free(l)
        add_residuals(m, v, O, m.stream("E", i, c))
        m.store(v)
        m.free(v)


def row_sums_pass(m: Machine, shape: Shape, block_rows: Words, inner_columns: Words) -> None:
    """l alone, where dO and O are given: loads nd + d²N + ndN with N = ⌈n/Br⌉, stores n."""
    a, c = m.whole(shape.d), m.whole(shape.d)
    for i in m.loop(shape.n, block_rows):
        T, l = _rows_of_T(m, i, a, c), m.accumulator("l", i)
        for j in m.loop(shape.n, inner_columns):
            m.rowsum(l, m.map("u", m.product("S", T, m.stream("A2", j, c))))
        m.free(T)
        m.store(l)
        m.free(l)


def gradient_pass(m: Machine, shape: Shape, gradient_rows: Words, gradient_columns: Words) -> None:
    """g: T_i, c_i and G_i stay while A2 passes by rows, h by words; partial sums of g go through slow memory.

    Loads 3nd + 2n + d²N + 2ndN + (N − 1)d² with N = ⌈n/Br⌉, stores d²N; peak 3dBr + 2Br + dBc + 2BrBc + 3
    (dBr less where one block holds all columns).
    """
    a, c = m.whole(shape.d), m.whole(shape.d)
    for i in m.loop(shape.n, gradient_rows):
        T, C = _rows_of_T(m, i, a, c), m.load("c" if gives_target(shape) else "dO", i, c)
        l, v = m.load("l", i), m.load("v", i)
        G = m.accumulator("G", i, c)
        for j in m.loop(shape.n, gradient_columns):
            A2 = m.load("A2", j, c)
            f = m.map("f", m.map("u", m.product("S", T, A2)), l)
            r = m.map("r", m.product("q", C, m.stream("h", j, c)), v)
            p = m.map("p", r, f)
            m.free(f)
            m.multiply(G, p, A2)
            m.free(A2, p)
        m.free(T, C, l, v)
        for b in m.loop(shape.d, 1):
            g = m.accumulator("g", b, c) if i.first else m.load("g", b, c, before=i)
            m.multiply(g, m.stream("A1", i, b), G)
            m.store(g)
            m.free(g)
        m.free(G)


_BLOCKS = {"block_rows": "n", "inner_columns": "n"}

ROW_RESIDENT = TileStrategy(
    "row-resident",
    {
        "attention-gradient": {
            "": (
                streamed_step("h", "A3", "Y", "n", "d", "d"),
                Step(softmax_pass, _BLOCKS, when=gives_target),
                Step(row_sums_pass, _BLOCKS, when=gives_output),
                Step(output_dots, when=gives_output),
                Step(gradient_pass, {"gradient_rows": "n", "gradient_columns": "n"}),
            )
        }
    },
    recomputes=True,
    plays={"given": ("E", "dO")},
    refuses=refuse_one_token,
)
