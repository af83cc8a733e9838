"""The strategies that play any graph: an order of computes, then eviction. BELADY, LRU, FIFO, RANDOM."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.orders import ORDERS, order_named
from strategies.replaying import Plan, plan_io, play_plan, prepare
from strategies.variant_replaying import VariantPlan

__all__ = ["BELADY", "FIFO", "LRU", "RANDOM", "Eviction"]

# On graphs of more edges order=best tries fewer orders, and no shuffles of greedy's ties.
_MANY_EDGES = 200_000
_FEW_ORDERS = ("natural", "greedy", "eager", "stack", "dfs-large")
_SHUFFLES = 8

_ORDER_HELP = f"best (all, the cheapest kept), {', '.join(ORDERS)}, greedy~N, or a sequence of vertices"


@dataclass(frozen=True)
class Eviction:
    """A generic strategy: plays any graph under any rules, recomputing only if the order given does.

    Sources that are free are computed where they are needed, again if the rules allow it.

    Parameters
    ----------
    name : str
    policies : mapping of str to str
        Values of the option ``stores`` to policies of `strategies.replaying`; the first is the default.
    options : mapping of str to str

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> inst = Instance(CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)]), M=3)
    >>> BELADY(inst, order="dfs").claim
    3
    """

    name: str
    policies: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=lambda: {"order": _ORDER_HELP})

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        """Play `instance`.

        Parameters
        ----------
        instance : Instance
        limit : Limit, optional
            For ``order=best``: `time` ends the trying of further orders, `nodes` is the number of orders
            tried; the first order is tried in any case. `memory_mb` and `gap` are not looked at.
        seed : int
            Chooses the shuffles that ``order=best`` tries, and what ``random`` evicts.
        **options
            ``order``, and for ``belady`` ``stores``.

        Raises
        ------
        InfeasibleInstanceError, InvalidOrderError, UnknownNameError, UnsupportedInstanceError
        """
        unknown = [key for key in options if key not in self.options]
        if unknown:
            raise UnsupportedInstanceError(
                f"strategy '{self.name}' has no option '{unknown[0]}' (options: {', '.join(self.options)})"
            )
        instance.require_feasible()
        stores = options.get("stores", next(iter(self.policies)))
        if stores not in self.policies:
            raise UnsupportedInstanceError(
                f"strategy '{self.name}': stores={stores} is none of {', '.join(self.policies)}"
            )
        policy = self.policies[stores]
        order = options.get("order", "best")
        if isinstance(order, str) and order.strip().lower() == "best":
            name, plan, tried = self._best(instance, policy, seed, limit or Limit())
        elif isinstance(order, str):
            name, tried = order, 1
            plan = prepare(instance, order_named(order)(instance.cdag))
        else:
            name, tried = "given", 1
            plan = prepare(instance, order)
        schedule = play_plan(plan, instance, policy, seed)
        return replace(
            schedule, producer=f"{self.name}:order={name}", info={"order": name, "orders_tried": tried}
        )

    def supports(self, instance: Instance) -> str | None:
        """None: every graph is played."""
        return None

    def least_M(self, instance: Instance) -> int:
        """The graph's own least M."""
        return instance.least_M

    @staticmethod
    def _best(
        instance: Instance, policy: str, seed: int, limit: Limit
    ) -> tuple[str, Plan | VariantPlan, int]:
        """Name and plan of the cheapest order, the first of equals, and how many were tried."""
        start = time.monotonic()
        best: tuple[int, str, Plan | VariantPlan] | None = None
        tried = 0
        for name in _candidates(instance, seed):
            if best is not None and (
                (limit.nodes is not None and tried >= limit.nodes)
                or (limit.time is not None and time.monotonic() - start >= limit.time)
            ):
                break
            plan = prepare(instance, order_named(name)(instance.cdag))
            cost = plan_io(plan, instance.M, policy, seed)
            tried += 1
            if best is None or cost < best[0]:
                best = cost, name, plan
        assert best is not None
        return best[1], best[2], tried


def _candidates(instance: Instance, seed: int) -> Iterator[str]:
    # Replay under variants of the rules is some ten times slower.
    many = _MANY_EDGES if instance.is_plain else _MANY_EDGES // 10
    if instance.cdag.num_edges > many:
        yield from _FEW_ORDERS
        return
    yield from ORDERS
    for number in range(_SHUFFLES):
        yield f"greedy~{_SHUFFLES * seed + number}"


BELADY = Eviction(
    "belady",
    {"count": "belady", "ignore": "furthest"},
    {
        "order": _ORDER_HELP,
        "stores": "count: a dirty value goes later, since its eviction costs a store; ignore: Belady's rule",
    },
)
LRU = Eviction("lru", {"": "lru"})
FIFO = Eviction("fifo", {"": "fifo"})
RANDOM = Eviction("random", {"": "random"})
