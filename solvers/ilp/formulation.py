"""The integer program: who is computed before whom, and which values are kept from one use to the next.

There is no clock in it. Its variables are

* ``before[e, f]``: compute e comes before compute f, a total order (two clauses per triple);
* ``keep[v, a, b]``: value v stays red from *touch* a to *touch* b, where v is touched by a compute that makes
  it or uses it; between them it occupies its words at every compute;
* ``load[v, b]``: v is loaded for its use b instead; ``store[v]``: v is stored, when it is first computed;
* ``red[v, e]``: v is kept across compute e.

Every use of v is kept or loaded, a value that is loaded is stored, and at every compute the kept values,
the operands and the result fit in M words. The cost is the words loaded and stored. Any schedule gives a
solution of no higher cost: leave out loads that no compute uses, keep a value only between its touches, and
store it at its first compute, where it is red. Conversely `extract` plays every solution.

With one compute per vertex this is the one-shot game. For recomputation each vertex gets `copies` computes,
all but the first optional: the program then holds exactly the schedules that compute no vertex more often
than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pebble.instance import Instance
from solvers.ilp.automorphisms import stabiliser_orbits
from solvers.ilp.model import FALSE, TRUE, BooleanModel

__all__ = ["Compute", "Formulation", "Size", "build", "estimate"]

# Bytes that one constraint takes, in the lists here and in a solver that has presolved it (measured with
# CP-SAT on models of 10^4 to 10^6 constraints, rounded up).
BYTES_PER_CONSTRAINT = 1_500


@dataclass(frozen=True, slots=True)
class Compute:
    """The `copy`-th compute of a vertex, from 0; `present` says whether it takes place."""

    vertex: int
    copy: int
    present: int


@dataclass(frozen=True, slots=True)
class Size:
    """How large a program will be, computed without building it.

    Attributes
    ----------
    computes : int
        Computes, optional ones included.
    constraints : int
        An upper estimate.
    """

    computes: int
    constraints: int

    @property
    def megabytes(self) -> float:
        """Memory to build and solve it, in MB."""
        return self.constraints * BYTES_PER_CONSTRAINT / 1e6

    def __str__(self) -> str:
        return f"{self.computes:,} computes, about {self.constraints:,} constraints, {self.megabytes:,.0f} MB"


@dataclass
class Formulation:
    """A program and the meaning of its variables.

    Attributes
    ----------
    instance : Instance
    copies : int
        Computes that a vertex may have.
    model : BooleanModel
    computes : list of Compute
    before : dict of (int, int) to int
        Literal for each ordered pair of indices into `computes`.
    keep : dict of (int, int, int) to int
        ``(vertex, touch, use)`` to literal, the touches as indices into `computes`.
    load : dict of (int, int) to int
        ``(vertex, use)`` to literal.
    store : dict of int to int
    red : dict of (int, int) to int
        ``(vertex, compute)`` to literal.
    """

    instance: Instance
    copies: int
    model: BooleanModel = field(default_factory=BooleanModel)
    computes: list[Compute] = field(default_factory=list)
    before: dict[tuple[int, int], int] = field(default_factory=dict)
    keep: dict[tuple[int, int, int], int] = field(default_factory=dict)
    load: dict[tuple[int, int], int] = field(default_factory=dict)
    store: dict[int, int] = field(default_factory=dict)
    red: dict[tuple[int, int], int] = field(default_factory=dict)

    @cached_property
    def preds(self) -> list[list[int]]:
        """Predecessors of every vertex."""
        g = self.instance.cdag
        return [g.preds(v).tolist() for v in range(g.num_vertices)]

    @cached_property
    def succs(self) -> list[list[int]]:
        """Successors of every vertex."""
        g = self.instance.cdag
        return [g.succs(v).tolist() for v in range(g.num_vertices)]

    @cached_property
    def weight(self) -> list[int]:
        """Words of every vertex."""
        g = self.instance.cdag
        return [g.weight(v) for v in range(g.num_vertices)]

    @cached_property
    def of_vertex(self) -> list[list[int]]:
        """Indices of every vertex's computes."""
        lists: list[list[int]] = [[] for _ in range(self.instance.cdag.num_vertices)]
        for e, compute in enumerate(self.computes):
            lists[compute.vertex].append(e)
        return lists

    def uses(self, v: int) -> list[int]:
        """The computes that have v as an operand."""
        return [e for w in self.succs[v] for e in self.of_vertex[w]]

    def touches(self, v: int) -> list[int]:
        """The computes that make v or use it."""
        return self.of_vertex[v] + self.uses(v)


def estimate(instance: Instance, copies: int = 1) -> Size:
    """The size of the program, without building it; O(|V| + |E|)."""
    g = instance.cdag
    out_degree = [len(g.succs(v)) for v in range(g.num_vertices)]
    inner = [v for v in range(g.num_vertices) if len(g.preds(v))]
    times = {v: copies if out_degree[v] else 1 for v in inner}
    n = sum(times.values())
    constraints = n * max(n - 1, 0) * max(n - 2, 0) // 3
    for v in range(g.num_vertices):
        uses = sum(times[int(w)] for w in g.succs(v))
        constraints += uses * (uses + times.get(v, 0)) * n
    return Size(n, constraints)


