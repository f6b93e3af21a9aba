"""CallExterns: a function of the user's is called like a kernel, with the dims of its tensors."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op

from tests.passes.support import build, operators
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.passes import CallExterns, MaterialiseKernels
from tvm_megcc.relax_tools.kernel_calls import kernel_call_of, kernels_of
from tvm_megcc.relax_tools.shape_exprs import symbols_of

F32 = relax.TensorType((2, 3), "float32")


def call_of(mod: tvm.IRModule):
    """The first call of ``main`` as the form of kernels' calls says it."""
    value = mod["main"].body.blocks[0].bindings[0].value
    found = kernel_call_of(value, symbols_of(mod["main"]))
    assert found is not None
    return found, kernels_of(mod)[found.symbol]


def test_externs_get_dims_and_integers() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return op.call_dps_packed("my_op", [x, relax.prim_value(-4), relax.ShapeExpr([7, 9])], F32)

    found, kernel = call_of(CallExterns()(build(body, (5,))))
    assert found.attrs == (5, 2, 3, -4, 7, 9)
    assert (found.work, found.workspace, len(found.operands)) == (1, 0, 1)
    assert kernel.extern == "my_op" and kernel.symbol.startswith("megcc_extern_my_op_")
    assert "{ptr[0], MEGCC_F32, 1, attr}," in kernel.source
    assert "{ptr[1], MEGCC_F32, 2, attr + 1}," in kernel.source
    assert "my_op(tensor, attr + 3);" in kernel.source


def test_externs_of_symbolic_dims_and_several_results() -> None:
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 3), "int8"))
    types = [relax.TensorType((n,), "int32"), relax.TensorType((), "float32")]
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(op.call_dps_packed("rows", [x], types))
        builder.emit_func_output(result)
    found, kernel = call_of(CallExterns()(builder.get()))
    assert [str(a) for a in found.attrs] == ["n", "3", "n"]
    for number, told in enumerate(("I8, 2, attr", "I32, 1, attr + 2", "F32, 0, attr + 3")):
        assert f"{{ptr[{number}], MEGCC_{told}}}," in kernel.source


def test_externs_of_equal_types_are_one_kernel() -> None:
    def twice(x: relax.Var) -> relax.Expr:
        return op.call_dps_packed("my_op", [op.call_dps_packed("my_op", [x], F32)], F32)

    after = CallExterns()(build(twice, (2, 3)))
    assert len(operators(after)) == 2 and len(kernels_of(after)) == 1


def test_externs_leaves_kernels_and_the_rest() -> None:
    before = MaterialiseKernels("arm64")(build(op.nn.relu, (2, 3)))
    assert CallExterns()(before).same_as(before)


@pytest.mark.parametrize("name", ["vm.builtin.copy", "3d", "megcc_mine", "while"])
def test_externs_are_functions_of_c(name: str) -> None:
    with pytest.raises(UnsupportedError, match="cannot be the name of a function in C"):
        CallExterns()(build(lambda x: op.call_dps_packed(name, [x], F32), (2, 3)))


def test_externs_take_tensors_and_integers() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return op.call_dps_packed("my_op", [x, relax.prim_value(1.5)], F32)

    with pytest.raises(UnsupportedError, match="takes tensors, integers and R.shape"):
        CallExterns()(build(body, (2, 3)))
