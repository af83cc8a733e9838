"""What the builders of traced families share."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from graphs.tracing import trace_family
from pebble.cdag import CDAG
from pebble.errors import GraphSpecError

__all__ = ["traced_family"]


def traced_family(
    builder: Callable[..., CDAG],
    fn: Callable[..., Any],
    shapes: Mapping[str, tuple[int, ...]],
    arguments: Mapping[str, Any],
) -> CDAG:
    """Trace `fn` as the graph of a builder.

    Parameters
    ----------
    builder : callable
        Its name, dashes for underscores, is the family.
    fn : callable
        The NumPy function.
    shapes : mapping
        Shapes of the inputs, in order.
    arguments : mapping
        The builder's arguments, `sums` and `fma` among them; other entries are ignored.

    Raises
    ------
    GraphSpecError
        A size is no whole number of at least 1, or a choice is none of those that the builder lists.
    """
    family = builder.__name__.replace("_", "-")
    params = {}
    for name, parameter in inspect.signature(builder, eval_str=True).parameters.items():
        value = arguments[name]
        _check(family, name, value, parameter.annotation)
        if parameter.default is parameter.empty or value != parameter.default:
            params[name] = value
    return trace_family(
        fn, shapes, sums=arguments["sums"], fma=arguments["fma"], family=family, params=params
    )


def _check(family: str, name: str, value: Any, annotation: Any) -> None:
    types = getattr(annotation, "__args__", None) or (annotation,)
    if type(None) in types and value is None:
        return
    if typing.get_origin(annotation) is typing.Literal and value not in types:
        raise GraphSpecError(f"{family}: {name}={value} is none of {', '.join(types)}")
    if int in types and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise GraphSpecError(f"{family}: {name}={value} is out of range, give a whole number >= 1")
