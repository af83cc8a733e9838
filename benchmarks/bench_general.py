"""`auto` on structured and general sparse graphs: its I/O against depth first with Belady, and bounds.

``python benchmarks/bench_general.py`` plays everything, keeps what is better than known in
benchmarks/best_known/general.json, whose orders tests replay and referee, and writes benchmarks/general.md.
``--moves 50`` lets the local search try no more than 50 thousand moves per graph, ``--only cg`` plays the
graphs with that text in their spec, ``--only oracle`` or ``--only speed`` makes one of the other tables,
``--only bounds`` the column of bounds; the rest of the page stays as it was.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import graphs
import pebble
import solvers
import strategies
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.result import Limit
from strategies.replaying import replay

HERE = Path(__file__).parent
FILE = HERE / "best_known" / "general.json"
PAGE = HERE / "general.md"
ORACLE = HERE.parent / "tests" / "oracle_optima.json"

# Spec, M (0: the largest in-degree + 1), and thousands of moves.
STRUCTURED = [
    ("fft:16", 4, 40),
    ("fft:16", 5, 40),
    ("fft:16", 6, 40),
    ("fft:64", 6, 40),
    ("fft:256", 18, 40),
    ("fft:1024", 34, 10),
    ("fft:4096", 66, 4),
    ("stencil1d:n=100,t=50", 10, 40),
    ("stencil2d:rows=16,cols=16,t=8", 34, 40),
    ("grid:24x24", 6, 40),
    ("pyramid:24", 6, 40),
    ("tree:leaves=256", 3, 40),
    ("lu:10", 16, 40),
    ("cholesky:12", 16, 40),
    ("matmul:10x10x10", 16, 40),
    ("matmul:16x16x16", 24, 40),
    ("a1xa2t:n=16,d=4", 24, 40),
]
# The kinds and sizes of the largest fine-grained graphs in collections of computational DAGs; spmv-power is
# called exp there.
SPARSE = [
    ("spmv:n=120,p=0.18", 0, 300),
    ("spmv:n=400,p=0.012", 0, 400),
    ("spmv-power:n=50,k=12,p=0.15", 0, 400),
    ("spmv-power:n=200,k=6,p=0.01", 0, 400),
    ("knn:n=45,k=15,p=0.16", 0, 400),
    ("knn:n=300,k=12,p=0.008", 0, 400),
    ("cg:n=24,k=22,p=0.2", 0, 200),
    ("cg:n=100,k=6,p=0.02", 0, 80),
]
LARGE = ["random-layered:w=1000,d=1000,k=3", "stencil1d:n=1000,t=1000", "fft:65536", "spmv:n=710,p=1.0"]
RULES = {"structured": "hong-kung", "sparse": "one-shot"}
# Longer orders are not kept: `blocked` and the like find them again in no time.
MOST_KEPT = 8000


def pack(order: np.ndarray) -> str:
    """An order as text."""
    return base64.b85encode(zlib.compress(order.astype("<u4").tobytes(), 9)).decode()


def unpack(text: str) -> np.ndarray:
    """The order behind a text of `pack`."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype="<u4").astype(np.int64)


def play_one(kind: str, spec: str, words: int, thousands: int, seed: int, known: dict[str, Any]) -> None:
    """Play a graph and note what came out; the best order so far is kept."""
    cdag = graphs.build(spec)
    M = words or Instance(cdag, 1).least_M
    instance = Instance(cdag, M, RULES[kind])
    key = f"{spec} M={M} {RULES[kind]}"
    dfs = pebble.verify(strategies.play("belady:order=dfs", instance)).io
    first = strategies.play("auto", instance)
    quick = pebble.verify(first).io
    limit = Limit(nodes=1000 * thousands)
    start = time.process_time()
    schedule = strategies.play("auto", instance, limit=limit, seed=seed)
    seconds = time.process_time() - start
    auto = pebble.verify(schedule).io
    if quick < auto:
        schedule = first
    bound = solvers.best_bound(instance)
    row = known.setdefault(key, {"kind": kind, "graph": spec, "M": M, "rules": RULES[kind], "io": 2**62})
    row |= {"vertices": cdag.num_vertices, "dfs": dfs, "quick": quick, "auto": auto}
    row |= {"moves": limit.nodes, "seed": seed, "seconds": round(seconds, 1)}
    row |= {"bound": bound.value, "bound_name": bound.name}
    replayed = pebble.verify(replay(instance, schedule.order())).io
    if len(schedule.order()) > MOST_KEPT:
        if quick < row["io"]:
            # A spec such as blocked:blocks=6+6, unless its order was taken further.
            made_by = first.info["from"]
            row |= {"io": quick, "strategy": "auto" if " " in made_by else made_by}
    elif replayed < row["io"]:
        row |= {"io": replayed, "order": pack(schedule.order())}
    print(
        f"{key:50}{dfs:>8,}{quick:>8,}{auto:>8,}{auto / dfs:>8.3f}{row['io']:>8,}{seconds:8.1f}", flush=True
    )


