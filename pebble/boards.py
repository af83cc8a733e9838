"""The referee's boards: arrays of state that compiled loops play on. Only the referee uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pebble.aggregates import aggregate_of
from pebble.errors import IncompleteScheduleError
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason
from pebble.result import Cost

__all__ = ["Board"]


class Board:
    """The board of rules whose moves are plain: also costs, outputs of any colour, and red at the start.

    Attributes
    ----------
    state : ndarray of uint8, shape (num_vertices,)
        In the bits of `pebble.referee_kernels`.
    tally : ndarray of int64
        What is counted so far.
    """

    def __init__(self, instance: Instance) -> None:
        from pebble import referee_kernels as kernels

        cdag, rules = instance.cdag, instance.rules
        self.instance = instance
        self.state = kernels.start(cdag.indptr, cdag.indices)
        if rules.free_sources:
            self.state[cdag.sources] &= ~kernels.BLUE
        elif rules.partial:
            self.state[cdag.sources] |= kernels.COMPUTED
        self.tally = np.zeros(7, dtype=np.int64)
        red = np.array(instance.red_at_start, dtype=np.int64)
        if len(red):
            given = cdag.is_source[red] & (not rules.free_sources)
            self.state[red[~given]] |= kernels.COMPUTED
            self.state[red] |= kernels.RED
            self.tally[[kernels.RED_WORDS, kernels.PEAK]] = sum(map(cdag.weight, instance.red_at_start))
        # No position holds more than this many red words, and it fits the kernel's integers.
        self.capacity = min(instance.M, np.iinfo(np.int64).max)

    @staticmethod
    def of(instance: Instance) -> Board:
        """The board for the instance's rules."""
        rules = instance.rules
        if rules.partial:
            return _PartialBoard(instance)
        return Board(instance) if rules.has_plain_moves else _VariantBoard(instance)

    def play(self, codes: NDArray[Any]) -> int:
        """Play packed moves; the index of the first illegal one, which changes nothing, or their number."""
        from pebble.referee_kernels import replay

        cdag, one_shot = self.instance.cdag, not self.instance.rules.recomputation
        return int(
            replay(
                codes,
                cdag.indptr,
                cdag.indices,
                cdag.weights,
                one_shot,
                self.capacity,
                self.state,
                self.tally,
            )
        )

    @property
    def red_words(self) -> int:
        """Words that are red now."""
        from pebble.referee_kernels import RED_WORDS

        return int(self.tally[RED_WORDS])

    @property
    def cost(self) -> Cost:
        """What is counted so far."""
        loads, stores, computes, recomputes, _, peak, _ = self.tally.tolist()
        rules = self.instance.rules
        return Cost(
            loads,
            stores,
            computes,
            recomputes,
            peak,
            rules.load_cost,
            rules.store_cost,
            rules.compute_cost,
        )

    def require_over(self) -> None:
        """Raise IncompleteScheduleError unless every output carries what it must."""
        from pebble.referee_kernels import BLUE, COMPUTED, RED, first_missing_output

        rules = self.instance.rules
        pebbles = int(BLUE | RED) if rules.outputs == "any" else int(BLUE)
        first, missing = first_missing_output(
            self.state, self.instance.cdag.further_outputs, pebbles, int(COMPUTED) if rules.partial else 0
        )
        if missing:
            raise IncompleteScheduleError(first, missing, rules.outputs)

    def why_illegal(self, move: Move) -> tuple[Reason, int]:
        """Why `move` is refused, and the vertex to name: the first reason in the order of the rules."""
        op, v = move
        if v >= self.instance.cdag.num_vertices:
            return Reason.OUT_OF_RANGE, v
        if op is Op.COMPUTE:
            return self._why_not_compute(v)
        return self._why_not_moved(op, v)

    def _why_not_compute(self, v: int) -> tuple[Reason, int]:
        from pebble.referee_kernels import COMPUTED, RED

        rules = self.instance.rules
        preds = self.instance.cdag.preds(v)
        if not len(preds) and not rules.free_sources:
            return Reason.IS_SOURCE, v
        if self.state[v] & RED:
            return Reason.ALREADY_RED, v
        if self.state[v] & COMPUTED and not rules.recomputation:
            return Reason.ALREADY_COMPUTED, v
        bare = preds[(self.state[preds] & RED) == 0]
        if len(bare):
            return Reason.PREDECESSOR_NOT_RED, int(bare.min())
        return Reason.NO_ROOM, v

    def _why_not_moved(self, op: Op, v: int) -> tuple[Reason, int]:
        from pebble.referee_kernels import BLUE, RED

        is_red = bool(self.state[v] & RED)
        if op is Op.LOAD:
            if is_red:
                return Reason.ALREADY_RED, v
            return (Reason.NO_ROOM if self.state[v] & BLUE else Reason.NOT_BLUE), v
        if op is Op.DELETE and not self.instance.rules.deletion:
            return Reason.NO_DELETION, v
        return Reason.NOT_RED, v


