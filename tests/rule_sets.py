"""Random rule sets and instances of them, for the tests of every variant of the game."""

from __future__ import annotations

import random

from pebble.instance import Instance
from pebble.rules import Rules
from tests.games import random_cdag

ORACLE_RULES = [
    "hong-kung",
    "one-shot",
    "one-shot+sliding",
    "hong-kung+sliding",
    "one-shot+free-sources",
    "hong-kung+free-sources",
    "partial",
]


def random_rules(rng: random.Random) -> Rules:
    """Any combination of flags, each as likely set as not."""
    partial = rng.random() < 0.3
    return Rules(
        recomputation=not partial and rng.random() < 0.5,
        sliding=not partial and rng.random() < 0.5,
        free_sources=rng.random() < 0.4,
        partial=partial,
        deletion=rng.random() < 0.7,
        outputs="any" if rng.random() < 0.3 else "blue",
        load_cost=rng.choice([1, 1, 0, 2]),
        store_cost=rng.choice([1, 1, 0, 3]),
        compute_cost=rng.choice([0, 0.25]),
    )


def random_variant(rng: random.Random, most_vertices: int = 7, rules: Rules | None = None) -> Instance:
    """A random graph under random rules, M from just below its least one, now and then red at the start."""
    cdag = random_cdag(rng, most_vertices)
    rules = rules or random_rules(rng)
    n = cdag.num_vertices
    red = rng.sample(range(n), rng.randint(0, min(2, n))) if rng.random() < 0.3 else []
    words = sum(map(cdag.weight, red))
    least = Instance(cdag, max(words, 1), rules, red).least_M
    return Instance(cdag, max(1, words, least + rng.randint(-1, 3)), rules, red)
