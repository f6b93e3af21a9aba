"""Calls of kernels: what is written is read again."""

from __future__ import annotations

import dataclasses

import pytest
import tvm
from tvm import relax, tirx

from tvm_megcc import dims
from tvm_megcc.core.program import Kernel
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.kernel_calls import KernelCall, kernel_call_of, kernels_of, with_kernels

X = relax.Var("x", relax.TensorType((4,), "float32"))
N = dims.symbol("n")


@pytest.mark.parametrize(
    "call",
    [
        KernelCall("k", (X,), (), 1, 0, 1),
        KernelCall("k", (X, X), (0, 7, 2**31 - 1), 4, 64, 24, 0),
        KernelCall("k", (X,), (-1, -(2**31), N * 2 - 1), N, dims.maximum(N, 64), N + 1, N * 4),
    ],
)
def test_a_call_is_read_as_it_was_written(call: KernelCall) -> None:
    variables = {"n": tirx.Var("n", "int64")}
    assert kernel_call_of(call.expr(X.ty, variables), {}) == call


@pytest.mark.parametrize("attr", [2**31, -(2**31) - 1, 2**32 + 1])
def test_an_attribute_beyond_32_bits_is_refused(attr: int) -> None:
    call = KernelCall("megcc_k", (X,), (attr,), 1, 0, 1)
    with pytest.raises(UnsupportedError, match=f"'megcc_k' is {attr}, which does not fit"):
        call.expr(X.ty, {})


@pytest.mark.parametrize(
    "cost", [2**63, N * 2**63, dims.maximum(N, 2**63), 2 * (dims.minimum(N * 2**63, N * N) // 3)]
)
def test_a_cost_that_no_int64_holds_is_the_largest(cost: dims.Size) -> None:
    variables = {"n": tirx.Var("n", "int64")}
    call = KernelCall("k", (X,), (), 1, 0, cost).expr(X.ty, variables)
    assert kernel_call_of(call, {}) == KernelCall("k", (X,), (), 1, 0, 2**62)


def test_several_results() -> None:
    ty = relax.TupleType([X.ty, X.ty])
    found = relax.BlockBuilder().normalize(KernelCall("k", (X,), (), 1, 0, 1).expr(ty, {}))
    tvm.ir.assert_structural_equal(found.ty, ty)


def test_nothing_else_is_a_call_of_a_kernel() -> None:
    others = [X, relax.op.nn.relu(X), relax.op.call_pure_packed("k", X, ty_args=X.ty)]
    assert [kernel_call_of(other, {}) for other in others] == [None] * 3


def test_a_module_says_what_its_kernels_are() -> None:
    first = Kernel("a", "conv2d", (("ACT", "1"), ("K", "3")), "", (1, 0), ("dotprod",))
    second = Kernel("b", source='void b(void) { "\\n"; }\n', inplace=(0,))
    mod = with_kernels(with_kernels(tvm.IRModule(), [second]), [first])
    assert kernels_of(mod) == {"a": first, "b": second}
    assert kernels_of(tvm.IRModule()) == {}
    changed = dataclasses.replace(first, inplace=())
    assert kernels_of(with_kernels(mod, [changed]))["a"] == changed
