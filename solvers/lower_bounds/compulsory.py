"""The compulsory I/O: what every schedule of a graph must move, whatever M is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphs.heads import key_heads
from graphs.heads import keys as key_count
from pebble.cdag import CDAG
from pebble.instance import to_be_computed
from pebble.result import Bound, Limit
from pebble.rules import Rules
from solvers.lower_bounds.protocol import BLUE_SOURCES, LowerBound, Subject

__all__ = ["COMPULSORY", "compulsory_io", "family_compulsory", "needed_io", "subject_compulsory"]


def compulsory_io(cdag: CDAG) -> tuple[int, int]:
    """Words that every schedule loads, and words that it stores; O(|V| + |E|).

    Every source with a successor is loaded at least once: a path leads from it to a sink, sinks are outputs,
    and a source becomes red by a load only. Every output that is no source becomes blue by a store only.

    Examples
    --------
    >>> compulsory_io(CDAG.from_edges(4, [(0, 2), (1, 2)]))
    (2, 1)
    """
    used = np.zeros(cdag.num_vertices, dtype=np.bool_)
    used[cdag.indices] = True
    words = np.ones(cdag.num_vertices, dtype=np.int64) if cdag.weights is None else cdag.weights
    return int(words[cdag.is_source & used].sum()), int(words[cdag.is_output & ~cdag.is_source].sum())


def needed_io(cdag: CDAG, M: int, rules: Rules, red_at_start: Sequence[int] = ()) -> tuple[int, int]:
    """Words that every schedule loads and stores under any rule set; O(|V| + |E|).

    What an output needs is found backwards from the outputs, up to what is red at the start. A source that is
    needed is loaded, unless sources are computed; a computed output is stored, unless it may end red: then
    all but M words of outputs are.

    Examples
    --------
    >>> sum_of_two = CDAG.from_edges(3, [(0, 2), (1, 2)])
    >>> needed_io(sum_of_two, 3, Rules(), [1]), needed_io(sum_of_two, 3, Rules(free_sources=True))
    ((1, 1), (0, 1))
    """
    words = np.ones(cdag.num_vertices, dtype=np.int64) if cdag.weights is None else cdag.weights
    made = cdag.is_output if rules.free_sources else cdag.is_output & ~cdag.is_source
    stores = int(words[made].sum())
    if rules.outputs == "any":
        stores = max(0, stores - M)
    if rules.free_sources:
        return 0, stores
    if not red_at_start:
        return compulsory_io(cdag)[0], stores
    used = np.zeros(cdag.num_vertices, dtype=np.bool_)
    used[cdag.indices[np.repeat(to_be_computed(cdag, tuple(red_at_start)), cdag.in_degree)]] = True
    used[list(red_at_start)] = False
    return int(words[cdag.is_source & used].sum()), stores


_Params = Mapping[str, Any]


def _attention(p: _Params) -> tuple[int, int, int]:
    """Queries and keys of all heads, and the head dimension."""
    return p.get("heads", 1) * p["n"], key_heads("attention", p) * key_count(p), p["d"]


def _attention_backward(p: _Params) -> tuple[int, int]:
    rows, columns, d = _attention(p)
    loads = 2 * (rows + columns) * d + rows + (rows * d if p.get("given") == "O" else rows)
    return loads, (rows + 2 * columns) * d


def _attention_forward(p: _Params) -> tuple[int, int]:
    rows, columns, d = _attention(p)
    return (rows + 2 * columns) * d, rows * d


def _attention_gradient(p: _Params) -> tuple[int, int]:
    n, d = p["n"], p["d"]
    outputs = 2 if p.get("outputs") == "dX+dY" else 1
    return (5 if p.get("given") == "dO" else 4) * n * d + 2 * d * d, outputs * d * d


# Loads and stores of the families whose graphs need not be built to be counted.
_FAMILIES: dict[str, Callable[[_Params], tuple[int, int]]] = {
    "attention-backward": _attention_backward,
    "attention-gradient": _attention_gradient,
    "attention-forward": _attention_forward,
    "a1xa2t": lambda p: (2 * p["n"] * p["d"] + p["d"] ** 2, p["n"] ** 2),
    "matmul": lambda p: (p["m"] * p["k"] + p["k"] * p["n"], p["m"] * p["n"]),
    "matvec": lambda p: (p["m"] * p["n"] + p["n"], p["m"]),
    "dot": lambda p: (2 * p["n"], 1),
    "fft": lambda p: (p["n"], p["n"]) if p["n"] > 1 else (0, 0),
    "pyramid": lambda p: (p["h"] + 1, 1),
    "stencil1d": lambda p: (p["n"], p["n"]),
    "stencil2d": lambda p: (p["rows"] * p["cols"],) * 2,
    "chain": lambda p: (1, 1) if p["n"] > 1 else (0, 0),
    "grid": lambda p: (1, 1) if p["rows"] * p["cols"] > 1 else (0, 0),
    "reduce": lambda p: (p["n"], 1) if p["n"] > 1 else (0, 0),
    "tree": lambda p: (p["leaves"], 1) if p["leaves"] > 1 else (0, 0),
    "lu": lambda p: (p["n"] ** 2, p["n"] * (p["n"] - 1)) if p["n"] > 1 else (0, 0),
    "cholesky": lambda p: (p["n"] * (p["n"] + 1) // 2,) * 2,
}


def family_compulsory(family: str, params: _Params) -> tuple[int, int] | None:
    """`compulsory_io` of a family's graph, from its parameters; None if the family is not known here.

    Examples
    --------
    >>> family_compulsory("matmul", {"m": 2, "k": 3, "n": 4})
    (18, 8)
    """
    formula = _FAMILIES.get(family)
    return None if formula is None else formula(params)


def subject_compulsory(subject: Subject, rules: Rules | None = None) -> tuple[int, int] | None:
    """Compulsory loads and stores, in words, under the subject's rules or others; None if not known.

    Other rules are those of a plain game, in which nothing is red at the start.
    """
    rules, red = (subject.rules, _red_at_start(subject)) if rules is None else (rules, ())
    if subject.cdag is None:
        known = family_compulsory(subject.family, subject.params)
        if known is not None:
            loads, stores = known
            if rules.outputs == "any":
                stores = max(0, stores - subject.M)
            return (0 if rules.free_sources else loads), stores
        if subject.graph is None:
            return None
    assert subject.graph is not None
    cdag = subject.graph.cdag
    if rules.is_plain and not red:
        return compulsory_io(cdag)
    return needed_io(cdag, subject.M, rules, red)


def _red_at_start(subject: Subject) -> tuple[int, ...]:
    return () if subject.instance is None else subject.instance.red_at_start


def _compute(subject: Subject, limit: Limit) -> Bound | None:
    known = subject_compulsory(subject)
    if known is None:
        return None
    loads, stores = known
    rules = subject.rules
    plain = rules.is_plain and not _red_at_start(subject)
    return Bound(
        rules.load_cost * loads + rules.store_cost * stores,
        "compulsory",
        f"any graph, {'hong-kung and one-shot' if plain else rules}; {BLUE_SOURCES}"
        if not rules.free_sources
        else f"any graph, {rules}",
        "Hong & Kung (1981), the rules: only a load makes a source red, only a store makes an output blue",
        details={"loads": loads, "stores": stores},
    )


COMPULSORY = LowerBound("compulsory", _compute, holds=lambda subject: True)
