"""The report's sections, each a function of the records alone."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.paper.claims import judge
from experiments.paper.document import Picture, Section, Table
from experiments.paper.pictures import figure_one, gap_picture, io_picture, peak_picture
from experiments.paper.studies import (
    HEADS,
    LARGE,
    NAMES,
    PROGRAMS,
    SMALL,
    Facts,
    Scale,
    backward,
    forward,
    grouped,
    masked,
    programs_for,
)

__all__ = ["all_sections"]


def all_sections(facts: Facts, scale: Scale) -> list[Section]:
    """Every section in order."""
    makers = (claims, figure, table_one, crossovers, regimes, operations, peaks, heads, devices, sparse)
    return [make(facts, scale) for make in makers]


def claims(facts: Facts, scale: Scale) -> Section:
    """C1 to C13 with their verdicts."""
    rows = [[f"C{c.number}", c.statement, f"**{c.verdict}**", c.numbers] for c in judge(facts, scale)]
    return Section("Claims", [Table(("", "claim", "verdict", "computed now"), rows, left=4)])


def figure(facts: Facts, scale: Scale) -> Section:
    """The paper's Figure 1, and the counts behind it."""
    text = (
        "The published figure draws the two formulas. Counted at a true size the picture is the same up to "
        "the "
        "constants: FlashAttention's curves fall faster and begin only where their rows fit, and those of "
        "the "
        "tiles are below them for small M. Where two of them meet depends on which two: see Crossovers."
    )
    return Section("Figure 1: FlashAttention is not optimal below d²", [text, figure_one(facts, scale)])


def table_one(facts: Facts, scale: Scale) -> Section:
    """Problems and theorems, with the interval that is known at a finite size."""
    n, d = scale.masked
    small, large = d * d // 4, 4 * d * d
    masks = ["full", *scale.masks]
    rows = []
    for title, make, theorem in (
        ("forward", forward, "Saha & Ye 2024"),
        ("backward", masked, "Li et al. 2024"),
    ):
        for mask in masks:
            spec = make(n, d, mask)
            dense = mask == "full"
            arms = ("n²d/√M", "n²d²/M") if dense else ("Z_in √Z_QK/√M", "Z_in²/M")
            kind = "Θ" if dense else "Ω"
            source = theorem if dense else "Li et al. 2024, theorem 4.5"
            name = "dense" if dense else f"`mask={mask}`"
            cells = [_interval(facts, spec, M) for M in (small, large)]
            rows.append([f"{title}, {name}", f"{kind}({arms[0]})", f"{kind}({arms[1]})", source, *cells])
    text = (
        f"What the theorems say, and what is known at n = {n:,}, d = {d}: the best lower bound and the "
        "cheapest "
        "program, in words, and their ratio. The optimum lies in between. A single figure is a lower bound "
        "of a "
        "problem that no program plays yet. Z_in is the number of entries of an input matrix, Z_QK that of "
        "the pairs."
    )
    header = ("problem", "M < d²", "M ≥ d²", "theorem", "M = d²/4", "M = 4d²")
    return Section("Table 1, with finite numbers", [text, Table(header, rows, left=4)])


def _interval(facts: Facts, spec: str, M: int) -> str:
    bound, best = facts.bound(spec, M), facts.least(programs_for(spec), spec, M)
    if best is None:
        return f"{bound:,}"
    return f"{bound:,} … {best[0]:,} ({best[0] / bound:.2f})"


def crossovers(facts: Facts, scale: Scale) -> Section:
    """The M/d² at which small- and large-cache programs cost the same."""
    ratios = scale.crossing_ratios()
    header = ["n, d", *(f"{s.partition('=')[2]} / {NAMES[g]}" for s in SMALL for g in LARGE)]
    rows = []
    for n, d in scale.crossings:
        found = [facts.crossing(s, g, n, d, ratios) for s in SMALL for g in LARGE]
        rows.append([f"{n:,}, {d}", *(f"{value:.2f}" for value in found)])
    text = (
        "The M/d² up to which Algorithm 6, with square or streaming tiles, moves fewer words than "
        "FlashAttention-1, "
        "FlashAttention (D computed beforehand) and the two-pass program; O is given, all block sizes are "
        "the best "
        f"ones for their M. Counted in steps of {scale.step:g} d² and interpolated between."
    )
    return Section("Crossovers", [text, Table(header, rows)])


