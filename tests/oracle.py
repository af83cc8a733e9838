"""Small graphs with proved optima (tests/oracle_optima.json): the least I/O cost per M and rule set.

The values were found by exhaustive search over the states (red, blue), by two searches written apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pebble.cdag import CDAG
from pebble.instance import Instance

__all__ = ["OracleGraph", "oracle_graph", "oracle_graphs", "oracle_values"]

RULE_SETS = ("hong-kung", "one-shot")


@dataclass(frozen=True)
class OracleGraph:
    """A graph and its optima.

    Attributes
    ----------
    name : str
        Unique; a second graph of one name got the suffix ``-2``.
    cdag : CDAG
    optimum : dict
        ``(M, rules)`` to the least I/O cost in words, None where M is infeasible.
    """

    name: str
    cdag: CDAG
    optimum: dict[tuple[int, str], int | None]


@cache
def oracle_graphs() -> tuple[OracleGraph, ...]:
    """Every graph of the table."""
    rows = json.loads(Path(__file__).with_name("oracle_optima.json").read_text())
    return tuple(
        OracleGraph(
            row["name"],
            CDAG.from_edges(row["num_vertices"], row["edges"], weights=row["weights"]),
            {
                (int(M), rules): None if value == "infeasible" else int(value)
                for M, values in row["optimum"].items()
                for rules, value in values.items()
            },
        )
        for row in rows
    )


def oracle_graph(name: str) -> OracleGraph:
    """The graph of that name."""
    return next(graph for graph in oracle_graphs() if graph.name == name)


def oracle_values(
    rules: str | None = None, *, feasible: bool = True
) -> list[tuple[OracleGraph, Instance, int | None]]:
    """``(graph, instance, optimum)`` for every value, of one rule set or all; infeasible ones on request."""
    return [
        (graph, Instance(graph.cdag, M, name), value)
        for graph in oracle_graphs()
        for (M, name), value in graph.optimum.items()
        if (rules is None or rules == name) and (value is not None or not feasible)
    ]
