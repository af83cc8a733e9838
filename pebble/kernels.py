"""Compiled loops over graphs. Importing this module imports numba, so only functions import it."""

from __future__ import annotations

import numba

from pebble import topology

__all__ = ["generations", "reverse_csr", "topological_order"]

topological_order = numba.njit(cache=True, nogil=True)(topology.topological_order)
reverse_csr = numba.njit(cache=True, nogil=True)(topology.reverse_csr)
generations = numba.njit(cache=True, nogil=True)(topology.generations)
