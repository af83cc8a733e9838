"""The readers on made-up and damaged files: a sound graph or a FormatError, and no more memory than due."""

# ruff: noqa: E501

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pebble.cdag import CDAG
from pebble.formats.catalog import REGISTRY
from tests.fuzz_readers import FORMATS, one_input

ROOT = Path(__file__).resolve().parent.parent

# A graph with all that files can hold, in every format: the seeds that are damaged below.
FULL = CDAG.from_edges(
    5,
    [(3, 1), (0, 1), (1, 2), (0, 4)],
    weights=[1, 12, 3, 1, 1],
    labels=["a b", 1, "1", (2, None), '"\\'],
    outputs=[1],
)
PLAIN = CDAG.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
SEEDS: list[tuple[str, bytes]] = [
    (name, "".join(lines(cdag, "given")).encode())
    for name in REGISTRY.names()
    if (lines := REGISTRY.get(name).lines) is not None
    for cdag in (FULL, PLAIN)
] + [
    ("lhdag", b"3 4 7\n0 0\n0 1\n0 2\n1 1\n1 3\n2 2\n2 3\n0 4 1\n1 4 1\n2 4 2\n3 4 1\n"),
    ("bench", b"INPUT(a)\nOUTPUT(z)\nb = AND(a, a)\nc = vdd\nz = NOR(a, b, c)\n"),
    ("matrix-market-0", b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 0\n2 1\n"),
]  # fmt: skip

_TOKEN = re.compile(rb"\w+|\s+|.", re.DOTALL)
_WORDS = st.sampled_from(
    b"0 1 -1 3 99 1000000000 99999999999999999999 1.5 NaN true null \xff \x00 \xef\xbb\xbf \xe2\x82\xac \r \n \t , ; : [ ] { } "
    b"( ) < > / \\ \" ' % # c = -> -- & pebble labels weights outputs subgraph node edge graph strict digraph end edges ops "
    b"<node/> </graph> <!-- --> <![CDATA[ &amp; &#0; \\u0000 \\ud800".split(b" ")
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str | None, bytes]:
    """A file in some format, cut, with words replaced, repeated, moved or thrown in."""
    name, text = draw(st.sampled_from(SEEDS))
    words = _TOKEN.findall(text)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(words) - 1, 0)))
        length = draw(st.integers(0, 4))
        match draw(st.sampled_from(["cut", "drop", "put", "swap", "repeat"])):
            case "cut":
                words = words[:at]
            case "drop":
                del words[at : at + length]
            case "put":
                words[at : at + length] = draw(st.lists(_WORDS, max_size=3))
            case "swap":
                other = draw(st.integers(0, max(len(words) - 1, 0)))
                words[at : at + 1], words[other : other + 1] = words[other : other + 1], words[at : at + 1]
            case "repeat":
                words[at:at] = words[at : at + length] * draw(st.integers(1, 5))
    return draw(st.sampled_from([name, None])), b"".join(words)


ANY = st.tuples(
    st.sampled_from(FORMATS), st.binary(max_size=60) | st.lists(_WORDS, max_size=20).map(b" ".join)
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged() | ANY)
@example(("dot", b"digraph { a -> { } -> b }"))
@example(("csv", b"\xef\xbb\xbfsource,target\na,b\n"))
@example(("node-link", b'{"nodes":["\\ud800",1e999],"links":[["\\ud800",1e999]]}'))
@example(("edge-list", b"\xc2\xb2 1\n"))
@example(("kth", b"1\n\xc2\xb9:\n"))
def test_readers_on_damaged_files(case: tuple[str | None, bytes]) -> None:
    format, data = case
    one_input(data, format)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged() | ANY)
def test_readers_on_many_damaged_files(case: tuple[str | None, bytes]) -> None:
    format, data = case
    one_input(data, format)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged() | ANY, st.integers(1, 2000))
def test_memory_stays_in_proportion(case: tuple[str | None, bytes], times: int) -> None:
    """Ten times the file and what a million vertices take, which a header may ask for."""
    format, data = case
    data = (data + b"\n") * times
    data = data[: 1 << 18]
    tracemalloc.start()
    try:
        one_input(data, format)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(data) + (64 << 20)


@pytest.mark.slow
def test_coverage_guided(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed (extra fuzz)")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for i, (name, text) in enumerate(SEEDS):
        (corpus / f"{i}").write_bytes(bytes([FORMATS.index(name)]) + text)
    command = [sys.executable, str(ROOT / "tests" / "fuzz_readers.py"), str(corpus)]
    limits = ["-max_total_time=30", "-timeout=5", "-rss_limit_mb=1000", "-max_len=2000", "-seed=7"]
    ran = subprocess.run([*command, *limits], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "Done" in ran.stderr
