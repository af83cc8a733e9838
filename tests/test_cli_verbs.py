"""The verbs: what they print, their JSON, their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

import solvers
from graphs.catalog import REGISTRY as FAMILIES
from graphs.catalog import build
from pebble.cli.main import main
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit
from pebble.rules import Rules
from pebble.schedule import Schedule
from strategies.catalog import REGISTRY as STRATEGIES
from strategies.playing import count, play


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*argv: str) -> Ran:
        code = main(argv)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


# -- list, info, doctor -----------------------------------------------------------------------------------


def test_list_names_everything(run: Run) -> None:
    ran = run("list", "--json")
    assert ran.code == 0
    assert list(ran.json) == ["graphs", "strategies", "solvers", "bounds", "rules", "formats"]
    assert [entry["name"] for entry in ran.json["graphs"]] == FAMILIES.names()
    assert [entry["name"] for entry in ran.json["strategies"]] == STRATEGIES.names()
    assert [entry["name"] for entry in ran.json["rules"]] == list(Rules.parts())
    assert all(entry["summary"] for entries in ran.json.values() for entry in entries)
    text = run("list", "graphs").out
    assert "attention-backward" in text
    assert "leaves,arity=2" in text
    assert "belady" not in text
    assert "order" in run("list", "strategies").out


def test_info(run: Run) -> None:
    ran = run("info", "grid:3x4", "--json")
    g = build("grid:3x4")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["graph"] == "grid:3x4"
    assert ran.json["params"] == {"rows": 3, "cols": 4}
    assert ran.json["num_vertices"] == g.num_vertices == 12
    assert ran.json["num_edges"] == g.num_edges == 17
    assert (ran.json["num_sources"], ran.json["num_sinks"], ran.json["max_in_degree"]) == (1, 1, 2)
    assert (ran.json["least_M"], ran.json["least_M_vertex"]) == (3, 5)
    assert ran.json["digest"] == g.digest
    text = run("info", "attention-backward:n=16,d=4").out
    assert "dQ 16x4" in text
    assert "10,848" in text  # 10 n^2 d + n d + 2 n^2 + 2 n vertices
    assert run("info", "star.txt").code == 2


def test_info_of_weights_outputs_and_isolated_vertices(run: Run, tmp_path: Path) -> None:
    nodes = [{"weight": 3}, {"weight": 2, "output": True}, {}, {}]
    links = [{"source": 0, "target": 1}, {"source": 1, "target": 2}]
    (tmp_path / "g.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    ran = run("info", str(tmp_path / "g.json"), "--json")
    assert ran.json["graph"] == str(tmp_path / "g.json")
    assert ran.json["num_isolated"] == 1
    assert ran.json["num_further_outputs"] == 1
    assert ran.json["total_weight"] == 7
    assert (ran.json["least_M"], ran.json["least_M_vertex"]) == (5, 1)
    assert ran.json["has_operations"] is False
    assert "isolated vertices" in run("info", str(tmp_path / "g.json")).out


def test_doctor(run: Run) -> None:
    ran = run("doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["check"] == "ok"
    assert ran.json["problems"] == []
    assert ran.json["files"]["pebble"].endswith("pebble/__init__.py")
    assert set(ran.json["extras"]) == {"plot", "distributed", "jax"}
    assert "numba" in run("doctor").out


# -- play -------------------------------------------------------------------------------------------------

RESULT_KEYS = [
    *["strategy", "status", "io", "loads", "stores", "computes", "recomputes", "peak_red"],
    *["verified", "seconds", "options"],
]


def test_play_agrees_with_python(run: Run) -> None:
    ran = run("play", "fft:8", "-M", "4", "-s", "belady,lru:order=dfs,random", "--seed", "5", "--json")
    assert ran.code == 0
    document = ran.json
    assert list(document) == [
        *["graph", "num_vertices", "num_edges", "M", "rules", "results", "lower_bound", "bound"]
    ]
    assert (document["graph"], document["M"], document["rules"]) == ("fft:8", 4, "hong-kung")
    instance = Instance(build("fft:8"), 4)
    for row, name in zip(document["results"], ["belady", "lru:order=dfs", "random"], strict=True):
        assert list(row) == RESULT_KEYS
        cost = verify(play(name, instance, seed=5))
        assert {key: row[key] for key in cost.to_dict()} == cost.to_dict()
        assert (row["strategy"], row["status"], row["verified"]) == (name, "feasible", True)
        assert row["seconds"] >= 0
    assert document["results"][1]["options"]["order"] == "dfs"
    bound = solvers.best_bound(instance)
    assert document["lower_bound"] == bound.value
    assert document["bound"] == {"name": bound.name, "assumes": bound.assumes, "source": bound.source}
    assert all(row["io"] >= bound.value for row in document["results"])


def test_play_plays_all_that_supports_the_graph(run: Run) -> None:
    ran = run("play", "attention-backward:n=6,d=2", "-M", "4d^2", "--json")
    assert ran.json["M"] == 16
    instance = Instance(build("attention-backward:n=6,d=2"), 16)
    expected = [name for name in STRATEGIES.names() if STRATEGIES.get(name).supports(instance) is None]
    assert [row["strategy"] for row in ran.json["results"]] == expected
    assert {"belady", "flash-attention", "algorithm6"} <= set(expected)
    for row in ran.json["results"]:
        least = STRATEGIES.get(row["strategy"]).least_M(instance)
        assert row["status"] == ("feasible" if least <= 16 else "not-applicable")
        if least > 16:
            assert row["least_M"] == least
            assert f"needs M >= {least}" in row["reason"]


def test_play_prints_a_table(run: Run) -> None:
    ran = run("play", "grid:4x4", "-M", "5", "-s", "belady,lru")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "grid:4x4: 16 vertices, 24 edges; M=5, rules hong-kung" in lines[0]
    heading = lines[1].split()
    assert heading == ["strategy", "I/O", "loads", "stores", "peak", "red", "gap", "ratio", "seconds"]
    row = next(line.split() for line in lines if line.startswith("belady"))
    assert row[1:7] == ["2", "1", "1", "5", "0.0%", "1.000"]
    assert any(line.startswith("best: belady (order=") for line in lines)
    assert any(line.startswith("lower bound: 2 (") for line in lines)


def test_play_at_several_M(run: Run) -> None:
    ran = run("play", "pyramid:4", "-M", "2..7", "-s", "belady", "--json")
    assert ran.code == 0
    assert [document["M"] for document in ran.json] == [2, 3, 4, 5, 6, 7]
    assert ran.json[0]["status"] == "infeasible"
    assert ran.json[0]["least_M"] == 3
    assert ran.json[0]["results"] == []
    assert "pebble: error: M=2 is infeasible: computing vertex 5 needs 3 red words at once" in ran.err
    costs = [document["results"][0]["io"] for document in ran.json[1:]]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 6  # from M = h + 2 on: the base and the apex


def test_play_under_other_rules(run: Run) -> None:
    ran = run("play", "fft:8", "-M", "3", "-s", "belady", "--rules", "one-shot", "--json")
    assert ran.json["rules"] == "one-shot"
    assert ran.json["results"][0]["recomputes"] == 0


def test_play_saves_the_best_schedule_and_verify_reads_it(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "best.pebble"
    ran = run("play", "fft:16", "-M", "6", "-s", "fifo,belady,random", "-o", str(file), "--json")
    assert ran.code == 0
    assert "saved the schedule of" in ran.err
    best = min(row["io"] for row in ran.json["results"])
    checked = run("verify", str(file), "--json")
    assert checked.code == 0
    assert (checked.json["legal"], checked.json["io"]) == (True, best)
    assert checked.json["graph"].startswith("fft:")
    text = run("verify", str(file)).out
    assert "legal" in text
    assert f"{best:,}" in text
    assert run("play", "fft:16", "-M", "6", "-s", "fifo", "-o", str(file), "-q").err == ""


def test_schedules_of_files_carry_their_graph(run: Run, tmp_path: Path) -> None:
    graph, file = tmp_path / "g.edges", tmp_path / "s.pebble.gz"
    graph.write_text("a c\nb c\nc d\n")
    assert run("play", str(graph), "-M", "3", "-s", "belady", "-o", str(file)).code == 0
    graph.unlink()
    ran = run("verify", str(file), "--json")
    assert (ran.code, ran.json["io"]) == (0, 3)


def test_verify_finds_the_first_broken_rule(run: Run, tmp_path: Path) -> None:
    instance = Instance(build("reduce:2"), 3)
    file = tmp_path / "s.pebble"
    Schedule.from_moves(instance, ["L0", "C2", "L1"]).save(file)
    ran = run("verify", str(file), "--json")
    assert ran.code == 1
    assert ran.json["legal"] is False
    assert (ran.json["index"], ran.json["move"], ran.json["rule"]) == (1, "C2", "a predecessor is not red")
    assert ran.err == (
        "pebble: error: the schedule is illegal: move 1 (C2): computing 2 needs predecessor 1 red\n"
    )
    Schedule.from_moves(instance, ["L0", "L1", "C2"]).save(file)
    ran = run("verify", str(file))
    assert (ran.code, ran.out) == (1, "")
    assert "the schedule ends with 1 output(s) not blue" in ran.err
    Schedule.from_moves(instance, ["L0", "L1", "C2", "S2"], claim=2).save(file)
    ran = run("verify", str(file))
    assert ran.code == 1
    assert ran.err == "pebble: error: the schedule claims an I/O cost of 2, it costs 3\n"


def test_verify_of_a_custom_graph_needs_it(run: Run, tmp_path: Path) -> None:
    graph, file = tmp_path / "g.edges", tmp_path / "s.pebble"
    graph.write_text("0 2\n1 2\n")
    g = build("reduce:2")._replace(family="", params={})
    Schedule.from_moves(Instance(g, 3), ["L0", "L1", "C2", "S2"]).save(file)
    ran = run("verify", str(file))
    assert ran.code == 2
    assert "give it with --graph" in ran.err
    assert run("verify", str(file), "--graph", str(graph)).code == 0
    ran = run("verify", str(file), "--graph", "chain:3")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


# -- count ------------------------------------------------------------------------------------------------


def test_count_agrees_with_python_and_with_play(run: Run) -> None:
    spec = "attention-backward:n=12,d=3"
    ran = run("count", spec, "-M", "40", "--json")
    assert ran.code == 0
    assert (ran.json["num_vertices"], ran.json["num_edges"]) == (None, None)
    names = [row["strategy"] for row in ran.json["results"]]
    assert {"flash-attention", "two-pass", "algorithm6", "naive"} <= set(names)
    played = {row["strategy"]: row for row in run("play", spec, "-M", "40", "--json").json["results"]}
    for row in ran.json["results"]:
        if row["status"] == "not-applicable":
            assert row["least_M"] > 40
            continue
        assert list(row) == RESULT_KEYS
        assert row["verified"] is False
        assert row["io"] == count(row["strategy"], spec, 40).io
        for key in ("io", "loads", "stores", "computes", "peak_red"):
            assert row[key] == played[row["strategy"]][key]


def test_count_at_sizes_that_no_graph_fits(run: Run) -> None:
    ran = run("count", "attention-backward:n=65536,d=128", "-M", "d^2/4,d^2", "-s", "algorithm6", "--json")
    assert ran.code == 0
    assert [document["M"] for document in ran.json] == [4096, 16384]
    first, second = (document["results"][0]["io"] for document in ran.json)
    assert first > second > 65536 * 128 * 7
    for document in ran.json:
        assert 0 < document["lower_bound"] <= document["results"][0]["io"]
    assert ran.json[1]["results"][0]["options"]
    assert (
        "attention-backward:n=65536,d=128"
        in run("count", "attention-backward:n=65536,d=128", "-M", "d^2").out
    )


def test_count_without_a_tile_program(run: Run) -> None:
    ran = run("count", "fft:8", "-M", "4")
    assert (ran.code, ran.out) == (3, "")
    assert "no strategy could be counted: none counts fft:8" in ran.err
    ran = run("count", "fft:8", "-M", "4", "-s", "belady", "--json")
    assert ran.code == 3
    assert ran.json["results"][0]["status"] == "not-applicable"
    assert "is no tile program" in ran.json["results"][0]["reason"]


# -- interrupts -------------------------------------------------------------------------------------------


class _Interrupted:
    name = "interrupted-by-the-user"
    options: Mapping[str, str] = MappingProxyType({})

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        raise KeyboardInterrupt

    def supports(self, instance: Instance) -> str | None:
        return None

    def least_M(self, instance: Instance) -> int:
        return 1


@pytest.fixture
def interrupted() -> Iterator[str]:
    STRATEGIES.register(_Interrupted.name, _Interrupted(), "for this test")
    yield _Interrupted.name
    del STRATEGIES._entries[_Interrupted.name], STRATEGIES._canonical[_Interrupted.name]


def test_an_interrupt_keeps_the_results_so_far(run: Run, interrupted: str, tmp_path: Path) -> None:
    file = tmp_path / "best.pebble"
    ran = run("play", "chain:5", "-M", "2", "-s", f"belady,{interrupted},lru", "--json", "-o", str(file))
    assert ran.code == 130
    assert [(row["strategy"], row["io"]) for row in ran.json["results"]] == [("belady", 2)]
    assert "pebble: interrupted: these are the results so far" in ran.err
    assert file.exists()
    text = run("play", "chain:5", "-M", "2", "-s", f"belady,{interrupted}")
    assert text.code == 130
    assert any(line.startswith("belady") for line in text.out.splitlines())
