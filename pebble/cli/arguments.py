"""The options that verbs share, and how a GRAPH argument becomes a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from graphs.spec import GraphSpec
    from pebble.cdag import CDAG

__all__ = [
    "GraphArgument",
    "JsonOption",
    "LoadedGraph",
    "MemoryOption",
    "QuietOption",
    "RulesOption",
    "SeedOption",
    "StrategiesOption",
    "load_graph",
    "names_a_file",
    "needs_loading",
    "parse_graph_spec",
    "split_names",
]

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A spec such as fft:8 or attention-backward:n=64,d=16, a file, or - for standard input.",
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        "-M",
        "--memory",
        metavar="M",
        help="Words of fast memory: 24, 16,24,32, 16..64, 16..64:8, 16..4096:x2, or d^2, d^2/4, 4d^2.",
    ),
]
StrategiesOption = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--strategies",
        metavar="A,B",
        help="Strategies, as name or name:option=value, joined by commas. Default: all that apply.",
    ),
]
RulesOption = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="RULES",
        help="hong-kung, one-shot or partial, with parts such as one-shot+sliding: see `pebble list rules`.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of whatever is random.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")]


@dataclass(frozen=True)
class LoadedGraph:
    """A graph and what the user called it.

    Attributes
    ----------
    name : str
        The canonical spec, or the file's name.
    cdag : CDAG
    spec : GraphSpec or None
        None for a graph from a file.
    """

    name: str
    cdag: CDAG
    spec: GraphSpec | None

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of its family, none for a graph from a file."""
        return {} if self.spec is None else self.spec.params


def load_graph(text: str) -> LoadedGraph:
    """Build the graph of a spec, or read it from a file or from standard input (``-``).

    A known family before the first colon makes it a spec; write ``./fft`` for a file of that name. What is
    ``module:function`` or ``file.py:function`` is traced, and ``--coarsen`` groups the vertices of any graph.

    Raises
    ------
    FormatError, GraphSpecError, UnknownNameError
    """
    from pebble.cli.programs import (
        asks_to_coarsen,
        coarsened,
        file_format,
        is_program,
        refuse_stray_options,
        trace_program,
    )

    if is_program(text):
        refuse_stray_options("function")
        return LoadedGraph(text, coarsened(trace_program(text)), None)
    if names_a_file(text):
        from pebble.formats import read_graph

        refuse_stray_options("file")
        cdag = coarsened(read_graph(text, format=file_format()))
        return LoadedGraph("standard input" if text == "-" else text, cdag, None)
    from graphs.catalog import build

    spec = parse_graph_spec(text)
    if asks_to_coarsen():
        return LoadedGraph(f"{spec}, coarse", coarsened(build(spec)), None)
    return LoadedGraph(str(spec), build(spec), spec)


def parse_graph_spec(text: str) -> GraphSpec:
    """The spec that `text` is; UnknownNameError says that it is no file either."""
    from graphs.catalog import parse
    from pebble.cli.programs import refuse_stray_options
    from pebble.errors import UnknownNameError

    try:
        spec = parse(text)
    except UnknownNameError as error:
        raise UnknownNameError(f"{error}; and no file '{text}'", error.name, error.suggestions) from None
    refuse_stray_options("spec")
    return spec


def names_a_file(text: str) -> bool:
    """Whether a GRAPH argument is a file, or standard input, rather than a spec or a function."""
    from graphs.catalog import REGISTRY
    from pebble.cli.programs import is_program

    if text == "-":
        return True
    if is_program(text) or text.partition(":")[0] in REGISTRY:
        return False
    return os.path.exists(text) or os.sep in text or ("." in text and ":" not in text)


def needs_loading(text: str) -> bool:
    """Whether a GRAPH argument is more than a spec: a file, a function, or anything to be coarsened."""
    from pebble.cli.programs import asks_to_coarsen, is_program

    return names_a_file(text) or is_program(text) or asks_to_coarsen()


def split_names(text: str | None) -> list[str] | None:
    """The strategy specs of a comma-separated list; None if it is not given.

    Examples
    --------
    >>> split_names("belady:order=dfs, lru")
    ['belady:order=dfs', 'lru']
    """
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise typer.BadParameter("empty name in the list", param_hint="'-s' / '--strategies'")
    return list(dict.fromkeys(names))
