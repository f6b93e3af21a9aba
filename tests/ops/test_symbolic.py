"""Operators over symbolic dims: imported once, compared with ONNX Runtime at several sizes."""

import numpy as np
import pytest
import tvm
from onnx import helper
from tvm import relax

from tests.frontend.running import check_sizes, machine, make_model, run_machine
from tests.ops.cases import rand
from tvm_megcc.relax_tools import open_resize

#: Operators that compute shapes on tensors.
SHAPE_MATH = {"relax.shape_to_tensor", "relax.tensor_to_shape", "relax.dynamic_strided_slice"}


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs, outputs, name=f"make_{outputs[0]}", **attrs)


def check(nodes, dims, shapes, weights=None, opset=17, dtype="float32", relative=1e-5):
    """Nodes from ``x`` (and ``y``, ...) to ``z``; ``dims`` of the inputs, and shapes to run at."""
    ports = {name: (dtype, d) for name, d in zip("xyw", dims, strict=False)}
    arrays = {n: np.asarray(v) for n, v in (weights or {}).items()}
    model = make_model(nodes, ports, ["z"], arrays, opset)
    runs = [
        {
            name: rand(*shape, seed=k, dtype=dtype)
            for k, (name, shape) in enumerate(zip(ports, run, strict=True))
        }
        for run in shapes
    ]
    imported = check_sizes(model, runs, relative)
    assert not operators(imported) & SHAPE_MATH
    return imported


def operators(imported):
    found = set()

    def visit(expr):
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op):
            found.add(expr.op.name)

    relax.analysis.post_order_visit(imported.mod["main"], visit)
    return found


SIZES = [((1, 3),), ((5, 3),), ((8, 3),)]


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(0, 3, 1), (1, 2**63 - 1, 1), (-3, 2**31, 1), (2, -1, 2), (-2, -1, 1), (0, -3, 3),
     (-1, -(2**31), -1), (3, 0, -2), (2**31, -4, -1)],
)  # fmt: skip
def test_slice(start, end, step):
    weights = {"s": [start], "e": [end], "a": [0], "t": [step]}
    check([node("Slice", ["x", "s", "e", "a", "t"], ["z"])], [["n", 3]], SIZES, weights)


def test_slice_between_sizes():
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Div", ["n", "two"], ["half"]),
        node("Slice", ["x", "half", "n", "zero"], ["z"]),
    ]
    check(nodes, [["n", 3]], SIZES, {"two": [2], "zero": [0]})


@pytest.mark.parametrize("index", [0, -1, [0], [-1, 0], [[0, 0]]])
def test_gather_of_a_symbolic_axis(index):
    check([node("Gather", ["x", "i"], ["z"])], [["n", 3]], SIZES, {"i": np.array(index)})


def test_split():
    nodes = [node("Split", ["x"], ["a", "b"], axis=0, num_outputs=2),
             node("Concat", ["b", "a"], ["z"], axis=0)]  # fmt: skip
    check(nodes, [["n", 3]], SIZES[1:], opset=18)


def test_squeeze_requires_one():
    imported = check([node("Squeeze", ["x", "a"], ["z"])], [["n", 3]], SIZES[:1], {"a": [0]})
    with pytest.raises(Exception, match="match_cast"):
        run_machine(machine(imported), imported, {"x": rand(2, 3)})


@pytest.mark.parametrize("shape", [[-1], [3, -1], [0, 1, -1], [-1, 6]])
def test_reshape(shape):
    sizes = [((2, 3),), ((4, 3),)]
    check([node("Reshape", ["x", "s"], ["z"])], [["n", 3]], sizes, {"s": shape})


def test_flatten_and_unsqueeze():
    nodes = [node("Unsqueeze", ["x", "a"], ["h"]), node("Flatten", ["h"], ["z"], axis=2)]
    check(nodes, [["n", "m", 2]], [((2, 3, 2),), ((1, 1, 2),)], {"a": [0, 2]})


def test_expand_to_anothers_shape():
    nodes = [node("Shape", ["y"], ["s"]), node("Expand", ["x", "s"], ["z"])]
    check(nodes, [[1, "m"], ["n", "m"]], [((1, 3), (4, 3)), ((1, 1), (1, 1))])


def test_expand_of_the_first_row():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["x", "zero", "one"], ["first"]),
        node("Expand", ["first", "s"], ["e"]),
        node("Sub", ["e", "x"], ["z"]),
    ]
    check(nodes, [["n", 3]], SIZES, {"zero": [0], "one": [1]})


