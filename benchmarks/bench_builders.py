"""How fast graphs are built, and how much memory that takes.

``python benchmarks/bench_builders.py`` prints the table. Figures are for warm pages: one build before, in the
same process, so that the operating system has handed the memory out; the first build is shown as well.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import time
from collections.abc import Callable
from pathlib import Path

import graphs
from pebble.cdag import CDAG

Row = tuple[str, float, str, str]


def _build() -> CDAG:
    return graphs.attention_backward(256, 64)


def _rate(build: Callable[[], CDAG]) -> float:
    """Millions of vertices per second of CPU time; the machine may be busy with other work."""
    start = time.process_time()
    vertices = build().num_vertices
    return vertices / (time.process_time() - start) / 1e6


def _bytes(cdag: CDAG) -> int:
    arrays = (cdag.indptr, cdag.indices, cdag.ops, cdag.op_const)
    return sum(array.nbytes for array in arrays if array is not None)


def _peak() -> int:
    """Peak resident memory of this process in bytes, as Linux counts it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not say VmHWM: memory is measured on Linux only")


def _memory(send: multiprocessing.connection.Connection) -> None:
    graphs.attention_backward(8, 2)
    before = _peak()
    send.send((_bytes(_build()), _peak() - before))


def peak_over_graph() -> float:
    """Peak memory of one build in a fresh process, beyond the interpreter's, over the bytes of the graph."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_memory, args=(send,))
    process.start()
    size, peak = receive.recv()
    process.join()
    return float(peak / size)


def rows() -> list[Row]:
    """Name, figure, unit, target of every measurement."""
    first = _rate(_build)
    warm = max(_rate(_build) for _ in range(3))
    fused = max(_rate(lambda: graphs.attention_backward(256, 64, fma=True)) for _ in range(2))
    tree = max(_rate(lambda: graphs.attention_backward(128, 64, sums="tree")) for _ in range(2))
    gradient = max(_rate(lambda: graphs.attention_gradient(128, 64)) for _ in range(2))
    gram = max(_rate(lambda: graphs.trace(lambda x: x @ x.T, x=(256, 64))) for _ in range(2))
    cdag = _build()
    words = (cdag.indptr.nbytes + cdag.indices.nbytes) / cdag.num_vertices
    del cdag
    spec, unit = "attention-backward:n=256,d=64", "M vertices / CPU s"
    return [
        (f"{spec}, first build", first, unit, ""),
        (f"{spec}, warm pages", warm, unit, ">= 10"),
        (f"{spec},fma=true, warm pages", fused, unit, ""),
        ("attention-backward:n=128,d=64,sums=tree, warm pages", tree, unit, ""),
        ("attention-gradient:n=128,d=64, warm pages", gradient, unit, ""),
        ("x @ x.T of 256 x 64 (repeated operands)", gram, unit, ""),
        (f"{spec}, memory besides ops", words, "bytes / vertex", "<= 14"),
        (f"{spec}, peak memory", peak_over_graph(), "x the graph", "<= 2"),
    ]


def main() -> None:
    for name, figure, unit, target in rows():
        print(f"{name:<54} {figure:>8.2f} {unit:<20} {target}")


if __name__ == "__main__":
    main()
