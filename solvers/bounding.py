"""`bounds` and `best_bound`: every lower bound that applies, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from graphs.spec import GraphSpec
from pebble.instance import Instance
from pebble.result import Bound, Limit
from pebble.rules import Rules
from solvers.catalog import BOUNDS
from solvers.lower_bounds.protocol import LowerBound, Subject

__all__ = ["best_bound", "best_first", "bounds"]

_NOTHING = Bound(0, "none", "any graph", "I/Os are not negative")


def bounds(
    target: Instance | GraphSpec | str,
    M: int | None = None,
    rules: Rules | str = "hong-kung",
    *,
    names: Sequence[str] | None = None,
    include_asymptotic: bool = False,
    expensive: bool = False,
    limit: Limit | None = None,
    on_bound: Callable[[Bound], object] | None = None,
) -> list[Bound]:
    """Every lower bound that applies, best first.

    Parameters
    ----------
    target : Instance, GraphSpec or str
        An instance; or a spec with `M`, for which closed forms are used and no large graph is built.
    M : int, optional
        Words of fast memory, where `target` is a spec.
    rules : Rules or str
        The rule set, where `target` is a spec.
    names : sequence of str, optional
        Only these bounds, however long they take.
    include_asymptotic : bool
        Also formulas that hold up to an unknown constant; they are no certificates and come last.
    expensive : bool
        Also bounds that cost much on a graph of this size (maximum flows, eigenvalues, searches).
    limit : Limit, optional
        For the bounds that search, each.
    on_bound : callable, optional
        Called with each bound as soon as it is there, so that an interrupt leaves those found so far.

    Returns
    -------
    list of Bound
        I/Os. Only bounds that hold under the rule set, in falling order of value, certificates first. Each
        names its assumptions and its source. Under a rule set other than ``hong-kung`` and ``one-shot`` they
        are those that carry over to it.

    Raises
    ------
    ValueError
        A spec without `M`.
    UnknownNameError, GraphSpecError, InvalidMemoryError

    Examples
    --------
    >>> [(b.name, b.value) for b in bounds("fft:1024", M=8)]
    [('dominators', 2452), ('compulsory', 2048)]
    """
    subject = Subject.of(target, M, rules)
    found = []
    for name in BOUNDS.names() if names is None else names:
        entry = BOUNDS.info(name)
        if names is None and entry.requires and not entry.available:
            continue
        bound = BOUNDS.get(name)
        if isinstance(bound, LowerBound):
            if names is None and not (bound.certificate or include_asymptotic):
                continue
            if names is None and not (expensive or bound.is_cheap(subject)):
                continue
            value = bound(subject, limit=limit)
        elif subject.is_plain and subject.graph is not None:
            # A bound of another package: any callable that takes an instance, of a plain game.
            value = bound(subject.graph)
        else:
            value = None
        if value is None:
            continue
        if names is not None or value.value > 0 or name == "compulsory":
            found.append(value)
            if on_bound is not None:
                on_bound(value)
    return best_first(found)


def best_first(found: Iterable[Bound]) -> list[Bound]:
    """Certificates first, each kind in falling order of value."""
    return sorted(found, key=lambda b: (not b.certificate, -b.value))


def best_bound(
    target: Instance | GraphSpec | str,
    M: int | None = None,
    rules: Rules | str = "hong-kung",
    *,
    expensive: bool = False,
    limit: Limit | None = None,
) -> Bound:
    """The best certificate that `bounds` gives; of value 0 if it gives none.

    Parameters
    ----------
    target, M, rules, expensive, limit
        As for `bounds`.

    Examples
    --------
    >>> best_bound("matmul:2x2x2", M=4).value
    12
    """
    found = bounds(target, M, rules, expensive=expensive, limit=limit)
    return found[0] if found else _NOTHING