def test_expand_with_kept_dims():
    # PyTorch: -1 keeps a dim, written as Where(shape == -1, 1, shape).
    nodes = [
        node("Shape", ["y"], ["n"], start=0, end=1),
        node("Concat", ["n", "minus"], ["wanted"], axis=0),
        node("Equal", ["wanted", "minus"], ["kept"]),
        node("Where", ["kept", "one", "wanted"], ["s"]),
        node("Expand", ["x", "s"], ["z"]),
    ]
    weights = {"minus": [-1], "one": [1]}
    check(nodes, [[1, 3], ["n", 2]], [((1, 3), (4, 2)), ((1, 3), (1, 2))], weights)


def test_expand_to_dims_that_follow_from_its_own():
    """A dim of 1 becomes the wanted one, as any other may; both depend on n."""
    nodes = [
        node("Shape", ["x"], ["n"]),
        node("Div", ["n", "three"], ["part"]),
        node("Add", ["part", "four"], ["s"]),
        node("Expand", ["x", "s"], ["z"]),
    ]
    check(nodes, [["n"]], [((n,),) for n in (1, 6, 5)], {"three": [3], "four": [4]})


def test_expand_to_the_larger_dim():
    nodes = [
        node("Shape", ["x"], ["n"]),
        node("Shape", ["y"], ["m"]),
        node("Max", ["n", "m"], ["s"]),
        node("Expand", ["x", "s"], ["z"]),
    ]
    check(nodes, [["n"], ["m"]], [((1,), (5,)), ((5,), (1,)), ((3,), (3,)), ((1,), (1,))])


def test_sizes_in_a_type_that_is_too_short():
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Cast", ["n"], ["short"], to=3),
        node("Cast", ["short"], ["z"], to=7),
    ]
    check(nodes, [["n", 1]], [((n, 1),) for n in (7, 171, 300)])


def test_tile():
    nodes = [node("Shape", ["y"], ["r"]), node("Tile", ["x", "r"], ["z"])]
    check(nodes, [["n", 3], ["a", "b"]], [((2, 3), (1, 2)), ((1, 3), (3, 1))])


def test_pad_by_sizes():
    nodes = [
        node("Shape", ["y"], ["s"]),
        node("Concat", ["zeros", "s"], ["w"], axis=0),
        node("Pad", ["x", "w", "value"], ["z"]),
    ]
    weights = {"zeros": [0, 1], "value": np.float32(1.5)}
    check(nodes, [["n", 3], ["a", "b"]], [((2, 3), (1, 2)), ((1, 3), (3, 1))], weights)


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1, "pads": [1, 0, 1, 1]},
        {"kernel_shape": [2, 2], "strides": [3, 2], "ceil_mode": 1, "dilations": [2, 1]},
        {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"},
    ],
)
def test_average_pool_of_open_images(window, include):
    """How much padding ``ceil_mode`` and SAME add, and so how many elements count, sizes say."""
    nodes = [node("AveragePool", ["x"], ["z"], count_include_pad=include, **window)]
    shapes = [((1, 2, 5, 7),), ((2, 2, 8, 6),), ((1, 2, 6, 9),)]
    check(nodes, [["n", 2, "h", "w"]], shapes, opset=19)


@pytest.mark.slow
def test_average_pool_of_a_row_and_the_others():
    """As funnel does: the pooled dim is a long expression."""
    nodes = [
        node("Slice", ["x", "zero", "one", "two"], ["first"]),
        node("Slice", ["x", "zero", "last", "two"], ["others"]),
        node("Concat", ["first", "others"], ["r"], axis=2),
        node("AveragePool", ["r"], ["p"], count_include_pad=1, kernel_shape=[2, 1], strides=[2, 1],
             ceil_mode=1),
        node("Gather", ["p", "zero"], ["z"], axis=1),
    ]  # fmt: skip
    weights = {"zero": [0], "one": [1], "two": [2], "last": [-1]}
    check(nodes, [["n", 2, "s", 4]], [((1, 2, 5, 4),), ((2, 2, 8, 4),)], weights)


def test_pad_to_a_size():
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Sub", ["eight", "n"], ["rest"]),
        node("Concat", ["zeros", "rest", "zero"], ["w"], axis=0),
        node("Pad", ["x", "w"], ["z"]),
    ]
    check(nodes, [["n", 3]], SIZES, {"eight": [8], "zeros": [0, 0], "zero": [0]})


