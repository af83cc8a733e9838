"""Inputs by name on which a graph can be evaluated: of ordinary size, and consistent with each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphs.heads import grouped, seen, ungrouped
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError

__all__ = ["example_inputs"]

Arrays = dict[str, NDArray[np.float64]]


def example_inputs(cdag: CDAG, seed: int = 0) -> Arrays:
    """Random inputs for a graph with named inputs, the same for the same seed.

    Parameters
    ----------
    cdag : CDAG
    seed : int

    Returns
    -------
    dict of str to ndarray
        One array per name of `cdag.input_names`. Entries are normal, divided by the square root of the last
        axis, so that sums over it stay near 1. For ``attention-backward`` L is the log-sum-exp of the rows of
        Q Kᵀ and D or O belongs to Q, K, V, dO; for ``attention-gradient`` with dO given, O belongs to the
        other inputs; for ``cholesky`` A is positive definite, for ``lu`` it has a heavy diagonal.

    Raises
    ------
    UnsupportedInstanceError
        The graph has no named inputs.

    Examples
    --------
    >>> from graphs.attention import attention_backward
    >>> x = example_inputs(attention_backward(4, 2), seed=1)
    >>> {name: array.shape for name, array in x.items()}["L"]
    (4,)
    """
    if not cdag.input_names:
        raise UnsupportedInstanceError(f"{cdag.name} has no named inputs: give the values of its sources")
    rng = np.random.default_rng(seed)
    inputs: Arrays = {}
    for name in cdag.input_names:
        shape = cdag.tensors[name].shape
        inputs[name] = rng.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) > 1 else 1)
    adjust = _ADJUST.get(cdag.family)
    if adjust is not None:
        adjust(cdag, inputs)
    return inputs


def _attention_backward(cdag: CDAG, x: Arrays) -> None:
    tau = 1 / np.sqrt(x["Q"].shape[-1]) if cdag.params.get("scale") else 1.0
    heads, ndim, groups = len(x["Q"]), x["K"].ndim, len(x["K"])
    S = tau * grouped(x["Q"], ndim, groups) @ x["K"].swapaxes(-1, -2)
    S = seen(S, str(cdag.params.get("mask", "full")), x["Q"].shape[-2])
    top = S.max(axis=-1, keepdims=True)
    L = top + np.log(np.exp(S - top).sum(axis=-1, keepdims=True))
    x["L"] = ungrouped(L, heads)[..., 0]
    output = ungrouped(np.exp(S - L) @ x["V"], heads)
    if "O" in x:
        x["O"] = output
    else:
        x["D"] = (x["dO"] * output).sum(axis=-1)


def _attention_gradient(cdag: CDAG, x: Arrays) -> None:
    if "O" in x:
        u = np.exp(x["A1"] @ x["X"] @ x["A2"].T)
        x["O"] = u @ (x["A3"] @ x["Y"]) / u.sum(axis=1, keepdims=True)


def _lu(cdag: CDAG, x: Arrays) -> None:
    x["A"] += 4 * np.eye(len(x["A"]))


def _cholesky(cdag: CDAG, x: Arrays) -> None:
    n = (int(np.sqrt(8 * x["A"].size + 1)) - 1) // 2
    lower = np.tril_indices(n)
    x["A"][lower[0] == lower[1]] = 0.0
    square = np.zeros((n, n))
    square[lower] = x["A"]
    # More on the diagonal than the rest of the row holds: positive definite (Gershgorin).
    square[np.diag_indices(n)] = 1 + np.abs(square + square.T).sum(axis=1)
    x["A"] = square[lower]


_ADJUST: dict[str, Callable[[CDAG, Arrays], None]] = {
    "attention-backward": _attention_backward,
    "attention-gradient": _attention_gradient,
    "lu": _lu,
    "cholesky": _cholesky,
}
