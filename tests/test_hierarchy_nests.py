"""Loops in loops: every choice of blocks is a topological order, and nests cost less than their parts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphs
import pebble
import solvers
import strategies
from pebble import Hierarchy, Limit, verify_hierarchy
from pebble.cli.main import main
from pebble.errors import UnknownNameError, UnsupportedInstanceError
from pebble.instance import Instance
from strategies.hierarchical_filling import add_levels, total_cost
from strategies.hierarchical_nests import Budget, Loop, Search, Space, nest_keys
from strategies.hierarchical_products import product_spaces
from strategies.hierarchical_sweeps import sweep_spaces
from strategies.replaying import prepare

FAMILIES = [
    "matmul:5x4x6",
    "matmul:5x4x6,fma=true",
    "a1xa2t:n=5,d=3",
    "attention-forward:n=5,d=3",
    "attention-backward:n=6,d=2",
    "attention-backward:n=5,d=3,fma=true",
    "attention-gradient:n=5,d=3",
    "fft:16",
    "stencil1d:n=9,t=6",
    "stencil2d:rows=5,cols=4,t=5",
    "grid:6x7",
    "pyramid:7",
]


def test_loops_in_loops_visit_blocks_in_blocks() -> None:
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(4), np.arange(4), indexing="ij"))
    loops = [Loop("x", 2), Loop("y", 2), Loop("x", 1), Loop("y", 1, turns=True)]
    keys, rest = nest_keys({"x": x, "y": y}, loops)
    order = np.argsort(keys)
    assert list(zip(x[order][:8].tolist(), y[order][:8].tolist(), strict=True)) == [
        (0, 0), (0, 1), (1, 1), (1, 0), (0, 2), (0, 3), (1, 3), (1, 2)
    ]  # fmt: skip
    assert not rest["x"].any()
    assert not rest["y"].any()


def test_keys_stay_in_range_however_many_loops() -> None:
    x = np.random.default_rng(0).integers(0, 1 << 20, 300)
    axes = {f"x{i}": x.copy() for i in range(8)}
    keys, _ = nest_keys(axes, [Loop(axis, 1) for axis in axes])
    assert np.array_equal(np.argsort(keys, kind="stable"), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("spec", FAMILIES)
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_every_choice_of_blocks_is_a_topological_order(spec: str, levels: int) -> None:
    g = graphs.build(spec)
    least = Instance(g, 1).least_M
    sizes = [least + 1, 3 * least, 8 * least][:levels]
    spaces = product_spaces(g, sizes) + sweep_spaces(g, sizes)
    assert spaces
    rng = random.Random(spec)
    for space in spaces:
        drawn = [{name: rng.choice(list(values)) for name, values in space.values.items()} for _ in range(25)]
        for choice in [*space.starts, *drawn]:
            assert set(choice) == set(space.values)
            order = space.order(choice)
            # `prepare` raises where an operand comes after its result, and where an output is missing.
            assert len(prepare(g, order, "one-shot").steps) == g.num_vertices - len(g.sources)


def test_graphs_without_nests_are_refused() -> None:
    for spec in ("chain:5", "attention-backward:n=4,d=2,mask=causal", "matmul:4x4x4,sums=tree"):
        g = graphs.build(spec)
        with pytest.raises(UnsupportedInstanceError, match="has no loops in loops"):
            strategies.play_hierarchy("nested", g, Hierarchy((8, 16)))
        assert verify_hierarchy(strategies.play_hierarchy("auto", g, Hierarchy((8, 16)))).total


@pytest.mark.parametrize(
    ("spec", "sizes", "ratio"),
    [
        ("matmul:8x8x8", (12, 60), 1.75),
        ("attention-forward:n=8,d=2", (16, 60), 1.5),
        pytest.param("attention-backward:n=6,d=2", (16, 40), 2.2, marks=pytest.mark.slow),
        ("stencil1d:n=64,t=16", (8, 32), 2.6),
        ("fft:64", (8, 32), 1.8),
    ],
)
def test_auto_is_never_worse_than_its_parts(spec: str, sizes: tuple[int, int], ratio: float) -> None:
    g, h = graphs.build(spec), Hierarchy(sizes, (1, 10))
    names = [n for n in ("tiled", "algorithm6", "saha-ye", "blocked") if _plays(n, g, sizes[0])]
    totals = {}
    for name in ["belady", "nested", *names, *(f"{name}/{name}" for name in names), "auto"]:
        schedule = strategies.play_hierarchy(name, g, h, limit=Limit(nodes=40))
        cost = verify_hierarchy(schedule)
        assert schedule.claim == cost.total
        totals[name] = cost.total
    assert totals["auto"] == min(totals.values())
    bounds = solvers.hierarchy_bounds(g, h)
    least = sum(c * bound.value for c, bound in zip(h.costs, bounds, strict=True))
    assert least <= totals["auto"] <= ratio * least


def _plays(name: str, g: pebble.CDAG, M: int) -> bool:
    strategy, instance = strategies.get(name), Instance(g, M)
    return strategy.supports(instance) is None and strategy.least_M(instance) <= M


def test_three_programs_in_each_other() -> None:
    g, h = graphs.build("matmul:8x8x8"), Hierarchy((12, 40, 120), (1, 10, 100))
    alone = strategies.play_hierarchy("tiled", g, h)
    three = strategies.play_hierarchy("tiled/tiled/tiled", g, h)
    assert verify_hierarchy(three).total == three.claim
    assert three.claim is not None
    assert alone.claim is not None
    assert three.claim <= alone.claim
    with pytest.raises(UnsupportedInstanceError, match="names 3 strategies: there are 2 levels"):
        strategies.play_hierarchy("tiled/tiled/tiled", g, Hierarchy((12, 40)))
    with pytest.raises(UnknownNameError, match="tilled"):
        strategies.play_hierarchy("tilled/tiled", g, h)


@pytest.mark.parametrize("spec", ["fft:16", "attention-forward:n=4,d=2", "random:n=20,p=0.3,seed=3"])
def test_one_shot_is_played_and_bounded(spec: str) -> None:
    g = graphs.build(spec)
    least = Instance(g, 1).least_M
    h = Hierarchy((least, 2 * least), (1, 5))
    bounds = solvers.hierarchy_bounds(g, h, "one-shot")
    free = solvers.hierarchy_bounds(g, h)
    assert all(once.value >= bound.value for once, bound in zip(bounds, free, strict=True))
    for name in ("belady", "auto"):
        schedule = strategies.play_hierarchy(name, g, h, rules="one-shot", limit=Limit(nodes=20))
        cost = verify_hierarchy(schedule)
        assert (cost.recomputes, schedule.rules.name) == (0, "one-shot")
        assert all(q >= bound.value for q, bound in zip(cost.io, bounds, strict=True))
    for wrong in (lambda: strategies.play_hierarchy("belady", g, h, rules="partial"),
                  lambda: solvers.hierarchy_bounds(g, h, "partial")):  # fmt: skip
        with pytest.raises(UnsupportedInstanceError, match="hong-kung or one-shot"):
            wrong()


def test_the_cost_of_moves_is_the_referees() -> None:
    g = pebble.CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3), (0, 4), (3, 4)], weights=[1, 2, 3, 1, 2])
    h = Hierarchy((6, 8), (1, 7))
    played = add_levels(strategies.play("belady", Instance(g, 6)), h)
    assert total_cost(g, h, played.moves) == verify_hierarchy(played).total == played.claim


def test_the_search_keeps_to_its_budget_and_finds_the_least() -> None:
    target = {"a": 5, "b": 2}
    values = {"a": range(9), "b": range(9)}

    def order(choice: dict[str, int]) -> np.ndarray:
        return np.array([choice["a"], choice["b"]])

    def price(at: np.ndarray) -> int:
        return int(abs(at[0] - target["a"]) + abs(at[1] - target["b"]) + 3 * abs(at.sum() - 7))

    search = Search(Space(values, [{"a": 0, "b": 0}], order), price, Budget(500, None))
    search.start()
    search.go_on()
    assert (search.best, search.least) == (target, 0)
    budget = Budget(4, None)
    short = Search(Space(values, [{"a": 0, "b": 0}], order), price, budget)
    short.start()
    short.go_on()
    assert budget.priced == 4
    one = Budget(None, 0.0)
    hurried = Search(Space(values, [{"a": 0, "b": 0}], order), price, one)
    hurried.start()
    assert (one.priced, hurried.best) == (1, {"a": 0, "b": 0})


def test_a_limit_is_kept_and_a_seed_repeats() -> None:
    g, h = graphs.build("matmul:6x6x6"), Hierarchy((8, 40), (1, 10))
    few = strategies.play_hierarchy("nested", g, h, limit=Limit(nodes=5))
    more = strategies.play_hierarchy("nested", g, h, limit=Limit(nodes=200))
    assert few.claim is not None
    assert more.claim is not None
    assert more.claim <= few.claim
    again = strategies.play_hierarchy("nested", g, h, limit=Limit(nodes=200))
    assert np.array_equal(more.moves, again.moves)
    assert verify_hierarchy(strategies.play_hierarchy("auto", g, h, limit=Limit(time=0.0))).total


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("3,3", "level 2 has 3 words, level 1 has 3: levels must grow"),
        ("64,8", "levels must grow"),
        ("8,16,16", "level 3 has 16 words"),
        ("8..64", "'8..64' is no single size"),
        ("8,16:64", "'16:64' is no single size"),
        ("8,x", "M=x is not a whole number"),
        ("8,", "is not a whole number"),
    ],
)
def test_levels_that_are_none(memory: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hierarchy", "fft:8", "-M", memory, "-s", "belady"]) == 2
    assert message in capsys.readouterr().err


def test_the_command_line_on_one_level_and_with_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hierarchy", "fft:8", "-M", "8", "-s", "belady", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    one = pebble.verify(strategies.play("belady", Instance(graphs.build("fft:8"), 8)))
    assert document["results"][0]["io"] == [one.io]
    assert main(["hierarchy", "fft:8", "-M", "4,n", "-s", "nested", "--rules", "one-shot"]) == 0
    assert "rules one-shot" in capsys.readouterr().out
    for wrong in (["--rules", "one-shot+sliding"], ["-s", "belady/"], ["-s", "belady:x=1"], ["-s", "zzz"]):
        assert main(["hierarchy", "fft:8", "-M", "4,16", *wrong]) == 2
    assert main(["hierarchy", "fft:8", "-M", "4,16", "-s", "belady/belady/belady"]) == 3
    assert "names 3 strategies" in capsys.readouterr().err
    assert main(["hierarchy", "fft:8", "-M", "4,16", "-s", "belady", "-o", "/absent/x"]) == 2


def test_an_interrupt_keeps_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from strategies import hierarchical

    whole = hierarchical.play_hierarchy

    def interrupted(spec: str, *rest: object, **options: object) -> pebble.HierarchySchedule:
        if spec == "nested":
            raise KeyboardInterrupt
        return whole(spec, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(hierarchical, "play_hierarchy", interrupted)
    assert main(["hierarchy", "fft:8", "-M", "4,16", "-s", "belady,nested"]) == 130
    said = capsys.readouterr()
    assert "belady" in said.out
    assert "interrupted: these are the results so far" in said.err


def test_an_interrupt_of_auto_keeps_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from strategies import hierarchical

    whole, calls = hierarchical.add_levels, []

    def interrupted(*given: Any) -> pebble.HierarchySchedule:
        if len(calls) == 6:
            raise KeyboardInterrupt
        calls.append(whole(*given))
        return calls[-1]

    monkeypatch.setattr(hierarchical, "add_levels", interrupted)
    file = str(tmp_path / "s")
    assert main(["hierarchy", "fft:16", "-M", "4,16", "-s", "auto", "--json", "-o", file]) == 130
    document = json.loads(capsys.readouterr().out)
    (row,) = document["results"]
    assert (row["strategy"], row["total"]) == ("auto", min(made.claim for made in calls))
    assert document["lower_bounds"] is None
    assert verify_hierarchy(pebble.HierarchySchedule.load(file, graphs.build("fft:16"))).total == row["total"]
    calls.clear()
    calls.extend(
        whole(strategies.play("belady", Instance(graphs.build("fft:8"), 8)), Hierarchy((8,)))
        for _ in range(6)
    )
    with pytest.raises(KeyboardInterrupt) as nothing:
        strategies.play_hierarchy("nested", graphs.build("fft:8"), Hierarchy((4, 16)))
    assert type(nothing.value) is KeyboardInterrupt
