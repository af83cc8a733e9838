"""The lemmas behind the bounds on all states of tiny graphs: exactly the most progress in a window of I/Os.

Each lemma claims that a segment of Y I/Os makes at most so much progress. Here every state from which a
segment may start is tried, with every way to go on. The claim must hold in all of them, and a claim of a
quarter of it must be refuted by some.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import graphs
from graphs.catalog import build, parse
from graphs.tracing import trace
from pebble.cdag import CDAG
from pebble.instance import Instance
from solvers.lower_bounds.attention import pairs_progress, products_progress
from solvers.lower_bounds.dominators import family_dominated
from solvers.lower_bounds.matmul import largest_volume
from solvers.lower_bounds.rectangles import least_skip, rectangle_progress
from solvers.lower_bounds.tokens import (
    TokenProgress,
    TokenTable,
    backward_supply,
    product_supply,
    rectangle_supply,
)
from tests.bound_checks import allowed, first_sums, leaf_products, partial_sums
from tests.window_states import most_progress


class Case(NamedTuple):
    """A graph, what is counted on it, what M words and Y I/Os allow, and how I/Os are counted."""

    cdag: CDAG
    goal: Any
    allowed: Callable[[int, int], float]
    how: dict[str, Any]
    above: Sequence[int] = (0,)  # M less the least one
    lengths: Sequence[int] = (1, 2, 3)


def shares(case: Case) -> list[float]:
    """The largest progress from every state, over what is allowed, for each M and Y."""
    least = Instance(case.cdag, 99).least_M
    return [
        most_progress(case.cdag, case.goal, least + more, Y, **case.how) / case.allowed(least + more, Y)
        for more in case.above
        for Y in case.lengths
    ]


# -- parts of attention, as functions to trace ------------------------------------------------------------


def scores(Q: Any, K: Any) -> dict[str, Any]:
    """The exponentials of the scores."""
    return {"u": np.exp(graphs.named("S", Q @ K.T))}


def weighted(Q: Any, K: Any, V: Any) -> dict[str, Any]:
    """Attention's numerator: one sum over keys for each query and column."""
    return {"N": np.exp(graphs.named("S", Q @ K.T)) @ V}


def score_gradients(Q: Any, K: Any, V: Any, dO: Any) -> dict[str, Any]:
    """Pairs as the backward pass makes them."""
    return {"dS": np.exp(Q @ K.T) * (dO @ V.T)}


def residuals(Q: Any, K: Any, V: Any, E: Any) -> dict[str, Any]:
    """Sums over keys that are no outputs, so that they may be used up."""
    return {"c": graphs.named("N", np.exp(Q @ K.T) @ V) - E}


def kept_pairs(p: Any, V: Any, E: Any) -> dict[str, Any]:
    """The same of pairs that are inputs."""
    return {"c": graphs.named("N", p @ V) - E}


def pairs_from_products(A1: Any, X: Any, A2: Any, A3: Any, Y: Any, c: Any) -> dict[str, Any]:
    """Pairs as the paper's gradient makes them: queries, keys and values are products themselves."""
    return {"p": np.exp(graphs.named("S", (A1 @ X) @ A2.T)) * (c @ (A3 @ Y).T)}


def product_of_three(A1: Any, X: Any, A2: Any) -> dict[str, Any]:
    """The inner product T is used up by the outer one."""
    return {"S": graphs.named("T", A1 @ X) @ A2.T}


def traced(function: Callable[..., Any], n: int, n_k: int, d: int, **options: Any) -> CDAG:
    """The graph of one of the above for n queries, n_k keys and rows of d words."""
    rows = {"K": n_k, "V": n_k, "A2": n_k, "A3": n_k, "X": d, "Y": d}
    names = inspect.signature(function).parameters
    return trace(function, **options, **{name: (rows.get(name, n), d) for name in names})


# -- the lemmas -------------------------------------------------------------------------------------------


def dominated(spec: str, **more: Any) -> Case:
    """Vertices red for the first time in Y loads, the sources too."""
    cdag, parsed = build(spec), parse(spec)
    question = family_dominated(parsed.family, parsed.params)
    assert question is not None
    most = lambda M, Y: float(question[2](np.array([M + Y]))[0])  # noqa: E731
    return Case(cdag, range(cdag.num_vertices), most, {}, **more)


