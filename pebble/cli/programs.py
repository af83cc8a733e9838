"""Graphs of users' own functions, and coarse graphs: options of every verb that takes a graph."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from pebble.cdag import CDAG

__all__ = [
    "asks_to_coarsen",
    "coarsened",
    "file_format",
    "is_program",
    "refuse_stray_options",
    "trace_program",
    "with_graph_options",
]


class GraphOptions(NamedTuple):
    """What the command line says about its graph."""

    shapes: tuple[str, ...] = ()
    tracer: str | None = None
    coarsen: str | None = None
    format: str | None = None


_PLAIN = GraphOptions()
_options: ContextVar[GraphOptions] = ContextVar("graph_options", default=_PLAIN)

_ShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="Q=16x4",
        help="For GRAPH = module:function or file.py:function: the shape of an input; one --shape for each.",
    ),
]
_TracerOption = Annotated[
    str | None,
    typer.Option(
        "--tracer",
        metavar="NAME",
        help="How the function is traced: numpy (default) or jax; with :sums=tree, :fma=true after it.",
    ),
]
_CoarsenOption = Annotated[
    str | None,
    typer.Option(
        "--coarsen",
        metavar="HOW",
        help="Group vertices into one: by tensor, or by tile:RxC of every tensor. Words that leave count.",
    ),
]
_FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="The format of a graph file. Default: what it holds, and its suffix. `pebble list formats`.",
    ),
]
_NEW = [
    inspect.Parameter("shape", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_ShapeOption),
    inspect.Parameter("tracer", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_TracerOption),
    inspect.Parameter("coarsen", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_CoarsenOption),
    inspect.Parameter("format", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_FormatOption),
]


def with_graph_options(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with --shape, --tracer, --coarsen and --format, which `load_graph` then goes by."""
    signature = inspect.signature(verb, eval_str=True)
    # A verb may have an option of its own by one of these names.
    added = [p for p in _NEW if p.name not in signature.parameters]

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        new = {p.name: kwargs.pop(p.name, None) for p in added}
        shapes = tuple(new.pop("shape") or ())
        token = _options.set(GraphOptions(shapes, **new))
        try:
            verb(*args, **kwargs)
        finally:
            _options.reset(token)

    plain = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values()]
    run.__signature__ = signature.replace(parameters=[*plain, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*plain, *added)}
    return run


def file_format() -> str | None:
    """The format that --format names for a graph file."""
    return _options.get().format


def refuse_stray_options(kind: str) -> None:
    """Refuse options that say nothing about a graph of this kind: ``spec``, ``file`` or ``function``."""
    options = _options.get()
    of_functions, of_files = "it goes with module:function or file.py:function", "it goes with a file"
    for option, value, home, reason in (
        ("--shape", options.shapes, "function", of_functions),
        ("--tracer", options.tracer, "function", of_functions),
        ("--format", options.format, "file", of_files),
    ):
        if value and kind != home:
            raise typer.BadParameter(f"{reason}, not with a {kind}", param_hint=f"'{option}'")


_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")


def is_program(text: str) -> bool:
    """Whether a GRAPH argument is ``module:function`` or ``path/to/file.py:function``."""
    from graphs.catalog import REGISTRY

    place, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        return False
    if place.endswith(".py"):
        return True
    if not _MODULE.match(place) or place in REGISTRY:
        return False
    return bool(_options.get().shapes) or _is_module(place)


def _is_module(name: str) -> bool:
    with _current_folder():
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):  # a parent package that is missing or no package
            return False


def trace_program(text: str) -> CDAG:
    """The graph of a function of a module or file, by the options --shape and --tracer.

    Raises
    ------
    GraphSpecError
        The module, file or function does not exist, a shape is missing or malformed, or the function raised:
        the text names the file and the line.
    """
    import graphs
    from pebble.errors import GraphSpecError, MissingExtraError, UnsupportedFunctionError

    place, _, name = text.rpartition(":")
    module = _load(place, text)
    fn = getattr(module, name, None)
    if not callable(fn):
        known = [
            n for n, x in vars(module).items() if inspect.isfunction(x) and x.__module__ == module.__name__
        ]
        raise GraphSpecError(
            f"{text}: {place} has no function '{name}' (functions: {', '.join(known) or 'none'})"
        )
    options = _options.get()
    shapes = _shapes(options.shapes)
    _require_shapes(text, fn, shapes)
    tracer, sums = _tracer(options.tracer)
    arguments: dict[str, Any] = {**shapes, **sums}
    try:
        if tracer == "jax":
            return graphs.from_jax(fn, **arguments)
        return graphs.trace(fn, **arguments)
    except MissingExtraError:
        raise
    except GraphSpecError as error:
        raise GraphSpecError(f"{text}: {error}") from error
    except UnsupportedFunctionError as error:
        raise UnsupportedFunctionError(f"{_innermost(error, module)}: {error}") from error
    except Exception as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise GraphSpecError(f"{_innermost(error, module)}: the function raised {what}") from error


