"""Attention graphs: vertex counts by closed form, numbers against NumPy, gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphs
import pebble
from graphs.attention import (
    a1xa2t_numpy,
    attention_backward_numpy,
    attention_forward_numpy,
    attention_gradient_numpy,
)
from pebble.errors import GraphSpecError
from tests.tracing_checks import SUM_IDS, SUMS, check_graph

SIZES = [(1, 1), (1, 3), (3, 1), (2, 2), (4, 3), (5, 2), (3, 5), (8, 4)]
SCALED_SIZES = [size for size in SIZES if size[1] > 1]


def products(k: int, options: dict[str, Any]) -> int:
    """Vertices of one sum of k products."""
    if options["sums"] == "flat":
        return k + 1 if k > 1 else 1
    if not options.get("fma"):
        return 2 * k - 1
    if options["sums"] == "chain" or k < 2:
        return k
    return products((k + 1) // 2, options) + (products(k // 2, options) + 1 if k > 3 else 1)


def total(k: int, options: dict[str, Any]) -> int:
    """Vertices of one sum of k vertices."""
    return min(k - 1, 1) if options["sums"] == "flat" else k - 1


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_backward_counts(n: int, d: int) -> None:
    chain = 10 * n * n * d + n * d + 2 * n * n + 2 * n
    fused = 5 * n * n * d + 4 * n * n + 4 * n * d + 2 * n
    given_o = 3 * n * d - 2 * n
    assert graphs.attention_backward(n, d).num_vertices == chain
    assert graphs.attention_backward(n, d, sums="tree").num_vertices == chain
    assert graphs.attention_backward(n, d, fma=True).num_vertices == fused
    assert graphs.attention_backward(n, d, given="O").num_vertices == chain + given_o
    assert graphs.attention_backward(n, d, given="O", fma=True).num_vertices == fused + given_o
    g = graphs.attention_backward(n, d)
    assert len(g.sources) == 4 * n * d + 2 * n
    assert len(g.outputs) == 3 * n * d


@pytest.mark.parametrize(("n", "d"), SCALED_SIZES)
def test_scale_adds_its_vertices(n: int, d: int) -> None:
    for options in SUMS:
        plain = graphs.attention_backward(n, d, **options)
        scaled = graphs.attention_backward(n, d, scale=True, **options)
        assert scaled.num_vertices == plain.num_vertices + n * n + 2 * n * d


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_gradient_counts(n: int, d: int) -> None:
    chain = 8 * n * n * d + 6 * n * d * d + 3 * n * n + 4 * n * d + d * d - 2 * n
    assert graphs.attention_gradient(n, d).num_vertices == chain
    assert graphs.attention_gradient(n, d, sums="tree").num_vertices == chain
    fused = 4 * n * n * d + 3 * n * d * d + 5 * n * n + 8 * n * d - 2 * n + 2 * d * d
    assert graphs.attention_gradient(n, d, fma=True).num_vertices == fused
    both = graphs.attention_gradient(n, d, outputs="dX+dY").num_vertices
    assert both == chain + (n * d + d * d) * (2 * n - 1)
    # Without N and c; O is an input instead of a quotient, dO instead of E.
    from_dO = graphs.attention_gradient(n, d, given="dO").num_vertices
    assert from_dO == chain - n * d * (2 * n - 1) - n * d


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_counts_by_phase(n: int, d: int, options: dict[str, Any]) -> None:
    over_d, over_n = products(d, options), products(n, options)
    backward = graphs.attention_backward(n, d, **options).num_vertices
    assert backward == 4 * n * d + 2 * n + 2 * n * n * over_d + 4 * n * n + 3 * n * d * over_n
    gradient = graphs.attention_gradient(n, d, **options).num_vertices
    sums = (2 * n * n + 2 * n * d) * over_d + (2 * n * d + d * d) * over_n
    single = 4 * n * n + 3 * n * d + n * total(n, options) + n * total(d, options)
    assert gradient == 4 * n * d + 2 * d * d + sums + single
    forward = graphs.attention_forward(n, d, **options).num_vertices
    assert forward == 4 * n * d + n * n * (over_d + 1) + n * total(n, options) + n * d * over_n
    assert graphs.a1xa2t(n, d, **options).num_vertices == 2 * n * d + d * d + (n * d + n * n) * over_d


BUILDS: list[tuple[str, Callable[..., Any], list[dict[str, Any]]]] = [
    (
        "attention_backward",
        attention_backward_numpy,
        [{}, {"given": "O"}, {"scale": True}, {"given": "O", "scale": True}],
    ),
    (
        "attention_gradient",
        attention_gradient_numpy,
        [{}, {"given": "dO"}, {"outputs": "dX+dY"}, {"given": "dO", "outputs": "dX+dY"}],
    ),
    ("attention_forward", attention_forward_numpy, [{}]),
    ("a1xa2t", a1xa2t_numpy, [{}]),
]


@pytest.mark.parametrize("options", SUMS, ids=SUM_IDS)
@pytest.mark.parametrize(("name", "fn", "variants"), BUILDS, ids=[build[0] for build in BUILDS])
def test_the_graph_computes_what_the_function_computes(
    name: str, fn: Callable[..., Any], variants: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    for variant in variants:
        for n, d in [(1, 1), (4, 3), (3, 5)]:
            cdag = getattr(graphs, name)(n, d, **variant, **options)
            check_graph(cdag)
            inputs = graphs.example_inputs(cdag, seed=n)
            found = pebble.evaluate(cdag, inputs)
            passed = {key: value for key, value in variant.items() if key != "given"}
            expected = fn(**inputs, **passed)
            assert list(found) == list(expected) == list(cdag.output_names)
            for key, array in expected.items():
                np.testing.assert_allclose(found[key], array, rtol=1e-10, atol=1e-12)


def central_differences(loss: Callable[[], float], array: np.ndarray[Any, Any], step: float = 1e-5) -> Any:
    gradient = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = loss()
        array[index] = kept - step
        gradient[index] = (above - loss()) / (2 * step)
        array[index] = kept
    return gradient


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("given", ["D", "O"])
def test_backward_is_the_gradient_of_the_forward_pass(given: Any, scale: bool) -> None:
    n, d = 5, 3
    cdag = graphs.attention_backward(n, d, given=given, scale=scale)
    x = graphs.example_inputs(cdag, seed=3)
    found = pebble.evaluate(cdag, x)
    tau = 1 / np.sqrt(d) if scale else 1.0

    def loss() -> float:
        return float((x["dO"] * attention_forward_numpy(tau * x["Q"], x["K"], x["V"])["O"]).sum())

    for name in "QKV":
        expected = central_differences(loss, x[name])
        np.testing.assert_allclose(found[f"d{name}"], expected, rtol=1e-6, atol=1e-8)


def attention_of(x: dict[str, Any]) -> Any:
    return attention_forward_numpy(x["A1"] @ x["X"], x["A2"], x["A3"] @ x["Y"])["O"]


@pytest.mark.parametrize("given", ["E", "dO"])
def test_gradient_is_the_gradient_of_the_loss(given: Any) -> None:
    n, d = 5, 3
    cdag = graphs.attention_gradient(n, d, given=given, outputs="dX+dY")
    x = graphs.example_inputs(cdag, seed=4)
    found = pebble.evaluate(cdag, x)

    def loss() -> float:
        if given == "E":
            return float(0.5 * ((attention_of(x) - x["E"]) ** 2).sum())
        return float((x["dO"] * attention_of(x)).sum())

    np.testing.assert_allclose(found["g"], central_differences(loss, x["X"]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found["dY"], central_differences(loss, x["Y"]), rtol=1e-6, atol=1e-8)


def test_example_inputs_belong_together() -> None:
    g = graphs.attention_backward(6, 3)
    x = graphs.example_inputs(g, seed=5)
    assert {name: array.shape for name, array in x.items()} == {
        name: g.tensors[name].shape for name in ("Q", "K", "V", "dO", "L", "D")
    }
    P = np.exp(x["Q"] @ x["K"].T - x["L"][:, None])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(x["D"], (x["dO"] * (P @ x["V"])).sum(axis=1))
    again = graphs.example_inputs(g, seed=5)
    assert all((again[name] == x[name]).all() for name in x)
    assert (graphs.example_inputs(g, seed=6)["Q"] != x["Q"]).all()
    with pytest.raises(pebble.UnsupportedInstanceError, match="has no named inputs"):
        graphs.example_inputs(pebble.CDAG.from_edges(2, [(0, 1)]))


def test_sums_of_the_backward_pass() -> None:
    n, d = 4, 3
    g = graphs.attention_backward(n, d)
    for name, k, shape in [
        ("S", d, (n, n)),
        ("dP", d, (n, n)),
        *((x, n, (n, d)) for x in ("dV", "dQ", "dK")),
    ]:
        base, found_shape, terms, layout = g.sums[name]
        assert (found_shape, terms, layout) == (shape, k, "chain")
        assert g.tensors[name][0, 0] == base + 2 * k - 2
    t = g.tensors
    first = t["dQ"][1, 2] - 2 * (n - 1)
    assert g.preds(first).tolist() == [t["dS"][1, 0], t["K"][0, 2]]
    first = t["dK"][1, 2] - 2 * (n - 1)
    assert g.preds(first).tolist() == [t["dS"][0, 1], t["Q"][0, 2]]
    first = t["dV"][1, 2] - 2 * (n - 1)
    assert g.preds(first).tolist() == [t["P"][0, 1], t["dO"][0, 2]]


def test_at_most_fourteen_bytes_per_vertex_besides_ops() -> None:
    g = graphs.attention_backward(64, 16)
    assert g.indptr.nbytes + g.indices.nbytes <= 14 * g.num_vertices


def test_specs() -> None:
    g = graphs.build("attention-backward:n=4,d=2,given=O,fma=true")
    assert g == graphs.attention_backward(4, 2, given="O", fma=True)
    assert g.family == "attention-backward"
    assert g.params == {"n": 4, "d": 2, "given": "O", "fma": True}
    assert graphs.attention_backward(4, 2).params == {"n": 4, "d": 2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: graphs.attention_backward(0, 2), "attention-backward: n=0 is out of range"),
        (lambda: graphs.attention_backward(2, 2.5), "attention-backward: d=2.5 is out of range"),  # type: ignore[arg-type]
        (lambda: graphs.attention_backward(2, 2, given="P"), "attention-backward: given=P is none of D, O"),  # type: ignore[arg-type]
        (lambda: graphs.attention_forward(2, 2, sums="flat", fma=True), "fma=True goes with"),
    ],
)
def test_bad_parameters(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(GraphSpecError, match=message):
        call()
