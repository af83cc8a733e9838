"""The example of a custom function runs, and prints what it promises."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


def test_custom_function(capsys: pytest.CaptureFixture[str]) -> None:
    script = Path(__file__).parent.parent / "examples" / "custom_function.py"
    runpy.run_path(str(script), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("<CDAG custom: ")
    assert lines[1] == "Y[1,5,2] is computed from N[1,5,2], total[1,5]"
    assert float(lines[2].split()[-1]) < 1e-12
    assert [line.split()[0] for line in lines[3:]] == ["M=8", "M=32", "M=128"]
    assert all(float(line.split()[-1]) < 1e-12 for line in lines[3:])
