"""The registry of builders, and the way from a spec's text to a graph."""

from __future__ import annotations

import difflib
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from graphs.einsums import einsum_text, split_einsum_spec
from graphs.sizes import refuse_absurd
from graphs.spec import GraphSpec, split_spec
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError
from pebble.registry import Registry

__all__ = ["REGISTRY", "build", "parameters", "parse"]

REGISTRY: Registry[Callable[..., CDAG]] = Registry("graph family", "pebble.builders")

for _name, _target, _summary in [
    ("attention-backward", "attention:attention_backward", "FlashAttention's backward pass: dQ, dK, dV"),
    ("attention-gradient", "attention:attention_gradient", "the gradient of attention in X = W_Q W_K^T"),
    ("attention-forward", "attention:attention_forward", "softmax(Q K^T) V"),
    ("a1xa2t", "attention:a1xa2t", "the two products A1 X A2^T alone"),
    ("matmul", "linear_algebra:matmul", "m x k times k x n"),
    ("matvec", "linear_algebra:matvec", "m x n matrix times vector"),
    ("dot", "linear_algebra:dot", "inner product of two vectors"),
    ("einsum", "einsums:einsum", "an einsum string: einsum:ij,jk->ik;i=4,j=3,k=5"),
    ("lu", "linear_algebra:lu", "LU factorisation without pivoting"),
    ("cholesky", "linear_algebra:cholesky", "Cholesky factorisation"),
    ("fft", "structural:fft", "butterfly on n points, a power of two"),
    ("grid", "structural:grid", "diamond grid: above and left"),
    ("stencil1d", "stencils:stencil1d", "t steps of the 3-point stencil on n points"),
    ("stencil2d", "stencils:stencil2d", "t steps of the 5-point stencil on a grid"),
    ("chain", "structural:chain", "path of n vertices"),
    ("tree", "structural:tree", "in-tree on leaves, arity at a time"),
    ("pyramid", "structural:pyramid", "pyramid of height h"),
    ("reduce", "structural:reduce", "sum of n inputs"),
    ("spmv", "sparse_graphs:spmv", "sparse matrix times vector, random or file=A.mtx"),
    ("spmv-power", "sparse_graphs:spmv_power", "sparse matrix, k times applied to a vector"),
    ("knn", "sparse_graphs:knn", "k-hop neighbourhood in a sparse matrix, random or file=A.mtx"),
    ("cg", "sparse_graphs:cg", "k iterations of conjugate gradients, random or file=A.mtx"),
    ("random", "random_graphs:random", "each pair is an edge with probability p"),
    ("random-layered", "random_graphs:random_layered", "d layers of w vertices, in-degree k"),
]:
    REGISTRY.register(_name, f"graphs.{_target}", _summary)

# Whole numbers that may be 0; every other one is a size, of at least 1.
_FROM_ZERO = frozenset({"seed"})


class _Parameter(typing.NamedTuple):
    name: str
    types: tuple[Any, ...]  # int, float, bool, str, None, and texts for the values of a Literal
    default: Any  # inspect.Parameter.empty if required


def parameters(family: str) -> dict[str, Any]:
    """Each parameter of a family and its default, `inspect.Parameter.empty` where it has none.

    Examples
    --------
    >>> parameters("tree")["arity"]
    2
    """
    return {p.name: p.default for p in _signature(family)}


def _signature(family: str) -> list[_Parameter]:
    builder = REGISTRY.get(family)
    found = []
    for p in inspect.signature(builder).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        annotation = p.annotation
        if isinstance(annotation, str):
            annotation = eval(annotation, dict(vars(typing)) | getattr(builder, "__globals__", {}))
        if annotation is p.empty:
            annotation = Any if p.default in (p.empty, None) else type(p.default)
        found.append(_Parameter(p.name, _flatten(annotation), p.default))
    return found


