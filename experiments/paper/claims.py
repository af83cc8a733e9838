"""Thirteen claims about the I/O of attention, each with a verdict drawn from the records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from experiments.paper.studies import (
    LARGE,
    NAMES,
    PROGRAMS,
    SMALL,
    Facts,
    Scale,
    backward,
    beyond,
    gradient,
    grouped,
    masked,
    programs_for,
)

__all__ = ["Claim", "judge"]

# A constant is steady if it does not grow by more than this from the least size to the largest.
_STEADY = 1.25


@dataclass(frozen=True)
class Claim:
    """A claim, what the records say of it, and the numbers that say so."""

    number: int
    statement: str
    verdict: str
    numbers: str


def judge(facts: Facts, scale: Scale) -> list[Claim]:
    """The claims in order, each judged by what has been computed now."""
    found = []
    for number, (statement, rule) in enumerate(_CLAIMS, 1):
        verdict, numbers = rule(facts, scale)
        found.append(Claim(number, statement, verdict, numbers))
    return found


def _crossings(facts: Facts, scale: Scale, small: str, large: str) -> list[float]:
    ratios = scale.crossing_ratios()
    return [facts.crossing(small, large, n, d, ratios) for n, d in scale.crossings]


def _span(values: list[float], digits: int = 2) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _crossover(facts: Facts, scale: Scale) -> tuple[str, str]:
    pairs = [c for s in SMALL for g in LARGE for c in _crossings(facts, scale, s, g)]
    holds = min(pairs) >= 0.25 and max(pairs) <= 4
    sizes = ", ".join(f"({n}, {d})" for n, d in scale.crossings)
    return (
        "holds" if holds else "does not hold here",
        f"M/d² at the crossing is {_span(pairs)} over six pairs of programs and (n, d) = {sizes}",
    )


def _small_beats_large(facts: Facts, scale: Scale) -> tuple[str, str]:
    least = {
        (s, g): min(_crossings(facts, scale, s, g))
        for s in SMALL
        for g in ("flash-attention-1", "flash-attention")
    }
    square = min(value for (s, _), value in least.items() if s == SMALL[0])
    streaming = min(value for (s, _), value in least.items() if s == SMALL[1])
    if min(square, streaming) >= 1:
        verdict = "holds"
    else:
        verdict = "holds for streaming tiles" if streaming >= 1 else "does not hold here"
    parts = [f"{NAMES[s]} beats {NAMES[g]} up to {value:.2f} d²" for (s, g), value in least.items()]
    return verdict, "at every size tried " + "; ".join(parts)


def _every_memory(facts: Facts, scale: Scale) -> tuple[str, str]:
    from graphs.catalog import parse
    from strategies.catalog import REGISTRY

    spec = parse(backward(scale.n, scale.d))
    least = {}
    for name in ("flash-attention", "flash-attention-1"):
        strategy = REGISTRY.get(name)
        least[name] = strategy.count_least_M(spec)  # type: ignore[attr-defined]
    verdict = "holds" if max(least.values()) <= scale.d else "false"
    parts = [f"{NAMES[name]} needs {M:,} words ({M / scale.d:.2f} d)" for name, M in least.items()]
    return verdict, f"with d = {scale.d}: " + ", ".join(parts)


def _literal_blocks(facts: Facts, scale: Scale) -> tuple[str, str]:
    fitting = [M for M in scale.sizes() if facts.io("flash-attention-1", scale.spec, M) is not None]
    shares = [facts.literal_peak(scale.spec, scale.d, M) / M for M in fitting]
    verdict = "holds" if max(shares) <= 1 else "false"
    where = f"M from {fitting[0]:,} to {fitting[-1]:,}, d = {scale.d}"
    return verdict, f"Bc = ⌈M/4d⌉, Br = min(Bc, d) need {_span(shares)} M for {where}"


def _matched(facts: Facts, scale: Scale) -> tuple[str, str]:
    by_size = {}
    for n, d in scale.gaps:
        ratios = []
        for M in (d * d // 4, d * d, 4 * d * d, 16 * d * d):
            best = facts.least(PROGRAMS, backward(n, d), M)
            if best is not None:
                ratios.append(best[0] / facts.bound(backward(n, d), M))
        by_size[n, d] = ratios
    tops = [max(ratios) for ratios in by_size.values()]
    verdict = "holds" if tops[-1] <= _STEADY * tops[0] else "the gap grows here"
    parts = [f"{_span(ratios)} at n = {n}, d = {d}" for (n, d), ratios in by_size.items()]
    return verdict, "best program over best bound, M from d²/4 to 16d²: " + "; ".join(parts)


def _large_optimal(facts: Facts, scale: Scale) -> tuple[str, str]:
    n, d = scale.large
    M, unit = 8 * d * d, n * n * d * d / (8 * d * d)
    spec = backward(n, d)
    constants = {
        name: io / unit for name in (*LARGE, "hybrid") if (io := facts.io(name, spec, M)) is not None
    }
    bound = facts.bound(spec, M) / unit
    best, flash = min(constants.values()), constants["flash-attention"]
    verdict = "in order, not in the constant" if best < 0.99 * flash else "not refuted here"
    parts = ", ".join(f"{NAMES[name]} {value:.1f}" for name, value in constants.items())
    rest = facts.io("row-resident", gradient(n, d), M)
    extra = "" if rest is None else f"; gradient in X alone: row-resident {rest / unit:.1f}"
    return (
        verdict,
        f"in units of n²d²/M at n = {n}, d = {d}, M = 8d²: {parts}, lower bound {bound:.1f}{extra}",
    )


def _whole_range(facts: Facts, scale: Scale) -> tuple[str, str]:
    parts, broken = [], False
    for graph, M in beyond(scale):
        formula, needed = facts.formula(graph, M, "theorem-1.1"), facts.bound(graph, M, "compulsory")
        broken |= formula < needed
        parts.append(
            f"`{graph}`, M = {M:,}: the formula says {formula:,}, reading and writing takes {needed:,}"
        )
    return ("false without a term nd + d²" if broken else "not refuted here"), "; ".join(parts)


def _standard(facts: Facts, scale: Scale) -> tuple[str, str]:
    M = scale.d**2 // 16
    claimed, bound = scale.n * scale.d + scale.n**2, facts.bound(scale.spec, M)
    verdict = "false below d²" if bound > 4 * claimed else "not refuted here"
    return (
        verdict,
        f"n = {scale.n}, d = {scale.d}, M = d²/16: nd + n² = {claimed:,}, but any program moves at least "
        f"{bound:,}",
    )


def _product(facts: Facts, scale: Scale) -> tuple[str, str]:
    record, formula = facts.optimum("matmul:4x1x4", 3), 2 * 4 * 1 * 4 / math.sqrt(3) + 16
    if record["status"] != "optimal":
        return "not decided here", f"the search stopped at {record['lower_bound']} to {record['io']}"
    verdict = "false for k < 2√M" if record["io"] < formula else "not refuted here"
    return verdict, f"4×1×4, M = 3: the optimum is {record['io']}, the formula says {formula:.2f}"


def _shape_of_sums(facts: Facts, scale: Scale) -> tuple[str, str]:
    chain, tree = facts.optimum("dot:4", 4), facts.optimum("dot:4,sums=tree", 4)
    if {chain["status"], tree["status"]} != {"optimal"}:
        return "not decided here", "the search did not end"
    verdict = "true of orders, not of costs" if chain["io"] != tree["io"] else "not refuted here"
    return (
        verdict,
        f"a dot product of 4 terms, M = 4: optimum {chain['io']} in sequence, {tree['io']} as a tree",
    )


def _recomputation(facts: Facts, scale: Scale) -> tuple[str, str]:
    free, once = facts.optimum("grid:4x4", 3), facts.optimum("grid:4x4", 3, "one-shot")
    n, d = scale.large
    M, spec = 8 * d * d, backward(n, d)
    two, flash = facts.io("two-pass", spec, M), facts.io("flash-attention", spec, M)
    assert two is not None
    assert flash is not None
    decided = free["status"] == once["status"] == "optimal"
    helps = two < flash or (decided and free["io"] < once["io"])
    tiny = f"4×4 grid, M = 3: optimum {free['io']} with, {once['io']} without; " if decided else ""
    scaled = f"n = {n}, d = {d}, M = 8d²: two passes move {1 - two / flash:.0%} less than FlashAttention"
    return ("yes" if helps else "not seen here"), tiny + scaled


def _sparse(facts: Facts, scale: Scale) -> tuple[str, str]:
    n, d = scale.masked
    ratios = []
    for mask in scale.masks:
        spec = masked(n, d, mask)
        for M in (d * d // 4, d * d, 4 * d * d):
            best = facts.least(programs_for(spec), spec, M)
            if best is not None:
                ratios.append(best[0] / facts.bound(spec, M))
    if not ratios:
        return "open here: no program plays masks", "bounds alone are in the table of masks"
    return (
        f"met within a factor of {max(ratios):.1f}",
        f"best program over best bound: {_span(ratios)} for {len(scale.masks)} masks, n = {n}, d = {d}, "
        "M = d²/4 to 4d²; no proof for all masks",
    )


def _heads(facts: Facts, scale: Scale) -> tuple[str, str]:
    n, d = scale.masked
    M = d * d // 4
    one, eight = facts.bound(grouped(n, d, 1, 1), M), facts.bound(grouped(n, d, 8, 8), M)
    verdict = "holds" if abs(eight / one / 8 - 1) < 0.05 else "not quite"
    return (
        verdict,
        f"n = {n}, d = {d}, M = d²/4: bound {one:,} for 1 head, {eight:,} for 8, {eight / one:.2f} times",
    )


_Rule = Callable[[Facts, Scale], tuple[str, str]]
_CLAIMS: tuple[tuple[str, _Rule], ...] = (
    ("The small- and the large-cache program cross at M = Θ(d²)", _crossover),
    ("Algorithm 6 beats FlashAttention for M < d²", _small_beats_large),
    ("FlashAttention's program exists for all M ≥ d", _every_memory),
    ("FlashAttention's block sizes fit in M words", _literal_blocks),
    ("Upper and lower bounds match up to a constant", _matched),
    ("FlashAttention is optimal for M ≥ d²", _large_optimal),
    ("Theorem 1.1 holds for every n and M", _whole_range),
    ("The standard backward pass moves Θ(nd + n²) words", _standard),
    ("A product moves at least 2mkn/√M + mn words (COSMA, theorem 1)", _product),
    ("The shape of sums does not matter", _shape_of_sums),
    ("Recomputation helps", _recomputation),
    ("The sparse lower bound is matched", _sparse),
    ("Bounds for several heads scale with the number of pairs", _heads),
)