@pytest.mark.parametrize("mode", ["reflect", "edge"])
def test_pad_modes(mode):
    nodes = [node("Pad", ["x", "w"], ["z"], mode=mode)]
    check(nodes, [["n", 3]], SIZES[1:], {"w": [2, 0, 1, 1]})


@pytest.mark.parametrize(
    ("dims", "said", "shapes"),
    [(["n", 1], [], [(1, 1)]), (["n", 1, "m"], [], [(1, 1, 1)]), (["n", "m", 4], [4], [(1, 1, 4)]),
     (["n", 1], ["n"], [(3, 1), (2, 1)]), (["n", 1], None, [(3, 1)])],
)  # fmt: skip
@pytest.mark.parametrize("behind", ["nothing", "scalars", "value"])
def test_squeeze_without_axes_gives_the_rank_that_the_model_says(dims, said, shapes, behind):
    nodes = [
        node("Squeeze", ["x"], ["y"]),
        *([node("Sigmoid", ["y"], ["s"]), node("Mul", ["k", "s"], ["z"])] * (behind == "scalars")),
        *([node("Softmax", ["y"], ["z"], axis=0)] * (behind == "value" and said != [])),
    ]
    result = nodes[-1].output[0]
    model = make_model(nodes, {"x": ("float32", dims)}, [result], {"k": np.float32(4)}, opset=12)
    port = helper.make_tensor_value_info("y" if behind == "value" else result, 1, said)
    if port.name == result:
        model.graph.output[0].CopyFrom(port)
    else:
        model.graph.value_info.append(port)
    check_sizes(model, [{"x": rand(*shape)} for shape in shapes])


def test_squeeze_without_axes_of_an_open_dim_warns():
    with pytest.warns(UserWarning, match="make_z.*a run with n of 1 ends with an error"):
        check([node("Squeeze", ["x"], ["z"])], [["n", 1, 3]], [((2, 1, 3),)])


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_pad_modes_by_sizes(mode):
    """As encodec does to make its signal a multiple of the stride: by what the length asks for."""
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Sub", ["nine", "n"], ["rest"]),
        node("Concat", ["one", "zero", "rest", "two"], ["w"], axis=0),
        node("Pad", ["x", "w"], ["z"], mode=mode),
    ]
    weights = {"nine": [9], "one": [1], "zero": [0], "two": [2]}
    check(nodes, [["n", 3]], [((5, 3),), ((7, 3),), ((12, 3),)], weights, opset=19)


@pytest.mark.parametrize(("start", "step"), [(0, 1), (2, 1), (1, 3), (9, -1)])
def test_range(start, step):
    nodes = [
        node("Shape", ["x"], ["s"], start=0, end=1),
        node("Squeeze", ["s"], ["n"]),
        node("Range", ["start", "n", "step"], ["r"]),
        node("Cast", ["r"], ["z"], to=1),
    ]
    check(nodes, [["n", 3]], SIZES, {"start": np.array(start), "step": np.array(step)})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "uint64"])
def test_sizes_that_their_type_does_not_hold(dtype):
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Cast", ["s"], ["n"], to=to),
        node("Sub", ["n", "seven"], ["less"]),
        node("Cast", ["less" if dtype.startswith("u") else "n"], ["f"], to=1),
        node("Add", ["x", "f"], ["z"]),
    ]
    if not dtype.startswith("u"):  # ONNX Runtime subtracts no others of less than 32 bits
        del nodes[2]
    ports, seven = {"x": ("float32", ["n", 2])}, np.array(7, dtype)
    model = make_model(nodes, ports, ["z"], {"seven": seven}, 17)
    check_sizes(model, [{"x": rand(n, 2)} for n in (5, 300, 40_000)], 1e-5)


def test_constant_of_shape():
    nodes = [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["c"]),
             node("Sub", ["c", "x"], ["z"])]  # fmt: skip
    check(nodes, [["n", 3]], SIZES)


def test_one_hot_of_a_symbolic_depth():
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("OneHot", ["i", "n", "v"], ["h"], axis=0),
        node("MatMul", ["x", "k"], ["p"]),
        node("Add", ["h", "p"], ["z"]),
    ]
    weights = {"i": np.array([0, -1, 2]), "v": rand(2), "k": rand(3, 3)}
    check(nodes, [["n", 3]], SIZES[1:], weights)


