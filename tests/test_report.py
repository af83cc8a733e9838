"""The report: what it computes, how it judges, what it writes."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from experiments.grid import Run
from experiments.paper.claims import Claim, judge
from experiments.paper.devices import read_devices
from experiments.paper.document import Document, Picture, Section, Table
from experiments.paper.reproducing import scale_of
from experiments.paper.studies import Facts, backward, literal_blocks, study_runs
from experiments.running import describe
from pebble.cli.main import main
from pebble.errors import FormatError, PebbleError


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the quick report has been written by the command."""
    folder = tmp_path_factory.mktemp("report")
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        assert main(["report", "--quick", "-o", str(folder / "page.html"), "-q", "--json"]) == 0
    (folder / "answer.json").write_text(heard.getvalue())
    return folder


def rows_under(markdown: str, heading: str) -> list[list[str]]:
    section = markdown.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_claim_has_a_verdict_and_numbers(written: Path) -> None:
    rows = rows_under((written / "page.md").read_text(), "Claims")
    assert [row[0] for row in rows] == [f"C{i}" for i in range(1, 14)]
    assert all(re.search(r"\d", row[3]) for row in rows[:11])
    verdicts = {row[0]: row[2].strip("*") for row in rows}
    assert verdicts["C1"] == "holds"
    assert verdicts["C3"] == verdicts["C4"] == "false"
    assert verdicts["C7"] == "false without a term nd + d²"
    assert verdicts["C9"] == "false for k < 2√M"
    assert "the optimum is 33, the formula says 34.48" in rows[8][3]
    assert "optimum 9 in sequence, 11 as a tree" in rows[9][3]


def test_the_json_holds_the_claims(written: Path) -> None:
    answer = json.loads((written / "answer.json").read_text())
    rows = rows_under((written / "page.md").read_text(), "Claims")
    assert [
        [c["claim"], c["statement"], f"**{c['verdict']}**", c["numbers"]] for c in answer["claims"]
    ] == rows


def test_crossovers_are_near_those_of_a_fine_search(written: Path) -> None:
    (row,) = rows_under((written / "page.md").read_text(), "Crossovers")
    assert row[0] == "256, 16"
    # From counts in steps of d²/20, benchmarks/bench_crossover.py.
    expected = (1.15, 1.15, 0.90, 2.15, 1.90, 1.65)
    assert [float(cell) for cell in row[1:]] == pytest.approx(expected, abs=0.2)


def test_the_optimum_lies_between_bound_and_program(written: Path) -> None:
    rows = rows_under((written / "page.md").read_text(), "Regimes")
    assert len(rows) == len(scale_of(quick=True).ratios)
    for row in rows:
        published, best, bound = (int(cell.replace(",", "")) for cell in row[4:7])
        assert bound <= best <= published
        assert float(row[7]) == pytest.approx(best / bound, abs=0.005)


def test_algorithm_6_needs_no_more_operations(written: Path) -> None:
    rows = {row[0]: row for row in rows_under((written / "page.md").read_text(), "Operations")}
    assert rows["Algorithm 6, square tiles"][1] == rows["phase by phase"][1]
    assert float(rows["two passes"][2]) > 1.3


def test_the_page_needs_nothing_else(written: Path) -> None:
    page = (written / "page.html").read_text()
    assert len(page) < 2_000_000
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "<script" not in page
    assert page.count("<figure") == 4
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in set(re.findall(r'href="#([^"]+)"', page)):
        assert target in ids, target


def test_markdown_names_its_pictures(written: Path) -> None:
    markdown = (written / "page.md").read_text()
    names = re.findall(r"!\[.*\]\((.*)\)", markdown)
    assert len(names) == 4
    for name in names:
        assert ElementTree.fromstring((written / name).read_text()).tag.endswith("svg")


