"""The tile language for everyone: own programs, its contract, and what tile strategies refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphs
import pebble
import strategies
from strategies.tiles import Machine, Shape, TileProgramError, TileStrategy
from strategies.tiles.counting import CountingMachine
from strategies.tiles.lowering import LoweringMachine


def _heads(m: Machine, shape: Shape, block: Any) -> None:
    """S[h] = Q[h] K[h]ᵀ for each head h, then the row sums of its exponential."""
    c = m.whole(shape.d)
    for h in m.loop(shape.h, 1):
        for i in m.loop(shape.n, block):
            total = m.accumulator("t", h, i)
            for j in m.loop(shape.n, block):
                S = m.accumulator("S", h, i, j)
                m.multiply(S, m.stream("Q", h, i, c), m.stream("K", h, j, c))
                m.rowsum(total, m.map("u", m.map("Z", S, m.stream("L", h, i))))
            m.store(total)
            m.free(total)


def _heads_numpy(Q: Any, K: Any, L: Any) -> dict[str, Any]:
    S = graphs.named("S", np.einsum("hic,hjc->hij", Q, K))
    u = graphs.named("u", np.exp(graphs.named("Z", S - L[:, :, np.newaxis])))
    return {"t": u.sum(axis=2)}


@pytest.mark.parametrize("fma", [False, True])
@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_an_own_program_on_an_own_graph_with_heads(block: int, fma: bool) -> None:
    h, n, d = 4, 5, 3
    cdag = graphs.trace(_heads_numpy, fma=fma, Q=(h, n, d), K=(h, n, d), L=(h, n))
    shape = Shape.of({"h": h, "n": n, "d": d, "fma": fma})
    count, lower = CountingMachine(shape), LoweringMachine(cdag)
    for machine in (count, lower):
        _heads(machine, shape, block)
    cost = count.cost()
    schedule = pebble.Schedule(pebble.Instance(cdag, cost.peak_red), lower.moves())
    assert pebble.verify(schedule) == cost
    rng = np.random.default_rng(1)
    inputs = {name: rng.standard_normal(cdag.tensors[name].shape) for name in cdag.input_names}
    expected = np.exp(inputs["Q"] @ inputs["K"].swapaxes(1, 2) - inputs["L"][:, :, None]).sum(axis=2)
    np.testing.assert_allclose(pebble.execute(schedule, inputs)["t"], expected, rtol=1e-12)


def test_matrix_times_vector() -> None:
    """A product without columns, its operand streamed or resident."""

    def program(m: Machine, shape: Shape, resident: bool) -> None:
        terms = m.whole(shape.n)
        x = m.load("x", terms) if resident else m.stream("x", terms)
        for i in m.loop(shape.m, 2):
            y = m.product("y", m.stream("A", i, terms), x)
            m.store(y)
            m.free(y)
        m.free(x)

    cdag = graphs.build("matvec:5x4")
    for resident in (True, False):
        shape = Shape.of({"m": 5, "n": 4})
        count, lower = CountingMachine(shape), LoweringMachine(cdag)
        program(count, shape, resident)
        program(lower, shape, resident)
        schedule = pebble.Schedule(pebble.Instance(cdag, count.cost().peak_red), lower.moves())
        assert pebble.verify(schedule) == count.cost()
        assert count.loads == 20 + 4 * (1 if resident else 3)


# -- the contract ----------------------------------------------------------------------------------------


def _leaves_more_each_time(m: Machine) -> None:
    for i in m.loop(6, 2):
        m.load("x", i)


def _ends_with_a_tile(m: Machine) -> None:
    m.load("x", m.whole(6))


def _stores_what_it_freed(m: Machine) -> None:
    x = m.load("x", m.whole(6))
    m.free(x)
    m.store(x)


def _stores_an_empty_accumulator(m: Machine) -> None:
    m.store(m.accumulator("y", m.whole(6)))


def _multiplies_tiles_that_share_no_block(m: Machine) -> None:
    a, b, c, e = (m.whole(6) for _ in range(4))
    m.product("C", m.load("A", a, b), m.load("B", c, e))


def _streams_into_a_product_what_is_computed(m: Machine) -> None:
    a, b, c = (m.whole(6) for _ in range(3))
    m.product("C", m.map("u", m.stream("S", a, b)), m.load("B", b, c))


def _batch_of_many(m: Machine) -> None:
    h, a, b, c = (m.whole(6) for _ in range(4))
    m.multiply(m.accumulator("C", h, a, b), m.stream("A", h, a, c), m.stream("B", h, b, c))


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        (_leaves_more_each_time, "free what the iteration brought in"),
        (_ends_with_a_tile, "still resident: x"),
        (_stores_what_it_freed, "x is freed, the program needs it resident"),
        (_stores_an_empty_accumulator, "y is an accumulator without a term"),
        (_multiplies_tiles_that_share_no_block, r"C \+= A · B: the blocks"),
        (_streams_into_a_product_what_is_computed, "u is computed on the fly"),
        (_batch_of_many, "one index at a time"),
    ],
)
def test_count_refuses_a_program_that_breaks_the_contract(
    program: Callable[[Machine], None], complaint: str
) -> None:
    machine = CountingMachine(Shape.of({}))

    def read() -> None:
        program(machine)
        machine.cost()

    with pytest.raises(TileProgramError, match=complaint):
        read()


def test_count_refuses_an_array_computed_in_part() -> None:
    machine = CountingMachine(Shape.of({}))
    for i in machine.loop(6, 2):
        if i.first:
            x = machine.map("y", machine.load("x", i))
            machine.store(x)
            machine.free(x)
    with pytest.raises(TileProgramError, match="y is computed only in part"):
        machine.cost()


def test_lowering_names_what_the_graph_lacks() -> None:
    cdag = graphs.build("matmul:4x4x4")
    machine = LoweringMachine(cdag)
    a, b, c = (machine.whole(4) for _ in range(3))
    with pytest.raises(pebble.UnsupportedInstanceError, match="names no array Q"):
        machine.load("Q", a)
    with pytest.raises(TileProgramError, match="A has 2 axes, the program gives 1"):
        machine.load("A", a)
    with pytest.raises(pebble.UnsupportedInstanceError, match="A has no sums"):
        machine.product("A", machine.stream("B", a, b), machine.stream("B", b, c))
    shuffled = cdag.renumber(np.random.default_rng(0).permutation(cdag.num_vertices))
    with pytest.raises(pebble.UnsupportedInstanceError, match="row by row"):
        LoweringMachine(shuffled).load("A", a, b)
    tree = LoweringMachine(graphs.build("matmul:4x4x4,sums=tree"))
    with pytest.raises(pebble.UnsupportedInstanceError, match="tree sums in this graph: tile programs need"):
        tree.product("C", tree.stream("A", a, b), tree.stream("B", b, c))


# -- the strategies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "program", "reason"),
    [
        ("fft:8", "flash-attention", "it plays attention-backward graphs"),
        ("attention-backward:n=4,d=2,scale=true", "algorithm6", "scale=false, not scale=true"),
        ("attention-backward:n=4,d=2,sums=tree", "two-pass", "sums=chain, not sums=tree"),
        ("attention-backward:n=4,d=2", "flash-attention-1", "given=O, not given=D"),
        ("attention-gradient:n=1,d=2", "algorithm6", "n >= 2"),
        ("attention-gradient:n=4,d=2,outputs=dX+dY", "row-resident", "outputs=dX, not"),
    ],
)
def test_graphs_that_a_program_does_not_play(spec: str, program: str, reason: str) -> None:
    cdag = graphs.build(spec)
    with pytest.raises(pebble.UnsupportedInstanceError, match=reason):
        strategies.play(program, pebble.Instance(cdag, 1000))
    with pytest.raises(pebble.UnsupportedInstanceError, match=reason):
        strategies.count(program, spec, 1000)
    strategy = strategies.get(program)
    assert strategy.supports(pebble.Instance(cdag, 1000)) is not None


def test_custom_graphs_are_refused() -> None:
    cdag = graphs.build("attention-backward:n=4,d=2")
    custom = pebble.CDAG.from_edges(cdag.num_vertices, cdag.edges())
    for changed in (
        custom,
        cdag.renumber(np.arange(cdag.num_vertices)),
        cdag.with_outputs(cdag.tensors["P"].ravel()),
    ):
        assert strategies.get("flash-attention").supports(pebble.Instance(changed, 1000)) is not None


def test_options() -> None:
    spec = "attention-backward:n=12,d=4"
    cost, chosen = strategies.count_detail("flash-attention", spec, 60, block_columns="2")
    assert chosen["block_columns"] == 2
    assert cost == strategies.count("flash-attention:block_columns=2", spec, 60)
    both = {strategies.count(f"algorithm6:tiles={tiles}", spec, 60).io for tiles in ("square", "streaming")}
    assert strategies.count("algorithm6", spec, 60).io == min(both)
    assert strategies.count_detail("algorithm6", spec, 60, tile=2)[1] == {"tiles": "square", "tile": 2}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"tiles": "round"}, "no tiles=round"),
        ({"tiles": "streaming", "tile": 3}, "do not go together"),
        ({"tile": 0}, "at least 1 index"),
        ({"tile": "two"}, "no whole number"),
        ({"tile": 2.5}, "no whole number"),
        ({"size": 2}, "no option 'size'"),
        ({"tile": 12}, "with tile=12 needs M >= "),
    ]
    for options, complaint in refused:
        with pytest.raises(pebble.UnsupportedInstanceError, match=complaint):
            strategies.count("algorithm6", spec, 60, **options)


def test_too_little_memory_names_the_least() -> None:
    spec = "attention-backward:n=12,d=4"
    with pytest.raises(pebble.UnsupportedInstanceError, match="needs M >= 28") as refusal:
        strategies.count("flash-attention", spec, 27)
    assert refusal.value.least_M == 28
    assert strategies.count("flash-attention", spec, 28).peak_red == 28


def test_every_tile_strategy_is_countable_and_describes_its_options() -> None:
    for name in (
        "flash-attention",
        "flash-attention-1",
        "two-pass",
        "naive",
        "algorithm6",
        "row-resident",
        "tiled",
    ):
        strategy = strategies.get(name)
        assert isinstance(strategy, TileStrategy)
        assert isinstance(strategy, strategies.Countable)
        assert strategy.name == name
        assert all(strategy.options.values())


def test_the_guide_s_own_strategy() -> None:
    """The last example of docs/tiles.md: a user's program on a built-in family, counted and played."""
    guide = (Path(__file__).parent.parent / "docs" / "tiles.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[-1], names)
    mine = names["ROWS"]
    spec = graphs.GraphSpec.parse("matmul:6x3x5")
    cost, chosen = mine.count(spec, 20)
    # 3·rows words of A, rows of C, one of B and two of scratch: 4 rows fit, which is 2 blocks as with 3 rows.
    assert chosen == {"rows": 3}
    assert cost.io == 6 * 3 + 2 * 3 * 5 + 6 * 5
    assert pebble.verify(mine(pebble.Instance(graphs.build("matmul:6x3x5"), 20))) == cost
