"""What `solve` leaves on graphs too large to be proved: schedule, bound and gap after a minute.

    python benchmarks/anytime.py                  # rows that are not in the table yet, a minute each
    python benchmarks/anytime.py --again          # all rows anew
    python benchmarks/anytime.py --only fft:16 --time 20

Writes anytime.json and anytime.md beside this file after every row. The limit is wall time; the seconds in
the table are those of the processors, children included, so that a busy machine can be told.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path
from typing import Any

import graphs
from pebble import Instance, Limit
from solvers.search.warming import compile_kernels
from solvers.solving import solve

TABLE = Path(__file__).parent / "anytime.json"
ROWS = [
    ("fft:16", (3, 4, 6, 8)),
    ("matmul:3x3x3", (3, 6, 10)),
    ("matmul:4x4x4", (3, 8, 24)),
    ("attention-forward:n=4,d=2", (3, 6, 16)),
]


def cpu_seconds() -> float:
    """Processor time of this process and of the children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(spec: str, M: int, rules: str, seconds: float) -> dict[str, Any]:
    """One row."""
    instance = Instance(graphs.build(spec), M, rules)
    compile_kernels(instance)
    before = cpu_seconds()
    result = solve(instance, limit=Limit(time=seconds))
    return {
        "graph": spec,
        "M": M,
        "rules": rules,
        "num_vertices": instance.cdag.num_vertices,
        "status": str(result.status),
        "io": result.io,
        "schedule_by": result.stats["schedule_by"],
        "lower_bound": result.lower_bound,
        "bound_by": "" if result.bound is None else result.bound.name,
        "gap": result.gap,
        "limit_seconds": seconds,
        "cpu_seconds": round(cpu_seconds() - before, 1),
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table, with the gap in per cent of the bound."""
    lines = [
        "# Anytime: a limit on time, graphs of 60 to 160 vertices",
        "",
        "`solvers.solve` with its defaults: the best schedule, refereed, and the best proved bound, in words",
        "of I/O. The limit is wall time (in the json file), the seconds are processor time of all",
        "processes: on an idle machine with two cores about twice the limit. Regenerate with",
        "`python benchmarks/anytime.py --again`.",
        "",
        "| graph | vertices | M | rules | bound | schedule | gap | bound by | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['graph']} | {row['num_vertices']} | {row['M']} | {row['rules']} | {row['lower_bound']} "
        f"| {row['io']} | {100 * row['gap']:.1f} % | {row['bound_by']} | {row['cpu_seconds']:.0f} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is missing, or everything again."""
    parser = argparse.ArgumentParser(description="Schedules, bounds and gaps after a time limit.")
    parser.add_argument("--only", nargs="*", default=[spec for spec, _ in ROWS], help="graph specs")
    parser.add_argument("--again", action="store_true", help="also rows that are in the table")
    parser.add_argument("--time", type=float, default=60.0, help="seconds of wall time per row")
    options = parser.parse_args()
    stored = {}
    if TABLE.exists():
        stored = {(row["graph"], row["M"], row["rules"]): row for row in json.loads(TABLE.read_text())}
    wanted = [
        (spec, M, rules) for spec, memories in ROWS for M in memories for rules in ("hong-kung", "one-shot")
    ]
    for key in wanted:
        if key[0] not in options.only or (key in stored and not options.again):
            continue
        stored[key] = measure(*key, options.time)
        print(stored[key], flush=True)
        rows = [stored[k] for k in wanted if k in stored]
        TABLE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
        TABLE.with_suffix(".md").write_text(markdown(rows))


if __name__ == "__main__":
    main()
