"""The backward pass of attention by every program, at many M: benchmarks/attention_table.md.

``python benchmarks/attention_table.py`` plays and counts everything and writes the page; with
``--effort 250`` it tries so many more plans and blocks of `tuned` where a graph is small enough to be played.
What is better than known is kept in benchmarks/best_known/attention.json, which holds strategies with all
their options, so that tests play and referee what it says, or count it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import graphs
import pebble
import solvers
import strategies
from graphs.spec import GraphSpec

HERE = Path(__file__).parent
FILE = HERE / "best_known" / "attention.json"
PAGE = HERE / "attention_table.md"

# n, d, the memories, and whether the graph is small enough to be played.
SIZES: list[tuple[int, int, tuple[int, ...], bool]] = [
    (16, 4, (5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 352), True),
    (64, 16, (6, 16, 64, 128, 192, 256, 320, 384, 448, 512, 768, 1024, 2048, 4096, 4300), True),
    (1024, 64, (64, 256, 1024, 2048, 4096, 6144, 8192, 16384, 65536), False),
    (4096, 128, (1024, 4096, 16384, 24576, 32768, 65536, 131072), False),
]
# The programs of the literature, and two that follow from them; then what is searched for.
PAPER = ("flash-attention", "two-pass", "algorithm6", "algorithm6:tiles=square")


def spec_of(n: int, d: int) -> str:
    """The graph: L and D given, sums in sequence."""
    return f"attention-backward:n={n},d={d}"


def counted(name: str, spec: str, M: int) -> int | None:
    """The I/O of a strategy by count, None where M is too small for it or it does not play the graph."""
    try:
        return strategies.count(name, spec, M).io
    except pebble.UnsupportedInstanceError:
        return None


def io_of(entry: dict[str, Any]) -> int:
    """The I/O of a strategy with its options, by the referee if it can only be played, else by count."""
    name = entry["strategy"].partition(":")[0]
    if isinstance(strategies.get(name), strategies.Countable):
        return strategies.count(entry["strategy"], entry["graph"], entry["M"]).io
    instance = pebble.Instance(graphs.build(entry["graph"]), entry["M"])
    return pebble.verify(strategies.play(entry["strategy"], instance)).io


def row(n: int, d: int, M: int, played: bool, effort: int, known: dict[str, Any] | None) -> dict[str, Any]:
    """What there is to say of one n, d and M."""
    spec = spec_of(n, d)
    programs = {name: counted(name, spec, M) for name in PAPER}
    cost, options = strategies.count_detail("hybrid", spec, M) if _least(spec) <= M else (None, {})
    found = []
    if cost is not None:
        found.append((cost.io, ":".join(["hybrid", *(f"{key}={value}" for key, value in options.items())])))
    tuned = None
    if played:
        instance = pebble.Instance(graphs.build(spec), M)
        tuned = strategies.play("tuned", instance, effort=effort)
        found.append((pebble.verify(tuned).io, tuned.producer))
    if known is not None:
        found.append((known["io"], known["strategy"]))
    io, strategy = min(found)
    bound = solvers.best_bound(spec, M)
    return {
        "graph": spec,
        "M": M,
        "io": io,
        "strategy": strategy,
        "programs": programs,
        "hybrid": None if cost is None else cost.io,
        "tuned": None if tuned is None else pebble.verify(tuned).io,
        "bound": bound.value,
        "bound_name": bound.name,
    }


def _least(spec: str) -> int:
    hybrid = strategies.get("hybrid")
    assert isinstance(hybrid, strategies.Countable)
    return hybrid.count_least_M(GraphSpec.parse(spec))


# -- the page ----------------------------------------------------------------------------------------------

HEAD = """# The backward pass of attention

I/O in words, hong-kung rules, L and D given; `python benchmarks/attention_table.py` makes this page. The
programs are FlashAttention's backward pass (keys outside), two passes with recomputation, and Algorithm 6,
with the better of its tiles and with square ones. `hybrid` is the best plan of tiles and passes by exact
count, `tuned` the best plans replayed, *best* the best known (with the strategy that gives it in
`benchmarks/best_known/attention.json`). *Rivals* are FlashAttention and Algorithm 6; the bound is the best of
all lower bounds. A dash: M is too small, or the graph too large to be played here.
"""


def page(rows: Iterable[dict[str, Any]]) -> str:
    """The page for the rows of the file."""
    lines = [HEAD.rstrip()]
    last = None
    for entry in rows:
        if entry["graph"] != last:
            last = entry["graph"]
            d = GraphSpec.parse(last).params["d"]
            lines += ["", f"## {last}", ""]
            lines.append(
                f"| M | M/d² | {' | '.join(PAPER)} | hybrid | tuned | best | /rivals | bound | /bound |"
            )
            lines.append("|" + "---:|" * (len(PAPER) + 8))
        rivals = [io for name, io in entry["programs"].items() if io is not None and name != "two-pass"]
        lines.append(
            f"| {entry['M']:,} | {entry['M'] / d**2:.2f} | "
            + " | ".join(_text(entry["programs"][name]) for name in PAPER)
            + f" | {_text(entry['hybrid'])} | {_text(entry['tuned'])} | **{entry['io']:,}** "
            f"| {_ratio(entry['io'], min(rivals) if rivals else 0)} "
            f"| {entry['bound']:,} ({entry['bound_name']}) | {_ratio(entry['io'], entry['bound'])} |"
        )
    return "\n".join([*lines, ""])


def _text(io: int | None) -> str:
    return "–" if io is None else f"{io:,}"


def _ratio(io: int, other: int) -> str:
    return f"{io / other:.3f}" if other else "–"


def read() -> dict[str, dict[str, Any]]:
    """The rows of the file by graph and M."""
    if not FILE.exists():
        return {}
    return {f"{entry['graph']} M={entry['M']}": entry for entry in json.loads(FILE.read_text())}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--effort", type=int, default=0, help="more plans and blocks that tuned tries, per M")
    arguments = parser.parse_args()
    known, rows = read(), []
    for n, d, memories, played in SIZES:
        for M in memories:
            entry = row(n, d, M, played, arguments.effort, known.get(f"{spec_of(n, d)} M={M}"))
            rows.append(entry)
            print(f"{entry['graph']} M={M}: {entry['io']:,} by {entry['strategy']}", flush=True)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(rows, indent=1) + "\n")
    PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