def leaves_by_ios(spec: str, **more: Any) -> Case:
    """Matmul: products first computed in Y I/Os of a clean schedule, against Loomis & Whitney."""
    cdag, caps = build(spec), _caps(spec)
    most = lambda M, Y: float(largest_volume(np.array([2.0 * M + Y]), caps)[0])  # noqa: E731
    return Case(cdag, leaf_products(cdag, ("C",)), most, {"stores": True}, **more)


def sums_by_loads(spec: str, skip: int, **more: Any) -> Case:
    """Matmul, sequential: partial sums after the first `skip` terms, in Y loads."""
    cdag = build(spec)
    fused = cdag.sums["C"].layout.endswith("fma")
    progress = _tables(product_supply, 1 / (4 * skip), singles=not fused)
    goal = partial_sums(cdag, ("C",), skip)
    return Case(cdag, goal, lambda M, Y: allowed(progress(M), M + Y), {}, **more)


def sums_without_recomputation(spec: str, **more: Any) -> Case:
    """Matmul, one-shot: partial sums first computed in Y loads and beginnings."""
    cdag, caps = build(spec), _caps(spec)
    fused = cdag.sums["C"].layout.endswith("fma")

    def most(M: int, Y: int) -> float:
        volume = float(largest_volume(np.array([float(M + Y)]), caps)[0])
        return volume if fused else max(volume, M + Y)

    how = {"one_shot": True, "begun": first_sums(cdag, ("C",))}
    return Case(cdag, partial_sums(cdag, ("C",), 0), most, how, **more)


def inner_by_ios(cdag: CDAG, **more: Any) -> Case:
    """(A1·X)·A2ᵀ: products of A1·X first computed in Y I/Os, sums used up within them included."""
    progress = _tables(product_supply, 1 / cdag.sums["T"].k)
    goal = leaf_products(cdag, ("T",))
    return Case(cdag, goal, lambda M, Y: allowed(progress(M), 2 * M + Y), {"stores": True}, **more)


def scores_by_ios(cdag: CDAG, d: int, trees: Sequence[str] = ("S",), **more: Any) -> Case:
    """LB-A: leaf products of the scores first computed in Y I/Os of a clean schedule."""
    most = lambda M, Y: float(products_progress(np.array([Y]), M, d)[0])  # noqa: E731
    return Case(cdag, leaf_products(cdag, trees), most, {"stores": True}, **more)


def pairs_by_loads(cdag: CDAG, last: str, trees: int, d: int, **more: Any) -> Case:
    """LB-B: pairs whose last vertex is first computed in Y loads."""
    most = lambda M, Y: float(pairs_progress(np.array([Y]), M, d, trees)[0])  # noqa: E731
    return Case(cdag, cdag.tensors[last].ravel(), most, {}, **more)


def outputs_by_ios(cdag: CDAG, sums: Sequence[str], d: int, *, inner: bool = False, **more: Any) -> Case:
    """LB-O: products of the sums over pairs first computed in Y I/Os of a clean schedule."""
    backward = "dV" in sums
    restart = 1 / cdag.sums[sums[0]].k if inner else 0.0
    progress = _tables(backward_supply(d) if backward else rectangle_supply(d), restart)

    def most(M: int, Y: int) -> float:
        tokens = allowed(progress(M), 2 * M + Y)
        if not backward:
            return tokens
        return min(tokens, float(rectangle_progress(np.array([2 * M + Y]), d, np.inf, 0.5)[0]))

    return Case(cdag, leaf_products(cdag, sums), most, {"stores": True}, **more)


def outputs_by_loads(cdag: CDAG, sums: Sequence[str], skip: int, d: int, **more: Any) -> Case:
    """LB-S: partial sums over pairs after the first `skip` terms, in Y loads."""
    fused = cdag.sums[sums[0]].layout.endswith("fma")
    supply = backward_supply(d) if "dV" in sums else rectangle_supply(d)
    progress = _tables(supply, 1 / (4 * skip), singles=not fused)
    goal = partial_sums(cdag, sums, skip)
    return Case(cdag, goal, lambda M, Y: allowed(progress(M), M + Y), {}, **more)


