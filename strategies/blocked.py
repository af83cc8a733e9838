"""`blocked`: fft, stencils, grids and pyramids in blocks that fit, each family by its own orders."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.fft import fft_orders
from strategies.replaying import Plan, plan_io, play_plan, prepare
from strategies.stencils import grid_orders, pyramid_orders, stencil1d_orders, stencil2d_orders
from strategies.variant_replaying import VariantPlan

__all__ = ["BLOCKED", "Blocked"]

_FAMILIES: dict[str, Callable[[CDAG, int], Iterator[tuple[str, NDArray[Any]]]]] = {
    "fft": fft_orders,
    "stencil1d": stencil1d_orders,
    "stencil2d": stencil2d_orders,
    "grid": grid_orders,
    "pyramid": pyramid_orders,
}
# On larger graphs only the likeliest blocks are tried.
_MANY_EDGES = 2_000_000
_FEW = 2


class Blocked:
    """Orders made for a family, its blocks or bands as large as fit, replayed with Belady's rule.

    Attributes
    ----------
    name : str
    options : mapping

    Examples
    --------
    >>> import graphs
    >>> BLOCKED(Instance(graphs.build("fft:16"), M=6)).claim
    62
    """

    name = "blocked"
    options: Mapping[str, str] = {
        "blocks": "fft: ranks per pass (2+2); stencil1d, pyramid: band height; stencil2d: height x width; "
        "grid: rows-3 or columns-3; the best are searched for by default"
    }

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        """Play `instance` with the best blocks, or those that `options` fix.

        The time of `limit` ends the search for blocks, its nodes are the blocks tried; the seed changes
        nothing.

        Raises
        ------
        InfeasibleInstanceError, UnsupportedInstanceError
        """
        reason = self.supports(instance)
        if reason is not None:
            raise UnsupportedInstanceError(f"strategy '{self.name}' does not play such a graph: {reason}")
        instance.require_feasible()
        limit = limit or Limit()
        start = time.monotonic()
        wanted = str(options["blocks"]) if "blocks" in options else None
        best: tuple[int, str, Plan | VariantPlan] | None = None
        tried: list[str] = []
        most = _FEW if instance.cdag.num_edges > _MANY_EDGES else None
        for name, order in _FAMILIES[instance.cdag.family](instance.cdag, instance.M):
            if wanted is not None and name != wanted:
                tried.append(name)
                continue
            if best is not None and (
                len(tried) in (most, limit.nodes)
                or (limit.time is not None and time.monotonic() - start >= limit.time)
            ):
                break
            tried.append(name)
            plan = prepare(instance, order)
            io = plan_io(plan, instance.M)
            if best is None or io < best[0]:
                best = io, name, plan
        if best is None:
            raise UnsupportedInstanceError(
                f"strategy '{self.name}' does not try blocks={wanted} here (it does: {', '.join(tried)})"
            )
        schedule = play_plan(best[2], instance)
        return replace(schedule, producer=f"{self.name}:blocks={best[1]}", info={"blocks": best[1]})

    def supports(self, instance: Instance) -> str | None:
        """None if it knows the family, else the reason why not."""
        family = instance.cdag.family
        if family in _FAMILIES:
            return None if instance.cdag.num_edges else "there is nothing to compute"
        return f"it plays {', '.join(_FAMILIES)} graphs" + ("" if family else ", not custom ones")

    def least_M(self, instance: Instance) -> int:
        """The graph's own least M."""
        return instance.least_M


BLOCKED = Blocked()
