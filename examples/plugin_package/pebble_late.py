"""A strategy outside the project, found by its entry point once the package is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import pebble
from pebble.errors import UnsupportedInstanceError
from strategies.replaying import POLICIES, replay


class Late:
    """By level counted from the sinks: furthest from all sinks first, the rest as late as may be."""

    name = "late"
    options: Mapping[str, str] = {"policy": f"{', '.join(POLICIES)}; belady by default"}

    def supports(self, instance: pebble.Instance) -> str | None:
        """None: it plays every graph."""
        return None

    def least_M(self, instance: pebble.Instance) -> int:
        """The graph's own least M."""
        return instance.least_M

    def __call__(
        self,
        instance: pebble.Instance,
        *,
        limit: pebble.Limit | None = None,
        seed: int = 0,
        **options: Any,
    ) -> pebble.Schedule:
        """Order the vertices, then replay; a limit changes nothing, the time is linear."""
        policy = options.get("policy", "belady")
        if policy not in POLICIES:
            raise UnsupportedInstanceError(
                f"strategy 'late': policy={policy} is none of {', '.join(POLICIES)}"
            )
        cdag = instance.cdag
        depth = np.zeros(cdag.num_vertices, dtype=np.int64)
        for v in cdag.topological_order[::-1]:
            operands = cdag.preds(int(v))
            depth[operands] = np.maximum(depth[operands], depth[v] + 1)
        order = np.argsort(-depth, kind="stable")
        return replay(instance, order[~cdag.is_source[order]], policy, seed)


LATE = Late()
