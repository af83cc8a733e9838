"""What is computed for the report: a list of runs, and how the sections find them again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments.grid import BEST, Run
from experiments.paper.devices import Device
from experiments.running import Record
from experiments.series import Curves, curves
from pebble.errors import PebbleError
from pebble.result import Limit

__all__ = [
    "HEADS",
    "LARGE",
    "NAMES",
    "OPTIMA",
    "PROGRAMS",
    "SMALL",
    "Facts",
    "Scale",
    "backward",
    "beyond",
    "forward",
    "gradient",
    "grouped",
    "literal_blocks",
    "masked",
    "programs_for",
    "study_runs",
]

SMALL = ("algorithm6:tiles=square", "algorithm6:tiles=streaming")
LARGE = ("flash-attention-1", "flash-attention", "two-pass")
PROGRAMS = (*SMALL, *LARGE, "hybrid")
NAMES = {
    "algorithm6:tiles=square": "Algorithm 6, square tiles",
    "algorithm6:tiles=streaming": "Algorithm 6, streaming tiles",
    "algorithm6": "Algorithm 6",
    "flash-attention-1": "FlashAttention-1",
    "flash-attention": "FlashAttention",
    "two-pass": "two passes",
    "hybrid": "hybrid",
    "row-resident": "row-resident",
    "naive": "phase by phase",
}

# Optima that the exact solver proves: graph, M, rules.
OPTIMA = (
    ("matmul:4x1x4", 3, "hong-kung"),
    ("dot:4", 4, "hong-kung"),
    ("dot:4,sums=tree", 4, "hong-kung"),
    ("grid:4x4", 3, "hong-kung"),
    ("grid:4x4", 3, "one-shot"),
)
# They take seconds once the search is compiled, which may take a minute.
_SOLVE_SECONDS = 600.0
# Enough words for any block size to fit: the peak is what is asked for.
_AMPLE = 1 << 24


@dataclass(frozen=True)
class Scale:
    """How much is computed.

    Attributes
    ----------
    n, d : int
        The size of the pictures and tables.
    ratios : sequence of float
        M/d² in them.
    crossings : sequence of (int, int)
        Sizes (n, d) in the table of crossovers.
    step : float
        Of M/d² there; crossings are interpolated between.
    gaps : sequence of (int, int)
        Sizes at which upper and lower bounds are compared.
    large : (int, int)
        The size at which constants are read off.
    devices : sequence of Device
    head_dims : sequence of int
        Head dimensions in the checklist of devices.
    tokens : int
        Tokens in it.
    masks : sequence of str
    masked : (int, int)
        The size of the sparse problems.
    """

    n: int
    d: int
    ratios: Sequence[float]
    crossings: Sequence[tuple[int, int]]
    step: float
    gaps: Sequence[tuple[int, int]]
    large: tuple[int, int]
    devices: Sequence[Device]
    head_dims: Sequence[int]
    tokens: int
    masks: Sequence[str]
    masked: tuple[int, int]

    @property
    def spec(self) -> str:
        """The graph of the pictures and tables."""
        return backward(self.n, self.d)

    def sizes(self) -> list[int]:
        """M in the pictures and tables."""
        return [round(ratio * self.d**2) for ratio in self.ratios]

    def crossing_ratios(self) -> list[float]:
        """M/d² in the search for crossovers."""
        return [round(self.step * i, 6) for i in range(1, math.floor(2.6 / self.step) + 1)]


def backward(n: int, d: int) -> str:
    """The backward pass with O given, which all programs play."""
    return f"attention-backward:n={n},d={d},given=O"


def gradient(n: int, d: int) -> str:
    """The gradient in X from dO and O."""
    return f"attention-gradient:n={n},d={d},given=dO"


def masked(n: int, d: int, mask: str) -> str:
    """The backward pass under a mask."""
    return f"attention-backward:n={n},d={d}" + ("" if mask == "full" else f",mask={mask}")


def forward(n: int, d: int, mask: str) -> str:
    """The forward pass under a mask."""
    return f"attention-forward:n={n},d={d}" + ("" if mask == "full" else f",mask={mask}")


def grouped(n: int, d: int, heads: int, kv_heads: int) -> str:
    """The backward pass of several heads, whose keys and values some share."""
    return f"attention-backward:n={n},d={d},heads={heads}" + (
        "" if kv_heads == heads else f",kv_heads={kv_heads}"
    )


HEADS = ((1, 1), (8, 8), (8, 2), (8, 1))


def literal_blocks(d: int, M: int) -> str:
    """FlashAttention-1 with the block sizes printed: Bc = ⌈M/4d⌉, Br = min(Bc, d)."""
    columns = -(-M // (4 * d))
    return f"flash-attention-1:block_columns={columns}:block_rows={min(columns, d)}"


def programs_for(spec: str) -> list[str]:
    """The tile programs that count graphs of a spec, whatever M."""
    from graphs.catalog import parse
    from strategies.catalog import REGISTRY
    from strategies.protocol import Countable

    graph = parse(spec)
    found = [(name, REGISTRY.get(name)) for name in REGISTRY.names()]
    return [name for name, s in found if isinstance(s, Countable) and s.count_supports(graph) is None]


def study_runs(scale: Scale) -> list[Run]:
    """Every run that the report needs, without repeats."""
    return list(dict.fromkeys(_study_runs(scale)))


def _study_runs(scale: Scale) -> Iterable[Run]:
    square = scale.d**2
    for graph, M, rules in OPTIMA:
        yield _run(graph, M, "solve", "search", rules, Limit(time=_SOLVE_SECONDS))
    for M in scale.sizes():
        yield from _compare(scale.spec, M, (*PROGRAMS, "naive"))
        yield _run(scale.spec, M, "count", literal_blocks(scale.d, M), M=_AMPLE)
    for n, d in scale.crossings:
        for ratio in scale.crossing_ratios():
            for program in (*SMALL, *LARGE):
                yield _run(backward(n, d), int(ratio * d * d), "count", program)
    for n, d in scale.gaps:
        for M in (d * d // 4, d * d, 4 * d * d, 16 * d * d):
            yield from _compare(backward(n, d), M, PROGRAMS)
    n, d = scale.large
    yield from _compare(backward(n, d), 8 * d * d, PROGRAMS)
    yield from _compare(gradient(n, d), 8 * d * d, ("algorithm6", "row-resident"))
    for graph, M in beyond(scale):
        yield _run(graph, M, "bound", "theorem-1.1")
        yield _run(graph, M, "bound", "compulsory")
    yield _run(scale.spec, square // 16, "bound", BEST)
    for device in scale.devices:
        for d in scale.head_dims:
            for program in (*SMALL, "flash-attention", "two-pass"):
                yield _run(backward(scale.tokens, d), device.M, "count", program)
    n, d = scale.masked
    for M in (d * d // 4, d * d, 4 * d * d):
        for mask in ("full", *scale.masks):
            spec = masked(n, d, mask)
            yield from _compare(spec, M, programs_for(spec))
            yield _run(spec, M, "bound", "sparse-theorem")
        for mask in ("full", *scale.masks):
            spec = forward(n, d, mask)
            yield from _compare(spec, M, programs_for(spec))
        for heads, shared in HEADS:
            spec = grouped(n, d, heads, shared)
            yield from _compare(spec, M, programs_for(spec))


def beyond(scale: Scale) -> list[tuple[str, int]]:
    """Instances outside the theorem's range: M far above nd, and one token."""
    d = 64
    return [(f"attention-gradient:n=1024,d={d}", 64 * 1024 * d), (f"attention-gradient:n=1,d={d}", d * d)]


