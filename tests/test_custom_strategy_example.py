"""The example of a custom strategy runs, and its strategy keeps the contract and beats the generic one."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import graphs
import pebble
import strategies
from pebble.errors import UnsupportedInstanceError
from strategies.protocol import Strategy

SCRIPT = Path(__file__).parent.parent / "examples" / "custom_strategy.py"


def test_the_strategy_itself() -> None:
    blocks = runpy.run_path(str(SCRIPT))["Blocks"]()
    assert isinstance(blocks, Strategy)
    for M in (3, 4, 6, 7, 34):
        schedule = strategies.play(blocks, pebble.Instance(graphs.build("fft:64"), M))
        assert pebble.verify(schedule).io == schedule.claim
    # Two passes over blocks of 8 points: 64 values read and 64 written in each.
    claim = strategies.play(blocks, pebble.Instance(graphs.build("fft:64"), 10)).claim
    assert claim is not None
    assert claim <= 4 * 64
    with pytest.raises(UnsupportedInstanceError, match="fft family only"):
        strategies.play(blocks, pebble.Instance(graphs.build("chain:5"), 3))


def test_the_script(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Registered for the script alone, so that the tests of all strategies do not meet it.
    known = (dict(strategies.REGISTRY._entries), dict(strategies.REGISTRY._canonical))
    monkeypatch.setattr(strategies.REGISTRY, "_entries", known[0])
    monkeypatch.setattr(strategies.REGISTRY, "_canonical", known[1])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["M", "fft-blocks", "belady"]
    assert [int(row[0]) for row in rows[1:]] == [4, 6, 10, 18, 34, 66]
    assert all(int(row[1]) < int(row[2]) for row in rows[2:])
