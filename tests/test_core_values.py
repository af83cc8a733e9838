"""Moves, rules, schedules, registries, results and errors: the small types that everything else uses."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from pebble import errors
from pebble.cdag import CDAG
from pebble.errors import IllegalMoveError, MissingExtraError, PebbleError, UnknownNameError
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason, pack, pack_arrays, unpack_arrays
from pebble.registry import Registry
from pebble.result import Bound, Cost, Limit, Result, Status
from pebble.rules import Rules
from pebble.schedule import Schedule

# -- moves --------------------------------------------------------------------------------------------


def test_moves_have_a_text_and_a_packed_form_that_come_back() -> None:
    rng = random.Random(1)
    for _ in range(200):
        move = Move(rng.choice(list(Op)), rng.randrange(1 << rng.randrange(1, 61)))
        assert Move.parse(str(move)) == move
        assert Move.unpack(move.packed) == move
    assert [str(Move(op, 3)) for op in Op] == ["L3", "S3", "C3", "D3"]


@pytest.mark.parametrize("text", ["", "L", "3", "X3", "l3", "L-1", "L3 ", "L 3", "L3.0", "LL3"])
def test_texts_that_are_no_moves(text: str) -> None:
    with pytest.raises(ValueError, match="is no move: write L, S, C or D"):
        Move.parse(text)


def test_packed_arrays() -> None:
    codes = pack(["L0", Move(Op.STORE, 5), "D7"], 8)
    assert codes.dtype == np.uint32
    ops, vertices = unpack_arrays(codes)
    assert (ops.tolist(), vertices.tolist()) == ([0, 1, 3], [0, 5, 7])
    assert np.array_equal(pack_arrays(ops, vertices, 8), codes)
    assert pack([], 8).dtype == np.uint32
    assert pack(["L0"], (1 << 30) + 1).dtype == np.uint64
    beyond = pack([f"L{1 << 40}"], 8)
    assert unpack_arrays(beyond)[1].tolist() == [1 << 40]


def test_reasons_stand_in_the_order_in_which_they_are_given() -> None:
    assert [reason.value for reason in Reason] == [
        "vertex out of range",
        "a slide is open",
        "deletion is not allowed",
        "is a source",
        "already red",
        "already computed",
        "a predecessor is not complete",
        "a predecessor is not red",
        "its partial value is not red",
        "not blue",
        "not red",
        "no room",
    ]


# -- rules --------------------------------------------------------------------------------------------


def test_rule_sets_by_name() -> None:
    assert Rules.names() == ["hong-kung", "one-shot", "partial"]
    for name in Rules.names():
        assert Rules.named(name).name == str(Rules.named(name)) == name
    assert Rules.of("One_Shot") == Rules(recomputation=False)
    assert Rules.of(Rules()) == Rules()
    with pytest.raises(UnknownNameError, match="no rule set 'oneshot'; did you mean 'one-shot'") as caught:
        Rules.named("oneshot")
    assert caught.value.suggestions == ("one-shot",)


# -- schedules ----------------------------------------------------------------------------------------


def test_a_schedule_is_a_frozen_list_of_moves() -> None:
    inst = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), 3)
    s = Schedule.from_moves(inst, ["L0", "L1", "C2", "S2"], producer="me", claim=3)
    assert s.text() == "L0 L1 C2 S2"
    assert list(s) == [Move.parse(text) for text in s.text().split()]
    assert (len(s), s[-1], s.order().tolist()) == (4, Move(Op.STORE, 2), [2])
    assert repr(s) == "<Schedule by me for <Instance custom, M=3, rules hong-kung>: 4 moves, claims I/O 3>"
    with pytest.raises(ValueError, match="read-only"):
        s.moves[0] = 0
    assert s == Schedule.from_moves(inst, s)
    assert hash(s) == hash(Schedule.from_moves(inst, s))
    assert s != Schedule.from_moves(inst.with_memory(4), s)
    assert s != Schedule.from_moves(inst, list(s)[:-1])
    assert pickle.loads(pickle.dumps(s)) == s
    with pytest.raises(ValueError, match="'Q1' is no move"):
        Schedule.from_moves(inst, ["L0", "Q1"])


# -- registries ---------------------------------------------------------------------------------------


def registry() -> Registry[object]:
    r: Registry[object] = Registry("player", "pebble.nobody")
    r.register("Flash_Attention", "math:tau", "a constant", aliases=("FA",))
    r.register("two words", 2, "a number")
    return r


def test_names_are_normalised_before_they_are_looked_up() -> None:
    r = registry()
    for name in ("flash-attention", "Flash_Attention", " FLASH ATTENTION ", "fa"):
        assert r.get(name) == pytest.approx(6.283185307179586)
        assert name in r
    assert r.names() == ["flash-attention", "two-words"]
    assert r.info("FA").summary == "a constant"


@pytest.mark.parametrize("name", ["FLASH-attention", "fa", "Two_Words"])
def test_duplicates_are_refused(name: str) -> None:
    r = registry()
    with pytest.raises(ValueError, match="is registered already"):
        r.register(name, 1, "again")
    with pytest.raises(ValueError, match="is registered already"):
        r.register("new", 1, "again", aliases=(name,))
    assert r.names() == ["flash-attention", "two-words"]
    assert "new" not in r


def test_near_misses_are_suggested() -> None:
    with pytest.raises(UnknownNameError, match="no player 'flash-atention'; did you mean 'flash-attention'"):
        registry().get("flash-atention")
    with pytest.raises(UnknownNameError, match=r"no player 'zzz' \(known: flash-attention, two-words\)"):
        registry().get("zzz")


def test_availability_is_known_without_importing() -> None:
    r = registry()
    r.register("absent", "no_such_module:x", "needs it", requires=("no_such_module",), extra="nothing")
    assert r.info("absent").missing == ("no_such_module",)
    assert not r.info("absent").available
    with pytest.raises(
        MissingExtraError, match=r"'absent' needs no_such_module: pip install red-blue-pebble\[n"
    ):
        r.get("absent")


@pytest.mark.parametrize("target", ["no_such_module:x", "math:no_such_name"])
def test_a_broken_target_is_explained(target: str) -> None:
    r = registry()
    r.register("broken", target, "gone")
    with pytest.raises(PebbleError, match=f"player 'broken' cannot be loaded from '{target}'"):
        r.get("broken")


def test_decorate_registers_and_returns() -> None:
    r = registry()

    @r.decorate("decorated", "a function")
    def function() -> int:
        return 3

    assert r.get("decorated") is function


# -- results ------------------------------------------------------------------------------------------


def solved(status: Status, io: int | None, lower_bound: int, **fields: object) -> Result:
    moves = ["L0", "C1", "D1", "C1", "S1"]
    schedule = Schedule.from_moves(Instance(CDAG.from_edges(2, [(0, 1)]), 2), moves)
    bound = Bound(lower_bound, "compulsory", "any rules", "") if lower_bound else None
    return Result(
        status,
        schedule if io is not None else None,
        io,
        lower_bound,
        bound,
        "search",
        **fields,  # type: ignore[arg-type]
    )


def test_a_result_cannot_contradict_itself() -> None:
    with pytest.raises(ValueError, match="exactly when the I/O cost equals"):
        solved(Status.OPTIMAL, 2, 1)
    with pytest.raises(ValueError, match="exactly when the I/O cost equals"):
        solved(Status.FEASIBLE, 2, 2)
    with pytest.raises(ValueError, match="exactly when the I/O cost equals"):
        solved(Status.OPTIMAL, None, 0)
    with pytest.raises(ValueError, match="lower bound 3 exceeds the I/O cost 2"):
        solved(Status.FEASIBLE, 2, 3)
    with pytest.raises(ValueError, match="has a schedule exactly when it has an I/O cost"):
        Result(Status.FEASIBLE, None, 2, 1, None, "search")


def test_gaps() -> None:
    assert solved(Status.OPTIMAL, 2, 2).gap == 0
    assert solved(Status.FEASIBLE, 2, 1).gap == 1
    assert solved(Status.FEASIBLE, 2, 0).gap is None
    assert solved(Status.UNKNOWN, None, 1).gap is None


def test_a_result_reads_at_a_glance() -> None:
    text = str(solved(Status.FEASIBLE, 2, 1, why="auto", limit_hit="nodes", stats={"states": 12, "x": [1]}))
    assert text.splitlines() == [
        "custom, M=2, rules hong-kung                      method search (auto)",
        "    I/O cost     2  feasible, gap 100.0%      loads 1   stores 1",
        "    lower bound  1  compulsory",
        "    computes     2  recomputed 1 (vertex 1)    peak red 2/2    5 moves",
        "    limit           nodes",
        "    states       12",
    ]
    assert str(solved(Status.UNKNOWN, None, 0)).splitlines() == [
        "method search",
        "    I/O cost     -  unknown",
        "    lower bound  0  none proved",
    ]


def test_a_result_as_json() -> None:
    assert solved(Status.OPTIMAL, 2, 2, seed=4).to_dict() == {
        "status": "optimal",
        "io": 2,
        "lower_bound": 2,
        "bound": {
            "value": 2,
            "name": "compulsory",
            "assumes": "any rules",
            "source": "",
            "certificate": True,
            "details": {},
        },
        "gap": 0.0,
        "method": "search",
        "why": "",
        "limit_hit": None,
        "moves": 5,
        "stats": {},
        "seed": 4,
    }
    assert Cost(3, 1, 2, 0, 3).to_dict() == {
        "io": 4,
        "loads": 3,
        "stores": 1,
        "computes": 2,
        "recomputes": 0,
        "peak_red": 3,
    }
    assert Limit() == Limit(None, None, None, None)


# -- errors -------------------------------------------------------------------------------------------


def test_every_error_is_a_pebble_error() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        base = {"Warning": UserWarning, "Interrupted": KeyboardInterrupt}
        ending = next((end for end in base if name.endswith(end)), "")
        assert issubclass(kind, base.get(ending, PebbleError))


def test_an_illegal_move_carries_what_it_says() -> None:
    error = IllegalMoveError(2, Move(Op.COMPUTE, 4), "a predecessor is not red", "computing 4 needs 2", [2])
    assert str(error) == "move 2 (C4): computing 4 needs 2"
    assert (error.index, error.move, error.vertices) == (2, Move(Op.COMPUTE, 4), (2,))
