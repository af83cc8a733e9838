"""Faults that other tools had with inputs of this kind, each with the small input that shows it.

docs/robustness.md lists them with what is said and where else they are tested.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphs
import pebble
import solvers
import strategies
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.errors import (
    DuplicateEdgeWarning,
    FormatError,
    InfeasibleInstanceError,
    InvalidCDAGError,
    PebbleError,
    UnsupportedInstanceError,
)
from pebble.formats import parse_graph, read_graph, write_graph
from pebble.formats.catalog import REGISTRY
from pebble.moves import move_dtype
from pebble.result import Limit, Status

ROOT = Path(__file__).resolve().parent.parent
HYPERDAG = b"2 3 4\n0 1\n1 1\n0 1\n1 1\n2 1\n0 0\n0 1\n1 1\n1 2\n"


def optimum(cdag: CDAG, M: int, rules: str = "hong-kung") -> int:
    result = solvers.solve(pebble.Instance(cdag, M, rules), limit=Limit(time=60))
    assert result.status is Status.OPTIMAL
    assert result.io is not None
    return result.io


def zipper(d: int, n: int) -> CDAG:
    """A chain of n vertices that takes the d sources of one group and of another in turn."""
    edges = []
    for i in range(n):
        edges += [(2 * d + i - 1, 2 * d + i)] if i else []
        edges += [(i % 2 * d + j, 2 * d + i) for j in range(d)]
    return CDAG.from_edges(2 * d + n, edges)


# -- files that lost data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (HYPERDAG.replace(b"1 2\n", b"1 7\n"), "given:10: node 7 is out of range"),
        (HYPERDAG[:-4], "given:9: the file ends before pin 3 of 4: it was cut off"),
        (b"digraph { 0 -> 1; 1 -> 1 }", "given:1: vertex 1 has an edge to itself"),
        (b"0 1\n1 1\n", "given:2: vertex 1 has an edge to itself"),
    ],
)
def test_no_number_for_a_file_that_lost_data(data: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=re.escape(said)):
        parse_graph(data, "given")


def test_a_graph_without_edges_is_a_graph() -> None:
    assert parse_graph(b"0 3 0\n0 1\n1 1\n2 1\n", "given", format="hyperdag").num_edges == 0
    assert parse_graph(HYPERDAG.replace(b"\n", b"\r\n"), "given").num_edges == 2


def test_an_edge_or_a_pin_given_twice_counts_once() -> None:
    with pytest.warns(DuplicateEdgeWarning, match="1 duplicate") as caught:
        twice = parse_graph(b"0 1\n0 1\n", "given")
    assert len(caught) == 1
    pins = b"1 2 3\n0 1\n0 1\n1 1\n0 0\n0 0\n0 1\n"
    with pytest.warns(DuplicateEdgeWarning, match="node 0 is listed 2 times in hyperedge 0") as caught:
        hyper = parse_graph(pins, "given")
    assert len(caught) == 1
    assert optimum(twice, 2) == optimum(hyper, 2) == 2


def test_isolated_vertices_cost_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    isolated = parse_graph(b"1 4 2\n0 1\n0 1\n1 1\n2 1\n3 1\n0 0\n0 1\n", "given")
    assert optimum(isolated, 2) == 2
    assert optimum(CDAG.from_edges(1, []), 1) == 0
    write_graph(isolated, tmp_path / "g.hdag")
    assert main(["info", str(tmp_path / "g.hdag"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_isolated"] == 2


# -- memory that cannot suffice ---------------------------------------------------------------------------


def test_too_little_memory_is_said_at_once() -> None:
    star = CDAG.from_edges(7, [(v, 6) for v in range(6)])
    for attempt in (
        lambda: strategies.play("belady", pebble.Instance(star, 6)),
        lambda: pebble.Instance(star, 6).require_feasible(),
    ):
        with pytest.raises(
            InfeasibleInstanceError, match="computing vertex 6 needs 7 red words at once; use M >= 7"
        ):
            attempt()
    result = solvers.solve(pebble.Instance(star, 6))
    assert result.status is Status.INFEASIBLE
    assert "vertex 6 needs 7" in result.why
    assert optimum(star, 7) == 7
    bad: list[Any] = [0, -1, 2.5, "3", None]
    for M in bad:
        with pytest.raises((PebbleError, TypeError, ValueError), match="M"):
            pebble.Instance(star, M)


def test_a_cycle_is_named() -> None:
    for text, said in (("0 1\n1 2\n2 0\n", "0 -> 1 -> 2 -> 0"), ("5 9\n9 5\n", "5 -> 9 -> 5")):
        with pytest.raises(FormatError, match=f"the graph has a cycle: {said}"):
            parse_graph(text.encode(), "given")
    with pytest.raises(InvalidCDAGError, match="0 -> 1 -> 2 -> 0"):
        CDAG.from_edges(3, [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(InvalidCDAGError, match="vertex 1 has an edge to itself"):
        CDAG.from_edges(3, [(1, 1)])


# -- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in REGISTRY.names() if REGISTRY.get(n).lines is not None])
def test_labels_that_do_not_sort_are_kept(name: str, tmp_path: Path) -> None:
    labels = [1, "1", ("a", 0), None]
    cdag = CDAG.from_edges(4, [(0, 1), (1, 2), (0, 3)], labels=labels)
    write_graph(cdag, tmp_path / "g", format=name)
    assert list(map(repr, read_graph(tmp_path / "g", format=name).labels or ())) == list(map(repr, labels))
    result = solvers.solve(pebble.Instance(cdag, 2))
    assert result.status is Status.OPTIMAL


def test_dot_names_with_colons_points_and_line_ends() -> None:
    g = parse_graph(b'digraph{"a:b"->"c.d"; 2.3->"a:b"\n\n}\n', "given")
    assert g.labels == ("a:b", "c.d", "2.3")
    assert g.edges().tolist() == [[2, 0], [0, 1]]


def test_node_link_edges_under_any_key() -> None:
    nodes = [{"id": 0}, {"id": 1}]
    documents: list[dict[str, Any]] = [
        {"nodes": nodes, "links": [{"source": 0, "target": 1}]},
        {"nodes": nodes, "edges": [{"source": 0, "target": 1}]},
        {"nodes": nodes, "links": [{"0": 0, "1": 1}]},
        {"nodes": [{"name": 0}, {"name": 1}], "edges": [[0, 1]]},
    ]
    for document in documents:
        assert parse_graph(json.dumps(document).encode(), "given").edges().tolist() == [[0, 1]]
    with pytest.raises(FormatError, match='neither "links" nor "edges"'):
        parse_graph(json.dumps({"nodes": nodes}).encode(), "given")


def test_graphml_ids_are_never_numbers_of_limited_precision() -> None:
    text = (
        b'<graphml><key id="id" for="node" attr.name="id" attr.type="double"/><graph edgedefault="directed">'
        b'<node id="16777216"><data key="id">16777216</data></node>'
        b'<node id="16777217"><data key="id">16777217</data></node>'
        b'<node id="9007199254740993"/><edge source="16777216" target="16777217"/></graph></graphml>'
    )
    g = parse_graph(text, "given")
    assert g.labels == (16777216, 16777217, 9007199254740993)
    assert g.num_edges == 1


def test_kth_without_blanks() -> None:
    assert parse_graph(b"2\n1:\n2:1", "given").edges().tolist() == [[0, 1]]


# -- large and deep ---------------------------------------------------------------------------------------


def chain(n: int) -> CDAG:
    ids = np.arange(n)
    return CDAG.from_edges(n, np.column_stack((ids[:-1], ids[1:])))


@pytest.mark.parametrize("n", [20_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_a_deep_chain_in_every_format(n: int, tmp_path: Path) -> None:
    cdag = chain(n)
    for name in REGISTRY.names():
        path = tmp_path / f"g.{name}"
        if REGISTRY.get(name).lines is not None:
            write_graph(cdag, path, format=name)
        elif name == "lhdag":
            pins = "".join(f"{e} {e}\n{e} {e + 1}\n" for e in range(n - 1))
            path.write_text(f"{n - 1} {n} {2 * n - 2}\n{pins}" + "".join(f"{v} 1 1\n" for v in range(n)))
        elif name == "bench":
            path.write_text("INPUT(0)\n" + "".join(f"{v} = NOT({v - 1})\n" for v in range(1, n)))
        else:
            entries = "".join(f"{v} {v - 1}\n" for v in range(1, n))
            path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{n} {n} {n - 1}\n{entries}")
        back = read_graph(path, format=name)
        assert back == cdag
    cost = pebble.verify(strategies.play("belady", pebble.Instance(back, 2)))
    assert cost.io == 2


@pytest.mark.slow
def test_a_million_children_of_one_source() -> None:
    n = 1_000_001
    fan = CDAG.from_edges(n, np.column_stack((np.zeros(n - 1, dtype=np.int64), np.arange(1, n))))
    assert pebble.verify(strategies.play("belady", pebble.Instance(fan, 2))).io == n


@pytest.mark.slow
def test_a_million_inputs_of_one_vertex() -> None:
    n = 1_000_000
    star = CDAG.from_edges(n + 1, np.column_stack((np.arange(n), np.full(n, n))))
    with pytest.raises(InfeasibleInstanceError, match="use M >= 1000001"):
        strategies.play("belady", pebble.Instance(star, n))
    # Added up one at a time they fit in two words.
    assert pebble.verify(strategies.play("belady", pebble.Instance(star, 2, "partial"))).io == n + 1


def test_numbers_do_not_overflow() -> None:
    assert move_dtype(65_537) is np.uint32
    assert move_dtype((1 << 30) + 1) is np.uint64
    cost = strategies.count("algorithm6", "attention-backward:n=65536,d=128", M=16384)
    assert isinstance(cost.io, int)
    assert cost.computes > 1 << 41
    heavy = CDAG.from_edges(3, [(0, 1), (1, 2)], weights=[2**40, 1, 2**40])
    assert optimum(heavy, 2**40 + 1) == 2**41


def test_no_name_that_numpy_2_lacks() -> None:
    gone = re.compile(
        r"\bnp\.(infty|Inf|float_|unicode_|bool8|product|cumproduct|alltrue|sometrue|in1d|trapz|NaN)\b"
    )
    alias = re.compile(r"\bnp\.(float|int|bool|object|str|complex)\b(?!_|\d)")
    for package in ("pebble", "graphs", "strategies", "solvers"):
        for path in (ROOT / package).rglob("*.py"):
            assert not gone.search(path.read_text()), path
            assert not alias.search(path.read_text()), path


# -- limits and proofs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "search", "ilp"])
def test_a_budget_that_ends_proves_nothing(method: str) -> None:
    instance = pebble.Instance(graphs.build("matmul:2x2x2"), 4)
    result = solvers.solve(instance, method=method, limit=Limit(time=0.001))
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN, Status.OPTIMAL)
    if result.status is not Status.OPTIMAL:
        assert result.limit_hit == "time"
    if result.io is not None:
        assert result.schedule is not None
        assert pebble.verify(result.schedule).io == result.io >= result.lower_bound


def test_a_short_horizon_is_no_proof() -> None:
    # Any claim of optimality must be the closed form 2d + 1 + (n - 2)(2d + 2 - M).
    assert optimum(zipper(3, 8), 5) == 25


def test_a_model_too_large_is_refused_with_an_estimate() -> None:
    start = time.process_time()
    with pytest.raises(UnsupportedInstanceError, match=r"too large for 4,096 MB: .* constraints, [\d,]+ MB"):
        solvers.solve(pebble.Instance(graphs.build("grid:40x40"), 4), method="ilp")
    assert time.process_time() - start < 10


def test_an_order_that_fits_is_found() -> None:
    """Running sums of four large values: one order keeps two of them at a time, another needs all."""
    edges = [(0, 4), (1, 5), (2, 6), (3, 7), (4, 8), (5, 8), (8, 9), (6, 9), (9, 10), (7, 10)]
    instance = pebble.Instance(CDAG.from_edges(11, edges, weights=[1] * 4 + [90] * 7), 400)
    greedy = pebble.verify(strategies.play("belady:order=bfs", instance))
    assert greedy.io > 94
    result = solvers.solve(instance)
    assert (result.status, result.io) == (Status.OPTIMAL, 94)


# -- counts that agree ------------------------------------------------------------------------------------


@pytest.mark.parametrize("M", [16, 32, 64])
@pytest.mark.parametrize("name", ["flash-attention", "algorithm6", "naive"])
def test_counts_are_those_of_played_schedules(name: str, M: int) -> None:
    spec = "attention-backward:n=8,d=2"
    instance = pebble.Instance(graphs.build(spec), M)
    counted, least_M = None, 0
    try:
        counted = strategies.count(name, spec, M=M)
    except UnsupportedInstanceError as error:
        least_M = error.least_M or 0
    if counted is None:
        assert least_M > M
        return
    played = pebble.verify(strategies.play(name, instance))
    assert (counted.loads, counted.stores) == (played.loads, played.stores)
    assert counted.io >= solvers.best_bound(instance).value
