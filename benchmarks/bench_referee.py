"""How fast the referee is, as ratios taken in one process: to the plain-Python Game and to memcpy.

``python benchmarks/bench_referee.py`` prints the table; ``--memory`` adds the memory that 10^8 moves take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pebble.cdag import CDAG
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Move, Op
from pebble.referee import verify
from pebble.schedule import Schedule

Row = tuple[str, float, str, str]

# Entries of a row of the matrix in the benchmark's matrix-vector product.
_K = 64
_REPEATS = 5
_OPS = tuple(Op)


def matvec(rows: int) -> CDAG:
    """y = A x for A of `rows` x 64, every vertex numbered in the order in which `matvec_moves` meets it.

    Per row: the entry A_i0, its product with x_0; then entry, product, running sum for each column.
    """
    per_row = 3 * _K - 1
    degree = np.tile([0, 2, 2], _K)[[0, 1, *range(3, 3 * _K)]]
    indptr = np.zeros(_K + rows * per_row + 1, dtype=np.int32)
    np.cumsum(np.tile(degree, rows), out=indptr[_K + 1 :])
    base = _K + per_row * np.arange(rows, dtype=np.int32)[:, None]
    column = np.arange(_K, dtype=np.int32)
    entry = np.maximum(3 * column - 1, 0)  # of column j, relative to its row's base
    product = entry + 1
    total = np.where(column == 0, product, product + 1)  # running sum after column j
    preds = np.empty((rows, _K, 4), dtype=np.int32)
    preds[:, :, 0] = base + entry
    preds[:, :, 1] = column
    preds[:, 1:, 2] = base + total[:-1]
    preds[:, 1:, 3] = base + product[1:]
    flat = preds.reshape(rows, 4 * _K)
    # The first column has a product only.
    indices = np.delete(flat, [2, 3], axis=1).ravel()
    return CDAG(indptr=indptr, indices=indices)


def matvec_moves(rows: int) -> np.ndarray:
    """x stays red; entries, products and sums come and go: 6 moves a column of a row, packed as uint32."""
    per_row = 3 * _K - 1
    column = np.arange(1, _K)
    entry = 3 * column - 1
    old = np.where(column == 1, 1, entry - 1)
    steps = [
        (Op.LOAD, entry),
        (Op.COMPUTE, entry + 1),
        (Op.DELETE, entry),
        (Op.COMPUTE, entry + 2),
        (Op.DELETE, entry + 1),
        (Op.DELETE, old),
    ]
    middle = np.column_stack([vertex << 2 | op for op, vertex in steps]).ravel()
    last = per_row - 1
    ends = [last << 2 | Op.STORE, last << 2 | Op.DELETE]
    row = np.concatenate(([0 << 2 | Op.LOAD, 1 << 2 | Op.COMPUTE, 0 << 2 | Op.DELETE], middle, ends))
    shift = (_K + per_row * np.arange(rows, dtype=np.uint32)) << 2
    # Row by row into place: the largest run has 10^8 moves.
    moves = np.empty(_K + rows * len(row), dtype=np.uint32)
    moves[:_K] = np.arange(_K) << 2 | Op.LOAD
    np.add(shift[:, None], row.astype(np.uint32), out=moves[_K:].reshape(rows, len(row)))
    return moves


def matvec_schedule(num_moves: int) -> Schedule:
    """A schedule of at least `num_moves` moves."""
    per_row = len(matvec_moves(1)) - _K
    rows = -(-num_moves // per_row)
    return Schedule(Instance(matvec(rows), _K + 4), matvec_moves(rows))


def best(run: Callable[[], object], repeats: int = _REPEATS) -> float:
    """CPU seconds of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def board_seconds(schedule: Schedule, num_moves: int) -> float:
    """CPU seconds a move on the plain-Python board, over a schedule's first moves; setting up is free."""
    moves = [Move(_OPS[code & 3], code >> 2) for code in schedule.moves[:num_moves].tolist()]
    times = []
    for _ in range(3):
        game = Game(schedule.instance)
        start = time.process_time()
        for move in moves:
            game.push(move)
        times.append(time.process_time() - start)
    return min(times) / len(moves)


def rows(num_moves: int = 10_000_000, *, memory: bool = False) -> list[Row]:
    """The table: name, figure, unit, target.

    Parameters
    ----------
    num_moves : int
        Length of the schedule.
    memory : bool
        Also referee 10^8 moves and measure the memory that takes; needs 3 GB and Linux.
    """
    schedule = matvec_schedule(num_moves)
    cdag = schedule.instance.cdag
    verify(schedule)
    referee = best(lambda: verify(schedule))
    game = board_seconds(schedule, 300_000)
    streamed = schedule.moves.nbytes + cdag.indptr.nbytes + cdag.indices.nbytes + cdag.num_vertices
    source = np.ones(1 << 26, dtype=np.uint8)
    target = np.zeros_like(source)
    copied = len(source) / best(lambda: np.copyto(target, source))
    moves = len(schedule)
    table: list[Row] = [
        ("referee, matvec, ids in execution order", moves / referee / 1e6, "M moves/s", ""),
        ("referee / Game, per move", game / (referee / moves), "x", ">= 30"),
        ("referee's bytes / memcpy's", 100 * streamed / referee / copied, "%", ">= 5"),
    ]
    if memory:
        table.append(("10^8 moves refereed, beyond the graph", memory_of(100_000_000), "GB", "< 2"))
    return table


def memory_of(num_moves: int) -> float:
    """GB of resident memory that the moves and their refereeing take on top of the graph."""
    per_row = len(matvec_moves(1)) - _K
    count = -(-num_moves // per_row)
    instance = Instance(matvec(count), _K + 4)
    # Warm: what the compiled code itself takes is not the schedule's.
    verify(matvec_schedule(1000))
    before = _status("VmRSS")
    schedule = Schedule(instance, matvec_moves(count))
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew, at what is resident now
    verify(schedule)
    return (_status("VmHWM") - before) / 1e6


def _status(key: str) -> int:
    """A figure of this process in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise RuntimeError(f"this system does not say {key}: memory is measured on Linux only")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=10_000_000)
    parser.add_argument(
        "--memory", action="store_true", help="also referee 10^8 moves and measure the memory"
    )
    options = parser.parse_args()
    for name, figure, unit, target in rows(options.moves, memory=options.memory):
        print(f"{name:<42} {figure:>10.3g} {unit:<10} {target}")


if __name__ == "__main__":
    main()
