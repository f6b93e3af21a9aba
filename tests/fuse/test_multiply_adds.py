"""Multiply-adds of matrix products and convolutions, by the type of their operands."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import tvm
from tvm import relax

from tests.passes.support import build as module
from tvm_megcc.dims import TYPICAL
from tvm_megcc.fuse.multiply_adds import multiply_adds

op = relax.op
N = tvm.tirx.Var("n", "int64")
NHWC = {"data_layout": "NHWC", "kernel_layout": "OHWI"}
IMAGE, WEIGHT = (1, 5, 7, 6), (8, 3, 3, 6)


@pytest.mark.parametrize(
    "shapes, build, wanted",
    [
        ([(3, 4), (4, 5)], op.matmul, 3 * 4 * 5),
        ([(2, 3, 4), (4, 5)], op.matmul, 2 * 3 * 4 * 5),
        ([(4,), (4, 5)], op.matmul, 4 * 5),
        ([(3, 4), (4,)], op.matmul, 3 * 4),
        ([(4,), (4,)], op.matmul, 4),
        ([(3, 0), (0, 5)], op.matmul, 0),
        ([IMAGE, WEIGHT], lambda x, w: op.nn.conv2d(x, w, padding=1, **NHWC), 35 * 6 * 9 * 8),
        ([IMAGE, WEIGHT], lambda x, w: op.nn.conv2d(x, w, strides=2, **NHWC), 2 * 3 * 6 * 9 * 8),
        ([IMAGE, (6, 3, 3, 1)], lambda x, w: op.nn.conv2d(x, w, groups=6, padding=1, **NHWC),
         35 * 6 * 9),
        ([(1, 6, 5, 7), (6, 8, 2, 2)], lambda x, w: op.nn.conv2d_transpose(x, w, strides=2),
         6 * 35 * 8 * 4),
        ([(3, 4), (4, 5)], lambda x, w: op.matmul(op.exp(op.matmul(x, w)), op.permute_dims(w)),
         3 * 4 * 5 * 2),
        ([(3, 4), (3, 4)], op.add, 0),
        ([(N, 4), (4, 5)], op.matmul, TYPICAL[0] * 4 * 5),
    ],
)  # fmt: skip
def test_products(shapes: list[tuple], build: Callable[..., relax.Expr], wanted: int) -> None:
    for dtype, name in (("float32", "f32"), ("float16", "f16")):
        found = multiply_adds(module(build, *shapes, dtype=dtype)["main"], [])
        assert dict(found) == ({name: wanted} if wanted else {})


def test_what_integer_kernels_take_is_of_8_bits() -> None:
    twice = module(
        lambda x, w: op.add(op.matmul(x, w), op.matmul(x, w)), (3, 4), (4, 5), dtype="int32"
    )
    func = twice["main"]
    facts = {"b": 1, "m": 3, "n": 5, "k": 4}
    match = SimpleNamespace(request=SimpleNamespace(op="qmatmul", facts=facts))
    other = SimpleNamespace(request=SimpleNamespace(op="matmul", facts=facts))
    assert dict(multiply_adds(func, [])) == {"i32": 120}
    assert dict(multiply_adds(func, [match, other])) == {"i32": 60, "i8": 60}
    assert dict(multiply_adds(func, [match, match])) == {"i8": 120}
