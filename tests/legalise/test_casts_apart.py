"""CastsApart: a field that a match_cast and a fused operator use is compiled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from onnx import parser
from tvm import relax, tirx

from tests.ops.packages import check
from tvm_megcc.legalise import LegaliseRest
from tvm_megcc.legalise.casts_apart import CastsApart


def halves(cast: bool) -> tvm.IRModule:
    """Both halves of x; the first one under another shape, too."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([6, 4], "float32"))
    y = relax.Var("y", relax.TensorType([6, 2], "float32"))
    n = tirx.Var("n", "int64")
    with builder.function("main", [x, y, relax.Var("s", relax.ShapeType([n]))]):
        with builder.dataflow():
            parts = builder.emit(relax.op.split(x, 2, 1))
            first = builder.emit(relax.TupleGetItem(parts, 0))
            results = [builder.emit_output(relax.TupleGetItem(parts, 1))]
            if cast:
                field = builder.match_cast(first, relax.TensorType([n * 2, 2], "float32"))
                results.append(builder.emit_output(relax.op.tile(field, (2, 1))))
            gate = builder.emit(relax.op.sigmoid(first))
            results.append(builder.emit_output(relax.op.greater(y, gate)))
        builder.emit_func_output(relax.Tuple(results))
    return builder.get()


def test_a_field_that_is_cast_and_used_is_compiled() -> None:
    # TVM alone: "There must be an in-place index specified for each output".
    LegaliseRest()(halves(cast=True))


def summed(cast: bool) -> tvm.IRModule:
    """A sum to the power of what is made of it, under a shape that its rows must have."""
    builder = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    kind = relax.TensorType([n, 2], "float32")
    x, y = (relax.Var(name, kind) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            total = given = builder.emit(relax.op.add(x, y))
            if cast:
                given = builder.match_cast(total, relax.TensorType([tirx.max(n, 1), 2], "float32"))
            made = builder.emit(relax.op.call_dps_packed("made", [given], kind))
            result = builder.emit_output(relax.op.power(made, total))
        builder.emit_func_output(result)
    return builder.get()


def test_a_value_that_is_cast_and_used_is_computed() -> None:
    # TVM alone fuses the sum with the power, and nothing computes what is cast.
    after = LegaliseRest()(summed(cast=True))
    assert not relax.analysis.free_vars(after["main"])
    free = {str(v.name) for v in relax.analysis.free_vars(after["main"].body)}
    assert free - {"n"} == {"x", "y"}
    before = summed(cast=False)
    assert CastsApart()(before)["main"].same_as(before["main"])


@pytest.mark.slow
def test_a_field_that_a_cast_call_reads_is_compiled(tmp_path: Path) -> None:
    # The call of an If is all that a cast has, and reads the field that is compared, too.
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x, bool c) => (float[a, b] y, bool[1, 3] z) {
            p, q = Split <axis: int = 0> (x)
            y = If (c) <then_branch: graph = t () => (float[1, 3] y1) { y1 = Neg(p) },
                else_branch: graph = e () => (float[1, 1] y2) { y2 = ReduceSum(q) }>
            z = LessOrEqual(p, p)
        }""")
    feeds = [{"x": np.ones([2, 3], "f4"), "c": np.array(c)} for c in (True, False)]
    check(model, tmp_path, *feeds)


def test_nothing_changes_without_one() -> None:
    before = halves(cast=False)
    assert CastsApart()(before)["main"].same_as(before["main"])
