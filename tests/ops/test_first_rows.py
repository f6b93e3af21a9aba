"""Values computed with rows of their own: nothing is overwritten that is read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from tests.ops.packages import check

pytestmark = pytest.mark.slow

#: Operator -> how a value `v` and its first rows `f` meet.
FORMS = ["Div(v, f)", "Sub(f, v)", "Mul(v, f)", "Max(v, f)", "Where(c, v, f)"]


@pytest.mark.parametrize("rows", ["4", "n"])
@pytest.mark.parametrize("form", FORMS)
def test_value_and_its_first_rows(form: str, rows: str, tmp_path: Path) -> None:
    model = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[{rows}, 2, 3] x, bool[{rows}, 2, 3] c) => (float[{rows}, 2, 3] y)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}> {{
            v = CumSum(x, zero) f = Slice(v, zero, one, zero) y = {form}
        }}""")
    x = np.arange(1, 25, dtype="f4").reshape(4, 2, 3) * 2.0
    check(model, tmp_path, {"x": x, "c": x % 4 == 0})
