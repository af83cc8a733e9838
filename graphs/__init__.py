"""Graphs to pebble: NumPy functions traced to CDAGs, and the families that the literature studies.

>>> import graphs
>>> graphs.build("matmul:2x3x2")
<CDAG matmul:m=2,k=3,n=2: 32 vertices, 40 edges, 12 sources, 4 sinks>
>>> graphs.trace(lambda Q, K: Q @ K.T, Q=(4, 2), K=(4, 2)).num_vertices
64
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphs.attention import a1xa2t as a1xa2t
    from graphs.attention import attention_backward as attention_backward
    from graphs.attention import attention_forward as attention_forward
    from graphs.attention import attention_gradient as attention_gradient
    from graphs.catalog import build as build
    from graphs.coarsening import coarsen as coarsen
    from graphs.coarsening import grouping as grouping
    from graphs.coarsening import refine as refine
    from graphs.einsums import einsum as einsum
    from graphs.jax_tracing import from_jax as from_jax
    from graphs.linear_algebra import cholesky as cholesky
    from graphs.linear_algebra import dot as dot
    from graphs.linear_algebra import lu as lu
    from graphs.linear_algebra import matmul as matmul
    from graphs.linear_algebra import matvec as matvec
    from graphs.listing import info as info
    from graphs.listing import names as names
    from graphs.listing import register as register
    from graphs.random_graphs import random as random
    from graphs.random_graphs import random_layered as random_layered
    from graphs.samples import example_inputs as example_inputs
    from graphs.sparse_graphs import cg as cg
    from graphs.sparse_graphs import knn as knn
    from graphs.sparse_graphs import spmv as spmv
    from graphs.sparse_graphs import spmv_power as spmv_power
    from graphs.spec import GraphSpec as GraphSpec
    from graphs.stencils import stencil1d as stencil1d
    from graphs.stencils import stencil2d as stencil2d
    from graphs.structural import chain as chain
    from graphs.structural import fft as fft
    from graphs.structural import grid as grid
    from graphs.structural import pyramid as pyramid
    from graphs.structural import reduce as reduce
    from graphs.structural import tree as tree
    from graphs.tracing import named as named
    from graphs.tracing import trace as trace
    from pebble.naming import vertex_name as vertex_name
    from pebble.naming import vertex_names as vertex_names

# Names are imported from their modules on first use, so that `import graphs` stays light.
_HOMES = {
    "graphs.attention": ["a1xa2t", "attention_backward", "attention_forward", "attention_gradient"],
    "graphs.catalog": ["build"],
    "graphs.coarsening": ["coarsen", "grouping", "refine"],
    "graphs.einsums": ["einsum"],
    "graphs.jax_tracing": ["from_jax"],
    "graphs.linear_algebra": ["cholesky", "dot", "lu", "matmul", "matvec"],
    "graphs.listing": ["info", "names", "register"],
    "graphs.random_graphs": ["random", "random_layered"],
    "graphs.samples": ["example_inputs"],
    "graphs.sparse_graphs": ["cg", "knn", "spmv", "spmv_power"],
    "graphs.spec": ["GraphSpec"],
    "graphs.stencils": ["stencil1d", "stencil2d"],
    "graphs.structural": ["chain", "fft", "grid", "pyramid", "reduce", "tree"],
    "graphs.tracing": ["named", "trace"],
    "pebble.naming": ["vertex_name", "vertex_names"],
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'graphs' has no attribute '{name}'")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
