"""What `play` and `count` print: strategies side by side at one M."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pebble.cli.output import console, table, whole

if TYPE_CHECKING:
    from pebble.result import Bound, Cost
    from pebble.schedule import Schedule

__all__ = ["Comparison", "exit_code"]


@dataclass
class Comparison:
    """The results of several strategies on one graph at one M, and the best lower bound.

    Attributes
    ----------
    results : list of dict
        As in the JSON: the figures of each strategy, or why it could not play.
    infeasible : str
        Why no strategy can, where M is below the graph's least M.
    best : Schedule or None
        The legal schedule of least I/O.
    """

    graph: str
    num_vertices: int | None
    num_edges: int | None
    M: int
    rules: str
    results: list[dict[str, Any]] = field(default_factory=list)
    bound: Bound | None = None
    infeasible: str = ""
    least_M: int | None = None
    best: Schedule | None = None

    def add(
        self,
        strategy: str,
        cost: Cost,
        *,
        verified: bool,
        seconds: float,
        options: Mapping[str, Any],
        schedule: Schedule | None = None,
    ) -> None:
        """A strategy that played, at the cost that the referee or the count gives."""
        if all(cost.io < row["io"] for row in self.played):
            self.best = schedule
        self.results.append(
            {
                "strategy": strategy,
                "status": "feasible",
                **cost.to_dict(),
                "verified": verified,
                "seconds": round(seconds, 6),
                "options": dict(options),
            }
        )

    def add_refusal(self, strategy: str, reason: str, least_M: int | None) -> None:
        """A strategy that cannot play."""
        self.results.append(
            {"strategy": strategy, "status": "not-applicable", "reason": reason, "least_M": least_M}
        )

    @property
    def played(self) -> list[dict[str, Any]]:
        """The results with figures."""
        return [row for row in self.results if row["status"] == "feasible"]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        document: dict[str, Any] = {
            "graph": self.graph,
            "num_vertices": self.num_vertices,
            "num_edges": self.num_edges,
            "M": self.M,
            "rules": self.rules,
            "results": self.results,
            "lower_bound": 0 if self.bound is None else self.bound.value,
            "bound": None
            if self.bound is None
            else {"name": self.bound.name, "assumes": self.bound.assumes, "source": self.bound.source},
        }
        if self.infeasible:
            document |= {"status": "infeasible", "reason": self.infeasible, "least_M": self.least_M}
        return document

    def print(self) -> None:
        """The table for people."""
        size = (
            "" if self.num_vertices is None else f": {self.num_vertices:,} vertices, {self.num_edges:,} edges"
        )
        out = console()
        lower = 0 if self.bound is None else self.bound.value
        columns = [("I/O", "io"), ("loads", "loads"), ("stores", "stores"), ("peak red", "peak_red")]
        if any(row["recomputes"] for row in self.played):
            columns.insert(3, ("recomputed", "recomputes"))
        if any("compute_cost" in row for row in self.played):
            columns.append(("compute cost", "compute_cost"))
        figures = [*(name for name, _ in columns), "gap", "ratio", "seconds"]
        grid = table(
            [("strategy", False), *((name, True) for name in figures)],
            title=f"{self.graph}{size}; M={self.M:,}, rules {self.rules}",
        )
        best = min(self.played, key=lambda row: row["io"], default=None)
        for row in self.played:
            ratio = row["io"] / lower if lower else None
            grid.add_row(
                whole(row["strategy"]),
                *(whole(row[key]) for _, key in columns),
                "" if ratio is None else f"{ratio - 1:.1%}",
                "" if ratio is None else f"{ratio:.3f}",
                f"{row['seconds']:.3f}",
                style="bold" if row is best else None,
            )
        if best is not None:
            out.print(grid)
            chosen = " ".join(f"{key}={value}" for key, value in best["options"].items())
            out.print(f"best: {whole(best['strategy'])}" + (f" ({whole(chosen)})" if chosen else ""))
        for row in self.results:
            if row["status"] != "feasible":
                out.print(f"{whole(row['strategy'])}: {row['status']}, {whole(row['reason'])}")
        if self.bound is not None and self.played:
            out.print(f"lower bound: {lower:,} ({whole(self.bound.name)}; {whole(self.bound.assumes)})")
        if self.results:
            out.print()


def exit_code(comparisons: list[Comparison]) -> int:
    """0 if any strategy played, 1 if none can at that M or a schedule was illegal, else 3."""
    if any(row["status"] == "illegal" for c in comparisons for row in c.results):
        return 1
    if any(c.played for c in comparisons):
        return 0
    return 1 if any(c.infeasible for c in comparisons) else 3
