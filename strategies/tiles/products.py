"""The two tile programs of a matrix product, on which the small-cache algorithms are built."""

from __future__ import annotations

from strategies.tiles.language import Machine, Shape, Words
from strategies.tiles.tuning import Step

__all__ = ["square_product", "streamed_product", "streamed_step"]


def streamed_product(
    m: Machine,
    C: str,
    A: str,
    B: str,
    extents: tuple[int, int, int],
    rows: Words,
    columns: Words,
    *,
    AT: bool = False,
    BT: bool = False,
) -> None:
    """C = A·B by outer products: a tile of C stays while columns of A and rows of B pass through.

    Parameters
    ----------
    m : Machine
    C, A, B : str
        Arrays of the graph; with `AT` or `BT` that operand enters transposed.
    extents : tuple of int
        Rows p and columns r of C, and terms k.
    rows, columns : int or ndarray
        Sides of a tile of C.

    Notes
    -----
    Loads pk⌈r/columns⌉ + kr⌈p/rows⌉, stores pr; peak rows·columns + min(rows, columns) + 3 words (2 where
    products and adds are fused, and less than two terms need less). For square tiles the I/O is about
    2pkr/√M, the least that a product without recomputation can have to leading order (Smith, Lowery, Langou,
    van de Geijn 2019, A tight I/O lower bound for matrix multiplication).
    """
    p, r, k = extents
    terms = m.whole(k)
    for i in m.loop(p, rows):
        for j in m.loop(r, columns):
            left = m.stream(A, terms, i) if AT else m.stream(A, i, terms)
            right = m.stream(B, j, terms) if BT else m.stream(B, terms, j)
            tile = m.product(C, left, right)
            m.store(tile)
            m.free(tile)


def square_product(
    m: Machine, C: str, A: str, B: str, extents: tuple[int, int, int], tile: Words, *, AT: bool = False
) -> None:
    """C = A·B (Aᵀ·B with `AT`) with one square tile of each matrix resident.

    Notes
    -----
    Loads pk⌈r/tile⌉ + kr⌈p/tile⌉, stores pr; peak 3·tile² + 2 words (1 where products and adds are fused).
    """
    p, r, k = extents
    for i in m.loop(p, tile):
        for j in m.loop(r, tile):
            total = m.accumulator(C, i, j)
            for l in m.loop(k, tile):
                left = m.load(A, l, i) if AT else m.load(A, i, l)
                right = m.load(B, l, j)
                m.multiply(total, left, right)
                m.free(left, right)
            m.store(total)
            m.free(total)


def streamed_step(
    C: str, A: str, B: str, p: str, r: str, k: str, *, AT: bool = False, BT: bool = False
) -> Step:
    """`streamed_product` as a step; p, r and k name parameters of the shape."""

    def body(m: Machine, shape: Shape, rows: Words, columns: Words) -> None:
        extents = getattr(shape, p), getattr(shape, r), getattr(shape, k)
        streamed_product(m, C, A, B, extents, rows, columns, AT=AT, BT=BT)

    return Step(body, {"rows": p, "columns": r}, label=C)
