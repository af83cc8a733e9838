"""Replay: an order of computes becomes moves within M words, under an eviction policy.

Order and eviction are the common currency of the players: generic strategies, the polishing of tile
schedules and local search all produce an order and replay it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pebble.cdag import CDAG
from pebble.errors import InvalidOrderError, UnknownNameError, UnsupportedInstanceError
from pebble.instance import Instance
from pebble.moves import Op, move_dtype, unpack_arrays
from pebble.rules import Rules
from pebble.schedule import Schedule
from strategies.order_checks import check_first_events, check_vertices, raise_repeat, without_first
from strategies.variant_replaying import VariantPlan

__all__ = ["POLICIES", "Plan", "plan_io", "play_plan", "prepare", "replay", "replay_io"]

POLICIES = {
    "belady": "furthest next use, a dirty value discounted since its eviction costs a store",
    "furthest": "furthest next use, dirty or clean: Belady's rule",
    "lru": "least recently used",
    "fifo": "first in, first out",
    "random": "uniformly at random, from the seed",
}

# A dirty value is evicted before a clean one if its next use is this many times as far: 2, since evicting it
# costs a store and a load. Short orders are replayed with the others too.
_DIRTY_FACTOR = 2.0
_OTHER_FACTORS = (1.0, 1.5, 3.0, 8.0)
_SHORT = 200_000
# Next events are int32.
_MOST = 2**31 - 4


@dataclass(frozen=True, eq=False)
class Plan:
    """An order checked and prepared for replay: the computes kept, and what happens next to each value.

    It depends on the graph, the rules and the order, not on M: one plan serves a sweep over M.

    Attributes
    ----------
    cdag : CDAG
    steps : ndarray of int
        The computes kept, from `first_step` on: useless ones are left out.
    repeats : bool
        Whether a vertex is computed more than once.
    operands : ndarray of int
        The operands of the steps one after the other, from `first_use` on.
    first_step, first_use, after_step, after_use
        Next events in the coding of `strategies.replay_kernels`.
    """

    cdag: CDAG
    steps: NDArray[Any]
    operands: NDArray[Any]
    repeats: bool
    first_step: int
    first_use: int
    after_step: NDArray[np.int32]
    after_use: NDArray[np.int32]

    @property
    def most_moves(self) -> int:
        """No replay makes more moves: two per operand (loaded, deleted), three per compute."""
        return 2 * (len(self.after_use) - self.first_use) + 3 * (len(self.steps) - self.first_step)

    def run(
        self,
        M: int,
        policy: str = "belady",
        seed: int = 0,
        moves: NDArray[Any] | None = None,
        *,
        thorough: bool = True,
    ) -> tuple[int, NDArray[Any]]:
        """Replay within M words: the I/O in words, and the moves if an array to write them to is given.

        `M` must reach the graph's least M; that is not checked here. See `replay` for the policies; unless it
        is `thorough`, ``belady`` takes the one ratio that is mostly the best.
        """
        if policy == "belady":
            variants = [(_DIRTY_FACTOR, True)]
            if thorough and len(self.after_use) <= _SHORT:
                variants += [(factor, True) for factor in _OTHER_FACTORS]
            if thorough and self.repeats:
                variants += [(factor, False) for factor, _ in variants]
            if len(variants) > 1:
                costs = [self._run(M, policy, seed, None, *variant)[0] for variant in variants]
                if moves is None:
                    return min(costs), np.empty(0, dtype=np.uint32)
                variants = [variants[costs.index(min(costs))]]
            return self._run(M, policy, seed, moves, *variants[0])
        return self._run(M, policy, seed, moves, 1.0, True)

    def _run(
        self, M: int, policy: str, seed: int, moves: NDArray[Any] | None, factor: float, drop_first: bool
    ) -> tuple[int, NDArray[Any]]:
        g = self.cdag
        if moves is None:
            moves = np.empty(0, dtype=move_dtype(g.num_vertices))
        graph = (g.indptr, self.operands, _weights(g), M, _state(g))
        plan = (self.steps, self.first_step, self.after_step, self.after_use, self.first_use)
        if policy in ("belady", "furthest"):
            from strategies.replay_kernels import belady

            loads, stores, length = belady(*graph, *plan, factor, drop_first, moves)
        else:
            from strategies.online_kernels import FIFO, LRU, RANDOM, online

            code = {"lru": LRU, "fifo": FIFO, "random": RANDOM}[policy]
            loads, stores, length = online(*graph, *plan, code, seed & (2**63 - 1), moves)
        return int(loads + stores), moves[:length]


@overload
def prepare(cdag: CDAG, order: ArrayLike, rules: Rules | str = "hong-kung") -> Plan: ...
@overload
def prepare(cdag: Instance, order: ArrayLike) -> Plan | VariantPlan: ...
def prepare(cdag: CDAG | Instance, order: ArrayLike, rules: Rules | str = "hong-kung") -> Plan | VariantPlan:
    """Check an order of computes and prepare its replay.

    Parameters
    ----------
    cdag : CDAG or Instance
        An instance brings its own rules, and what is red at the start.
    order : array_like of int
        Non-source vertices; a vertex that stands there twice is computed twice. Under free sources a source
        may stand there and is left out: sources are computed where they are needed. So is the first compute
        of a vertex that is red at the start.
    rules : Rules or str
        For a CDAG, plain ones.

    Raises
    ------
    InvalidOrderError
        A vertex is out of range, a source, or twice there under one-shot rules; an operand is computed after
        its first use, or never; an output is missing.
    UnsupportedInstanceError
        2^31 vertices or operands, or a CDAG under rules that are not plain.

    Notes
    -----
    O(len(order) + operands); 4 bytes per compute and per operand, 4 more per vertex while it runs.
    """
    from strategies.replay_kernels import next_events

    red_at_start: tuple[int, ...] = ()
    if isinstance(cdag, Instance):
        instance = cdag
        cdag, rules, red_at_start = instance.cdag, instance.rules, instance.red_at_start
    elif not Rules.of(rules).is_plain:
        raise UnsupportedInstanceError(f"rules {rules} are not plain: prepare the order for an instance")
    rules = Rules.of(rules)
    given = np.asarray(order)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidOrderError(
            f"an order is a sequence of vertex ids, got shape {given.shape}, {given.dtype}"
        )
    n = cdag.num_vertices
    check_vertices(cdag, given, rules)
    sequence = given.astype(cdag.indices.dtype)
    if rules.free_sources:
        sequence = sequence[~cdag.is_source[sequence]]
    if red_at_start:
        sequence = without_first(sequence, red_at_start)
    seen = np.zeros(n, dtype=np.bool_)
    seen[sequence] = True
    repeats = int(np.count_nonzero(seen)) < len(sequence)
    if repeats and not rules.recomputation:
        raise_repeat(sequence, rules)
    num_slots = int(cdag.in_degree[sequence].sum())
    if max(n, num_slots) > _MOST:
        raise UnsupportedInstanceError(
            f"replay takes up to {_MOST} vertices and operands, got {max(n, num_slots)}"
        )
    # In the order of the ids the rows of the graph are the operands in sequence already.
    natural = len(sequence) == n - len(cdag.sources) and bool((sequence[1:] > sequence[:-1]).all())
    operands = np.empty(0 if natural else num_slots, dtype=cdag.indices.dtype)
    last = np.full(n, -1, dtype=np.int32)
    steps = np.empty_like(sequence)
    after_step = np.empty(len(sequence), dtype=np.int32)
    after_use = np.empty(num_slots, dtype=np.int32)
    first_step, first_use = next_events(
        cdag.indptr, cdag.indices, _state(cdag), sequence, last, steps, operands, after_step, after_use
    )
    operands = cdag.indices if natural else operands
    operands.setflags(write=False)
    ready = cdag.is_source.copy()
    ready[list(red_at_start)] = True
    check_first_events(cdag, ready, last, sequence, steps[first_step:], num_slots)
    if rules.is_plain and not red_at_start:
        return Plan(cdag, steps, operands, repeats, first_step, first_use, after_step, after_use)
    return VariantPlan(
        cdag, rules, red_at_start, steps, operands, first_step, first_use, after_step, after_use, last
    )


def replay(instance: Instance, order: ArrayLike, policy: str = "belady", seed: int = 0) -> Schedule:
    """Turn an order of computes into moves within M words.

    Operands are loaded just before the compute that needs them, and values evicted at the last moment. A dead
    value is dropped at once; an output is stored once, when it is evicted or has no further use; any other
    value is stored at most once, when it is first evicted with a use to come. `strategies.variant_replaying`
    does the same under the variants of the rules.

    Parameters
    ----------
    instance : Instance
    order : array_like of int
        Non-source vertices, each after its operands; repeats mean recomputation. Useless computes are left
        out. A value that is no output is dropped without a store if it is computed anew before its next use.
        A vertex that is still red when its turn to be computed anew comes is not computed, nor is one that
        is blue if its operands that are not red weigh more than itself: it is then loaded where it is used.
        What only such needless computes needed is left out in turn, as long as that makes it cheaper.
    policy : str
        ``belady`` evicts the furthest next use, a dirty value (one whose eviction costs a store) only if its
        next use is twice as far as a clean one's; orders of up to 200,000 operands are replayed with other
        ratios too (1, 1.5, 3, 8) and the cheapest is kept. ``furthest`` ignores the stores (Belady 1966).
        ``lru``, ``fifo``, ``random``.
    seed : int
        For ``random``.

    Returns
    -------
    Schedule
        Its claim is the exact I/O cost.

    Raises
    ------
    InfeasibleInstanceError
        M is below the graph's least M.
    InvalidOrderError
        See `prepare`.
    UnknownNameError
        No such policy.

    Notes
    -----
    Furthest next use is optimal when no eviction costs a store (Belady 1966). With stores the problem is
    local register allocation, NP-hard (Farach-Colton & Liberatore 2000). O(operands + evictions) time;
    about 25 bytes per vertex and 4 per operand besides the moves.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> inst = Instance(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), M=3)
    >>> replay(inst, [2, 3]).text()
    'L0 L1 C2 D0 D1 C3 D2 S3 D3'
    """
    _check_policy(policy)
    instance.require_feasible()
    return play_plan(prepare(instance, order), instance, policy, seed)


def replay_io(instance: Instance, order: ArrayLike, policy: str = "belady", seed: int = 0) -> int:
    """The I/O cost, in words, of `replay` with the same arguments, without making the moves.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> replay_io(Instance(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), M=3), [2, 3])
    3
    """
    _check_policy(policy)
    instance.require_feasible()
    return plan_io(prepare(instance, order), instance.M, policy, seed)


def plan_io(plan: Plan | VariantPlan, M: int, policy: str = "belady", seed: int = 0) -> int:
    """The I/O cost of `play_plan` with the same arguments."""
    if isinstance(plan, VariantPlan):
        return plan.io(M, policy, seed)
    if plan.repeats:
        return _shortened(plan, M, policy, seed)[0]
    return plan.run(M, policy, seed)[0]


def play_plan(
    plan: Plan | VariantPlan, instance: Instance, policy: str = "belady", seed: int = 0
) -> Schedule:
    """The schedule of a prepared order for an instance of its graph whose M is feasible."""
    if isinstance(plan, VariantPlan):
        io, moves = plan.play(instance.M, policy, seed)
    else:
        io, moves = (_shortened if plan.repeats else _played)(plan, instance.M, policy, seed)
    return Schedule(instance, moves, producer=f"replay:{policy}", claim=io, seed=seed)


def _played(plan: Plan, M: int, policy: str, seed: int) -> tuple[int, NDArray[Any]]:
    # The pages of this array that are not written to take no memory, and shrinking it moves nothing.
    moves = np.empty(plan.most_moves, dtype=move_dtype(plan.cdag.num_vertices))
    io, played = plan.run(M, policy, seed, moves)
    length = len(played)
    del played
    moves.resize(length, refcheck=False)
    return io, moves


def _shortened(plan: Plan, M: int, policy: str, seed: int) -> tuple[int, NDArray[Any]]:
    """Play, leave out what proved needless to compute and what only that needed; go on while that pays."""
    io, moves = _played(plan, M, policy, seed)
    while True:
        ops, vertices = unpack_arrays(moves)
        shorter = prepare(plan.cdag, vertices[ops == Op.COMPUTE])
        assert isinstance(shorter, Plan)
        if len(shorter.after_use) - shorter.first_use >= len(plan.after_use) - plan.first_use:
            return io, moves
        plan = shorter
        new_io, new_moves = _played(plan, M, policy, seed)
        if new_io >= io:
            return io, moves
        io, moves = new_io, new_moves


def _check_policy(policy: str) -> None:
    if policy not in POLICIES:
        near = difflib.get_close_matches(policy, POLICIES, 2)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UnknownNameError(
            f"no eviction policy '{policy}'{hint} (known: {', '.join(POLICIES)})", policy, near
        )


def _weights(cdag: CDAG) -> NDArray[np.int64]:
    # Read-only like the graph's own arrays: one compiled kernel serves both.
    weights = np.empty(0, dtype=np.int64) if cdag.weights is None else cdag.weights
    weights.setflags(write=False)
    return weights


def _state(cdag: CDAG) -> NDArray[np.uint8]:
    """The board at the start, in the bits of `strategies.replay_kernels`: sources blue, outputs marked."""
    blue, output = np.uint8(2), np.uint8(4)
    return cdag.is_source * blue | cdag.is_output * output
