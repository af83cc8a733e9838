"""Which graph families there are, and how to add one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphs.catalog import REGISTRY
from pebble.cdag import CDAG
from pebble.registry import Entry

__all__ = ["info", "names", "register"]


def names() -> list[str]:
    """All graph families, those of installed packages last.

    Examples
    --------
    >>> "attention-backward" in names()
    True
    """
    return REGISTRY.names()


def info(name: str) -> Entry:
    """The entry of a family: its name, summary and what it needs.

    Raises
    ------
    UnknownNameError
        No such family; near names are suggested.

    Examples
    --------
    >>> info("matmul").summary
    'm x k times k x n'
    """
    return REGISTRY.info(name)


def register(
    name: str,
    builder: Callable[..., CDAG] | str,
    summary: str,
    *,
    aliases: Iterable[str] = (),
    requires: Iterable[str] = (),
    extra: str = "",
) -> None:
    """Add a graph family, so that ``name:key=value`` is a graph spec everywhere.

    Parameters
    ----------
    name : str
    builder : callable, or str
        Takes the parameters by keyword and returns a CDAG; or ``"module:function"``, imported on first use.
        Its annotated parameters are those of the spec.
    summary : str
        One line for listings.
    aliases, requires, extra
        Further names; modules that must be importable; the package extra that brings them.

    Raises
    ------
    ValueError
        The name is taken.

    Notes
    -----
    An installed package announces its families by entry points of the group ``pebble.builders``.
    """
    REGISTRY.register(name, builder, summary, aliases=aliases, requires=requires, extra=extra)
