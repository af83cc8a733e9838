"""What attention under a mask costs at 65536 queries, against the lower bounds: the table of docs/masks.md.

``python benchmarks/masks_table.py`` prints it, ``--write`` puts it into the document. The I/O is counted
exactly; the pair-count bound is ``attention-pairs``, the best bound is the best of all that apply.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import solvers
import strategies

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "masks.md"
START, END = "<!-- table: python benchmarks/masks_table.py --write -->", "<!-- end of table -->"

MASKS = ("full", "causal", "window:4096", "window:512", "block:64:butterfly", "block:256:global")
CASES = [
    *(("attention-backward", mask, "", M) for mask in MASKS for M in (256, 4096, 16384, 65536)),
    *(("attention-forward", mask, "", M) for mask in MASKS for M in (256, 4096, 16384, 65536)),
    ("attention-backward", "causal", ",heads=8", 16384),
    ("attention-backward", "causal", ",heads=8,kv_heads=2", 16384),
]
HEADER = (
    "| n = 65536, d = 64 | M | program | I/O | pair-count bound | I/O over it | best bound | I/O over it |"
)
RULE = "|---|---:|---|---:|---:|---:|---|---:|"


def row(family: str, mask: str, more: str, M: int) -> tuple[str, float]:
    """A line of the table, and the CPU seconds that counting took."""
    spec = f"{family}:n=65536,d=64,mask={mask}{more}"
    start = time.process_time()
    cost, options = strategies.count_detail("masked-attention", spec, M)
    seconds = time.process_time() - start
    (pairs,) = solvers.bounds(spec, M, names=["attention-pairs"])
    best = solvers.best_bound(spec, M)
    blocks = "/".join(str(value) for key, value in options.items() if key != "program")
    return (
        f"| {family}, {mask}{more.replace(',', ', ')} | {M:,} | {options['program']} {blocks} | {cost.io:,} "
        f"| {pairs.value:,} | {_ratio(cost.io, pairs.value)} | {best.value:,} ({best.name}) "
        f"| {_ratio(cost.io, best.value)} |"
    ), seconds


def _ratio(io: int, bound: int) -> str:
    return f"{io / bound:.2f}" if bound else "–"


def main() -> None:
    lines, slowest = [HEADER, RULE], 0.0
    for case in CASES:
        line, seconds = row(*case)
        slowest = max(slowest, seconds)
        lines.append(line)
        print(f"{line}  {seconds:.2f} s", flush=True)
    print(f"slowest count: {slowest:.2f} s of CPU")
    if "--write" in sys.argv[1:]:
        text = DOCUMENT.read_text()
        before, _, rest = text.partition(START)
        _, _, after = rest.partition(END)
        DOCUMENT.write_text("\n".join([before + START, *lines, END]) + after)


if __name__ == "__main__":
    main()
