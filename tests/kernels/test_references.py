"""The NumPy references of kernel cases against ONNX Runtime, where a rule is easy to get wrong."""

from __future__ import annotations

import harness
import numpy as np
import pytest
from cases import pool2d, resize2d
from onnx import TensorProto, helper

ort = pytest.importorskip("onnxruntime")

_COORD = dict(
    zip(
        resize2d.COORDINATES,
        ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"),
        strict=True,
    )
)
_ROUND = dict(
    zip(
        resize2d.ROUNDING,
        ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
        strict=True,
    )
)


def _run(op: str, x: np.ndarray, extra: dict[str, np.ndarray], **attributes) -> np.ndarray:
    """One ONNX node on `x` and constant inputs; an empty name stands for an absent input."""
    names = ["x", *extra]
    constants = [helper.make_tensor(k, TensorProto.FLOAT if v.dtype == np.float32 else
                                    TensorProto.INT64, v.shape, v.ravel())
                 for k, v in extra.items() if not k.startswith("absent")]  # fmt: skip
    node = helper.make_node(op, ["" if n.startswith("absent") else n for n in names], ["y"],
                            **attributes)  # fmt: skip
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "one", [value("x", TensorProto.FLOAT, x.shape)],
        [value("y", TensorProto.FLOAT, None)], constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def _sample(op: str, step: int) -> list[harness.Case]:
    whole = [c for c in harness.cases_of(op) if c.outputs[0].dtype == np.float32]
    return [c for c in whole[::step] if c.outputs[0].size]


@pytest.mark.parametrize("case", _sample("pool2d", 1), ids=lambda c: str(c.index))
def test_pool2d_reference(case: harness.Case) -> None:
    f = case.facts
    attributes = {
        "kernel_shape": [f["kh"], f["kw"]], "strides": [f["sh"], f["sw"]],
        "dilations": [f["dh"], f["dw"]], "pads": [f["pt"], f["pl"], f["pb"], f["pr"]],
        "ceil_mode": case.row.get("ceil", 0),
    }  # fmt: skip
    x = np.ascontiguousarray(case.inputs[0].transpose(0, 3, 1, 2))
    if f["func"] == pool2d.AVG:
        attributes["count_include_pad"] = f["count_include_pad"]
    y = _run("MaxPool" if f["func"] == pool2d.MAX else "AveragePool", x, {}, **attributes)
    want = case.outputs[0].transpose(0, 3, 1, 2)
    assert y.shape == want.shape
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", _sample("resize2d", 1), ids=lambda c: str(c.index))
def test_resize2d_reference(case: harness.Case) -> None:
    f = case.facts
    if f["scale_h"]:
        pytest.skip("with scales alone ONNX chooses the output sizes")
    x, want = case.inputs[0], case.outputs[0]
    if not f["nchw"]:
        x, want = (np.ascontiguousarray(a.transpose(0, 3, 1, 2)) for a in (x, want))
    attributes = {
        "coordinate_transformation_mode": _COORD[f["coord"]],
        "mode": "linear" if f["mode"] == resize2d.LINEAR else "nearest",
    }
    if f["mode"] == resize2d.NEAREST:
        attributes["nearest_mode"] = _ROUND[f["round"]]
    sizes = np.array(want.shape, np.int64)
    y = _run("Resize", x, {"absent1": sizes, "absent2": sizes, "sizes": sizes}, **attributes)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=2e-5)
