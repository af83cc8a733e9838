"""The viewer under every rule set: it allows, refuses and counts what the game in Python does."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import graphs
import solvers
import strategies
from pebble.aggregates import aggregate_of
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.draw.page import Reference, viewer_page
from pebble.game import Game
from pebble.instance import Instance
from pebble.moves import Move, Op, Reason
from pebble.referee import verify
from pebble.refusals import refusal
from pebble.result import Limit
from pebble.rules import Rules
from pebble.schedule import Schedule
from tests.browsers import Page, Show
from tests.games import any_move
from tests.rule_sets import random_variant

RULE_SETS = [
    "hong-kung",
    "one-shot",
    "one-shot+sliding",
    "hong-kung+free-sources",
    "one-shot+no-delete",
    "hong-kung+sliding+no-delete",
    "one-shot+outputs-any+load=2+store=3+compute=0.25",
    "partial",
    "partial+free-sources+no-delete+load=0",
]


def _weighted(rules: str, red: tuple[int, ...]) -> Instance:
    """Words, labels that look like markup, a further output, an isolated vertex, and room for some of it."""
    edges = [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5), (5, 6)]
    labels = ["</script><b>a", 'b "quoted"', "c & d", "<!--", "e", "@DATA@", "g", "h"]
    cdag = CDAG.from_edges(8, edges, weights=[2, 1, 3, 1, 2, 2, 1, 1], labels=labels, outputs=[3])
    return Instance(cdag, 6, rules, red)


def _walked(instance: Instance, rng: random.Random, length: int) -> tuple[Game, list[str], list[str]]:
    """A game of legal and illegal moves: all that was tried, and what is to be said of each."""
    game, tried, said = Game(instance), [], []
    n, edges = instance.cdag.num_vertices, instance.cdag.num_edges
    for _ in range(length):
        legal = game.legal_moves()
        if legal and rng.random() < 0.6:
            # Computes come first and deletes last, or little would ever be computed.
            move = min(
                rng.choices(legal, k=3), key=lambda move: (move.op is Op.DELETE, move.op is not Op.COMPUTE)
            )
        else:
            names_edge = instance.rules.partial and rng.random() < 0.5
            move = (
                Move(Op.COMPUTE, rng.randrange(edges + n + 1)) if names_edge and edges else any_move(rng, n)
            )
        if move.vertex > 1 << 30:
            continue  # more than the page's own moves hold
        tried.append(str(move))
        problem = game.why_illegal(move)
        if problem is None:
            game.push(move)
            said.append("")
        else:
            error = refusal(instance, 0, move, problem[0], problem[1], game.red_words)
            said.append(f"{problem[0].value}: {str(error).partition(': ')[2]}")
    return game, tried, said


def _agree(shown: dict[str, Any], game: Game) -> None:
    """The position and every count."""
    position, state, cost = shown["position"], shown["state"], game.cost
    assert set(position["red"]) == game.red
    assert set(position["blue"]) == game.blue
    assert set(position["computed"]) == game.computed
    assert set(position["aggregated"]) == game.aggregated
    assert position["slide"] == (-1 if game.open_slide is None else game.open_slide)
    counts = {key: state[key] for key in ("io", "loads", "stores", "computes", "recomputes")}
    assert counts == {key: cost.to_dict()[key] for key in counts}
    assert (state["red"], state["over"], state["t"]) == (game.red_words, game.is_over, len(game))


def _shown(page: Page) -> dict[str, Any]:
    shown: dict[str, Any] = page.run(f"return {_SHOWN}")
    return shown


# What a page shows; and a walk on it, all the way back, looking at every seventh position.
_SHOWN = "{position: pebbling.position(), state: pebbling.state()}"
_WALK = f"""
    const said = arguments[0].map((move) => pebbling.play(move)), shown = [{_SHOWN}];
    while (pebbling.state().t) {{
      document.getElementById("undo").click();
      if (pebbling.state().t % 7 === 0) shown.push({_SHOWN});
    }}
    return [said, shown];
