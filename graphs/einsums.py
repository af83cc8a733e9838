"""Einsum strings as graphs: any number of operands, multiplied two at a time from the left."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np

from graphs.tracing import named, trace_family
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError

__all__ = ["einsum", "einsum_steps", "einsum_text", "split_einsum_spec"]

Sums = Literal["chain", "tree", "flat"]

_SIZES = re.compile(r"[;,]\s*(?=[A-Za-z]+\s*=)")


class Step(NamedTuple):
    """One product of two arrays: their names and index letters, and those of the result."""

    left: str
    left_axes: str
    right: str
    right_axes: str
    out: str
    out_axes: str


def einsum(subscripts: str, *, sums: Sums = "chain", fma: bool = False, **sizes: int) -> CDAG:
    """The graph of an einsum, such as ``ij,jk->ik``.

    Parameters
    ----------
    subscripts : str
        Index letters of each operand, as `numpy.einsum` takes them, without ``...``. Where no result is named
        it has the letters that occur once, in alphabetical order.
    sums : {"chain", "tree", "flat"}
    fma : bool
    **sizes : int
        The length of every index, by its letter.

    Returns
    -------
    CDAG
        Operands are named ``A``, ``B``, ``C``, …, the result has the next letter. More than two operands are
        multiplied from the left: (A·B)·C, where an index that nothing later needs is summed at once; the
        intermediate results are ``AB``, ``ABC``, … Put the operands in the order that is best.

    Raises
    ------
    GraphSpecError
        The subscripts are malformed, or an index has no length, or a length belongs to no index.

    Examples
    --------
    >>> g = einsum("ij,jk->ik", i=4, j=3, k=5)
    >>> g.num_vertices, g.num_edges, list(g.tensors)
    (127, 200, ['A', 'B', 'C'])
    """
    operands, out = _parse(subscripts)
    letters = dict.fromkeys("".join(operands))
    missing = [letter for letter in letters if letter not in sizes]
    if missing:
        raise GraphSpecError(f"einsum {subscripts}: no length is given for {', '.join(missing)}")
    for letter, n in sizes.items():
        if letter not in letters:
            raise GraphSpecError(f"einsum {subscripts} has no index '{letter}'")
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise GraphSpecError(f"einsum: {letter}={n} is out of range, give a whole number >= 1")
    names = [chr(ord("A") + i) for i in range(len(operands) + 1)]
    shapes = {name: tuple(sizes[c] for c in axes) for name, axes in zip(names, operands, strict=False)}

    def compute(**arrays: Any) -> dict[str, Any]:
        if len(operands) == 1:
            return {names[-1]: np.einsum(f"{operands[0]}->{out}", arrays["A"])}
        for step in einsum_steps(subscripts):
            product = np.einsum(
                f"{step.left_axes},{step.right_axes}->{step.out_axes}", arrays[step.left], arrays[step.right]
            )
            arrays[step.out] = named(step.out, product)
        return {names[-1]: arrays[names[-1]]}

    params: dict[str, Any] = {"subscripts": f"{','.join(operands)}->{out}"}
    params |= {letter: sizes[letter] for letter in letters}
    params |= {} if sums == "chain" else {"sums": sums}
    params |= {"fma": True} if fma else {}
    return trace_family(compute, shapes, sums=sums, fma=fma, family="einsum", params=params)


def einsum_steps(subscripts: str) -> list[Step]:
    """The products that an einsum of two or more operands consists of, in order.

    Examples
    --------
    >>> [(s.out, s.out_axes) for s in einsum_steps("ij,jk,kl->il")]
    [('AB', 'ik'), ('D', 'il')]
    """
    operands, out = _parse(subscripts)
    steps = []
    name, axes = "A", operands[0]
    for i, right_axes in enumerate(operands[1:], 1):
        last = i == len(operands) - 1
        later = set(out).union(*operands[i + 1 :])
        kept = out if last else "".join(c for c in dict.fromkeys(axes + right_axes) if c in later)
        right = chr(ord("A") + i)
        result = chr(ord("A") + len(operands)) if last else name + right
        steps.append(Step(name, axes, right, right_axes, result, kept))
        name, axes = result, kept
    return steps


def _parse(subscripts: str) -> tuple[list[str], str]:
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    operands = left.split(",")
    if len(operands) > 25 or not all(re.fullmatch("[A-Za-z]*", part) for part in (*operands, out)):
        raise GraphSpecError(
            f"'{subscripts}' is no einsum: write index letters of up to 25 operands, as in ij,jk->ik"
        )
    letters = "".join(operands)
    if not letters:
        raise GraphSpecError(f"'{subscripts}' is no einsum: no operand has an index")
    if not arrow:
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if len(set(out)) < len(out) or not set(out) <= set(letters):
        raise GraphSpecError(f"einsum {subscripts}: the result repeats an index or names a new one")
    return operands, out


def split_einsum_spec(text: str) -> dict[str, Any]:
    """The parameters of a spec such as ``einsum:ij,jk->ik;i=4,j=3,k=5``, options after the lengths.

    Raises GraphSpecError for what is no ``letter=length`` and no option.

    Examples
    --------
    >>> split_einsum_spec("einsum:ij,j->i;i=4,j=3,fma=true")
    {'subscripts': 'ij,j->i', 'sums': 'chain', 'fma': True, 'i': 4, 'j': 3}
    """
    _, _, rest = text.partition(":")
    parts = [part.strip() for part in _SIZES.split(rest)]
    subscripts = parts[0].partition("=")[2] if parts[0].startswith("subscripts=") else parts[0]
    operands, out = _parse(subscripts)
    params: dict[str, Any] = {"subscripts": f"{','.join(operands)}->{out}", "sums": "chain", "fma": False}
    for part in parts[1:]:
        key, _, value = (side.strip() for side in part.partition("="))
        if key == "sums" and value in ("chain", "tree", "flat"):
            params["sums"] = value
        elif key == "fma" and value.lower() in ("true", "false"):
            params["fma"] = value.lower() == "true"
        elif len(key) == 1 and value.isdecimal() and int(value) > 0 and key not in params:
            params[key] = int(value)
        else:
            raise GraphSpecError(
                f"'{part}' in '{text}' is no length of an index (i=4, given once), no sums=chain|tree|flat "
                "and no fma=true"
            )
    lengths = set(params) - {"subscripts", "sums", "fma"}
    letters = dict.fromkeys("".join(operands))
    if lengths != set(letters):
        odd = ", ".join(sorted(lengths ^ set(letters)))
        raise GraphSpecError(f"'{text}': give the length of every index and of no other one ({odd})")
    return {**{k: params[k] for k in ("subscripts", "sums", "fma")}, **{c: params[c] for c in letters}}


def einsum_text(params: dict[str, Any]) -> str:
    """The canonical spec of parameters as `split_einsum_spec` gives them."""
    lengths = ",".join(f"{key}={value}" for key, value in params.items() if len(key) == 1)
    options = ("" if params["sums"] == "chain" else f",sums={params['sums']}") + (
        ",fma=true" if params["fma"] else ""
    )
    return f"einsum:{params['subscripts']};{lengths}{options}"
