"""Rule sets: frozen flags with presets by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from pebble.errors import UnknownNameError

__all__ = ["Rules"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What the game allows.

    Parameters
    ----------
    recomputation : bool
        Whether a vertex may be computed more than once. True is the game of Hong & Kung (1981), False the
        one-shot game.

    Examples
    --------
    >>> Rules.named("one-shot")
    Rules(recomputation=False)
    >>> Rules().name
    'hong-kung'
    """

    recomputation: bool = True

    @property
    def name(self) -> str:
        """The preset's name: ``hong-kung`` or ``one-shot``."""
        return "hong-kung" if self.recomputation else "one-shot"

    @classmethod
    def named(cls, name: str) -> Rules:
        """The preset of that name; UnknownNameError, with suggestions, if there is none."""
        key = name.strip().lower().replace("_", "-")
        if key not in _PRESETS:
            near = difflib.get_close_matches(key, _PRESETS, 2)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UnknownNameError(f"no rule set '{name}'{hint} (known: {', '.join(_PRESETS)})", name, near)
        return _PRESETS[key]

    @classmethod
    def of(cls, rules: Rules | str) -> Rules:
        """`rules` itself, or the preset that it names."""
        return cls.named(rules) if isinstance(rules, str) else rules

    @staticmethod
    def names() -> list[str]:
        """The presets' names."""
        return list(_PRESETS)

    def __str__(self) -> str:
        return self.name


_PRESETS = {"hong-kung": Rules(True), "one-shot": Rules(False)}