def regimes(facts: Facts, scale: Scale) -> Section:
    """Which formula holds, which program wins, how far from the bound."""
    rows = []
    for ratio, M in zip(scale.ratios, scale.sizes(), strict=True):
        best = facts.least(PROGRAMS, scale.spec, M)
        published = facts.least((*SMALL, *LARGE), scale.spec, M)
        bound = facts.bound(scale.spec, M)
        assert best is not None
        assert published is not None
        regime = "n²d²/M" if scale.d**2 <= M else "n²d/√M"
        rows.append(
            [
                _fraction(ratio),
                regime,
                NAMES[published[1]],
                f"{M:,}",
                f"{published[0]:,}",
                f"{best[0]:,}",
                f"{bound:,}",
                f"{best[0] / bound:.2f}",
            ]
        )
    header = (
        "M/d²",
        "regime",
        "published program",
        "M (words)",
        "its I/O",
        "best, hybrid included",
        "bound",
        "ratio",
    )
    text = (
        f"`{scale.spec}`. The hybrid is the best plan of tiles and passes that a search over whole programs "
        "finds. "
        "All figures are words."
    )
    table = Table(header, rows, left=3)
    blocks: list[str | Table | Picture] = [text, table, io_picture(facts, scale), gap_picture(facts, scale)]
    return Section("Regimes", blocks)


def operations(facts: Facts, scale: Scale) -> Section:
    """Whether fewer words cost more arithmetic."""
    M = scale.d**2
    base = facts.record("count", "naive", scale.spec, M)["computes"]
    rows = []
    for name in (*SMALL, *LARGE, "hybrid", "naive"):
        record = facts.record("count", name, scale.spec, M)
        if record["io"] is None:
            continue
        again = record["recomputes"]
        rows.append(
            [
                NAMES[name],
                f"{record['computes']:,}",
                f"{record['computes'] / base:.3f}",
                f"{again:,}",
                f"{record['io']:,}",
            ]
        )
    square = facts.record("count", SMALL[0], scale.spec, M)["computes"]
    answer = "No" if square == base else "Yes"
    text = (
        f"Does Algorithm 6 need more arithmetic? **{answer}**: it computes every value once, {square:,} "
        "scalar "
        f"operations at n = {scale.n:,}, d = {scale.d}, as many as the graph has. Programs that compute "
        "values again "
        "to save words pay for it in operations. M = d²."
    )
    header = ("program", "operations", "relative", "of these again", "I/O (words)")
    return Section("Operations", [text, Table(header, rows)])


def peaks(facts: Facts, scale: Scale) -> Section:
    """What FlashAttention's printed block sizes need."""
    rows = []
    for ratio, M in zip(scale.ratios, scale.sizes(), strict=True):
        peak = facts.literal_peak(scale.spec, scale.d, M)
        fitting = facts.io("flash-attention-1", scale.spec, M)
        shown = "does not fit" if fitting is None else f"{fitting:,}"
        rows.append([_fraction(ratio), f"{M:,}", f"{peak:,}", f"{peak / M:.2f}", shown])
    header = ("M/d²", "M (words)", "peak with printed blocks", "peak / M", "I/O with blocks that fit")
    text = (
        "FlashAttention-1 prints Bc = ⌈M/4d⌉ and Br = min(Bc, d), sizes up to a constant. Played as printed, "
        "the "
        "tiles that are live together take more than M words; with smaller blocks the program fits."
    )
    return Section("FlashAttention's peak against M", [text, Table(header, rows), peak_picture(facts, scale)])


