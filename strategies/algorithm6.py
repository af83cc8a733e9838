"""Algorithm 6: the backward pass for small memories, one matrix product after the other in tiles.

After Li, Liang, Shi, Song et al. (2024, arXiv 2410.09397, Theorem 4.3), reconstructed from the tiling of Saha
and Ye (2024, Algorithm 1) and the five steps of Alman and Song (2024, Lemma C.8): the n × n matrices go
through slow memory, so that each product can have the tiles that suit it. Below M ≈ d² this beats
FlashAttention.

Two variants: `square` keeps one B × B tile of each of three matrices, B the same everywhere; `streaming`
keeps one a × b tile of the result and lets the operands pass, a and b the best for each product.
"""

from __future__ import annotations

from strategies.attention_backward import ROW_DOTS, gradient_of_scores, probabilities, row_dots
from strategies.tiles.language import Block, Machine, Shape, Tile, Words
from strategies.tiles.products import square_product, streamed_step
from strategies.tiles.strategy import TileStrategy
from strategies.tiles.tuning import Step

__all__ = ["ALGORITHM6"]


def tile_product(m: Machine, C: str, A: str, B: str, i: Block, j: Block, terms: int, tile: Words) -> Tile:
    """The tile (i, j) of A·Bᵀ, one tile of A and one of B resident at a time."""
    total = m.accumulator(C, i, j)
    for l in m.loop(terms, tile):
        left, right = m.load(A, i, l), m.load(B, j, l)
        m.multiply(total, left, right)
        m.free(left, right)
    return total


# -- dQ, dK, dV -------------------------------------------------------------------------------------------


def backward_square(m: Machine, shape: Shape, tile: Words) -> None:
    """dQ, dK, dV by square tiles.

    Loads 7nd·N + 3n²·Δ + n² + 2n, stores 2n² + 3nd with N = ⌈n/B⌉, Δ = ⌈d/B⌉; peak 3B² + B + 2. With O given,
    2nd more loads and n more stores.
    """
    n, d = shape.n, shape.d
    if shape.given == "O":
        row_dots(m, shape)
    for i in m.loop(n, tile):
        L = m.load("L", i)
        for j in m.loop(n, tile):
            S = tile_product(m, "S", "Q", "K", i, j, d, tile)
            P = m.map("P", m.map("Z", S, L))
            m.store(P)
            m.free(P)
        m.free(L)
    for i in m.loop(n, tile):
        D = m.load("D", i)
        for j in m.loop(n, tile):
            R = m.map("R", tile_product(m, "dP", "dO", "V", i, j, d, tile), D)
            dS = m.map("dS", R, m.stream("P", i, j))
            m.store(dS)
            m.free(dS)
        m.free(D)
    square_product(m, "dV", "P", "dO", (n, d, n), tile, AT=True)
    square_product(m, "dQ", "dS", "K", (n, d, n), tile)
    square_product(m, "dK", "dS", "Q", (n, d, n), tile, AT=True)


def probabilities_step(m: Machine, shape: Shape, rows: Words, columns: Words) -> None:
    """P in a × b tiles: loads nd⌈n/a⌉ + nd⌈n/b⌉ + n⌈n/b⌉, stores n²; peak ab + min(a, b) + 3."""
    c = m.whole(shape.d)
    for i in m.loop(shape.n, rows):
        for j in m.loop(shape.n, columns):
            P = probabilities(m, m.stream("Q", i, c), m.stream("K", j, c), m.stream("L", i))
            m.store(P)
            m.free(P)


def gradient_of_scores_step(m: Machine, shape: Shape, rows: Words, columns: Words) -> None:
    """dS in a × b tiles: loads nd⌈n/a⌉ + nd⌈n/b⌉ + n⌈n/b⌉ + n², stores n²; peak ab + min(a, b) + 3."""
    c = m.whole(shape.d)
    for i in m.loop(shape.n, rows):
        for j in m.loop(shape.n, columns):
            dO, V = m.stream("dO", i, c), m.stream("V", j, c)
            dS = gradient_of_scores(m, dO, V, m.stream("P", i, j), m.stream("D", i))
            m.store(dS)
            m.free(dS)


