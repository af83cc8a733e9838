"""Every error of the package, one tree under `PebbleError`.

The text of an error is one line that says what is wrong, where, and what to do; its attributes carry the
same facts for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pebble.hierarchy import HierarchyMove, HierarchySchedule
    from pebble.moves import Move
    from pebble.schedule import Schedule

__all__ = [
    "DuplicateEdgeWarning",
    "FormatError",
    "FormatWarning",
    "GraphSpecError",
    "IllegalMoveError",
    "IncompleteScheduleError",
    "InfeasibleInstanceError",
    "InvalidCDAGError",
    "InvalidInputError",
    "InvalidMemoryError",
    "InvalidOrderError",
    "InvalidRulesError",
    "MissingExtraError",
    "PebbleError",
    "PlayInterrupted",
    "UnknownNameError",
    "UnsupportedFunctionError",
    "UnsupportedInstanceError",
]


class PebbleError(Exception):
    """Base of every error that the package raises on purpose."""


class InvalidCDAGError(PebbleError, ValueError):
    """The arrays or edges given do not form a CDAG (a cycle, a self-loop, a vertex out of range, …).

    Attributes
    ----------
    vertices : tuple of int
        The vertices at fault; for a cycle, its vertices in order.
    """

    def __init__(self, message: str, vertices: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.vertices = tuple(int(v) for v in vertices)


class InvalidInputError(PebbleError, ValueError):
    """Numbers to evaluate a CDAG on are missing, unknown, of the wrong shape, or no numbers."""


class InvalidMemoryError(PebbleError, ValueError):
    """M is not a whole number of at least one word."""


class InvalidOrderError(PebbleError, ValueError):
    """An order of computes cannot be replayed: an operand comes too late, an output is missing, …

    Attributes
    ----------
    vertex : int or None
        The vertex at fault.
    position : int or None
        Where in the order the fault shows, from 0.
    """

    def __init__(self, message: str, vertex: int | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.vertex = vertex
        self.position = position


class InvalidRulesError(PebbleError, ValueError):
    """The flags of a rule set contradict one another, or a cost is no number of at least 0."""


class IllegalMoveError(PebbleError, ValueError):
    """A move that the rules forbid.

    Attributes
    ----------
    index : int
        Position of the move in the schedule, from 0.
    move : Move, or HierarchyMove
    reason : str
        The short reason, the same text from both referees (see `pebble.moves.Reason`).
    vertices : tuple of int
        The vertices that the reason names (a missing predecessor, the vertex itself, …).
    """

    def __init__(
        self, index: int, move: Move | HierarchyMove, reason: str, message: str, vertices: Sequence[int] = ()
    ) -> None:
        super().__init__(f"move {index} ({move}): {message}")
        self.index = index
        self.move = move
        self.reason = reason
        self.vertices = tuple(vertices)


class IncompleteScheduleError(PebbleError, ValueError):
    """Every move was legal, but an output lacks its pebble at the end, or a slide is not finished.

    Attributes
    ----------
    vertex : int
        The output of lowest id that lacks its pebble; the vertex computed last, if its slide is open.
    missing : int
        How many outputs lack theirs; 0 if it is the slide.
    """

    def __init__(self, vertex: int, missing: int, outputs: str = "blue") -> None:
        if not missing:
            text = f"with the slide into vertex {vertex} open: delete one of its predecessors"
        elif outputs == "blue":
            text = f"with {missing} output(s) not blue, the first is vertex {vertex}: store it"
        else:
            text = f"with {missing} output(s) neither red nor blue, the first is vertex {vertex}: compute it"
        super().__init__(f"the schedule ends {text}")
        self.vertex = vertex
        self.missing = missing


class InfeasibleInstanceError(PebbleError, ValueError):
    """M is below the least M with which the graph can be pebbled at all.

    Attributes
    ----------
    vertex : int
        The vertex that needs the most red pebbles at once.
    least_M : int
        The words that computing it takes.
    M : int
    """

    def __init__(self, vertex: int, least_M: int, M: int, label: str = "") -> None:
        name = f"vertex {vertex}" + (f" ({label})" if label else "")
        super().__init__(
            f"M={M} is infeasible: computing {name} needs {least_M} red words at once; use M >= {least_M}"
        )
        self.vertex = vertex
        self.least_M = least_M
        self.M = M


class UnsupportedInstanceError(PebbleError):
    """A player does not play this instance; the text says what it does support.

    Attributes
    ----------
    least_M : int or None
        The least M that the player needs, where that is what is missing.
    """

    def __init__(self, message: str, least_M: int | None = None) -> None:
        super().__init__(message)
        self.least_M = least_M


class UnsupportedFunctionError(PebbleError, TypeError):
    """A traced function used an operation that has no CDAG form; the text names the function."""


class GraphSpecError(PebbleError, ValueError):
    """A graph spec such as ``fft:8`` is malformed, or its parameters are out of range."""


class FormatError(PebbleError, ValueError):
    """A file does not hold what its format promises.

    Attributes
    ----------
    file : str
    line : int or None
        Line number from 1, where one line is at fault.
    message : str
        What is wrong, without the place.
    """

    def __init__(self, file: str, message: str, line: int | None = None) -> None:
        where = f"{file}:{line}" if line is not None else file
        super().__init__(f"{where}: {message}")
        self.file = file
        self.line = line
        self.message = message


class UnknownNameError(PebbleError, KeyError):
    """A registry has no such name; the text suggests near ones.

    Attributes
    ----------
    name : str
    suggestions : tuple of str
    """

    def __init__(self, message: str, name: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.suggestions = tuple(suggestions)

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtraError(PebbleError, ImportError):
    """An optional dependency is not installed; the text says which extra brings it."""


class PlayInterrupted(KeyboardInterrupt):
    """Ctrl-C while a strategy played, after it had found a schedule.

    Attributes
    ----------
    schedule : Schedule
        The best that it had found.
    """

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule


class HierarchyPlayInterrupted(KeyboardInterrupt):
    """Ctrl-C while several levels of memory were played, after a schedule had been found.

    Attributes
    ----------
    schedule : HierarchySchedule
        The best that had been found.
    """

    def __init__(self, schedule: HierarchySchedule) -> None:
        super().__init__()
        self.schedule = schedule


class DuplicateEdgeWarning(UserWarning):
    """Edges were given more than once; each was kept once."""


class FormatWarning(UserWarning):
    """A file says more than a CDAG holds; the text says what was taken."""
