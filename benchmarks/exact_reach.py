"""How far exact search reaches: for each graph and M, the optimum proved or the gap left, in both rule sets.

    python benchmarks/exact_reach.py                 # the whole table, about an hour
    python benchmarks/exact_reach.py --only fft:8    # some graphs; their rows are replaced in the table
    python benchmarks/exact_reach.py --time 20

Writes exact_reach.json (every figure) and exact_reach.md (the table) beside this file. Limits are per
instance; the seconds in the table are process time, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import graphs
from pebble import Instance, Limit, Schedule
from pebble.result import Result
from solvers.search import SEARCH

HERE = Path(__file__).parent
TABLE = HERE / "exact_reach.json"
GRAPHS = [
    "fft:8",
    "pyramid:6",
    "pyramid:7",
    "pyramid:8",
    "grid:5x5",
    "grid:6x6",
    "grid:8x8",
    "matmul:2x3x2",
    "matmul:3x2x3",
    "matmul:3x3x3",
    "a1xa2t:n=2,d=2",
    "attention-backward:n=2,d=1",
    "attention-gradient:n=2,d=1",
    "fft:16",
]


def solve(instance: Instance, limit: Limit, upper: Schedule | None) -> tuple[Result, dict[str, Any]]:
    """Solve one instance; its row of figures."""
    started = time.process_time()
    result = SEARCH(instance, limit=limit, upper=upper)
    seconds = time.process_time() - started
    return result, {
        "M": instance.M,
        "rules": str(instance.rules),
        "status": str(result.status),
        "io": result.io,
        "lower_bound": result.lower_bound,
        "states": result.stats["states"],
        "seconds": round(seconds, 2),
        "limit_hit": result.limit_hit,
        "limit_seconds": limit.time,
    }


def rows_of(spec: str, limit: Limit) -> list[dict[str, Any]]:
    """Both rule sets at every M, from the least feasible one until only compulsory I/O is left."""
    cdag = graphs.build(spec)
    compulsory = int((cdag.is_source | cdag.is_output).sum())
    rows = []
    M = Instance(cdag, 1).least_M
    while True:
        one_shot, row = solve(Instance(cdag, M, "one-shot"), limit, None)
        rows.append({"graph": spec, **row})
        upper = one_shot.schedule
        assert upper is not None
        other = Instance(cdag, M, "hong-kung")
        _, row = solve(other, limit, Schedule(other, upper.moves, producer=upper.producer))
        rows.append({"graph": spec, **row})
        for shown in rows[-2:]:
            print(shown, flush=True)
        if one_shot.io == compulsory:
            return rows
        M += 1


def markdown(rows: list[dict[str, Any]], memory_mb: float) -> str:
    """The table: one line per graph and M, the optimum, or the interval where a gap is left."""
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for row in rows:
        value = f"**{row['io']}**" if row["status"] == "optimal" else f"{row['lower_bound']} … {row['io']}"
        cells.setdefault((row["graph"], row["M"]), {})[row["rules"]] = (
            f"{value} | {row['seconds']:.1f} | {row['states']:,}"
        )
    proved = sum(row["status"] == "optimal" for row in rows)
    lines = [
        "# Reach of exact search",
        "",
        "Least I/O in words; bold where proved, else lower bound … best schedule.",
        f"{proved} of {len(rows)} proved. Limits per instance: {memory_mb:g} MB, one core, and the wall time",
        "that the json file gives for each row. Seconds are process time, states those expanded in all",
        "passes. Regenerate with `python benchmarks/exact_reach.py`.",
        "",
        "| graph | M | one-shot | s | states | hong-kung | s | states |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {graph} | {M} | {cell['one-shot']} | {cell['hong-kung']} |" for (graph, M), cell in cells.items()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write both files after every graph."""
    parser = argparse.ArgumentParser(description="Reach of exact search.")
    parser.add_argument("--only", nargs="*", default=GRAPHS, help="graph specs")
    parser.add_argument("--time", type=float, default=60.0, help="seconds of wall time per instance")
    parser.add_argument("--memory", type=float, default=4096.0, help="megabytes per instance")
    options = parser.parse_args()
    limit = Limit(time=options.time, memory_mb=options.memory)
    # The first calls compile the kernels, for one machine word per set and for two.
    for warm in ("tree:leaves=4", "chain:65"):
        for rules in ("one-shot", "hong-kung"):
            SEARCH(Instance(graphs.build(warm), 3, rules), limit=limit)
    stored = json.loads(TABLE.read_text()) if TABLE.exists() else []
    for spec in options.only:
        fresh = rows_of(spec, limit)
        stored = [row for row in stored if row["graph"] != spec] + fresh
        stored.sort(key=lambda row: GRAPHS.index(row["graph"]) if row["graph"] in GRAPHS else len(GRAPHS))
        TABLE.write_text("[\n" + ",\n".join(json.dumps(row) for row in stored) + "\n]\n")
        TABLE.with_suffix(".md").write_text(markdown(stored, options.memory))


if __name__ == "__main__":
    main()
