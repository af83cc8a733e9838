"""``pebble report``: a paper's figures, tables and claims, computed anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pebble.cli.arguments import JsonOption, QuietOption
from pebble.cli.output import print_json, print_pairs, require_place

__all__ = ["report"]


def report(
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.html",
            help="The page; Markdown and pictures are written beside it.",
        ),
    ] = Path("report.html"),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: seconds instead of a minute.")] = False,
    devices: Annotated[
        Path | None, typer.Option("--devices", metavar="FILE", help="Another list of devices, in TOML.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", metavar="N", min=1, help="Processes. Default: the processors."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Recompute the paper on attention's backward pass: figure, tables, claims with verdicts, devices.

    Writes FILE.html (self-contained), FILE.md and the folder FILE with its pictures.
    """
    from experiments.paper import reproduce
    from experiments.paper.devices import read_devices
    from pebble.formats.files import atomic_writer

    if output.suffix != ".html":
        raise typer.BadParameter(f"'{output}' does not end in .html", param_hint="'-o'")
    require_place(output)
    start = time.perf_counter()
    listed = None if devices is None else read_devices(devices)
    with _progress_bar(quiet) as on_progress:
        document = reproduce(quick=quick, jobs=jobs, devices=listed, on_progress=on_progress)
    folder = output.with_suffix("")
    folder.mkdir(exist_ok=True)
    for picture in document.pictures:
        with atomic_writer(folder / f"{picture.name}.svg") as stream:
            stream.write(picture.svg.encode())
    markdown = output.with_suffix(".md")
    for path, text in ((markdown, document.markdown(folder.name)), (output, document.html())):
        with atomic_writer(path) as stream:
            stream.write(text.encode())
    if as_json:
        print_json({"html": str(output), "markdown": str(markdown), "claims": document.facts})
    else:
        seconds = f"{time.perf_counter() - start:.1f}"
        print_pairs([("HTML", str(output)), ("Markdown", str(markdown)), ("seconds", seconds)])


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[Callable[[int, int, Any], None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("runs")
        yield lambda done, total, record: bar.update(task, completed=done, total=total)
