"""What to run: a grid of graphs, memory sizes, rule sets and players, from Python, flags or a TOML file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pebble.errors import FormatError, PebbleError
from pebble.formats.files import reading
from pebble.result import Limit
from pebble.rules import Rules

__all__ = ["BEST", "Grid", "Run", "read_grids", "runs_of"]

# The bound that stands for all that apply: the highest of them.
BEST = "best"


@dataclass(frozen=True)
class Run:
    """One cell of a grid: a player on a graph with M words.

    Attributes
    ----------
    graph : str
        A canonical spec, or the path of a graph file.
    M : int
        Words of fast memory.
    rules : str
    kind : str
        ``play`` (built, played, refereed), ``count`` (a tile program, nothing built), ``solve`` or ``bound``.
    player : str
        A strategy spec, a solver or a bound.
    seed : int
    limit : Limit
        For the player.
    """

    graph: str
    M: int
    rules: str
    kind: str
    player: str
    seed: int = 0
    limit: Limit = field(default_factory=Limit)

    @property
    def key(self) -> str:
        """A digest of all fields, by which a sweep knows what it has done.

        Examples
        --------
        >>> Run("fft:8", 4, "hong-kung", "play", "lru").key
        '418831a1e5ed3a05'
        """
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Grid:
    """The product of graphs, memory sizes, rule sets and players.

    Parameters
    ----------
    graphs : sequence of str
        Specs, or paths of graph files.
    memory : sequence of str or int
        What ``-M`` accepts: ``24``, ``16..64:8``, ``d^2/4..4d^2:x2``.
    rules : sequence of str
    strategies : sequence of str
        Played on the built graph and refereed.
    count : sequence of str
        Tile programs, counted without building the graph.
    solvers : sequence of str
        ``auto``, ``search``, ``ilp`` or another registered solver.
    bounds : sequence of str
        Names of lower bounds; ``best`` is the highest of those that apply.
    seeds : sequence of int
        For what is random; players of kind ``count`` and ``bound`` run once.
    time : float, optional
        Seconds for each run of a player that looks at its limit.

    Examples
    --------
    >>> grid = Grid(["pyramid:3", "fft:8"], ["4", "8"], strategies=["lru"], bounds=["best", "compulsory"])
    >>> len(grid.runs())
    12
    """

    graphs: Sequence[str]
    memory: Sequence[str | int]
    rules: Sequence[str] = ("hong-kung",)
    strategies: Sequence[str] = ()
    count: Sequence[str] = ()
    solvers: Sequence[str] = ()
    bounds: Sequence[str] = (BEST,)
    seeds: Sequence[int] = (0,)
    time: float | None = None

    def runs(self) -> list[Run]:
        """Every run, those of one graph together, without repeats.

        Raises
        ------
        UnknownNameError, GraphSpecError, InvalidMemoryError, UnsupportedInstanceError, FormatError
            A name, an option or a size is wrong: found now rather than in the middle of the sweep.
        """
        self._check_names()
        found: dict[Run, None] = {}
        for graph in self.graphs:
            name, sizes = self._sizes(graph)
            for rules in self.rules:
                for M in sizes:
                    found.update(dict.fromkeys(self._runs_of(name, M, Rules.named(rules).name)))
        return list(found)

    def _runs_of(self, graph: str, M: int, rules: str) -> Iterator[Run]:
        limit = Limit(time=self.time)
        for player in self.strategies:
            for seed in self.seeds:
                yield Run(graph, M, rules, "play", player, seed, limit)
        if rules == "hong-kung":
            for player in self.count:
                yield Run(graph, M, rules, "count", player)
        for player in self.solvers:
            for seed in self.seeds:
                yield Run(graph, M, rules, "solve", player, seed, limit)
        for player in self.bounds:
            yield Run(graph, M, rules, "bound", player, 0, limit)

    def _sizes(self, graph: str) -> tuple[str, list[int]]:
        from graphs.catalog import REGISTRY, parse
        from pebble.cli.memory import parse_memory

        params: Mapping[str, Any] = {}
        if graph.partition(":")[0] not in REGISTRY and os.path.isfile(graph):
            name = graph
        else:
            spec = parse(graph)
            name, params = str(spec), spec.params
        sizes: dict[int, None] = {}
        for part in self.memory:
            sizes.update(dict.fromkeys(parse_memory(str(part), params)))
        return name, list(sizes)

    def _check_names(self) -> None:
        from solvers.catalog import BOUNDS
        from solvers.solving import parse_method
        from strategies.playing import parse_strategy

        for player in (*self.strategies, *self.count):
            parse_strategy(player)
        for player in self.solvers:
            parse_method(player)
        for player in self.bounds:
            if player != BEST:
                BOUNDS.info(player)


_LISTS = ("graphs", "memory", "rules", "strategies", "count", "solvers", "bounds", "seeds")


def read_grids(path: str | os.PathLike[str]) -> list[Grid]:
    """The grids of a TOML file: its top level, or each of its ``[[grid]]`` tables on top of that.

    Parameters
    ----------
    path : path
        Keys are the parameters of `Grid`; a list of one may be written as the value alone.

    Returns
    -------
    list of Grid

    Raises
    ------
    FormatError
        It cannot be read, is no TOML, or has an unknown key, a missing one or a value of the wrong kind.
    """
    name = os.fspath(path)
    with reading(path) as stream:
        try:
            document = tomllib.loads(stream.read().decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(name, f"this is no TOML: {error}") from error
    tables = document.pop("grid", [{}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise FormatError(name, "'grid' is to be written as [[grid]] tables")
    return [_grid(name, document | table) for table in tables]


def _grid(file: str, table: Mapping[str, Any]) -> Grid:
    known = [f.name for f in dataclasses.fields(Grid)]
    for key in table:
        if key not in known:
            raise FormatError(file, f"unknown key '{key}' (known: {', '.join(known)})")
    for key in ("graphs", "memory"):
        if not table.get(key):
            raise FormatError(file, f"'{key}' is missing")
    arguments = dict(table)
    for key in _LISTS:
        if key not in table:
            continue
        values = table[key] if isinstance(table[key], list) else [table[key]]
        kinds = {"memory": (str, int), "seeds": (int,)}.get(key, (str,))
        if not all(isinstance(value, kinds) and not isinstance(value, bool) for value in values):
            raise FormatError(file, f"'{key}' is to be a list of {' or '.join(k.__name__ for k in kinds)}")
        arguments[key] = tuple(values)
    time = table.get("time")
    if time is not None and (isinstance(time, bool) or not isinstance(time, int | float) or time < 0):
        raise FormatError(file, "'time' is to be a number of seconds")
    return Grid(**arguments)


def runs_of(grids: Sequence[Grid]) -> list[Run]:
    """The runs of several grids, without repeats.

    Raises
    ------
    PebbleError
        There is nothing to run.
    """
    runs = list(dict.fromkeys(run for grid in grids for run in grid.runs()))
    if not runs:
        raise PebbleError("the grid has no runs: name strategies, count, solvers or bounds")
    return runs
