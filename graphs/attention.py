"""Attention, forward and backward: NumPy functions that give the numbers, and their CDAGs.

Every ``…_numpy`` function is ordinary NumPy code. On ndarrays it computes; traced, it is the graph.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from graphs.families import traced_family
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
    Q: Any, K: Any, V: Any, dO: Any, L: Any, D: Any = None, *, O: Any = None, scale: bool = False
) -> dict[str, Any]:
    """The backward pass of O = softmax(τ Q Kᵀ) V, as FlashAttention computes it.

    Parameters
    ----------
    Q, K, V, dO : array, shape (n, d)
        The operands, and the gradient of the loss in O.
    L : array, shape (n,)
        Log-sum-exp of each row of τ Q Kᵀ.
    D : array, shape (n,), optional
        Row sums of ``dO * O``; computed from O where it is not given.
    O : array, shape (n, d), optional
    scale : bool
        τ = 1/√d instead of 1.

    Returns
    -------
    dict
        The gradients ``dV``, ``dQ``, ``dK``, each of shape (n, d).

    Notes
    -----
    Dao, Fu, Ermon, Rudra, Ré (2022), FlashAttention, Appendix B.
    """
    if D is None:
        D = named("D", named("dOO", dO * O).sum(axis=1))
    tau = 1.0 / np.sqrt(Q.shape[1])
    S = named("S", named("QK", Q @ K.T) * tau) if scale else named("S", Q @ K.T)
    Z = named("Z", S - L[:, np.newaxis])
    P = named("P", np.exp(Z))
    dP = named("dP", dO @ V.T)
    R = named("R", dP - D[:, np.newaxis])
    dS = named("dS", P * R)
    dV = P.T @ dO
    if scale:
        dQ = named("dSK", dS @ K) * tau
        dK = named("dStQ", dS.T @ Q) * tau
    else:
        dQ = dS @ K
        dK = dS.T @ Q
    return {"dV": dV, "dQ": dQ, "dK": dK}


def attention_backward(
    n: int,
    d: int,
    *,
    given: Literal["D", "O"] = "D",
    scale: bool = False,
    sums: Sums = "chain",
    fma: bool = False,
) -> CDAG:
    """FlashAttention's backward pass: Q, K, V, dO, L, D → dV, dQ, dK.

    Parameters
    ----------
    n, d : int
        Tokens and head dimension.
    given : {"D", "O"}
        Whether D, the row sums of dO * O, is an input, or O is and D is computed.
    scale : bool
        Multiply by 1/√d: n² + 2nd more vertices (none at d = 1, where the factor is 1).
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 10n²d + nd + 2n² + 2n vertices; with fma 5n²d + 4n² + 4nd + 2n. ``given="O"`` adds 3nd − 2n.
        Vertices by phase: inputs, [D], S, Z = S − L, P = exp Z, dP, R = dP − D, dS = P·R, dV, dQ, dK.
        Sums run over d in S and dP, over keys in dQ, over queries in dV and dK.

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
    """
    shapes = {"Q": (n, d), "K": (n, d), "V": (n, d), "dO": (n, d), "L": (n,)}
    shapes |= {"D": (n,)} if given == "D" else {"O": (n, d)}
    return traced_family(
        attention_backward, lambda **x: attention_backward_numpy(**x, scale=scale), shapes, locals()
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


def attention_forward_numpy(Q: Any, K: Any, V: Any) -> dict[str, Any]:
    """softmax(Q Kᵀ) V, normalised after the sum over keys.

    Parameters
    ----------
    Q, K, V : array, shape (n, d)

    Returns
    -------
    dict
        ``O``, shape (n, d).

    Notes
    -----
    Saha, Ye (2024), The I/O complexity of attention, section 2.4: scaling after the sum.
    """
    S = named("S", Q @ K.T)
    u = named("u", np.exp(S))
    l = named("l", u.sum(axis=1))
    N = named("N", u @ V)
    return {"O": N / l[:, np.newaxis]}


def attention_forward(n: int, d: int, *, sums: Sums = "chain", fma: bool = False) -> CDAG:
    """The forward pass softmax(Q Kᵀ) V: Q, K, V → O.

    Parameters
    ----------
    n, d : int
        Tokens and head dimension.
    sums, fma
        As in `graphs.trace`.

    Returns
    -------
    CDAG
        Of 4n²d + 3nd + n² − n vertices. By phase: S = Q Kᵀ; u = exp S; l = rowsum u; N = u V; O = N/l.

    Notes
    -----
    Saha, Ye (2024), The I/O complexity of attention, section 2.4.

    Examples
    --------
    >>> attention_forward(3, 2).num_vertices == 4 * 9 * 2 + 3 * 6 + 9 - 3
    True
    """
    shapes = {"Q": (n, d), "K": (n, d), "V": (n, d)}
    return traced_family(attention_forward, attention_forward_numpy, shapes, locals())


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