def _compare(spec: str, M: int, programs: Iterable[str]) -> Iterable[Run]:
    for program in programs:
        yield _run(spec, M, "count", program)
    yield _run(spec, M, "bound", BEST)


def _run(
    graph: str,
    size: int,
    kind: str,
    player: str,
    rules: str = "hong-kung",
    limit: Limit | None = None,
    *,
    M: int | None = None,
) -> Run:
    from graphs.catalog import parse

    return Run(str(parse(graph)), M or size, rules, kind, player, 0, limit or Limit())


class Facts:
    """The records of the report's runs, by what was asked.

    Parameters
    ----------
    records : sequence of dict

    Raises
    ------
    PebbleError
        A run failed.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        for record in records:
            if record["status"] in ("failed", "illegal"):
                place = f"{record['player']} on {record['graph']}, M={record['M']}"
                raise PebbleError(f"a run of the report failed: {place}: {record['error']}")
        self.records = records

    @cached_property
    def _by_question(self) -> Mapping[tuple[Any, ...], Record]:
        return {(r["kind"], r["player"], r["graph"], r["M"], r["rules"]): r for r in self.records}

    def record(self, kind: str, player: str, graph: str, M: int, rules: str = "hong-kung") -> Record:
        """The record of one run."""
        run = _run(graph, M, kind, player, rules)
        return self._by_question[kind, player, run.graph, M, rules]

    def io(self, program: str, graph: str, M: int) -> int | None:
        """Counted I/O in words; None where the program does not fit."""
        io: int | None = self.record("count", program, graph, M)["io"]
        return io

    def least(self, programs: Iterable[str], graph: str, M: int) -> tuple[int, str] | None:
        """The least I/O of several programs and whose it is; None where none fits."""
        counted = [(io, name) for name in programs if (io := self.io(name, graph, M)) is not None]
        return min(counted, default=None)

    def bound(self, graph: str, M: int, name: str = BEST) -> int:
        """A lower bound in words."""
        value: int = self.record("bound", name, graph, M)["lower_bound"]
        return value

    def formula(self, graph: str, M: int, name: str) -> int:
        """An asymptotic formula with constant 1."""
        value: int = self.record("bound", name, graph, M)["formula"]
        return value

    def optimum(self, graph: str, M: int, rules: str = "hong-kung") -> Record:
        """What the exact solver says."""
        return self.record("solve", "search", graph, M, rules)

    def literal_peak(self, graph: str, d: int, M: int) -> int:
        """Words that FlashAttention-1 needs with the block sizes printed for M."""
        peak: int = self.record("count", literal_blocks(d, M), graph, _AMPLE)["peak_red"]
        return peak

    def curves(self, scale: Scale, programs: Sequence[str]) -> Curves:
        """The curves of some programs on the report's main graph."""
        from graphs.catalog import parse

        graph, sizes = str(parse(scale.spec)), set(scale.sizes())
        chosen = [
            r
            for r in self.records
            if r["graph"] == graph and r["M"] in sizes and (r["player"] in programs or r["kind"] == "bound")
        ]
        found = curves(chosen)
        named = {NAMES[p]: found.players[p] for p in programs if p in found.players}
        return dataclasses.replace(found, players=named)

    def crossing(self, small: str, large: str, n: int, d: int, ratios: Sequence[float]) -> float:
        """The M/d² from which the large-cache program stays cheaper, interpolated; inf beyond `ratios`."""
        above, gap_above = math.inf, math.nan
        for ratio in reversed(ratios):
            M = int(ratio * d * d)
            first, second = self.io(small, backward(n, d), M), self.io(large, backward(n, d), M)
            if first is None or second is None:
                return above
            gap = math.log(second / first)
            if gap > 0:
                if math.isinf(above):
                    return above
                low, high = math.log(ratio), math.log(above)
                return math.exp(low + (high - low) * gap / (gap - gap_above))
            above, gap_above = ratio, gap
        return above
