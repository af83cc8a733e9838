"""Generic strategies against the proved optima: legal, never below, and on average no worse than recorded.

``python -m tests.test_strategy_gaps`` plays every strategy of SPECS and rewrites tests/strategy_gaps.json.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pebble
import strategies
from strategies.orders import ORDERS
from tests.oracle import RULE_SETS, oracle_values

FILE = Path(__file__).with_name("strategy_gaps.json")
SPECS = ["belady", "belady:stores=ignore", "lru", "fifo", "random", *(f"belady:order={o}" for o in ORDERS)]


def mean_gap(spec: str, rules: str) -> float:
    """Mean of (I/O - optimum) / optimum over all feasible values; every schedule is refereed."""
    gaps = []
    for graph, instance, optimum in oracle_values(rules):
        assert optimum is not None
        schedule = strategies.play(spec, instance)
        cost = pebble.verify(schedule)
        where = f"{spec} on {graph.name}, M={instance.M}, {rules}"
        assert cost.io >= optimum, f"{where}: I/O {cost.io} is below the optimum {optimum}"
        assert cost.io == schedule.claim, f"{where}: claims {schedule.claim}, costs {cost.io}"
        assert cost.peak_red <= instance.M, where
        gaps.append((cost.io - optimum) / max(optimum, 1))
    return sum(gaps) / len(gaps)


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("spec", SPECS)
def test_no_strategy_got_worse(spec: str, rules: str) -> None:
    recorded = json.loads(FILE.read_text())[spec][rules]
    gap = mean_gap(spec, rules)
    assert gap <= recorded + 1e-9, f"the mean gap of {spec} rose from {recorded:.6f} to {gap:.6f}"


def test_the_default_is_within_two_percent() -> None:
    recorded = json.loads(FILE.read_text())
    assert list(recorded) == SPECS
    assert all(recorded["belady"][rules] < 0.02 for rules in RULE_SETS)
    assert all(min(r[rules] for r in recorded.values()) == recorded["belady"][rules] for rules in RULE_SETS)


def main() -> None:
    table = {spec: {rules: mean_gap(spec, rules) for rules in RULE_SETS} for spec in SPECS}
    FILE.write_text(json.dumps(table, indent=1) + "\n")
    for spec, gaps in table.items():
        print(f"{spec:<26}" + "".join(f"  {rules} {gap:7.2%}" for rules, gap in gaps.items()))


if __name__ == "__main__":
    main()
