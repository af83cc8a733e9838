"""``pebble bound``: every lower bound that applies, with what it assumes and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pebble.cli.arguments import (
    GraphArgument,
    JsonOption,
    MemoryOption,
    QuietOption,
    RulesOption,
    load_graph,
    needs_loading,
    parse_graph_spec,
    split_names,
)
from pebble.cli.output import console, note, print_json, progress, table, whole

if TYPE_CHECKING:
    from pebble.errors import InfeasibleInstanceError
    from pebble.result import Bound
    from pebble.rules import Rules

__all__ = ["bound"]


def bound(
    graph: GraphArgument,
    memory: MemoryOption,
    rules: RulesOption = "hong-kung",
    names: Annotated[
        str | None,
        typer.Option(
            "--bounds", metavar="A,B", help="Only these bounds. Default: all that apply and are cheap."
        ),
    ] = None,
    expensive: Annotated[
        bool, typer.Option("--expensive", help="Also bounds that take long on a graph of this size.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option("--time", metavar="SECONDS", help="Time for each bound that searches.")
    ] = None,
    asymptotic: Annotated[
        bool, typer.Option("--asymptotic", help="Also formulas that are no certificates.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Bound the I/O of every schedule from below; best bound first, in words.

    Ctrl-C shows the bounds found so far. Exit code 0 if any bound applies, 1 if every M is infeasible, 3 if
    none applies.
    """
    from pebble.cli.memory import parse_memory
    from pebble.instance import Instance
    from pebble.result import Limit
    from pebble.rules import Rules
    from solvers.bounding import best_first, bounds

    rule_set = Rules.named(rules)
    chosen = split_names(names)
    loaded = load_graph(graph) if needs_loading(graph) else None
    spec = parse_graph_spec(graph) if loaded is None else None
    name = str(spec) if loaded is None else loaded.name
    params = {} if spec is None else spec.params
    limit = None if time_limit is None else Limit(time=time_limit)
    documents: list[dict[str, Any]] = []
    sizes = parse_memory(memory, params)
    interrupted = False
    with progress(quiet=quiet) as steps:
        for M in sizes:
            steps.step(f"M={M:,}: lower bounds")
            target: Any = spec if loaded is None else Instance(loaded.cdag, M, rule_set)
            found: list[Bound] = []
            infeasible = None
            try:
                infeasible = _infeasible(target, M, rule_set)
                if infeasible is None:
                    bounds(
                        target,
                        M,
                        rule_set,
                        names=chosen,
                        expensive=expensive,
                        include_asymptotic=asymptotic,
                        limit=limit,
                        on_bound=found.append,
                    )
            except KeyboardInterrupt:
                interrupted = True
            documents.append(_document(name, M, rule_set.name, best_first(found), infeasible))
            if not as_json:
                _print(name, M, rule_set.name, best_first(found))
            if infeasible is not None:
                note(f"error: {infeasible}")
            if interrupted:
                break
    if as_json:
        print_json(documents[0] if len(sizes) == 1 else documents)
    if interrupted:
        note("interrupted: these are the bounds so far")
        raise typer.Exit(130)
    if not any(document["bounds"] for document in documents):
        if any("status" in document for document in documents):
            raise typer.Exit(1)
        note(f"error: none of the bounds applies to {name} under {rule_set.name}")
        raise typer.Exit(3)


def _infeasible(target: Any, M: int, rules: Rules) -> InfeasibleInstanceError | None:
    """Why no schedule exists, if M is too small; not found out for a spec too large to be built for it."""
    from pebble.errors import InfeasibleInstanceError
    from solvers.lower_bounds.protocol import Subject

    instance = Subject.of(target, M, rules).graph
    try:
        if instance is not None:
            instance.require_feasible()
    except InfeasibleInstanceError as error:
        return error
    return None


def _document(
    graph: str, M: int, rules: str, found: Sequence[Bound], infeasible: InfeasibleInstanceError | None
) -> dict[str, Any]:
    certificates = [b for b in found if b.certificate]
    document: dict[str, Any] = {
        "graph": graph,
        "M": M,
        "rules": rules,
        "lower_bound": certificates[0].value if certificates else 0,
        "bound": certificates[0].name if certificates else None,
        "bounds": [b.to_dict() for b in found],
    }
    if infeasible is not None:
        document |= {
            "status": "infeasible",
            "reason": str(infeasible),
            "least_M": infeasible.least_M,
            "vertex": infeasible.vertex,
        }
    return document


def _print(graph: str, M: int, rules: str, found: Sequence[Bound]) -> None:
    if not found:
        return
    columns = [("bound", False), ("I/O", True), ("assumes", False), ("source", False)]
    grid = table(columns, title=f"{graph}; M={M:,}, rules {rules}")
    for i, b in enumerate(found):
        grid.add_row(
            whole(b.name),
            ("" if b.certificate else "~") + whole(b.value),
            whole(b.assumes),
            whole(b.source),
            style="bold" if i == 0 and b.certificate else None,
        )
    console().print(grid)
