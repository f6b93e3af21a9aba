"""FuseNamed: what is fused keeps the name of the value that it computes."""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.legalise.fuse_named import FuseNamed


def chain(names: dict[str, str]) -> tvm.IRModule:
    """``b = exp(x) + x``, ``d = exp(b) * sum(b)``, the bindings called as `names` says."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4, 4], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(x), names.get("a", ""))
            b = builder.emit(relax.op.add(a, x), names.get("b", ""))
            total = builder.emit(relax.op.sum(b, [1], keepdims=True), names.get("total", ""))
            c = builder.emit(relax.op.exp(b), names.get("c", ""))
            d = builder.emit_output(relax.op.multiply(c, total))
        builder.emit_func_output(d)
    legalised = relax.transform.LegalizeOps()(builder.get())
    return relax.transform.AnnotateTIROpPattern()(legalised)


def bound(mod: tvm.IRModule) -> list[str]:
    return [b.var.name for block in mod["main"].body.blocks for b in block.bindings]


def test_fused_calls_keep_their_names() -> None:
    mod = chain({"a": "a", "b": "b", "total": "total", "c": "c"})
    assert bound(relax.transform.FuseOps()(mod))[0] == "lv"
    fused = FuseNamed()(mod)
    assert bound(fused) == ["b", "total", "gv"]  # a and c are computed within calls
    tvm.ir.assert_structural_equal(fused, relax.transform.FuseOps()(mod))


def test_unnamed_values_stay_so() -> None:
    mod = chain({})
    assert bound(FuseNamed()(mod)) == bound(relax.transform.FuseOps()(mod))


def test_equal_computations_have_one_name_each() -> None:
    """The same operator with the same shapes is told apart by its operands."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType([4], "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            first = builder.emit(relax.op.exp(x), "first")
            second = builder.emit(relax.op.exp(y), "second")
            more = builder.emit(relax.op.add(second, second), "more")
            both = builder.emit(relax.op.sum(first), "both")
            end = builder.emit_output(relax.Tuple([both, more, first]))
        builder.emit_func_output(end)
    mod = relax.transform.LegalizeOps()(builder.get())
    found = bound(FuseNamed()(relax.transform.AnnotateTIROpPattern()(mod)))
    assert "first" in found and "more" in found and "second" not in found
