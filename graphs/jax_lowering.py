"""Runs a jaxpr on traced arrays: every equation becomes vertices, a movement of entries, or a constant."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphs.jax_primitives import LOWERINGS, Context, Unsupported
from graphs.tensors import TracedArray, as_codes
from graphs.tracing import named
from pebble.errors import GraphSpecError, UnsupportedFunctionError

__all__ = ["run"]

# Primitives that call a jaxpr, and where in their parameters it is.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}


def run(jax: Any, closed: Any, inputs: Sequence[TracedArray]) -> list[Any]:
    """The results of a closed jaxpr on traced arrays: traced arrays, or constants of JAX.

    Raises UnsupportedFunctionError, naming the primitive and the source line, for what has no CDAG form.
    """
    tape = inputs[0].tape if inputs else None
    if tape is None:
        raise GraphSpecError("the function takes no array: nothing is computed from inputs")
    return _Runner(Context(jax, tape)).closed(closed, list(inputs))


class _Runner:
    """Carries out equations in order; `Context` holds what lowerings need."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.place = ""

    def closed(self, closed: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr that may carry its constants along."""
        jaxpr = getattr(closed, "jaxpr", closed)
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, getattr(closed, "consts", ()), strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if hasattr(atom, "val") else values[atom]

        for equation in jaxpr.eqns:
            # Inside a function of JAX's own there is no line of the user's: the call's is the nearest.
            outer = self.place
            self.place = _place(self.context.jax, equation) or outer
            try:
                results = self._equation(equation, [read(atom) for atom in equation.invars])
            except Unsupported as error:
                raise UnsupportedFunctionError(
                    f"JAX's '{equation.primitive.name}'{self.place} has no CDAG form: {error}"
                ) from error
            self.place = outer
            for variable, result in zip(equation.outvars, results, strict=True):
                values[variable] = self._settled(result, variable.aval)
        return [read(atom) for atom in jaxpr.outvars]

    def _settled(self, result: Any, aval: Any) -> Any:
        """An array none of whose entries is computed is a constant again, so that it can steer loops."""
        if not isinstance(result, TracedArray) or (result.size and int(result.ids.max()) >= 0):
            return result
        return self.context.tape.constants_of(result.ids).astype(aval.dtype)

    def _equation(self, equation: Any, arguments: list[Any]) -> Sequence[Any]:
        name = equation.primitive.name
        if name in _CALLS:
            return self.closed(equation.params[_CALLS[name]], arguments)
        if name in _CONTROL:
            return _CONTROL[name](self, equation.params, arguments)
        if name == "name":
            return [self._named(equation.params["name"], arguments[0])]
        if not any(isinstance(x, TracedArray) for x in arguments):
            return self.context.constant(equation, arguments)
        lowering = LOWERINGS.get(name)
        if lowering is None:
            raise Unsupported("it is not among the operations that become vertices")
        result = lowering(self.context, equation, arguments)
        return result if isinstance(result, (list, tuple)) else [result]

    def _named(self, name: str, x: Any) -> Any:
        """Name a traced array, unless another one has the name: loops and recomputation repeat names."""
        if isinstance(x, TracedArray) and name not in self.context.tape.names:
            named(name, x)
        return x

    # -- control flow: what steers it must be constant ------------------------------------------------

    def _branch(self, params: Any, arguments: list[Any]) -> list[Any]:
        index, *operands = arguments
        if isinstance(index, TracedArray):
            raise Unsupported("its condition depends on values; use jnp.where, which computes both sides")
        branches = params["branches"]
        return self.closed(branches[min(max(int(index), 0), len(branches) - 1)], operands)

    def _while(self, params: Any, arguments: list[Any]) -> list[Any]:
        first, second = params["cond_nconsts"], params["body_nconsts"]
        test, body = arguments[:first], arguments[first : first + second]
        carry = arguments[first + second :]
        while True:
            (again,) = self.closed(params["cond_jaxpr"], [*test, *carry])
            if isinstance(again, TracedArray):
                raise Unsupported("how often it runs depends on values")
            if not bool(again):
                return carry
            carry = self.closed(params["body_jaxpr"], [*body, *carry])

    def _scan(self, params: Any, arguments: list[Any]) -> list[Any]:
        fixed, states = params["num_consts"], params["num_carry"]
        consts, carry = arguments[:fixed], arguments[fixed : fixed + states]
        sequences = arguments[fixed + states :]
        steps = range(params["length"])
        collected: list[list[Any]] = []
        for i in reversed(steps) if params["reverse"] else steps:
            results = self.closed(params["jaxpr"], [*consts, *carry, *(x[i] for x in sequences)])
            carry = results[:states]
            collected.append(results[states:])
        if params["reverse"]:
            collected.reverse()
        if not collected:
            empty = params["jaxpr"].out_avals[states:]
            return [*carry, *(np.empty((0, *a.shape), dtype=a.dtype) for a in empty)]
        return [*carry, *(self._stacked(column) for column in zip(*collected, strict=True))]

    def _stacked(self, values: Sequence[Any]) -> Any:
        if not any(isinstance(x, TracedArray) for x in values):
            return self.context.jax.numpy.stack(values)
        tape = self.context.tape
        return TracedArray(tape, np.stack([as_codes(tape, x, "scan") for x in values]))


_CONTROL = {"cond": _Runner._branch, "while": _Runner._while, "scan": _Runner._scan}


def _place(jax: Any, equation: Any) -> str:
    """`` (file:line)`` of the innermost frame that is neither JAX's nor ours; empty if JAX kept none."""
    traceback = equation.source_info.traceback
    inside = tuple(os.path.dirname(file) + os.sep for file in (jax.__file__, __file__))
    for frame in () if traceback is None else traceback.frames:
        if not frame.file_name.startswith(inside):
            return f" ({frame.file_name}:{frame.line_num})"
    return ""
