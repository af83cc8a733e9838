"""Under every combination of rules the two referees agree on random legal and illegal play."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.cdag import CDAG
from pebble.errors import IllegalMoveError, IncompleteScheduleError
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Move, Op
from pebble.referee import verify
from pebble.schedule import Schedule
from tests.games import any_move, random_cdag
from tests.rule_sets import random_variant
from tests.test_game_walks import game_says, referee_says, snapshot


def verdict(game: Game, refused: Move | None) -> object:
    """What the game says of its moves and the refused one."""
    if refused is None and game.open_slide is not None:
        return "incomplete", game.open_slide, 0
    return game_says(game, refused)


def position(game: Game) -> tuple[object, ...]:
    return (*snapshot(game), game.aggregated, game.open_slide)


def items(instance: Instance, op: Op) -> int:
    """How many ids a move of this kind may name."""
    edges = instance.cdag.num_edges if op is Op.COMPUTE and instance.rules.partial else 0
    return edges + instance.cdag.num_vertices


def walk(instance: Instance, rng: random.Random) -> None:
    game = Game(instance)
    history = [position(game)]
    refused = None
    for _ in range(rng.randint(1, 30)):
        legal = game.legal_moves()
        ids = items(instance, Op.COMPUTE)
        move = rng.choice(legal) if legal and rng.random() < 0.95 else any_move(rng, ids)
        if game.why_illegal(move) is not None:
            assert move not in legal
            refused = move
            break
        assert move in legal
        game.push(move)
        assert game.cost.peak_red <= instance.M
        history.append(position(game))
    tried = [*game.moves, refused] if refused else list(game.moves)
    assert verdict(game, refused) == referee_says(instance, tried)
    while len(game):
        assert position(game) == history.pop()
        game.pop()
    assert [position(game)] == history


def walks(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        instance = random_variant(rng)
        for _ in range(3):
            walk(instance, rng)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_walks_under_any_rules(seed: int) -> None:
    walks(seed)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.integers(0, 2**32))
def test_many_more_walks_under_any_rules(seed: int) -> None:
    walks(seed)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_every_move_of_one_position(seed: int) -> None:
    """From a random position, each possible move gets the same verdict and text from both."""
    rng = random.Random(seed)
    instance = random_variant(rng)
    game = Game(instance)
    for _ in range(rng.randint(0, 30)):
        if legal := game.legal_moves():
            game.push(rng.choice(legal))
    every = [Move(op, v) for op in Op for v in range(items(instance, op) + 1)]
    assert game.legal_moves() == [move for move in every if game.why_illegal(move) is None]
    for move in every:
        tried = [*game.moves, move]
        if game.why_illegal(move) is not None:
            assert game_says(game, move) == referee_says(instance, tried)
        else:
            game.push(move)
            assert verdict(game, None) == referee_says(instance, tried)
            game.pop()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_positions_have_a_text_that_comes_back(seed: int) -> None:
    rng = random.Random(seed)
    instance = random_variant(rng)
    game = Game(instance)
    for _ in range(rng.randint(0, 30)):
        if legal := game.legal_moves():
            game.push(rng.choice(legal))
    again = Game.at(instance, str(game))
    assert position(again)[:4] == position(game)[:4]
    assert (again.aggregated, again.open_slide) == (game.aggregated, game.open_slide)
    assert again.legal_moves() == game.legal_moves()
    assert again.missing_outputs == game.missing_outputs


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_legal_under_plain_rules_is_legal_with_sliding(seed: int) -> None:
    rng = random.Random(seed)
    cdag = random_cdag(rng)
    base = rng.choice(["hong-kung", "one-shot"])
    least = Instance(cdag, 1).least_M
    plain = Game(Instance(cdag, least + rng.randint(0, 2), base))
    slid = Game(plain.instance.with_rules(base + "+sliding"))
    for _ in range(40):
        for move in (legal := plain.legal_moves()):
            assert slid.why_illegal(move) is None
        if legal:
            move = rng.choice(legal)
            plain.push(move)
            slid.push(move)
            assert position(plain) == position(slid)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_costs_change_no_legality(seed: int) -> None:
    rng = random.Random(seed)
    instance = random_variant(rng)
    dear = instance.with_rules(replace(instance.rules, load_cost=3, store_cost=5, compute_cost=0.5))
    first, second = Game(instance), Game(dear)
    for _ in range(30):
        if legal := first.legal_moves():
            move = rng.choice(legal)
            first.push(move)
            second.push(move)
    cost = second.cost
    assert (cost.loads, cost.stores, cost.computes) == (
        first.cost.loads,
        first.cost.stores,
        first.cost.computes,
    )
    assert cost.io == 3 * cost.loads + 5 * cost.stores
    assert cost.compute_cost == 0.5 * cost.computes


def test_the_references_are_not_vacuous() -> None:
    """Random play reaches open slides, refusals of each kind, and ends that are incomplete."""
    rng = random.Random(1)
    seen = set()
    for _ in range(400):
        instance = random_variant(rng)
        game = Game(instance)
        for _ in range(25):
            move = any_move(rng, items(instance, Op.COMPUTE))
            if (problem := game.why_illegal(move)) is not None:
                seen.add(problem[0].name)
            if legal := game.legal_moves():
                game.push(rng.choice(legal))
            if game.open_slide is not None:
                seen.add("open")
    assert len(seen) == 13, seen


def test_an_open_slide_at_the_end_is_incomplete() -> None:
    instance = Instance(CDAG.from_edges(2, [(0, 1)]), 1, "hong-kung+sliding")
    with pytest.raises(IncompleteScheduleError, match="with the slide into vertex 1 open"):
        verify(Schedule.from_moves(instance, ["L0", "C1"]))
    with pytest.raises(IllegalMoveError, match="the slide into 1 is open: delete a predecessor of it first"):
        verify(Schedule.from_moves(instance, ["L0", "C1", "S1"]))
    assert verify(Schedule.from_moves(instance, ["L0", "C1", "D0", "S1"])).peak_red == 1
