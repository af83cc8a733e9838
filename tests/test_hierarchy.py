"""Several levels of memory: the referee against a slow reference, players against optima and bounds."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import graphs
import pebble
import solvers
import strategies
from pebble import Hierarchy, HierarchyMove, HierarchySchedule, Op, verify_hierarchy
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.errors import (
    IllegalMoveError,
    IncompleteScheduleError,
    InfeasibleInstanceError,
    InvalidMemoryError,
    UnsupportedInstanceError,
)
from strategies.hierarchical import add_levels
from tests import hierarchy_reference as reference

TINY = {
    "join": CDAG.from_edges(3, [(0, 2), (1, 2)]),
    "diamond": CDAG.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "fan": CDAG.from_edges(5, [(0, 2), (1, 2), (0, 3), (1, 3), (2, 4), (3, 4)]),
    "chain with a further output": CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)], outputs=[1]),
}


def random_dag(rng: random.Random, n: int) -> CDAG:
    edges = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.35]
    return CDAG.from_edges(n, edges, weights=[rng.randint(1, 2) for _ in range(n)])


def test_one_level_is_the_ordinary_game() -> None:
    for spec in ("fft:8", "matmul:3x3x3", "grid:4x4"):
        g = graphs.build(spec)
        for M in (4, 8):
            schedule = strategies.play("belady", pebble.Instance(g, M))
            cost, several = pebble.verify(schedule), verify_hierarchy(add_levels(schedule, Hierarchy((M,))))
            assert (several.loads, several.stores) == ((cost.loads,), (cost.stores,))
            assert (several.computes, several.recomputes) == (cost.computes, cost.recomputes)
            assert (several.peak, several.total) == ((cost.peak_red,), cost.io)


@pytest.mark.parametrize("seed", range(30))
def test_referee_and_reference_agree_on_walks(seed: int) -> None:
    rng = random.Random(seed)
    g = random_dag(rng, rng.randint(2, 7))
    least = pebble.Instance(g, 1).least_M
    sizes = [least + rng.randint(0, 2)]
    for _ in range(rng.randint(0, 2)):
        sizes.append(sizes[-1] + rng.randint(1, 4))
    h = Hierarchy(sizes, costs=[rng.randint(0, 5) for _ in sizes])
    board, moves, total = reference.start(g, h), [], 0
    every = list(reference.all_moves(g, h))
    for _ in range(150):
        move = rng.choice([m for m in every if reference.after(g, h, board, m) is not None])
        following = reference.after(g, h, board, move)
        assert following is not None
        board, total = following, total + reference.price(g, h, move)
        moves.append(move)
    walk = HierarchySchedule.from_moves(g, h, moves)
    missing = sorted(set(g.outputs.tolist()) - board[-1])
    if missing:
        with pytest.raises(IncompleteScheduleError) as lacking:
            verify_hierarchy(walk)
        assert (lacking.value.vertex, lacking.value.missing) == (missing[0], len(missing))
    else:
        assert verify_hierarchy(walk).total == total
    # Every move that the reference refuses here, the referee refuses here.
    strange = [HierarchyMove(Op.LOAD, h.num_levels + 1, 0), HierarchyMove(Op.DELETE, 0, 0)]
    strange += [HierarchyMove(Op.COMPUTE, 2, 0), HierarchyMove(Op.STORE, 1, g.num_vertices)]
    for move in [m for m in every if reference.after(g, h, board, m) is None] + strange:
        with pytest.raises(IllegalMoveError) as refused:
            verify_hierarchy(HierarchySchedule.from_moves(g, h, [*moves, move]))
        assert (refused.value.index, refused.value.move) == (len(moves), move)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("costs", [(1, 1), (1, 10), (3, 1)])
def test_bounds_optimum_and_players_are_in_this_order(name: str, costs: tuple[int, int]) -> None:
    g = TINY[name]
    least = pebble.Instance(g, 1).least_M
    h = Hierarchy((least, least + 1), costs)
    best = reference.optimum(g, h)
    # The traffic of level i is at least the two-level optimum with all words up to level i.
    exact = [reference.optimum(g, Hierarchy((h.capacity(i),))) for i in (1, 2)]
    assert sum(c * q for c, q in zip(costs, exact, strict=True)) <= best
    bounds = [bound.value for bound in solvers.hierarchy_bounds(g, h)]
    assert all(bound <= q for bound, q in zip(bounds, exact, strict=True))
    played = verify_hierarchy(strategies.play_hierarchy("belady", g, h))
    assert played.total >= best
    assert all(q >= bound for q, bound in zip(played.io, bounds, strict=True))


@pytest.mark.parametrize("seed", range(15))
def test_any_graph_is_played_on_three_levels(seed: int) -> None:
    rng = random.Random(100 + seed)
    g = random_dag(rng, 25)
    least = pebble.Instance(g, 1).least_M
    h = Hierarchy((least, least + 4, least + 9), costs=(1, 5, 25))
    cost = verify_hierarchy(strategies.play_hierarchy("belady", g, h))
    bounds = solvers.hierarchy_bounds(g, h)
    assert all(q >= bound.value for q, bound in zip(cost.io, bounds, strict=True))
    assert all(peak <= M for peak, M in zip(cost.peak, h.sizes, strict=True))


@pytest.mark.parametrize(
    ("spec", "sizes", "program"),
    [
        ("matmul:12x12x12", (12, 60), "tiled"),
        ("attention-backward:n=12,d=3", (24, 80), "algorithm6"),
        ("attention-forward:n=12,d=3", (24, 80), "saha-ye"),
    ],
)
def test_nested_tile_programs_move_less_over_the_slow_boundary(
    spec: str, sizes: tuple[int, int], program: str
) -> None:
    g = graphs.build(spec)
    h = Hierarchy(sizes, costs=(1, 10))
    inner = verify_hierarchy(strategies.play_hierarchy(program, g, h))
    nested = verify_hierarchy(strategies.play_hierarchy(f"{program}/{program}", g, h))
    assert nested.total <= inner.total
    bounds = solvers.hierarchy_bounds(g, h)
    for cost in (inner, nested):
        assert all(q >= bound.value for q, bound in zip(cost.io, bounds, strict=True))
        assert cost.recomputes >= 0


def test_bad_hierarchies() -> None:
    with pytest.raises(InvalidMemoryError, match="level 2 has 8 words, level 1 has 8: levels must grow"):
        Hierarchy((8, 8))
    with pytest.raises(InvalidMemoryError, match="0 levels of memory"):
        Hierarchy(())
    with pytest.raises(InvalidMemoryError, match="give 2 whole numbers"):
        Hierarchy((8, 16), costs=(1,))
    with pytest.raises(InvalidMemoryError, match="give 1 whole numbers of at least 0"):
        Hierarchy((8,), costs=(-1,))
    g = TINY["join"]
    with pytest.raises(InfeasibleInstanceError):
        strategies.play_hierarchy("belady", g, Hierarchy((2, 9)))
    with pytest.raises(InfeasibleInstanceError):
        verify_hierarchy(HierarchySchedule.from_moves(g, Hierarchy((2, 9)), []))
    with pytest.raises(UnsupportedInstanceError, match="write one strategy, or outer/inner"):
        strategies.play_hierarchy("belady/", g, Hierarchy((3, 9)))
    with pytest.raises(UnsupportedInstanceError, match="level 1 has 3 words"):
        add_levels(strategies.play("belady", pebble.Instance(g, 4)), Hierarchy((3, 9)))


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([(Op.LOAD, 1, 0)], r"move 0 \(L1:0\): 0 is not in level 2"),
        ([(Op.LOAD, 2, 0), (Op.LOAD, 2, 0)], r"move 1 \(L2:0\): 0 is in level 2 already"),
        ([(Op.STORE, 1, 0)], "0 is not in level 1"),
        ([(Op.COMPUTE, 1, 2)], "computing 2 needs predecessor 0 in level 1"),
        ([(Op.COMPUTE, 1, 0)], "0 is a source"),
        ([(Op.LOAD, 3, 0)], "level 3 is out of range: LOAD takes 1 to 2"),
        ([(Op.LOAD, 1, 9)], "vertex 9 is out of range, ids go from 0 to 3"),
    ],
)
def test_refusals_are_named(moves: list[Any], message: str) -> None:
    s = HierarchySchedule.from_moves(TINY["diamond"], Hierarchy((3, 4)), [HierarchyMove(*m) for m in moves])
    with pytest.raises(IllegalMoveError, match=message):
        verify_hierarchy(s)


def test_no_room_names_the_level() -> None:
    g = CDAG.from_edges(5, [(0, 4), (1, 4)])
    moves = [HierarchyMove(Op.LOAD, 2, v) for v in range(4)]
    moves += [HierarchyMove(Op.LOAD, 1, v) for v in range(4)]
    with pytest.raises(IllegalMoveError, match=r"move 7 \(L1:3\): level 1 has room for 0 words, 3 takes 1"):
        verify_hierarchy(HierarchySchedule.from_moves(g, Hierarchy((3, 4)), moves))


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["hierarchy", "matmul:6x6x6", "-M", "8,40", "--costs", "1,10", "-s", "belady,tiled/belady"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["M"] == [8, 40]
    assert [row["strategy"] for row in document["results"]] == ["belady", "tiled/belady"]
    for row in document["results"]:
        assert row["total"] == row["io"][0] + 10 * row["io"][1] >= document["lower_bound"]
    assert main(arguments) == 0
    assert "lower bound" in capsys.readouterr().out
    assert main(["hierarchy", "matmul:6x6x6", "-M", "2,40"]) == 1
    assert main(["hierarchy", "matmul:6x6x6", "-M", "8,40", "--costs", "x"]) == 2
    assert main(["hierarchy", "fft:8", "-M", "8,40", "-s", "flash-attention"]) == 3
