"""Two referees, written apart, agree on random legal and illegal play; pop takes every move back."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.errors import IllegalMoveError, IncompleteScheduleError
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Move, Op, pack
from pebble.referee import verify, verify_stream
from pebble.result import Cost
from pebble.schedule import Schedule
from tests.games import any_move, play_through, random_instance

EXAMPLES = 100
INSTANCES_PER_EXAMPLE = 20
WALKS_PER_INSTANCE = 5


def snapshot(game: Game) -> tuple[object, ...]:
    return (
        game.red,
        game.blue,
        game.computed,
        game.red_words,
        game.cost,
        tuple(game.missing_outputs),
        game.is_over,
        game.moves,
    )


def referee_says(instance: Instance, moves: list[Move]) -> tuple[object, ...] | Cost:
    """The referee's verdict in a form to compare: the cost, or what it objects to."""
    try:
        return verify_stream(instance, [pack(moves, instance.cdag.num_vertices)])
    except IllegalMoveError as error:
        return error.index, error.move, error.reason, error.vertices, str(error)
    except IncompleteScheduleError as error:
        return "incomplete", error.vertex, error.missing


def game_says(game: Game, refused: Move | None) -> tuple[object, ...] | Cost:
    """The same from the game, where `refused` is the move that it did not take."""
    if refused is not None:
        before = snapshot(game)
        reason = game.why_illegal(refused)
        assert reason is not None
        with pytest.raises(IllegalMoveError) as caught:
            game.push(refused)
        error = caught.value
        assert (error.reason, error.vertices) == (reason[0].value, reason[1])
        assert snapshot(game) == before, "a refused move changed the game"
        return error.index, error.move, error.reason, error.vertices, str(error)
    if game.is_over:
        return game.cost
    missing = game.missing_outputs
    return "incomplete", missing[0], len(missing)


def walk(instance: Instance, rng: random.Random) -> None:
    n = instance.cdag.num_vertices
    game = Game(instance)
    history = [snapshot(game)]
    refused = None
    for _ in range(rng.randint(1, 25)):
        legal = game.legal_moves()
        move = rng.choice(legal) if legal and rng.random() < 0.95 else any_move(rng, n)
        if game.why_illegal(move) is not None:
            assert move not in legal
            refused = move
            break
        assert move in legal
        game.push(move)
        history.append(snapshot(game))
    tried = [*game.moves, refused] if refused else list(game.moves)
    assert game_says(game, refused) == referee_says(instance, tried)
    while len(game):
        assert snapshot(game) == history.pop()
        game.pop()
    assert [snapshot(game)] == history


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 2**32))
def test_ten_thousand_walks(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(INSTANCES_PER_EXAMPLE):
        instance = random_instance(rng)
        for _ in range(WALKS_PER_INSTANCE):
            walk(instance, rng)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_every_move_of_one_position(seed: int) -> None:
    """From a random position, each of the 4 (n + 1) moves gets the same verdict and text from both."""
    rng = random.Random(seed)
    instance = random_instance(rng)
    n = instance.cdag.num_vertices
    game = Game(instance)
    for _ in range(rng.randint(0, 30)):
        if legal := game.legal_moves():
            game.push(rng.choice(legal))
    every = [Move(op, v) for op in Op for v in range(n + 1)]
    assert game.legal_moves() == [move for move in every if game.why_illegal(move) is None]
    for move in every:
        tried = [*game.moves, move]
        if game.why_illegal(move) is not None:
            assert game_says(game, move) == referee_says(instance, tried)
        else:
            game.push(move)
            assert game_says(game, None) == referee_says(instance, tried)
            game.pop()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_complete_games_cost_the_same(seed: int) -> None:
    rng = random.Random(seed)
    instance = random_instance(rng)
    if not instance.feasible:
        instance = instance.with_memory(instance.least_M)
    schedule = play_through(instance, rng)
    assert verify(schedule).io == schedule.claim
    game = Game(instance)
    for move in schedule:
        game.push(str(move))
    assert game.cost == verify(schedule)
    assert game.schedule() == schedule
    cut = rng.randrange(len(schedule) + 1)
    chunks = [schedule.moves[:cut], np.array([], dtype=np.uint32), schedule.moves[cut:].astype(np.int64)]
    assert verify_stream(instance, chunks) == verify(schedule)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_positions_have_a_text_that_comes_back(seed: int) -> None:
    rng = random.Random(seed)
    instance = random_instance(rng)
    game = Game(instance)
    for _ in range(rng.randint(0, 30)):
        if legal := game.legal_moves():
            game.push(rng.choice(legal))
    again = Game.at(instance, str(game))
    assert snapshot(again)[:4] == snapshot(game)[:4]
    assert again.legal_moves() == game.legal_moves()
    assert again.missing_outputs == game.missing_outputs


def test_unchecked_push_of_legal_moves_is_push() -> None:
    rng = random.Random(5)
    instance = random_instance(rng)
    checked, unchecked = Game(instance), Game(instance)
    for _ in range(40):
        move = rng.choice(checked.legal_moves())
        checked.push(move)
        unchecked.push_unchecked(move)
        assert snapshot(checked) == snapshot(unchecked)


def test_a_schedule_of_the_game_says_who_played() -> None:
    rng = random.Random(3)
    schedule = play_through(random_instance(rng).with_memory(20), rng)
    assert isinstance(schedule, Schedule)
    assert (schedule.producer, schedule.seed) == ("play-through", 1)
