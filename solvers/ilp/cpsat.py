"""CP-SAT: is there a solution of at most a given cost?"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from solvers.ilp.interruptible import interruptible
from solvers.ilp.model import FALSE, TRUE, BooleanModel

__all__ = ["Answer", "CpSat", "Reply", "cp_model_of"]

_LEAST = -(2**62)


class Answer(enum.Enum):
    """What a backend found out about a question."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, with the values of the variables if it is yes, and the work that it took."""

    answer: Answer
    values: Sequence[int] | None
    conflicts: int


def cp_model_of(model: BooleanModel) -> tuple[Any, list[Any]]:
    """The CP-SAT model of the constraints, without an objective, and its variables."""
    from ortools.sat.python import cp_model

    cp = cp_model.CpModel()
    variables = [cp.new_bool_var(name) for name in model.names]
    positive = [None, *variables]
    negative = [None, *(x.negated() for x in variables)]

    def literal(x: int) -> Any:
        return positive[x] if x > 0 else negative[-x]

    for clause in model.clauses:
        cp.add_bool_or([literal(x) for x in clause])
    for group in model.exactly_one:
        cp.add_exactly_one([literal(x) for x in group])
    for row in model.at_most:
        terms = sum(c * literal(x) for c, x in zip(row.coefficients, row.literals, strict=True))
        constraint = cp.add(terms <= row.bound)
        where = [literal(x) for x in row.where if x not in (TRUE, FALSE)]
        if where:
            constraint.only_enforce_if(where)
    return cp, variables


class CpSat:
    """Questions to CP-SAT about one model.

    Proving that no solution costs at most ``c - 1`` took half as long as minimising with the solution of
    cost c as a hint, so the objective is a constraint whose right-hand side changes from question to
    question.

    Parameters
    ----------
    model : BooleanModel
    workers : int
        Threads; with one, and a limit on conflicts only, answers are reproducible.
    seed : int
    """

    def __init__(self, model: BooleanModel, *, workers: int = 1, seed: int = 0) -> None:
        self.model = model
        self.cp, self.variables = cp_model_of(model)
        self.workers = workers
        self.seed = seed
        row = model.cost_limit(0)
        literals = [self.variables[x - 1] for x in row.literals]
        # Under prices of zero there may be no term: a constant keeps the constraint a constraint.
        cost = self.cp.new_constant(0) + sum(c * x for c, x in zip(row.coefficients, literals, strict=True))
        self._limit = self.cp.add(cost <= 1 << 30)

    def ask(self, most: int, *, seconds: float | None = None, conflicts: int | None = None) -> Reply:
        """Whether some solution costs at most `most` words, within a time and a number of conflicts."""
        from ortools.sat.python import cp_model

        domain = self._limit.proto.linear.domain
        domain.clear()
        domain.extend([_LEAST, most - self.model.constant])
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = self.workers
        parameters.random_seed = self.seed & 0x7FFFFFFF
        # The linear relaxation of an order is weak: its upkeep costs more than its bounds give.
        parameters.linearization_level = 0
        parameters.symmetry_level = 0
        if seconds is not None:
            parameters.max_time_in_seconds = max(seconds, 1e-3)
        if conflicts is not None:
            parameters.max_number_of_conflicts = conflicts
        # CP-SAT's own handler of Ctrl-C would replace Python's, for good.
        parameters.catch_sigint_signal = False
        status = interruptible(lambda: solver.solve(self.cp), solver.stop_search)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            values = list(solver.response_proto.solution)
            return Reply(Answer.YES, values, solver.num_conflicts)
        if status == cp_model.INFEASIBLE:
            return Reply(Answer.NO, None, solver.num_conflicts)
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"CP-SAT refuses the model: {self.cp.validate()}")
        return Reply(Answer.UNKNOWN, None, solver.num_conflicts)