def test_sizes_as_data():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Cast", ["s"], ["f"], to=1),
        node("Div", ["f", "three"], ["q"]),
        node("Sqrt", ["q"], ["r"]),
        node("Mul", ["x", "r"], ["z"]),
    ]
    check(nodes, [["n", 2]], [((1, 2),), ((7, 2),)], {"three": np.float32(3)})


NCHW = [((1, 2, 4, 6),), ((2, 2, 7, 5),), ((1, 2, 1, 1),)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    "coordinates",
    ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn"],
)
@pytest.mark.parametrize("scale", [2.0, 1.5, 0.5])
def test_resize_by_scales(mode, coordinates, scale):
    if mode == "linear" and coordinates == "tf_half_pixel_for_nn":
        pytest.skip("for nearest only")
    nodes = [node("Resize", ["x", "", "s"], ["z"], mode=mode,
                  coordinate_transformation_mode=coordinates)]  # fmt: skip
    weights = {"s": np.array([1, 1, scale, scale], np.float32)}
    runs = NCHW if scale >= 1 else NCHW[:2]
    check(nodes, [["n", 2, "h", "w"]], runs, weights, relative=1e-4)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
def test_linear_resize_of_open_sizes_is_one_operator(coordinates):
    """Which a kernel computes; otherwise each axis is gathered twice."""
    nodes = [node("Resize", ["x", "", "s"], ["z"], mode="linear",
                  coordinate_transformation_mode=coordinates)]  # fmt: skip
    weights = {"s": np.array([1, 1, 2, 3], np.float32)}
    imported = check(nodes, [["n", 2, "h", "w"]], NCHW, weights, relative=1e-4)
    assert operators(imported) == {"relax.image.resize2d"}