def rectangles_by_loads(spec: str, split: float, Y: int) -> Case:
    """LB-R: partial sums of dK where pairs are kept, after the terms that the lemma asks for.

    What a pair is made of is left out, so the graph is a product of dSᵀ and Q.
    """
    cdag = build(spec)
    skip = least_skip(Instance(cdag, 99).least_M + Y, 1, split)
    most = lambda M, Y: float(rectangle_progress(np.array([M + Y]), 1, skip, split)[0])  # noqa: E731
    return Case(cdag, partial_sums(cdag, ("C",), skip), most, {}, lengths=(Y,))


def begun_once(
    cdag: CDAG, weights: dict[str, float], pairs: Sequence[str], *, fused: bool, **more: Any
) -> Case:
    """LB-C: weighted partial sums first computed in Y loads and beginnings, of pairs and of their sums."""
    goal = {
        int(v): round(1000 * weight)
        for name, weight in weights.items()
        for v in partial_sums(cdag, (name,), 0)
    }
    progress = _tables(product_supply, 0.0, singles=not fused)
    sums = [name for name in weights if name not in pairs]
    begun = np.concatenate((first_sums(cdag, sums), first_sums(cdag, pairs)))
    how = {"one_shot": True, "begun": begun}
    return Case(cdag, goal, lambda M, Y: 1000 * allowed(progress(M), M + Y), how, **more)


def _caps(spec: str) -> tuple[int, int, int]:
    p = parse(spec).params
    return p["m"] * p["k"], p["k"] * p["n"], p["m"] * p["n"]


def _tables(supply: Any, restart: float, *, singles: bool = False) -> Callable[[int], TokenProgress]:
    return cache(lambda M: TokenTable(M, supply).progress(restart, singles=singles))


def _one_shot(spec: str, weights: dict[str, float], pairs: Sequence[str], **more: Any) -> Case:
    return begun_once(build(spec), weights, pairs, fused=parse(spec).params["fma"], **more)


def _backward() -> CDAG:
    return build("attention-backward:n=1,d=1")


def _forward() -> CDAG:
    return build("attention-forward:n=1,d=1")


_BOTH = {"S": 1.0, "N": 1.0}
_THREE = {"dV": 1.0, "dQ": 1.0, "dK": 1.0}
_FOUR = {"dP": 0.707, "dV": 0.707, "dQ": 1.0, "dK": 1.0}

