"""The command ``pebble``: its verbs, and one line on standard error for whatever is wrong."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from pebble.cli.bound import bound
from pebble.cli.convert import convert
from pebble.cli.count import count
from pebble.cli.doctor import doctor
from pebble.cli.hierarchy import hierarchy
from pebble.cli.info import info
from pebble.cli.listing import list_names
from pebble.cli.output import note
from pebble.cli.play import play
from pebble.cli.plot import plot
from pebble.cli.programs import with_graph_options
from pebble.cli.report import report
from pebble.cli.show import show
from pebble.cli.solve import solve
from pebble.cli.sweep import sweep
from pebble.cli.verify import verify
from pebble.cli.view import view
from pebble.errors import (
    IllegalMoveError,
    IncompleteScheduleError,
    InfeasibleInstanceError,
    PebbleError,
    UnsupportedInstanceError,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="pebble",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The red-blue pebble game: play it on computational graphs, referee schedules, bound the I/O.",
    epilog="Exit codes: 0 done; 1 a check failed; 2 usage or bad input; 3 no answer; 130 interrupted.",
)

app.command("list")(list_names)
app.command("info")(with_graph_options(info))
app.command("play")(with_graph_options(play))
app.command("count")(count)
app.command("bound")(with_graph_options(bound))
app.command("hierarchy")(with_graph_options(hierarchy))
app.command("solve")(with_graph_options(solve))
app.command("verify")(with_graph_options(verify))
app.command("show")(with_graph_options(show))
app.command("view")(with_graph_options(view))
app.command("convert")(with_graph_options(convert))
app.command("sweep")(sweep)
app.command("plot")(plot)
app.command("report")(report)
app.command("doctor")(doctor)

# Typer brings its own copy of click or uses the installed one: the base classes are found through its name.
_UsageError: Any = typer.BadParameter.__bases__[0]
_ClickException: Any = _UsageError.__bases__[0]

CHECK_FAILED, BAD_INPUT, NO_ANSWER, INTERRUPTED = 1, 2, 3, 130


def _print_version(wanted: bool) -> None:
    if wanted:
        import pebble

        typer.echo(f"red-blue-pebble {pebble.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code: 0 done; 1 a check failed (a schedule is illegal, an instance infeasible); 2 usage or
        bad input; 3 no answer; 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    with _warnings_as_lines():
        try:
            code = app(args=arguments or ["--help"], prog_name="pebble", standalone_mode=False)
        except _ClickException as error:
            note(f"error: {_one_line(error.format_message())}")
            return BAD_INPUT
        except (KeyboardInterrupt, typer.Abort):
            note("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            # The reader has left, as `head` does; nothing more can be said to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return CHECK_FAILED
        except MemoryError as error:
            note(f"error: out of memory: {_one_line(str(error)) or 'take a smaller graph'}")
            return BAD_INPUT
        except OSError as error:
            note(f"error: {error.filename or 'the system'}: {error.strerror or error}")
            return BAD_INPUT
        except PebbleError as error:
            note(f"error: {_one_line(str(error))}")
            return _exit_code(error)
    return code if isinstance(code, int) else 0


def _exit_code(error: PebbleError) -> int:
    if isinstance(error, InfeasibleInstanceError | IllegalMoveError | IncompleteScheduleError):
        return CHECK_FAILED
    return NO_ANSWER if isinstance(error, UnsupportedInstanceError) else BAD_INPUT


def _one_line(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Warnings of ours as one line each on standard error."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **kwargs: Any) -> None:
        note(f"warning: {_one_line(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


if __name__ == "__main__":
    sys.exit(main())
