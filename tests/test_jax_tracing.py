"""A JAX function becomes a graph with JAX's numbers, gradients too; what cannot is refused, name and line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphs
import pebble
import strategies
from graphs.attention import attention_backward_numpy
from pebble.errors import GraphSpecError, UnsupportedFunctionError
from pebble.operations import ScalarOp
from tests.tracing_checks import SUM_IDS, SUMS

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = (4, 4)


def attention_loss(Q: Any, K: Any, V: Any, dO: Any) -> Any:
    P = graphs.named("P", jax.nn.softmax(Q @ K.T, axis=-1))
    return jnp.sum((P @ V) * dO)


def attention_gradients(Q: Any, K: Any, V: Any, dO: Any) -> dict[str, Any]:
    dQ, dK, dV = jax.grad(attention_loss, argnums=(0, 1, 2))(Q, K, V, dO)
    return {"dQ": dQ, "dK": dK, "dV": dV}


def network(weights: dict[str, Any], x: Any) -> Any:
    hidden = jax.nn.relu(x @ weights["W1"] + weights["b1"])
    scores = jax.nn.gelu(hidden @ weights["W2"])
    return -jnp.mean(jax.nn.log_softmax(scores)[:, 0])


def recurrent(W: Any, x: Any) -> Any:
    def step(h: Any, y: Any) -> Any:
        h = jnp.tanh(W @ h + y)
        return h, h.sum()

    return jax.lax.scan(step, jnp.zeros(3), x)


def gathers(x: Any, t: Any) -> Any:
    picked = jnp.sum(x[jnp.array([0, 1, 1, 3])] ** 2)
    product = jax.lax.fori_loop(0, 3, lambda i, c: c * x[i], 1.0)
    return picked + x[0] * t + product + jax.checkpoint(jnp.sin)(x[1])


def halving(x: Any) -> Any:
    _, total = jax.lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] * 0.5 + x), (9, x))
    return jax.lax.cond(True, lambda: total, lambda: jnp.sort(x))


def check(fn: Callable[..., Any], *shapes: Any, seed: int = 0, **options: Any) -> Any:
    """Trace, evaluate, and compare with what JAX computes in double precision."""
    cdag = graphs.from_jax(fn, *shapes, **options)
    assert cdag.ids_are_topological
    inputs = graphs.example_inputs(cdag, seed)
    found = pebble.evaluate(cdag, inputs)
    values = iter(inputs.values())
    is_shape = lambda s: isinstance(s, (int, tuple))  # noqa: E731
    with jax.enable_x64(True):
        arguments = jax.tree_util.tree_map(
            lambda s: jnp.asarray(next(values)), list(shapes), is_leaf=is_shape
        )
        expected = [np.asarray(x) for x in jax.tree_util.tree_leaves(fn(*arguments))]
    assert len(found) == len(expected)
    for array, reference in zip(found.values(), expected, strict=True):
        np.testing.assert_allclose(array, reference, rtol=1e-9, atol=1e-12)
    return cdag


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(o, id=i, marks=[] if i == "chain" else [pytest.mark.slow])
        for o, i in zip(SUMS, SUM_IDS, strict=True)
    ],
)
def test_attention_backward_by_jax_grad_is_ours(options: dict[str, Any]) -> None:
    cdag = graphs.from_jax(attention_gradients, (4, 2), (4, 2), (4, 2), (4, 2), **options)
    assert cdag.input_names == ("Q", "K", "V", "dO")
    assert set(cdag.output_names) == {"dQ", "dK", "dV"}
    assert cdag.tensors["P"].shape == (4, 4)
    x = graphs.example_inputs(cdag, seed=3)
    S = x["Q"] @ x["K"].T
    L = np.log(np.exp(S).sum(axis=1))
    D = (x["dO"] * (np.exp(S - L[:, None]) @ x["V"])).sum(axis=1)
    ours = attention_backward_numpy(x["Q"], x["K"], x["V"], x["dO"], L, D)
    found = pebble.evaluate(cdag, x)
    for name, gradient in ours.items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-9, atol=1e-12)


def test_attention_backward_by_jax_grad_is_played() -> None:
    cdag = graphs.from_jax(attention_gradients, (4, 2), (4, 2), (4, 2), (4, 2))
    instance = pebble.Instance(cdag, 12)
    x = graphs.example_inputs(cdag)
    expected = pebble.evaluate(cdag, x)
    for name in ("belady", "lru", "belady:order=dfs"):
        schedule = strategies.play(name, instance)
        assert pebble.verify(schedule).io >= len(cdag.sources) + len(cdag.outputs)
        for key, array in pebble.execute(schedule, x).items():
            np.testing.assert_array_equal(array, expected[key])


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "network": (network, ({"W1": (3, 4), "b1": 4, "W2": (4, 2)}, (5, 3))),
    "network gradient": (jax.grad(network), ({"W1": (3, 4), "b1": 4, "W2": (4, 2)}, (5, 3))),
    "recurrent": (recurrent, ((3, 3), (4, 3))),
    "recurrent gradient": (jax.grad(lambda W, x: recurrent(W, x)[1].sum()), ((3, 3), (4, 3))),
    "gathers": (gathers, (4, ())),
    "gathers gradient": (jax.grad(gathers), (4, ())),
    "fixed loops and branches": (halving, (3,)),
    "batches": (jax.vmap(lambda a, b: a @ b + jnp.outer(a[:, 0], b[0])), ((2, 3, 4), (2, 4, 3))),
    "einsum": (lambda x, y: jnp.einsum("bij,bkj->bik", x, y), ((2, 3, 4), (2, 5, 4))),
    "running": (lambda x: (jnp.cumsum(x, axis=1), jnp.cumprod(x), jax.lax.cummax(x, reverse=True)), (X,)),
    "reductions": (lambda x: (x.min(axis=0), jnp.prod(x), x.max(), jnp.var(x), jnp.linalg.norm(x)), (X,)),
    "maximum gradient": (jax.grad(lambda x: jnp.sum(jnp.max(x * x, axis=1))), (X,)),
    "choices": (
        lambda x: (jnp.where(x > 0, x, 2.0), jnp.where(x < 0.1, 3.0, x), jnp.where(x >= 0, x, x * x)),
        (X,),
    ),
    "constant choices": (
        lambda x: jnp.where(x > 2 * x[0, 1], 1.0, 3.0) + jnp.where(x != 0.5, -1.0, 0.0),
        (X,),
    ),
    "comparisons": (lambda x: ((x[0] > x[1]) & ~(x[2] <= 0.2)) | (x[3] == x[0]), (X,)),
    "functions": (
        lambda x: (jnp.exp2(x), jnp.log1p(jnp.abs(x)), jnp.expm1(x), jnp.tan(x), jax.nn.sigmoid(x)),
        (X,),
    ),
    "powers": (lambda x: (x**3, 1 / x, jnp.abs(x) ** 0.5, jnp.abs(x) ** x, jax.lax.rsqrt(x * x)), (X,)),
    "erf sign clip": (lambda x: jax.scipy.special.erf(x) + jnp.sign(x) + jnp.clip(x, -0.5, 0.5), (X,)),
    "moving": (
        lambda x: (x[::-1, 1], jnp.pad(x, 1)[1:3, 1:3], jnp.split(x, 2)[1], jnp.roll(x, 1), x.T.ravel()),
        (X,),
    ),
    "overwriting": (lambda x: x.at[0].set(x[1] * x[2]).at[jnp.array([1, 1])].add(x[2:]), (X,)),
    "masks": (lambda x: jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(X)) > 0, x, -jnp.inf)) @ x, (X,)),
    "logsumexp": (lambda x: jax.scipy.special.logsumexp(x, axis=0), (X,)),
}


# JAX compiles a program per operation for constants and gathers, so some cases take seconds.
LONG = {"network gradient", "recurrent gradient", "gathers gradient", "einsum", "powers"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in CASES]
)
def test_numbers_are_those_of_jax(name: str) -> None:
    fn, shapes = CASES[name]
    check(fn, *shapes)


def test_inputs_and_outputs_have_names() -> None:
    cdag = graphs.from_jax(jax.grad(network), {"W1": (3, 4), "b1": 4, "W2": (4, 2)}, (5, 3))
    assert cdag.input_names == ("weights.W1", "weights.W2", "weights.b1", "x")
    assert cdag.output_names == ("W1", "W2", "b1")
    pair = graphs.from_jax(lambda *a, scale: (a[0] * scale, a[1] + 1), 2, 3, scale=())
    assert pair.input_names == ("a0", "a1", "scale")
    assert pair.output_names == ("out0", "out1")


def test_one_vertex_per_operation_and_none_for_constants() -> None:
    cdag = graphs.from_jax(lambda x: jnp.tanh(x) * 1.0 + jnp.zeros(3), 3)
    assert cdag.ops is not None
    assert cdag.ops.tolist() == [ScalarOp.INPUT] * 3 + [ScalarOp.TANH] * 3
    assert graphs.from_jax(lambda A, B: A @ B, (2, 3), (3, 2), fma=True) == graphs.build(
        "matmul:2x3x2,fma=true"
    )
    assert graphs.from_jax(lambda A, B: A @ B, (2, 3), (3, 2), sums="tree") == graphs.build(
        "matmul:2x3x2,sums=tree"
    )


def sorts(x: Any) -> Any:
    y = x + 1
    return jnp.sort(y)


def branches(x: Any) -> Any:
    return jax.lax.cond(x[0] > 0, lambda: x, lambda: -x)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (sorts, r"JAX's 'sort' \(.*test_jax_tracing\.py:\d+\) has no CDAG form"),
        (branches, r"\(.*test_jax_tracing\.py:\d+\) has no CDAG form"),
        (lambda x: x[jnp.argmax(x)], "JAX's 'argmax'"),
        (lambda x: x.astype(int), "JAX's 'convert_element_type' .* int64"),
        (
            lambda x: jax.lax.while_loop(lambda y: y[0] > 0, lambda y: y - 1, x),
            "how often it runs depends on values",
        ),
    ],
)
def test_what_has_no_graph_is_named_with_its_line(fn: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedFunctionError, match=message):
        graphs.from_jax(fn, 4)


def test_bad_shapes_and_results() -> None:
    with pytest.raises(GraphSpecError, match="network needs a shape for x"):
        graphs.from_jax(network, {"W1": (3, 4)})
    with pytest.raises(GraphSpecError, match="sorts takes 1 positional arguments, 2 shapes are given"):
        graphs.from_jax(sorts, 3, 3)
    with pytest.raises(GraphSpecError, match=r"'4x4' is no shape"):
        graphs.from_jax(sorts, "4x4")
    with pytest.raises(GraphSpecError, match="the returned 'out' is a constant"):
        graphs.from_jax(lambda x: jnp.ones(3), 3)


def test_a_gradient_takes_its_shapes_by_name() -> None:
    def loss(Q: Any, K: Any) -> Any:
        return jnp.sum(jnp.tanh(Q @ K.T))

    by_name = graphs.from_jax(jax.grad(loss, argnums=(0, 1)), Q=(3, 2), K=(4, 2))
    assert by_name.input_names == ("Q", "K")
    assert by_name == graphs.from_jax(jax.grad(loss, argnums=(0, 1)), (3, 2), (4, 2))
    assert by_name == graphs.from_jax(jax.grad(loss, argnums=(0, 1)), (3, 2), K=(4, 2))
