"""Play a strategy by its spec ``name:option=value``, or count a tile program without building a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.spec import GraphSpec
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance, check_memory
from pebble.result import Cost, Limit
from pebble.schedule import Schedule
from strategies.catalog import REGISTRY
from strategies.protocol import Countable, Strategy

__all__ = ["count", "count_detail", "parse_strategy", "play"]


def parse_strategy(spec: str) -> tuple[Strategy, dict[str, str]]:
    """The strategy and the options of a spec such as ``belady:order=dfs``.

    Raises
    ------
    UnknownNameError
        No such strategy.
    UnsupportedInstanceError
        An option that the strategy does not have, or a part without ``=``.
    """
    name, *parts = spec.split(":")
    strategy = REGISTRY.get(name)
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key or not value:
            raise UnsupportedInstanceError(f"'{part}' in strategy '{spec}' is no option=value")
        options[key] = value.strip()
    _check_options(strategy, options)
    return strategy, options


def play(
    spec: str | Strategy, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
) -> Schedule:
    """Play `instance` with a strategy: its name, its spec, or the strategy itself.

    Parameters
    ----------
    spec : str or Strategy
    instance : Instance
    limit : Limit, optional
    seed : int
    **options
        The strategy's options; they override those in `spec`.

    Returns
    -------
    Schedule
        A claim: `pebble.verify` gives its cost.

    Raises
    ------
    UnknownNameError, InfeasibleInstanceError, UnsupportedInstanceError
    """
    strategy, given = parse_strategy(spec) if isinstance(spec, str) else (spec, {})
    _check_options(strategy, options)
    instance.require_feasible()
    reason = strategy.supports(instance)
    if reason is not None:
        raise UnsupportedInstanceError(
            f"strategy '{strategy.name}' does not play {instance.cdag.name}: {reason}"
        )
    least = strategy.least_M(instance)
    if least > instance.M:
        raise UnsupportedInstanceError(
            f"strategy '{strategy.name}' needs M >= {least} on {instance.cdag.name}, got M={instance.M}",
            least,
        )
    return strategy(instance, limit=limit, seed=seed, **(given | options))


def count(spec: str | Strategy, graph: str | GraphSpec, M: int, **options: Any) -> Cost:
    """The exact cost of a tile program on a graph of any size, without building it.

    Parameters
    ----------
    spec : str or Strategy
        Strategy name or spec; it must be a tile program.
    graph : str or GraphSpec
    M : int
        Words of fast memory.
    **options
        Block sizes and the like; by default the best ones are searched for.

    Returns
    -------
    Cost
        In words; equal to what the referee counts on the lowered schedule.

    Raises
    ------
    UnknownNameError, GraphSpecError, UnsupportedInstanceError
    """
    return count_detail(spec, graph, M, **options)[0]


def count_detail(
    spec: str | Strategy, graph: str | GraphSpec, M: int, **options: Any
) -> tuple[Cost, Mapping[str, Any]]:
    """`count`, with the options that the program chose."""
    strategy, given = parse_strategy(spec) if isinstance(spec, str) else (spec, {})
    _check_options(strategy, options)
    parsed = GraphSpec.parse(graph) if isinstance(graph, str) else graph
    words = check_memory(M)
    if not isinstance(strategy, Countable):
        raise UnsupportedInstanceError(
            f"strategy '{strategy.name}' is no tile program: play it on a built graph instead of counting"
        )
    reason = strategy.count_supports(parsed)
    if reason is not None:
        raise UnsupportedInstanceError(f"strategy '{strategy.name}' cannot count {parsed}: {reason}")
    least = strategy.count_least_M(parsed)
    if words < least:
        raise UnsupportedInstanceError(
            f"strategy '{strategy.name}' needs M >= {least} on {parsed}, got M={words}", least
        )
    return strategy.count(parsed, words, **(given | options))


def _check_options(strategy: Strategy, options: Mapping[str, Any]) -> None:
    unknown = [key for key in options if key not in strategy.options]
    if unknown:
        known = ", ".join(strategy.options) or "none"
        raise UnsupportedInstanceError(
            f"strategy '{strategy.name}' has no option '{unknown[0]}' (options: {known})"
        )
