"""Curves and plots of sweeps: what is drawn, where it is marked, what is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments import Grid, perform
from experiments.series import Curves, curves, instances
from pebble.cli.main import main
from pebble.errors import FormatError, PebbleError

pytest.importorskip("matplotlib")

from experiments.plotting import new_figure, plot_gap, plot_io, plot_sweep, save_figure

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def records() -> Records:
    attention = Grid(
        ["attention-backward:n=64,d=16"], ["d^2/4..4d^2:x2"], count=["algorithm6", "flash-attention"]
    )
    fft = Grid(["fft:8"], ["4", "8"], strategies=["lru"])
    return [perform(run) for grid in (attention, fft) for run in grid.runs()]


@pytest.fixture
def attention(records: Records) -> Curves:
    return curves(records, "attention-backward:n=64,d=16")


def test_curves_hold_the_least_io_and_the_best_bound(attention: Curves) -> None:
    assert list(attention.players) == ["algorithm6", "flash-attention"]
    assert list(attention.players["algorithm6"]) == [64, 128, 256, 512, 1024]
    assert min(attention.players["flash-attention"]) == 128
    assert all(attention.lower[M] <= io for M, io in attention.best.items())
    assert attention.d == 16


def test_seeds_are_joined_by_their_least() -> None:
    runs = Grid(["fft:16"], [6], strategies=["random"], seeds=range(5), bounds=[]).runs()
    played = [perform(run) for run in runs]
    found = curves(played)
    assert found.players["random"] == {6: min(r["io"] for r in played)}


def test_a_crossing_is_interpolated_on_logarithmic_axes() -> None:
    players = {"flat": {1: 100, 100: 100}, "steep": {1: 1000, 100: 10}}
    (crossing,) = Curves("g", "hong-kung", {}, players, {}).crossings()
    assert round(crossing.M, 9) == 10
    assert (crossing.before, crossing.after) == ("flat", "steep")


def test_a_player_that_fits_later_crosses_where_it_appears() -> None:
    players = {"small": {1: 100, 4: 50, 16: 40}, "large": {16: 8}}
    (crossing,) = Curves("g", "hong-kung", {}, players, {}).crossings()
    assert (crossing.M, crossing.after) == (16, "large")


def test_no_crossing_without_a_change() -> None:
    players = {"a": {1: 5, 2: 4}, "b": {1: 5, 2: 4}}
    assert Curves("g", "hong-kung", {}, players, {}).crossings() == []


def test_the_io_plot_shows_the_records(attention: Curves) -> None:
    _, (ax,) = new_figure()
    assert plot_io(attention, ax=ax) is ax
    drawn = {line.get_label(): line for line in ax.get_lines()}
    for name, curve in attention.players.items():
        assert list(drawn[name].get_xdata()) == list(curve)
        assert list(drawn[name].get_ydata()) == list(curve.values())
    assert list(drawn["best lower bound"].get_ydata()) == list(attention.lower.values())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("fast memory M (words)", "I/O (words)")
    (crossing,) = attention.crossings()
    texts = [text.get_text().strip() for text in ax.texts]
    assert texts == ["M = d²", f"{crossing.M / 256:.2f} d²"]
    styles = [
        (line.get_marker(), line.get_linestyle()) for name, line in drawn.items() if name in attention.players
    ]
    assert len(set(styles)) == 2


def test_the_gap_plot_shows_ratios(attention: Curves) -> None:
    ax = plot_gap(attention)
    drawn = {line.get_label(): line for line in ax.get_lines()}
    expected = [io / attention.lower[M] for M, io in attention.players["algorithm6"].items()]
    assert list(drawn["algorithm6"].get_ydata()) == pytest.approx(expected)
    assert min(expected) >= 1


def test_a_gap_needs_bounds() -> None:
    with pytest.raises(PebbleError, match="no lower bounds"):
        plot_gap(Curves("g", "hong-kung", {}, {"a": {1: 5}}, {}))


def test_several_graphs_are_panels(records: Records) -> None:
    assert instances(records) == [("attention-backward:n=64,d=16", "hong-kung"), ("fft:8", "hong-kung")]
    figure = plot_sweep(records)
    assert [ax.get_title() for ax in figure.axes] == ["attention-backward:n=64,d=16", "fft:8"]
    with pytest.raises(PebbleError, match="name one of 2"):
        curves(records)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_written_the_same_twice(attention: Curves, tmp_path: Path, kind: str) -> None:
    paths = [tmp_path / f"{i}.{kind}" for i in range(2)]
    for path in paths:
        figure, (ax,) = new_figure()
        plot_io(attention, ax=ax)
        save_figure(figure, path)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert paths[0].read_bytes().startswith(start)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_no_text_is_clipped(attention: Curves) -> None:
    figure, (ax,) = new_figure()
    plot_io(attention, ax=ax)
    figure.draw_without_rendering()
    frame = figure.bbox
    texts = [*ax.texts, *ax.get_legend().get_texts(), ax.title, ax.xaxis.label, ax.yaxis.label]
    for text in texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0, text
        assert box.x1 <= frame.x1, text
        assert frame.y0 <= box.y0, text
        assert box.y1 <= frame.y1, text


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"one of \.png, \.svg, \.pdf"):
        save_figure(new_figure()[0], tmp_path / "plot.gif")


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, picture = tmp_path / "runs.jsonl", tmp_path / "plot.svg"
    argv = ["fft:8", "pyramid:3", "-M", "4,8", "-s", "lru,fifo", "-o", str(runs), "-j", "1", "-q"]
    assert main(["sweep", *argv]) == 0
    capsys.readouterr()
    assert main(["plot", str(runs), "-o", str(picture), "--graph", "fft:8", "-s", "lru", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["panels"] == [{"graph": "fft:8", "rules": "hong-kung"}]
    assert re.search(r"<svg\b", picture.read_text())
    assert main(["plot", str(runs), "-o", str(tmp_path / "gap.png"), "--kind", "gap"]) == 0
    capsys.readouterr()
    for argv, message in (
        (["--kind", "pie"], "'pie' is none of io, gap"),
        (["--graph", "fft:16"], "no runs with figures"),
        (["-o", str(tmp_path / "plot.gif")], "a plot is written as"),
        (["-o", str(tmp_path / "none" / "plot.svg")], "there is no folder"),
    ):
        assert main(["plot", str(runs), *argv]) == 2
        assert message in capsys.readouterr().err
