"""Small random graphs and games that several tests share."""

from __future__ import annotations

import random

import numpy as np

from pebble.cdag import CDAG
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Move, Op
from pebble.operations import ScalarOp
from pebble.schedule import Schedule


def random_cdag(rng: random.Random, most_vertices: int = 8) -> CDAG:
    """A graph of up to `most_vertices` vertices, in-degree up to 3; often weights, outputs, shuffled ids."""
    n = rng.randint(1, most_vertices)
    ids = list(range(n))
    if rng.random() < 0.5:
        rng.shuffle(ids)
    edges = []
    for v in range(1, n):
        for u in rng.sample(range(v), rng.randint(0, min(v, 3))):
            edges.append((ids[u], ids[v]))
    weights = [rng.randint(1, 3) for _ in range(n)] if rng.random() < 0.5 else None
    outputs = rng.sample(range(n), rng.randint(0, n // 2)) if rng.random() < 0.3 else None
    return CDAG.from_edges(n, edges, weights=weights, outputs=outputs)


def random_instance(rng: random.Random) -> Instance:
    """A random graph with an M from just below its least one to roomy, under either rule set."""
    cdag = random_cdag(rng)
    least = Instance(cdag, 1).least_M
    M = max(1, least + rng.randint(-1, 4))
    return Instance(cdag, M, rng.choice(["hong-kung", "one-shot"]))


def any_move(rng: random.Random, n: int) -> Move:
    """A move that is as likely illegal as legal, now and then of a vertex that is not there."""
    return Move(Op(rng.randrange(4)), rng.randrange(n + 1) if rng.random() < 0.9 else n + (1 << 33))


def play_through(instance: Instance, rng: random.Random) -> Schedule:
    """A complete, rather wasteful schedule: evicts at random and stores all that it computes."""
    cdag = instance.cdag
    game = Game(instance)
    for v in cdag.topological_order.tolist():
        preds = cdag.preds(v).tolist()
        if not preds:
            continue
        for u in preds:
            if not game.is_red(u):
                _make_room(game, cdag.weight(u), preds, rng)
                game.push(Move(Op.LOAD, u))
        _make_room(game, cdag.weight(v), preds, rng)
        game.push(Move(Op.COMPUTE, v))
        game.push(Move(Op.STORE, v))
    assert game.is_over
    return game.schedule("play-through", seed=1)


def _make_room(game: Game, words: int, keep: list[int], rng: random.Random) -> None:
    while game.red_words + words > game.instance.M:
        game.push(Move(Op.DELETE, rng.choice(sorted(game.red - set(keep)))))


def random_op_cdag(rng: random.Random, n: int) -> CDAG:
    """A graph of random scalar operations with positive constants."""
    one = [op for op in ScalarOp if op not in _BY_ARITY and op not in _STEEP]
    ops = np.zeros(n, dtype=np.uint8)
    edges = []
    for v in range(n):
        if v < 3 or rng.random() < 0.15:
            continue
        op = rng.choice([*one, *(op for op in _BY_ARITY if op not in _STEEP)])
        if op is ScalarOp.INPUT:
            continue
        k = _BY_ARITY.get(op, 1) or rng.randint(1, min(v, 4))
        ops[v] = op
        edges += [(u, v) for u in rng.sample(range(v), k)]
    constants = np.array([rng.uniform(0.5, 2.0) for _ in range(n)])
    return CDAG.from_edges(n, edges, ops=ops, op_const=constants)


# Operands per op where it is not one; 0 stands for any number.
_BY_ARITY = {
    ScalarOp.ADD: 2,
    ScalarOp.SUB: 2,
    ScalarOp.MUL: 2,
    ScalarOp.DIV: 2,
    ScalarOp.MAX: 2,
    ScalarOp.FMA: 3,
    ScalarOp.FMA_SQUARE: 2,
    ScalarOp.SUM: 0,
    ScalarOp.MAX_ALL: 0,
    ScalarOp.MIN: 2,
    ScalarOp.GREATER: 2,
    ScalarOp.GREATER_EQUAL: 2,
    ScalarOp.EQUAL: 2,
    ScalarOp.SELECT: 3,
    ScalarOp.SELECT_ELSE_CONST: 2,
    ScalarOp.SELECT_THEN_CONST: 2,
}

# A difference in the last bit of a large operand would become one of the whole result.
_STEEP = {
    ScalarOp.SIN,
    ScalarOp.COS,
    ScalarOp.SIGN,
    ScalarOp.GREATER,
    ScalarOp.GREATER_EQUAL,
    ScalarOp.EQUAL,
    ScalarOp.GREATER_CONST,
    ScalarOp.GREATER_EQUAL_CONST,
    ScalarOp.LESS_CONST,
    ScalarOp.LESS_EQUAL_CONST,
    ScalarOp.EQUAL_CONST,
}
