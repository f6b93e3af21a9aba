"""QuantizeLinear that stands alone."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build
from tests.passes.test_quantised import number, quantize
from tvm_megcc.fuse.match import find_matches

op = relax.op


def found(body) -> list[dict[str, object]]:
    matches = find_matches(build(body, (2, 3, 4))["main"], "portable").values()
    return [dict(m.request.facts) for m in matches if m.request.op == "quantize"]


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
