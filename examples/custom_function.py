"""A graph of your own from a NumPy function: trace it, evaluate it, play it, referee it.

Run with ``python examples/custom_function.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import graphs
import pebble
import strategies

HEADS, TOKENS, WIDTH = 2, 6, 3


def layer(X: Any, gain: Any, Wq: Any, Wk: Any, Wv: Any) -> dict[str, Any]:
    """A causal attention layer with RMS normalisation: ordinary NumPy, and a graph when it is traced."""
    mask = np.tril(np.ones((TOKENS, TOKENS), dtype=bool))
    size = np.sqrt((X * X).mean(axis=1, keepdims=True) + 1e-6)
    Z = graphs.named("Z", X / size * gain)
    Q, K, V = (np.einsum("td,hde->hte", Z, W) for W in (Wq, Wk, Wv))
    S = np.einsum("hte,hse->hts", Q, K) / np.sqrt(WIDTH)
    P = np.where(mask, np.exp(S), 0.0)
    total = graphs.named("total", P.sum(axis=2))
    return {"Y": graphs.named("N", P @ V) / total[:, :, np.newaxis]}


def main() -> None:
    weights = (HEADS, WIDTH, WIDTH)
    cdag = graphs.trace(layer, fma=True, X=(TOKENS, WIDTH), gain=WIDTH, Wq=weights, Wk=weights, Wv=weights)
    print(cdag)
    last = int(cdag.tensors["Y"].ravel()[-1])
    parents = ", ".join(graphs.vertex_name(cdag, int(v)) for v in cdag.preds(last))
    print(f"{graphs.vertex_name(cdag, last)} is computed from {parents}")

    inputs = graphs.example_inputs(cdag, seed=1)
    expected = layer(**inputs)["Y"]
    error = np.abs(pebble.evaluate(cdag, inputs)["Y"] - expected).max()
    print(f"largest difference from NumPy: {error:.1e}")

    for M in (8, 32, 128):
        schedule = strategies.play("belady", pebble.Instance(cdag, M))
        cost = pebble.verify(schedule)
        computed = pebble.execute(schedule, inputs)["Y"]
        print(
            f"M={M:<4} I/O {cost.io} (loads {cost.loads}, stores {cost.stores}); in {M} slots the same "
            f"numbers to {np.abs(computed - expected).max():.1e}"
        )


if __name__ == "__main__":
    main()
