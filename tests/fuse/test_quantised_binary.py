"""Sums and products of quantised tensors: which of them one kernel call takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tvm import relax

from tests.passes.support import build
from tests.passes.test_quantised import dequantize, held, quantize
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.kernels.contract import codes

op = relax.op
SHAPE = (2, 3, 4)
FUNCS = codes("qbinary")


def found(body: Callable[..., relax.Expr], *shapes: tuple[int, ...]) -> list[dict[str, object]]:
    """The facts of the calls of qbinary that a function becomes."""
    matches = find_matches(build(body, *shapes)["main"], "portable").values()
    return [dict(m.request.facts) for m in matches if m.request.op == "qbinary"]


#: Name -> function, some facts of the call.
TAKEN: dict[str, tuple[Callable[..., relax.Expr], dict[str, object]]] = {
    "sum": (
        lambda x, y: quantize(op.add(held(x), held(y, 0.1, -4)), 0.2, 1),
        {"func": FUNCS["ADD"], "a_zero": 3, "b_zero": -4, "y_zero": 1, "low": -128, "high": 127},
    ),
    "product": (
        lambda x, y: quantize(op.multiply(held(x), held(y))), {"func": FUNCS["MUL"], "size": 24},
    ),
    "relu": (lambda x, y: quantize(op.nn.relu(op.add(held(x), held(y)))), {"low": 3, "high": 127}),
    "unsigned": (
        lambda x, y: quantize(op.add(held(x, dtype="uint8"), held(y)), 0.3, 9, "uint8"),
        {"A": "u8", "B": "i8", "Y": "u8", "y_zero": 9, "high": 255},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_one_kernel_takes_it(name: str) -> None:
    body, facts = TAKEN[name]
    (call,) = found(body, SHAPE, SHAPE)
    assert {fact: call[fact] for fact in facts} == facts


#: What stays as it is: generated code serves it.
LEFT: dict[str, tuple[Callable[..., relax.Expr], tuple[int, ...]]] = {
    "not quantised again": (lambda x, y: op.add(held(x), held(y)), SHAPE),
    "one side is real": (lambda x, y: quantize(op.add(held(x), y)), SHAPE),
    "another shape": (lambda x, y: quantize(op.add(held(x), held(y))), (1, 1, 4)),
    "no limit": (lambda x, y: quantize(op.sigmoid(op.add(held(x), held(y)))), SHAPE),
    "more between": (lambda x, y: quantize(op.exp(op.add(held(x), held(y)))), SHAPE),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_no_kernel_takes(name: str) -> None:
    body, shape = LEFT[name]
    assert found(body, SHAPE, shape) == []


def test_others_may_read_what_is_dequantised() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        real = dequantize(quantize(x))
        return relax.Tuple([quantize(op.add(real, real), 0.1), op.exp(real)])

    (call,) = found(body, SHAPE)
    assert call["a_zero"] == call["b_zero"] == 3
