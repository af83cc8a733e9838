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
    names_a_file,
    parse_graph_spec,
    split_names,
)
from pebble.cli.output import console, note, print_json, progress, table, whole

if TYPE_CHECKING:
    from pebble.result import Bound

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

    Exit code 0 if any bound applies, 3 if none.
    """
    import solvers
    from pebble.cli.memory import parse_memory
    from pebble.instance import Instance
    from pebble.result import Limit
    from pebble.rules import Rules

    rule_set = Rules.named(rules)
    chosen = split_names(names)
    loaded = load_graph(graph) if names_a_file(graph) else None
    spec = parse_graph_spec(graph) if loaded is None else None
    name = str(spec) if loaded is None else loaded.name
    params = {} if spec is None else spec.params
    limit = None if time_limit is None else Limit(time=time_limit)
    documents = []
    with progress(quiet=quiet) as steps:
        for M in parse_memory(memory, params):
            steps.step(f"M={M:,}: lower bounds")
            target: Any = spec if loaded is None else Instance(loaded.cdag, M, rule_set)
            found = solvers.bounds(
                target,
                M,
                rule_set,
                names=chosen,
                expensive=expensive,
                include_asymptotic=asymptotic,
                limit=limit,
            )
            documents.append(_document(name, M, rule_set.name, found))
            if not as_json:
                _print(name, M, rule_set.name, found)
    if as_json:
        print_json(documents[0] if len(documents) == 1 else documents)
    if not any(document["bounds"] for document in documents):
        note(f"error: none of the bounds applies to {name} under {rule_set.name}")
        raise typer.Exit(3)


def _document(graph: str, M: int, rules: str, found: Sequence[Bound]) -> dict[str, Any]:
    certificates = [b for b in found if b.certificate]
    return {
        "graph": graph,
        "M": M,
        "rules": rules,
        "lower_bound": certificates[0].value if certificates else 0,
        "bound": certificates[0].name if certificates else None,
        "bounds": [b.to_dict() for b in found],
    }


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
