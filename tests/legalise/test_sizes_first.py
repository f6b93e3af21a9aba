"""SizesFirst: bindings are sorted by the sizes that they use; `lower` sees that they are."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx

from tvm_megcc.core.program import Kernel
from tvm_megcc.lower import lower
from tvm_megcc.passes import SizesFirst
from tvm_megcc.relax_tools.kernel_calls import with_kernels
from tvm_megcc.relax_tools.size_reads import BUILTIN


def module(read_first: bool) -> tvm.IRModule:
    """``main`` makes a tensor of as many elements as its input says."""
    builder = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([1], "int64"))
    fill = relax.op.call_dps_packed(
        "fill",
        [relax.ShapeExpr([]), relax.ShapeExpr([1, 0, 1])],
        relax.TensorType([n * 2], "float32"),
    )
    shape = relax.Var("shape", relax.ShapeType(ndim=1))
    bindings = [
        relax.VarBinding(shape, builder.normalize(
            relax.op.call_pure_packed(BUILTIN, x, ty_args=relax.ShapeType(ndim=1)))),
        relax.MatchCast(relax.Var("sizes", relax.ShapeType([n])), shape, relax.ShapeType([n])),
    ]  # fmt: skip
    made = relax.Var("made", relax.TensorType([n * 2], "float32"))
    use = relax.VarBinding(made, builder.normalize(fill))
    bindings = [*bindings, use] if read_first else [bindings[0], use, bindings[1]]
    block = relax.BindingBlock(bindings)
    func = relax.Function([x], relax.SeqExpr([block], made), made.ty)
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    return with_kernels(mod, [Kernel("fill")])


def test_what_uses_a_size_comes_after_it() -> None:
    after = SizesFirst()(module(read_first=False))
    tvm.ir.assert_structural_equal(after, module(read_first=True), map_free_vars=True)


def test_what_is_in_order_stays() -> None:
    before = module(read_first=True)
    assert SizesFirst()(before)["main"].same_as(before["main"])


def test_lower_refuses_a_size_before_it_is_read() -> None:
    lower(module(read_first=True), "portable", "m", ["x"], ["y"])
    with pytest.raises(AssertionError, match="made needs the size n before it is read"):
        lower(module(read_first=False), "portable", "m", ["x"], ["y"])
