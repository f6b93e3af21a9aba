"""What becomes TIR keeps its element type: another one would be other numbers, in silence."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax

from tvm_megcc.passes.legalise import LegaliseRest


def sampled(image: str, grid: str) -> tvm.IRModule:
    """An image at the places of a grid."""
    builder = relax.BlockBuilder()
    shapes = {"x": ((1, 1, 4, 4), image), "at": ((1, 2, 2, 2), grid)}
    x, at = (relax.Var(name, relax.TensorType(*row)) for name, row in shapes.items())
    with builder.function("main", [x, at]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.image.grid_sample(x, at))
        builder.emit_func_output(result)
    return builder.get()


def test_a_result_of_its_own_type_is_taken() -> None:
    after = LegaliseRest()(sampled("float32", "float32"))
    assert str(after["main"].ret_ty.dtype) == "float32"


def test_a_result_of_another_type_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"grid_sample became .*float32.* instead of .*16"):
        LegaliseRest()(sampled("float16", "float32"))