BACKWARD_STREAMING = (
    ROW_DOTS,
    Step(probabilities_step, {"rows": "n", "columns": "n"}, label="P"),
    Step(gradient_of_scores_step, {"rows": "n", "columns": "n"}, label="dS"),
    streamed_step("dV", "P", "dO", "n", "d", "n", AT=True),
    streamed_step("dQ", "dS", "K", "n", "d", "n"),
    streamed_step("dK", "dS", "Q", "n", "d", "n", AT=True),
)


# -- the gradient in X ------------------------------------------------------------------------------------


def gives_target(shape: Shape) -> bool:
    """Whether the target E is given, so that the residual c = O − E is to be computed."""
    return shape.given == "E"


def gives_output(shape: Shape) -> bool:
    """Whether the output O and the gradient dO in it are given: dO plays the part of c."""
    return shape.given == "dO"


def gradient_square(m: Machine, shape: Shape, tile: Words) -> None:
    """g = dL/dX by square tiles.

    Loads 6nd·N + 2n²·Δ + 4nd·Δ + 2d²·N + n² + nd + 3n, stores 2n² + 4nd + d² + 2n with N = ⌈n/B⌉, Δ = ⌈d/B⌉;
    peak 3B² + 2B + 2. Where dO and O are given, loads 5nd·N + n²·Δ + 4nd·Δ + 2d²·N + n² + 2nd + 2n, stores
    2n² + 3nd + d² + 2n.
    """
    n, d = shape.n, shape.d
    square_product(m, "T", "A1", "X", (n, d, d), tile)
    for i in m.loop(n, tile):
        l = m.accumulator("l", i)
        for j in m.loop(n, tile):
            u = m.map("u", tile_product(m, "S", "T", "A2", i, j, d, tile))
            m.store(u)
            m.rowsum(l, u)
        m.store(l)
        m.free(l)
    square_product(m, "h", "A3", "Y", (n, d, d), tile)
    if gives_target(shape):
        _residuals_square(m, shape, tile)
    else:
        output_dots(m, shape)
    for i in m.loop(n, tile):
        v, l = m.load("v", i), m.load("l", i)
        for j in m.loop(n, tile):
            q = tile_product(m, "q", "c" if gives_target(shape) else "dO", "h", i, j, d, tile)
            p = m.map("p", m.map("r", q, v), m.map("f", m.stream("u", i, j), l))
            m.store(p)
            m.free(p)
        m.free(v, l)
    square_product(m, "G", "p", "A2", (n, d, n), tile)
    square_product(m, "g", "A1", "G", (d, d, n), tile, AT=True)


def _residuals_square(m: Machine, shape: Shape, tile: Words) -> None:
    """c = u h / l − E and v = rowsum(c ∘ O)."""
    n, d = shape.n, shape.d
    for i in m.loop(n, tile):
        l, v = m.load("l", i), m.accumulator("v", i)
        for j in m.loop(d, tile):
            N = m.accumulator("N", i, j)
            for k in m.loop(n, tile):
                u, h = m.load("u", i, k), m.load("h", k, j)
                m.multiply(N, u, h)
                m.free(u, h)
            add_residuals(m, v, m.map("O", N, l), m.stream("E", i, j))
        m.store(v)
        m.free(l, v)


def add_residuals(m: Machine, v: Tile, O: Tile, E: Tile) -> None:
    """Store c = O − E and add rowsum(c ∘ O) to v, which uses O up."""
    c = m.map("c", O, E, keep=True)
    m.store(c)
    cO = m.map("cO", O, c)
    m.free(c)
    m.rowsum(v, cO)


def output_dots(m: Machine, shape: Shape) -> None:
    """v = rowsum(dO ∘ O), where they are given: 2nd loads, n stores, 4 words."""
    c = m.whole(shape.d)
    for i in m.loop(shape.n, 1):
        v = m.accumulator("v", i)
        m.rowsum(v, m.map("cO", m.stream("dO", i, c), m.stream("O", i, c)))
        m.store(v)
        m.free(v)


