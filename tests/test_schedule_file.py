"""Schedule files: they come back as they went, and every kind of damage is named with its line."""

from __future__ import annotations

import gzip
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.cdag import CDAG
from pebble.errors import FormatError, IllegalMoveError
from pebble.formats import tokens
from pebble.formats.schedule_file import read_header
from pebble.instance import Instance
from pebble.referee import verify
from pebble.schedule import Schedule
from tests.games import play_through, random_instance

TEXT = """\
red-blue-pebble schedule 1
graph: custom
digest: sha256:{digest}
num_vertices: 4
num_edges: 3
M: 3
rules: one-shot
producer: belady:order=dfs
seed: 7
claim: 3
info: {{"block": [4, 2]}}
embedded: yes
moves: 7

edges
0 2
1 2
2 3

outputs
2

labels
["a", "b", "moves", 7]

moves
L0 L1 C2 D0 S2 C3 S3
end
"""


def graph() -> CDAG:
    return CDAG.from_edges(4, [(0, 2), (1, 2), (2, 3)], outputs=[2], labels=["a", "b", "moves", 7])


def schedule() -> Schedule:
    return Schedule.from_moves(
        Instance(graph(), 3, "one-shot"),
        ["L0", "L1", "C2", "D0", "S2", "C3", "S3"],
        producer="belady:order=dfs",
        claim=3,
        seed=7,
        info={"block": np.array([4, 2])},
    )


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- there and back -----------------------------------------------------------------------------------


def test_the_file_reads_as_documented(tmp_path: Path) -> None:
    schedule().save(tmp_path / "a.schedule", embed=True)
    assert (tmp_path / "a.schedule").read_text() == TEXT.format(digest=graph().digest)


def test_the_example_in_the_documentation_loads(tmp_path: Path) -> None:
    document = (Path(__file__).parent.parent / "docs" / "schedule-file.md").read_text()
    example = document.split("```text\n")[1].split("```")[0]
    loaded = Schedule.load(written(tmp_path / "a", example))
    assert verify(loaded).io == loaded.claim


