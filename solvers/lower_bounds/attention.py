"""Segment bounds for attention: LB-A on the leaf products of the scores, LB-B on pairs of tokens.

n tokens, d the head dimension; a *pair* is a (query, key) pair whose score is computed, so a mask makes fewer
of them. The S-tree of a pair is its d products Q_ic K_jc and the vertices that add them up, whatever the
shape of the sum; likewise the dP-tree. Statements and proofs are in docs/bounds.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphs.heads import key_heads
from graphs.heads import keys as key_count
from graphs.masks import attention_mask
from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject, where
from solvers.lower_bounds.segments import best_segment, whole_progress

__all__ = ["PAIRS", "PRODUCTS", "AttentionShape", "attention_shape", "pairs_bound", "products_bound"]


@dataclass(frozen=True)
class AttentionShape:
    """What the attention bounds need to know of a problem.

    Attributes
    ----------
    pairs : int
        (query, key) pairs of one copy: n², or those that the mask lets through.
    d : int
        Head dimension.
    trees : int
        Score-like trees per pair: 2 backward (S and dP), 1 forward.
    outputs : int
        Computed outputs of all heads, in words.
    heads : int
        Disjoint copies that share the fast memory: key heads, since the query heads of a group are so many
        more queries of one copy.
    """

    pairs: int
    d: int
    trees: int
    outputs: int
    heads: int = 1


def attention_shape(subject: Subject) -> AttentionShape | None:
    """The shape of an attention family's member, None for other graphs."""
    p = subject.params
    if subject.family == "attention-gradient":
        outputs = 2 if p.get("outputs") == "dX+dY" else 1
        return AttentionShape(p["n"] ** 2, p["d"], 2, outputs * p["d"] ** 2)
    if subject.family not in ("attention-backward", "attention-forward"):
        return None
    n, d, n_k, heads, groups = p["n"], p["d"], key_count(p), p["heads"], key_heads(subject.family, p)
    pairs = attention_mask(p["mask"], n, n_k).pairs * (heads // groups)
    if subject.family == "attention-backward":
        return AttentionShape(pairs, d, 2, (heads * n + 2 * groups * n_k) * d, groups)
    return AttentionShape(pairs, d, 1, heads * n * d, groups)


def products_progress(Y: NDArray[np.int64], M: int, d: int, *, singles: bool = False) -> NDArray[np.int64]:
    """F(Y) = ((2M + Y)/3)^(3/2) + (M + Y)²/(4d): most leaf products first computed in Y I/Os.

    With `singles` a word may stand for one product by itself, and for its tree besides: 2M + Y more.
    """
    y = Y.astype(np.float64)
    most = ((2 * M + y) / 3) ** 1.5 + (M + y) ** 2 / (4 * d)
    return whole_progress(most + 2 * M + y if singles else most)


def pairs_progress(reads: NDArray[np.int64], M: int, d: int, trees: int) -> NDArray[np.int64]:
    """max(M + Y, ((M + Y)/2d·trees)²): most pairs whose last vertex is first computed in Y loads."""
    x = M + reads.astype(np.float64)
    return whole_progress(np.maximum(x, (x / (2 * d * trees)) ** 2))


def products_bound(shape: AttentionShape, M: int, *, singles: bool = False) -> tuple[int, int]:
    """LB-A: I/Os, in words, and the segment length Y that shows them.

    Examples
    --------
    >>> products_bound(AttentionShape(1024**2, 64, 2, 3 * 1024 * 64), 1024)
    (3148211, 2059)
    """
    total = shape.trees * shape.pairs * shape.d * shape.heads
    return best_segment(total, lambda Y: products_progress(Y, M, shape.d, singles=singles))


def pairs_bound(shape: AttentionShape, M: int) -> tuple[int, int]:
    """LB-B: I/Os, in words, outputs' stores included, and the number of loads per segment that shows them.

    Examples
    --------
    >>> pairs_bound(AttentionShape(1024**2, 64, 2, 3 * 1024 * 64), 4096)
    (1179632, 61439)
    """
    value, reads = best_segment(
        shape.pairs * shape.heads, lambda Y: pairs_progress(Y, M, shape.d, shape.trees)
    )
    return value + shape.outputs, reads


_HOLDS = f"sums of any shape; {BLUE_SOURCES}"


def _products(subject: Subject, limit: Limit) -> Bound | None:
    shape = attention_shape(subject)
    if shape is None:
        return None
    value, Y = products_bound(shape, subject.M, singles=subject.rules.partial)
    return Bound(
        value,
        "attention-products",
        f"{subject.family}; {where(subject)}, {_HOLDS}",
        "segments and Loomis-Whitney on the leaf products of the scores, after Hong & Kung (1981), Irony, "
        "Toledo & Tiskin (2004) and Saha & Ye (2024); docs/bounds.md, LB-A",
        details={"Y": Y, "progress": shape.trees * shape.pairs * shape.d * shape.heads},
    )


def _pairs(subject: Subject, limit: Limit) -> Bound | None:
    shape = attention_shape(subject)
    if shape is None:
        return None
    value, reads = pairs_bound(shape, subject.M)
    return Bound(
        value,
        "attention-pairs",
        f"{subject.family}; {where(subject)}, {_HOLDS}",
        "segments by loads, pairs of tokens, after Saha & Ye (2024), lemma 3.3; docs/bounds.md, LB-B",
        details={"loads_per_segment": reads, "progress": shape.pairs * shape.heads, "stores": shape.outputs},
    )


PRODUCTS = LowerBound("attention-products", _products, partial=True, slides=True)
PAIRS = LowerBound("attention-pairs", _pairs, partial=True, slides=True)