def coarsened(cdag: CDAG) -> CDAG:
    """The graph itself, or its coarse form if --coarsen asks for it."""
    how = _options.get().coarsen
    if how is None:
        return cdag
    from graphs.coarsening import coarsen

    if how == "tensor":
        return coarsen(cdag, "tensor")
    kind, _, sizes = how.partition(":")
    if kind == "tile" and re.fullmatch(r"[1-9]\d*(x[1-9]\d*)?", sizes):
        return coarsen(cdag, tuple(map(int, sizes.split("x"))))
    raise typer.BadParameter(f"'{how}' is neither tensor nor tile:RxC", param_hint="'--coarsen'")


def asks_to_coarsen() -> bool:
    """Whether --coarsen is given: the graph is then no longer the one of its spec."""
    return _options.get().coarsen is not None


@contextmanager
def _current_folder() -> Iterator[None]:
    """Modules of the folder that the command runs in can be imported."""
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())


def _load(place: str, text: str) -> Any:
    from pebble.errors import GraphSpecError

    if place.endswith(".py"):
        if not os.path.isfile(place):
            raise GraphSpecError(f"{text}: there is no file '{place}'")
        found = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        load: Callable[[], Any] = functools.partial(found.loader.exec_module, module)
    else:
        if not _is_module(place):
            raise GraphSpecError(f"{text}: no module '{place}' is installed or in this folder")
        module = None
        load = functools.partial(importlib.import_module, place)
    try:
        with _current_folder():
            imported = load()
    except Exception as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise GraphSpecError(f"{text}: {_innermost(error, None)}: importing it raised {what}") from error
    return imported if module is None else module


def _shapes(texts: tuple[str, ...]) -> dict[str, int | tuple[int, ...]]:
    shapes: dict[str, int | tuple[int, ...]] = {}
    for text in texts:
        name, equals, sizes = text.partition("=")
        if not equals or not name.isidentifier() or not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*|\(\)", sizes):
            raise typer.BadParameter(
                f"'{text}' is no shape: write Q=16x4, or s=() for a scalar", param_hint="'--shape'"
            )
        if name in shapes:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint="'--shape'")
        shapes[name] = () if sizes == "()" else tuple(map(int, sizes.split("x")))
    return shapes


def _require_shapes(text: str, fn: Callable[..., Any], shapes: dict[str, Any]) -> None:
    from pebble.errors import GraphSpecError

    parameters = inspect.signature(fn).parameters.values()
    variadic = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in named if p.default is p.empty and p.name not in shapes]
    if missing:
        raise GraphSpecError(
            f"{text}: no shape is given for {', '.join(missing)}: add --shape {missing[0]}=16x4"
        )
    odd = [name for name in shapes if name not in {p.name for p in named}]
    if odd and not variadic:
        raise GraphSpecError(
            f"{text}: the function has no parameter '{odd[0]}' "
            f"(parameters: {', '.join(p.name for p in named)})"
        )


def _tracer(text: str | None) -> tuple[str, dict[str, Any]]:
    name, *options = (text or "numpy").split(":")
    sums: dict[str, Any] = {}
    for option in options:
        key, _, value = option.partition("=")
        if key == "sums" and value in ("chain", "tree", "flat"):
            sums["sums"] = value
        elif key == "fma" and value in ("true", "false"):
            sums["fma"] = value == "true"
        else:
            name = ""
    if name not in ("numpy", "jax"):
        raise typer.BadParameter(
            f"'{text}' is neither numpy nor jax, with :sums=chain|tree|flat and :fma=true",
            param_hint="'--tracer'",
        )
    return name, sums


def _innermost(error: BaseException, module: Any) -> str:
    """``file:line`` of the last step in the user's file, or of the error itself."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if module is not None and f.filename == getattr(module, "__file__", None)]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frame = (own or list(frames))[-1]
    return f"{frame.filename}:{frame.lineno}"
