"""Matrix products: segments and Loomis-Whitney, with recomputation and without.

C = A B with A of m × k and B of k × n. The *tree* of an entry of C is its k products and the vertices that
add them up. Statements and proofs are in docs/bounds.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject, where
from solvers.lower_bounds.segments import best_segment, whole_progress
from solvers.lower_bounds.tokens import TokenTable, best_tokens, best_with_restarts, product_supply

__all__ = [
    "CLOSED_FORM",
    "ONE_SHOT",
    "PRODUCTS",
    "SEQUENTIAL",
    "TWO_PRODUCTS",
    "closed_form",
    "cosma_formula",
    "largest_volume",
    "one_shot_bound",
    "products_bound",
    "sequential_bound",
    "two_products_bound",
]

_SOURCE = "segments and Loomis-Whitney, after Hong & Kung (1981) and Irony, Toledo & Tiskin (2004)"


def largest_volume(tokens: NDArray[Any], caps: tuple[int, int, int]) -> NDArray[np.float64]:
    """Most lattice points with three projections of at most `tokens` points in all, each within its cap.

    By Loomis & Whitney (1949) the square root of the product of the projections' sizes, which is largest
    where they are as equal as the caps allow.

    Examples
    --------
    >>> largest_volume(np.array([12.0]), (100, 100, 100)).tolist()
    [8.0]
    """
    small, middle, large = sorted(caps)
    x = np.minimum(tokens / 3, small)
    y = np.minimum((tokens - x) / 2, middle)
    z = np.minimum(tokens - x - y, large)
    return np.asarray(np.sqrt(x * y * z))


def products_bound(m: int, k: int, n: int, M: int, *, partial: bool = False) -> tuple[int, int]:
    """I/Os, in words, of an m × k × n product, with or without recomputation, whatever the sums' shape.

    Parameters
    ----------
    m, k, n, M : int
    partial : bool
        Whether operands are aggregated one at a time; then a word may stand for one product by itself.

    Returns
    -------
    value, Y : int
        The bound, and the I/Os per segment that show it; about √2·mkn/√M for large sizes.

    Examples
    --------
    >>> products_bound(100, 100, 100, 48)
    (204309, 189)
    """
    caps = (m * k, k * n, m * n)

    def progress(Y: NDArray[np.int64]) -> NDArray[np.int64]:
        tokens = 2.0 * M + Y
        most = largest_volume(tokens, caps)
        return whole_progress(np.maximum(most, tokens) if partial else most)

    return best_segment(m * k * n, progress)


def sequential_bound(sums: int, k: int, M: int, *, fused: bool) -> tuple[int, int, int]:
    """Loads, in words, of `sums` sequential sums of k products, with or without recomputation.

    Returns
    -------
    loads, Y, c : int
        The bound, loads per segment, and how many first terms of a sum are not counted, since sums may be
        begun anew; about 2·sums·k/√M for k far above √M. The stores of the sums come on top.

    Examples
    --------
    >>> sequential_bound(1000 * 1000, 10000, 100, fused=True)[0] / (2 * 10**10 / 10) > 0.93
    True
    """
    return best_with_restarts({k: sums}, M, TokenTable(M, product_supply), singles=not fused)


def two_products_bound(
    n: int, d: int, M: int, *, sums: str, fused: bool, partial: bool = False
) -> tuple[int, str]:
    """I/Os, in words, of A1·X·A2ᵀ as (A1·X)·A2ᵀ: the best over either product and ways to count.

    T = A1·X is no output: within a segment an entry of it may be made from scratch, which takes d words of
    A1, no fewer than the entries made in its row; and whole sums of it may be begun and used up.
    """
    found = [(products_bound(n, d, n, M, partial=partial)[0], "S")]
    table = TokenTable(M, product_supply)
    tokens, most = table.progress(1 / d)
    # With operands one at a time a word of a sum may stand for one product, and for the sum besides.
    found.append((best_tokens(n * d * d, M, 2, (tokens, most + tokens * partial))[0], "T"))
    if sums == "chain" and not (fused and partial):
        stores = n * n
        for count, name in ((n * n, "S in sequence"), (n * d, "T in sequence")):
            found.append((best_with_restarts({d: count}, M, table, singles=not fused)[0] + stores, name))
    return max(found)


def one_shot_bound(m: int, k: int, n: int, M: int, *, fused: bool, partial: bool = False) -> tuple[int, int]:
    """I/Os, in words, of an m × k × n product by sequential sums, each vertex computed once.

    Parameters
    ----------
    m, k, n, M : int
    fused : bool
        Whether products and adds are one vertex.
    partial : bool
        Whether operands are aggregated one at a time.

    Returns
    -------
    value, Y : int
        The bound, and the loads and begun sums per segment; about 2mkn/√M for large sizes.

    Examples
    --------
    >>> one_shot_bound(100, 100, 100, 48, fused=True)
    (289381, 90)
    """
    caps = (m * k, k * n, m * n)

    def progress(Y: NDArray[np.int64]) -> NDArray[np.int64]:
        tokens = float(M) + Y
        most = largest_volume(tokens, caps)
        if fused:
            # A sum that lacks one operand is finished by it, and goes on as the sum of its entry.
            return whole_progress(most + tokens if partial else most)
        # A product kept from before adds one term for one word.
        return whole_progress(np.maximum(most, tokens))

    # Where operands come one at a time the first product of a sum does not count.
    return best_segment(m * (k - 1 if partial else k) * n, progress)


def closed_form(m: int, k: int, n: int, M: int) -> int:
    """⌈mkn/√(2M)⌉ − M, as whole numbers.

    Examples
    --------
    >>> closed_form(100, 100, 100, 50)
    99950
    """
    product = m * k * n
    root = math.isqrt(product * product // (2 * M))
    while root * root * 2 * M < product * product:
        root += 1
    return max(0, root - M)


def cosma_formula(m: int, k: int, n: int, M: int) -> float:
    """2mkn/√M + mn, which is **no bound**: 4 × 1 × 4 costs 33 words at M = 3, and this says 34.5.

    Kwasniewski et al. (2019), theorem 1, state it; it fails for k < 2√M. Kept so that tests can show it.
    """
    return 2 * m * k * n / math.sqrt(M) + m * n


def _sizes(subject: Subject) -> tuple[int, int, int] | None:
    if subject.family != "matmul":
        return None
    m, k, n = subject.sizes("m", "k", "n")
    return m, k, n


def _products(subject: Subject, limit: Limit) -> Bound | None:
    sizes = _sizes(subject)
    if sizes is None:
        return None
    value, Y = products_bound(*sizes, subject.M, partial=subject.rules.partial)
    return Bound(
        value,
        "matmul-products",
        f"matmul, {where(subject)}, sums of any shape; {BLUE_SOURCES}",
        f"{_SOURCE}; docs/bounds.md",
        details={"Y": Y},
    )


def _closed_form(subject: Subject, limit: Limit) -> Bound | None:
    sizes = _sizes(subject)
    if sizes is None:
        return None
    return Bound(
        closed_form(*sizes, subject.M),
        "matmul-closed-form",
        f"matmul, hong-kung and one-shot, sums of any shape; {BLUE_SOURCES}",
        "mkn/√(2M) − M, after Hong & Kung (1981), corollary 6.2; docs/bounds.md",
    )


def _sequential(subject: Subject, limit: Limit) -> Bound | None:
    sizes = _sizes(subject)
    if sizes is None or subject.params["sums"] != "chain":
        return None
    m, k, n = sizes
    fused = bool(subject.params["fma"])
    if fused and subject.rules.partial:
        return None
    loads, Y, c = sequential_bound(m * n, k, subject.M, fused=fused)
    return Bound(
        loads + m * n,
        "matmul-sequential",
        f"matmul, {where(subject)}, sequential sums; {BLUE_SOURCES}",
        f"segments of loads; {_SOURCE}; docs/bounds.md",
        details={"loads_per_segment": Y, "uncounted_terms": c, "stores": m * n},
    )


def _two_products(subject: Subject, limit: Limit) -> Bound | None:
    if subject.family != "a1xa2t":
        return None
    n, d = subject.sizes("n", "d")
    sums = str(subject.params["sums"])
    value, counted = two_products_bound(
        n, d, subject.M, sums=sums, fused=bool(subject.params["fma"]), partial=subject.rules.partial
    )
    return Bound(
        value,
        "a1xa2t-products",
        f"a1xa2t, {where(subject)}, sums={sums}; {BLUE_SOURCES}",
        f"{_SOURCE}; docs/bounds.md",
        details={"counted": counted},
    )


def _one_shot(subject: Subject, limit: Limit) -> Bound | None:
    sizes = _sizes(subject)
    if sizes is None or subject.params["sums"] != "chain":
        return None
    partial = subject.rules.partial
    value, Y = one_shot_bound(*sizes, subject.M, fused=bool(subject.params["fma"]), partial=partial)
    return Bound(
        value,
        "matmul-one-shot",
        f"matmul, {'partial' if partial else 'one-shot only'}, sequential sums; {BLUE_SOURCES}",
        "Smith, Lowery, Langou & van de Geijn (2019), 2mkn/√M − 2M at Y = 2M; docs/bounds.md",
        details={"Y": Y},
    )


PRODUCTS = LowerBound("matmul-products", _products, partial=True, slides=True)
CLOSED_FORM = LowerBound("matmul-closed-form", _closed_form, slides=True)
SEQUENTIAL = LowerBound("matmul-sequential", _sequential, partial=True, slides=True)
TWO_PRODUCTS = LowerBound("a1xa2t-products", _two_products, partial=True, slides=True)
ONE_SHOT = LowerBound("matmul-one-shot", _one_shot, rules=("one-shot",), partial=True, slides=True)
