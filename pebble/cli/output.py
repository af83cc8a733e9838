"""Where a verb's words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

__all__ = [
    "Steps",
    "console",
    "note",
    "print_json",
    "print_pairs",
    "progress",
    "require_place",
    "table",
    "whole",
]

# Wide enough that no table is folded when the output is no terminal.
_WIDTH_OF_A_PIPE = 240


def console() -> Console:
    """A console on standard output; colour only on a terminal and unless NO_COLOR is set."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=None if terminal else _WIDTH_OF_A_PIPE,
        highlight=False,
        soft_wrap=not terminal,
        # Names are printed as they are: no picture for file.py:back:.
        emoji=False,
    )


def note(text: str, *, quiet: bool = False) -> None:
    """One line on standard error."""
    if not quiet:
        sys.stderr.write(f"pebble: {text}\n")
        sys.stderr.flush()


def require_place(output: Path | None) -> None:
    """Refuse, before any work is done, a file to write that is a folder or in none: raises FormatError."""
    from pebble.errors import FormatError

    if output is None:
        return
    if not output.parent.is_dir():
        raise FormatError(str(output), f"cannot be written: there is no folder '{output.parent}'")
    if output.is_dir():
        raise FormatError(str(output), "cannot be written: it is a folder")


def print_json(document: Any) -> None:
    """The JSON form of a result, on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, default=_plain, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    """Names and values in two columns, on standard output."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, whole(value))
    console().print(grid)


def table(columns: Sequence[tuple[str, bool]], title: str = "") -> Table:
    """A table whose columns are ``(heading, is a figure)``."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    made = Table(
        title=escape(title) or None,
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for heading, figure in columns:
        made.add_column(heading, justify="right" if figure else "left", no_wrap=figure)
    return made


def whole(value: object) -> str:
    """A value for people: whole numbers in groups of three, nothing for None; markup is escaped."""
    from rich.markup import escape

    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return escape(str(value))


class Steps:
    """How far a long command is; says nothing by itself."""

    def step(self, text: str, share: float | None = None) -> None:
        """Say what is being done now, and what share of it is done where that is known."""


@contextmanager
def progress(*, quiet: bool) -> Iterator[Steps]:
    """A spinner on standard error, where that is a terminal and the user did not ask for quiet.

    A bar goes with it once a step says what share of it is done.
    """
    if quiet or not sys.stderr.isatty():
        yield Steps()
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True, emoji=False)
    spinner = SpinnerColumn(), TextColumn("{task.description}")
    with Progress(*spinner, console=console, transient=True) as shown:
        task = shown.add_task("working", total=1.0)
        bar = BarColumn(bar_width=30)

        class Spinner(Steps):
            def step(self, text: str, share: float | None = None) -> None:
                shown.columns = spinner if share is None else (*spinner, bar)
                shown.update(task, description=escape(text), completed=min(share or 0.0, 0.999))

        yield Spinner()


def _plain(value: Any) -> Any:
    """JSON form of NumPy's scalars and arrays; other values are a mistake of ours."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
