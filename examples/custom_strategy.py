"""A strategy of your own: choose an order, replay it, register it, and hold it against the built-in ones.

Run with ``python examples/custom_strategy.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import graphs
import pebble
import strategies
from strategies.replaying import replay


class Blocks:
    """FFT by blocks of 2^k points: as many levels at a time as fit in memory, one block after the other.

    The order of Hong & Kung (1981, section 3). A strategy needs no base class, only what is here.
    """

    name = "fft-blocks"
    options: Mapping[str, str] = {"points": "points per block, a power of two; by default the most that fit"}

    def supports(self, instance: pebble.Instance) -> str | None:
        """None if it plays such a graph, else the reason why not."""
        return None if instance.cdag.family == "fft" else "it orders the fft family only"

    def least_M(self, instance: pebble.Instance) -> int:
        """Two operands and a result."""
        return instance.least_M

    def __call__(
        self,
        instance: pebble.Instance,
        *,
        limit: pebble.Limit | None = None,
        seed: int = 0,
        **options: Any,
    ) -> pebble.Schedule:
        """Order the vertices by blocks, then let Belady's rule evict; the seed and limits change nothing."""
        n = int(instance.cdag.params["n"])
        levels = n.bit_length() - 1
        # A block holds its points and, while a butterfly is computed, its two results.
        points = int(options.get("points") or 1 << max(1, (instance.M - 2).bit_length() - 1))
        step = points.bit_length() - 1
        order = []
        for low in range(0, levels, step):
            high = min(low + step, levels)
            # Within these levels a point meets the points that differ from it in bits low to high - 1 only.
            within = [
                sum(1 << b for b in range(low, high) if k >> b - low & 1) for k in range(1 << high - low)
            ]
            mask = within[-1]
            for first in (i for i in range(n) if not i & mask):
                for bit in range(low, high):
                    # The two results of a butterfly one after the other: its operands are then dead.
                    pairs = sorted(within, key=lambda k: (k & ~(1 << bit), k))
                    order += [(bit + 1) * n + (first | k) for k in pairs]
        return replay(instance, np.array(order))


def main() -> None:
    strategies.register("fft-blocks", Blocks(), "fft: blocks of as many points as fit")
    cdag = graphs.build("fft:1024")
    print(f"{'M':>4}  {'fft-blocks':>10}  {'belady':>10}")
    for M in (4, 6, 10, 18, 34, 66):
        instance = pebble.Instance(cdag, M)
        costs = [pebble.verify(strategies.play(name, instance)).io for name in ("fft-blocks", "belady")]
        print(f"{M:>4}  {costs[0]:>10}  {costs[1]:>10}")


if __name__ == "__main__":
    main()
