"""Attention bounded through the sums that take pairs: dV, dQ, dK backward, N and G in the paper's gradient.

Their products (pair, operand, sum) are counted, since a sum that is touched leaves a trace: a word of it is
kept, stored or loaded. Pairs made from scratch within a segment cost whole rows. Statements and proofs are in
docs/bounds.md, LB-O, LB-S, LB-R and LB-C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphs.heads import key_heads
from graphs.heads import keys as key_count
from graphs.masks import Mask, attention_mask
from pebble.result import Bound, Limit
from solvers.lower_bounds.attention import attention_shape
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject, where
from solvers.lower_bounds.rectangles import rectangle_progress, rectangles_bound
from solvers.lower_bounds.sum_lengths import SumLengths
from solvers.lower_bounds.tokens import (
    Supply,
    TokenTable,
    backward_supply,
    best_tokens,
    best_with_restarts,
    product_supply,
    rectangle_supply,
)

__all__ = [
    "ONE_SHOT",
    "OUTPUTS",
    "RECTANGLES",
    "SEQUENTIAL",
    "OutputSums",
    "one_shot_bound",
    "output_sums",
    "outputs_bound",
    "sequential_bound",
]


@dataclass(frozen=True)
class OutputSums:
    """The sums over pairs of one attention problem.

    Attributes
    ----------
    lengths : SumLengths, or a mapping of int to int
        How many sums there are of each number of pairs, all heads together.
    supply : callable
        H(u), see `solvers.lower_bounds.tokens`.
    inner : bool
        Whether a whole sum may be made and used up within a segment, since it is no output.
    stores : int
        Computed outputs, in words.
    row : int
        Words of a row, d, where the lemma on rectangles of pairs applies; else 0.
    """

    lengths: Mapping[int, int] | SumLengths
    supply: Supply
    inner: bool
    stores: int
    row: int = 0

    @property
    def products(self) -> int:
        """Products of all sums."""
        return SumLengths.of(self.lengths).products


def output_sums(subject: Subject) -> OutputSums | None:
    """The sums over pairs of an attention family's member, None for other graphs."""
    shape = attention_shape(subject)
    if shape is None:
        return None
    n, d = subject.sizes("n", "d")
    if subject.family == "attention-backward":
        return OutputSums(_lengths(subject), backward_supply(d), False, shape.outputs, d)
    if subject.family == "attention-forward":
        return OutputSums(_lengths(subject), rectangle_supply(d), False, shape.outputs)
    if subject.params["given"] == "E":
        return OutputSums({n: 2 * n * d}, rectangle_supply(d), True, shape.outputs)
    return OutputSums({n: n * d}, rectangle_supply(d, 54), True, shape.outputs)


def _lengths(subject: Subject) -> SumLengths:
    """How many sums over keys, and backward over queries, there are of each number of terms."""
    p = subject.params
    mask = attention_mask(p["mask"], p["n"], key_count(p))
    groups = key_heads(subject.family, p)
    return _grouped_lengths(mask, p["heads"], groups, p["d"], subject.family == "attention-forward")


