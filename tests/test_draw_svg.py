"""Drawings as SVG: well-formed, complete, and what notebooks get from the core types."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import solvers
from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.draw.position import Position
from pebble.draw.svg import BLUE, RED, graph_svg, position_svg
from pebble.draw.svg_strip import schedule_svg
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Op
from pebble.result import Limit, Result, Status
from pebble.schedule import Schedule
from strategies.playing import play

NAMESPACE = "{http://www.w3.org/2000/svg}"
GOLDEN = Path(__file__).parent / "drawings"


def _elements(svg: str, tag: str, **wanted: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{NAMESPACE}svg"
    found = root.iter(f"{NAMESPACE}{tag}")
    return [e for e in found if all(e.get(key) == value for key, value in wanted.items())]


def _inside(svg: str) -> None:
    """Every shape and every text lies on the paper."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for e in root.iter():
        if e.tag == f"{NAMESPACE}text" and "x" in e.attrib and float(e.attrib["x"]) > 30:
            x, y, size = (float(e.attrib[key]) for key in ("x", "y", "font-size"))
            length = 0.62 * size * len(e.text or "")
            left = {"start": x, "middle": x - length / 2, "end": x - length}[e.attrib["text-anchor"]]
            assert left >= -1, e.text
            assert left + length <= width + 1, e.text
            assert size <= y + 3 <= height + 3, e.text
        if e.tag == f"{NAMESPACE}circle":
            assert 0 <= float(e.attrib["cx"]) <= width
            assert 0 <= float(e.attrib["cy"]) <= height