def test_the_verb_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-o", str(tmp_path / "page.pdf")]) == 2
    assert "does not end in .html" in capsys.readouterr().err
    assert main(["report", "-o", str(tmp_path / "none" / "page.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def counted(program: str, n: int, d: int, M: int, words: int | None) -> dict[str, Any]:
    run = Run(backward(n, d), M, "hong-kung", "count", program)
    return describe(run) | {"status": "feasible" if words else "not-applicable", "io": words}


def test_a_crossing_is_interpolated() -> None:
    # 100·M^-1 against 10·M^-1/2 in units of d²: they cross at 1 when d = 10.
    ratios = (0.25, 0.5, 2.0, 4.0)
    small = [counted("s", 16, 10, int(r * 100), round(1e6 / math.sqrt(r))) for r in ratios]
    large = [counted("l", 16, 10, int(r * 100), round(1e6 / r)) for r in ratios]
    large[0]["io"] = None
    facts = Facts([*small, *large])
    assert facts.crossing("s", "l", 16, 10, ratios) == pytest.approx(1, rel=1e-5)
    assert facts.crossing("l", "s", 16, 10, ratios) == math.inf
    assert facts.crossing("s", "l", 16, 10, ratios[:2]) == math.inf


def test_a_failed_run_stops_the_report() -> None:
    record = counted("s", 16, 10, 100, None) | {"status": "failed", "error": "no room"}
    with pytest.raises(PebbleError, match=r"a run of the report failed: s on .* no room"):
        Facts([record])


def test_the_full_report_asks_for_no_run_twice() -> None:
    runs = study_runs(scale_of())
    assert len(runs) == len(set(runs)) > 1000


def test_verdicts_follow_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world in which the product's optimum were 40 would not refute the formula."""
    from experiments.paper import claims

    class World:
        def __init__(self, status: str, cost: int) -> None:
            self.answer = {"status": status, "io": cost, "lower_bound": 30}

        def optimum(self, graph: str, M: int, rules: str = "hong-kung") -> dict[str, Any]:
            return self.answer

    monkeypatch.setattr(claims, "_CLAIMS", (claims._CLAIMS[8],))
    for status, cost, verdict in (
        ("optimal", 33, "false for k < 2√M"),
        ("optimal", 40, "not refuted here"),
        ("feasible", 33, "not decided here"),
    ):
        world: Any = World(status, cost)
        (claim,) = judge(world, scale_of(quick=True))
        assert isinstance(claim, Claim)
        assert claim.verdict == verdict


def test_literal_blocks_are_those_printed() -> None:
    assert literal_blocks(64, 4096) == "flash-attention-1:block_columns=16:block_rows=16"
    assert literal_blocks(16, 4096) == "flash-attention-1:block_columns=64:block_rows=16"


def test_devices_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "devices.toml"
    file.write_text('[[device]]\nname = "mine"\nmemory_kib = 48\n[[word]]\nname = "16-bit"\nbytes = 2\n')
    (device,) = read_devices(file)
    assert (device.name, device.word, device.M) == ("mine", "16-bit", 24_576)
    for text, message in (("[[device]", "no TOML"), ('[[device]]\nname = "x"', "needs name and memory_kib")):
        file.write_text(text)
        with pytest.raises(FormatError, match=message):
            read_devices(file)


def test_documents_are_escaped() -> None:
    picture = Picture("p", '<?xml version="1.0"?><svg><g id="a"/><use href="#a"/></svg>', "A < B. Rest")
    table = Table(("a", "b|c"), [("`x<y`", "**1**")])
    document = Document("T & U", "Some text.", [Section("One", ["x < y", table, picture])])
    page = document.html()
    assert "<title>T &amp; U</title>" in page
    assert "<code>x&lt;y</code>" in page
    assert "<td class=figure><strong>1</strong></td>" in page
    assert '<g id="p-a"/><use href="#p-a"/>' in page
    markdown = document.markdown("folder")
    assert "| a | b\\|c |" in markdown
    assert "![A < B](folder/p.svg)" in markdown
