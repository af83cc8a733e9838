"""Attention, forward and backward: NumPy functions that give the numbers, and their CDAGs.

Every ``…_numpy`` function is ordinary NumPy code. On ndarrays it computes; traced, it is the graph.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from graphs.families import traced_family
from graphs.heads import attention_shapes, grouped, seen, ungrouped
from graphs.tracing import named
from pebble.cdag import CDAG

__all__ = [
    "a1xa2t",
    "a1xa2t_numpy",
    "attention_backward",
    "attention_backward_numpy",
    "attention_forward",
    "attention_forward_numpy",
    "attention_gradient",
    "attention_gradient_numpy",
]

Sums = Literal["chain", "tree", "flat"]


def attention_backward_numpy(
    Q: Any,
    K: Any,
    V: Any,
    dO: Any,
    L: Any,
    D: Any = None,
    *,
    O: Any = None,
    scale: bool = False,
    mask: str = "full",
) -> dict[str, Any]:
    """The backward pass of O = softmax(τ Q Kᵀ) V, as FlashAttention computes it.

    Parameters
    ----------
    Q, dO : array, shape (n, d), or (heads, n, d)
        The queries, and the gradient of the loss in O.
    K, V : array, shape (n_k, d), or (kv_heads, n_k, d)
        Keys and values; each group of heads / kv_heads heads shares one of them.
    L : array, shape (n,), or (heads, n)
        Log-sum-exp of each row of τ Q Kᵀ, over the keys that the query sees.
    D : array, shape (n,), or (heads, n), optional
        Row sums of ``dO * O``; computed from O where it is not given.
    O : array, of dO's shape, optional
    scale : bool
        τ = 1/√d instead of 1.
    mask : str
        Which keys each query sees: see `graphs.masks.attention_mask`.

    Returns
    -------
    dict
        The gradients ``dV``, ``dQ``, ``dK``, of the shapes of V, Q and K.

    Notes
    -----
    Dao, Fu, Ermon, Rudra, Ré (2022), FlashAttention, Appendix B. Grouped queries: Ainslie et al. (2023), GQA.
    """
    if D is None:
        D = named("D", named("dOO", dO * O).sum(axis=-1))
    heads = Q.shape[0] if Q.ndim == 3 else 1
    rows, outer, L, D = (grouped(X, K.ndim, len(K)) for X in (Q, dO, L[..., np.newaxis], D[..., np.newaxis]))
    tau = 1.0 / np.sqrt(Q.shape[-1])
    scores = named("QK", rows @ K.swapaxes(-1, -2)) * tau if scale else rows @ K.swapaxes(-1, -2)
    S = named("S", seen(scores, mask, Q.shape[-2]))
    Z = named("Z", S - L)
    P = named("P", np.exp(Z))
    dP = named("dP", outer @ V.swapaxes(-1, -2))
    R = named("R", dP - D)
    dS = named("dS", P * R)
    dV = P.swapaxes(-1, -2) @ outer
    if scale:
        dQ = named("dSK", dS @ K) * tau
        dK = named("dStQ", dS.swapaxes(-1, -2) @ rows) * tau
    else:
        dQ = dS @ K
        dK = dS.swapaxes(-1, -2) @ rows
    return {"dV": dV, "dQ": ungrouped(dQ, heads), "dK": dK}


def attention_backward(
    n: int,
    d: int,
    *,
    given: Literal["D", "O"] = "D",
    scale: bool = False,
    mask: str = "full",
    heads: int = 1,
    kv_heads: int | None = None,
    n_k: int | None = None,
    sums: Sums = "chain",
    fma: bool = False,
) -> CDAG:
    """FlashAttention's backward pass: Q, K, V, dO, L, D → dV, dQ, dK.

    Parameters
    ----------
    n, d : int
        Queries (tokens) and head dimension.
    given : {"D", "O"}
        Whether D, the row sums of dO * O, is an input, or O is and D is computed.
    scale : bool
        Multiply by 1/√d: n² + 2nd more vertices (none at d = 1, where the factor is 1).
    mask : str
        Which keys each query sees: ``full``, ``causal``, ``window:w``, … (`graphs.masks.attention_mask`).
        What belongs to a pair that is not seen is not in the graph.
    heads : int
        Query heads; with more than one, arrays have a leading axis of heads.
    kv_heads : int, optional
        Key and value heads, a divisor of `heads`; `heads` by default. In arrays with a row per query S, Z, …
        and in the sums dV and dK the heads of a group stand side by side: head 0's first query, head 1's
        first query, ….
    n_k : int, optional
        Keys; n by default.
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 10n²d + nd + 2n² + 2n vertices; with fma 5n²d + 4n² + 4nd + 2n. ``given="O"`` adds 3nd − 2n.
        With Z pairs of a query and a key that it sees, (10d + 2)Z + nd + 2n.
        Vertices by phase: inputs, [D], S, Z = S − L, P = exp Z, dP, R = dP − D, dS = P·R, dV, dQ, dK.
        Sums run over d in S and dP, over keys in dQ, over queries in dV and dK.

    Raises
    ------
    GraphSpecError
        A bad size or mask, or `kv_heads` that do not divide `heads`.

    Notes
    -----
    Dao, Fu, Ermon, Rudra, Ré (2022), FlashAttention, Appendix B.

    Examples
    --------
    >>> g = attention_backward(4, 2)
    >>> g.num_vertices == 10 * 16 * 2 + 4 * 2 + 2 * 16 + 2 * 4
    True
    >>> g.input_names, g.output_names
    (('Q', 'K', 'V', 'dO', 'L', 'D'), ('dV', 'dQ', 'dK'))
    >>> attention_backward(4, 2, mask="causal").num_vertices == 22 * (4 * 5 // 2) + 4 * 2 + 2 * 4
    True
    """
    shapes = attention_shapes("attention-backward", locals())
    shapes |= {"dO": shapes["Q"], "L": shapes["Q"][:-1]}
    shapes |= {"D": shapes["L"]} if given == "D" else {"O": shapes["Q"]}
    return traced_family(
        attention_backward,
        lambda **x: attention_backward_numpy(**x, scale=scale, mask=mask),
        shapes,
        locals(),
    )


def attention_gradient_numpy(
    A1: Any,
    A2: Any,
    A3: Any,
    X: Any,
    Y: Any,
    E: Any = None,
    *,
    dO: Any = None,
    O: Any = None,
    outputs: str = "dX",
) -> dict[str, Any]:
    """The gradient of ½‖D⁻¹ exp(A1 X A2ᵀ) A3 Y − E‖² in X, D the row sums of the exponential.

    Parameters
    ----------
    A1, A2, A3 : array, shape (n, d)
    X, Y : array, shape (d, d)
    E : array, shape (n, d), optional
        The target.
    dO, O : array, shape (n, d), optional
        In place of E, for any loss: its gradient in the attention's output, and that output.
    outputs : {"dX", "dX+dY"}

    Returns
    -------
    dict
        ``g``, the gradient in X, shape (d, d); with "dX+dY" also ``dY``.

    Notes
    -----
    Alman, Song (2024), The fine-grained complexity of gradient computation for training large language
    models, Definition 1.2 and Appendix C, with the row sums of f∘q taken as those of c∘O.
    """
    T = named("T", A1 @ X)
    S = named("S", T @ A2.T)
    u = named("u", np.exp(S))
    l = named("l", u.sum(axis=1))
    h = named("h", A3 @ Y)
    if E is not None:
        N = named("N", u @ h)
        O = named("O", N / l[:, np.newaxis])
        c = named("c", O - E)
    else:
        c = dO
    v = named("v", named("cO", c * O).sum(axis=1))
    q = named("q", c @ h.T)
    f = named("f", u / l[:, np.newaxis])
    r = named("r", q - v[:, np.newaxis])
    p = named("p", f * r)
    G = named("G", p @ A2)
    g = A1.T @ G
    if outputs == "dX":
        return {"g": g}
    return {"g": g, "dY": A3.T @ named("W", f.T @ c)}


def attention_gradient(
    n: int,
    d: int,
    *,
    given: Literal["E", "dO"] = "E",
    outputs: Literal["dX", "dX+dY"] = "dX",
    sums: Sums = "chain",
    fma: bool = False,
) -> CDAG:
    """The gradient of attention in X = W_Q W_Kᵀ: A1, A2, A3, X, Y, E → g.

    Parameters
    ----------
    n, d : int
        Tokens and head dimension.
    given : {"E", "dO"}
        The target E; or the gradient dO in the attention's output, and that output O.
    outputs : {"dX", "dX+dY"}
        Which gradients.
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 8n²d + 6nd² + 3n² + 4nd + d² − 2n vertices. By phase: T = A1 X; S = T A2ᵀ; u = exp S;
        l = rowsum u; h = A3 Y; N = u h; O = N/l; c = O − E; v = rowsum(c∘O); q = c hᵀ; f = u/l; r = q − v;
        p = f∘r; G = p A2; g = A1ᵀ G. With dY: W = fᵀ c; dY = A3ᵀ W.

    Notes
    -----
    Alman, Song (2024), Definition 1.2 and Appendix C.

    Examples
    --------
    >>> n, d = 3, 2
    >>> g = attention_gradient(n, d)
    >>> g.num_vertices == 8 * n * n * d + 6 * n * d * d + 3 * n * n + 4 * n * d + d * d - 2 * n
    True
    """
    shapes = {"A1": (n, d), "A2": (n, d), "A3": (n, d), "X": (d, d), "Y": (d, d)}
    shapes |= {"E": (n, d)} if given == "E" else {"dO": (n, d), "O": (n, d)}
    return traced_family(
        attention_gradient, lambda **x: attention_gradient_numpy(**x, outputs=outputs), shapes, locals()
    )


def attention_forward_numpy(Q: Any, K: Any, V: Any, *, mask: str = "full") -> dict[str, Any]:
    """softmax(Q Kᵀ) V, normalised after the sum over keys.

    Parameters
    ----------
    Q : array, shape (n, d), or (heads, n, d)
    K, V : array, shape (n_k, d), or (kv_heads, n_k, d)
    mask : str
        Which keys each query sees: see `graphs.masks.attention_mask`.

    Returns
    -------
    dict
        ``O``, of Q's shape.

    Notes
    -----
    Saha, Ye (2024), The I/O complexity of attention, section 2.4: scaling after the sum.
    """
    rows = grouped(Q, K.ndim, len(K))
    S = named("S", seen(rows @ K.swapaxes(-1, -2), mask, Q.shape[-2]))
    u = named("u", np.exp(S))
    l = named("l", u.sum(axis=-1))
    N = named("N", u @ V)
    return {"O": ungrouped(N / l[..., np.newaxis], Q.shape[0] if Q.ndim == 3 else 1)}


def attention_forward(
    n: int,
    d: int,
    *,
    mask: str = "full",
    heads: int = 1,
    kv_heads: int | None = None,
    n_k: int | None = None,
    sums: Sums = "chain",
    fma: bool = False,
) -> CDAG:
    """The forward pass softmax(Q Kᵀ) V: Q, K, V → O.

    Parameters
    ----------
    n, d : int
        Queries (tokens) and head dimension.
    mask, heads, kv_heads, n_k
        As in `attention_backward`.
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 4n²d + 3nd + n² − n vertices; with Z pairs of a query and a key that it sees, (4d + 1)Z + 3nd − n.
        By phase: S = Q Kᵀ; u = exp S; l = rowsum u; N = u V; O = N/l.

    Raises
    ------
    GraphSpecError
        As `attention_backward`.

    Notes
    -----
    Saha, Ye (2024), The I/O complexity of attention, section 2.4.

    Examples
    --------
    >>> attention_forward(3, 2).num_vertices == 4 * 9 * 2 + 3 * 6 + 9 - 3
    True
    """
    shapes = attention_shapes("attention-forward", locals())
    return traced_family(
        attention_forward, lambda **x: attention_forward_numpy(**x, mask=mask), shapes, locals()
    )


def a1xa2t_numpy(A1: Any, X: Any, A2: Any) -> dict[str, Any]:
    """A1 X A2ᵀ as (A1 X) A2ᵀ: A1, A2 of shape (n, d), X (d, d) → ``S`` of shape (n, n)."""
    T = named("T", A1 @ X)
    return {"S": T @ A2.T}


def a1xa2t(n: int, d: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """The two products of A1 X A2ᵀ alone: A1, X, A2 → S.

    Parameters
    ----------
    n, d : int
        Tokens and head dimension.
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 2n²d + 2nd² + nd + d² − n² vertices: T = A1 X, then S = T A2ᵀ.

    Examples
    --------
    >>> a1xa2t(3, 2).num_vertices == 2 * 9 * 2 + 2 * 3 * 4 + 3 * 2 + 4 - 9
    True
    """
    shapes = {"A1": (n, d), "X": (d, d), "A2": (n, d)}
    return traced_family(a1xa2t, a1xa2t_numpy, shapes, locals())