@pytest.mark.parametrize(
    "spec", ["pyramid:4", "matmul:2x3x2", "fft:8", "attention-backward:n=4,d=2", "tree:8"]
)
def test_a_position_shows_each_pebble_once(spec: str) -> None:
    g = build(spec)
    schedule = play("belady", Instance(g, 12))
    position = Position.after(schedule, len(schedule) // 2)
    svg = position_svg(g, position)
    _inside(svg)
    # One more of each colour stands in the legend.
    assert len(_elements(svg, "circle", fill=RED)) == position.red.sum() + 1
    assert len(_elements(svg, "rect", fill=BLUE)) == position.blue.sum() + 1


def test_a_drawing_is_what_it_was() -> None:
    """The pyramid of the lecture, as text; to change it on purpose, write the new text to the file."""
    instance = Instance(build("pyramid:2"), 4)
    moves = "L0 L1 C3 D0 L2 C4 D1 D2 C5 S5"
    schedule = Schedule.from_moves(instance, moves.split(" "))
    position = position_svg(instance.cdag, Position.after(schedule, 6))
    assert position == (GOLDEN / "pyramid-position.svg").read_text(encoding="utf-8")
    assert schedule_svg(schedule) == (GOLDEN / "pyramid-schedule.svg").read_text(encoding="utf-8")


def test_a_strip_shows_every_stay_and_every_transfer() -> None:
    schedule = play("belady", Instance(build("fft:8"), 4))
    svg = schedule_svg(schedule)
    _inside(svg)
    ops = [move.op for move in schedule]
    bars = [e for e in _elements(svg, "rect", fill=RED) if float(e.attrib["height"]) > 7.1]
    assert len(bars) == ops.count(Op.LOAD) + ops.count(Op.COMPUTE)
    assert len(_elements(svg, "polygon", fill="#fff")) == ops.count(Op.LOAD) + 1
    assert len(_elements(svg, "polygon", fill=BLUE)) == ops.count(Op.STORE) + 1
    # The area of the bars is the time that vertices are red, which the game says as well.
    game, words = Game(schedule.instance), 0
    for move in schedule:
        game.push(move)
        words += game.red_words
    step = (860 - 16 - 70) / len(schedule)
    area = sum(float(e.attrib["width"]) for e in bars) / step
    assert area == pytest.approx(words, rel=0.01)


def test_names_are_escaped_and_cut() -> None:
    labels = ["<b>&", 'quo"te', "a name that is much too long for the place below its vertex"]
    g = CDAG.from_edges(3, [(0, 2), (1, 2)], labels=labels)
    svg = graph_svg(g)
    texts = [e.text for e in _elements(svg, "text")]
    assert {"<b>&", 'quo"te'} <= set(texts)
    assert any(text and text.startswith("a name") and text.endswith("…") for text in texts)
    schedule = Schedule.from_moves(Instance(g, 3), ["L0", "L1", "C2", "S2"])
    _inside(schedule_svg(schedule))


@pytest.mark.parametrize("spec", ["attention-backward:n=16,d=4", "fft:256"])
def test_large_drawings_stay_small(spec: str) -> None:
    g = build(spec)
    schedule = play("belady", Instance(g, 64))
    for svg in (position_svg(g, Position.after(schedule, len(schedule) // 2)), schedule_svg(schedule)):
        assert len(svg) < 400_000
        _inside(svg)
        assert _elements(svg, "rect", fill=BLUE)
    assert len(_elements(schedule_svg(schedule), "rect", fill=RED)) > 50


def test_an_illegal_schedule_is_drawn_up_to_the_broken_rule() -> None:
    instance = Instance(build("pyramid:2"), 3)
    svg = schedule_svg(Schedule.from_moves(instance, ["L0", "L1", "C9", "D0"]))
    texts = [e.text for e in _elements(svg, "text")]
    assert "then illegal: move 2 (C9): vertex 9 is out of range, ids go from 0 to 5" in texts
    assert "move 2" in texts


def test_notebooks_get_drawings_of_the_core_types() -> None:
    instance = Instance(build("pyramid:2"), 3)
    game = Game(instance)
    game.push("L0")
    assert instance.cdag._repr_svg_() == graph_svg(instance.cdag)
    svg = game._repr_svg_()
    assert svg is not None
    assert len(_elements(svg, "circle", fill=RED)) == 2
    result = solvers.solve(instance, limit=Limit(time=30))
    assert result.schedule is not None
    assert result.schedule._repr_svg_() == schedule_svg(result.schedule)
    html = result._repr_html_()
    assert f"<tr><th>I/O cost</th><td>{result.io} words: " in html
    assert "<tr><th>gap</th><td>0.0%</td></tr>" in html
    assert html.endswith(result.schedule._repr_svg_())
    nothing = Result(Status.UNKNOWN, None, None, 3, None, "search", limit_hit="time")
    assert nothing._repr_html_().endswith("<tr><th>limit</th><td>time</td></tr></table>")


def test_a_huge_graph_is_not_drawn_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    import pebble.draw.svg as module

    monkeypatch.setattr(module, "MOST_LAID_OUT", 5)
    g = build("pyramid:2")
    assert g._repr_svg_() is None
    assert Game(Instance(g, 3))._repr_svg_() is None


def test_empty_things_are_drawn() -> None:
    nothing = CDAG.from_edges(0, [])
    assert _elements(graph_svg(nothing), "circle", fill=RED)
    assert "move 0" in schedule_svg(Schedule.from_moves(Instance(build("pyramid:2"), 3), []))
    assert _elements(schedule_svg(Schedule.from_moves(Instance(nothing, 1), [])), "rect")
    weights = CDAG.from_edges(2, [(0, 1)], weights=[2, 3])
    heavy = Schedule.from_moves(Instance(weights, 5), ["L0", "C1", "S1"])
    held = [e.attrib["points"] for e in _elements(schedule_svg(heavy), "polygon") if e.get("stroke") == RED]
    heights = {float(point.split(",")[1]) for point in held[0].split()}
    assert len(heights) == 3
    low, middle, high = sorted(heights)
    assert np.isclose((high - middle) / (high - low), 2 / 5, atol=0.01)
