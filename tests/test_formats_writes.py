"""No half-written file takes the place of a good one: full disks, read-only folders, killed processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.errors import FormatError
from pebble.formats import read_graph, write_graph
from pebble.formats.files import atomic_writer

ROOT = Path(__file__).resolve().parent.parent
CHAIN = CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)])

START = """
import os, resource, signal, sys
from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats import builtin, write_graph
from pebble.formats.catalog import REGISTRY
path = sys.argv[1]
big = CDAG.from_edges(50_000, [(v - 1, v) for v in range(1, 50_000)])
def attempt():
    try:
        write_graph(big, path)
    except FormatError as error:
        print(error)
"""


def run(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START + code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)


@pytest.fixture(
    params=["g.edges", "g.dot.gz", *(pytest.param(n, marks=pytest.mark.slow) for n in ("g.json", "g.cdag"))]
)
def good(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    write_graph(CHAIN, path)
    return path


def test_a_limit_on_the_size_of_files(good: Path) -> None:
    """What a full disk does: a write fails in the middle."""
    ran = run(
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "attempt()\n",
        good,
    )
    assert ran.stdout == f"{good}: cannot be written: File too large\n", ran.stderr
    assert read_graph(good) == CHAIN
    assert list(good.parent.iterdir()) == [good]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_device(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FormatError, match="/dev/full: cannot be written: No space left on device"):
        write_graph(CHAIN, "/dev/full")
    assert main(["convert", "fft:8", "/dev/full"]) == 2
    assert capsys.readouterr().err == "pebble: error: /dev/full: cannot be written: No space left on device\n"


def test_a_folder_that_is_read_only(good: Path) -> None:
    os.chmod(good.parent, 0o555)
    try:
        # Root may write anywhere: the child gives that up.
        ran = run("os.getuid() or os.setuid(65534)\nattempt()\n", good)
    finally:
        os.chmod(good.parent, 0o755)
    if "Permission denied" not in ran.stdout and os.getuid() == 0 and ran.returncode:
        pytest.skip("another user cannot read this installation")
    assert ran.stdout == f"{good}: cannot be written: Permission denied\n", ran.stderr
    assert read_graph(good) == CHAIN


def test_a_process_that_is_killed(good: Path) -> None:
    ran = run(
        "def dying(real):\n"
        "    def lines(cdag, file):\n"
        "        for i, piece in enumerate(real(cdag, file)):\n"
        "            if i == 30_000: os.kill(os.getpid(), signal.SIGKILL)\n"
        "            yield piece\n"
        "    return lines\n"
        "for name in ('edge-list', 'node-link', 'dot'):\n"
        "    format = REGISTRY.get(name)\n"
        "    object.__setattr__(format, 'lines', dying(format.lines))\n"
        "import pebble.formats.graph_file as own\n"
        "own.numbers_text = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "attempt()\n",
        good,
    )
    assert ran.returncode == -signal.SIGKILL
    assert read_graph(good) == CHAIN
    # What the killed process leaves is no file that anything reads, and does not stand in the way.
    assert all(path == good or path.name.endswith(".part") for path in good.parent.iterdir())
    write_graph(CHAIN, good)
    assert read_graph(good) == CHAIN


def test_an_exception_or_an_interrupt(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("0 1\n")

    def interrupted(error: type[BaseException]) -> None:
        with atomic_writer(path) as stream:
            stream.write(b"half")
            raise error

    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            interrupted(error)
        assert path.read_text() == "0 1\n"
        assert list(tmp_path.iterdir()) == [path]


def test_labels_that_cannot_be_written_leave_the_old_file(tmp_path: Path) -> None:
    odd = CDAG.from_edges(2, [(0, 1)], labels=[object(), frozenset()])
    for name in (
        "g.edges",
        "g.json",
        "g.dot",
        "g.graphml",
        "g.mtx",
        "g.hdag",
        "g.dag",
        "g.kth",
        "g.csv",
        "g.cdag",
    ):
        write_graph(CHAIN, tmp_path / name)
        with pytest.raises(FormatError, match="cannot be written: relabel the vertices with strings"):
            write_graph(odd, tmp_path / name)
        assert read_graph(tmp_path / name) == CHAIN