@lru_cache(maxsize=8)
def _grouped_lengths(mask: Mask, heads: int, groups: int, d: int, forward: bool) -> SumLengths:
    (seen, rows), (seeing, columns) = mask.tallies
    over_keys = seen, heads * d * rows
    if forward:
        return SumLengths(*over_keys)
    return SumLengths.together(over_keys, (seeing * (heads // groups), 2 * groups * d * columns))


@lru_cache(maxsize=16)
def _table(M: int, supply: Supply) -> TokenTable:
    """Tables are shared by the bounds on one problem: supplies are cached, so they compare equal."""
    return TokenTable(M, supply)


def outputs_bound(
    problem: OutputSums, M: int, table: TokenTable | None = None, *, singles: bool = False
) -> tuple[int, int]:
    """LB-O: I/Os, in words, for sums of any shape; about 3√2·n²d/√M, then 6·n²d²/M, backward.

    With `singles`, as under partial computation, a word may stand for one product by itself; of an inner sum
    that leaves no trace also for the sum.

    Returns
    -------
    value, Y : int
        The bound, and the I/Os per segment that show it.

    Examples
    --------
    >>> problem = OutputSums({1024: 3 * 1024 * 64}, backward_supply(64), False, 3 * 1024 * 64)
    >>> outputs_bound(problem, 4096)[0] > 4_100_000
    True
    """
    table = table or _table(M, problem.supply)
    restart = 1 / SumLengths.of(problem.lengths).shortest if problem.inner else 0.0
    tokens, most = table.progress(restart, singles=singles)
    if singles and problem.inner:
        most = most + tokens
    if problem.row:
        rectangles = rectangle_progress(tokens.astype(np.int64), problem.row, np.inf, 0.5)
        most = np.minimum(most, np.maximum.accumulate(rectangles))
    return best_tokens(problem.products, M, 2, (tokens, most))


def sequential_bound(
    problem: OutputSums, M: int, *, fused: bool, table: TokenTable | None = None
) -> tuple[int, int, int]:
    """LB-S: I/Os, in words, for sequential sums; about 6·n²d/√M, then 10·n²d²/M, backward, less restarts.

    Returns
    -------
    value, Y, c : int
        The bound, the loads per segment and the uncounted first terms of each sum that show it.

    Examples
    --------
    >>> problem = OutputSums({1024: 3 * 1024 * 64}, backward_supply(64), False, 3 * 1024 * 64)
    >>> sequential_bound(problem, 4096, fused=False)[0] > 4_800_000
    True
    """
    table = table or _table(M, problem.supply)
    loads, Y, c = best_with_restarts(problem.lengths, M, table, singles=not fused)
    return loads + problem.stores, Y, c


def one_shot_bound(subject: Subject, *, fused: bool) -> tuple[int, int, str] | None:
    """LB-C: I/Os, in words, for sequential sums and no recomputation; no pair or sum is begun twice.

    Returns
    -------
    value, Y, form : int, int, str
        The bound, the loads and beginnings per segment, and which products it counts with which weights.
    """
    shape = attention_shape(subject)
    if shape is None:
        return None
    n, d = subject.sizes("n", "d")
    table = _table(subject.M, product_supply)
    all_pairs = shape.pairs * shape.heads
    best: tuple[int, int, str] | None = None
    for form, weight, pairs, sums, trees in _FORMS[subject.family, subject.params.get("given") == "dO"]:
        tokens, most = table.progress(singles=not fused)
        # The sums begun are the outputs, but in the gradient, where the outputs are of another shape.
        begun = sums * n * d if subject.family == "attention-gradient" else shape.outputs
        total = weight * all_pairs * d
        if subject.rules.partial:
            # First products do not count, of score-like trees and of sums; some are subtracted in vain.
            total -= 1000 * (trees * all_pairs + begun)
            if fused:
                # A sum that lacks one operand is finished by it, and goes on as the sum of its entry.
                most = most + tokens
        value, Y = best_tokens(total, subject.M, 1, (tokens, 1000 * most))
        found = (value - pairs * all_pairs - begun + shape.outputs, Y, form)
        best = found if best is None else max(best, found)
    return best


# Products counted and their weights; the sum of the weights in thousandths; beginnings per pair; sums begun,
# in units of nd, which the gradient needs; score-like trees of a pair whose products count. The weights are
# such that √p·Σ w√(x·y) is at most √p times half of all x and y: each product joins two kinds of words, and
# the matrix of half the weights has no eigenvalue above 1/2.
_FORMS: dict[tuple[str, bool], list[tuple[str, int, int, int, int]]] = {
    ("attention-backward", False): [
        ("dV, dQ, dK", 3000, 1, 3, 0),
        ("0.707 dP, 0.707 dV, dQ, dK", 3414, 2, 3, 1),
    ],
    ("attention-forward", False): [("S, N", 2000, 1, 1, 1), ("N", 1000, 1, 1, 0)],
    ("attention-gradient", False): [
        ("N, G", 2000, 1, 4, 0),
        ("0.707 S, 0.707 q, 0.707 N, 0.707 G", 2828, 2, 4, 2),
    ],
    ("attention-gradient", True): [("0.707 S, 0.707 G, q", 2414, 2, 3, 2)],
}


# Below this many times d² pairs are better kept than made from scratch, and the other bounds are higher.
_ROWS_FROM = 4


def _one_by_one(subject: Subject) -> bool:
    """Whether sums are sequential, and no partial value of one can lack more than one operand."""
    return subject.params["sums"] == "chain" and not (subject.rules.partial and subject.params["fma"])


def _outputs(subject: Subject, limit: Limit) -> Bound | None:
    problem = output_sums(subject)
    if problem is None:
        return None
    value, Y = outputs_bound(problem, subject.M, singles=subject.rules.partial)
    return Bound(
        value,
        "attention-outputs",
        f"{subject.family}, sums of any shape, {where(subject)}; {BLUE_SOURCES}",
        "segments of I/Os and Loomis-Whitney on the products that take pairs; docs/bounds.md, LB-O",
        details={"Y": Y},
    )


def _sequential(subject: Subject, limit: Limit) -> Bound | None:
    problem = output_sums(subject)
    if problem is None or not _one_by_one(subject):
        return None
    value, Y, c = sequential_bound(problem, subject.M, fused=bool(subject.params["fma"]))
    return Bound(
        value,
        "attention-sequential",
        f"{subject.family}, sequential sums, {where(subject)}; {BLUE_SOURCES}",
        "segments of loads and Loomis-Whitney on the products that take pairs; docs/bounds.md, LB-S",
        details={"loads_per_segment": Y, "uncounted_terms": c, "stores": problem.stores},
    )


def _rectangles(subject: Subject, limit: Limit) -> Bound | None:
    problem = output_sums(subject)
    if problem is None or not problem.row or not _one_by_one(subject):
        return None
    if subject.M // problem.row**2 < _ROWS_FROM:
        return None
    loads, Y, c = rectangles_bound(problem.lengths, problem.row, subject.M)
    if loads == 0:
        return None
    return Bound(
        loads + problem.stores,
        "attention-rectangles",
        f"{subject.family}, sequential sums, {where(subject)}; {BLUE_SOURCES}",
        "segments of loads, rectangles of pairs; docs/bounds.md, LB-R",
        details={"loads_per_segment": Y, "uncounted_terms": c, "stores": problem.stores},
    )


def _one_shot(subject: Subject, limit: Limit) -> Bound | None:
    if attention_shape(subject) is None or subject.params["sums"] != "chain":
        return None
    found = one_shot_bound(subject, fused=bool(subject.params["fma"]))
    if found is None or found[0] <= 0:
        return None
    value, Y, form = found
    rules = "partial" if subject.rules.partial else "one-shot only"
    return Bound(
        value,
        "attention-one-shot",
        f"{subject.family}, sequential sums, {rules}; {BLUE_SOURCES}",
        "after Smith, Lowery, Langou & van de Geijn (2019); docs/bounds.md, LB-C",
        details={"Y": Y, "products": form},
    )


OUTPUTS = LowerBound("attention-outputs", _outputs, partial=True, slides=True)
SEQUENTIAL = LowerBound("attention-sequential", _sequential, partial=True, slides=True)
RECTANGLES = LowerBound("attention-rectangles", _rectangles, partial=True, slides=True)
ONE_SHOT = LowerBound("attention-one-shot", _one_shot, rules=("one-shot",), partial=True, slides=True)
