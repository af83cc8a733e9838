"""The red-blue pebble game: CDAGs, instances, schedules, and the referee that is the only source of a cost.

``pebble.graphs``, ``pebble.strategies`` and ``pebble.solvers`` are the sibling packages, loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import graphs as graphs
    import solvers as solvers
    import strategies as strategies
    from pebble import formats as formats
    from pebble.cdag import CDAG as CDAG
    from pebble.cdag import SumLayout as SumLayout
    from pebble.errors import (
        DuplicateEdgeWarning as DuplicateEdgeWarning,
    )
    from pebble.errors import (
        FormatError as FormatError,
    )
    from pebble.errors import (
        GraphSpecError as GraphSpecError,
    )
    from pebble.errors import (
        HierarchyPlayInterrupted as HierarchyPlayInterrupted,
    )
    from pebble.errors import (
        IllegalMoveError as IllegalMoveError,
    )
    from pebble.errors import (
        IncompleteScheduleError as IncompleteScheduleError,
    )
    from pebble.errors import (
        InfeasibleInstanceError as InfeasibleInstanceError,
    )
    from pebble.errors import (
        InvalidCDAGError as InvalidCDAGError,
    )
    from pebble.errors import (
        InvalidInputError as InvalidInputError,
    )
    from pebble.errors import (
        InvalidMemoryError as InvalidMemoryError,
    )
    from pebble.errors import (
        InvalidOrderError as InvalidOrderError,
    )
    from pebble.errors import (
        InvalidRulesError as InvalidRulesError,
    )
    from pebble.errors import (
        MissingExtraError as MissingExtraError,
    )
    from pebble.errors import (
        PebbleError as PebbleError,
    )
    from pebble.errors import (
        PlayInterrupted as PlayInterrupted,
    )
    from pebble.errors import (
        UnknownNameError as UnknownNameError,
    )
    from pebble.errors import (
        UnsupportedFunctionError as UnsupportedFunctionError,
    )
    from pebble.errors import (
        UnsupportedInstanceError as UnsupportedInstanceError,
    )
    from pebble.evaluation import evaluate as evaluate
    from pebble.evaluation import execute as execute
    from pebble.game import Game as Game
    from pebble.hierarchy import Hierarchy as Hierarchy
    from pebble.hierarchy import HierarchyCost as HierarchyCost
    from pebble.hierarchy import HierarchyMove as HierarchyMove
    from pebble.hierarchy import HierarchySchedule as HierarchySchedule
    from pebble.hierarchy import verify_hierarchy as verify_hierarchy
    from pebble.instance import Instance as Instance
    from pebble.moves import Move as Move
    from pebble.moves import Op as Op
    from pebble.moves import Reason as Reason
    from pebble.operations import ScalarOp as ScalarOp
    from pebble.referee import verify as verify
    from pebble.registry import Registry as Registry
    from pebble.result import Bound as Bound
    from pebble.result import Cost as Cost
    from pebble.result import Limit as Limit
    from pebble.result import Result as Result
    from pebble.result import Status as Status
    from pebble.rules import Rules as Rules
    from pebble.schedule import Schedule as Schedule

__version__ = "0.1.0"

# Names are imported from their modules on first use, so that `import pebble` stays light.
_HOMES = {
    "pebble.cdag": ["CDAG", "SumLayout"],
    "pebble.errors": [
        "DuplicateEdgeWarning",
        "FormatError",
        "GraphSpecError",
        "HierarchyPlayInterrupted",
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
    ],
    "pebble.evaluation": ["evaluate", "execute"],
    "pebble.game": ["Game"],
    "pebble.hierarchy": [
        "Hierarchy",
        "HierarchyCost",
        "HierarchyMove",
        "HierarchySchedule",
        "verify_hierarchy",
    ],
    "pebble.instance": ["Instance"],
    "pebble.moves": ["Move", "Op", "Reason"],
    "pebble.operations": ["ScalarOp"],
    "pebble.referee": ["verify"],
    "pebble.registry": ["Registry"],
    "pebble.result": ["Bound", "Cost", "Limit", "Result", "Status"],
    "pebble.rules": ["Rules"],
    "pebble.schedule": ["Schedule"],
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}
_SIBLINGS = ("graphs", "strategies", "solvers")

__all__ = sorted([*_MODULE_OF, *_SIBLINGS, "__version__", "formats"])


def __getattr__(name: str) -> Any:
    if name in _SIBLINGS:
        value: Any = importlib.import_module(name)
    elif name == "formats":
        value = importlib.import_module("pebble.formats")
    elif name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'pebble' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
