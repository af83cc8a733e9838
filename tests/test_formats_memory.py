"""Readers take no more than ten times a file, and a constant: the peak of a fresh process."""

# Rows of the table below are one text each, however long.
# ruff: noqa: E501

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MEGABYTES = 20

CHILD = """
import json, sys
from pebble.formats import builtin, read_graph

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

before = peak()
cdag = read_graph(sys.argv[1])
print(json.dumps([cdag.num_vertices, cdag.num_edges, peak() - before]))
"""


def _chain(n: int, line: Callable[[int], str], head: str = "", tail: str = "") -> Iterator[str]:
    yield head
    yield from map(line, range(n - 1))
    yield tail


FORMS: dict[str, Callable[[int], Iterator[str]]] = {
    "edges": lambda n: _chain(n, lambda v: f"v{v} v{v + 1}\n"),
    "csv": lambda n: _chain(n, lambda v: f"v{v},v{v + 1}\n", "source,target\n"),
    "dot": lambda n: _chain(n, lambda v: f"v{v}->v{v + 1};\n", "digraph {\n", "}\n"),
    "bench": lambda n: _chain(n, lambda v: f"v{v + 1} = NOT(v{v})\n", "INPUT(v0)\n"),
    "kth": lambda n: _chain(n, lambda v: f"{v + 2}:{v + 1}\n", f"{n}\n1:\n"),
    "json": lambda n: _chain(
        n, lambda v: f',["v{v}","v{v + 1}"]' if v else '["v0","v1"]', f'{{"nodes":{json.dumps([f"v{v}" for v in range(n)])},"links":[', "]}"
    ),
    "graphml": lambda n: _chain(
        n, lambda v: f'<node id="v{v + 1}"/><edge source="v{v}" target="v{v + 1}"/>', '<graphml><graph><node id="v0"/>', "</graph></graphml>"
    ),
}  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured through /proc")
@pytest.mark.parametrize(
    ("suffix", "n"),
    [
        ("edges", 150_000),
        ("dot", 100_000),
        ("bench", 100_000),
        *(pytest.param(suffix, 500_000, marks=pytest.mark.slow) for suffix in FORMS),
    ],
)
def test_memory_of_a_reader(suffix: str, n: int, tmp_path: Path) -> None:
    path = tmp_path / f"g.{suffix}"
    with open(path, "w") as out:
        out.writelines(FORMS[suffix](n))
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    vertices, edges, peak = json.loads(ran.stdout)
    assert (vertices, edges) == (n, n - 1)
    assert peak < 10 * path.stat().st_size + MEGABYTES * 2**20
