"""The viewer: one HTML file that plays a schedule, and lets the reader play."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pebble.draw.aggregation import aggregate
from pebble.draw.layout import MOST_CELLS, Layout, lay_out
from pebble.naming import vertex_names
from pebble.operations import ScalarOp

if TYPE_CHECKING:
    from pebble.instance import Instance
    from pebble.rules import Rules
    from pebble.schedule import Schedule

__all__ = ["MOST_MOVES", "Reference", "viewer_page"]

# Up to so many vertices and moves each one is shown; beyond, tiles and steps of time stand for them.
MOST_VERTICES = MOST_CELLS
MOST_MOVES = 100_000
_MOST_STEPS = 500
# Bytes of pebble levels in one page, per colour.
_MOST_LEVELS = 1_000_000
_SCRIPTS = (
    "model.js",
    "board.js",
    "rules.js",
    "file.js",
    "painting.js",
    "charts.js",
    "panels.js",
    "player.js",
    "main.js",
    "probe.js",
)


@dataclass(frozen=True)
class Reference:
    """What a reader's own game is measured against: I/O costs under the instance's rules.

    Attributes
    ----------
    optimum : int or None
        The proved least I/O cost.
    best : int or None
        The least I/O cost known.
    best_by : str
        Who found it.
    bound : int or None
        A lower bound.
    bound_by : str
    """

    optimum: int | None = None
    best: int | None = None
    best_by: str = ""
    bound: int | None = None
    bound_by: str = ""


def viewer_page(
    instance: Instance,
    schedule: Schedule | None = None,
    reference: Reference | None = None,
    *,
    title: str = "",
    play: bool = False,
) -> str:
    """One self-contained HTML page for an instance and, if given, a schedule of it.

    Parameters
    ----------
    instance : Instance
    schedule : Schedule, optional
        Refereed first: of an illegal one the page shows the moves before the first broken rule, and says
        which one that is. Without a schedule the page opens with the reader's own game.
    reference : Reference, optional
        What the reader's own game is compared with.
    title : str
        The graph's name by default.
    play : bool
        Open with the reader's own game although there is a schedule.

    Returns
    -------
    str
        HTML that loads nothing from anywhere. About 5 bytes a move, at most a few megabytes: beyond 2,000
        vertices the graph is shown by tiles (and the reader cannot play), beyond 100,000 moves time goes in
        500 steps.

    Examples
    --------
    >>> from pebble.cdag import CDAG
    >>> from pebble.instance import Instance
    >>> page = viewer_page(Instance(CDAG.from_edges(3, [(0, 2), (1, 2)]), M=3))
    >>> page.startswith("<!DOCTYPE html>"), "http://" in page or "https://" in page
    (True, False)
    """
    document = viewer_data(instance, schedule, reference or Reference(), title, play)
    # In a script element only "</" and "<!" mean anything to HTML.
    data = json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "\n".join(_part(name) for name in _SCRIPTS)
    parts = {
        "TITLE": html.escape(str(document["title"])),
        "STYLE": _part("viewer.css"),
        "DATA": data,
        "SCRIPT": f'(() => {{\n"use strict";\n{scripts}\n}})();',
    }
    # In one pass: what is put in may hold anything, also a mark.
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], _part("viewer.html"))


def viewer_data(
    instance: Instance, schedule: Schedule | None, reference: Reference, title: str, play: bool
) -> dict[str, Any]:
    """What the page shows, as its JSON form; arrays are base64 of little-endian numbers."""
    cdag = instance.cdag
    whole = cdag.num_vertices <= MOST_VERTICES
    layouts = [lay_out(cdag)]
    if whole and layouts[0].kind == "arrays":
        layouts.append(lay_out(cdag, "layers"))
    document: dict[str, Any] = {
        "title": title or cdag.name,
        "opening": "play" if whole and (play or schedule is None) else "watch",
        "graph": cdag.name,
        "digest": cdag.digest,
        "numVertices": cdag.num_vertices,
        "numEdges": cdag.num_edges,
        "M": instance.M,
        "leastM": instance.least_M,
        "rules": instance.rules.name,
        "flags": _flags(instance.rules),
        "redAtStart": list(instance.red_at_start),
        "numSources": len(cdag.sources),
        "numOutputs": len(cdag.outputs),
        "layouts": [_layout_data(layout) for layout in layouts],
        "graphData": _graph_data(instance) if whole else None,
        "schedule": None if schedule is None else _schedule_data(schedule, layouts[0], whole),
        "reference": {
            "optimum": reference.optimum,
            "best": reference.best,
            "bestBy": reference.best_by,
            "bound": reference.bound,
            "boundBy": reference.bound_by,
        },
    }
    return document


def _flags(rules: Rules) -> dict[str, Any]:
    return {
        "recomputation": rules.recomputation,
        "sliding": rules.sliding,
        "freeSources": rules.free_sources,
        "partial": rules.partial,
        "deletion": rules.deletion,
        "outputs": rules.outputs,
        "loadCost": rules.load_cost,
        "storeCost": rules.store_cost,
        "computeCost": rules.compute_cost,
    }


def _graph_data(instance: Instance) -> dict[str, Any]:
    cdag = instance.cdag
    return {
        "names": vertex_names(cdag),
        "labels": None if cdag.labels is None else [str(label) for label in cdag.labels],
        "indptr": _packed(cdag.indptr, "<i4"),
        "indices": _packed(cdag.indices, "<i4"),
        "weights": None if cdag.weights is None else cdag.weights.tolist(),
        "outputs": _packed(cdag.outputs, "<i4"),
        "ops": None if cdag.ops is None else _packed(cdag.ops, "u1"),
        "opNames": [op.name.lower().replace("_", " ") for op in ScalarOp],
    }


def _schedule_data(schedule: Schedule, layout: Layout, whole: bool) -> dict[str, Any]:
    from pebble.errors import IllegalMoveError, IncompleteScheduleError
    from pebble.referee import verify

    moves, cost, problem = schedule.moves, None, ""
    try:
        cost = verify(schedule).to_dict()
    except IllegalMoveError as error:
        problem, moves = str(error), moves[: error.index]
    except IncompleteScheduleError as error:
        problem = str(error)
    data: dict[str, Any] = {
        "producer": schedule.producer,
        "claim": schedule.claim,
        "cost": cost,
        "problem": problem,
        "numMoves": len(moves),
        "moves": None,
        "steps": None,
    }
    if whole and len(moves) <= MOST_MOVES:
        data["moves"] = _packed(moves, "<u4")
    else:
        most = max(50, min(_MOST_STEPS, _MOST_LEVELS // layout.num_cells))
        steps = aggregate(schedule.instance, moves, layout.cell_of, layout.scale, most)
        data["steps"] = {
            "ends": steps.ends.tolist(),
            "loads": steps.loads.tolist(),
            "stores": steps.stores.tolist(),
            "computes": steps.computes.tolist(),
            "recomputes": steps.recomputes.tolist(),
            "peak": steps.peak.tolist(),
            "red": _packed(steps.red, "u1"),
            "blue": _packed(steps.blue, "u1"),
        }
    return data


def _layout_data(layout: Layout) -> dict[str, Any]:
    return {
        "kind": layout.kind,
        "x": _packed(layout.x, "<f4"),
        "y": _packed(layout.y, "<f4"),
        "size": _packed(layout.size, "<f4"),
        "names": layout.names or None,
        "members": None if layout.exact else np.bincount(layout.cell_of, minlength=layout.num_cells).tolist(),
        "scale": None if layout.exact else layout.scale.tolist(),
        "frames": [frame._asdict() for frame in layout.frames],
        "width": layout.width,
        "height": layout.height,
        "upward": layout.upward,
    }


def _packed(array: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")


def _part(name: str) -> str:
    return (resources.files("pebble.draw") / "viewer" / name).read_text(encoding="utf-8")
