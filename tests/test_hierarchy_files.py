"""Schedule files of several levels: they come back as they went, and damage is named with its line."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import graphs
import pebble
import strategies
from pebble import Hierarchy, HierarchySchedule, verify_hierarchy
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.errors import FormatError, IllegalMoveError, UnsupportedInstanceError
from pebble.formats import hierarchy_tokens, tokens
from pebble.formats.hierarchy_file import is_hierarchy_file, read_header
from pebble.rules import Rules

TEXT = """\
red-blue-pebble hierarchy schedule 1
graph: custom
digest: sha256:{digest}
num_vertices: 3
num_edges: 2
M: 3,4
costs: 1,10
rules: one-shot
producer: by hand
seed: 7
claim: 33
info: {{"runs": 2}}
embedded: yes
moves: 8

edges
0 2
1 2

labels
["a", "b", "moves"]

moves
L2:0 L1:0 L2:1 L1:1 C1:2 D1:0 S1:2 S2:2
end
"""


def graph() -> CDAG:
    return CDAG.from_edges(3, [(0, 2), (1, 2)], labels=["a", "b", "moves"])


def example(tmp_path: Path, edit: Callable[[str], str] = lambda text: text) -> Path:
    path = tmp_path / "s"
    path.write_text(edit(TEXT.format(digest=graph().digest)))
    return path


def same(one: HierarchySchedule, other: HierarchySchedule) -> bool:
    return (
        one.cdag == other.cdag
        and one.hierarchy == other.hierarchy
        and np.array_equal(one.moves, other.moves)
        and (one.producer, one.rules, one.claim, one.seed)
        == (other.producer, other.rules, other.claim, other.seed)
        and dict(one.info) == dict(other.info)
    )


def test_the_file_reads_as_documented(tmp_path: Path) -> None:
    loaded = HierarchySchedule.load(example(tmp_path))
    assert verify_hierarchy(loaded).total == loaded.claim == 33
    assert (loaded.rules.name, loaded.seed, loaded.info) == ("one-shot", 7, {"runs": 2})
    loaded.save(tmp_path / "again", embed=True)
    assert (tmp_path / "again").read_text() == example(tmp_path).read_text()
    header = read_header(tmp_path / "s")
    assert (header.graph, header.hierarchy, header.num_moves) == ("custom", Hierarchy((3, 4), (1, 10)), 8)


def test_the_example_in_the_documentation_is_legal(tmp_path: Path) -> None:
    document = (Path(__file__).parent.parent / "docs" / "formats.md").read_text()
    text = next(part for part in document.split("```text\n") if part.startswith("red-blue-pebble hierarchy"))
    (tmp_path / "s").write_text(text.split("```")[0])
    loaded = HierarchySchedule.load(tmp_path / "s")
    assert verify_hierarchy(loaded).total == loaded.claim


@pytest.mark.parametrize("name", ["a.schedule", "a.schedule.gz"])
@pytest.mark.parametrize("embed", [False, True])
@pytest.mark.parametrize("rules", ["hong-kung", "one-shot"])
def test_played_schedules_come_back(tmp_path: Path, name: str, embed: bool, rules: str) -> None:
    g = graphs.build("fft:16")
    played = strategies.play_hierarchy("blocked/belady", g, Hierarchy((6, 16, 40), (1, 5, 25)), rules=rules)
    played.save(tmp_path / name, embed=embed)
    assert is_hierarchy_file(tmp_path / name)
    assert same(HierarchySchedule.load(tmp_path / name, g), played)
    if embed:
        alone = HierarchySchedule.load(tmp_path / name)
        assert verify_hierarchy(alone) == verify_hierarchy(played)
    else:
        with pytest.raises(FormatError, match="does not hold its graph: build 'fft:n=16'"):
            HierarchySchedule.load(tmp_path / name)


def test_weights_and_outputs_come_back(tmp_path: Path) -> None:
    g = CDAG.from_edges(4, [(0, 1), (1, 2), (2, 3)], weights=[2, 1, 3, 1], outputs=[1])
    played = strategies.play_hierarchy("belady", g, Hierarchy((4, 6), (1, 3)))
    played.save(tmp_path / "s", embed=True)
    assert same(HierarchySchedule.load(tmp_path / "s"), played)
    assert verify_hierarchy(played).total == played.claim


def replaced(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


@pytest.mark.parametrize(
    ("edit", "line", "complaint"),
    [
        (lambda text: "", None, "the file is empty"),
        (lambda text: "\n" + text, 1, "this is no hierarchy schedule file"),
        (replaced("hierarchy schedule 1", "schedule 1"), 1, "this is no hierarchy schedule file"),
        (replaced("schedule 1", "schedule 2"), 1, "format version '2' is not known"),
        (replaced("M: 3,4\n", ""), 14, "the header ends without 'M'"),
        (replaced("costs: 1,10\n", ""), 14, "the header ends without 'costs'"),
        (replaced("M: 3,4", "M: 4,4"), 6, "level 2 has 4 words, level 1 has 4: levels must grow"),
        (replaced("M: 3,4", "M: 3,four"), 6, "M 'four' is no whole number"),
        (replaced("M: 3,4", "M: 0,4"), 6, "M 0 is out of range"),
        (replaced("M: 3,4", "M: " + ",".join(map(str, range(1, 32)))), 6, "31 levels of memory"),
        (replaced("costs: 1,10", "costs: 1"), 7, "give 2 whole numbers"),
        (replaced("costs: 1,10", "costs: 1,-1"), 7, "costs -1 is out of range"),
        (replaced("rules: one-shot", "rules: one-shoot"), 8, "did you mean 'one-shot'"),
        (replaced("rules: one-shot", "rules: one-shot+sliding"), 8, "have hong-kung or one-shot rules"),
        (replaced("claim: 33", "claim: x"), 11, "claim 'x' is no whole number"),
        (replaced('{"runs": 2}', "[]"), 12, "info is no JSON object"),
        (replaced("embedded: yes", "embedded: maybe"), 13, "embedded must be"),
        (replaced("sha256:", "md5:"), 3, "digest is not"),
        (replaced("num_edges: 2", "num_edges: 3"), None, "section 'edges' holds 4 numbers"),
        (replaced("0 2\n1 2", "1 2\n0 2"), 3, "belongs to another graph.* differ"),
        (replaced("moves: 8", "moves: 9"), 24, "holds 8 moves, its header says 9"),
        (replaced("C1:2", "C2"), 24, "'C2' is no move of several levels"),
        (replaced("C1:2", "C1:"), 24, "'C1:' is no move of several levels"),
        (replaced("C1:2", "C64:2"), 24, "'C64:2' is no move"),
        (replaced("C1:2", "C01:2"), 24, "'C01:2' is no move"),
        (replaced("C1:2", "C1:12345678901234567"), 24, "is no move"),
        (replaced("D1:0 S1:2", "D1:0\nS1:2,"), 25, "'S1:2,' is no move"),
        (replaced("\nend\n", "\n"), 24, "cut off: there is no line 'end'"),
        (replaced("\nend\n", "\nend\nC1:2\n"), 26, "stands after the line 'end'"),
    ],
)
def test_damage_is_named(
    tmp_path: Path, edit: Callable[[str], str], line: int | None, complaint: str
) -> None:
    path = example(tmp_path, edit)
    with pytest.raises(FormatError, match=complaint) as caught:
        HierarchySchedule.load(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    text = TEXT.format(digest=graph().digest)
    packed = gzip.compress(text.encode())
    for size in range(len(text) - 1):
        with pytest.raises(FormatError):
            HierarchySchedule.load(example(tmp_path, lambda text, size=size: text[:size]))  # type: ignore[misc]
    for size in range(0, len(packed), 3):
        (tmp_path / "s.gz").write_bytes(packed[:size])
        with pytest.raises(FormatError):
            HierarchySchedule.load(tmp_path / "s.gz")


def test_a_move_out_of_range_is_left_to_the_referee(tmp_path: Path) -> None:
    far = HierarchySchedule.load(example(tmp_path, replaced("S2:2", "S2:999999999999")))
    with pytest.raises(IllegalMoveError, match="vertex 999999999999 is out of range"):
        verify_hierarchy(far)
    high = HierarchySchedule.load(example(tmp_path, replaced("S2:2", "S63:2")))
    with pytest.raises(IllegalMoveError, match="level 63 is out of range"):
        verify_hierarchy(high)


def test_another_graph_is_refused(tmp_path: Path) -> None:
    path = example(tmp_path)
    with pytest.raises(FormatError, match=r"s:4: .* with 3 vertices and 2 edges, not 2 and 1"):
        HierarchySchedule.load(path, CDAG.from_edges(2, [(0, 1)]))
    with pytest.raises(FormatError, match="of several levels"):
        pebble.Schedule.load(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = HierarchySchedule.load(example(tmp_path))
    before = (tmp_path / "s").read_bytes()

    def failing(*_: object) -> object:
        yield b"L1:0 "
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pebble.formats.hierarchy_file.moves_text", failing)
    with pytest.raises(FormatError, match="cannot be written: No space left on device"):
        loaded.save(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_long_and_short_texts_are_read_and_written_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    codes = np.array(
        [rng.randrange(1 << rng.randrange(1, 53)) << 8 | rng.randrange(256) for _ in range(1000)],
        dtype=np.uint64,
    )
    bad = [
        b"L1:1 X2:1",
        b"L1:1\nS:1",
        b"C-3:1",
        b"D3:",
        b"D3:1x",
        b"L1",
        b"L64:1",
        b"L00:1",
        b"L1:12345678901234567",
    ]
    bad += [b"L1:2:3", b"L1: 2", b"l1:2", b"L1:\xff"]
    texts, complaints = [], []
    for threshold in (1 << 18, 0):
        monkeypatch.setattr(tokens, "_COMPILE_FROM", threshold)
        texts.append(b"".join(hierarchy_tokens.moves_text(codes, 16)))
        assert np.array_equal(hierarchy_tokens.read_moves(texts[-1], "f", 1), codes)
        for text in bad:
            with pytest.raises(FormatError) as caught:
                hierarchy_tokens.read_moves(text, "f", 1)
            complaints.append(str(caught.value))
    assert texts[0] == texts[1]
    assert complaints[: len(bad)] == complaints[len(bad) :]


def test_one_shot_refuses_a_second_compute() -> None:
    g = CDAG.from_edges(2, [(0, 1)])
    text = ["L0", "C1", "S1", "D1", "C1"]
    moves = [pebble.HierarchyMove(pebble.Move.parse(m).op, 1, pebble.Move.parse(m).vertex) for m in text]
    free = HierarchySchedule.from_moves(g, Hierarchy((2,)), moves)
    assert verify_hierarchy(free).recomputes == 1
    once = HierarchySchedule.from_moves(g, Hierarchy((2,)), moves, rules=Rules.named("one-shot"))
    with pytest.raises(IllegalMoveError, match="1 has been computed before") as caught:
        verify_hierarchy(once)
    assert (caught.value.index, caught.value.reason) == (4, "already computed")
    with pytest.raises(UnsupportedInstanceError, match="not one-shot\\+sliding"):
        HierarchySchedule.from_moves(g, Hierarchy((2,)), [], rules=Rules.named("one-shot+sliding"))


def test_the_command_line_saves_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "s.schedule.gz")
    play = ["hierarchy", "matmul:4x4x4", "-M", "8,24", "--costs", "1,10", "-s", "belady,tiled", "-o", file]
    assert main([*play, "--json"]) == 0
    best = min(json.loads(capsys.readouterr().out)["results"], key=lambda row: row["total"])
    assert main(["verify", file, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["legal"]
    assert document["producer"] == best["strategy"]
    for key in ("total", "io", "loads", "stores", "peak", "computes", "recomputes"):
        assert document[key] == best[key]
    assert (document["M"], document["costs"], document["claim"]) == ([8, 24], [1, 10], best["total"])
    assert main(["verify", file]) == 0
    assert "total cost" in capsys.readouterr().out
    for verb in (["show", file], ["info", file], ["convert", file, str(tmp_path / "x.dot")]):
        assert main(verb) == 2
        assert "a schedule of several levels" in capsys.readouterr().err


def test_the_command_line_finds_false_claims_and_illegal_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(example(tmp_path, replaced("claim: 33", "claim: 32")))]) == 1
    assert "claims a total cost of 32, it costs 33" in capsys.readouterr().err
    assert main(["verify", str(example(tmp_path, replaced("L1:1 C1:2", "D1:0 C1:2"))), "--json"]) == 1
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert (document["legal"], document["index"], document["move"]) == (False, 4, "C1:2")
    assert "needs predecessor 0 in level 1" in said.err
    assert main(["verify", str(example(tmp_path, replaced("D1:0 S1:2 S2:2", "D1:0 D2:0 D2:1")))]) == 1
    assert "the schedule is illegal" in capsys.readouterr().err
