"""8- and 4-bit floats, 4- and 2-bit integers: every code, rounding and saturation, in a package."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference.ops.op_cast import cast_to

from tvm_megcc import dtypes

from .packages import model, runner

FLOATS = [row for row in dtypes.DTYPES if row.is_storage and row.is_float]
INTEGERS = [row for row in dtypes.DTYPES if row.is_storage and not row.is_float]
EIGHT = [row for row in FLOATS if row.bits == 8 and row.name != "f8e8m0"]


def codes(row):
    """A value of each code, and one more where they are packed: the last byte is not full."""
    numbers = (np.arange(2**row.bits + row.is_packed) % 2**row.bits).astype(np.uint8)
    return dtypes.unpacked(dtypes.packed(numbers, row.name), row.name, numbers.size)


def near(row):
    """Every number of a float type, what is half way to the next one, and what is beside these."""
    finite = codes(row).astype(np.float64)
    finite = np.unique(finite[np.isfinite(finite)])
    half = (finite[1:] + finite[:-1]) / 2
    points = np.concatenate([finite, half, [finite[-1] * 1.0625, finite[-1] * 4, 1e9, 1e38, 1e-9]])
    points = points[np.abs(points) < 3e38]
    single = np.concatenate([points, -points]).astype(np.float32)
    around = [np.nextafter(single, np.float32(s * np.inf)) for s in (-1, 1)]
    extra = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38], np.float32)
    return np.concatenate([single, *around, extra])


def value(array):
    """Numbers that compare: of a type that NumPy lacks its numbers as f32."""
    return array.astype(np.float32)


def casts():
    """A graph of casts, its operands and what comes out."""
    nodes, inputs, outputs, feeds = [], [], [], {}

    def port(name, row, array):
        inputs.append((name, row.onnx, list(array.shape)))
        feeds[name] = array

    def node(to, x, **attrs):
        name = f"{x}_{to.name}_{len(nodes)}"
        nodes.append(helper.make_node("Cast", [x], [name], to=to.onnx, **attrs))
        outputs.append((name, to.onnx))

    f32, f64 = dtypes.of("f32"), dtypes.of("f64")
    for row in (*FLOATS, *INTEGERS):
        port(f"codes_{row.name}", row, codes(row))
        node(f32, f"codes_{row.name}")
        if row.name in ("f8e5m2", "f4e2m1", "i4"):
            node(row, f"codes_{row.name}")
    for row in FLOATS:
        port(f"near_{row.name}", f32, near(row))
        for attrs in ({}, {"saturate": 0}):
            node(row, f"near_{row.name}", **attrs)
        if row.name == "f8e8m0":
            for mode in ("down", "nearest"):
                node(row, f"near_{row.name}", round_mode=mode)
    for row in EIGHT[::2]:  # from f64 at once, not through f32
        points = near(row).astype(np.float64)
        points = points[np.isfinite(points)]
        wide = np.concatenate([np.nextafter(points, -np.inf), points, np.nextafter(points, np.inf)])
        port(f"wide_{row.name}", f64, wide)
        node(row, f"wide_{row.name}")
    port("whole", dtypes.of("i32"), np.arange(-40, 300, dtype=np.int32))
    port("bytes", dtypes.of("u8"), np.arange(256, dtype=np.uint8))
    for row in (*INTEGERS, dtypes.of("f8e4m3fn")):
        node(row, "whole")
    node(dtypes.of("i4"), "bytes")
    node(dtypes.of("i4"), "codes_f8e4m3fn")
    node(dtypes.of("f8e5m2"), "codes_i4")
    node(dtypes.of("u2"), "codes_i4")
    return model(nodes, inputs, outputs, opset=25), feeds


def nearest(row, x):
    """The number of a float type that is nearest, at a tie the one with an even code."""
    number = codes(row).astype(np.float64)
    finite = np.flatnonzero(np.isfinite(number))
    order = np.concatenate([finite[finite % 2 == 0], finite[finite % 2 == 1]])
    size = np.minimum(np.abs(x), number[finite].max())
    closest = np.abs(size[:, None] - number[order]).argmin(axis=1)
    return (number[order][closest] * np.sign(x)).astype(dtypes.numpy_dtype(row.name))


def wanted(node, feeds):
    """ONNX's answer; what it reads off a storage type is a number."""
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    x, row = feeds[node.input[0]], dtypes.of_onnx(attrs["to"])
    if x.dtype.kind == "V":
        x = value(x)
    if row.held == "i8" or row.name in ("u4", "u2"):
        with np.errstate(all="ignore"):
            x = x.astype(np.int32)
    if x.dtype == np.float64:  # which ml_dtypes rounds twice
        return nearest(row, x)
    with np.errstate(all="ignore"):
        return cast_to(
            x,
            row.onnx,
            bool(attrs.get("saturate", 1)),
            attrs.get("round_mode", b"up").decode(),
        )


@pytest.mark.parametrize("arch", ["host", "armv7"])
def test_casts_of_every_code(arch, tmp_path):
    proto, feeds = casts()
    found = runner(proto, tmp_path, arch)(feeds)
    for node in proto.graph.node:
        name, want = node.output[0], wanted(node, feeds)
        assert found[name].dtype == want.dtype, name
        np.testing.assert_array_equal(value(found[name]), value(want), err_msg=name)
        zero = (value(want) == 0) & (feeds[node.input[0]].dtype != np.float64)
        signs = (np.signbit(value(a))[zero] for a in (found[name], want))
        np.testing.assert_array_equal(*signs, err_msg=f"{name}: signs of zeros")
