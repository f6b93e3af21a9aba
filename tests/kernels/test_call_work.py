"""Multiply-adds of a call."""

from __future__ import annotations

from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Symbol, at, of
from tvm_megcc.kernels.call_work import multiply_adds, of_call
from tvm_megcc.kernels.contract import contract


def test_of_a_grouped_convolution() -> None:
    facts = {"n": 1, "oh": 2, "ow": 3, "oc": 8, "kh": 3, "kw": 3, "ic": 4, "g": 2}
    assert multiply_adds("conv2d", facts) == 2 * 3 * 8 * 9 * 2
    assert multiply_adds("qconv2d", facts) == 2 * 3 * 8 * 9 * 2


def test_of_open_dims() -> None:
    rows = of(Symbol("rows"))
    assert at(multiply_adds("matmul", {"b": 1, "m": rows, "n": 4, "k": 5}), {"rows": 7}) == 140


def test_of_a_call() -> None:
    attrs = [1] * len(contract("matmul").attributes)
    attrs[:4] = [2, 3, 4, 5]
    assert of_call(Kernel("k", template="matmul_f32_packed"), attrs) == 120
    assert of_call(Kernel("k", source="void k(void) {}"), [1, 2]) == 0
