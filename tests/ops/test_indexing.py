"""Operators that read and write at indices: the rule of docs/dynamic-shapes.md, in packages.

Many nodes share a model, so that they are built once, under the sanitizers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto as T
from onnx import helper

from tests.ops.packages import model, runner
from tvm_megcc.errors import ToolError

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(9)
DATA = ("d", T.FLOAT, ["n", "m"])
FAR = {
    dtype: (10**6, -(10**6), np.iinfo(dtype).max, np.iinfo(dtype).min)
    for dtype in ("int32", "int64")
}


@dataclass(frozen=True)
class Row:
    """A node ``op(d, i_<name>[, u_<name>])``; its indices' dims are numbers, ``n`` or ``m``."""

    op: str
    indices: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    updates: tuple[Any, ...] | None = None
    dtype: str = "int64"
    opset: int = 18


ROWS = {
    "rows": Row("Gather", (3, 2)),
    "columns": Row("Gather", (4,), {"axis": 1}),
    "one": Row("Gather", (), {"axis": -1}, dtype="int32"),
    "elements": Row("GatherElements", (3, "m")),
    "fewer": Row("GatherElements", (2, 7), {"axis": 1}),
    "fewer32": Row("GatherElements", (4, 2), dtype="int32"),
    "single": Row("GatherND", (5, 2)),
    "whole": Row("GatherND", (2, 1, 1)),
    "batch": Row("GatherND", ("n", 3, 1), {"batch_dims": 1}),
    "put": Row("ScatterElements", (3, "m"), updates=(3, "m")),
    "put_fewer": Row("ScatterElements", (2, 2), {"axis": 1}, updates=(2, 2)),
    "put_add": Row("ScatterElements", (6, 2), {"reduction": "add"}, (6, 2), "int32"),
    "put_mul": Row("ScatterElements", ("n", 4), {"axis": -1, "reduction": "mul"}, ("n", 4)),
    "put_min": Row("ScatterElements", (5, 3), {"reduction": "min"}, (5, 3)),
    "put_max": Row("ScatterElements", (5, 3), {"reduction": "max"}, (5, 3)),
    "blocks": Row("ScatterND", (2, 1), updates=(2, "m")),
    "blocks_add": Row("ScatterND", (3, 2, 2), {"reduction": "add"}, (3, 2)),
    "blocks_mul": Row("ScatterND", (3, 1), {"reduction": "mul"}, (3, "m")),
    "blocks_min": Row("ScatterND", (4, 2), {"reduction": "min"}, (4,)),
    "blocks_max": Row("ScatterND", (4, 1), {"reduction": "max"}, (4, "m")),
}  # fmt: skip


def built(rows: dict[str, Row], sizes: dict[str, Any]) -> onnx.ModelProto:
    """The rows as one model, with these dims for ``n`` and ``m``."""

    def dims(shape: tuple[Any, ...]) -> list[Any]:
        return [sizes.get(d, d) for d in shape]

    nodes, inputs, outputs = [], [(DATA[0], DATA[1], dims(tuple(DATA[2])))], []
    for name, row in rows.items():
        operands = ["d", f"i_{name}"]
        kind = T.INT32 if row.dtype == "int32" else T.INT64
        inputs.append((f"i_{name}", kind, dims(row.indices)))
        if row.updates is not None:
            operands.append(f"u_{name}")
            inputs.append((f"u_{name}", T.FLOAT, dims(row.updates)))
        nodes.append(helper.make_node(row.op, operands, [f"y_{name}"], name=name, **row.attrs))
        outputs.append((f"y_{name}", T.FLOAT))
    return model(nodes, inputs, outputs, opset=18)


def feed(rows: dict[str, Row], n: int, m: int) -> dict[str, np.ndarray]:
    """Indices of both signs, different ones where updates would not be unique."""
    sizes = {"n": n, "m": m}
    found: dict[str, np.ndarray] = {"d": RNG.standard_normal((n, m)).astype("float32")}
    for name, row in rows.items():
        shape = tuple(sizes.get(d, d) for d in row.indices)
        columns = row.op.endswith("ND")
        first = row.attrs.get("batch_dims", 0) if columns else row.attrs.get("axis", 0)
        axes = [first + k for k in range(shape[-1])] if columns else [first]
        limits = np.array([(n, m)[axis] for axis in axes])
        index = RNG.integers(-limits, limits, shape)
        if row.updates is not None and "reduction" not in row.attrs:
            axis = -2 if columns else first
            numbers = np.arange(shape[axis]) - limits[0]
            index = np.broadcast_to(
                np.moveaxis(numbers.reshape(-1, *[1] * (len(shape) - 1)), 0, axis), shape
            )
        found[f"i_{name}"] = np.array(index, row.dtype)
        if row.updates is not None:
            update = tuple(sizes.get(d, d) for d in row.updates)
            found[f"u_{name}"] = RNG.standard_normal(update).astype("float32")
    return found


@pytest.mark.parametrize("sizes", [{"n": 4, "m": 5}, {"n": "n", "m": "m"}], ids=["fixed", "open"])
def test_every_operator(tmp_path: Path, sizes: dict[str, Any]) -> None:
    proto = built(ROWS, sizes)
    run, session = runner(proto, tmp_path), ort.InferenceSession(proto.SerializeToString())
    for n, m in [(4, 5)] if sizes["n"] == 4 else [(4, 5), (6, 4)]:
        given = feed(ROWS, n, m)
        found = run(given)
        for port, want in zip(session.get_outputs(), session.run(None, given), strict=True):
            np.testing.assert_allclose(found[port.name], want, rtol=1e-6, err_msg=port.name)
    for number, (name, row) in enumerate(ROWS.items()):
        message = rf"error: {row.op} '{name}': a size or an index that data says is out of range"
        for far in (FAR[row.dtype][number % 4], 6, -7):
            bad = {**given, f"i_{name}": given[f"i_{name}"].copy()}
            bad[f"i_{name}"].reshape(-1)[-1] = far
            with pytest.raises(ToolError, match=message):
                run(bad)