def test_the_rule_for_open_sizes_is_registered_once():
    """TVM refuses a rule of the same level."""
    open_resize.register()
    open_resize.register()


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_to_anothers_size(mode):
    nodes = [
        node("Shape", ["y"], ["s"], start=2),
        node("Shape", ["x"], ["b"], end=2),
        node("Concat", ["b", "s"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["z"], mode=mode, nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
    ]  # fmt: skip
    runs = [((1, 2, 4, 6), (1, 1, 8, 3)), ((2, 2, 3, 3), (1, 1, 4, 7))]
    check(nodes, [["n", 2, "h", "w"], [1, 1, "a", "b"]], runs, relative=1e-4)


def test_resize_by_floats_computed_from_sizes():
    # Old exporters: sizes = floor(float(size) * scale), scales = sizes / size.
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Cast", ["s"], ["f"], to=1),
        node("Slice", ["f", "two", "four"], ["hw"]),
        node("Mul", ["hw", "factor"], ["scaled"]),
        node("Floor", ["scaled"], ["floored"]),
        node("Div", ["floored", "hw"], ["ratio"]),
        node("Concat", ["ones", "ratio"], ["scales"], axis=0),
        node("Resize", ["x", "", "scales"], ["z"], mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
    ]  # fmt: skip
    weights = {"two": [2], "four": [4], "factor": np.float32(2), "ones": np.ones(2, np.float32)}
    imported = check(nodes, [["n", 2, "h", "w"]], NCHW, weights)
    assert imported.outputs[0].shape == ("n", 2, "2*h", "2*w")


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("exclude_outside", [0, 1])
def test_resize_cubic(coordinates, exclude_outside):
    nodes = [node("Resize", ["x", "", "s"], ["z"], mode="cubic", exclude_outside=exclude_outside,
                  coordinate_transformation_mode=coordinates)]  # fmt: skip
    weights = {"s": np.array([1, 1, 2, 1.5], np.float32)}
    check(nodes, [["n", 2, "h", "w"]], NCHW, weights, relative=1e-4)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("stride", [1, 2])
def test_same_padding(auto_pad, stride):
    attrs = {"kernel_shape": [3, 3], "auto_pad": auto_pad, "strides": [stride] * 2}
    nodes = [node("MaxPool", ["x"], ["h"], **attrs), node("Conv", ["h", "k"], ["z"], **attrs)]
    check(nodes, [["n", 2, "h", "w"]], NCHW, {"k": rand(3, 2, 3, 3)})


@pytest.mark.parametrize(
    "attrs",
    [
        {"auto_pad": "SAME_UPPER"},
        {"pads": [1, 0, 1, 0]},
        {"pads": [1, 1, 0, 0], "storage_order": 1},
    ],
)
def test_where_the_largest_stand(attrs):
    nodes = [node("MaxPool", ["x"], ["p", "z"], kernel_shape=[2, 3], strides=[2, 2], **attrs)]
    check(nodes, [[1, 2, "h", "w"]], [((1, 2, 5, 6),), ((1, 2, 4, 9),)])


def test_ceil_mode():
    nodes = [node("MaxPool", ["x"], ["z"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1,
                  pads=[1, 1, 1, 1])]  # fmt: skip
    check(nodes, [["n", 2, "h", "w"]], NCHW)


@pytest.mark.parametrize("kernel", [2, 3])
def test_transposed_convolution(kernel):
    nodes = [node("ConvTranspose", ["x", "k"], ["z"], strides=[2, 2])]
    check(nodes, [["n", 2, "h", "w"]], NCHW, {"k": rand(2, 3, kernel, kernel)}, relative=1e-4)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_recurrent_over_a_symbolic_batch(op):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    weights = {"k": rand(2, gates * 4, 3), "r": rand(2, gates * 4, 4), "b": rand(2, gates * 8)}
    nodes = [node(op, ["x", "k", "r", "b"], ["z"], hidden_size=4, direction="bidirectional")]
    check(nodes, [[3, "n", 3]], [((3, 1, 3),), ((3, 5, 3),)], weights, relative=1e-4)


# ---- agreement ---------------------------------------------------------------------------------


def halved_and_doubled(op, **attrs):
    """``x`` cut to its even part by pooling and doubling, then combined with ``x``."""
    return [
        node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["p", "", "s"], ["u"], mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
        node(op, ["x", "u"], ["z"], **attrs),
    ]  # fmt: skip


@pytest.mark.parametrize(("op", "attrs"), [("Add", {}), ("Concat", {"axis": 1}), ("Max", {})])
def test_operands_agree(op, attrs):
    weights = {"s": np.array([1, 1, 2, 2], np.float32)}
    runs = [((1, 2, 4, 6),), ((3, 2, 2, 8),)]
    imported = check(halved_and_doubled(op, **attrs), [["n", 2, "h", "w"]], runs, weights)
    assert imported.outputs[0].shape[2:] == ("h", "w")
    with pytest.raises(Exception, match="match_cast"):
        run_machine(machine(imported), imported, {"x": rand(1, 2, 5, 6)})


def test_dims_of_two_inputs_agree():
    nodes = [node("MatMul", ["x", "y"], ["h"]), node("Add", ["h", "w"], ["z"])]
    dims = [["a", "b"], ["c", "d"], ["e", "f"]]
    runs = [((2, 3), (3, 4), (2, 4)), ((5, 1), (1, 2), (5, 2)), ((2, 3), (3, 1), (1, 4))]
    imported = check(nodes, dims, runs)
    with pytest.raises(Exception, match="match_cast"):
        feeds = {"x": rand(2, 3), "y": rand(3, 4), "w": rand(3, 4)}
        run_machine(machine(imported), imported, feeds)


def test_a_constant_one_broadcasts():
    imported = check([node("Add", ["x", "y"], ["z"])], [["n", 3], [1, 3]],
                     [((1, 3), (1, 3)), ((4, 3), (1, 3))])  # fmt: skip
    assert operators(imported) == {"relax.add"}
    assert imported.outputs[0].shape == ("n", 3)


def test_gemm_with_a_symbolic_bias():
    nodes = [node("Gemm", ["x", "k", "y"], ["z"], transB=1, beta=0.5)]
    check(nodes, [["n", 3], ["m", 4]], [((2, 3), (2, 4)), ((1, 3), (1, 4))], {"k": rand(4, 3)})


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("keep", [0, 1])
def test_reduction_of_single_elements(op, keep):
    nodes = [node(op, ["x"], ["z"], axes=[1], keepdims=keep)]
    check(nodes, [["n", 1, "m"]], [((1, 1, 3),), ((4, 1, 1),)])


def test_powers_of_integers():
    nodes = [
        node("Clip", ["x", "low", "high"], ["b"]),
        node("Clip", ["y", "none", "high"], ["e"]),
        node("Pow", ["b", "e"], ["z"]),
    ]
    limits = {"low": np.int32(-5), "none": np.int32(0), "high": np.int32(5)}
    dims = [["n", 3, "m"], ["n", 3, "m"]]
    check(nodes, dims, [((2, 3, 4),) * 2, ((1, 3, 1),) * 2], limits, dtype="int32")
