"""Mixed-integer backends, HiGHS and SCIP through MathOpt, and export to files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pebble.errors import FormatError, UnsupportedInstanceError
from solvers.ilp.cpsat import cp_model_of
from solvers.ilp.interruptible import interruptible
from solvers.ilp.model import FALSE, TRUE, AtMost, BooleanModel

__all__ = ["MILP_BACKENDS", "MilpReply", "export", "minimise"]

MILP_BACKENDS = {"highs": "HIGHS", "scip": "GSCIP"}
_FILES = (".mps", ".lp", ".pb", ".pbtxt")


@dataclass(frozen=True, slots=True)
class MilpReply:
    """What a mixed-integer solver found.

    Attributes
    ----------
    values : sequence of int or None
        The variables of the best solution.
    bound : int or None
        No solution costs less, rounded up to a whole number; None if nothing is known.
    infeasible : bool
        Whether no solution of cost at most `cutoff` exists.
    nodes : int
    """

    values: Sequence[int] | None
    bound: int | None
    infeasible: bool
    nodes: int


def _rows(model: BooleanModel) -> list[tuple[dict[int, int], float, float]]:
    """Every constraint as ``low <= Σ coefficient · variable <= high``, variables from 0."""
    rows: list[tuple[dict[int, int], float, float]] = []

    def linear(terms: Sequence[tuple[int, int]]) -> tuple[dict[int, int], int]:
        """Coefficients by variable, and the constant that negated literals leave."""
        by_variable: dict[int, int] = {}
        constant = 0
        for c, x in terms:
            if x == TRUE:
                constant += c
            elif x != FALSE:
                k = abs(x) - 1
                by_variable[k] = by_variable.get(k, 0) + (c if x > 0 else -c)
                constant += c if x < 0 else 0
        return by_variable, constant

    for clause in model.clauses:
        terms, constant = linear([(1, x) for x in clause])
        rows.append((terms, 1 - constant, math.inf))
    for group in model.exactly_one:
        terms, constant = linear([(1, x) for x in group])
        rows.append((terms, 1 - constant, 1 - constant))
    for row in model.at_most:
        excess = sum(c for c in row.coefficients if c > 0) - row.bound
        # Slack where the conditions do not hold: the largest value that the sum can take.
        where = [(excess, x) for x in row.where]
        terms, constant = linear([*zip(row.coefficients, row.literals, strict=True), *where])
        rows.append((terms, -math.inf, row.bound + excess * len(row.where) - constant))
    return rows


def minimise(
    model: BooleanModel,
    backend: str,
    *,
    cutoff: int | None = None,
    least: int = 0,
    hint: Sequence[int] | None = None,
    seconds: float | None = None,
    nodes: int | None = None,
    seed: int = 0,
) -> MilpReply:
    """Minimise the model's cost with a mixed-integer solver on one thread.

    Parameters
    ----------
    model : BooleanModel
    backend : str
        ``highs`` or ``scip``.
    cutoff : int, optional
        Only solutions of at most this cost are of interest.
    least : int
        A lower bound that is known.
    hint : sequence of int, optional
        A solution to start from.
    seconds, nodes : optional
        Limits.

    Raises
    ------
    UnsupportedInstanceError
        The backend is not one of these, or not part of the OR-Tools installed.
    """
    from ortools.math_opt.python import mathopt
    from ortools.util.python.solve_interrupter import SolveInterrupter

    if backend not in MILP_BACKENDS:
        known = ", ".join(["cp-sat", *MILP_BACKENDS])
        raise UnsupportedInstanceError(f"no backend '{backend}' of solver 'ilp' (known: {known})")
    solver_type = getattr(mathopt.SolverType, MILP_BACKENDS[backend])
    mo = mathopt.Model()
    xs = [mo.add_binary_variable(name=name) for name in model.names]
    rows = _rows(model)
    limits = [model.cost_limit(cutoff)] if cutoff is not None else []
    limits.append(_at_least(model, least))
    for terms, low, high in [*rows, *_rows(BooleanModel(at_most=limits))]:
        expression = mathopt.LinearSum(c * xs[k] for k, c in terms.items())
        mo.add_linear_constraint(lb=low, ub=high, expr=expression)
    mo.minimize(mathopt.LinearSum(c * xs[x - 1] for c, x in model.objective) + model.constant)
    parameters = mathopt.SolveParameters(
        time_limit=None if seconds is None else timedelta(seconds=max(seconds, 1e-3)),
        node_limit=nodes,
        random_seed=seed & 0x7FFFFFFF,
        # HiGHS in MathOpt takes no number of threads; its tree search runs on one.
        threads=1 if backend == "scip" else None,
    )
    start = mathopt.ModelSolveParameters()
    if hint is not None:
        start.solution_hints.append(
            mathopt.SolutionHint(variable_values=dict(zip(xs, map(float, hint), strict=True)))
        )
    interrupter = SolveInterrupter()
    # MathOpt's SCIP fails when it is given one (OR-Tools 9.15): it runs on to its limit after Ctrl-C.
    listens = None if backend == "scip" else interrupter
    result = interruptible(
        lambda: mathopt.solve(mo, solver_type, params=parameters, model_params=start, interrupter=listens),
        interrupter.interrupt,
    )
    reason = result.termination.reason
    values = None
    if result.has_primal_feasible_solution():
        found = result.variable_values()
        values = [round(found[x]) for x in xs]
    dual: float = result.termination.objective_bounds.dual_bound
    infeasible = reason == mathopt.TerminationReason.INFEASIBLE
    work = result.solve_stats.node_count
    bound = None if infeasible or not math.isfinite(dual) else math.ceil(dual - 1e-6)
    return MilpReply(values, bound, infeasible, int(work))


def _at_least(model: BooleanModel, least: int) -> AtMost:
    row = model.cost_limit(0)
    return AtMost(tuple(-c for c in row.coefficients), row.literals, model.constant - least)


def export(model: BooleanModel, path: Path, name: str) -> None:
    """Write the model, objective included, as MPS, LP or a CP-SAT protocol buffer (``.pb``, ``.pbtxt``).

    Raises
    ------
    FormatError
        The file name ends in none of these.
    """
    suffix = path.suffix.lower()
    if suffix not in _FILES:
        raise FormatError(str(path), f"names no format of a model: let it end in {', '.join(_FILES)}")
    if suffix in (".pb", ".pbtxt"):
        cp, variables = cp_model_of(model)
        cp.name = name
        cp.minimize(sum(c * variables[x - 1] for c, x in model.objective) + model.constant)
        if not cp.export_to_file(str(path)):
            raise OSError(0, "the model cannot be written", str(path))
        return
    from ortools.linear_solver.python import model_builder

    builder = model_builder.Model()
    builder.name = name
    xs = [builder.new_bool_var(n) for n in model.names]
    for terms, low, high in _rows(model):
        builder.add_linear_constraint(
            model_builder.LinearExpr.weighted_sum([xs[k] for k in terms], list(terms.values())), low, high
        )
    builder.minimize(
        model_builder.LinearExpr.weighted_sum(
            [xs[x - 1] for _, x in model.objective], [c for c, _ in model.objective], constant=model.constant
        )
    )
    text: Any = builder.export_to_mps_string() if suffix == ".mps" else builder.export_to_lp_string()
    path.write_text(text)
