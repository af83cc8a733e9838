"""A lecture on the pyramid: how memory buys freedom from I/O.

A pyramid of height h has h + 1 sources; each vertex above is computed from two neighbours. Cook (1974) showed
that h + 2 pebbles are enough to reach the top, and no fewer: with so many red pebbles every source is loaded
once, the top stored once, and nothing else is moved. Below that each missing word costs.

Run with ``python examples/pyramid_lecture.py``.
"""

from __future__ import annotations

import graphs
import pebble
import solvers
from pebble.draw.position import Position
from pebble.draw.text import graph_text, position_text

HEIGHT = 3


def main() -> None:
    cdag = graphs.build(f"pyramid:{HEIGHT}")
    print(f"1. The pyramid of height {HEIGHT}\n{graph_text(cdag)}")

    print("\n2. By hand with 3 red pebbles: load two sources, compute, and the next step is stuck")
    game = pebble.Game(pebble.Instance(cdag, 3))
    left, right = (int(v) for v in cdag.sources[:2])
    above = next(v for v in range(cdag.num_vertices) if {left, right} == set(cdag.preds(v).tolist()))
    for move in (f"L{left}", f"L{right}", f"C{above}"):
        game.push(move)
    print(position_text(cdag, Position.of(cdag, game.red, game.blue, game.computed)))
    try:
        game.push(f"L{int(cdag.sources[2])}")
    except pebble.IllegalMoveError as error:
        print(f"refused: {error}")

    print("\n3. The optimum for every M")
    compulsory = len(cdag.sources) + len(cdag.sinks)
    for M in range(3, HEIGHT + 4):
        result = solvers.solve(pebble.Instance(cdag, M), method="search")
        assert result.io is not None
        extra = result.io - compulsory
        print(f"M={M}: {result.io} I/Os, {extra} more than loading and storing once ({result.status.value})")
    print(f"From M = h + 2 = {HEIGHT + 2} on nothing is moved twice.")


if __name__ == "__main__":
    main()
