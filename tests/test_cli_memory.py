"""What ``-M`` accepts."""

from __future__ import annotations

import pytest

from pebble.cli.memory import parse_memory
from pebble.errors import InvalidMemoryError

PARAMS = {"n": 64, "d": 16, "sums": "chain", "fma": False}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("24", [24]),
        ("16,24,32", [16, 24, 32]),
        ("24, 16,24", [24, 16]),
        ("16..20", [16, 17, 18, 19, 20]),
        ("16..64:16", [16, 32, 48, 64]),
        ("16..60:16", [16, 32, 48]),
        ("16..100:x2", [16, 32, 64]),
        ("d", [16]),
        ("d^2", [256]),
        ("d**2", [256]),
        ("d^2/4", [64]),
        ("4d^2", [1024]),
        ("4*d^2", [1024]),
        ("3d^2/7", [109]),
        ("d^2/4..4d^2:x4", [64, 256, 1024]),
        ("n,d", [64, 16]),
        ("7..7", [7]),
    ],
)
def test_forms(text: str, values: list[int]) -> None:
    assert parse_memory(text, PARAMS) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "M=0 leaves no red pebble"),
        ("-1", "M=-1 leaves no red pebble"),
        ("2.5", "M=2.5 is not a whole number of words"),
        ("abc", "M=abc is not a whole number of words, and the graph has n, d"),
        ("", "M= is not a whole number of words"),
        ("16,,24", "M= is not a whole number of words"),
        ("1e3", "M=1e3 is not a whole number of words"),
        ("32..16", "M=32..16 is empty: 32 is above 16"),
        ("16..", "M=16.. lacks an end: write a range as 16..64"),
        ("..16", "M=..16 lacks an end"),
        ("9" * 19, "9 is out of range: give a number of at most 18 digits"),
        ("-" + "9" * 5000, "9 is out of range: give a number of at most 18 digits"),
        ("16..32:0", "the step ':0' is neither a number nor x2"),
        ("16..32:x1", "the step ':x1' is neither a number nor x2"),
        ("1..10000000", "names more than 100000 values: add a step"),
        ("k^2", "M=k^2 is not a whole number of words, and the graph has n, d"),
        ("sums", "M=sums is not a whole number of words"),
        ("d/0", "M=d/0 divides by zero"),
        ("d/17", "M=d/17 is 0, which leaves no red pebble"),
        ("d^99", "M=d^99: the power 99 is out of range"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(InvalidMemoryError) as caught:
        parse_memory(text, PARAMS)
    assert message in str(caught.value)


def test_a_graph_without_parameters() -> None:
    with pytest.raises(InvalidMemoryError, match=r"M=d\^2 .* the graph has no parameters"):
        parse_memory("d^2", {})
