"""ByteTables: what stands between two tensors of 8 bits is a table, where it can be one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import build, operators, run
from tests.passes.test_quantised import dequantize, held, number, quantize
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import ByteTables

op = relax.op
RNG = np.random.default_rng(0)
SHAPE = (3, 100)


def hardswish(x: relax.Expr) -> relax.Expr:
    six = number(6.0, "float32")
    return op.divide(op.multiply(x, op.clip(op.add(x, number(3.0, "float32")), 0, 6)), six)


#: Name -> function of one tensor.
TABLES: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "sigmoid": lambda x: quantize(op.sigmoid(held(x)), 1 / 256, -128),
    "tanh": lambda x: quantize(op.tanh(held(x)), 1 / 128, 0),
    "hardswish": lambda x: quantize(hardswish(held(x)), 0.04, -110),
    "silu": lambda x: quantize(op.nn.silu(held(x)), 0.04, -110),
    "leaky": lambda x: quantize(op.nn.leakyrelu(held(x), 0.1)),
    "other steps": lambda x: quantize(held(x), 0.07, -9),
    "unsigned": lambda x: quantize(
        op.exp(held(x, 0.02, 100, "uint8")), 0.2, 3, "uint8",
    ),
    "unsigned to signed": lambda x: quantize(op.nn.relu(held(x, 0.04, 100, "uint8")), 0.05, -128),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_what_was_computed(name: str) -> None:
    before = build(TABLES[name], SHAPE)
    after = ByteTables()(before)
    assert operators(after)[-1] == "relax.take"
    assert "relax.dequantize" not in operators(after)
    (match,) = (m for m in find_matches(after["main"], "arm64").values() if m.request.op == "lut")
    assert match.request.operands["table"].shape == (256,)
    x = np.linspace(-7, 9, 300, dtype=np.float32).reshape(SHAPE)
    ((was,), (now,)) = (run(mod, x) for mod in (before, after))
    assert was.dtype == now.dtype
    # A tie may fall to either side where TVM's exp is not the correctly rounded one.
    assert np.abs(was.astype(int) - now.astype(int)).max() <= ("sigmoid tanh silu".count(name) > 0)


def _per_channel(x: relax.Expr) -> relax.Expr:
    steps = relax.const(np.full(SHAPE[1], 0.1, np.float32))
    zeros = relax.const(np.zeros(SHAPE[1], np.int8))
    return quantize(op.sigmoid(op.dequantize(quantize(x), steps, zeros, axis=1)))


#: What stays as it is.
KEPT: dict[str, Callable[..., relax.Expr]] = {
    "two tensors": lambda x, y: quantize(op.add(held(x), held(y))),
    "a tensor of real numbers": lambda x, y: quantize(op.sigmoid(x)),
    "steps of channels": lambda x, y: _per_channel(x),
    "a constant of several numbers": lambda x, y: quantize(
        op.add(held(x), relax.const(np.ones(SHAPE[1], np.float32)))
    ),
    "a constant of more axes": lambda x, y: quantize(
        op.add(held(x), relax.const(np.ones((1, 1, 1), np.float32)))
    ),
    "what is not elementwise": lambda x, y: quantize(op.nn.softmax(held(x))),
    "what has no number": lambda x, y: quantize(op.log(held(x))),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_table(name: str) -> None:
    before = build(KEPT[name], SHAPE, SHAPE)
    tvm.ir.assert_structural_equal(ByteTables()(before), before)


def test_the_real_numbers_stay_for_others() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        real = op.sigmoid(dequantize(quantize(x)))
        return relax.Tuple([quantize(real, 1 / 256, -128), op.sum(real)])

    names = operators(ByteTables()(build(body, SHAPE)))
    assert {"relax.take", "relax.sigmoid", "relax.sum"} <= set(names)
