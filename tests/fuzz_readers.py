"""One input for the readers of graph files, and what must hold for every input.

The tests draw inputs with hypothesis. For longer runs there is a coverage-guided fuzzer (extra ``fuzz``)::

    python tests/fuzz_readers.py -max_total_time=60
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from pebble.cdag import CDAG
from pebble.errors import FormatError
from pebble.formats import parse_graph
from pebble.formats.catalog import REGISTRY

FORMATS: tuple[str | None, ...] = (None, *REGISTRY.names())


def one_input(data: bytes, format: str | None) -> CDAG | None:
    """Read `data`; None if it is refused. Anything else than a sound graph or a FormatError is a bug."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cdag = parse_graph(data, "given", format=format)
        except FormatError as error:
            refused = error
        else:
            refused = None
    if refused is not None:
        text = str(refused)
        assert "\n" not in text, text
        assert len(text) < 1000, text
        assert refused.line is None or 1 <= refused.line <= data.count(b"\n") + data.count(b"\r") + 2, text
        return None
    n = cdag.num_vertices
    assert n > 0
    assert cdag.labels is None or len(cdag.labels) == n
    assert cdag.weights is None or (len(cdag.weights) == n and int(cdag.weights.min()) >= 1)
    edges = cdag.edges()
    assert len(np.unique(edges, axis=0)) == len(edges)
    place = np.empty(n, dtype=np.int64)
    place[cdag.topological_order] = np.arange(n)
    assert (place[edges[:, 0]] < place[edges[:, 1]]).all()
    return cdag


def fuzz(data: bytes) -> None:
    """`one_input` with the format chosen by the first byte."""
    if data:
        one_input(data[1:], FORMATS[data[0] % len(FORMATS)])


if __name__ == "__main__":
    import atheris

    # The readers are loaded before the fuzzer follows their branches.
    for name in REGISTRY.names():
        REGISTRY.get(name)
    for module in [m for m in sys.modules if m.startswith("pebble.formats.")]:
        for value in vars(sys.modules[module]).values():
            if callable(value) and getattr(value, "__module__", "") == module and hasattr(value, "__code__"):
                value.__code__ = atheris.patch_code(value.__code__, True)
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
