"""Every lower bound that applies to an instance or to a spec, best first."""

from __future__ import annotations

from graphs.catalog import build
from graphs.spec import GraphSpec
from pebble.instance import Instance
from pebble.result import Bound
from pebble.rules import Rules
from solvers.catalog import BOUNDS

__all__ = ["best_bound", "bounds"]


def bounds(
    target: Instance | GraphSpec | str, M: int | None = None, rules: Rules | str = "hong-kung"
) -> list[Bound]:
    """Every lower bound that applies, best first.

    Parameters
    ----------
    target : Instance, GraphSpec or str
        An instance, or a graph spec with `M`.
    M : int, optional
        Words of fast memory, where `target` is a spec.
    rules : Rules or str
        The rule set, where `target` is a spec.

    Returns
    -------
    list of Bound
        I/Os, in words; each names what it assumes and its source.

    Raises
    ------
    ValueError
        A spec without `M`.

    Examples
    --------
    >>> [b.value for b in bounds("pyramid:2", M=3)]
    [4]
    """
    if isinstance(target, Instance):
        instance = target
    else:
        if M is None:
            raise ValueError("bounds of a graph spec need M, the words of fast memory")
        instance = Instance(build(target), M, rules)
    found = [BOUNDS.get(name)(instance) for name in BOUNDS.names()]
    return sorted((b for b in found if b is not None), key=lambda b: -b.value)


def best_bound(
    target: Instance | GraphSpec | str, M: int | None = None, rules: Rules | str = "hong-kung"
) -> Bound:
    """The best certificate among `bounds`.

    Examples
    --------
    >>> best_bound("fft:8", M=4).name
    'compulsory'
    """
    return next(b for b in bounds(target, M, rules) if b.certificate)
