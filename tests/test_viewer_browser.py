"""The viewer in a real browser: what it shows is what the referee says, and it refuses what he refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import solvers
from graphs.catalog import build
from pebble.cdag import CDAG
from pebble.draw.page import Reference, viewer_page
from pebble.instance import Instance
from pebble.referee import verify
from pebble.result import Limit
from pebble.schedule import Schedule
from strategies.playing import play
from tests.browsers import Page, Show


def _padded(schedule: Schedule, length: int) -> Schedule:
    """The same game with loads and deletes of a source at the end, up to `length` moves."""
    v = int(schedule.instance.cdag.sources[0])
    pair = np.array([v << 2, v << 2 | 3], dtype=np.uint32)
    extra = np.tile(pair, (length - len(schedule)) // 2)
    return Schedule(schedule.instance, np.concatenate([schedule.moves, extra]))


def _figure(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize(
    ("spec", "M", "strategy", "padding", "exact"),
    [
        ("fft:8", 4, "belady", 0, True),
        ("attention-backward:n=4,d=2", 16, "belady", 0, True),
        ("random-layered:w=40,d=50", 6, "random", 100_000, True),
        ("grid:6x6", 5, "lru", 100_010, False),
        ("attention-backward:n=16,d=4", 64, "algorithm6", 0, False),
    ],
)
def test_the_final_figures_are_the_referees(
    show: Show, spec: str, M: int, strategy: str, padding: int, exact: bool
) -> None:
    schedule = play(strategy, Instance(build(spec), M))
    if padding:
        schedule = _padded(schedule, padding)
    cost = verify(schedule)
    page = show(viewer_page(schedule.instance, schedule))
    assert page.state["mode"] == "watch"
    assert (page.state["t"], page.state["io"]) == (0, 0)
    page.key("END")
    state = page.state
    figures = {key: state[key] for key in ("io", "loads", "stores", "computes", "recomputes")}
    assert figures == {key: cost.to_dict()[key] for key in figures}
    assert _figure(page.text("figure-io")) == cost.io == _figure(page.text("figure-end"))
    assert f"{cost.io:,} words of I/O, as the referee counts" in page.text("message")
    assert page.text("clock") == f"{len(schedule):,} / {len(schedule):,} moves"
    assert state["over"] is (True if exact else None)
    if exact:
        assert page.run("return pebbling.moves()") == schedule.text()
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.text("title") == schedule.instance.cdag.name
    inked = "const c = document.getElementById(arguments[0]), g = c.getContext('2d');" + (
        "return g.getImageData(0, 0, c.width, c.height).data.reduce((n, x) => n + (x > 0), 0)"
    )
    for canvas in ("board", "memory-chart", "io-chart"):
        assert page.run(inked, canvas) > 1000


def test_a_large_schedule_is_smooth(show: Show) -> None:
    """2,000 vertices and 100,000 moves: a jump over all of them, in a fraction of a second."""
    schedule = _padded(play("random", Instance(build("random-layered:w=40,d=50"), 6)), 100_000)
    page = show(viewer_page(schedule.instance, schedule))
    jump = """
        const done = arguments[0], times = [];
        const again = (left) => {
          if (!left) return done(Math.min(...times));
          const start = performance.now();
          document.dispatchEvent(new KeyboardEvent("keydown", {key: left % 2 ? "End" : "Home"}));
          requestAnimationFrame(() => requestAnimationFrame(() => {
            times.push(performance.now() - start);
            again(left - 1);
          }));
        };
        again(8);
    """
    assert page.driver.execute_async_script(jump) < 500  # milliseconds; about 60 on an idle core


def test_keys_of_watching(show: Show) -> None:
    schedule = play("belady", Instance(build("fft:8"), 4))
    page = show(viewer_page(schedule.instance, schedule))
    page.key("ARROW_RIGHT", "ARROW_RIGHT", "ARROW_RIGHT", "ARROW_LEFT")
    assert page.state["t"] == 2
    assert page.run("return pebbling.moves()") == f"{schedule[0]} {schedule[1]}"
    assert page.text("message").startswith("Move 2: ")
    page.key("END")
    assert page.state["t"] == len(schedule)
    page.key("HOME")
    assert page.state["t"] == 0
    page.key("+", "+", "+", "+", " ")
    assert page.text("play-button") == "Pause"
    page.driver.execute_async_script(
        "const done = arguments[0];"
        "const wait = () => pebbling.state().t > 3 ? done() : setTimeout(wait, 20); wait()"
    )
    page.key(" ")
    assert page.text("play-button") == "Play"
    assert 3 < page.state["t"] <= len(schedule)
    page.key("?")
    assert page.shown("help")
    assert "take back the last move" in page.text("help")
    page.key("ESCAPE")
    assert not page.shown("help")
    page.key("p")
    assert (page.state["mode"], page.shown("tools"), page.shown("transport")) == ("play", True, False)
    page.key("w")
    assert page.state["mode"] == "watch"


def test_the_scrubber_the_list_and_the_charts_lead_to_a_time(show: Show) -> None:
    schedule = play("belady", Instance(build("fft:8"), 4))
    page = show(viewer_page(schedule.instance, schedule))
    page.run(
        "const s = document.getElementById('scrubber'); s.value = 40; s.dispatchEvent(new Event('input'))"
    )
    page.settle()
    assert page.state["t"] == 40
    rows = page.driver.find_elements("css selector", ".move.now")
    assert [row.text.split()[0] for row in rows] == ["40"]
    page.driver.find_elements("css selector", ".move.later")[1].click()
    page.settle()
    assert page.state["t"] == 42
    chart = page.driver.find_element("id", "io-chart")
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(page.driver, duration=0).move_to_element(chart).click().perform()
    page.settle()
    assert abs(page.state["t"] - len(schedule) / 2) < len(schedule) / 10
    page.click("to-start")
    page.click("step-on")
    assert page.state["t"] == 1


def test_playing_by_clicks_reaches_the_optimum(show: Show) -> None:
    instance = Instance(build("pyramid:2"), 3)
    result = solvers.solve(instance, limit=Limit(time=30))
    assert result.schedule is not None
    assert result.io == result.lower_bound
    page = show(viewer_page(instance, None, Reference(optimum=result.io)))
    assert page.state["mode"] == "play"
    assert page.text("message") == "To do: y[0] must become blue."
    for move in result.schedule:
        page.tool(str(int(move.op)))
        page.point(move.vertex, click=True)
    assert page.run("return pebbling.moves()") == result.schedule.text()
    state = page.state
    assert (state["over"], state["io"]) == (True, result.io)
    assert _figure(page.text("figure-io")) == _figure(page.text("figure-optimum")) == result.io
    assert page.text("message").endswith("that is the optimum.")
    assert "good" in page.run("return document.getElementById('figure-io').className")
    page.click("undo")
    assert page.state["t"] == len(result.schedule) - 1
    page.click("restart")
    assert (page.state["t"], page.state["io"], page.state["red"]) == (0, 0, 0)


def test_an_illegal_click_is_refused_with_its_reason(show: Show) -> None:
    instance = Instance(build("pyramid:2"), 3)
    page = show(viewer_page(instance))
    page.tool("2")
    page.point(3, click=True)
    assert page.text("message") == (
        "Refused, a predecessor is not red: computing 3 needs predecessor 0 red. Vertex 0 is x[0]."
    )
    assert page.run("return document.getElementById('message').className") == "refused"
    page.point(0, click=True)
    assert "is a source: vertex 0 is a source, it cannot be computed: load it." in page.text("message")
    page.tool("3")
    page.point(0, click=True)
    assert "not red: vertex 0 is not red, there is nothing to delete." in page.text("message")
    assert page.state["t"] == 0
    page.tool("auto")
    for v in (0, 1, 3, 2):  # load, load, compute, and no room
        page.point(v, click=True)
    assert page.run("return pebbling.moves()") == "L0 L1 C3"
    assert page.text("message") == "Refused, no room: all 3 red words are in use. Vertex 2 is x[2]."


def test_keys_of_playing(show: Show) -> None:
    page = show(viewer_page(Instance(build("pyramid:2"), 3)))
    page.key("ARROW_RIGHT")
    assert page.text("message").startswith("x[0] (vertex 0); a source; used by v3; is blue; click: load")
    page.key("l", "ARROW_RIGHT", "ENTER", "ARROW_UP")
    assert page.run("return pebbling.moves()") == "L0 L1"
    page.key("c")
    assert page.run("return pebbling.moves()") == "L0 L1 C3"
    page.key("s", "d", "u")
    assert page.run("return pebbling.moves()") == "L0 L1 C3 S3"
    page.key("r")
    assert page.run("return pebbling.moves()") == ""


def test_the_pointer_tells_the_name_and_the_predecessors(show: Show) -> None:
    page = show(viewer_page(Instance(build("matmul:2x3x2"), 8)))
    assert not page.shown("tip")
    entry = int(build("matmul:2x3x2").tensors["C"][0, 1])
    page.point(entry)
    tip = page.text("tip")
    assert tip.startswith(f"C[0,1] (vertex {entry})")
    assert "add of C[0,1].2, C[0,1].3" in tip
    assert "an output; used by none" in tip
    assert "click: compute: refused, a predecessor is not red" in tip


def _weighted() -> CDAG:
    """Words, labels that look like markup, and a further output."""
    edges = [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5), (5, 6)]
    labels = ["</script><b>a", 'b "quoted"', "c & d", "<!--", "e", "@DATA@", "f"]
    return CDAG.from_edges(7, edges, weights=[2, 1, 3, 1, 2, 2, 1], labels=labels, outputs=[3])


def test_a_saved_game_is_a_schedule_file(show: Show, tmp_path: Path) -> None:
    instance = Instance(_weighted(), 8)
    page = show(viewer_page(instance))
    text = "L0 L1 C3 S3 D0 L2 C4 D2 D1 C5 D3 C6 S6"
    assert page.run("return arguments[0].map((move) => pebbling.play(move))", text.split()) == [""] * 13
    (tmp_path / "mine.pebble").write_text(page.run("return pebbling.file()"), encoding="utf-8")
    schedule = Schedule.load(tmp_path / "mine.pebble")
    assert schedule.instance == instance
    assert schedule.instance.cdag.labels == instance.cdag.labels
    assert (schedule.text(), verify(schedule).io) == (text, schedule.claim)


def test_play_on_from_a_position(show: Show) -> None:
    schedule = play("belady", Instance(build("fft:8"), 4))
    page = show(viewer_page(schedule.instance, schedule))
    page.key(*["ARROW_RIGHT"] * 9)
    page.click("take-over")
    assert (page.state["mode"], page.state["t"]) == ("play", 9)
    assert page.run("return pebbling.moves()") == " ".join(str(schedule[t]) for t in range(9))


def test_an_illegal_schedule_ends_at_the_broken_rule(show: Show) -> None:
    instance = Instance(build("pyramid:2"), 3)
    schedule = Schedule.from_moves(instance, ["L0", "L1", "C4", "L2"])
    page = show(viewer_page(instance, schedule))
    assert "move 2 (C4): computing 4 needs predecessor 2 red" in page.text("banner")
    page.key("END")
    assert page.run("return pebbling.moves()") == "L0 L1"


def test_themes_layouts_and_zoom(show: Show) -> None:
    schedule = play("belady", Instance(build("attention-backward:n=4,d=2"), 16))
    page = show(viewer_page(schedule.instance, schedule))
    theme = "return document.documentElement.dataset.theme"
    before = page.run(theme)
    page.key("t")
    assert {before, page.run(theme)} == {"light", "dark"}
    assert page.text("layout-button") == "Show layers"
    place = page.run("return pebbling.at(100)")
    page.key("v")
    assert page.text("layout-button") == "Show arrays"
    assert page.run("return pebbling.at(100)") != place
    page.key("v")
    page.click("zoom-in")
    assert page.run("return pebbling.at(100)") != place
    page.click("zoom-fit")
    assert page.run("return pebbling.at(100)") == place


@pytest.mark.parametrize("size", [(1360, 900), (1024, 640), (600, 1100)])
def test_nothing_is_clipped(page: Page, show: Show, size: tuple[int, int]) -> None:
    """In any window every button lies in the page with its whole text, and nothing scrolls sideways."""
    schedule = play("algorithm6", Instance(build("attention-backward:n=16,d=4"), 64))
    page.driver.set_window_size(*size)
    show(viewer_page(schedule.instance, schedule, Reference(None, 5_000, schedule.producer, 4_000)))
    cut = page.run("""
        const wide = document.documentElement.clientWidth;
        const all = document.querySelectorAll("button, h1, #message, #clock, #figures dd, canvas");
        return [...all].filter((e) => {
          const box = e.getBoundingClientRect(), inside = box.left >= 0 && box.right <= wide + 0.5;
          return box.width > 0 && !(inside && e.scrollWidth <= e.clientWidth + 1);
        }).map((e) => e.id || e.textContent)
    """)
    assert cut == []
    assert page.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.driver.set_window_size(1360, 900)
