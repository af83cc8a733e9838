"""Pebble the attention backward pass with every strategy that plays it, and compute the gradients in M words.

Run with ``make demo`` or ``python examples/demo.py``. For M = d^2/4, d^2 and 4d^2 it prints what each
strategy costs, as the referee counts it, next to the best lower bound known; then it executes the best
schedule in M value slots and compares the gradients with NumPy's.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import graphs
import pebble
import solvers
import strategies

N, D = 64, 16


def reference(x: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The gradients by dense linear algebra (Dao et al. 2022, appendix B.2)."""
    P = np.exp(x["Q"] @ x["K"].T - x["L"][:, None])
    dS = P * (x["dO"] @ x["V"].T - x["D"][:, None])
    return {"dQ": dS @ x["K"], "dK": dS.T @ x["Q"], "dV": P.T @ x["dO"]}


def play_all(instance: pebble.Instance) -> list[tuple[str, pebble.Schedule, pebble.Cost]]:
    """Every strategy that plays the instance, cheapest first; the others are named with their least M."""

    def play(name: str) -> tuple[str, pebble.Schedule, pebble.Cost]:
        schedule = strategies.play(name, instance)
        return name, schedule, pebble.verify(schedule)

    names = [name for name in strategies.names() if strategies.get(name).supports(instance) is None]
    least_M = {name: strategies.get(name).least_M(instance) for name in names}
    for name in names:
        if least_M[name] > instance.M:
            print(f"  {name:18} needs M >= {least_M[name]}")
    # The compiled loops leave Python to other threads, so as many strategies play at once as there are cores.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        played = list(pool.map(play, (name for name in names if least_M[name] <= instance.M)))
    return sorted(played, key=lambda row: row[2].io)


def main() -> int:
    """Print the tables and the errors; 1 if a gradient is wrong."""
    start = time.perf_counter()
    g = graphs.build(f"attention-backward:n={N},d={D}")
    x = graphs.example_inputs(g)
    expected = reference(x)
    print(f"{g.name}: {g.num_vertices:,} vertices, {g.num_edges:,} edges")
    worst = 0.0
    for M, formula in [(D * D // 4, "d^2/4"), (D * D, "d^2"), (4 * D * D, "4d^2")]:
        instance = pebble.Instance(g, M)
        bound = solvers.best_bound(instance)
        print(f"\nM = {formula} = {M}; no schedule costs less than {bound.value:,} ({bound.name})")
        played = play_all(instance)
        print(
            f"  {'strategy':18} {'I/O':>10} {'loads':>10} {'stores':>10} {'peak red':>9} {'I/O / bound':>12}"
        )
        for name, _, cost in played:
            figures = f"{cost.io:>10,} {cost.loads:>10,} {cost.stores:>10,} {cost.peak_red:>9,}"
            print(f"  {name:18} {figures} {cost.io / bound.value:>12.2f}")
        name, schedule, _ = played[0]
        got = pebble.execute(schedule, x)
        errors = {key: float(np.abs(got[key] - expected[key]).max()) for key in expected}
        sizes = {key: float(np.abs(expected[key]).max()) for key in expected}
        shown = ", ".join(f"{key} {errors[key]:.1e} (values up to {sizes[key]:.2g})" for key in expected)
        print(f"  {name} executed in {M} slots; largest error against NumPy: {shown}")
        worst = max(worst, *(errors[key] / sizes[key] for key in expected))
    print(f"\n{time.perf_counter() - start:.1f} s")
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