def build(instance: Instance, copies: int = 1, *, symmetry: bool = True) -> Formulation:
    """The program of an instance.

    Parameters
    ----------
    instance : Instance
        M must be feasible.
    copies : int
        Computes that a vertex may have; 1 under one-shot.
    symmetry : bool
        Whether to order the vertices of each orbit (see `stabiliser_orbits`).

    Notes
    -----
    With N computes, N (N - 1) / 2 order variables and N (N - 1) (N - 2) / 3 clauses for the order, less
    what ancestry decides; Σ over vertices of touches × uses × N clauses for the kept values.
    """
    f = Formulation(instance, copies)
    _add_computes(f)
    _add_order(f, symmetry)
    for v in range(instance.cdag.num_vertices):
        if f.succs[v]:
            _add_value(f, v)
    _add_capacity(f)
    g = instance.cdag
    f.model.constant = sum(f.weight[v] for v in range(g.num_vertices) if g.is_output[v] and f.preds[v])
    return f


def _add_computes(f: Formulation) -> None:
    for v in range(f.instance.cdag.num_vertices):
        if not f.preds[v]:
            continue
        # A vertex that no other uses is computed for its store alone, once.
        for copy in range(f.copies if f.succs[v] else 1):
            present = TRUE if copy == 0 else f.model.variable(f"again_{v}_{copy}")
            f.computes.append(Compute(v, copy, present))
            if copy > 1:
                f.model.clause(-present, f.computes[-2].present)


def _ancestors(f: Formulation) -> list[int]:
    masks = [0] * f.instance.cdag.num_vertices
    for v in f.instance.cdag.topological_order.tolist():
        for u in f.preds[v]:
            masks[v] |= masks[u] | 1 << u
    return masks


def _add_order(f: Formulation, symmetry: bool) -> None:
    above = _ancestors(f)
    n = len(f.computes)
    for i, a in enumerate(f.computes):
        for j in range(i + 1, n):
            b = f.computes[j]
            if (a.vertex == b.vertex and a.copy < b.copy) or (above[b.vertex] >> a.vertex & 1 and not a.copy):
                literal = TRUE
            elif above[a.vertex] >> b.vertex & 1 and not b.copy:
                literal = FALSE
            else:
                literal = f.model.variable(f"before_{a.vertex}.{a.copy}_{b.vertex}.{b.copy}")
            f.before[i, j], f.before[j, i] = literal, -literal
    before, clause = f.before, f.model.clause
    for i in range(n):
        for j in range(i + 1, n):
            ij = before[i, j]
            for k in range(j + 1, n):
                jk, ik = before[j, k], before[i, k]
                clause(-ij, -jk, ik)
                clause(ij, jk, -ik)
    if symmetry:
        first = {c.vertex: e for e, c in enumerate(f.computes) if c.copy == 0}
        for chosen, orbit in stabiliser_orbits(f.instance.cdag):
            for u in orbit:
                clause(before[first[chosen], first[u]])


def _add_value(f: Formulation, v: int) -> None:
    """How v gets from each of its touches to its uses."""
    model, before = f.model, f.before
    uses, touches = f.uses(v), f.touches(v)
    loads = []
    for b in uses:
        arrivals = []
        for a in touches:
            if a == b or before[a, b] == FALSE:
                continue
            kept = f.keep[v, a, b] = model.variable(f"keep_{v}_{a}_{b}")
            arrivals.append(kept)
            model.clause(-kept, before[a, b])
            model.clause(-kept, f.computes[a].present)
            _add_stay(f, v, a, b, kept)
        load = f.load[v, b] = model.variable(f"load_{v}_{b}")
        loads.append(load)
        present = f.computes[b].present
        if present == TRUE:
            model.exactly([*arrivals, load])
        else:
            model.exactly([*arrivals, load, -present])
    for again in f.of_vertex[v][1:]:
        # A value is computed again only to be used.
        used = [f.keep[v, again, b] for b in uses if (v, again, b) in f.keep]
        model.clause(-f.computes[again].present, *used)
    model.objective += [(f.weight[v], load) for load in loads]
    if not f.preds[v]:
        model.clause(*loads)
    elif not f.instance.cdag.is_output[v]:
        store = f.store[v] = model.variable(f"store_{v}")
        model.objective.append((f.weight[v], store))
        for load in loads:
            model.clause(-load, store)


def _add_stay(f: Formulation, v: int, a: int, b: int, kept: int) -> None:
    """While kept from a to b, v is red at every compute between them, and is not computed anew."""
    made, used = set(f.of_vertex[v]), set(f.uses(v))
    for e, compute in enumerate(f.computes):
        after, until = (0, 0) if e in (a, b) else (f.before[a, e], f.before[e, b])
        if e in (a, b) or after == FALSE or until == FALSE or e in used:
            continue
        if e in made:
            f.model.clause(-kept, -after, -until, -compute.present)
            continue
        if (v, e) not in f.red:
            f.red[v, e] = f.model.variable(f"red_{v}_{e}")
        f.model.clause(-kept, -after, -until, f.red[v, e])


def _add_capacity(f: Formulation) -> None:
    across: list[list[int]] = [[] for _ in f.computes]
    for v, e in f.red:
        across[e].append(v)
    for e, compute in enumerate(f.computes):
        room = f.instance.M - f.weight[compute.vertex] - sum(f.weight[u] for u in f.preds[compute.vertex])
        where: Sequence[int] = () if compute.present == TRUE else (compute.present,)
        words = [f.weight[v] for v in across[e]]
        f.model.limit(words, [f.red[v, e] for v in across[e]], room, where)
