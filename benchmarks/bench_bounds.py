"""How far the best counts of attention-backward are above the best bounds: the table of docs/bounds.md."""

from __future__ import annotations

from graphs.catalog import parse
from solvers.bounding import best_bound
from strategies.catalog import REGISTRY
from strategies.playing import count
from strategies.protocol import Countable

FACTORS = [1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32]


def best_count(spec: str, M: int) -> int:
    """Least I/O of any tile program, in words."""
    parsed = parse(spec)
    players = [s for s in map(REGISTRY.get, REGISTRY.names()) if isinstance(s, Countable)]
    able = [s for s in players if s.count_supports(parsed) is None and s.count_least_M(parsed) <= M]
    return min(count(strategy, parsed, M).io for strategy in able)


def main() -> None:
    for n, d in ((1024, 64), (4096, 128)):
        spec = f"attention-backward:n={n},d={d}"
        cells = []
        for factor in FACTORS:
            M = int(factor * d * d)
            cells.append(f"{best_count(spec, M) / best_bound(spec, M).value:.2f}")
        print(f"| {n}, {d} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
