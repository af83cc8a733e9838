"""The referee on its own: costs, chunks, moves that no graph has, memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pebble.cdag import CDAG
from pebble.errors import IllegalMoveError, IncompleteScheduleError, InfeasibleInstanceError
from pebble.instance import Instance
from pebble.moves import Move, Op, pack
from pebble.referee import verify, verify_stream
from pebble.result import Cost
from pebble.schedule import Schedule


def path(n: int) -> CDAG:
    indptr = np.concatenate(([0], np.arange(n))).astype(np.int32)
    return CDAG(indptr=indptr, indices=np.arange(n - 1, dtype=np.int32))


def path_moves(n: int) -> np.ndarray:
    """L0, then C v and D v-1 along the path, then S of its end."""
    v = np.arange(1, n)
    middle = np.column_stack((v << 2 | Op.COMPUTE, (v - 1) << 2 | Op.DELETE)).ravel()
    return np.concatenate(([0], middle, [(n - 1) << 2 | Op.STORE])).astype(np.uint32)


def two_inputs(**kwargs: object) -> CDAG:
    return CDAG.from_edges(3, [(0, 2), (1, 2)], **kwargs)  # type: ignore[arg-type]


def test_cost_counts_words_and_moves() -> None:
    inst = Instance(two_inputs(weights=[2, 3, 4]), 9)
    schedule = Schedule.from_moves(inst, ["L0", "L1", "C2", "S2", "S2", "D2", "C2"])
    assert verify(schedule) == Cost(loads=5, stores=8, computes=2, recomputes=1, peak_red=9)


def test_a_path_costs_two() -> None:
    cost = verify(Schedule(Instance(path(200_000), 2), path_moves(200_000)))
    assert cost == Cost(loads=1, stores=1, computes=199_999, recomputes=0, peak_red=2)


def test_recomputes_count_computations_of_a_vertex_computed_before() -> None:
    inst = Instance(CDAG.from_edges(3, [(0, 1), (1, 2)]), 3)
    moves = ["L0", "C1", "D1", "C1", "D1", "C1", "C2", "S2"]
    assert verify(Schedule.from_moves(inst, moves)).recomputes == 2
    with pytest.raises(IllegalMoveError) as caught:
        verify(Schedule.from_moves(inst.with_rules("one-shot"), moves))
    assert (caught.value.index, caught.value.reason) == (3, "already computed")


def test_incomplete_names_the_lowest_output_and_counts_them() -> None:
    inst = Instance(CDAG.from_edges(4, [(0, 1), (0, 2), (0, 3)]), 4)
    with pytest.raises(IncompleteScheduleError) as caught:
        verify(Schedule.from_moves(inst, ["L0", "C2", "S2"]))
    assert (caught.value.vertex, caught.value.missing) == (1, 2)
    assert "2 output(s) not blue, the first is vertex 1" in str(caught.value)


def test_further_outputs_must_end_blue() -> None:
    cdag = CDAG.from_edges(3, [(0, 1), (1, 2)], outputs=[1])
    moves = ["L0", "C1", "C2", "S2"]
    with pytest.raises(IncompleteScheduleError, match="the first is vertex 1"):
        verify(Schedule.from_moves(Instance(cdag, 3), moves))
    assert verify(Schedule.from_moves(Instance(cdag, 3), [*moves, "S1"])).io == 3


def test_nothing_to_do() -> None:
    zero = Cost(0, 0, 0, 0, 0)
    assert verify(Schedule.from_moves(Instance(CDAG.from_edges(0, []), 1), [])) == zero
    assert verify(Schedule.from_moves(Instance(CDAG.from_edges(2, []), 1), [])) == zero


@pytest.mark.parametrize("vertex", [3, 1 << 30, 1 << 40, (1 << 62) - 1])
@pytest.mark.parametrize("op", list(Op))
def test_vertices_beyond_the_graph_are_refused(op: Op, vertex: int) -> None:
    inst = Instance(two_inputs(), 3)
    schedule = Schedule(inst, pack([Move(Op.LOAD, 0), Move(op, vertex)], 3))
    with pytest.raises(
        IllegalMoveError, match=f"vertex {vertex} is out of range, ids go from 0 to 2"
    ) as caught:
        verify(schedule)
    assert caught.value.move == Move(op, vertex)
    assert (caught.value.index, caught.value.vertices) == (1, (vertex,))


def test_an_empty_graph_has_no_vertex_to_move() -> None:
    inst = Instance(CDAG.from_edges(0, []), 1)
    with pytest.raises(IllegalMoveError, match="the graph has no vertices"):
        verify(Schedule.from_moves(inst, ["L0"]))


def test_signed_arrays_are_read_too_and_negative_codes_refused() -> None:
    inst = Instance(two_inputs(), 3)
    good = pack(["L0", "L1", "C2", "S2"], 3)
    for dtype in (np.int32, np.int64, np.uint8, np.uint64):
        assert verify(Schedule(inst, good.astype(dtype))).io == 3
    with pytest.raises(IllegalMoveError, match="out of range"):
        verify(Schedule(inst, np.array([-4])))


def test_moves_that_are_no_packed_integers() -> None:
    inst = Instance(two_inputs(), 3)
    with pytest.raises(TypeError, match="1-d array of packed integers"):
        verify_stream(inst, [np.array([0.5])])
    with pytest.raises(TypeError, match="1-d array of packed integers"):
        verify_stream(inst, [np.zeros((2, 2), dtype=np.uint32)])


def test_strided_and_wide_index_arrays() -> None:
    inst = Instance(two_inputs(), 3)
    doubled = np.repeat(pack(["L0", "L1", "C2", "S2"], 3), 2)
    assert verify(Schedule(inst, doubled[::2])).io == 3
    g = inst.cdag
    wide = CDAG(indptr=g.indptr.astype(np.int64), indices=g.indices.astype(np.int64))
    assert verify(Schedule(Instance(wide, 3), doubled[::2])).io == 3


def test_chunks_may_be_cut_anywhere() -> None:
    n = 50
    moves = path_moves(n)
    inst = Instance(path(n), 2)
    for size in (1, 2, 7, 100):
        chunks = (moves[lo : lo + size] for lo in range(0, len(moves), size))
        assert verify_stream(inst, chunks) == verify(Schedule(inst, moves))
    broken = moves.copy()
    broken[60] = 3 << 2 | Op.LOAD
    with pytest.raises(IllegalMoveError) as caught:
        verify_stream(inst, [broken[:31], broken[31:]])
    assert (caught.value.index, caught.value.reason) == (60, "not blue")


def test_memory_may_be_larger_than_any_machine_word() -> None:
    cdag = two_inputs(weights=[2**61, 2**61, 2**61])
    schedule = Schedule.from_moves(Instance(cdag, 10**30), ["L0", "L1", "C2", "S2"])
    assert verify(schedule).peak_red == 3 * 2**61
    tight = Schedule.from_moves(Instance(cdag, 2**62), ["L0", "L1", "C2", "S2"])
    with pytest.raises(IllegalMoveError, match=f"all {2**62} red words are in use"):
        verify(tight)


def test_an_infeasible_instance_is_refereed_like_any_other() -> None:
    inst = Instance(two_inputs(), 2)
    with pytest.raises(IllegalMoveError, match="all 2 red words are in use"):
        verify(Schedule.from_moves(inst, ["L0", "L1", "C2"]))
    with pytest.raises(InfeasibleInstanceError):
        inst.require_feasible()


def test_moves_are_read_in_place() -> None:
    n = 500_000
    schedule = Schedule(Instance(path(n), 2), path_moves(n))
    verify(schedule)
    tracemalloc.start()
    verify(schedule)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # One byte of state per vertex and small change; the moves alone are 4 MB.
    assert peak < n + 200_000


def test_labels_name_the_vertices() -> None:
    inst = Instance(two_inputs(labels=["x", "y", "x+y"]), 3)
    with pytest.raises(IllegalMoveError, match=r"computing 2 \(x\+y\) needs predecessor 1 \(y\) red"):
        verify(Schedule.from_moves(inst, ["L0", "C2"]))