def heads(facts: Facts, scale: Scale) -> Section:
    """Several heads, and heads that share keys and values."""
    n, d = scale.masked
    rows = []
    for count, shared in HEADS:
        cells = [_heads_cell(facts, scale, count, shared, M) for M in (d * d // 4, d * d, 4 * d * d)]
        rows.append([str(count), str(shared), *cells])
    text = (
        f"n = {n:,}, d = {d}; best lower bound and cheapest program, in words, and their ratio. Heads with "
        "keys of "
        "their own share no value: the bound is that of all pairs together, and one head after the other, "
        "each by the "
        "cheapest program, is a schedule. Where heads share keys and values (grouped queries) there are as "
        "many pairs, "
        "but fewer keys to load and fewer gradients to store; there the programs that play such graphs are "
        "compared."
    )
    header = ("heads", "key heads", "M = d²/4", "M = d²", "M = 4d²")
    return Section("Heads and grouped queries", [text, Table(header, rows, left=2)])


def _heads_cell(facts: Facts, scale: Scale, count: int, shared: int, M: int) -> str:
    n, d = scale.masked
    spec, single = grouped(n, d, count, shared), grouped(n, d, 1, 1)
    together = facts.least(programs_for(spec), spec, M)
    apart = facts.least(programs_for(single), single, M)
    found = [] if together is None else [together[0]]
    if count == shared and apart is not None:
        found.append(count * apart[0])
    bound = facts.bound(spec, M)
    return f"{bound:,} … {min(found):,} ({min(found) / bound:.2f})" if found else f"{bound:,}"


def devices(facts: Facts, scale: Scale) -> Section:
    """Where real devices stand."""
    rows = []
    for device in scale.devices:
        cells = [_device_cell(facts, scale.tokens, d, device.M) for d in scale.head_dims]
        rows.append([device.name, device.word, f"{device.M:,}", *cells])
    header = ("device", "word", "M (words)", *(f"d = {d}" for d in scale.head_dims))
    text = (
        "M is the programmable fast memory of one core. Each cell: M/d², and of Algorithm 6 (A6), "
        "FlashAttention "
        f"(FA) and two passes (2P) the one that moves the fewest words at n = {scale.tokens:,}, with what it "
        "saves "
        "against the best of the other kind, small- or large-cache. Below 1 is the small-cache regime. "
        "`devices.toml` "
        "holds the sizes and their sources."
    )
    return Section("Devices", [text, Table(header, rows, left=2)])


def _device_cell(facts: Facts, n: int, d: int, M: int) -> str:
    spec = backward(n, d)
    small, large = facts.least(SMALL, spec, M), facts.least(("flash-attention", "two-pass"), spec, M)
    place = f"{M / d**2:.2f}"
    if small is None or large is None:
        return f"{place}: {'A6' if small else 'FA' if large else 'none'} alone fits"
    (best, name), (other, _) = sorted((small, large))
    short = {"flash-attention": "FA", "two-pass": "2P"}.get(name, "A6")
    return f"{place}: {short}, {1 - best / other:.0%} less"


def sparse(facts: Facts, scale: Scale) -> Section:
    """Masks: pairs, the theorem's form, the bound, the cheapest program."""
    n, d = scale.masked
    rows: list[Sequence[str]] = []
    for mask in ("full", *scale.masks):
        spec = masked(n, d, mask)
        share = _pairs(n, mask) / n**2
        for M in (d * d // 4, d * d, 4 * d * d):
            best = facts.least(programs_for(spec), spec, M)
            bound = facts.bound(spec, M)
            cells = ("", "") if best is None else (f"{best[0]:,}", f"{best[0] / bound:.2f}")
            rows.append(
                [
                    f"`{mask}`",
                    "none yet" if best is None else NAMES.get(best[1], f"`{best[1]}`"),
                    _fraction(M / d**2),
                    f"{share:.1%}",
                    f"{facts.formula(spec, M, 'sparse-theorem'):,}",
                    f"{bound:,}",
                    *cells,
                ]
            )
    header = (
        "mask",
        "cheapest program",
        "M/d²",
        "pairs",
        "theorem, constant 1",
        "lower bound",
        "I/O",
        "ratio",
    )
    text = (
        f"The backward pass under masks, n = {n:,}, d = {d}, in words. The theorem speaks of orders alone; "
        "the bound "
        "holds as it stands, and a program, where one plays the mask, shows how much of it is needed."
    )
    return Section("Sparse attention", [text, Table(header, rows, left=2)])


def _fraction(ratio: float) -> str:
    """A ratio as people write it.

    Examples
    --------
    >>> _fraction(3 / 16), _fraction(1.5), _fraction(4.0)
    ('3/16', '1.5', '4')
    """
    from fractions import Fraction

    exact = Fraction(ratio).limit_denominator(1024)
    return str(exact) if ratio < 1 else f"{ratio:g}"


def _pairs(n: int, mask: str) -> int:
    from graphs.masks import attention_mask

    return attention_mask(mask, n, n).pairs
