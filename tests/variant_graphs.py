"""Random tiny instances under random rule sets, with what the brute force of `variant_optima` is told."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from pebble.cdag import CDAG
from pebble.instance import Instance
from pebble.rules import Rules
from tests.variant_optima import least_variant_io

__all__ = ["TinyVariant", "tiny_variant"]

_FLAGS = ("sliding", "free-sources", "no-delete", "outputs-any")


class TinyVariant(NamedTuple):
    """An instance, and its data once more for the brute force."""

    instance: Instance
    edges: list[tuple[int, int]]
    weights: list[int] | None
    outputs: tuple[int, ...]

    def optimum(self) -> int | None:
        """The least I/O by brute force."""
        instance, rules = self.instance, self.instance.rules
        told: dict[str, Any] = {
            "recomputation": rules.recomputation,
            "sliding": rules.sliding,
            "free_sources": rules.free_sources,
            "partial": rules.partial,
            "deletion": rules.deletion,
            "outputs_any": rules.outputs == "any",
            "load_cost": rules.load_cost,
            "store_cost": rules.store_cost,
            "weights": self.weights,
            "outputs": self.outputs,
            "red_at_start": instance.red_at_start,
        }
        return least_variant_io(instance.cdag.num_vertices, self.edges, instance.M, **told)


def tiny_variant(seed: int, most: int = 6) -> TinyVariant:
    """Instance number `seed`: 3 to `most` vertices, M at its least feasible value or a little above."""
    rng = random.Random(seed)
    base = ("one-shot", "hong-kung", "partial")[seed % 3]
    parts = [flag for flag in _FLAGS if rng.random() < 0.35 and (base, flag) != ("partial", "sliding")]
    if rng.random() < 0.3:
        parts += [f"load={rng.randint(0, 3)}", f"store={rng.randint(0, 3)}"]
    rules = Rules.named("+".join([base, *parts]))
    n = rng.randint(3, most)
    names = rng.sample(range(n), n)
    density = rng.choice([0.25, 0.4, 0.6])
    edges = [(names[u], names[v]) for v in range(n) for u in range(v) if rng.random() < density]
    weights = [rng.choice([1, 1, 2, 3]) for _ in range(n)] if rng.random() < 0.25 else None
    outputs = tuple(rng.sample(range(n), rng.randint(1, 2))) if rng.random() < 0.25 else ()
    cdag = CDAG.from_edges(n, edges, weights=weights, outputs=list(outputs) if outputs else None)
    red = tuple(rng.sample(range(n), rng.randint(1, 2))) if rng.random() < 0.25 else ()
    words = sum(map(cdag.weight, red))
    least = max(words, Instance(cdag, 1 << 20, rules, red).least_M)
    return TinyVariant(
        Instance(cdag, least + rng.choice([0, 0, 1]), rules, red), sorted(set(edges)), weights, outputs
    )
