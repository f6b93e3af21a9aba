"""MaterialiseKernels, ReadSizes and LegaliseRest: what a module holds before and after."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from tests.passes.support import build, operators, run
from tvm_megcc.passes import LegaliseRest, MaterialiseKernels, ReadSizes
from tvm_megcc.relax_tools.kernel_calls import ATTRIBUTE, kernels_of
from tvm_megcc.relax_tools.size_reads import BUILTIN, is_size_read

op = relax.op
A, B = (4, 8), (8, 2)


def test_materialise_binds_a_kernel_by_its_symbol() -> None:
    before = build(lambda a, b: op.nn.relu(op.matmul(a, b)), A, B)
    after = MaterialiseKernels("portable")(before)
    (symbol,) = kernels_of(after)
    kernel = kernels_of(after)[symbol]
    assert kernel.template == "matmul_f32_dynamic" and ("ACT", "1") in kernel.defines
    (binding,) = after["main"].body.blocks[0].bindings
    a, b, attrs, extent = binding.value.args[1].fields
    assert (a, b) == tuple(after["main"].params)
    assert str(binding.value.args[0].global_symbol) == symbol
    assert str(binding.var.ty) == str(before["main"].ret_ty)
    assert [int(v) for v in attrs.values] == [1, 4, 2, 8, 0, 0, 0, 0]
    assert int(extent.values[0]) == 1  # one panel of columns is all the work


def test_materialise_packs_constants_for_the_kernel() -> None:
    weight = np.arange(16, dtype="float32").reshape(8, 2)
    after = MaterialiseKernels("portable")(build(lambda a: op.matmul(a, relax.const(weight)), A))
    (binding,) = after["main"].body.blocks[0].bindings
    packed = binding.value.args[1].fields[1].value.numpy()
    assert packed.shape == (1, 8, 8)  # panels of eight columns, zeros behind the second one
    np.testing.assert_array_equal(packed[0, :, :2], weight)
    assert not packed[0, :, 2:].any()


def test_materialise_leaves_what_no_kernel_takes() -> None:
    before = build(lambda x: op.erf(op.cosh(x)), A)
    after = MaterialiseKernels("arm64")(before)
    assert json.loads(str(after.attrs[ATTRIBUTE])) == {}
    tvm.ir.assert_structural_equal(after["main"], before["main"])


def test_materialise_chooses_by_architecture() -> None:
    before = build(op.add, A, A)
    named = {
        arch: [k.template for k in kernels_of(MaterialiseKernels(arch)(before)).values()]
        for arch in ("portable", "arm64")
    }
    assert named == {"portable": ["binary_f32"], "arm64": ["binary_f32_simd"]}


def reads_sizes(read: bool) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([2], "int64"))
    with builder.function("main", [x]):
        with builder.dataflow():
            if read:
                call = op.call_pure_packed(BUILTIN, x, ty_args=relax.ShapeType(ndim=2))
            else:
                call = op.tensor_to_shape(x)
            found = builder.emit_output(call)
        builder.emit_func_output(found)
    return builder.get()


def test_read_sizes() -> None:
    after = ReadSizes()(reads_sizes(read=False))
    tvm.ir.assert_structural_equal(after, reads_sizes(read=True))
    (binding,) = after["main"].body.blocks[0].bindings
    assert is_size_read(binding.value)


def test_read_sizes_leaves_the_rest() -> None:
    before = build(lambda x: op.reshape(x, [32]), A)
    tvm.ir.assert_structural_equal(ReadSizes()(before), before)


def test_legalise_fuses_a_chain_into_one_function() -> None:
    after = LegaliseRest()(build(lambda x: op.exp(op.cosh(op.add(x, x))), A))
    assert operators(after) == ["relax.call_tir"]
    assert sum(isinstance(f, tirx.PrimFunc) for f in after.functions.values()) == 1


def test_legalise_leaves_views() -> None:
    before = build(lambda x: op.memory.view(x, relax.ShapeExpr([32])), A)
    tvm.ir.assert_structural_equal(LegaliseRest()(before), before)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "line", "wanted"),
    [
        ("max", [1, NAN, 2], NAN), ("min", [1, 2, NAN], NAN), ("max", [-INF, -INF], -INF),
        ("min", [INF, INF], INF), ("argmax", [-INF, -INF], 0), ("argmax", [1, 3, 3], 1),
        ("argmin", [INF, INF], 0), ("argmin", [2, 1, 1], 1),
    ],
)  # fmt: skip
def test_legalise_has_extremes_of_its_own(name: str, line: list[float], wanted: float) -> None:
    """TVM's lose a NaN that does not come first, and give -1 for a line of infinities."""
    body = getattr(op, name)
    axis = 1 if name.startswith("arg") else [1]
    after = LegaliseRest()(build(lambda x: body(x, axis), (1, len(line))))
    (found,) = run(after, np.array([line], "float32"))
    np.testing.assert_array_equal(found, np.array([wanted], found.dtype))
