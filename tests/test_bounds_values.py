"""`solvers.bounds`: what it returns, in which order, how fast; closed forms against graphs; the command."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest

import solvers
from graphs.catalog import REGISTRY as FAMILIES
from graphs.catalog import build, parse
from graphs.masks import attention_mask
from pebble.cdag import CDAG
from pebble.cli.main import main
from pebble.errors import InvalidMemoryError, UnknownNameError
from pebble.instance import Instance
from pebble.result import Bound
from solvers.lower_bounds import dominators
from solvers.lower_bounds.asymptotic import sparse_theorem, sparse_threshold, theorem_1_1
from solvers.lower_bounds.compulsory import compulsory_io, family_compulsory
from solvers.lower_bounds.matmul import closed_form, one_shot_bound, products_bound
from solvers.lower_bounds.segments import best_segment
from solvers.lower_bounds.tokens import TokenTable, best_tokens, product_supply

SPECS = [
    *(f"attention-backward:n={n},d={d},given={g}" for n in (1, 2, 4) for d in (1, 3) for g in "DO"),
    *(f"attention-backward:n=3,d={d},scale=true" for d in (1, 2)),
    *(
        f"attention-gradient:n={n},d={d},given={g},outputs={o}"
        for n in (1, 3)
        for d in (1, 2)
        for g in ("E", "dO")
        for o in ("dX", "dX+dY")
    ),
    *(f"attention-forward:n={n},d={d}" for n in (1, 3) for d in (1, 2)),
    *(
        f"attention-{f}:n=4,d=2,{options}"
        for f in ("backward", "forward")
        for options in (
            "mask=causal",
            "n_k=7",
            "heads=2",
            "heads=4,kv_heads=2,mask=window:2",
            "mask=window:1",
        )
    ),
    "attention-backward:n=3,d=2,given=O,heads=4,kv_heads=1,n_k=5",
    *(f"a1xa2t:n={n},d={d}" for n in (1, 3) for d in (1, 2)),
    *(
        f"matmul:{m}x{k}x{n},fma={f}"
        for m in (1, 3)
        for k in (1, 2)
        for n in (1, 2)
        for f in ("true", "false")
    ),
    *(f"{f}:{n}" for f in ("lu", "cholesky", "pyramid", "chain", "reduce", "dot") for n in (1, 2, 5)),
    *(f"fft:{n}" for n in (1, 2, 8)),
    *(f"tree:leaves={n},arity={a}" for n in (1, 2, 7) for a in (2, 3)),
    "matvec:3x2",
    "grid:1x1",
    "grid:3x4",
    "stencil1d:n=1,t=1",
    "stencil1d:n=5,t=3",
    "stencil2d:rows=2,cols=3,t=2",
]


@pytest.mark.parametrize("spec", SPECS)
def test_compulsory_io_from_the_parameters_is_that_of_the_graph(spec: str) -> None:
    parsed = parse(spec)
    assert family_compulsory(parsed.family, parsed.params) == compulsory_io(build(spec))


def test_compulsory_io_with_weights_and_further_outputs() -> None:
    cdag = CDAG.from_edges(5, [(0, 2), (1, 2), (2, 3)], weights=[2, 3, 5, 7, 11], outputs=[2, 0])
    assert compulsory_io(cdag) == (5, 12)


def test_certificates_come_first_and_best_first() -> None:
    found = solvers.bounds("attention-gradient:n=64,d=16", M=256, include_asymptotic=True)
    certificates = [b for b in found if b.certificate]
    assert found[: len(certificates)] == certificates
    assert [b.value for b in certificates] == sorted((b.value for b in certificates), reverse=True)
    assert {b.name for b in found if not b.certificate} == {"theorem-1.1", "sparse-theorem"}
    assert solvers.best_bound("attention-gradient:n=64,d=16", M=256) == certificates[0]
    assert all(b.certificate for b in solvers.bounds("attention-gradient:n=64,d=16", M=256))


def test_an_instance_gets_what_its_spec_gets() -> None:
    for spec in (
        "attention-backward:n=12,d=4",
        "matmul:6x7x8,fma=true",
        "fft:32",
        "attention-forward:n=9,d=3",
    ):
        for rules in ("hong-kung", "one-shot"):
            instance = Instance(build(spec), 20, rules)
            by_spec = {b.name: b for b in solvers.bounds(spec, 20, rules)}
            by_graph = {b.name: b for b in solvers.bounds(instance)}
            assert by_spec == by_graph
    renumbered = build("fft:32").renumber(np.arange(32 * 6)[::-1])
    assert solvers.best_bound(Instance(renumbered, 4)).value == solvers.best_bound("fft:32", 4).value


def test_every_bound_says_what_it_assumes() -> None:
    for spec in ("attention-backward:n=8,d=2", "attention-gradient:n=8,d=2", "matmul:4x4x4", "pyramid:4"):
        names = [name for name in solvers.BOUNDS.names() if name != "search"]
        for bound in solvers.bounds(spec, 8, "one-shot", names=names):
            assert isinstance(bound.value, int)
            assert bound.source
            if bound.certificate:
                assert "one-shot" in bound.assumes
                assert "sources start blue and cannot be computed" in bound.assumes
            json.dumps(bound.to_dict())


def test_bounds_by_name() -> None:
    (found,) = solvers.bounds("matmul:4x4x4", 8, names=["matmul-closed-form"])
    assert found.value == closed_form(4, 4, 4, 8)
    assert solvers.bounds("matmul:4x4x4", 8, names=["spectral"]) == []
    with pytest.raises(UnknownNameError, match="did you mean 'spectral'"):
        solvers.bounds("matmul:4x4x4", 8, names=["spectrol"])


def test_a_spec_needs_a_memory() -> None:
    with pytest.raises(ValueError, match="need M"):
        solvers.bounds("fft:8")
    with pytest.raises(InvalidMemoryError):
        solvers.bounds("fft:8", 0)


def test_graphs_without_work_cost_nothing() -> None:
    for cdag in (CDAG.from_edges(0, []), CDAG.from_edges(3, [])):
        assert solvers.best_bound(Instance(cdag, 1)).value == 0
        assert solvers.bounds(Instance(cdag, 1, "one-shot"), expensive=True)[0].value == 0


def test_every_family_has_a_bound() -> None:
    for name in FAMILIES.names():
        parameters = {
            "random": "random:n=9,p=0.3,seed=1",
            "random-layered": "random-layered:w=3,d=3,seed=1",
        }
        spec = parameters.get(name) or next((s for s in SPECS if s.startswith(name + ":")), None)
        if spec is not None:
            assert solvers.best_bound(spec, 9).name != "none"


@pytest.mark.parametrize("mask", ["full", "causal", "window:512", "block:64:butterfly", "block:64:lower"])
def test_closed_forms_of_a_huge_problem_take_milliseconds(mask: str) -> None:
    spec = f"attention-backward:n=65536,d=128,mask={mask}"
    solvers.bounds(spec, 1000)
    best = math.inf
    for M in (4096, 16384, 65536, 10**6):
        start = time.process_time()
        found = solvers.bounds(spec, M)
        best = min(best, time.process_time() - start)
        assert found[0].value >= 7 * 65536 * 128
    assert best < 0.05


def test_layers_of_a_stencil_in_blocks_are_little_above_those_counted_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        {"rows": 300, "cols": 300, "t": 400},
        {"rows": 20, "cols": 900, "t": 700},
        {"rows": 5, "cols": 9000, "t": 300},
    ]
    for params in found:
        question = dominators.family_dominated("stencil2d", params)
        assert question is not None
        D = np.unique(np.geomspace(1, params["rows"] * params["cols"], 200).astype(np.int64))
        blocks = question[2](D)
        with monkeypatch.context() as patched:
            patched.setattr(dominators, "_EXACT_LAYERS", 10**6)
            exact = question[2](D)
        assert (np.diff(blocks) >= 0).all()
        assert (exact <= blocks).all()
        assert (blocks <= 1.06 * exact).all()
    solvers.bounds("stencil2d:rows=65536,cols=65536,t=65536", 4000)
    start = time.process_time()
    assert solvers.best_bound("stencil2d:rows=65536,cols=65536,t=65536", 4096).value > 2.5e12
    assert time.process_time() - start < 0.5


def test_a_pattern_of_a_billion_cells_is_listed_by_what_it_shows() -> None:
    start = time.process_time()
    mask = attention_mask("block:1:butterfly", 2**15, 2**15)
    assert mask.pairs == 16 * 2**15
    assert time.process_time() - start < 5


# -- arithmetic -------------------------------------------------------------------------------------------


def test_the_best_segment_is_the_best_of_all() -> None:
    """The search over segment lengths against every length."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        a, b, power = int(rng.integers(1, 9)), float(rng.random()) + 0.05, float(rng.choice([1.0, 1.5, 2.0]))
        total = int(rng.integers(1, 5000))

        def progress(Y: np.ndarray, a: int = a, b: float = b, power: float = power) -> np.ndarray:
            return (a + b * Y.astype(float) ** power).astype(np.int64)

        lengths = np.arange(1, 120_000)
        every = lengths * (-(-total // np.maximum(progress(lengths), 1)) - 1)
        value, length = best_segment(total, progress)
        plain = length * (-(-total // int(progress(np.array([length]))[0])) - 1)
        assert plain == every.max()
        assert plain <= value <= plain + length


def test_bounds_are_whole_numbers_that_rounding_cannot_raise() -> None:
    assert closed_form(2, 2, 2, 2) == 2  # 8/√4 − 2, exactly
    assert closed_form(100, 100, 100, 50) == 10**6 // 10 - 50
    assert closed_form(3, 3, 3, 1) == math.isqrt(27 * 27 // 2) + 1 - 1
    # Loomis & Whitney allow exactly 64 products to 3·16 tokens: a bound of one more segment would be false.
    value, Y = one_shot_bound(4, 4, 4, 16, fused=True)
    assert (value, Y) != (32, 32)
    assert value < 32


def test_more_memory_or_less_work_never_raises_a_bound() -> None:
    for M in (8, 64, 512):
        values = [solvers.best_bound(f"attention-backward:n={n},d=16", M).value for n in (16, 64, 256)]
        assert values == sorted(values)
        assert products_bound(9, 9, 9, M)[0] >= products_bound(9, 9, 9, 2 * M)[0]
    tokens, most = TokenTable(100, product_supply).progress()
    assert (np.diff(tokens) >= 0).all()
    assert (np.diff(most) >= 0).all()
    assert best_tokens(0, 100, 1, (tokens, most)) == (0, 0)
    assert best_tokens(5, 100, 1, (tokens, most))[0] <= 5**2


# -- asymptotic theorems ----------------------------------------------------------------------------------


def test_theorem_1_1_crosses_at_d_squared() -> None:
    n, d = 512, 32
    assert theorem_1_1(n, d, d * d) == n * d * (n + d) / d
    assert theorem_1_1(n, d, d * d // 4) == n * d * (n + d) / (d // 2)
    assert theorem_1_1(n, d, 4 * d * d) == n * d * (n + d) / (4 * d)


def test_the_sparse_theorem_is_the_dense_one_without_masks() -> None:
    n, d = 512, 32
    for M in (256, 1024, 4096):
        assert sparse_theorem(n * d, n * n, M) == min(n * n * d * d / M, n * n * d / math.sqrt(M))
    assert sparse_threshold(n * d, n * n) == d * d


def test_a_formula_is_no_certificate() -> None:
    """At M = 64nd theorem 1.1 says 1,088 words, where 264,192 must be loaded to begin with."""
    n, d = 1024, 64
    spec = f"attention-gradient:n={n},d={d}"
    formula = solvers.bounds(spec, 64 * n * d, names=["theorem-1.1"])[0]
    assert (formula.value, formula.certificate) == (1088, False)
    assert "asymptotic, not a certificate" in formula.assumes
    assert solvers.best_bound(spec, 64 * n * d).value >= 4 * n * d


# -- the command ------------------------------------------------------------------------------------------


def test_pebble_bound_prints_sources_and_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bound", "attention-backward:n=64,d=16", "-M", "d^2/4,d^2", "--asymptotic"]) == 0
    text = capsys.readouterr().out
    assert "M=64" in text
    assert "M=256" in text
    assert "attention-sequential" in text
    assert "docs/bounds.md, LB-S" in text
    assert "not a certificate" in text


def test_pebble_bound_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bound", "fft:8", "-M", "4", "--rules", "one-shot", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = solvers.bounds("fft:8", 4, "one-shot")
    assert document["lower_bound"] == found[0].value
    assert document["bound"] == found[0].name
    assert [Bound(**row) for row in document["bounds"]] == found


def test_pebble_bound_of_nothing_that_applies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bound", "fft:8", "-M", "4", "--bounds", "spectral"]) == 3
    assert "none of the bounds applies" in capsys.readouterr().err


def test_pebble_bound_below_the_least_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bound", "matmul:2x2x2,sums=flat", "-M", "2", "--json"]) == 1
    out = capsys.readouterr()
    document = json.loads(out.out)
    assert (document["status"], document["least_M"], document["bounds"]) == ("infeasible", 3, [])
    assert f"vertex {document['vertex']}" in document["reason"]
    assert document["reason"] in out.err
    # One feasible size is enough for a result, and the other is told of all the same.
    assert main(["bound", "fft:8", "-M", "2..3"]) == 0
    out = capsys.readouterr()
    assert "dominators" in out.out
    assert "infeasible" in out.err
    assert "M=2" in out.err


def test_an_interrupt_leaves_the_bounds_found_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(subject: object, limit: object) -> Bound:
        raise KeyboardInterrupt

    monkeypatch.setitem(solvers.BOUNDS.get("dominators").__dict__, "compute", interrupted)
    assert main(["bound", "fft:8", "-M", "3,4", "--json"]) == 130
    out = capsys.readouterr()
    first, *rest = json.loads(out.out)
    assert rest == []
    names = [bound["name"] for bound in first["bounds"]]
    assert "compulsory" in names
    assert "dominators" not in names
    assert "these are the bounds so far" in out.err