def oracle(every: int = 1) -> dict[str, dict[str, float]]:
    """`auto`, and `auto` then `improve`, on every so many of the small graphs whose optimum is proved.

    Returns
    -------
    dict
        Per rule set: number of instances, geometric means of I/O over optimum, how many of the instances of
        up to 20 vertices `improve` ends on at the optimum, and the most seconds of processor time.
    """
    found = {}
    for rules in ("hong-kung", "one-shot"):
        instances = [
            (
                Instance(
                    CDAG.from_edges(row["num_vertices"], row["edges"], weights=row["weights"]), int(M), rules
                ),
                value,
            )
            for row in json.loads(ORACLE.read_text())
            for M, values in row["optimum"].items()
            if (value := values.get(rules, "infeasible")) != "infeasible"
        ]
        auto, improved = [], []
        small = exact = 0
        slowest = 0.0
        solvers.improve(strategies.play("auto", instances[0][0]))
        for instance, optimum in instances[::every]:
            start = time.process_time()
            schedule = strategies.play("auto", instance)
            best = solvers.improve(schedule)
            slowest = max(slowest, time.process_time() - start)
            if optimum:
                auto.append(pebble.verify(schedule).io / optimum)
                improved.append(pebble.verify(best).io / optimum)
            if instance.cdag.num_vertices <= 20:
                small += 1
                exact += pebble.verify(best).io == optimum
        found[rules] = {
            "instances": len(instances[::every]),
            "auto": round(mean(auto), 5),
            "improved": round(mean(improved), 5),
            "small": small,
            "small_exact": exact,
            "seconds": round(slowest, 2),
        }
        print(rules, found[rules], flush=True)
    return found


def speed() -> list[dict[str, Any]]:
    """`auto` without a limit on graphs of a million vertices, in vertices per second of processor time."""
    rows = []
    for spec in LARGE:
        cdag = graphs.build(spec)
        instance = Instance(cdag, 1 << max(6, instance_bits(cdag)))
        seconds = math.inf
        for _ in range(3):
            start = time.process_time()
            claim = strategies.play("auto", instance).claim
            seconds = min(seconds, time.process_time() - start)
        rate = cdag.num_vertices / seconds / 1e6
        rows.append(
            {
                "graph": spec,
                "M": instance.M,
                "vertices": cdag.num_vertices,
                "io": claim,
                "rate": round(rate, 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


def instance_bits(cdag: CDAG) -> int:
    """Binary digits of the least M."""
    return Instance(cdag, 1).least_M.bit_length()


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page(data: dict[str, Any]) -> str:
    """The Markdown page."""
    lines = ["# `auto` on any graph", "", "Written by `python benchmarks/bench_general.py`.", ""]
    for kind, title in (("sparse", "General sparse graphs"), ("structured", "Structured graphs")):
        rows = [row for row in data["rows"].values() if row["kind"] == kind]
        lines += [
            f"## {title}",
            "",
            f"{RULES[kind]} rules. `dfs`: depth first with Belady's rule. `auto`: as it comes, 4,000 moves "
            "of local search. `searched`: with as many moves as it says, in seconds of processor time. "
            "`known`: the best order on file, which tests replay and referee. `bound`: the best lower bound.",
            "",
            "| graph | M | vertices | dfs | auto | searched | moves | s | known | known/dfs | bound "
            "| known/bound |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for row in rows:
            lines.append(
                f"| {row['graph']} | {row['M']} | {row['vertices']:,} | {row['dfs']:,} | {row['quick']:,} | "
                f"{row['auto']:,} | {row['moves']:,} | {row['seconds']:.1f} | {row['io']:,} | "
                f"{row['io'] / row['dfs']:.3f} | {row['bound']:,} | {row['io'] / row['bound']:.2f} |"
            )
        if rows:
            searched = mean([row["auto"] / row["dfs"] for row in rows])
            known = mean([row["io"] / row["dfs"] for row in rows])
            lines += ["", f"Geometric means over `dfs`: searched {searched:.3f}, known {known:.3f}.", ""]
    if "oracle" in data:
        lines += [
            "## Small graphs with proved optima",
            "",
            "I/O over the optimum, geometric means; `improve` takes up what `auto` found.",
            "",
            "| rules | instances | auto | auto, improve | optimal up to 20 vertices | most s |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        for rules, row in data["oracle"]["every 1"].items():
            lines.append(
                f"| {rules} | {row['instances']} | {row['auto']:.5f} | {row['improved']:.5f} | "
                f"{row['small_exact']} of {row['small']} | {row['seconds']:.2f} |"
            )
        lines.append("")
    if "speed" in data:
        lines += [
            "## A million vertices",
            "",
            "`auto` without a limit: orders, blocks and eviction, no search. Per second of processor time.",
            "",
            "| graph | M | vertices | I/O | M vertices/s |",
            "|---|--:|--:|--:|--:|",
        ]
        for row in data["speed"]:
            lines.append(
                f"| {row['graph']} | {row['M']} | {row['vertices']:,} | {row['io']:,} | {row['rate']:.2f} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--moves", type=int, default=400, help="thousands per sparse graph, a tenth for others"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="graphs with this in their spec, oracle, speed, or bounds")
    given = parser.parse_args()
    data: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    known = data.setdefault("rows", {})

    def write() -> None:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(data, indent=1) + "\n")
        PAGE.write_text(page(data))

    for kind, specs in (("structured", STRUCTURED), ("sparse", SPARSE)):
        for spec, words, thousands in specs:
            if given.only in spec or given.only == kind:
                most = thousands if given.moves is None else min(thousands, given.moves)
                play_one(kind, spec, words, most, given.seed, known)
                write()
    if given.only == "bounds":
        for row in known.values():
            bound = solvers.best_bound(Instance(graphs.build(row["graph"]), row["M"], row["rules"]))
            row |= {"bound": bound.value, "bound_name": bound.name}
    if given.only in ("", "oracle"):
        data["oracle"] = {f"every {every}": oracle(every) for every in (1, 4)}
    if given.only in ("", "speed"):
        data["speed"] = speed()
    write()


if __name__ == "__main__":
    main()
