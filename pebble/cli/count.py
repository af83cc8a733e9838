"""``pebble count``: the exact I/O of tile programs at any size, no graph built."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from pebble.cli.arguments import (
    GraphArgument,
    JsonOption,
    MemoryOption,
    QuietOption,
    StrategiesOption,
    parse_graph_spec,
    split_names,
)
from pebble.cli.comparison import Comparison, exit_code
from pebble.cli.output import note, print_json, progress

if TYPE_CHECKING:
    from graphs.spec import GraphSpec

__all__ = ["count"]


def count(
    graph: GraphArgument,
    memory: MemoryOption,
    strategies: StrategiesOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Count the exact I/O of tile programs without building the graph.

    Exit code 0 if any program could be counted, 3 if none.
    """
    import solvers
    from pebble.cli.memory import parse_memory

    spec = parse_graph_spec(graph)
    names = split_names(strategies) or _countable(spec)
    comparisons: list[Comparison] = []
    sizes = parse_memory(memory, spec.params)
    interrupted = False
    try:
        for M in sizes:
            comparison = Comparison(str(spec), None, None, M, "hong-kung")
            comparisons.append(comparison)
            try:
                with progress(quiet=quiet) as steps:
                    for name in names:
                        steps.step(f"M={M:,}: {name}")
                        _add(comparison, name, spec, M)
                    if comparison.played:
                        comparison.bound = solvers.best_bound(spec, M)
            finally:
                if not as_json:
                    comparison.print()
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        documents = [comparison.to_dict() for comparison in comparisons]
        print_json(documents[0] if len(sizes) == 1 else documents)
    if interrupted:
        note("interrupted: these are the results so far")
        raise typer.Exit(130)
    code = exit_code(comparisons)
    if code == 3:
        reasons = [row["reason"] for c in comparisons for row in c.results]
        note(f"error: no strategy could be counted: {reasons[0] if reasons else f'none counts {spec}'}")
    raise typer.Exit(code)


def _countable(spec: GraphSpec) -> list[str]:
    """The tile programs for the spec's family."""
    from strategies.catalog import REGISTRY
    from strategies.protocol import Countable

    found = []
    for name in REGISTRY.names():
        strategy = REGISTRY.get(name)
        if isinstance(strategy, Countable) and strategy.count_supports(spec) is None:
            found.append(name)
    return found


def _add(comparison: Comparison, name: str, spec: GraphSpec, M: int) -> None:
    from pebble.errors import UnsupportedInstanceError
    from strategies.playing import count_detail, parse_strategy

    start = time.perf_counter()
    try:
        cost, options = count_detail(name, spec, M)
    except UnsupportedInstanceError as error:
        comparison.add_refusal(name, str(error), error.least_M)
        return
    comparison.add(
        name,
        cost,
        verified=False,
        seconds=time.perf_counter() - start,
        options=parse_strategy(name)[1] | dict(options),
    )
