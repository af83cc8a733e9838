"""Schedules under every rule set compute the right numbers, come back from files, are named."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import graphs
import pebble
import strategies
from pebble.cdag import CDAG
from pebble.cli.main import app
from pebble.errors import FormatError, UnsupportedInstanceError
from pebble.game import Game
from pebble.instance import Instance
from pebble.referee import verify
from pebble.schedule import Schedule
from tests.games import random_op_cdag
from tests.rule_sets import random_rules, random_variant

TAKING_ALL_OPERANDS = [
    "one-shot+sliding",
    "hong-kung+free-sources",
    "one-shot+no-delete",
    "hong-kung+sliding+free-sources+no-delete+outputs-any",
    "one-shot+outputs-any+load=2+compute=1",
]


# -- numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", TAKING_ALL_OPERANDS)
def test_schedules_compute_the_same_to_the_last_bit(rules: str) -> None:
    rng = random.Random(7)
    for _ in range(12):
        cdag = random_op_cdag(rng, rng.randint(3, 14))
        inputs = np.array([rng.uniform(0.5, 2.0) for _ in cdag.sources])
        least = Instance(cdag, 1, rules).least_M
        instance = Instance(cdag, least + rng.randint(0, 2), rules)
        schedule = strategies.play(rng.choice(["belady", "lru", "random"]), instance, seed=rng.randrange(9))
        np.testing.assert_array_equal(pebble.execute(schedule, inputs), pebble.evaluate(cdag, inputs))


@pytest.mark.parametrize("rules", ["partial", "partial+free-sources", "partial+no-delete+outputs-any"])
def test_partial_computation_adds_up(rules: str) -> None:
    cdag = graphs.build("attention-backward:n=3,d=2")
    rng = np.random.default_rng(3)
    inputs = {name: rng.normal(size=np.shape(cdag.tensors[name])) for name in cdag.input_names}
    whole = pebble.evaluate(cdag, inputs)
    for M in (2, 5, 12):
        schedule = strategies.play("belady", Instance(cdag, M, rules))
        for name, array in pebble.execute(schedule, inputs).items():
            np.testing.assert_allclose(array, whole[name], rtol=1e-12, atol=1e-12)


def test_partial_computation_refuses_what_is_no_sum() -> None:
    cdag = graphs.build("matmul:2x3x2,fma=true")
    schedule = strategies.play("belady", Instance(cdag, 3, "partial"))
    inputs = {name: np.ones(np.shape(cdag.tensors[name])) for name in cdag.input_names}
    with pytest.raises(UnsupportedInstanceError, match="is FMA, whose operands cannot be aggregated"):
        pebble.execute(schedule, inputs)


def test_numbers_that_are_red_at_the_start() -> None:
    cdag = graphs.build("dot:4")
    inputs = {"x": np.arange(4.0), "y": np.arange(1.0, 5.0)}
    inputs = dict(zip(cdag.input_names, inputs.values(), strict=True))
    first = [v for v in range(cdag.num_vertices) if len(cdag.preds(v)) == 2]
    products = [v for v in first if cdag.is_source[cdag.preds(v)].all()]
    schedule = strategies.play("belady", Instance(cdag, 4, "one-shot", red_at_start=products[:2]))
    assert verify(schedule).io == 4 + 1
    whole = pebble.evaluate(cdag, inputs)
    for name, array in pebble.execute(schedule, inputs).items():
        np.testing.assert_array_equal(array, whole[name])


# -- files --------------------------------------------------------------------------------------------


def test_schedules_of_every_rule_set_come_back(tmp_path: Path) -> None:
    rng = random.Random(11)
    for number in range(40):
        instance = random_variant(rng, 6, random_rules(rng))
        game = Game(instance)
        for _ in range(12):
            if legal := game.legal_moves():
                game.push(rng.choice(legal))
        schedule = game.schedule("anyhow")
        path = tmp_path / f"{number}.txt"
        schedule.save(path, embed=True)
        again = Schedule.load(path)
        assert again == schedule
        assert again.instance.red_at_start == instance.red_at_start
        assert again.instance.rules == instance.rules


def test_what_is_red_at_the_start_is_checked(tmp_path: Path) -> None:
    instance = Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), 3, "one-shot", red_at_start=[0, 1])
    path = tmp_path / "s.txt"
    Schedule.from_moves(instance, ["C2", "S2"]).save(path, embed=True)
    text = path.read_text()
    assert "red_at_start: 0 1\n" in text
    for wrong, complaint in [("0 x", "no list of vertex ids"), ("0 7", "vertex 7, red at the start")]:
        path.write_text(text.replace("red_at_start: 0 1", f"red_at_start: {wrong}"))
        with pytest.raises(FormatError, match=rf"s\.txt:8: .*{complaint}"):
            Schedule.load(path)
    path.write_text(text.replace("M: 3", "M: 1"))
    with pytest.raises(FormatError, match="2 words are red at the start, M=1"):
        Schedule.load(path)


# -- the command line ---------------------------------------------------------------------------------


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_every_verb_names_the_rules(tmp_path: Path) -> None:
    path = str(tmp_path / "s.txt")
    told = run("play", "fft:4", "-M", "3", "-s", "belady", "--rules", "partial+compute=0.5", "-o", path)
    assert "rules partial+compute=0.5" in told
    told = run("verify", path)
    assert "partial+compute=0.5" in told
    assert re.search(r"compute cost +4\.0 *\n", told)
    assert json.loads(run("verify", path, "--json"))["compute_cost"] == 4.0
    told = run("show", path, "--at", "2")
    assert "rules partial+compute=0.5" in told
    assert re.search(r"(last|next) C\d+ \(\d into \d\)", told)
    shown = json.loads(run("show", path, "--at", "3", "--json"))
    assert shown["rules"] == "partial+compute=0.5"
    assert shown["io"] == shown["loads"] + shown["stores"]
    rules = "one-shot+load=2+sliding"
    document = json.loads(run("play", "fft:4", "-M", "3", "-s", "lru", "--rules", rules, "--json"))
    assert document["rules"] == "one-shot+sliding+load=2"


def test_rule_sets_that_are_none() -> None:
    result = CliRunner().invoke(app, ["play", "fft:4", "-M", "3", "--rules", "one-shot+slidng"])
    assert "did you mean 'sliding'?" in str(result.exception)
    told = run("list", "rules")
    for name in pebble.Rules.parts():
        assert name in told
