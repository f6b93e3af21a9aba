"""8- and 4-bit floats, 4- and 2-bit integers: every code, rounding and saturation, in a package."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_cast import cast_to

from tests.fast import machines
from tvm_megcc.core import dtypes
from tvm_megcc.errors import UnsupportedError

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


@pytest.mark.slow
@pytest.mark.parametrize("arch", machines("host", "armv7"))
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


@pytest.mark.slow
@pytest.mark.parametrize("read", [False, True])
def test_pad_fills_in_the_value(tmp_path, read):
    """A fill value that is known is the number that it says, not its code."""
    rows = [*FLOATS, *INTEGERS]
    nodes, inputs, outputs, weights = [], [], [], []
    pads, feeds = np.array([1, 0, 2, 0]), {}
    for row in rows:
        fill = np.array(1, np.float32).astype(dtypes.numpy_dtype(row.name))
        weights.append(onnx.numpy_helper.from_array(fill, f"fill_{row.name}"))
        operands = [f"x_{row.name}", "pads", f"fill_{row.name}"]
        nodes.append(helper.make_node("Pad", operands, [f"y_{row.name}"]))
        inputs.append((f"x_{row.name}", row.onnx, [3, 3]))
        outputs.append((f"y_{row.name}", row.onnx))
        feeds[operands[0]] = np.tile(codes(row)[:3], (3, 1))
    if read:
        inputs, feeds = [*inputs, ("pads", TensorProto.INT64, [4])], {**feeds, "pads": pads}
    else:
        weights.append(onnx.numpy_helper.from_array(pads, "pads"))
    found = runner(model(nodes, inputs, outputs, weights, opset=25), tmp_path)(feeds)
    for row in rows:
        want = np.pad(value(feeds[f"x_{row.name}"]), [(1, 2), (0, 0)], constant_values=1)
        np.testing.assert_array_equal(value(found[f"y_{row.name}"]), want, err_msg=row.name)


def test_moved_values_keep_their_type(tmp_path):
    """Operators that only move elements carry storage types, constants of them included."""
    f8, i4 = dtypes.of("f8e5m2"), dtypes.of("i4")
    three = onnx.numpy_helper.from_array(np.array([3]).astype(dtypes.numpy_dtype("i4")))
    weight = np.array([[1.5, -2], [0.25, 7]]).astype(dtypes.numpy_dtype("f8e5m2"))
    nodes = [
        helper.make_node("Concat", ["x", "weight"], ["joined"], axis=0),
        helper.make_node("Transpose", ["joined"], ["turned"], perm=[1, 0]),
        helper.make_node("Gather", ["turned", "index"], ["taken"], axis=1),
        helper.make_node("Where", ["choice", "taken", "taken"], ["y"]),
        helper.make_node("Pad", ["i", "pads"], ["wide"]),
        helper.make_node("Split", ["wide"], ["left", "right"], axis=0, num_outputs=2),
        helper.make_node("Identity", ["i"], ["same"]),
        helper.make_node("ConstantOfShape", ["shape"], ["filled"], value=three),
    ]
    inputs = [("x", f8.onnx, ["n", 2]), ("index", 7, [3]), ("choice", 9, [2, 1]),
              ("i", i4.onnx, [3, 3]), ("shape", 7, [2])]  # fmt: skip
    outputs = [
        ("y", f8.onnx),
        ("left", i4.onnx),
        ("right", i4.onnx),
        ("same", i4.onnx),
        ("filled", i4.onnx),
    ]
    weights = [
        onnx.numpy_helper.from_array(weight, "weight"),
        onnx.numpy_helper.from_array(np.array([0, 1, 1, 0]), "pads"),
    ]
    proto = model(nodes, inputs, outputs, weights, opset=25)
    run = runner(proto, tmp_path)
    for size in (1, 4):
        feeds = {
            "x": np.arange(2 * size).reshape(size, 2).astype(dtypes.numpy_dtype("f8e5m2")),
            "index": np.array([0, -1, size]),
            "shape": np.array([size, 1]),
            "choice": np.array([[True], [False]]),
            "i": np.arange(-4, 5).reshape(3, 3).astype(dtypes.numpy_dtype("i4")),
        }
        found = run(feeds)
        joined = np.concatenate([value(feeds["x"]), value(weight)]).T
        np.testing.assert_array_equal(value(found["y"]), joined[:, feeds["index"]])
        wide = np.pad(value(feeds["i"]), [(0, 1), (1, 0)])
        np.testing.assert_array_equal(value(found["left"]), wide[:2])
        np.testing.assert_array_equal(value(found["right"]), wide[2:])
        np.testing.assert_array_equal(value(found["filled"]), np.full((size, 1), 3))
        np.testing.assert_array_equal(value(found["same"]), value(feeds["i"]))
        assert found["y"].dtype.name == f8.numpy and found["left"].dtype.name == i4.numpy


def test_computing_with_one_is_refused(tmp_path):
    f8 = TensorProto.FLOAT8E4M3FN
    proto = model([helper.make_node("Abs", ["x"], ["y"])], [("x", f8, [2])], [("y", f8)], opset=25)
    with pytest.raises(UnsupportedError, match="Abs 'y': an operand is float8_e4m3fn, .* cast it"):
        runner(proto, tmp_path)


@pytest.mark.parametrize("to", ["FLOAT8E4M3FN", "FLOAT8E8M0", "INT4"])
def test_the_bits_of_one_are_not_made(to, tmp_path):
    kind = TensorProto.DataType.Value(to)
    node = helper.make_node("BitCast", ["x"], ["y"], to=kind)
    proto = model([node], [("x", TensorProto.UINT8, [2])], [("y", kind)], opset=26)
    with pytest.raises(UnsupportedError, match="BitCast 'y': uint8 as .* is only stored; give"):
        runner(proto, tmp_path)


def test_a_loop_does_not_carry_one(tmp_path):
    f8 = TensorProto.FLOAT8E4M3FN
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["on2"]),
            helper.make_node("Identity", ["s"], ["s2"]),
        ],
        "body",
        [helper.make_tensor_value_info(n, t, []) for n, t in (("k", 7), ("on", 9))]
        + [helper.make_tensor_value_info("s", f8, [2])],
        [helper.make_tensor_value_info("on2", 9, []), helper.make_tensor_value_info("s2", f8, [2])],
    )
    proto = model(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        [("n", 7, []), ("x", f8, [2])], [("y", f8)], opset=25,
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="float8_e4m3fn enters or leaves .* cast it"):
        runner(proto, tmp_path)


@pytest.mark.slow
def test_quantised_by_axis_and_block(tmp_path):
    """Against ONNX's reference: types, blocks with a rest, a zero point, half precision."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-9, 9, (3, 7)).astype(np.float32)
    nodes, outputs, inputs, feeds = [], [], [("x", 1, [3, 7])], {"x": x}

    def port(name, array):
        inputs.append((name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)))
        feeds[name] = array

    port("blocks", rng.uniform(0.5, 2, (3, 3)).astype(np.float32))
    port("columns", rng.uniform(0.5, 2, (7,)).astype(np.float32))
    port("one", np.array(0.75, np.float32))
    for name in ("i4", "u4", "i2", "u2", "i16", "f8e4m3fn", "f4e2m1"):
        row = dtypes.of(name)
        low, high = (0, 2) if name[0] == "u" else (0, 1) if name[0] == "f" else (-1, 2)
        for scale, attrs in (
            ("blocks", {"axis": 1, "block_size": 3}),
            ("columns", {"axis": -1}),
            ("one", {}),
        ):
            point = f"point_{name}_{scale}"
            points = rng.integers(low, high, feeds[scale].shape)
            port(point, np.asarray(points).astype(dtypes.numpy_dtype(name)))
            made, back = f"q_{name}_{scale}", f"d_{name}_{scale}"
            nodes.append(helper.make_node("QuantizeLinear", ["x", scale, point], [made], **attrs))
            nodes.append(
                helper.make_node("DequantizeLinear", [made, scale, point], [back], **attrs)
            )
            outputs += [(made, row.onnx), (back, TensorProto.FLOAT)]
    half = {"output_dtype": TensorProto.FLOAT16}
    nodes.append(helper.make_node("DequantizeLinear", ["q_i4_one", "one"], ["half"], **half))
    attrs = {"output_dtype": TensorProto.INT4, "precision": TensorProto.FLOAT16}
    nodes.append(helper.make_node("QuantizeLinear", ["x", "one"], ["said"], **attrs))
    outputs += [("half", TensorProto.FLOAT16), ("said", TensorProto.INT4)]
    proto = model(nodes, inputs, outputs, opset=25)
    found = runner(proto, tmp_path)(feeds)
    wanted = ReferenceEvaluator(proto).run(None, feeds)
    for (name, _), want in zip(outputs, wanted, strict=True):
        assert found[name].dtype == want.dtype, name
        np.testing.assert_array_equal(value(found[name]), value(want), err_msg=name)
