"""Graph specs: ``family:key=value,…`` as text, parsed and printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pebble.errors import GraphSpecError

__all__ = ["GraphSpec"]

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")


@dataclass(frozen=True)
class GraphSpec:
    """A family and its parameters, before any graph is built.

    Attributes
    ----------
    family : str
        Canonical name in the registry of builders.
    params : mapping
        Every parameter of the builder by name, converted to its type, defaults filled in.
    text : str
        The spec in its shortest canonical form.
    """

    family: str
    params: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    @classmethod
    def parse(cls, text: str) -> GraphSpec:
        """Parse a spec such as ``fft:8`` or ``attention-backward:n=64,d=16``.

        Raises
        ------
        UnknownNameError
            No such family; near names are suggested.
        GraphSpecError
            The text is malformed, a parameter is unknown, missing or out of range.
        """
        from graphs.catalog import parse

        return parse(text)

    def __str__(self) -> str:
        return self.text


def split_spec(text: str) -> tuple[str, list[str], dict[str, str]]:
    """Split ``family:8,key=value`` into the family, the positional values and the named ones."""
    family, colon, rest = text.strip().partition(":")
    if not family or (colon and not rest):
        raise GraphSpecError(
            f"'{text}' is no graph spec: write family:key=value, as in attention-backward:n=64,d=16"
        )
    positional: list[str] = []
    named: dict[str, str] = {}
    for part in rest.split(",") if rest else []:
        key, equals, value = part.partition("=")
        if not equals:
            if named or not part.strip():
                raise GraphSpecError(f"'{part}' in '{text}' is no key=value")
            positional.append(part.strip())
            continue
        key = key.strip()
        if not _KEY.match(key) or not value.strip():
            raise GraphSpecError(f"'{part}' in '{text}' is no key=value")
        if key in named:
            raise GraphSpecError(f"'{key}' is given twice in '{text}'")
        named[key] = value.strip()
    return family, positional, named