def exponentials_step(
    m: Machine, shape: Shape, rows: Words, columns: Words, *, queries: str = "T", keys: str = "A2"
) -> None:
    """u = exp(T A2ᵀ) and l = rowsum(u): loads nd⌈n/a⌉ + nd⌈n/b⌉, stores n² + n; peak ab + a + min(a, b) + 3.

    (ab + min(a, b) + 3 where one tile is as wide as the matrix.)
    """
    c = m.whole(shape.d)
    for i in m.loop(shape.n, rows):
        l = m.accumulator("l", i)
        for j in m.loop(shape.n, columns):
            u = m.map("u", m.product("S", m.stream(queries, i, c), m.stream(keys, j, c)))
            m.store(u)
            m.rowsum(l, u)
        m.store(l)
        m.free(l)


def outputs_step(m: Machine, shape: Shape, rows: Words, columns: Words, *, values: str = "h") -> None:
    """O = u h / l: loads n²⌈d/b⌉ + nd⌈n/a⌉ + n⌈d/b⌉, stores nd; peak ab + min(a, b) + 3."""
    terms = m.whole(shape.n)
    for i in m.loop(shape.n, rows):
        for j in m.loop(shape.d, columns):
            N = m.product("N", m.stream("u", i, terms), m.stream(values, terms, j))
            O = m.map("O", N, m.stream("l", i))
            m.store(O)
            m.free(O)


def residuals_step(m: Machine, shape: Shape) -> None:
    """c = O − E and v = rowsum(c ∘ O), which had no room beside O's tile: loads 2nd, stores nd + n."""
    for i in m.loop(shape.n, 1):
        v = m.accumulator("v", i)
        for j in m.loop(shape.d, 1):
            add_residuals(m, v, m.load("O", i, j), m.stream("E", i, j))
        m.store(v)
        m.free(v)


def weights_gradient_step(m: Machine, shape: Shape, rows: Words, columns: Words) -> None:
    """p = (u/l) ∘ (c hᵀ − v): loads nd⌈n/a⌉ + nd⌈n/b⌉ + 2n⌈n/b⌉ + n², stores n²; peak ab + min(a, b) + 3, or
    ab + 4 if that is more."""
    d = m.whole(shape.d)
    for i in m.loop(shape.n, rows):
        for j in m.loop(shape.n, columns):
            c = m.stream("c" if gives_target(shape) else "dO", i, d)
            r = m.map("r", m.product("q", c, m.stream("h", j, d)), m.stream("v", i))
            p = m.map("p", r, m.map("f", m.stream("u", i, j), m.stream("l", i)))
            m.store(p)
            m.free(p)


GRADIENT_STREAMING = (
    streamed_step("T", "A1", "X", "n", "d", "d"),
    Step(exponentials_step, {"rows": "n", "columns": "n"}, label="u"),
    streamed_step("h", "A3", "Y", "n", "d", "d"),
    Step(outputs_step, {"rows": "n", "columns": "d"}, label="O", when=gives_target),
    Step(residuals_step, when=gives_target),
    Step(output_dots, when=gives_output),
    Step(weights_gradient_step, {"rows": "n", "columns": "n"}, label="p"),
    streamed_step("G", "p", "A2", "n", "d", "n"),
    streamed_step("g", "A1", "G", "d", "d", "n", AT=True),
)


def refuse_one_token(shape: Shape) -> str | None:
    """With one token u and its row sum are one vertex, which no program that loads both can use."""
    if getattr(shape, "n", 2) == 1 and shape.given in ("E", "dO"):
        return "it plays n >= 2 tokens"
    return None


ALGORITHM6 = TileStrategy(
    "algorithm6",
    {
        "attention-backward": {
            "square": (Step(backward_square, {"tile": "n"}),),
            "streaming": BACKWARD_STREAMING,
        },
        "attention-gradient": {
            "square": (Step(gradient_square, {"tile": "n"}),),
            "streaming": GRADIENT_STREAMING,
        },
    },
    variants="tiles",
    plays={"given": ("D", "O", "E", "dO")},
    refuses=refuse_one_token,
)
