"""The lemmas behind the bounds for any graph, on schedules: segments, wavefronts, parts, blocks, full memory.

What each claims of a schedule holds in every schedule, and a claim four times as high is refuted by some.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.moves import Op, unpack_arrays
from pebble.referee import verify
from pebble.schedule import Schedule
from solvers.lower_bounds.compulsory import compulsory_io
from solvers.lower_bounds.full_memory import full_chain
from solvers.lower_bounds.projection import block_optimum
from solvers.lower_bounds.spectral import least_eigenvalues, source_laplacian, spectral_excess
from solvers.lower_bounds.wavefront import wavefront_costs
from strategies.playing import play
from tests.bound_checks import cleaned
from tests.test_bounds_full_memory import rounds_of_sums

STRATEGIES = ("belady", "belady:order=dfs", "lru")
SPECS = ("fft:8", "pyramid:6", "matmul:2x3x2", "grid:5x5", "attention-backward:n=2,d=1")
Moves = list[tuple[int, int]]


@cache
def moves_of(schedule: Schedule) -> Moves:
    """The schedule's moves without useless computations."""
    ops, vertices = unpack_arrays(schedule.moves)
    keep = cleaned(schedule)
    return list(zip(ops[keep].tolist(), vertices[keep].tolist(), strict=True))


@cache
def played(spec: str, rules: str, more: int = 0) -> list[Schedule]:
    cdag = build(spec)
    M = Instance(cdag, 999).least_M + more
    return [play(name, Instance(cdag, M, rules)) for name in STRATEGIES]


# -- partition --------------------------------------------------------------------------------------------


def segments(moves: Moves, Y: int) -> list[tuple[list[int], int]]:
    """For segments of Y I/Os: what became red for the first time, and how many words were stored."""
    found: list[tuple[list[int], int]] = [([], 0)]
    seen: set[int] = set()
    spent = 0
    for op, v in moves:
        if op in (Op.LOAD, Op.STORE):
            if spent == Y:
                found.append(([], 0))
                spent = 0
            spent += 1
        part, stored = found[-1]
        if op in (Op.LOAD, Op.COMPUTE) and v not in seen:
            seen.add(v)
            part.append(v)
        found[-1] = part, stored + (op == Op.STORE)
    return found


def least_dominator(cdag: CDAG, part: list[int]) -> int:
    """The least number of vertices that meet every path from a source to the part."""
    network = nx.DiGraph()
    for v in range(cdag.num_vertices):
        network.add_edge(("in", v), ("out", v), capacity=1)
        for u in cdag.preds(v).tolist():
            network.add_edge(("out", u), ("in", v))
        if cdag.is_source[v]:
            network.add_edge("from", ("in", v))
    for v in part:
        network.add_edge(("out", v), "to")
    return int(nx.maximum_flow_value(network, "from", "to"))


