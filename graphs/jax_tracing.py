"""From a JAX function to its CDAG: JAX says which primitives it consists of, and these become vertices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphs.tracing import trace_family
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError, MissingExtraError, UnsupportedFunctionError

__all__ = ["from_jax"]


def from_jax(
    fn: Callable[..., Any], /, *shapes: Any, sums: str = "chain", fma: bool = False, **named: Any
) -> CDAG:
    """The CDAG of a JAX function, gradients made by `jax.grad` included.

    Parameters
    ----------
    fn : callable
        Any function of float arrays that JAX can trace: `jax.numpy`, `jax.nn`, `jax.grad`, `jax.vjp`,
        `jax.vmap`, `jax.jit`, `jax.checkpoint`, loops of fixed length.
    *shapes : int, tuple of int, or a dict or list of shapes
        One per positional argument: a whole number, a tuple (``()`` for a scalar), or a dict or list of
        shapes for an argument that is a dict or list of arrays, such as the weights of a network.
    sums, fma
        How sums become vertices, as in `graphs.trace`.
    **named
        Shapes of keyword arguments.

    Returns
    -------
    CDAG
        Inputs are named as the function's parameters, those in a dict or list ``weights.W``, ``weights.0``.
        Returned arrays are named by their dict keys, else ``out``, or ``out0``, ``out1``, … What
        `jax.ad_checkpoint.checkpoint_name` or `graphs.named` names inside is in `CDAG.tensors`, where the
        results need it.

    Raises
    ------
    UnsupportedFunctionError
        A primitive that has no CDAG form, such as a sort; the text names it and the line of the function.
    GraphSpecError
        A bad shape, too many or too few of them, a bad choice of `sums`, or a returned constant.
    MissingExtraError
        JAX is not installed: it comes with the extra ``jax``.

    Notes
    -----
    The function is traced in float64, so `pebble.evaluate` gives JAX's numbers in that precision. One vertex
    per scalar operation; data that only moves (reshape, slices, gathers by fixed indices) and constants are
    no vertices, and operations that a constant makes trivial are left out, as in `graphs.trace`. Calls, loops
    of fixed length and branches on fixed conditions are unrolled. Traced values count as finite, so
    ``is_finite`` of one is true. Comparisons of traced values (the derivative of a maximum) are vertices that
    hold 0 or 1. ``log1p``, ``expm1``, ``exp2``, ``tan`` and powers with computed exponents are compositions.

    O(|V| + |E|), and JAX's own tracing.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> def loss(W, x):
    ...     return jnp.sum(jnp.tanh(x @ W) ** 2)
    >>> g = from_jax(jax.grad(loss), (3, 2), (4, 3))
    >>> g.input_names, g.tensors["out"].shape
    (('W', 'x'), (3, 2))
    """
    jax = _jax()
    from graphs.jax_lowering import run

    names, positional = _argument_names(fn, len(shapes), tuple(named))
    for name in names[len(shapes) :]:
        # By position as far as that goes: the functions that jax.grad makes want it.
        if name not in named or not _by_position(fn, name):
            break
        shapes, positional = (*shapes, named.pop(name)), [*positional, name]
    arguments = (list(shapes), dict(named))
    leaves, structure = jax.tree_util.tree_flatten_with_path(arguments, is_leaf=_is_shape)
    inputs: dict[str, int | tuple[int, ...]] = {}
    order: list[str] = []
    for path, shape in leaves:
        if not _is_shape(shape):
            raise GraphSpecError(
                f"{shape!r} is no shape: give a whole number, a tuple of them, or a dict or list of these"
            )
        name = _path_name(path[1:], positional if path[0].idx == 0 else None)
        if name in inputs:
            raise GraphSpecError(f"two inputs of the traced function are named '{name}'")
        inputs[name] = shape
        order.append(name)
    # In the order of the function's parameters, keyword arguments among them.
    rank = {name: i for i, name in enumerate(names)}
    listed = sorted(order, key=lambda name: rank.get(name.partition(".")[0], len(rank)))
    inputs = {name: inputs[name] for name in listed}

    def traced(**arrays: Any) -> Mapping[str, Any]:
        with _double_precision(jax):
            kinds = [jax.ShapeDtypeStruct(arrays[name].shape, "float64") for name in order]

            def flat(*values: Any) -> Any:
                args, kwargs = jax.tree_util.tree_unflatten(structure, values)
                return fn(*args, **kwargs)

            closed, result = jax.make_jaxpr(flat, return_shape=True)(*kinds)
            outputs = run(jax, closed, [arrays[name] for name in order])
        return dict(zip(_output_names(jax, result), outputs, strict=True))

    return trace_family(traced, inputs, sums=sums, fma=fma)


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise MissingExtraError(
            f"JAX is not installed ({error}): pip install 'red-blue-pebble[jax]'"
        ) from error
    return jax


@contextmanager
def _double_precision(jax: Any) -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def _is_shape(x: Any) -> bool:
    return isinstance(x, int) or (isinstance(x, tuple) and all(isinstance(n, int) for n in x))


def _by_position(fn: Callable[..., Any], name: str) -> bool:
    try:
        parameter = inspect.signature(fn).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind is parameter.POSITIONAL_OR_KEYWORD


def _argument_names(
    fn: Callable[..., Any], count: int, named: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """The function's parameters in order, and the names of the first `count` arguments."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some callables have no signature
        return [*(f"x{i}" for i in range(count)), *named], [f"x{i}" for i in range(count)]
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    if count > len(plain) and variadic is None:
        raise GraphSpecError(
            f"{_title(fn)} takes {len(plain)} positional arguments, {count} shapes are given"
        )
    positional = [p.name for p in plain[:count]]
    positional += [f"{variadic}{i}" for i in range(count - len(positional))]
    lacking = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in positional
        and p.name not in named
    ]
    if lacking:
        raise GraphSpecError(f"{_title(fn)} needs a shape for {', '.join(lacking)}")
    return [*positional, *(p.name for p in parameters if p.name not in positional)], positional


def _title(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _path_name(path: Any, positional: list[str] | None) -> str:
    """``weights.W`` for a leaf of an argument; a positional argument has its parameter's name."""
    parts = [str(getattr(key, "key", getattr(key, "idx", key))) for key in path]
    if positional is not None:
        parts[0] = positional[path[0].idx]
    return ".".join(parts)


def _output_names(jax: Any, result: Any) -> list[str]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(result)
    names = []
    for path, _ in leaves:
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
        # Results that have no keys are numbered, as are those of `trace`.
        if path and not hasattr(path[0], "key") and not hasattr(path[0], "name"):
            parts[0] = f"out{parts[0]}"
        names.append(".".join(parts) or "out")
    if not names:
        raise GraphSpecError("the traced function returned no array")
    if len(set(names)) < len(names):
        raise UnsupportedFunctionError("two results of the traced function have the same name")
    return names
