"""The integer program: who is computed before whom, and which values are kept from one use to the next.

There is no clock in it. Its variables are

* ``before[e, f]``: compute e comes before compute f, a total order (two clauses per triple);
* ``keep[v, a, b]``: value v stays red from *touch* a to *touch* b, where v is touched by a compute that makes
  it or uses it; between them it occupies its words at every compute;
* ``load[v, b]``: v is loaded for its use b instead; ``store[v]``: v is stored, when it is first computed;
* ``red[v, e]``: v is kept across compute e.

Every use of v is kept or loaded, a value that is loaded is stored, and at every compute the kept values,
the operands and the result fit in M words. The cost is the words loaded and stored, each times its price. Any
schedule gives a solution of no higher cost: leave out loads that no compute uses, keep a value only between
its touches, and store it at its first compute, where it is red. Conversely `extraction` plays every solution.

With one compute per vertex this is the one-shot game. For recomputation each vertex gets `copies` computes,
all but the first optional: the program then holds exactly the schedules that compute no vertex more often
than that.

**Further rules.** Why the two halves of the argument still hold:

* *Prices* of at least 0 weigh loads and stores; each step above removes some or moves them.
* *Red at the start*: the start is a touch of what is given, before all computes, and the place of its store.
  Under one-shot what no output needs is not computed; with recomputation it may be, and so may be what is
  given: all their computes are optional.
* *Outputs of any colour*: the end is a use, after all computes, to which an output is kept, unless it is
  stored. A load at the end is never needed, for what can be loaded is blue.
* *Free sources* are vertices without operands. Where they can be computed again, each may be just before any
  use, as it would be loaded, but for nothing and without a store, however often. One that is an output has
  one compute besides: one stay without a use is enough, to be stored or to be red at the end.
* *Sliding*: ``slide[e, u]``: compute e takes over the pebble of its operand u, and of no other. Then u is not
  kept from e, nor across it; operands and kept values fit in M words, and so they do once u is exchanged for
  the result. A vertex slides at its last touch before it is red anew, so its keeps end there, and no store
  comes too late: a first compute leaves its vertex red.
* *No deletion*: a value's stay in fast memory ends with a store, paid each time, with a slide, or with the
  game. A keep joins consecutive touches, and after each touch one thing comes next: a keep, to a use or to
  the end, ``drop[v, a]``, or a slide. A stay without a touch is left out: it makes nothing blue that was
  not. A store moves to the last touch of its stay. So loads need no ``store`` but an earlier ``drop``, which
  only slides can fail to have left.
* *Partial computation*: a compute stands for an edge. Those into v come before those out of it; at one into
  v, v is kept, loaded, or ``fresh``: then it is the first. An incomplete value in fast memory is newer than
  what is in slow memory, so its stay ends with a store: each load of an incomplete value has a store of its
  own. The store of the complete one comes at the last edge into v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pebble.instance import Instance
from solvers.ilp.automorphisms import stabiliser_orbits
from solvers.ilp.model import FALSE, TRUE, BooleanModel
from solvers.ilp.roles import END, START, Roles

__all__ = ["Formulation", "build"]


@dataclass
class Formulation:
    """A program and the meaning of its variables; computes are indices into the slots of its roles.

    Attributes
    ----------
    instance : Instance
    roles : Roles
    model : BooleanModel
    present : list of int
        Literal for each compute: whether it takes place.
    before : dict of (int, int) to int
        Literal for each ordered pair of computes, `START` and `END`.
    keep : dict of (int, int, int) to int
        ``(vertex, touch, use)`` to literal; a touch may be `START`, a use `END`.
    load : dict of (int, int) to int
        ``(vertex, use)`` to literal.
    store : dict of int to int
        Of vertices whose store is a choice.
    red : dict of (int, int) to int
        ``(vertex, compute)`` to literal.
    slide : dict of (int, int) to int
        ``(compute, operand)`` to literal.
    drop : dict of (int, int) to int
        ``(vertex, touch)`` to literal: without deletion, the vertex is stored after the touch.
    fresh : dict of int to int
        Under partial computation, whether each compute is the first of its vertex.
    blue : dict of (int, int, int) to int
        Without deletion, under sliding: ``(vertex, touch, use)``, dropped after the touch, before the use.
    final : dict of (int, int) to int
        Under partial computation without deletion: ``(vertex, compute)``, dropped after it, complete.
    """

    instance: Instance
    roles: Roles
    model: BooleanModel = field(default_factory=BooleanModel)
    present: list[int] = field(default_factory=list)
    before: dict[tuple[int, int], int] = field(default_factory=dict)
    keep: dict[tuple[int, int, int], int] = field(default_factory=dict)
    load: dict[tuple[int, int], int] = field(default_factory=dict)
    store: dict[int, int] = field(default_factory=dict)
    red: dict[tuple[int, int], int] = field(default_factory=dict)
    slide: dict[tuple[int, int], int] = field(default_factory=dict)
    drop: dict[tuple[int, int], int] = field(default_factory=dict)
    fresh: dict[int, int] = field(default_factory=dict)
    blue: dict[tuple[int, int, int], int] = field(default_factory=dict)
    final: dict[tuple[int, int], int] = field(default_factory=dict)

    def happens(self, touch: int) -> int:
        """The literal that a touch takes place."""
        return TRUE if touch < 0 else self.present[touch]

    def pay(self, words: int, literal: int) -> None:
        """Add a term to the cost."""
        if words:
            self.model.objective.append((words, literal))


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
    from solvers.ilp.values import add_value

    roles = Roles(instance, copies)
    f = Formulation(instance, roles)
    _add_computes(f)
    _add_order(f)
    if symmetry:
        _break_symmetry(f)
    if instance.rules.sliding:
        _add_slides(f)
    for v in range(instance.cdag.num_vertices):
        if roles.needs(v) or roles.ends(v):
            add_value(f, v)
    _add_capacity(f)
    if instance.rules.deletion:
        stored = [roles.weight[v] for v in range(instance.cdag.num_vertices) if roles.must_be_stored(v)]
        f.model.constant = instance.rules.store_cost * sum(stored)
    return f


def _add_computes(f: Formulation) -> None:
    slots = f.roles.slots
    for slot in slots:
        present = TRUE if slot.required else f.model.variable(f"again_{slot.vertex}_{slot.copy}")
        if slot.copy and not f.instance.rules.partial:
            f.model.clause(-present, f.present[-1])
        f.present.append(present)
    for e, slot in enumerate(slots):
        # Operands that need not be computed must be, where they are used.
        for u in slot.operands:
            made = f.roles.makes[u]
            if made and u not in f.roles.given and not f.roles.is_remade(u):
                f.model.clause(-f.present[e], f.present[made[0]])


def _ancestors(f: Formulation) -> list[int]:
    """The vertices that are complete before each compute, as bits; not those behind what is given."""
    roles = f.roles

    def behind(masks: list[int], operands: Sequence[int]) -> int:
        mask = 0
        for u in operands:
            if u not in roles.given and not roles.is_remade(u):
                mask |= masks[u] | 1 << u
        return mask

    masks = [0] * f.instance.cdag.num_vertices
    for v in f.instance.cdag.topological_order.tolist():
        masks[v] = behind(masks, roles.preds[v])
    return [behind(masks, slot.operands) for slot in roles.slots]


def _add_order(f: Formulation) -> None:
    above = _ancestors(f)
    slots = f.roles.slots
    n = len(slots)
    partial = f.instance.rules.partial
    for i, a in enumerate(slots):
        for j in range(i + 1, n):
            b = slots[j]
            again = a.vertex == b.vertex and not partial
            if again or (above[j] >> a.vertex & 1 and (partial or not a.copy)):
                literal = TRUE
            elif above[i] >> b.vertex & 1 and (partial or not b.copy):
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
    for e in range(n):
        before[START, e] = before[e, END] = TRUE
        before[e, START] = before[END, e] = FALSE
    before[START, END] = TRUE


def _break_symmetry(f: Formulation) -> None:
    """Let the first compute of a vertex come first of its orbit; if partial, let it be complete first."""
    roles, partial = f.roles, f.instance.rules.partial
    ordered = [bool(made) for made in roles.makes]
    kinds = [(v in roles.given, ordered[v]) for v in range(len(ordered))]
    for chosen, orbit in stabiliser_orbits(f.instance.cdag, kinds=kinds, ordered=ordered):
        for u in orbit:
            # One of u's computes comes after each of these.
            for e in roles.makes[chosen] if partial else roles.makes[chosen][:1]:
                f.model.clause(*(f.before[e, other] for other in roles.makes[u][: None if partial else 1]))


def _add_slides(f: Formulation) -> None:
    for e, slot in enumerate(f.roles.slots):
        slides = [f.model.variable(f"slide_{e}_{u}") for u in slot.operands]
        f.slide |= {(e, u): x for u, x in zip(slot.operands, slides, strict=True)}
        f.model.limit([1] * len(slides), slides, 1)


def _add_capacity(f: Formulation) -> None:
    roles, M = f.roles, f.instance.M
    across: list[list[int]] = [[] for _ in roles.slots]
    for v, e in f.red:
        across[e].append(v)
    for e, slot in enumerate(roles.slots):
        result, operands = roles.weight[slot.vertex], [roles.weight[u] for u in slot.operands]
        room = M - sum(operands)
        where: Sequence[int] = () if f.present[e] == TRUE else (f.present[e],)
        words = [roles.weight[v] for v in across[e]]
        reds = [f.red[v, e] for v in across[e]]
        slides = [f.slide[e, u] for u in slot.operands if (e, u) in f.slide]
        exchanged = [-w for w in operands[: len(slides)]]
        f.model.limit([*words, *exchanged], [*reds, *slides], room - result, where)
        if slides and max(operands) > result:
            f.model.limit(words, reds, room, where)
