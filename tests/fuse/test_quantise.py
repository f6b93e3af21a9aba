"""QuantizeLinear and DequantizeLinear that stand alone."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build
from tests.passes.test_quantised import dequantize, held, number, quantize
from tvm_megcc.fuse.match import find_matches

op = relax.op


def found(body, name: str = "quantize") -> list[dict[str, object]]:
    matches = find_matches(build(body, (2, 3, 4))["main"], "portable").values()
    return [dict(m.request.facts) for m in matches if m.request.op == name]


def test_one_kernel_takes_it() -> None:
    (call,) = found(lambda x: quantize(x, 0.25, 200, "uint8"))
    assert (call["size"], call["scale"], call["zero"], call["Y"]) == (24, 0.25, 200, "u8")


LEFT = {
    "a chain is one function": lambda x: quantize(op.exp(x)),
    "a scale for each channel": lambda x: op.quantize(
        x, relax.const(np.ones(4, "float32")), relax.const(np.zeros(4, "int8")), axis=2
    ),
    "16 bits": lambda x: op.quantize(
        x, number(1, "float32"), number(0, "int16"), axis=0, out_dtype="int16"
    ),
    "a scale of 0": lambda x: quantize(x, 0.0),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_no_kernel_takes(name: str) -> None:
    assert found(LEFT[name]) == []


def test_one_kernel_takes_what_is_dequantised() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        moved = op.permute_dims(quantize(x, dtype="uint8"), [1, 0, 2])
        return dequantize(moved, 0.25, 200, "uint8")

    (call,) = found(body, "dequantize")
    assert (call["size"], call["scale"], call["zero"], call["X"]) == (24, 0.25, 200, "u8")


def test_a_cast_of_bytes_is_dequantised() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return op.astype(op.permute_dims(quantize(x, dtype="uint8"), [1, 0, 2]), "float32")

    (call,) = found(body, "dequantize")
    assert (call["size"], call["scale"], call["zero"], call["X"]) == (24, 1.0, 0, "u8")


def _wide(x: relax.Expr) -> relax.Expr:
    return op.dequantize(op.astype(x, "int32"), number(1, "float32"), number(0, "int32"), axis=0)


FLOATS = {
    "a chain is one function": lambda x: op.exp(held(x)),
    "a scale for each channel": lambda x: op.dequantize(
        op.permute_dims(quantize(x)),
        relax.const(np.ones(2, "float32")),
        relax.const(np.zeros(2, "int8")),
        axis=2,
    ),
    "32 bits": _wide,
}


@pytest.mark.parametrize("name", FLOATS)
def test_what_no_kernel_dequantises(name: str) -> None:
    assert found(FLOATS[name], "dequantize") == []
