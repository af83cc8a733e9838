"""Local search over an order under the variants of the rules: every move is priced by a whole replay."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from math import exp
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pebble.instance import Instance
from pebble.result import Limit
from strategies.replaying import plan_io, prepare
from strategies.variant_replaying import VariantPlan

if TYPE_CHECKING:
    from strategies.local_search_play_kernels import Board

__all__ = ["OnBetter", "anneal"]

OnBetter: TypeAlias = Callable[[NDArray[Any]], None]
"""What is told of every better order as it is found."""

# Temperatures in words of I/O, as in `strategies.local_search`, times the dearest move.
_HOTTEST, _COLDEST = 0.35, 0.05
# The last part of the search takes no dearer order.
_COOL = 0.95
_WIDEST = 4096
_DEFAULT_MOVES = 20_000


def anneal(
    instance: Instance,
    plan: VariantPlan,
    board: Board,
    limit: Limit,
    seed: int,
    on_better: OnBetter | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """A cheaper order than the plan's, or its own.

    Parameters
    ----------
    instance : Instance
    plan : VariantPlan
        The order to start from.
    board : Board
        Of that order; its moves are made here, its prices are not looked at.
    limit : Limit
        `time` in seconds, `nodes` in moves tried, 20,000 if neither is given.
    seed : int
    on_better : callable, optional
        Called with every order that is better than all before.

    Returns
    -------
    order : ndarray of int
    stats : dict
        ``moves`` tried, ``played`` positions, ``io`` at the start and at the end.

    Notes
    -----
    O(|V| + |E|) log(M) per move, about a microsecond per vertex: a variant may make any word dear or free, so
    that nothing short of a replay tells what a move is worth.
    """
    from strategies.local_search_moves_kernels import draw

    M, rules = instance.M, instance.rules
    start = plan_io(plan, M)
    variant = plan.cheapest(M)
    io, best_order = plan.priced(M, variant), board.vertex[board.seq]
    best = io
    # Every position may pay.
    board.cost[:] = 1
    dearest = max(rules.load_cost, rules.store_cost, 1)
    luck = random.Random(seed)
    most = limit.nodes
    if most is None and limit.time is None:
        most = _DEFAULT_MOVES
    # Compiled, or fetched from the cache, before the clock starts.
    _undo(board, *draw(board, 2)[:2])
    began, tried, played = time.monotonic(), 0, 0
    while True:
        done = 0.0 if most is None else tried / max(most, 1)
        if limit.time is not None:
            done = max(done, (time.monotonic() - began) / max(limit.time, 1e-9))
        if done >= 1:
            break
        tried += 1
        low, high, taken = draw(board, min(_WIDEST, len(board.seq)))
        size = high - low + 1
        if taken in (0, size):
            # Nothing has moved.
            continue
        order = board.vertex[board.seq]
        moved = prepare(instance, order)
        assert isinstance(moved, VariantPlan)
        cost = moved.priced(M, variant)
        played += len(order)
        heat = dearest * _HOTTEST * (_COLDEST / _HOTTEST) ** done if done < _COOL else 0.0
        if cost <= io or (heat > 0 and luck.random() < exp((io - cost) / heat)):
            io = cost
            if cost < best:
                best, best_order = cost, order
                if on_better is not None:
                    on_better(order)
        else:
            _undo(board, low, high)
    end = plan_io(prepare(instance, best_order), M)
    if end >= start:
        end, best_order = start, plan.steps[plan.first_step :]
    return best_order, {"moves": tried, "played": played, "io": (start, end)}


def _undo(board: Board, low: int, high: int) -> None:
    """Put the window back that the last move rearranged."""
    board.seq[low : high + 1] = board.old[: high + 1 - low]
    board.pos[board.seq[low : high + 1]] = np.arange(low, high + 1)
