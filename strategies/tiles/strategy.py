"""A tile program as a strategy: it plays, it counts, it tunes its blocks, it says what it cannot do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, TypeAlias

from numpy.typing import NDArray

from graphs.catalog import parameters
from graphs.spec import GraphSpec
from pebble.cdag import CDAG
from pebble.errors import UnsupportedInstanceError
from pebble.instance import Instance
from pebble.result import Cost, Limit
from pebble.schedule import Schedule
from strategies.protocol import rules_reason
from strategies.tiles.counting import CountingMachine
from strategies.tiles.language import Shape
from strategies.tiles.lowering import LoweringMachine
from strategies.tiles.tuning import Step, best_blocks, least_peak

__all__ = ["Run", "TileStrategy", "block_size", "price", "shape_of"]

Run: TypeAlias = tuple[Step, Mapping[str, Any]]
"""A step and the options with its block sizes."""


class TileStrategy:
    """A strategy made of tile programs (`strategies.protocol.Countable`).

    Parameters
    ----------
    name : str
    programs : mapping
        For each graph family, the variants by name, each a sequence of `Step`; of several variants the one
        of least I/O is played.
    variants : str
        Name of the option that chooses a variant; empty if there is only one.
    recomputes : bool
        Whether the program computes vertices again, which the one-shot game forbids.
    plays : mapping
        Values of the families' parameters that the program can deal with, None for any; parameters that have
        defaults and are not here must have these.
    refuses : callable, optional
        Tells why a shape cannot be played, or None.

    Notes
    -----
    The limit and the seed of a call play no part: the search for block sizes is exact and short.
    """

    def __init__(
        self,
        name: str,
        programs: Mapping[str, Mapping[str, Sequence[Step]]],
        *,
        variants: str = "",
        recomputes: bool = False,
        plays: Mapping[str, Sequence[Any] | None] | None = None,
        refuses: Callable[[Shape], str | None] | None = None,
    ) -> None:
        self.name = name
        self.recomputes = recomputes
        self._programs = programs
        self._variants = variants
        self._plays = {"sums": ("chain",), "fma": (False, True), **(plays or {})}
        self._refuses = refuses
        self.options: Mapping[str, str] = self._describe_options()
        self._least_known: dict[tuple[Any, ...], int] = {}

    # -- strategies.protocol.Strategy ---------------------------------------------------------------------

    def __call__(
        self, instance: Instance, *, limit: Limit | None = None, seed: int = 0, **options: Any
    ) -> Schedule:
        """Play an instance with the best blocks that fit, or those that `options` fix.

        Raises
        ------
        UnsupportedInstanceError
            The graph, the rules, M or an option does not suit.
        """
        cdag = instance.cdag
        reason = self.supports(instance)
        if reason is not None:
            raise UnsupportedInstanceError(f"strategy '{self.name}' does not play {cdag.name}: {reason}")
        shape = shape_of(cdag.family, cdag.params)
        steps, chosen, cost = self._choose(
            cdag.family, shape, instance.M, options, instance.rules.recomputation
        )
        producer = ":".join([self.name, *(f"{key}={value}" for key, value in chosen.items())])
        moves = self._lower(cdag, steps, shape)
        claim = instance.rules.load_cost * cost.loads + instance.rules.store_cost * cost.stores
        return Schedule(instance, moves, producer, claim=claim, seed=seed, info=chosen)

    def supports(self, instance: Instance) -> str | None:
        """None if the strategy plays such graphs and rules, else the reason why not; M is not judged."""
        cdag = instance.cdag
        reason = self._family_reason(cdag.family, cdag.params)
        if reason is not None:
            return reason
        reason = rules_reason(instance)
        if reason is not None:
            return reason
        if self.recomputes and not instance.rules.recomputation:
            return "it computes vertices again, which one-shot rules forbid"
        if cdag.weights is not None:
            return "it takes every vertex to be one word, this graph has weights"
        if len(cdag.further_outputs):
            return "the graph asks for outputs besides those of its family"
        if not cdag.sums:
            return "the graph does not say where its sums lie: play it as it was built"
        return None

    def least_M(self, instance: Instance) -> int:
        """Least M, in words: the peak with blocks of one index."""
        cdag, again = instance.cdag, instance.rules.recomputation
        return self._least(cdag.family, shape_of(cdag.family, cdag.params), again)

    # -- strategies.protocol.Countable --------------------------------------------------------------------

    def count(self, spec: GraphSpec, M: int, **options: Any) -> tuple[Cost, Mapping[str, Any]]:
        """The cost that the referee would count, and the options chosen; time does not grow with the blocks'
        number, and about as the square root of the sizes where block sizes are searched for."""
        reason = self.count_supports(spec)
        if reason is not None:
            raise UnsupportedInstanceError(f"strategy '{self.name}' cannot count {spec}: {reason}")
        _, chosen, cost = self._choose(spec.family, shape_of(spec.family, spec.params), M, options, True)
        return cost, chosen

    def count_supports(self, spec: GraphSpec) -> str | None:
        """None if the family and its parameters can be counted, else the reason why not."""
        return self._family_reason(spec.family, spec.params)

    def count_least_M(self, spec: GraphSpec) -> int:
        """Least M, in words, with which the strategy plays graphs of this spec."""
        return self._least(spec.family, shape_of(spec.family, spec.params), True)

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        # Programs are functions within functions: another process finds the strategy by its registered name.
        return _registered, (self.name,)

    # -- inside -------------------------------------------------------------------------------------------

    def _describe_options(self) -> dict[str, str]:
        described: dict[str, str] = {}
        for programs in self._programs.values():
            if self._variants:
                described[self._variants] = " or ".join(programs) + "; the one of least I/O by default"
            for steps in programs.values():
                for step in steps:
                    for option, axis in step.options.items():
                        described[option] = (
                            f"indices of {axis} per block; the best are searched for by default"
                        )
        return described

    def _family_reason(self, family: str, params: Mapping[str, Any]) -> str | None:
        if family not in self._programs:
            known = " and ".join(self._programs)
            return f"it plays {known} graphs" + ("" if family else ", not custom ones")
        shape = shape_of(family, params)
        for key, default in parameters(family).items():
            value = getattr(shape, key)
            allowed = self._plays.get(key, None if default is Parameter.empty else (default,))
            if allowed is not None and value not in allowed:
                known = " or ".join(f"{key}={_text(choice)}" for choice in allowed)
                return f"it plays {known}, not {key}={_text(value)}"
        return self._refuses(shape) if self._refuses is not None else None

    def _steps(self, family: str, shape: Shape, again: bool) -> dict[str, list[Step]]:
        """The steps of each variant; `again` tells whether vertices may be computed again."""
        return {
            variant: [step for step in steps if step.when is None or step.when(shape)]
            for variant, steps in self._programs[family].items()
        }

    def _least(self, family: str, shape: Shape, again: bool) -> int:
        """Least M, in words; `again` tells whether vertices may be computed again."""
        key = (family, again, *sorted(vars(shape).items()))
        if key not in self._least_known:
            self._least_known[key] = min(
                max(self._least_peak(step, shape, {}) for step in steps)
                for steps in self._steps(family, shape, again).values()
            )
        return self._least_known[key]

    def _choose(
        self, family: str, shape: Shape, M: int, options: Mapping[str, Any], again: bool
    ) -> tuple[list[Run], dict[str, Any], Cost]:
        """The steps to play and their blocks, the options that describe them, and their cost."""
        fixed = {key: block_size(key, value) for key, value in options.items() if key != self._variants}
        variants = self._steps(family, shape, again)
        if self._variants in options:
            wanted = str(options[self._variants])
            if wanted not in variants:
                known = ", ".join(variants)
                raise UnsupportedInstanceError(
                    f"'{self.name}' has no {self._variants}={wanted} (known: {known})"
                )
            variants = {wanted: variants[wanted]}
        suited = {
            variant: steps
            for variant, steps in variants.items()
            if all(any(key in step.options for step in steps) for key in fixed)
        }
        if not suited:
            given = ", ".join([f"{key}={value}" for key, value in options.items()])
            raise UnsupportedInstanceError(f"the options {given} of '{self.name}' do not go together here")
        found = []
        for variant, steps in suited.items():
            chosen: dict[str, Any] = {self._variants: variant} if self._variants else {}
            for step in steps:
                blocks = self._best_blocks(step, shape, M, _only(step, fixed))
                if blocks is None:
                    break
                chosen.update(blocks)
            else:
                runs: list[Run] = [(step, chosen) for step in steps]
                cost = self._price(runs, shape)
                if cost.peak_red <= M:
                    found.append((runs, chosen, cost))
        if not found:
            least = min(
                max(self._least_peak(step, shape, _only(step, fixed)) for step in steps)
                for steps in suited.values()
            )
            given = "".join(f" with {key}={value}" for key, value in fixed.items())
            raise UnsupportedInstanceError(
                f"strategy '{self.name}'{given} needs M >= {least}, got M={M}", least
            )
        return min(found, key=lambda choice: choice[2].io)

    # -- readings: strategies with machines of their own replace these ------------------------------------

    def _least_peak(self, step: Step, shape: Shape, fixed: Mapping[str, int]) -> int:
        """Least M, in words, of a step, with blocks of one index but for the fixed ones."""
        return least_peak(step, shape, fixed)

    def _best_blocks(
        self, step: Step, shape: Shape, M: int, fixed: Mapping[str, int]
    ) -> dict[str, int] | None:
        """The blocks of a step of least I/O that fit, with the fixed ones; None if none do."""
        return best_blocks(step, shape, M, fixed)

    def _price(self, runs: Sequence[Run], shape: Shape) -> Cost:
        """The cost of steps with given blocks, one after the other."""
        return price(runs, shape)

    def _lower(self, cdag: CDAG, runs: Sequence[Run], shape: Shape) -> NDArray[Any]:
        """The packed moves of steps with given blocks, one after the other."""
        machine = LoweringMachine(cdag)
        for step, blocks in runs:
            step.run(machine, shape, blocks)
        return machine.moves()


def price(runs: Sequence[Run], shape: Shape) -> Cost:
    """The cost of steps with given blocks, one after the other."""
    machine = CountingMachine(shape)
    for step, blocks in runs:
        step.run(machine, shape, blocks)
        machine.check_empty()
    return machine.cost()


def shape_of(family: str, params: Mapping[str, Any]) -> Shape:
    """The shape of a graph family with these parameters, defaults filled in."""
    return Shape.of({**parameters(family), **params})


def _only(step: Step, fixed: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in fixed.items() if name in step.options}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def block_size(option: str, value: Any, least: int = 1) -> int:
    """The value of an option as a block size; UnsupportedInstanceError if it is none."""
    try:
        size = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        raise UnsupportedInstanceError(f"{option}={value} is no whole number of indices") from None
    if size < least:
        raise UnsupportedInstanceError(f"{option}={size}: a block has at least {least} index")
    return size


def _registered(name: str) -> object:
    from strategies.catalog import REGISTRY

    return REGISTRY.get(name)
