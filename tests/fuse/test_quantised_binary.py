"""Sums and products of quantised tensors: which of them one kernel call takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tvm import relax

from tests.passes.support import build
from tests.passes.test_quantised import dequantize, held, number, quantize
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
    "ones before and behind": (lambda x, y: quantize(op.add(held(x), held(y))), (1, 3, 1)),
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


#: Shape of the other operand -> how it broadcasts over (2, 3, 4).
SHAPES = {
    (2, 3, 4): (1, 24), (4,): (6, 4), (1, 1, 4): (6, 4), (2, 1, 4): (3, 4), (1, 3, 4): (2, 12),
    (2, 1, 1): (12, 1), (1,): (24, 1), (2, 3, 1): (4, 1),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_left", [False, True])
def test_one_operand_may_broadcast(shape: tuple[int, ...], is_left: bool) -> None:
    def body(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        sides = [held(x, 0.1, 1), held(y, 0.2, 2)]
        return quantize(op.multiply(*sides[:: -1 if is_left else 1]), 0.3)

    (call,) = found(body, SHAPE, shape)
    assert (call["inner"], call["period"], call["size"]) == (*SHAPES[shape], 24)
    # Of two whole operands the left one stays it.
    swapped = is_left and shape == SHAPE
    assert (call["a_zero"], call["b_zero"]) == ((2, 1) if swapped else (1, 2))


def test_a_zero_point_may_come_before_rounding() -> None:
    """As in ONNX Runtime's QLinearAdd."""

    def body(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        steps = op.divide(op.add(held(x), held(y)), number(0.3, "float32"))
        return quantize(op.add(steps, number(-5, "float32")), 1.0, 0)

    (call,) = found(body, SHAPE, SHAPE)
    assert (call["offset"], call["y_zero"]) == (-5.0, 0)
    assert call["y_scale"] == pytest.approx(0.3)
