"""``pebble info``: the size of a graph and the least M that can pebble it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pebble.cli.arguments import GraphArgument, JsonOption, LoadedGraph, QuietOption, load_graph
from pebble.cli.output import print_json, print_pairs

__all__ = ["info"]


def info(graph: GraphArgument, as_json: JsonOption = False, quiet: QuietOption = False) -> None:
    """Describe a graph: vertices, edges, sources, sinks, largest in-degree, least M."""
    document = describe(load_graph(graph))
    if as_json:
        print_json(document)
        return
    tensors = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in document["tensors"].items())
    needs = document["least_M_vertex"]
    least = f"{document['least_M']:,}" + ("" if needs is None else f" (to compute vertex {needs})")
    rows: list[tuple[str, object]] = [
        ("graph", document["graph"]),
        ("vertices", document["num_vertices"]),
        ("edges", document["num_edges"]),
        ("sources", document["num_sources"]),
        ("sinks", document["num_sinks"]),
        ("largest in-degree", document["max_in_degree"]),
        ("largest out-degree", document["max_out_degree"]),
        ("least M", least),
    ]
    for name, key in [
        ("isolated vertices", "num_isolated"),
        ("further outputs", "num_further_outputs"),
        ("words in all", "total_weight"),
    ]:
        if document[key]:
            rows.append((name, document[key]))
    if tensors:
        rows.append(("arrays", tensors))
    rows.append(("computes numbers", document["has_operations"]))
    print_pairs(rows)


def describe(loaded: LoadedGraph) -> dict[str, Any]:
    """The facts about a graph, as its JSON form."""
    from pebble.instance import Instance

    g = loaded.cdag
    instance = Instance(g, 1)
    out_degree = np.bincount(g.indices, minlength=g.num_vertices)
    isolated = g.is_source & (out_degree == 0)
    return {
        "graph": loaded.name,
        "family": g.family or None,
        "params": dict(loaded.params),
        "num_vertices": g.num_vertices,
        "num_edges": g.num_edges,
        "num_sources": len(g.sources),
        "num_sinks": len(g.sinks),
        "num_further_outputs": len(g.further_outputs),
        "num_isolated": int(isolated.sum()),
        "max_in_degree": int(g.in_degree.max(initial=0)),
        "max_out_degree": int(out_degree.max(initial=0)),
        "least_M": instance.least_M,
        "least_M_vertex": instance.least_M_vertex,
        "total_weight": None if g.weights is None else int(g.weights.sum()),
        "has_operations": g.ops is not None,
        "tensors": {name: list(ids.shape) for name, ids in g.tensors.items()},
        "digest": g.digest,
    }
