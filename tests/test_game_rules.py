"""The rules of the game, one by one, and the board's own manners."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pebble.cdag import CDAG
from pebble.errors import FormatError, IllegalMoveError, PebbleError
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason
from tests import perft_reference

TABLES = tomllib.loads((Path(__file__).parent / "perft_tables.toml").read_text())["case"]
REFERENCE_DEPTH = 5


def diamond(M: int = 3, rules: str = "hong-kung") -> Instance:
    return Instance(CDAG.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)]), M, rules)


def played(instance: Instance, moves: str) -> Game:
    game = Game(instance)
    for move in moves.split():
        game.push(move)
    return game


# -- perft --------------------------------------------------------------------------------------------


def case_id(case: dict[str, Any]) -> str:
    return f"{case['graph']}, M={case['M']}, {case['rules']}"


def count_sequences(game: Game, depth: int, known: dict[tuple[Any, ...], int]) -> int:
    """Legal sequences of that length from here; positions met before are not walked again."""
    if depth == 0:
        return 1
    key = (game.red, game.blue, game.computed, depth)
    if key not in known:
        total = 0
        for move in game.legal_moves():
            game.push(move)
            total += count_sequences(game, depth - 1, known)
            game.pop()
        known[key] = total
    return known[key]


@pytest.mark.parametrize("case", TABLES, ids=case_id)
def test_perft(case: dict[str, Any]) -> None:
    cdag = CDAG.from_edges(case["num_vertices"], case["edges"], weights=case.get("weights"))
    game = Game(Instance(cdag, case["M"], case["rules"]))
    known: dict[tuple[Any, ...], int] = {}
    counts = [count_sequences(game, depth, known) for depth in range(len(case["counts"]))]
    assert counts == case["counts"]
    assert (len(game), game.io) == (0, 0)


@pytest.mark.parametrize("case", TABLES, ids=case_id)
def test_perft_tables_are_the_references(case: dict[str, Any]) -> None:
    edges = [tuple(edge) for edge in case["edges"]]
    counts = perft_reference.perft(
        case["num_vertices"], edges, case.get("weights"), case["M"], case["rules"], REFERENCE_DEPTH
    )
    assert counts == case["counts"][: REFERENCE_DEPTH + 1]


def test_the_reference_imports_nothing_of_the_project() -> None:
    text = Path(perft_reference.__file__).read_text()
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert imports == ["from __future__ import annotations", "from collections import Counter"]


# -- each refusal -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "move", "reason", "vertices", "text"),
    [
        ("", "L4", Reason.OUT_OF_RANGE, (4,), "vertex 4 is out of range, ids go from 0 to 3"),
        ("", "C9", Reason.OUT_OF_RANGE, (9,), "vertex 9 is out of range, ids go from 0 to 3"),
        ("", "C0", Reason.IS_SOURCE, (0,), "vertex 0 is a source, it cannot be computed: load it"),
        ("L0", "C0", Reason.IS_SOURCE, (0,), "vertex 0 is a source, it cannot be computed: load it"),
        ("L0", "L0", Reason.ALREADY_RED, (0,), "vertex 0 is already red"),
        ("L0 C1", "C1", Reason.ALREADY_RED, (1,), "vertex 1 is already red"),
        ("L0 C1", "L1", Reason.ALREADY_RED, (1,), "vertex 1 is already red"),
        ("", "C3", Reason.PREDECESSOR_NOT_RED, (1,), "computing 3 needs predecessor 1 red"),
        ("L0 C1", "C3", Reason.PREDECESSOR_NOT_RED, (2,), "computing 3 needs predecessor 2 red"),
        ("", "L1", Reason.NOT_BLUE, (1,), "vertex 1 is not blue, there is nothing to load"),
        ("", "S0", Reason.NOT_RED, (0,), "vertex 0 is not red, there is nothing to store"),
        ("", "D0", Reason.NOT_RED, (0,), "vertex 0 is not red, there is nothing to delete"),
        ("L0 C1 C2", "C3", Reason.NO_ROOM, (3,), "all 3 red words are in use"),
    ],
)
def test_refusals(before: str, move: str, reason: Reason, vertices: tuple[int, ...], text: str) -> None:
    game = played(diamond(), before)
    assert game.why_illegal(move) == (reason, vertices)
    with pytest.raises(IllegalMoveError) as caught:
        game.push(move)
    error = caught.value
    assert str(error) == f"move {len(before.split())} ({move}): {text}"
    assert (error.index, str(error.move), error.reason) == (len(before.split()), move, reason.value)
    assert error.vertices == vertices


def test_one_shot_refuses_a_second_computation_only() -> None:
    moves = "L0 C1 S1 D1"
    assert played(diamond(), moves).why_illegal("C1") is None
    game = played(diamond(rules="one-shot"), moves)
    assert game.why_illegal("C1") == (Reason.ALREADY_COMPUTED, (1,))
    assert game.why_illegal("L1") is None
    with pytest.raises(IllegalMoveError, match="one-shot rules allow one computation each"):
        game.push("C1")


def test_one_shot_names_the_computation_before_a_missing_predecessor() -> None:
    game = played(diamond(rules="one-shot"), "L0 C1 D1 D0")
    assert game.why_illegal("C1") == (Reason.ALREADY_COMPUTED, (1,))
    assert played(diamond(), "L0 C1 D1 D0").why_illegal("C1") == (Reason.PREDECESSOR_NOT_RED, (0,))


def test_weights_take_words() -> None:
    cdag = CDAG.from_edges(3, [(0, 2), (1, 2)], weights=[2, 1, 3], labels=["a", "b", "c"])
    game = played(Instance(cdag, 5), "L0 L1")
    assert (game.io, game.red_words) == (3, 3)
    with pytest.raises(IllegalMoveError, match=r"vertex 2 \(c\) takes 3 words, only 2 of 5 are free"):
        game.push("C2")
    roomy = played(Instance(cdag, 6), "L0 L1 C2 S2")
    assert (roomy.io, roomy.cost.peak_red, roomy.is_over) == (6, 6, True)


def test_storing_a_blue_vertex_is_legal_and_costs() -> None:
    game = played(diamond(), "L0 S0 S0")
    assert game.io == 3
    assert game.blue == {0}


def test_red_pebbles_may_go_before_the_value_is_used() -> None:
    assert played(diamond(), "L0 D0 L0").io == 2


def test_an_isolated_vertex_is_an_input_and_an_output_for_free() -> None:
    game = Game(Instance(CDAG.from_edges(1, []), 1))
    assert game.is_over
    assert game.io == 0


# -- manners ------------------------------------------------------------------------------------------


def test_text_that_is_no_move() -> None:
    with pytest.raises(ValueError, match="'X1' is no move"):
        Game(diamond()).push("X1")


def test_negative_vertex_is_out_of_range() -> None:
    assert Game(diamond()).why_illegal(Move(Op.LOAD, -1)) == (Reason.OUT_OF_RANGE, (-1,))


def test_pop_of_nothing() -> None:
    with pytest.raises(IndexError, match="no move to take back"):
        Game(diamond()).pop()


def test_sets_are_snapshots() -> None:
    game = Game(diamond())
    before = game.red
    game.push("L0")
    assert (before, game.red) == (frozenset(), frozenset({0}))


def test_position_text() -> None:
    game = played(diamond(M=4), "L0 C1 C2 S1 D2")
    assert str(game) == "red:0,1 blue:0,1 computed:2"
    assert repr(game).startswith("<Game red:0,1 blue:0,1 computed:2, 5 moves, I/O 2, on <Instance")


@pytest.mark.parametrize(
    ("position", "complaint"),
    [
        ("red:0 blue:0,7", "vertex 7 is out of range"),
        ("red:0-99999999999 blue:0", "out of range"),
        ("red:0", "source 0 is not blue"),
        ("red:0-3 blue:0", "4 words are red, M=3"),
        ("green:1 blue:0", "'green:1' is unclear"),
        ("red:x blue:0", "'x' in 'red:x' is no vertex id"),
        ("blue:0 blue:0", "'blue:0' is unclear"),
    ],
)
def test_bad_positions(position: str, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        Game.at(diamond(), position)


def test_a_game_from_the_middle_is_no_schedule() -> None:
    game = Game.at(diamond(), "red:1,2 blue:0")
    game.push("C3")
    with pytest.raises(PebbleError, match="began in the middle"):
        game.schedule()
