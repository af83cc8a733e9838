"""One registry class for builders, strategies, solvers and bounds."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from pebble.errors import MissingExtraError, PebbleError, UnknownNameError

__all__ = ["Entry", "Registry"]

T = TypeVar("T")


def _normalise(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().lower())


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name.

    Attributes
    ----------
    name : str
    target : object
        The registered object, or ``"module:attribute"`` to be imported on first use.
    summary : str
        One line for listings.
    aliases : tuple of str
    requires : tuple of str
        Modules that must be importable; looked up without importing them.
    extra : str
        The package extra that brings them.
    """

    name: str
    target: Any
    summary: str
    aliases: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    extra: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The required modules that are not installed."""
        return tuple(m for m in self.requires if importlib.util.find_spec(m) is None)

    @property
    def available(self) -> bool:
        """Whether everything required is installed."""
        return not self.missing


class Registry(Generic[T]):
    """Names to objects: normalised, unique, lazily imported, extensible through entry points.

    Parameters
    ----------
    kind : str
        What is registered, for messages: ``strategy``.
    group : str
        Entry-point group in which third parties announce theirs: ``pebble.strategies``.

    Examples
    --------
    >>> r = Registry("rule", "pebble.example")
    >>> r.register("Two_Words", 2, "an example")
    2
    >>> r.get("two-words")
    2
    >>> r.get("two-wrods")
    Traceback (most recent call last):
    ...
    pebble.errors.UnknownNameError: no rule 'two-wrods'; did you mean 'two-words'? (known: two-words)
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._entries: dict[str, Entry] = {}
        self._canonical: dict[str, str] = {}
        self._scanned = False

    def register(
        self,
        name: str,
        target: T | str,
        summary: str,
        *,
        aliases: Iterable[str] = (),
        requires: Iterable[str] = (),
        extra: str = "",
    ) -> T | str:
        """Add one entry; ValueError if the name or an alias is taken."""
        entry = Entry(
            _normalise(name), target, summary, tuple(map(_normalise, aliases)), tuple(requires), extra
        )
        for key in (entry.name, *entry.aliases):
            if key in self._canonical:
                raise ValueError(f"{self.kind} '{key}' is registered already")
        for key in (entry.name, *entry.aliases):
            self._canonical[key] = entry.name
        self._entries[entry.name] = entry
        return target

    def decorate(self, name: str, summary: str, **kwargs: Any) -> Callable[[T], T]:
        """`register` as a decorator."""

        def add(target: T) -> T:
            self.register(name, target, summary, **kwargs)
            return target

        return add

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        for point in entry_points(group=self.group):
            if _normalise(point.name) not in self._canonical:
                self.register(
                    point.name, point.value, f"from {point.dist.name if point.dist else point.value}"
                )

    def info(self, name: str) -> Entry:
        """The entry of that name or alias; UnknownNameError, with suggestions, if there is none."""
        key = _normalise(name)
        if key not in self._canonical:
            self._scan()
        if key not in self._canonical:
            near = difflib.get_close_matches(key, self._canonical, 3)
            hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
            raise UnknownNameError(
                f"no {self.kind} '{name}'{hint} (known: {', '.join(self.names())})", name, near
            )
        return self._entries[self._canonical[key]]

    def get(self, name: str) -> T:
        """The registered object, imported now if need be.

        Raises
        ------
        UnknownNameError, MissingExtraError
        """
        entry = self.info(name)
        if entry.missing:
            how = f": pip install red-blue-pebble[{entry.extra}]" if entry.extra else ""
            raise MissingExtraError(f"{self.kind} '{entry.name}' needs {', '.join(entry.missing)}{how}")
        target = entry.target
        if isinstance(target, str):
            module, _, attribute = target.partition(":")
            try:
                target = importlib.import_module(module)
                for part in filter(None, attribute.split(".")):
                    target = getattr(target, part)
            except (ImportError, AttributeError) as error:
                raise PebbleError(
                    f"{self.kind} '{entry.name}' cannot be loaded from '{entry.target}': {error}"
                ) from error
        result: T = target
        return result

    def names(self) -> list[str]:
        """All names in order of registration, third parties' last."""
        self._scan()
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        key = _normalise(name)
        if key not in self._canonical:
            self._scan()
        return key in self._canonical
