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
    found = []
    for name in REGISTRY.names():
        strategy = REGISTRY.get(name)
        if isinstance(strategy, Countable) and strategy.count_supports(parsed) is None:
            if strategy.count_least_M(parsed) <= M:
                found.append(count(strategy, parsed, M).io)
    return min(found)


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
