"""Asymptotic theorems as formulas with constant 1: to be plotted beside the bounds, never used as one."""

from __future__ import annotations

import math

from graphs.heads import keys as key_count
from graphs.masks import attention_mask
from pebble.result import Bound, Limit
from solvers.lower_bounds.protocol import LowerBound, Subject

__all__ = [
    "SAHA_YE",
    "SPARSE",
    "THEOREM_1_1",
    "saha_ye",
    "sparse_theorem",
    "sparse_threshold",
    "theorem_1_1",
]

_NO_CERTIFICATE = "asymptotic, not a certificate: holds up to an unknown constant"
_BACKWARD = ("attention-backward", "attention-gradient")


def theorem_1_1(n: int, d: int, M: int) -> float:
    """min((n²d² + nd³)/M, (n²d + nd²)/√M) = nd(n + d)·min(d/M, 1/√M); the two cross at M = d².

    Examples
    --------
    >>> theorem_1_1(64, 16, 256) == 64 * 16 * 80 / 16
    True
    """
    return n * d * (n + d) * min(d / M, 1 / math.sqrt(M))


def sparse_theorem(z_input: int, z_scores: int, M: int) -> float:
    """min(Z_input²/M, Z_input·√Z_QK/√M), from the numbers of non-zeros of an input and of Q Kᵀ.

    Examples
    --------
    >>> sparse_theorem(64 * 16, 64 * 64, 256) == 64 * 64 * 16 / 16
    True
    """
    return min(z_input**2 / M, z_input * math.sqrt(z_scores / M))


def sparse_threshold(z_input: int, z_scores: int) -> float:
    """The M at which the two forms of `sparse_theorem` cross: Z_input²/Z_QK.

    Examples
    --------
    >>> sparse_threshold(64 * 16, 64 * 64)
    256.0
    """
    return z_input**2 / z_scores


def saha_ye(n: int, d: int, M: int) -> float:
    """min(n²d/√M, n²d²/M), the forward pass.

    Examples
    --------
    >>> saha_ye(64, 16, 1024) == 64 * 64 * 256 / 1024
    True
    """
    return n * n * d * min(1 / math.sqrt(M), d / M)


def _theorem_1_1(subject: Subject, limit: Limit) -> Bound | None:
    if subject.family not in _BACKWARD or not _is_plain(subject):
        return None
    n, d = subject.sizes("n", "d")
    return _formula(
        theorem_1_1(n, d, subject.M),
        "theorem-1.1",
        "Li, Liang, Shi, Song & Zhou (2024), Fine-grained attention I/O complexity, theorem 1.1",
        crossover=d * d,
        regime="n²d²/M" if d * d <= subject.M else "n²d/√M",
    )


def _sparse(subject: Subject, limit: Limit) -> Bound | None:
    if subject.family not in (*_BACKWARD, "attention-forward"):
        return None
    if not _is_plain(subject, any_mask=True):
        return None
    n, d = subject.sizes("n", "d")
    scores = attention_mask(subject.params.get("mask", "full"), n, n).pairs
    return _formula(
        sparse_theorem(n * d, scores, subject.M),
        "sparse-theorem",
        "Li, Liang, Shi, Song & Zhou (2024), Fine-grained attention I/O complexity, theorem 4.5",
        z_input=n * d,
        z_scores=scores,
        crossover=sparse_threshold(n * d, scores),
    )


def _saha_ye(subject: Subject, limit: Limit) -> Bound | None:
    if subject.family != "attention-forward" or not _is_plain(subject):
        return None
    n, d = subject.sizes("n", "d")
    return _formula(
        saha_ye(n, d, subject.M),
        "saha-ye",
        "Saha & Ye (2024), The I/O complexity of attention, theorems 3.1 and 3.7",
        crossover=d * d,
    )


def _is_plain(subject: Subject, *, any_mask: bool = False) -> bool:
    """Whether there is one head, as many queries as keys, and no mask: what the theorems speak of."""
    p = subject.params
    one_size = p.get("heads", 1) == 1 and key_count(p) == p["n"]
    return one_size and (any_mask or p.get("mask", "full") == "full")


def _formula(value: float, name: str, source: str, **details: object) -> Bound:
    return Bound(int(value), name, _NO_CERTIFICATE, source, certificate=False, details=details)


THEOREM_1_1 = LowerBound("theorem-1.1", _theorem_1_1, certificate=False)
SPARSE = LowerBound("sparse-theorem", _sparse, certificate=False)
SAHA_YE = LowerBound("saha-ye", _saha_ye, certificate=False)
