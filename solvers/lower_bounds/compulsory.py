"""The compulsory I/O: what every schedule of a graph must move, whatever M is."""

from __future__ import annotations

import numpy as np

from pebble.instance import Instance
from pebble.result import Bound

__all__ = ["compulsory"]


def compulsory(instance: Instance) -> Bound:
    """Every needed source is loaded at least once, and every computed output is stored at least once.

    Parameters
    ----------
    instance : Instance

    Returns
    -------
    Bound
        I/Os, in words. A source is needed if it has a successor on a path to an output, which every source
        with a successor has: each path ends in a sink, and sinks are outputs.

    Notes
    -----
    A source starts blue and cannot be computed, so it becomes red by a load only; a vertex that is no
    source becomes blue by a store only. Holds with and without recomputation. O(|V| + |E|).

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> compulsory(Instance(CDAG.from_edges(4, [(0, 2), (1, 2)]), M=3)).value
    3
    """
    cdag = instance.cdag
    used = np.zeros(cdag.num_vertices, dtype=np.bool_)
    used[cdag.indices] = True
    loads = cdag.is_source & used
    stores = cdag.is_output & ~cdag.is_source
    if cdag.weights is None:
        value = int(loads.sum()) + int(stores.sum())
    else:
        value = int(cdag.weights[loads].sum()) + int(cdag.weights[stores].sum())
    return Bound(
        value,
        "compulsory",
        "any graph, hong-kung and one-shot; sources start blue and cannot be computed",
        "Hong and Kung (1981), the rules: only a load makes a source red, only a store an output blue",
        details={"loads": int(loads.sum()), "stores": int(stores.sum())},
    )
