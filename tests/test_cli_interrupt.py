"""Ctrl-C before the command line has even been imported: one line, exit code 130."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The signal arrives while the module named is about to be imported.
_INTERRUPTED = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)

MODULE = sys.argv[1]
sys.meta_path.insert(0, Interrupt())
sys.argv[1:] = ["list", "graphs"]
runpy.run_module("pebble", run_name="__main__")
"""


# Once a verb is at work, typer ends it without a word unless it has results to speak of.
@pytest.mark.parametrize(
    ("module", "said"),
    [("typer", "interrupted\n"), ("pebble.cli.solve", "interrupted\n"), ("graphs.catalog", "")],
)
def test_an_interrupt_during_imports_is_no_traceback(module: str, said: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, module], capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stdout) == (130, ""), ran.stderr
    assert ran.stderr == said


def test_without_an_interrupt_the_module_is_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pebble", "list", "rules"], capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "hong-kung" in ran.stdout