def _flatten(annotation: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return tuple(t for part in typing.get_args(annotation) for t in _flatten(part))
    if origin is typing.Literal:
        return typing.get_args(annotation)
    if annotation is Any:
        return (int, float, bool, str)
    return (None,) if annotation is type(None) else (annotation,)


def parse(text: str) -> GraphSpec:
    """Parse a spec: ``family:key=value,…``, or its values by position, as in ``fft:8`` or ``grid:5x5``.

    Parameters
    ----------
    text : str

    Returns
    -------
    GraphSpec
        With every parameter of the builder, typed, defaults filled in.

    Raises
    ------
    UnknownNameError
        No such family.
    GraphSpecError
        The text is malformed, or a parameter is unknown, missing, given twice or out of range.

    Examples
    --------
    >>> dict(parse("matmul:2x3x2").params) == {"m": 2, "k": 3, "n": 2, "sums": "chain", "fma": False}
    True
    >>> str(parse("grid:rows=5,cols=5"))
    'grid:5x5'
    """
    if text.partition(":")[0].strip().lower() == "einsum":
        sizes = split_einsum_spec(text)
        return GraphSpec("einsum", sizes, einsum_text(sizes))
    name, positional, named = split_spec(text)
    family = REGISTRY.info(name).name
    known = {p.name: p for p in _signature(family)}
    values = [part for value in positional for part in _by_cross(value)]
    if len(values) > len(known):
        raise GraphSpecError(f"'{text}' has {len(values)} values, {_usage(family, known)}")
    given = dict(zip(known, values, strict=False))
    for key, value in named.items():
        key = key.replace("-", "_")
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise GraphSpecError(f"{family} has no parameter '{key}'{hint} ({_usage(family, known)})")
        if key in given:
            raise GraphSpecError(f"'{key}' is given twice in '{text}'")
        given[key] = value
    missing = [n for n, p in known.items() if p.default is inspect.Parameter.empty and n not in given]
    if missing:
        raise GraphSpecError(f"'{text}' lacks {', '.join(missing)}: {_usage(family, known)}")
    params = {n: _convert(family, p, given[n]) if n in given else p.default for n, p in known.items()}
    return GraphSpec(family, params, _text(family, known, params))


def build(spec: GraphSpec | str) -> CDAG:
    """Build the graph of a spec.

    Parameters
    ----------
    spec : GraphSpec or str

    Returns
    -------
    CDAG
        Its `name` parses back to the same graph.

    Raises
    ------
    UnknownNameError, GraphSpecError
        As `parse`; also for a graph that would not fit in memory, whose size the text gives.

    Examples
    --------
    >>> build("pyramid:2").num_vertices
    6
    """
    parsed = parse(spec) if isinstance(spec, str) else spec
    refuse_absurd(parsed.text or parsed.family, parsed.family, parsed.params)
    cdag = REGISTRY.get(parsed.family)(**parsed.params)
    changed = _changed(parsed)
    if cdag.family == parsed.family and dict(cdag.params) == changed:
        return cdag
    return cdag._replace(family=parsed.family, params=changed)


def _changed(spec: GraphSpec) -> dict[str, Any]:
    """The parameters that differ from their defaults: what it takes to write the spec."""
    defaults = parameters(spec.family)
    return {n: v for n, v in spec.params.items() if n not in defaults or v != defaults[n]}


def _by_cross(value: str) -> list[str]:
    """``2x3x2`` as its numbers; any other value as it is."""
    parts = value.lower().split("x")
    return parts if len(parts) > 1 and all(p.isdigit() for p in parts) else [value]


def _usage(family: str, known: Mapping[str, _Parameter]) -> str:
    parts = [n if p.default is inspect.Parameter.empty else f"{n}={p.default}" for n, p in known.items()]
    return f"{family} takes {', '.join(parts)}"


def _text(family: str, known: Mapping[str, _Parameter], params: Mapping[str, Any]) -> str:
    """The shortest spec: bare numbers where all that is required is whole numbers."""
    required = [p for p in known.values() if p.default is inspect.Parameter.empty]
    optional = [
        f"{n}={str(params[n]).lower() if isinstance(params[n], bool) else params[n]}"
        for n, p in known.items()
        if p.default is not inspect.Parameter.empty and params[n] != p.default
    ]
    if family in _SHORT:
        lead = ["x".join(str(params[p.name]) for p in required)]
    else:
        lead = [f"{p.name}={params[p.name]}" for p in required]
    return f"{family}:{','.join(lead + optional)}" if lead + optional else family


_SHORT = frozenset({"matmul", "matvec", "dot", "lu", "cholesky", "fft", "grid", "chain", "pyramid", "reduce"})


def _convert(family: str, parameter: _Parameter, text: str) -> Any:
    """The value that `text` gives to a parameter, by the parameter's type."""
    name = parameter.name
    choices = [t for t in parameter.types if isinstance(t, str)]
    if choices:
        for choice in choices:
            if choice.lower() == text.lower():
                return choice
        near = difflib.get_close_matches(text, choices, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise GraphSpecError(f"{family}: {name}={text} is none of {', '.join(choices)}{hint}")
    if None in parameter.types and text.lower() == "none":
        return None
    if bool in parameter.types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if int in parameter.types:
        if re.fullmatch(r"[+-]?\d+", text):
            return _in_range(family, name, int(text))
        if float not in parameter.types and str not in parameter.types:
            raise GraphSpecError(f"{family}: {name}={text} is no whole number")
    if float in parameter.types:
        try:
            value = float(text)
        except ValueError:
            raise GraphSpecError(f"{family}: {name}={text} is no number") from None
        if value != value or value in (float("inf"), float("-inf")):
            raise GraphSpecError(f"{family}: {name}={text} is out of range, give a finite number")
        return value
    if str in parameter.types:
        return text
    raise GraphSpecError(f"{family}: {name}={text} is neither true nor false")


def _in_range(family: str, name: str, value: int) -> int:
    least = 0 if name in _FROM_ZERO else 1
    if value < least:
        raise GraphSpecError(f"{family}: {name}={value} is out of range, give a whole number >= {least}")
    return value
