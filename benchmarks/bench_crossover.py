"""Where small-cache tiles stop being cheaper than FlashAttention and its kin: docs/theorem-check.md."""

from __future__ import annotations

from pebble.errors import UnsupportedInstanceError
from strategies.playing import count

SMALL = {"square": "algorithm6:tiles=square", "streaming": "algorithm6:tiles=streaming"}
LARGE = ("flash-attention-1", "flash-attention", "two-pass")
SIZES = ((256, 16), (1024, 64), (4096, 128))
STEPS = 20  # per d²


def io(strategy: str, spec: str, M: int) -> float:
    """The count, or infinity where the program does not fit."""
    try:
        return count(strategy, spec, M).io
    except UnsupportedInstanceError:
        return float("inf")


def crossing(small: str, large: str, n: int, d: int) -> float:
    """The largest M/d² on the grid up to 4 at which the small-cache program is the cheaper one."""
    spec = f"attention-backward:n={n},d={d},given=O"
    last = 0.0
    for step in range(2, 4 * STEPS + 1):
        M = step * d * d // STEPS
        if io(small, spec, M) < io(large, spec, M):
            last = step / STEPS
    return last


def main() -> None:
    print("| n, d | " + " | ".join(f"{s} / {l}" for s in SMALL for l in LARGE) + " |")
    for n, d in SIZES:
        cells = [f"{crossing(SMALL[s], l, n, d):.2f}" for s in SMALL for l in LARGE]
        print(f"| {n}, {d} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
