"""How fast an order becomes a schedule.

``python benchmarks/bench_replay.py`` prints the table. Rates are in vertices of the graph per second of CPU
time, best of a few runs, checking the order and making the moves included. Ids follow the order of execution
unless a row says otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import graphs
from pebble.cdag import CDAG
from pebble.instance import Instance
from strategies.orders import ORDERS
from strategies.replaying import replay, replay_io

Row = tuple[str, float, str, str]

SPEC = "attention-backward:n=128,d=32"
MEMORY = 1024
UNIT = "M vertices / CPU s"


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of the fastest run; the machine may be busy with other work."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def in_execution_order(cdag: CDAG, name: str) -> CDAG:
    """The graph renumbered by an order, every source just before the vertex that uses it first."""
    order = ORDERS[name](cdag)
    position = np.zeros(cdag.num_vertices)
    position[order] = np.arange(1, len(order) + 1)
    edges = cdag.edges()
    first = np.full(cdag.num_vertices, np.inf)
    np.minimum.at(first, edges[:, 0], position[edges[:, 1]])
    position[cdag.sources] = first[cdag.sources] - 0.5
    return cdag.renumber(np.argsort(position, kind="stable"))


def rows() -> list[Row]:
    """Name, figure, unit, target of every measurement."""
    cdag = graphs.build(SPEC)
    small = graphs.build("attention-backward:n=4,d=2")
    table: list[Row] = []
    for name, order in ORDERS.items():
        order(small)
        table.append(
            (f"order {name}", cdag.num_vertices / seconds(lambda o=order: o(cdag), 1) / 1e6, UNIT, "")
        )

    for name in ("natural", "greedy", "eager"):
        ordered = in_execution_order(cdag, name)
        natural = ORDERS["natural"](ordered)
        instance = Instance(ordered, MEMORY)
        replay(Instance(small, 16), ORDERS["natural"](small))
        rate = ordered.num_vertices / seconds(lambda i=instance, o=natural: replay(i, o)) / 1e6
        table.append((f"belady, order {name}", rate, UNIT, ">= 5"))
    instance = Instance(cdag, MEMORY)
    scattered = ORDERS["greedy"](cdag)
    rate = cdag.num_vertices / seconds(lambda: replay(instance, scattered)) / 1e6
    table.append(("belady, order greedy, the builder's ids", rate, UNIT, ""))

    natural = ORDERS["natural"](cdag)
    for policy in ("belady", "lru", "fifo", "random"):
        replay_io(Instance(small, 16), ORDERS["natural"](small), policy)
        rate = cdag.num_vertices / seconds(lambda p=policy: replay_io(instance, natural, p)) / 1e6
        table.append((f"{policy}, order natural, I/O only", rate, UNIT, ""))
    return table


def main() -> None:
    print(f"{SPEC} at M={MEMORY}")
    for name, figure, unit, target in rows():
        print(f"{name:<44} {figure:>8.2f} {unit:<20} {target}")


if __name__ == "__main__":
    main()
