"""The best orders known (benchmarks/best_known/general.json) cost what the file says."""

from __future__ import annotations

import json
import math
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import graphs
import pebble
import strategies
from pebble.instance import Instance
from pebble.result import Limit
from strategies.replaying import replay

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
FILE: dict[str, Any] = json.loads((BENCHMARKS / "best_known" / "general.json").read_text())
KNOWN: dict[str, dict[str, Any]] = FILE["rows"]


@cache
def bench() -> dict[str, Any]:
    return runpy.run_path(str(BENCHMARKS / "bench_general.py"))


def instance_of(entry: dict[str, Any]) -> Instance:
    return Instance(graphs.build(entry["graph"]), entry["M"], entry["rules"])


@pytest.mark.parametrize("key", KNOWN)
def test_it_costs_what_is_said(key: str) -> None:
    entry = KNOWN[key]
    instance = instance_of(entry)
    if "order" in entry:
        schedule = replay(instance, bench()["unpack"](entry["order"]))
    else:
        schedule = strategies.play(entry["strategy"], instance)
    assert pebble.verify(schedule).io == entry["io"] >= entry["bound"]
    assert pebble.verify(strategies.play("belady:order=dfs", instance)).io == entry["dfs"] >= entry["io"]


def test_the_page_is_that_of_the_file() -> None:
    assert (BENCHMARKS / "general.md").read_text() == bench()["page"](FILE)
    for kind, specs in (("structured", bench()["STRUCTURED"]), ("sparse", bench()["SPARSE"])):
        for spec, words, _ in specs:
            M = words or Instance(graphs.build(spec), 1).least_M
            assert f"{spec} M={M} {bench()['RULES'][kind]}" in KNOWN


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ("fft:16 M=4", 88),
        ("fft:16 M=5", 72),
        ("fft:16 M=6", 64),
        ("fft:256 M=18", 1024),
        ("fft:1024 M=34", 4096),
        ("fft:4096 M=66", 16384),
    ],
)
def test_ffts_by_blocks(key: str, most: int) -> None:
    """Two words per point and pass of 2^b points, b ranks high (Hong & Kung 1981)."""
    entry = KNOWN[f"{key} hong-kung"]
    assert entry["io"] <= most
    assert entry["quick"] <= most


def test_sparse_graphs_are_well_below_depth_first_order() -> None:
    """At M = largest in-degree + 1, against depth first with Belady's rule, in a minute at most each."""
    entries = [entry for entry in KNOWN.values() if entry["kind"] == "sparse"]
    for entry in entries:
        instance = instance_of(entry)
        assert entry["M"] == instance.least_M
        assert 5000 <= instance.cdag.num_vertices <= 8000
        assert entry["seconds"] <= 60
    for found in ("io", "auto"):
        ratios = [entry[found] / entry["dfs"] for entry in entries]
        assert max(ratios) < 1
        assert math.exp(sum(map(math.log, ratios)) / len(ratios)) < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["spmv-power:n=50,k=12,p=0.15", "knn:n=45,k=15,p=0.16"])
def test_a_short_search_is_already_below(spec: str) -> None:
    entry = next(entry for entry in KNOWN.values() if entry["graph"] == spec)
    schedule = strategies.play("auto", instance_of(entry), limit=Limit(nodes=30_000))
    assert pebble.verify(schedule).io <= 0.88 * entry["dfs"]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_small_graphs_against_their_optima(every: int) -> None:
    """Geometric means over the optimum are those of the table; `auto`, then `improve`, is exact if small."""
    again = bench()["oracle"](every)
    for rules, known in FILE["oracle"][f"every {every}"].items():
        found = again[rules]
        assert found["instances"] == known["instances"] >= 300 / every
        assert known["auto"] <= 1.01
        assert found["auto"] == pytest.approx(known["auto"], abs=0.002)
        assert found["improved"] == pytest.approx(known["improved"], abs=0.0005)
        assert known["improved"] <= 1.001
        assert found["small_exact"] == found["small"] == known["small"]
        assert known["seconds"] <= 2
