"""Lower bounds on the traffic at every level of a memory hierarchy, from those of the two-level game."""

from __future__ import annotations

from pebble.cdag import CDAG
from pebble.hierarchy import Hierarchy, plain_rules
from pebble.instance import Instance
from pebble.result import Bound
from pebble.rules import Rules
from solvers.bounding import best_bound

__all__ = ["hierarchy_bounds"]


def hierarchy_bounds(cdag: CDAG, hierarchy: Hierarchy, rules: Rules | str = "hong-kung") -> list[Bound]:
    """A lower bound on the words that move between each level and the next slower one.

    Parameters
    ----------
    cdag : CDAG
    hierarchy : Hierarchy
    rules : Rules or str
        ``hong-kung`` or ``one-shot``.

    Returns
    -------
    list of Bound
        One per level, in words. Their sum at the levels' costs bounds the total cost.

    Raises
    ------
    UnsupportedInstanceError
        Other rules.

    Notes
    -----
    Between level i and the next, no schedule moves fewer words than one of the two-level game does with
    M = M₁ + … + Mᵢ (Savage 1995; docs/hierarchy.md has the proof): taken together, levels 1 to i are
    its fast memory, all others its slow memory.

    Examples
    --------
    >>> from graphs.linear_algebra import matmul
    >>> [b.value >= 48 for b in hierarchy_bounds(matmul(4, 4, 4), Hierarchy((8, 24)))]
    [True, True]
    """
    chosen = plain_rules(rules)
    return [
        best_bound(Instance(cdag, hierarchy.capacity(level), chosen))
        for level in range(1, hierarchy.num_levels + 1)
    ]
