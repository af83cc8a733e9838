"""What the rules make of an instance's vertices: which computes a program has, and how large it will be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pebble.instance import Instance, to_be_computed

__all__ = ["END", "START", "Roles", "Size", "Slot", "estimate"]

# The start and the end of the game stand beside the indices of computes.
START, END = -1, -2

# Bytes that one constraint takes, in the lists here and in a solver that has presolved it (measured with
# CP-SAT on models of 10^4 to 10^6 constraints, rounded up).
BYTES_PER_CONSTRAINT = 1_500


class Slot(NamedTuple):
    """A compute that may take place.

    Attributes
    ----------
    vertex : int
        What it makes; under partial computation, what it aggregates into.
    copy : int
        Which of the vertex's computes it is, from 0.
    required : bool
        Whether every schedule has it.
    operands : tuple of int
        Vertices that must be red.
    move : int
        The id of its COMPUTE.
    """

    vertex: int
    copy: int
    required: bool
    operands: tuple[int, ...]
    move: int


@dataclass(frozen=True)
class Roles:
    """The vertices of an instance as the program sees them.

    Parameters
    ----------
    instance : Instance
    copies : int
        Computes that a vertex may have; 1 under one-shot.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> join = CDAG.from_edges(3, [(0, 2), (1, 2)])
    >>> [(s.vertex, s.operands) for s in Roles(Instance(join, 3, "one-shot+free-sources"), 1).slots]
    [(0, ()), (1, ()), (2, (0, 1))]
    >>> [(s.vertex, s.operands) for s in Roles(Instance(join, 3, "partial"), 1).slots]
    [(2, (0,)), (2, (1,))]
    """

    instance: Instance
    copies: int

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
    def output(self) -> list[bool]:
        """Whether each vertex is an output."""
        flags: list[bool] = self.instance.cdag.is_output.tolist()
        return flags

    @cached_property
    def given(self) -> frozenset[int]:
        """The vertices that are red at the start."""
        return frozenset(self.instance.red_at_start)

    @cached_property
    def needed(self) -> list[bool]:
        """Whether outputs depend on each vertex other than through what is given."""
        flags: list[bool] = to_be_computed(self.instance.cdag, self.instance.red_at_start).tolist()
        return flags

    def is_blue(self, v: int) -> bool:
        """Whether v is blue at the start, and so for ever."""
        return not self.preds[v] and not self.instance.rules.free_sources

    def is_remade(self, v: int) -> bool:
        """Whether v can be computed at any time for nothing: a load that costs nothing."""
        rules = self.instance.rules
        return not self.preds[v] and rules.free_sources and rules.recomputation

    def must_be_stored(self, v: int) -> bool:
        """Whether v is an output that becomes blue by a store only, and must."""
        return self.output[v] and not self.is_blue(v) and self.instance.rules.outputs == "blue"

    def ends(self, v: int) -> bool:
        """Whether it matters if v is red at the end."""
        rules = self.instance.rules
        if not rules.deletion:
            return bool(self.touches(v))
        return self.output[v] and not self.is_blue(v) and rules.outputs == "any"

    @cached_property
    def slots(self) -> list[Slot]:
        """Every compute that may take place, by vertex."""
        g, rules = self.instance.cdag, self.instance.rules
        found: list[Slot] = []
        for v in range(g.num_vertices):
            operands = tuple(self.preds[v])
            if self.is_blue(v) or (not rules.recomputation and not self.needed[v]):
                continue
            if rules.partial:
                first = int(g.indptr[v])
                edges = [Slot(v, k, True, (u,), first + k) for k, u in enumerate(operands)]
                found += edges or [Slot(v, 0, True, (), g.num_edges + v)]
            elif not self.is_remade(v):
                # A vertex that no other uses is computed for its store alone, once.
                times = self.copies if self.succs[v] else 1
                found += [Slot(v, k, k == 0 and self.needed[v], operands, v) for k in range(times)]
            elif self.output[v]:
                # Its uses make it anew; this one is for the end.
                found.append(Slot(v, 0, self.needed[v], operands, v))
        return found

    @cached_property
    def makes(self) -> list[list[int]]:
        """The slots that make each vertex."""
        lists: list[list[int]] = [[] for _ in self.preds]
        for e, slot in enumerate(self.slots):
            lists[slot.vertex].append(e)
        return lists

    @cached_property
    def uses(self) -> list[list[int]]:
        """The slots that have each vertex as an operand."""
        lists: list[list[int]] = [[] for _ in self.preds]
        for e, slot in enumerate(self.slots):
            for u in slot.operands:
                lists[u].append(e)
        return lists

    def needs(self, v: int) -> list[int]:
        """The slots at which v must be red already; under partial computation those that make it, too."""
        return self.uses[v] + (self.makes[v] if self.instance.rules.partial else [])

    def touches(self, v: int) -> list[int]:
        """The slots that make v or use it, after the start if v is given."""
        return [START] * (v in self.given) + self.makes[v] + self.uses[v]

    @cached_property
    def num_required(self) -> int:
        """Computes that every schedule has, sources apart."""
        return sum(slot.required and bool(slot.operands) for slot in self.slots)


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


def estimate(instance: Instance, copies: int = 1) -> Size:
    """The size of the program, without building it; O(|V| + |E|) · copies."""
    roles = Roles(instance, copies)
    rules = instance.rules
    n = len(roles.slots)
    constraints = n * max(n - 1, 0) * max(n - 2, 0) // 3 + 3 * n
    # What each kept value takes besides one clause per compute.
    more = 2 + 2 * rules.sliding + 3 * (not rules.deletion)
    for v in range(instance.cdag.num_vertices):
        needs, touches = len(roles.needs(v)) + roles.ends(v), len(roles.touches(v))
        constraints += needs * (touches * (n + more) + 3) + touches * (1 - rules.deletion) * (touches + 1) + 2
    return Size(n, constraints)