"""


def _compare(page: Page, instance: Instance, rng: random.Random, length: int) -> Counter[str]:
    """Walk on a page, and all the way back; how often each reason was given."""
    game, tried, expected = _walked(instance, rng, length)
    said, shown = page.run(_WALK, tried)
    assert said == expected
    _agree(shown[0], game)
    for one in shown[1:]:
        while len(game) > one["state"]["t"]:
            game.pop()
        _agree(one, game)
    assert len(game) == 0
    return Counter(text.partition(":")[0] for text in said if text)


@pytest.mark.parametrize("rules", RULE_SETS)
def test_random_play_agrees_with_the_game(show: Show, rules: str) -> None:
    """Every verdict, every sentence, positions and counts, there and back."""
    rng = random.Random(rules)
    reasons: Counter[str] = Counter()
    for red in ((), (1, 3)):
        instance = _weighted(rules, red)
        page = show(viewer_page(instance))
        for _ in range(5):
            reasons += _compare(page, instance, rng, 60)
    flags = Rules.named(rules)
    expected = {Reason.NOT_RED: True, Reason.NOT_BLUE: True, Reason.ALREADY_RED: True, Reason.NO_ROOM: True}
    expected[Reason.SLIDE_OPEN] = flags.sliding
    expected[Reason.NO_DELETION] = not flags.deletion
    expected[Reason.PREDECESSOR_INCOMPLETE] = flags.partial
    expected[Reason.IS_SOURCE] = not flags.free_sources and not flags.partial
    assert {reason: reasons[reason.value] > 0 for reason in expected} == expected


def test_random_rules_and_graphs(show: Show) -> None:
    rng = random.Random(29)
    for _ in range(12):
        instance = random_variant(rng)
        _compare(show(viewer_page(instance)), instance, rng, 60)


@pytest.mark.slow
def test_many_more_rules_and_graphs(show: Show) -> None:
    rng = random.Random(31)
    for _ in range(80):
        instance = random_variant(rng)
        _compare(show(viewer_page(instance)), instance, rng, 100)


@pytest.mark.parametrize("rules", RULE_SETS[2:])
def test_a_schedule_is_played_back(show: Show, rules: str) -> None:
    """The position at some moments, the figures at the end, and the reader goes on from there."""
    schedule = strategies.play("belady", Instance(graphs.build("fft:8"), 4, rules))
    cost = verify(schedule)
    page = show(viewer_page(schedule.instance, schedule))
    assert page.state["mode"] == "watch"
    moments = [0, len(schedule) // 3, len(schedule) // 2, len(schedule)]
    seek = f"""
        const scrubber = document.getElementById("scrubber");
        return arguments[0].map((t) => {{
          scrubber.value = t;
          scrubber.dispatchEvent(new Event("input"));
          return {_SHOWN};
        }});
    """
    game = Game(schedule.instance)
    for t, shown in zip(moments, page.run(seek, moments), strict=True):
        while len(game) < t:
            game.push(schedule[len(game)])
        _agree(shown, game)
    page.settle()
    assert int(page.text("figure-io").replace(",", "")) == cost.io == int(page.text("figure-end"))
    unit = f"{cost.io} words of I/O" if "load=" not in rules else f"{cost.io} I/Os"
    assert page.text("message") == f"Done: {unit}, as the referee counts."
    if cost.price:
        assert float(page.text("figure-charge")) == cost.compute_cost
    page.click("take-over")
    _agree(_shown(page), game)
    assert page.run("return pebbling.moves()") == schedule.text()


@pytest.mark.parametrize("rules", ["partial+no-delete", "hong-kung+free-sources+load=3"])
def test_long_schedules_go_in_steps(show: Show, rules: str) -> None:
    schedule = strategies.play("lru", Instance(graphs.build("fft:256"), 16, rules))
    cost = verify(schedule)
    page = show(viewer_page(schedule.instance, schedule))
    assert page.state["io"] == 0
    page.key("END")
    counts = {key: page.state[key] for key in ("io", "loads", "stores", "computes", "recomputes")}
    assert counts == {key: cost.to_dict()[key] for key in counts}


@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_saved_game_is_verified(
    show: Show, rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = Instance(graphs.build("fft:4"), 4, rules, [1])
    schedule = strategies.play("belady", instance)
    page = show(viewer_page(instance))
    moves = schedule.text().split()
    assert page.run("return arguments[0].map((move) => pebbling.play(move))", moves) == [""] * len(moves)
    file = tmp_path / "mine.pebble"
    file.write_text(page.run("return pebbling.file()"), encoding="utf-8")
    mine = Schedule.load(file)
    assert (mine, mine.claim) == (schedule, verify(schedule).io)
    assert main(["verify", str(file), "--json"]) == 0
    assert f'"io": {mine.claim}' in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["one-shot+sliding", "partial+store=2", "hong-kung+no-delete"])
def test_the_optimum_is_told(show: Show, rules: str) -> None:
    """A proved optimum, watched, and then played by the reader."""
    instance = Instance(graphs.build("pyramid:2"), 3, rules)
    result = solvers.solve(instance, method="search", limit=Limit(time=60))
    assert result.schedule is not None
    assert result.io == result.lower_bound == verify(result.schedule).io
    page = show(viewer_page(instance, result.schedule, Reference(optimum=result.io)))
    page.key("END")
    assert page.state["io"] == result.io
    page.key("p")
    moves = result.schedule.text().split()
    assert page.run("return arguments[0].map((move) => pebbling.play(move))", moves) == [""] * len(moves)
    page.settle()
    assert page.text("message").endswith("that is the optimum.")
    assert "good" in page.run("return document.getElementById('figure-io').className")


def test_a_slide_by_clicks(show: Show) -> None:
    """The join of two inputs in two words: the likely move after a compute is to let the pebble slide."""
    join = CDAG.from_edges(3, [(0, 2), (1, 2)])
    page = show(viewer_page(Instance(join, 2, "one-shot+sliding"), None, Reference(optimum=3)))
    for v in (0, 1, 2):
        page.point(v, click=True)
    assert page.run("return pebbling.moves()") == "L0 L1 C2"
    assert page.text("message") == "compute v2. Now delete a predecessor of v2: its pebble slides."
    assert page.text("figure-red") == "3 of 2, in a slide"
    page.point(2, click=True)
    assert page.text("message").startswith("Refused, a slide is open: the slide into 2 is open: delete a ")
    page.point(1, click=True)
    page.point(2, click=True)
    assert page.run("return pebbling.moves()") == "L0 L1 C2 D1 S2"
    assert page.text("message").endswith("Done with 3 words of I/O: that is the optimum.")


def test_partial_computation_by_clicks(show: Show) -> None:
    """Every click on a vertex aggregates the next predecessor that is ready, and says which."""
    cdag = graphs.build("reduce:3,sums=flat")
    names = ["x[0]", "x[1]", "x[2]"]
    page = show(viewer_page(Instance(cdag, 2, "partial")))
    out = cdag.num_vertices - 1
    page.point(0, click=True)
    page.point(out)
    assert f"click: compute with {names[0]}, free" in page.text("tip")
    page.point(out, click=True)
    assert page.text("message").startswith(f"compute {names[0]} into ")
    assert "1 of 3 aggregated, to come: x[1], x[2]" in page.text("tip")
    page.point(out, click=True)
    assert "a predecessor is not red: computing 3 needs predecessor 1 red" in page.text("message")
    page.point(1, click=True)
    assert "no room: all 2 red words are in use" in page.text("message")
    for v in (0, 2, out, 2, 1, out, out):
        page.point(v, click=True)
    aggregated = [aggregate_of(cdag, e)[0] for e in (0, 2, 1)]
    assert aggregated == [0, 2, 1]
    assert page.run("return pebbling.moves()") == "L0 C0 D0 L2 C2 D2 L1 C1 S3"
    assert page.state["over"]
    page.tool("2")
    page.point(1, click=True)
    assert "is a source: vertex 1 is a source, it cannot be computed: load it." in page.text("message")
    rows = [row.text.split("\n")[-1] for row in page.driver.find_elements("css selector", ".move .vertex")]
    assert "x[2] into" in rows[4]


def test_a_lost_partial_value_is_told(show: Show) -> None:
    cdag = graphs.build("reduce:3,sums=flat")
    page = show(viewer_page(Instance(cdag, 2, "partial")))
    moves = ["L0", "C0", "D3"]
    assert page.run("return arguments[0].map((move) => pebbling.play(move))", moves) == ["", "", ""]
    page.point(3)
    assert "its partial value is lost" in page.text("tip")


def test_without_deletion_a_click_stores(show: Show) -> None:
    path = CDAG.from_edges(3, [(0, 1), (1, 2)])
    page = show(viewer_page(Instance(path, 2, "hong-kung+no-delete")))
    assert [
        page.driver.find_element("css selector", f"[data-tool='{op}']").is_displayed() for op in (0, 3)
    ] == [
        True,
        False,
    ]
    for v in (0, 1, 0, 2, 2):
        page.point(v, click=True)
    assert page.run("return pebbling.moves()") == "L0 C1 S0 C2 S2"
    assert page.state["over"]
    page.point(1)
    page.key("d")
    assert page.text("message").startswith(
        "Refused, deletion is not allowed: hong-kung+no-delete rules allow "
    )
    page.key("?")
    assert "No delete: only a store makes room." in page.text("help")
    assert "delete its red pebble" not in page.text("help")
    page.key("ESCAPE")


def test_the_start_is_told(show: Show) -> None:
    cdag = graphs.build("pyramid:1")
    for rules, expected in (
        ("one-shot", "every source is blue"),
        ("one-shot+free-sources", "nothing is blue"),
    ):
        instance = Instance(cdag, 3, rules, [1])
        page = show(viewer_page(instance, strategies.play("belady", instance)))
        assert page.text("message") == f"The start: {expected}; red: x[1]."
        assert page.state["red"] == 1


def test_sources_are_computed(show: Show) -> None:
    join = CDAG.from_edges(3, [(0, 2), (1, 2)])
    page = show(viewer_page(Instance(join, 3, "one-shot+free-sources+outputs-any+store=0", [1])))
    assert page.text("subtitle").endswith("1 vertex red at the start")
    assert page.text("message") == "To do: v2 must be red or blue in the end."
    for v in (0, 2):
        page.point(v, click=True)
    assert page.run("return pebbling.moves()") == "C0 C2"
    assert page.text("message").endswith("Done with 0 I/Os.")
    page.point(2)
    assert "click: store, free" in page.text("tip")


def test_clicks_by_chance_are_a_game(show: Show) -> None:
    """Whatever is clicked, what is played is legal, and after a while there is much of it."""
    instance = Instance(graphs.build("pyramid:2"), 3, "partial")
    page = show(viewer_page(instance))
    rng = random.Random(3)
    click = """
        const board = document.getElementById("board");
        for (const v of arguments[0]) {
          const [clientX, clientY] = pebbling.at(v);
          for (const kind of ["pointerdown", "pointerup"]) {
            board.dispatchEvent(new MouseEvent(kind, { clientX, clientY }));
          }
        }
    """
    page.run(
        "HTMLElement.prototype.setPointerCapture = () => {};" + click, [rng.randrange(6) for _ in range(60)]
    )
    game = Game(instance)
    for text in page.run("return pebbling.moves()").split():
        game.push(text)
    _agree(_shown(page), game)
    assert len(game) > 10
