"""unary and binary: elementwise operators that stand alone (chains are fused as TIR).

A `Row` here has ``chain``: how many elementwise operators it takes. `find_matches` uses it only
where that is the whole chain, so that a longer chain stays in one piece for TVM's fusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod

from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.kernels.activation import Activation, activations
from tvm_megcc.kernels.request import Parts, Request, Row, dtype_of, shape_of

MAX_RANK = 8
#: Codes of ``codegen_c/include/op/unary.h``.
UNARY = {
    "exp": 32, "log": 33, "sqrt": 34, "rsqrt": 35, "negative": 36, "abs": 37, "floor": 38,
    "ceil": 39, "round": 40, "erf": 41, "sin": 42, "cos": 43, "sign": 46, "square": 47,
    "trunc": 48,
}  # fmt: skip
#: Codes of ``codegen_c/include/op/binary.h``.
BINARY = {
    "add": 0, "subtract": 1, "multiply": 2, "divide": 3, "minimum": 4, "maximum": 5, "power": 6,
}  # fmt: skip


def rows() -> Iterator[Row]:
    yield from _binary_rows()
    x = wildcard()
    for act in activations(x):
        anchors = frozenset({"relax.clip"} if act.name.startswith("hard") else set())
        parts = {"x": x, **act.parts}
        yield Row(
            f"unary.{act.name}", anchors, act.output, parts, partial(_act, act), act.operators
        )
    for name, code in UNARY.items():
        x, op = wildcard(), f"relax.{name}"
        build = partial(_unary, code)
        yield Row(f"unary.{name}", frozenset({op}), is_op(op)(x), {"x": x}, build, 1)


def _unary(code: int, parts: Parts, a: float = 0.0, b: float = 0.0) -> Request | None:
    x = parts["x"]
    shape = shape_of(x)
    if shape is None:
        return None
    facts = {"dtype": dtype_of(x), "func": code, "size": prod(shape), "act_a": a, "act_b": b}
    return Request("unary", facts, (x,))


def _act(act: Activation, parts: Parts) -> Request | None:
    found = act.parameters(parts)
    return None if found is None else _unary(act.code, parts, *found)


def _binary_rows() -> Iterator[Row]:
    for name, code in BINARY.items():
        lhs, rhs, op = wildcard(), wildcard(), f"relax.{name}"
        call = is_op(op)(lhs, rhs)
        named = {"lhs": lhs, "rhs": rhs, "call": call}
        for act in activations(call):
            build = partial(_binary, code, act)
            count = 1 + act.operators
            parts = {**named, **act.parts}
            yield Row(f"binary.{name}_{act.name}", frozenset({op}), act.output, parts, build, count)
        build = partial(_binary, code, None)
        yield Row(f"binary.{name}", frozenset({op}), call, named, build, 1)


def _binary(code: int, act: Activation | None, parts: Parts) -> Request | None:
    lhs, rhs, call = parts["lhs"], parts["rhs"], parts["call"]
    shapes = [shape_of(e) for e in (lhs, rhs, call)]
    if any(s is None or len(s) > MAX_RANK for s in shapes) or dtype_of(lhs) != dtype_of(call):
        return None
    found = (0.0, 0.0) if act is None else act.parameters(parts)
    if found is None:
        return None
    facts: dict[str, int | float | str] = {
        "dtype": dtype_of(lhs), "func": code, "act": 0 if act is None else act.code,
        "act_a": found[0], "act_b": found[1], "size": prod(shapes[2] or ()),
    }  # fmt: skip
    for prefix, shape in zip("lr", shapes[:2], strict=True):
        padded = (1,) * (MAX_RANK - len(shape or ())) + (shape or ())
        facts.update({f"{prefix}{i}": d for i, d in enumerate(padded)})
    return Request("binary", facts, (lhs, rhs))
