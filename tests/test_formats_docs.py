"""docs/formats.md and docs/robustness.md: every example reads, every format and test that is named exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pebble.cdag import CDAG
from pebble.formats import parse_graph
from pebble.formats.catalog import REGISTRY

ROOT = Path(__file__).resolve().parent.parent
FORMATS = (ROOT / "docs" / "formats.md").read_text()
ROBUSTNESS = (ROOT / "docs" / "robustness.md").read_text()
DIAMOND = CDAG.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
EXAMPLES = dict(re.findall(r"^## ([a-z-]+)\n\n```text\n(.*?)^```$", FORMATS, re.MULTILINE | re.DOTALL))


def test_every_format_is_described() -> None:
    assert {*EXAMPLES, "matrix-market-0"} == set(REGISTRY.names())
    rows = dict(re.findall(r"^\| \[?`([a-z0-9-]+)`.*?\|(.*)$", FORMATS, re.MULTILINE))
    for name in REGISTRY.names():
        written = "yes" if REGISTRY.get(name).lines is not None else "no"
        suffixes, read, says_written, _, *_ = (cell.strip() for cell in rows[name].split("|"))
        assert (read, says_written) == ("yes", written), name
        for alias in REGISTRY.info(name).aliases:
            assert f"`.{alias}`" in suffixes


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_the_same_graph(name: str) -> None:
    cdag = parse_graph(EXAMPLES[name].encode(), "example", format=name)
    assert cdag == DIAMOND
    assert cdag.labels == (tuple("0123") if name == "bench" else None)
    if name not in ("lhdag",):
        assert parse_graph(EXAMPLES[name].encode(), f"example.{name}") == DIAMOND


def test_every_test_that_is_named_exists() -> None:
    files = set(re.findall(r"tests/\w+\.py", ROBUSTNESS))
    assert len(files) >= 8
    text = "".join((ROOT / file).read_text() for file in files)
    names = set(re.findall(r"`(test_\w+)`", ROBUSTNESS))
    assert len(names) >= 18
    for name in names:
        assert f"def {name}(" in text, name