class _VariantBoard(Board):
    """Sliding, free sources, no deletion."""

    def __init__(self, instance: Instance) -> None:
        from pebble.variant_kernels import SLIDE

        super().__init__(instance)
        self._slide = SLIDE
        self.tally[SLIDE] = -1

    def play(self, codes: NDArray[Any]) -> int:
        from pebble.variant_kernels import replay

        cdag, rules = self.instance.cdag, self.instance.rules
        flags = (not rules.recomputation, rules.sliding, rules.free_sources, rules.deletion)
        graph = (cdag.indptr, cdag.indices, cdag.weights)
        return int(replay(codes, *graph, *flags, self.capacity, self.state, self.tally))

    def require_over(self) -> None:
        if self.red_words > self.instance.M:
            raise IncompleteScheduleError(int(self.tally[self._slide]), 0)
        super().require_over()

    def why_illegal(self, move: Move) -> tuple[Reason, int]:
        if move.vertex < self.instance.cdag.num_vertices and self.red_words > self.instance.M:
            return Reason.SLIDE_OPEN, int(self.tally[self._slide])
        return super().why_illegal(move)


class _PartialBoard(Board):
    """Partial computation: COMPUTE names an edge."""

    def __init__(self, instance: Instance) -> None:
        from pebble.referee_kernels import COMPUTED

        super().__init__(instance)
        cdag = instance.cdag
        degree = np.diff(cdag.indptr)
        self._heads = np.repeat(np.arange(cdag.num_vertices, dtype=cdag.indices.dtype), degree)
        complete = (self.state & COMPUTED) != 0
        self._pending = np.where(complete, 0, degree).astype(np.int32)
        self._aggregated = np.repeat(complete, degree)

    def play(self, codes: NDArray[Any]) -> int:
        from pebble.variant_kernels import replay_partial

        cdag, rules = self.instance.cdag, self.instance.rules
        return int(
            replay_partial(
                codes,
                cdag.indptr,
                cdag.indices,
                self._heads,
                cdag.weights,
                rules.free_sources,
                rules.deletion,
                self.capacity,
                self.state,
                self._pending,
                self._aggregated,
                self.tally,
            )
        )

    def why_illegal(self, move: Move) -> tuple[Reason, int]:
        from pebble.referee_kernels import COMPUTED, RED

        if move.op is not Op.COMPUTE:
            return super().why_illegal(move)
        cdag, e = self.instance.cdag, move.vertex
        if e >= cdag.num_edges:
            v = e - cdag.num_edges
            if not self.instance.rules.free_sources or v >= cdag.num_vertices or not cdag.is_source[v]:
                return Reason.OUT_OF_RANGE, e
            return self._why_not_compute(v)
        u, v = aggregate_of(cdag, e)
        if self._aggregated[e]:
            return Reason.ALREADY_COMPUTED, v
        if not self.state[u] & COMPUTED:
            return Reason.PREDECESSOR_INCOMPLETE, u
        if not self.state[u] & RED:
            return Reason.PREDECESSOR_NOT_RED, u
        fresh = self._pending[v] == len(cdag.preds(v))
        return (Reason.NO_ROOM if fresh else Reason.PARTIAL_NOT_RED), v
