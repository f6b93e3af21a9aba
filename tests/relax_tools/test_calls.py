"""Which operator an expression calls."""

from __future__ import annotations

import pytest
from tvm import relax, tirx

from tvm_megcc.relax_tools.calls import op_name, packed_name

X = relax.Var("x", relax.TensorType((4,), "float32"))
PACKED = relax.op.call_pure_packed("f", X, ty_args=X.ty)


@pytest.mark.parametrize(
    ("expr", "name"),
    [
        (relax.op.add(X, X), "relax.add"),
        (relax.op.nn.relu(X), "relax.nn.relu"),
        (PACKED, "relax.call_pure_packed"),
        (relax.Call(relax.GlobalVar("f"), [X]), ""),
        (relax.Call(relax.ExternFunc("f"), [X]), ""),
        (X, ""),
        (relax.Tuple([X]), ""),
        (tirx.IntImm("int64", 1), ""),
        (None, ""),
    ],
)
def test_op_name(expr: object, name: str) -> None:
    assert op_name(expr) == name


def test_packed_name() -> None:
    assert packed_name(PACKED) == "f"
    others = [relax.op.call_dps_packed("f", X, X.ty), relax.op.add(X, X), X, None]
    assert [packed_name(other) for other in others] == [""] * 4