@pytest.mark.parametrize("name", ["a.schedule", "a.schedule.gz"])
@pytest.mark.parametrize("embed", [False, True])
def test_everything_comes_back(tmp_path: Path, name: str, embed: bool) -> None:
    schedule().save(tmp_path / name, embed=embed)
    loaded = Schedule.load(tmp_path / name, None if embed else graph())
    assert loaded == schedule()
    assert loaded.moves.dtype == np.uint32
    assert (loaded.producer, loaded.claim, loaded.seed) == ("belady:order=dfs", 3, 7)
    assert loaded.info == {"block": [4, 2]}
    assert loaded.instance.cdag.labels == graph().labels
    header = read_header(tmp_path / name)
    assert (header.graph, header.M, header.rules.name, header.num_moves) == ("custom", 3, "one-shot", 7)
    assert (header.num_vertices, header.num_edges, header.embedded) == (4, 3, embed)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_random_schedules_come_back(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    instance = random_instance(rng)
    instance = instance.with_memory(instance.least_M + 1)
    played = play_through(instance, rng)
    path = tmp_path_factory.mktemp("random") / "s"
    played.save(path, embed=True)
    assert Schedule.load(path) == played
    assert Schedule.load(path, instance.cdag) == played


def test_a_spec_is_kept_in_the_header(tmp_path: Path) -> None:
    cdag = CDAG.from_edges(2, [(0, 1)], family="chain", params={"n": 2})
    Schedule.from_moves(Instance(cdag, 2), ["L0", "C1", "S1"]).save(tmp_path / "s")
    assert read_header(tmp_path / "s").graph == "chain:n=2"


def test_no_moves_and_no_vertices(tmp_path: Path) -> None:
    empty = Schedule.from_moves(Instance(CDAG.from_edges(0, []), 1), [])
    empty.save(tmp_path / "s", embed=True)
    loaded = Schedule.load(tmp_path / "s")
    assert loaded == empty
    assert loaded.moves.dtype == np.uint32


def test_line_breaks_in_the_producers_name_become_spaces(tmp_path: Path) -> None:
    Schedule.from_moves(Instance(graph(), 3), [], producer="me\nmoves: 3").save(tmp_path / "s")
    assert read_header(tmp_path / "s").producer == "me moves: 3"


def test_other_line_ends_and_wrappings(tmp_path: Path) -> None:
    text = TEXT.format(digest=graph().digest)
    assert Schedule.load(written(tmp_path / "crlf", text.replace("\n", "\r\n"))) == schedule()
    wrapped = text.replace("L0 L1 C2 D0 S2 C3 S3", "L0\n\tL1  C2\n\n D0 S2\nC3 S3 ")
    assert Schedule.load(written(tmp_path / "wrapped", wrapped)) == schedule()


def test_a_vertex_beyond_the_graph_is_left_to_the_referee(tmp_path: Path) -> None:
    text = TEXT.format(digest=graph().digest).replace("C3 S3", "C3 S99999999999")
    loaded = Schedule.load(written(tmp_path / "s", text))
    with pytest.raises(IllegalMoveError, match="vertex 99999999999 is out of range"):
        verify(loaded)


def test_long_schedules_go_through_the_compiled_loops(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 3_000_000
    cdag = CDAG(indptr=np.zeros(n + 1, dtype=np.int32), indices=np.empty(0, dtype=np.int32))
    moves = (rng.integers(0, 10 ** rng.integers(1, 7, 1_200_001)) % n << 2 | 3).astype(np.uint32)
    long = Schedule(Instance(cdag, 1), moves)
    for name in ("s", "s.gz"):
        long.save(tmp_path / name)
        loaded = Schedule.load(tmp_path / name, cdag)
        assert np.array_equal(loaded.moves, moves)
        assert loaded.moves.dtype == np.uint32
    lines = (tmp_path / "s").read_bytes().split(b"\n")
    lines[70_000] = lines[70_000].replace(b"D", b"Q", 1)
    with pytest.raises(FormatError, match=r"s:70001: 'Q\d+' is no move"):
        Schedule.load(written(tmp_path / "s", b"\n".join(lines)), cdag)


def test_long_and_short_texts_are_read_and_written_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    codes = np.array([rng.randrange(1 << rng.randrange(1, 59)) for _ in range(1000)], dtype=np.uint64)
    numbers = (codes >> np.uint64(3)).astype(np.int64)
    texts = [b"".join(tokens.moves_text(codes, 16)), b"".join(tokens.numbers_text(numbers, 2))]
    bad = [b"L1 X2", b"L1\nS", b"C-3", b"D3x", b"L1234567890123456789", b"S1\x0bS2", b"l3", b"L \xff"]
    complaints = []
    for threshold in (1 << 18, 0):
        monkeypatch.setattr(tokens, "_COMPILE_FROM", threshold)
        assert texts == [b"".join(tokens.moves_text(codes, 16)), b"".join(tokens.numbers_text(numbers, 2))]
        assert np.array_equal(tokens.read_moves(texts[0], "f", 1), codes)
        assert np.array_equal(tokens.read_numbers(texts[1], "f", 1), numbers)
        for text in bad:
            with pytest.raises(FormatError) as caught:
                tokens.read_moves(text, "f", 1)
            complaints.append(str(caught.value))
            with pytest.raises(FormatError, match="is no whole number"):
                tokens.read_numbers(b"1 2\n" + text, "f", 1)
    assert complaints[: len(bad)] == complaints[len(bad) :]
    assert complaints[1] == "f:2: 'S' is no move: write L, S, C or D and a vertex id"


# -- damage -------------------------------------------------------------------------------------------


def replaced(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


@pytest.mark.parametrize(
    ("edit", "line", "complaint"),
    [
        (lambda text: "", None, "the file is empty"),
        (lambda text: "\n" + text, 1, "this is no schedule file"),
        (lambda text: "{}", 1, "this is no schedule file"),
        (replaced("schedule 1", "schedule 2"), 1, "format version '2' is not known"),
        (replaced("schedule 1", "schedule 1x"), 1, "format version '1x' is not known"),
        (replaced("graph: custom\n", ""), 13, "the header ends without 'graph'"),
        (replaced("moves: 7\n", ""), 13, "the header ends without 'moves'"),
        (replaced("M: 3\n", ""), 13, "the header ends without 'M'"),
        (replaced("M: 3", "M: 2.5"), 6, "M '2.5' is no whole number"),
        (replaced("M: 3", "M: 0"), 6, "M 0 is out of range"),
        (replaced("M: 3", "M: -1"), 6, "M -1 is out of range"),
        (replaced("M: 3", "M 3"), 6, "'M 3' is no 'key: value'"),
        (replaced("M: 3", "memory: 3"), 6, "unknown key 'memory'"),
        (replaced("M: 3", "M: 3\nM: 4"), 7, "'M' is given twice"),
        (replaced("rules: one-shot", "rules: one-shoot"), 7, "did you mean 'one-shot'"),
        (replaced("claim: 3", "claim: three"), 10, "claim 'three' is no whole number"),
        (replaced("seed: 7", "seed: 1e3"), 9, "seed '1e3' is no whole number"),
        (replaced('{"block": [4, 2]}', "{block}"), 11, "info is no JSON object"),
        (replaced('{"block": [4, 2]}', "[1]"), 11, "info is no JSON object"),
        (replaced("embedded: yes", "embedded: maybe"), 12, "embedded must be 'yes' or 'no'"),
        (replaced("sha256:", "md5:"), 3, "digest is not 'sha256:'"),
        (replaced("num_vertices: 4", "num_vertices: 5"), None, "4 labels for 5 vertices"),
        (replaced("num_vertices: 4", "num_vertices: 3"), None, "embedded graph is damaged: .* out of range"),
        (replaced("num_edges: 3", "num_edges: 4"), None, "section 'edges' holds 6 numbers"),
        (replaced("1 2\n2 3", "1 2\n2 2"), None, "embedded graph is damaged: vertex 2 has an edge to itself"),
        (replaced("1 2\n2 3", "1 2\n1 2"), None, "embedded graph is damaged: 1 duplicate edge"),
        (replaced("0 2\n1 2\n2 3", "3 2\n1 2\n2 3"), None, "the graph has a cycle: 2 -> 3 -> 2"),
        (replaced("0 2\n1 2", "1 2\n0 2"), 3, "belongs to another graph.* differ"),
        (replaced("0 2\n1 2", "0 2\n-1 2"), 17, "'-1' is no whole number"),
        (replaced("outputs\n2", "outputs\n9"), None, "an output is out of range"),
        (replaced('["a", "b", "moves", 7]', '["a", "b", "moves", 7'), 24, "the labels are no JSON"),
        (replaced('["a", "b", "moves", 7]', '["a", 1.5]'), 24, "no list of strings and integers"),
        (replaced('["a", "b", "moves", 7]', '["a"]'), None, "1 labels for 4 vertices"),
        (replaced("outputs\n2", "outputs\n2\n\noutputs\n2"), 23, "section 'outputs' is given twice"),
        (replaced("edges\n0 2\n1 2\n2 3\n", ""), None, "there is no section 'edges'"),
        (replaced("outputs\n", "sources\n"), 20, "'sources' is no whole number"),
        (replaced("moves: 7\n\n", "moves: 7\n\nsources\n3\n"), 15, "'sources' is no section"),
        (replaced("moves: 7\n", "moves: 8\n"), 27, "holds 7 moves, its header says 8"),
        (replaced(" D0 S2", " S2"), 27, "holds 6 moves, its header says 7"),
        (replaced("D0", "X0"), 27, "'X0' is no move"),
        (replaced("D0", "D"), 27, "'D' is no move"),
        (replaced("D0 S2", "D0\nS2,"), 28, "'S2,' is no move"),
        (replaced("D0", "D" + "9" * 19), 27, "is no move"),
        (replaced("\nend\n", "\n"), 27, "cut off: there is no line 'end'"),
        (replaced("S3\nend\n", "S"), 27, "'S' is no move"),
        (replaced("\nmoves\nL0", "\nL0"), 24, "the labels are no JSON"),
        (replaced("\nend\n", "\nend\nC3\n"), 29, "'C3' stands after the line 'end'"),
        (replaced("\nend\n", "\nweights\n1 1 1 1\nend\n"), 28, "'weights' comes after the moves"),
    ],
)
def test_hand_edited_files(
    tmp_path: Path, edit: Callable[[str], str], line: int | None, complaint: str
) -> None:
    path = written(tmp_path / "s", edit(TEXT.format(digest=graph().digest)))
    with pytest.raises(FormatError, match=complaint) as caught:
        Schedule.load(path)
    assert "\n" not in str(caught.value)
    assert caught.value.file == str(path)
    assert caught.value.line == line


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    text = TEXT.format(digest=graph().digest)
    for size in range(len(text) - 1):
        path = written(tmp_path / "s", text[:size])
        with pytest.raises(FormatError):
            Schedule.load(path)


def test_every_truncation_of_gzip_is_noticed(tmp_path: Path) -> None:
    schedule().save(tmp_path / "whole.gz", embed=True)
    data = (tmp_path / "whole.gz").read_bytes()
    for size in range(len(data)):
        with pytest.raises(FormatError):
            Schedule.load(written(tmp_path / "s.gz", data[:size]))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_garbage_is_a_format_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, after_header: bool, packed: bool
) -> None:
    if after_header:
        data = TEXT.format(digest=graph().digest).encode()[:-20] + data
    path = tmp_path_factory.mktemp("garbage") / ("s.gz" if packed else "s")
    with pytest.raises(FormatError):
        Schedule.load(written(path, gzip.compress(data) if packed else data))


def test_damaged_gzip_says_so(tmp_path: Path) -> None:
    schedule().save(tmp_path / "s.gz", embed=True)
    data = bytearray((tmp_path / "s.gz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(FormatError, match=r"gzip data is damaged|no move|no 'key"):
        Schedule.load(written(tmp_path / "s.gz", bytes(data)))
    with pytest.raises(FormatError, match=r"ends in \.gz, but this is no gzip data"):
        Schedule.load(written(tmp_path / "s.gz", TEXT))
    with pytest.raises(FormatError, match="cut off"):
        read_header(written(tmp_path / "s.gz", gzip.compress(TEXT.encode())[:20]))


def test_a_gzipped_file_under_a_plain_name_is_read(tmp_path: Path) -> None:
    schedule().save(tmp_path / "s.gz", embed=True)
    (tmp_path / "s.gz").rename(tmp_path / "s")
    assert Schedule.load(tmp_path / "s") == schedule()


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        Schedule.load(tmp_path / "absent")
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        Schedule.load(tmp_path)


def test_another_graph(tmp_path: Path) -> None:
    schedule().save(tmp_path / "s")
    with pytest.raises(FormatError, match="does not hold its graph: build 'custom'"):
        Schedule.load(tmp_path / "s")
    with pytest.raises(FormatError, match=r"s:4: .* with 4 vertices and 3 edges, not 2 and 1"):
        Schedule.load(tmp_path / "s", CDAG.from_edges(2, [(0, 1)]))
    heavier = CDAG.from_edges(4, graph().edges(), outputs=[2], weights=[1, 1, 1, 2])
    with pytest.raises(FormatError, match=r"s:3: .* edges, weights or outputs differ"):
        Schedule.load(tmp_path / "s", heavier)


def test_labels_that_text_cannot_hold(tmp_path: Path) -> None:
    cdag = CDAG.from_edges(2, [(0, 1)], labels=[("i", 0), "j"])
    played = Schedule.from_moves(Instance(cdag, 2), ["L0", "C1", "S1"])
    with pytest.raises(FormatError, match=r"label \('i', 0\) of vertex 0 is neither"):
        played.save(tmp_path / "s", embed=True)
    assert list(tmp_path.iterdir()) == []
    played.save(tmp_path / "s")
    assert Schedule.load(tmp_path / "s", cdag) == played


# -- writing is all or nothing ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s", "s.gz"])
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule().save(tmp_path / name)
    before = (tmp_path / name).read_bytes()

    def failing(*_: object) -> object:
        yield b"L0 "
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pebble.formats.schedule_file.moves_text", failing)
    with pytest.raises(FormatError, match="cannot be written: No space left on device"):
        schedule().save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_overwriting_keeps_the_mode_and_follows_links(tmp_path: Path) -> None:
    schedule().save(tmp_path / "s")
    os.chmod(tmp_path / "s", 0o640)
    (tmp_path / "link").symlink_to("s")
    schedule().save(tmp_path / "link", embed=True)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o640
    assert Schedule.load(tmp_path / "s") == schedule()


def test_a_device_is_written_to_not_replaced() -> None:
    schedule().save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be written: No such file"):
        schedule().save(tmp_path / "absent" / "s")


def test_the_same_schedule_gives_the_same_bytes(tmp_path: Path) -> None:
    schedule().save(tmp_path / "a.gz")
    schedule().save(tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_infinite_numbers_in_the_notes_are_texts(tmp_path: Path) -> None:
    info = {"gap": float("inf"), "seen": [1, float("nan")], "M": 3}
    noted = Schedule(Instance(graph(), 3), schedule().moves, info=info)
    noted.save(tmp_path / "s")
    text = (tmp_path / "s").read_text()
    assert 'info: {"M": 3, "gap": "inf", "seen": [1, "nan"]}' in text
    assert Schedule.load(tmp_path / "s", graph()).info == {"gap": "inf", "seen": [1, "nan"], "M": 3}
    (tmp_path / "s").write_text(text.replace('"inf"', "Infinity"))
    with pytest.raises(FormatError, match="info is no JSON object") as caught:
        Schedule.load(tmp_path / "s", graph())
    assert caught.value.line is not None
