"""Functions of users on the command line, and --coarsen: what they print and how they fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pebble.cli.main import main

PROGRAM = """
import numpy as np

def softmax(S, scale=2.0):
    u = np.exp(S * scale)
    return u / u.sum(axis=1, keepdims=True)

def mismatch(S):
    return S @ S[0, :2]

def sorts(S):
    return np.sort(S)
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a_users_program.py"
    file.write_text(PROGRAM)
    (tmp_path / "broken_program.py").write_text("x = 1 / 0\n")
    return file


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    "graph", ["a_users_program:softmax", "a_users_program.py:softmax", "./a_users_program.py:softmax"]
)
def test_info_of_a_function(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "info", graph, "--shape", "S=3x4")
    assert (document["graph"], document["num_vertices"]) == (graph, 57)
    assert document["tensors"] == {"S": [3, 4], "out": [3, 4]}
    flat = printed(capsys, "info", graph, "--shape", "S=3x4", "--tracer", "numpy:sums=flat")
    assert flat["num_vertices"] == 51


def test_play_bound_and_verify_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ("--shape", "S=3x4")
    graph = "a_users_program.py:softmax"
    document = printed(capsys, "play", graph, *shape, "-M", "8", "-s", "belady", "-o", "saved.txt")
    assert document["results"][0]["io"] == 24  # type: ignore[index]
    assert main(["verify", "saved.txt"]) == 0
    assert "legal" in capsys.readouterr().out
    assert printed(capsys, "bound", graph, *shape, "-M", "8")["lower_bound"] == 24


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a_users_program:softmax"], "no shape is given for S: add --shape S=16x4"),
        (
            ["a_users_program:nothing", "--shape", "S=3"],
            "has no function 'nothing' (functions: softmax, mismatch, sorts)",
        ),
        (["no_such_module:f", "--shape", "S=3"], "no module 'no_such_module' is installed or in this folder"),
        (["no_such_module:f"], "no graph family 'no_such_module'"),
        (["absent.py:f", "--shape", "S=3"], "there is no file 'absent.py'"),
        (
            ["broken_program:f", "--shape", "S=3"],
            "broken_program.py:1: importing it raised ZeroDivisionError",
        ),
        (
            ["a_users_program:softmax", "--shape", "S=3x4", "--shape", "X=3"],
            "the function has no parameter 'X'",
        ),
        (
            ["a_users_program:mismatch", "--shape", "S=3x3"],
            "a_users_program.py:9: the function raised ValueError",
        ),
        (["a_users_program:sorts", "--shape", "S=3x3"], "a_users_program.py:12: np.sort has no CDAG form"),
        (["a_users_program:softmax", "--shape", "S=3y"], "'S=3y' is no shape: write Q=16x4"),
        (["a_users_program:softmax", "--shape", "S=3", "--shape", "S=4"], "'S' is given twice"),
        (
            ["a_users_program:softmax", "--shape", "S=3", "--tracer", "torch"],
            "'torch' is neither numpy nor jax",
        ),
        (
            ["fft:8", "--shape", "S=3"],
            "'--shape': it goes with module:function or file.py:function, not with",
        ),
        (["fft:8", "--tracer", "jax"], "'--tracer': it goes with module:function or file.py:function"),
        (["fft:8", "--format", "dot"], "'--format': it goes with a file, not with a spec"),
        (["a_users_program:softmax", "--shape", "S=3", "--format", "dot"], "not with a function"),
        (["fft:8", "--coarsen", "tile:0"], "'tile:0' is neither tensor nor tile:RxC"),
    ],
)
def test_faults_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["info", *arguments])
    error = capsys.readouterr().err
    assert code in (2, 3)
    assert message in error
    assert error.count("\n") == 1


def test_coarse_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "info", "matmul:8x8x8", "--coarsen", "tile:2x2")
    assert (document["num_vertices"], document["total_weight"], document["least_M"]) == (48, 192, 36)
    assert printed(capsys, "info", "matmul:8x8x8", "--coarsen", "tensor")["num_vertices"] == 3
    solved = printed(capsys, "solve", "matmul:4x4x4", "--coarsen", "tile:2x2", "-M", "24")
    assert (solved["status"], solved["io"]) == ("optimal", 52)
    # The options of one command are gone for the next.
    assert printed(capsys, "info", "matmul:8x8x8")["num_vertices"] == 1088


def test_einsum_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "info", "einsum:ij,jk->ik;i=4,j=3,k=5")
    assert (document["graph"], document["num_vertices"]) == ("einsum:ij,jk->ik;i=4,j=3,k=5", 127)


def test_a_jax_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax")
    (tmp_path / "a_jax_program.py").write_text(
        "import jax, jax.numpy as jnp\n\n"
        "def gradient(W, x):\n    return jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(W)\n"
    )
    shapes = ("--shape", "W=3x2", "--shape", "x=4x3")
    document = printed(
        capsys, "play", "a_jax_program.py:gradient", "--tracer", "jax", *shapes, "-M", "8", "-s", "belady"
    )
    assert document["results"][0]["status"] == "feasible"  # type: ignore[index]
