"""Averages of quantised tensors: which of them one kernel call takes, and what it is told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax, tirx

from tests.passes.support import build
from tests.passes.test_quantised import dequantize, held, number, quantize
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.kernels.contract import codes

op = relax.op
SHAPE = (2, 7, 6, 4)
FUNCS = codes("qpool2d")


def found(body: Callable[..., relax.Expr], *shapes: tuple[int, ...]) -> list[dict[str, object]]:
    """The facts of the calls of qpool2d that a function becomes."""
    matches = find_matches(build(body, *shapes)["main"], "portable").values()
    return [dict(m.request.facts) for m in matches if m.request.op == "qpool2d"]


def average(x: relax.Expr, **attrs: object) -> relax.Expr:
    return op.nn.avg_pool2d(x, layout="NHWC", **attrs)


def summed(x: relax.Expr, zero: relax.Expr | None = None) -> relax.Expr:
    """As QLinearGlobalAveragePool is expanded."""
    whole = op.astype(quantize(x), "int32")
    whole = whole if zero is None else op.subtract(whole, zero)
    total = op.astype(op.sum(whole, [1, 2], keepdims=True), "float32")
    return quantize(op.multiply(total, number(0.5, "float32")), 1.0, 9)


#: Name -> function, some facts of the call.
TAKEN: dict[str, tuple[Callable[..., relax.Expr], dict[str, object]]] = {
    "average": (
        lambda x: quantize(average(held(x, 0.5), pool_size=[3, 2], strides=[2, 1]), 0.25, 1),
        {"func": FUNCS["AVG"], "kh": 3, "kw": 2, "sh": 2, "oh": 3, "ow": 5, "x_zero": 3,
         "y_zero": 1, "scale": 2.0, "offset": 0.0, "low": -128, "high": 127},
    ),
    "padded": (
        lambda x: quantize(average(held(x), pool_size=[2, 2], padding=1, count_include_pad=True)),
        {"count_include_pad": 1, "pt": 1, "pr": 1, "scale": 1.0},
    ),
    "relu": (lambda x: quantize(op.nn.relu(average(held(x)))), {"low": 3}),
    "mean": (
        lambda x: quantize(op.mean(held(x, dtype="uint8"), [1, 2]), 0.3, 9, "uint8"),
        {"kh": 7, "kw": 6, "oh": 1, "ow": 1, "X": "u8", "Y": "u8"},
    ),
    "adaptive": (
        lambda x: quantize(op.nn.adaptive_avg_pool2d(held(x), [1, 1], layout="NHWC")),
        {"kh": 7, "kw": 6, "oh": 1, "ow": 1},
    ),
    # ONNX Runtime's QLinearAveragePool adds the zero point, and rounds then.
    "zero point before rounding": (
        lambda x: quantize(
            op.add(op.divide(average(held(x, 0.5)), number(0.25, "float32")),
                   number(7, "float32")), 1.0, 0),
        {"scale": 2.0, "offset": 7.0, "y_zero": 0},
    ),
    "sum": (lambda x: summed(x), {"func": FUNCS["SUM"], "scale": 0.5, "y_zero": 9, "x_zero": 0}),
    "sum less a zero point": (
        lambda x: summed(x, number(3, "int32")), {"func": FUNCS["SUM"], "x_zero": 3},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_one_kernel_takes_it(name: str) -> None:
    body, facts = TAKEN[name]
    (call,) = found(body, SHAPE)
    assert {fact: call[fact] for fact in facts} == facts


LEFT: dict[str, Callable[..., relax.Expr]] = {
    "not quantised again": lambda x: average(held(x)),
    "of floats": lambda x: quantize(average(x)),
    "of some axes": lambda x: quantize(op.mean(held(x), [1])),
    "more between": lambda x: quantize(op.exp(average(held(x)))),
    "channels first": lambda x: quantize(op.nn.avg_pool2d(held(x))),
    "another zero point": lambda x: summed(x, number(300, "int32")),
    "a zero point for each channel": lambda x: summed(x, relax.const(np.arange(4, dtype="int32"))),
    "two scales": lambda x: quantize(
        op.add(op.divide(average(held(x)), number(0.25, "float32")), number(7, "float32")), 0.5
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_no_kernel_takes(name: str) -> None:
    assert found(LEFT[name], SHAPE) == []


def test_others_may_read_what_is_dequantised() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        real = dequantize(quantize(x))
        return relax.Tuple([quantize(average(real), 0.1), op.exp(real)])

    assert len(found(body, SHAPE)) == 1


def test_the_image_may_have_any_size() -> None:
    sizes = (1, *(tirx.Var(name, "int64") for name in "hw"), 8)
    (call,) = found(lambda x: quantize(op.mean(held(x), [1, 2])), sizes)
    assert (call["kh"], call["kw"], call["c"]) == (call["h"], call["w"], 8)


def test_sums_that_32_bits_may_not_hold_are_of_floats() -> None:
    for side, calls in ((2900, 1), (2904, 0)):
        shape = (1, side, side, 1)
        assert len(found(lambda x: quantize(op.mean(held(x), [1, 2])), shape)) == calls