@pytest.mark.parametrize("spec", SPECS)
def test_what_a_segment_makes_is_dominated_and_ends_in_few(spec: str) -> None:
    most_dominators = most_ends = 0.0
    for schedule in (*played(spec, "hong-kung"), *played(spec, "hong-kung", 2)):
        cdag, M = schedule.instance.cdag, schedule.instance.M
        for Y in (M // 2, M, 2 * M):
            for i, (part, stored) in enumerate(segments(moves_of(schedule), Y)):
                if not part:
                    continue
                followed = {u for v in part for u in cdag.preds(v).tolist()}
                dominators, ends = least_dominator(cdag, part), len(set(part) - followed)
                assert dominators <= Y - stored + (M if i else 0)
                assert ends <= M + stored
                most_dominators = max(most_dominators, dominators / (M + Y - stored))
                most_ends = max(most_ends, ends / (M + stored))
    assert 4 * min(most_dominators, most_ends) > 1


# -- wavefronts -------------------------------------------------------------------------------------------


def test_a_wavefront_is_red_or_goes_out_and_comes_back() -> None:
    """At every compute of a one-shot schedule, against its I/O beyond the compulsory."""
    refuted = 0
    for schedule in (s for spec in SPECS for more in (0, 2) for s in played(spec, "one-shot", more)):
        cdag, M = schedule.instance.cdag, schedule.instance.M
        costs = wavefront_costs(cdag)
        excess = verify(schedule).io - sum(compulsory_io(cdag))
        successors = [cdag.succs(v).tolist() for v in range(cdag.num_vertices)]
        known = np.zeros(cdag.num_vertices, dtype=np.bool_)
        for op, v in moves_of(schedule):
            if op != Op.COMPUTE:
                continue
            known[v] = True
            known[cdag.preds(v)] = True
            alive = [u for u in np.flatnonzero(known).tolist() if not known[successors[u]].all()]
            beyond = int(costs[alive].sum()) - 2 * M
            assert beyond <= excess
            refuted += 4 * beyond > excess
    assert refuted > 20


# -- spectral ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["fft:16", "matmul:3x3x3", "grid:6x6"])
def test_parts_of_any_order_are_cut_as_the_eigenvalues_say(spec: str) -> None:
    """Borders of k parts, against Σ s_i λ_i: orders of schedules, random ones, those of eigenvectors."""
    cdag = build(spec)
    n = cdag.num_vertices
    laplacian = source_laplacian(cdag, np.ones(n))
    eigenvalues = least_eigenvalues(laplacian)
    dense = laplacian.toarray()
    rng = np.random.default_rng(2)
    orders = [rng.permutation(n) for _ in range(20)]
    orders += list(np.argsort(np.linalg.eigh(dense)[1][:, 1:6].T))
    for schedule in played(spec, "one-shot"):
        first: dict[int, None] = {}
        for op, v in moves_of(schedule):
            if op == Op.COMPUTE:
                first.update(dict.fromkeys([*cdag.preds(v).tolist(), v]))
        assert len(first) == n
        orders.append(np.array(list(first)))
    tightest = np.inf
    for order in orders:
        for k in range(2, 9):
            parts = np.array_split(order, k)
            border = 0.0
            for part in parts:
                inside = np.zeros(n)
                inside[part] = 1
                border += inside @ dense @ inside
            sizes = np.sort([len(part) for part in parts])[::-1]
            claimed = float((sizes * eigenvalues[:k]).sum())
            assert claimed <= border + 1e-9
            assert spectral_excess(eigenvalues[:k], n, 0)[0] >= claimed - 1e-9
            tightest = min(tightest, border / claimed)
    assert tightest < 4


# -- blocks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_moves_within_a_block_cost_its_relaxed_optimum(rules: str) -> None:
    rng = np.random.default_rng(1)
    equal = refuted = 0
    for spec in SPECS:
        for schedule in played(spec, rules):
            cdag = schedule.instance.cdag
            ios = [v for op, v in moves_of(schedule) if op in (Op.LOAD, Op.STORE)]
            per_vertex = np.bincount(ios, minlength=cdag.num_vertices)
            for _ in range(6):
                first = int(rng.integers(cdag.num_vertices - 4))
                block = list(range(first, first + 5))
                least, spent = block_optimum(schedule.instance, block), int(per_vertex[block].sum())
                assert least <= spent
                equal += least == spent
                refuted += 4 * least > spent
    assert refuted > equal > 0


# -- memory that is full ----------------------------------------------------------------------------------


def needed_between(cdag: CDAG, u: int, v: int, once: bool) -> set[int]:
    """What exists before u is computed, is needed between u and v, and is neither u nor an operand of u."""
    graph = nx.DiGraph(cdag.edges().tolist())
    above, below = nx.ancestors(graph, u), nx.descendants(graph, u)
    made = (below & nx.ancestors(graph, v)) | {v}
    operands = {x for w in made for x in cdag.preds(w).tolist()}
    before = {x for x in operands if cdag.is_source[x] or (once and x in above)}
    return before - {u} - set(cdag.preds(u).tolist())


@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_what_a_full_memory_pushed_out_is_loaded_again(rules: str) -> None:
    """Loads between the first computes of neighbours in the chain, on sums that fill memory."""
    reached = 0.0
    for cdag in (rounds_of_sums(6, 4), build("cg:n=8,k=3,p=0.3"), build("matvec:6x6")):
        for more in (0, 1, 3):
            M = Instance(cdag, 999).least_M + more
            chain = full_chain(cdag, M, rules == "one-shot")[1]
            for name in STRATEGIES:
                moves = moves_of(play(name, Instance(cdag, M, rules)))
                for u, v in pairwise(chain):
                    needed = needed_between(cdag, u, v, rules == "one-shot")
                    claimed = len(needed) - (M - 1 - int(cdag.in_degree[u]))
                    start, end = moves.index((Op.COMPUTE, u)), moves.index((Op.COMPUTE, v))
                    loads = sum(op == Op.LOAD and x in needed for op, x in moves[start:end])
                    assert claimed <= loads
                    if loads:
                        reached = max(reached, claimed / loads)
    assert reached == 1
