"""Numbers of legal move sequences under the variants, against a counter written from the rules alone."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import Any

import pytest

from pebble.cdag import CDAG
from pebble.game import Game
from pebble.instance import Instance
from pebble.rules import Rules
from tests import perft_variants
from tests.perft_variants import Variant

# name, number of vertices, edges, weights, red at the start, values of M
GRAPHS: list[tuple[str, int, list[tuple[int, int]], list[int] | None, tuple[int, ...], list[int]]] = [
    ("edge beside a vertex", 3, [(0, 1)], None, (), [1, 2]),
    ("two inputs, one output", 3, [(0, 2), (1, 2)], None, (), [2, 3]),
    ("path", 4, [(0, 1), (1, 2), (2, 3)], None, (2,), [1, 2]),
    ("diamond", 4, [(0, 1), (0, 2), (1, 3), (2, 3)], None, (), [2, 3]),
    ("butterfly", 4, [(0, 2), (1, 2), (0, 3), (1, 3)], None, (1,), [2, 3]),
    ("ids against the edges", 4, [(3, 1), (2, 1), (1, 0)], None, (), [2, 3]),
    ("weighted fork", 4, [(0, 1), (0, 2), (1, 3), (2, 3)], [2, 1, 3, 1], (2,), [4, 5]),
]
DEPTH = 6


def flag_sets() -> list[frozenset[str]]:
    found = []
    for base, size in itertools.product(("hong-kung", "one-shot", "partial"), range(4)):
        for flags in itertools.combinations(("sliding", "free", "no-delete"), size):
            if base != "partial" or "sliding" not in flags:
                found.append(frozenset({base, *flags}))
    return found


def rules_of(flags: frozenset[str]) -> Rules:
    return Rules(
        recomputation="hong-kung" in flags,
        partial="partial" in flags,
        sliding="sliding" in flags,
        free_sources="free" in flags,
        deletion="no-delete" not in flags,
    )


def count_sequences(game: Game, depth: int, known: dict[tuple[Any, ...], int]) -> int:
    if depth == 0:
        return 1
    key = (str(game), game.computed, depth)
    if key not in known:
        total = 0
        for move in game.legal_moves():
            game.push(move)
            total += count_sequences(game, depth - 1, known)
            game.pop()
        known[key] = total
    return known[key]


@pytest.mark.parametrize("flags", flag_sets(), ids=lambda flags: rules_of(flags).name)
def test_perft(flags: frozenset[str]) -> None:
    for name, n, edges, weights, red, memories in GRAPHS:
        for M in memories:
            expected = Variant(n, edges, M, flags, weights, red).perft(DEPTH)
            game = Game(Instance(CDAG.from_edges(n, edges, weights=weights), M, rules_of(flags), red))
            known: dict[tuple[Any, ...], int] = {}
            assert [count_sequences(game, d, known) for d in range(DEPTH + 1)] == expected, (name, M)


def test_the_counter_imports_nothing_of_the_project() -> None:
    tree = ast.parse(Path(perft_variants.__file__).read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert modules == ["__future__", "collections"]
    assert not any(isinstance(node, ast.Import) for node in ast.walk(tree))
