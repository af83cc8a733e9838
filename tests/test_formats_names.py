"""Packed names and labels: they behave like the dictionary and the tuple that they stand for."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from pebble import labels, topology
from pebble.cdag import CDAG
from pebble.formats import edge_list, json_text, names, parse_graph, read_graph, write_graph
from pebble.formats.assembling import Lines
from pebble.formats.names import Column, NameTable, Texts
from pebble.labels import IntegerLabels, PackedLabels, TextLabels


@pytest.mark.parametrize("bits", [62, 3])
def test_a_table_of_names_is_a_dictionary(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_RECENT", 7)
    monkeypatch.setattr(names, "_FIRST_SLOTS", 4)
    monkeypatch.setattr(names, "_PER_BLOCK", 16)
    monkeypatch.setattr(names, "_LONG_TEXTS", 40)
    # With three bits most names share their hash with others.
    monkeypatch.setattr(names, "hash", lambda name: hash(name) & (1 << bits) - 1, raising=False)
    rng = random.Random(bits)
    for _ in range(12):
        table, expected = NameTable(), dict[bytes, int]()
        pool = [b"", *(b"n%d" % i for i in range(rng.randrange(1, 100)))]
        for _ in range(rng.randrange(100)):
            if rng.random() < 0.2:
                some = rng.sample(pool, rng.randrange(min(20, len(pool))))
                assert table.ids(some).tolist() == [expected.setdefault(n, len(expected)) for n in some]
            else:
                name = rng.choice(pool)
                assert table.number(name) == expected.setdefault(name, len(expected))
            assert len(table) == len(expected)
        assert list(table) == list(expected)
        assert [table.name(v) for v in expected.values()] == list(expected)
        texts = table.drop_index()
        assert [bytes(texts[v]) for v in range(len(texts))] == list(expected)


def test_texts_beyond_four_gigabytes_count_in_eight_bytes() -> None:
    class Long(bytearray):
        def __len__(self) -> int:
            return 2**32 + super().__len__()

    texts = Texts()
    texts.text = Long()
    texts.append(b"ab")
    texts.extend([b"c", b"def"])
    assert texts.ends.typecode == "Q"
    assert texts.ends.tolist() == [0, 2**32 + 2, 2**32 + 3, 2**32 + 6]


def test_a_column_holds_one_text_per_vertex() -> None:
    column = Column()
    assert not column
    column.put(3, "ü", 10)
    column.put(1, "", 11)
    assert (column.get(3), column.get(1), column.get(0), column.get(99)) == ("ü", "", None, None)
    assert (column.line(3), column.line(0), len(column), column.vertices.tolist()) == (10, 0, 2, [3, 1])
    assert list(column) == [(3, "ü", 10), (1, "", 11)]


@pytest.mark.parametrize(
    ("packed", "items"),
    [
        (TextLabels(b"abc\xc3\xa9", np.array([0, 1, 1, 5])), ("a", "", "bcé")),
        (TextLabels(b'1"1"[1,[0]]', np.array([0, 1, 4, 11]), as_json=True), (1, "1", (1, (0,)))),
        (IntegerLabels(np.array([5, -1, 2**40])), (5, -1, 2**40)),
    ],
)  # fmt: skip
def test_packed_labels_are_a_tuple(packed: PackedLabels, items: tuple[object, ...]) -> None:
    assert packed == items
    assert items == packed
    assert packed == pickle.loads(pickle.dumps(packed))
    assert packed != items[:-1]
    assert packed != (*items[:-1], "other")
    assert packed != list(items)
    assert hash(packed) == hash(items)
    assert repr(packed) == repr(items)
    assert [type(label) for label in packed] == [type(label) for label in items]
    assert packed[-1] == items[-1]
    assert packed[::-1] == items[::-1]
    assert packed[1:2] == items[1:2]
    assert items[1] in packed
    assert packed.index(items[1]) == 1
    assert packed.take(np.array([2, 0, 2])) == (items[2], items[0], items[2])
    with pytest.raises(IndexError):
        packed[len(items)]


def test_graphs_with_packed_labels() -> None:
    cdag = parse_graph(b"a b\nb c\n", "given")
    assert isinstance(cdag.labels, PackedLabels)
    assert cdag.labels == ("a", "b", "c")
    assert cdag.renumber([2, 0, 1]).labels == ("c", "a", "b")
    assert CDAG.from_edges(3, [(0, 1)], labels=cdag.labels).labels is cdag.labels
    assert pickle.loads(pickle.dumps(cdag)).labels == cdag.labels
    graph = cdag.to_networkx()
    assert [graph.nodes[v]["label"] for v in graph] == ["a", "b", "c"]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_RECENT", 50)
    monkeypatch.setattr(names, "_BYTES_PER_RECENT", 10**9)
    monkeypatch.setattr(edge_list, "_NAMES_PER_BLOCK", 50)
    monkeypatch.setattr(edge_list, "_BYTES_PER_NAME", 10**9)
    monkeypatch.setattr(labels, "_PER_BLOCK", 100)
    monkeypatch.setattr(labels, "_LONG_BLOCK", 600)
    monkeypatch.setattr(json_text, "_BYTES_PER_BLOCK", 100)
    monkeypatch.setattr(topology, "_EDGES_PER_BLOCK", 100)


SHAPES = {
    "chain": [(i, i + 1) for i in range(1500)],
    "star": [(i, 1000) for i in range(1000)],
    "random": [(random.Random(i).randrange(i), i) for i in range(1, 1000)],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("suffix", ["edges", "csv", "dot", "json", "graphml", "cdag", "kth"])
@pytest.mark.usefixtures("small_blocks")
def test_more_names_than_are_looked_up_at_once(shape: str, suffix: str, tmp_path: Path) -> None:
    edges = np.array(SHAPES[shape])
    n = int(edges.max()) + 1
    cdag = CDAG.from_edges(n, edges, labels=[f"é{v * 7919 % n}x" for v in range(n)])
    write_graph(cdag, tmp_path / f"g.{suffix}")
    back = read_graph(tmp_path / f"g.{suffix}")
    assert back == cdag
    assert back.labels == cdag.labels


@pytest.mark.usefixtures("small_blocks")
def test_bench_names_used_before_they_are_given() -> None:
    lines = [f"g{v}=AND(g{v + 1},i,g{v + 1})" for v in range(1000)] + ["INPUT(i)", "INPUT(g1000)"]
    cdag = parse_graph("\n".join(lines).encode(), "given", format="bench")
    assert cdag.labels == (*(f"g{v}" for v in range(1000)), "i", "g1000")
    assert cdag.preds(0).tolist() == [1, 1000]
    assert cdag.num_edges == 2000


@pytest.mark.parametrize("seed", range(5))
def test_lines_in_small_and_large_steps(seed: int) -> None:
    rng = random.Random(seed)
    lines, expected, line = Lines(), list[int](), 1
    for _ in range(300):
        line += rng.choice([0, 1, 1, 1, 255, 256, 10_000])
        lines.append(line)
        expected.append(line)
    assert len(lines) == 300
    assert [lines[i] for i in range(300)] == expected