# For each lemma graphs on which it is tried, in one of which a quarter of it is too little.
LEMMAS: dict[str, Callable[[], list[Case]]] = {
    "dominators-fft": lambda: [dominated("fft:2"), dominated("fft:4", lengths=(1, 2))],
    "dominators-pyramid": lambda: [dominated("pyramid:2"), dominated("pyramid:3", above=(0, 1))],
    "dominators-stencil1d": lambda: [
        dominated("stencil1d:n=4,t=2", lengths=(1,)),
        dominated("stencil1d:n=3,t=3", lengths=(1, 2)),
    ],
    "dominators-stencil2d": lambda: [
        dominated("stencil2d:rows=2,cols=2,t=2", lengths=(1, 2)),
        dominated("stencil2d:rows=2,cols=3,t=1", lengths=(1, 2)),
    ],
    "matmul-products": lambda: [
        leaves_by_ios("matmul:1x2x1", above=(0, 1)),
        leaves_by_ios("matmul:2x1x2"),
        leaves_by_ios("matmul:1x3x1,fma=true"),
    ],
    "matmul-sequential": lambda: [
        sums_by_loads("matmul:1x2x1", 1, above=(0, 1)),
        sums_by_loads("matmul:1x3x1", 1),
        sums_by_loads("matmul:1x3x1", 2),
        sums_by_loads("matmul:1x4x1,fma=true", 1),
    ],
    "matmul-one-shot": lambda: [
        sums_without_recomputation("matmul:1x3x1", above=(0, 1)),
        sums_without_recomputation("matmul:2x1x2,fma=true"),
    ],
    "a1xa2t-products": lambda: [
        inner_by_ios(build("a1xa2t:n=2,d=1"), lengths=(1,)),
        inner_by_ios(trace(product_of_three, A1=(1, 4), X=(4, 1), A2=(1, 1)), above=(1,), lengths=(3,)),
    ],
    "attention-products": lambda: [
        scores_by_ios(_forward(), 1, above=(0, 1)),
        scores_by_ios(_backward(), 1, ("S", "dP"), lengths=(1, 2)),
        scores_by_ios(traced(pairs_from_products, 1, 1, 1), 1, above=(0, 1)),
        scores_by_ios(traced(scores, 1, 1, 3, sums="flat"), 3),
        scores_by_ios(traced(scores, 1, 2, 2), 2, lengths=(1, 2)),
    ],
    "attention-pairs": lambda: [
        pairs_by_loads(_forward(), "u", 1, 1),
        pairs_by_loads(_backward(), "dS", 2, 1, lengths=(1, 2)),
        pairs_by_loads(traced(scores, 1, 2, 1), "u", 1, 1, above=(0, 1)),
        pairs_by_loads(traced(score_gradients, 1, 2, 1), "dS", 2, 1, lengths=(1, 2)),
        pairs_by_loads(build("attention-gradient:n=1,d=1"), "p", 2, 1, lengths=(1,)),
    ],
    "attention-outputs": lambda: [
        outputs_by_ios(_forward(), ("N",), 1, above=(0, 1)),
        outputs_by_ios(_backward(), tuple(_THREE), 1),
    ],
    "attention-outputs-of-the-gradient": lambda: [
        outputs_by_ios(build("attention-gradient:n=1,d=1"), ("N", "G"), 1, inner=True, lengths=(1,)),
        outputs_by_ios(traced(residuals, 1, 2, 1), ("N",), 1, inner=True),
        # One column of three; what the pairs are made of is left out.
        outputs_by_ios(
            trace(kept_pairs, p=(1, 5), V=(5, 1), E=(1, 1)),
            ("N",),
            3,
            inner=True,
            above=(1,),
            lengths=(1,),
        ),
    ],
    "attention-sequential": lambda: [
        outputs_by_loads(traced(weighted, 1, 2, 1, fma=True), ("N",), 1, 1),
        outputs_by_loads(traced(weighted, 1, 3, 1), ("N",), 1, 1, lengths=(1,)),
    ],
    "attention-rectangles": lambda: [
        rectangles_by_loads("matmul:1x4x1", 0.5, 1),
        rectangles_by_loads("matmul:1x5x1", 0.5, 2),
    ],
    "attention-one-shot": lambda: [
        _one_shot("attention-forward:n=1,n_k=2,d=1", _BOTH, ["S"], lengths=(1, 2)),
        _one_shot("attention-forward:n=1,d=2", _BOTH, ["S"], lengths=(1, 2)),
        _one_shot("attention-backward:n=1,d=1", _THREE, ["S"]),
        _one_shot("attention-backward:n=1,d=1", _FOUR, ["S", "dP"]),
    ],
    "attention-one-shot-fused": lambda: [
        _one_shot("attention-forward:n=1,n_k=2,d=1,fma=true", _BOTH, ["S"], lengths=(1, 2)),
    ],
}


@pytest.mark.parametrize("name", LEMMAS)
def test_no_state_makes_more_progress_than_the_lemma_allows(name: str) -> None:
    """The lemma holds on every graph; on one of them a quarter of what it allows is exceeded."""
    found = [share for case in LEMMAS[name]() for share in shares(case)]
    print(f"{name}: at most {max(found):.3f} of what is allowed")
    assert all(share <= 1 for share in found)
    assert 4 * max(found) > 1


@pytest.mark.slow
def test_where_a_quarter_of_the_lemma_on_leaf_products_fails_first() -> None:
    """Graphs of scores with fewer vertices than the one above refute no quarter, whatever M and Y."""
    smallest = traced(scores, 1, 1, 3, sums="flat")
    assert smallest.num_vertices == 11
    tried = 0
    for sums in ("flat", "chain"):
        for n, n_k, d in ((1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 2, 1), (1, 1, 2)):
            cdag = traced(scores, n, n_k, d, sums=sums)
            if cdag.num_vertices < 11:
                assert max(shares(scores_by_ios(cdag, d, above=(0, 1, 2), lengths=range(1, 5)))) <= 0.25
                tried += 1
    assert tried == 8
