"""Models that say what is not so: each is one sentence, and nothing is made of what they claim."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontend.running import make_model
from tvm_megcc.errors import InputError, MegccError, UnsupportedError
from tvm_megcc.frontend import from_onnx

X = np.arange(4, dtype=np.float32)
HUGE = 1 << 38


def graph_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> onnx.GraphProto:
    def ports(names: Sequence[str]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names]

    return helper.make_graph(nodes, "body", ports(inputs), ports(outputs))


def relu(output: str = "t") -> onnx.GraphProto:
    return graph_of([helper.make_node("Relu", ["x"], [output])], (), [output])


def weighted(weight: onnx.TensorProto | onnx.SparseTensorProto) -> onnx.ModelProto:
    """``y = x + w``."""
    model = make_model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": ("float32", [4])}, ["y"])
    sparse = isinstance(weight, onnx.SparseTensorProto)
    (model.graph.sparse_initializer if sparse else model.graph.initializer).append(weight)
    return model


def tensor(dims: Sequence[int], kind: int = TensorProto.FLOAT, **data: object) -> onnx.TensorProto:
    return TensorProto(name="w", dims=dims, data_type=kind, **data)


def sparse(
    indices: np.ndarray, dims: Sequence[int], values: Sequence[float] = (1, 2)
) -> onnx.SparseTensorProto:
    found = onnx.SparseTensorProto(dims=dims)
    found.values.CopyFrom(numpy_helper.from_array(np.array(values, np.float32), "w"))
    found.indices.CopyFrom(numpy_helper.from_array(np.array(indices), "i"))
    return found


def node(
    op: str, *inputs: str, known: dict[str, np.ndarray] | None = None, **attrs: object
) -> onnx.ModelProto:
    """One node called ``odd`` of ``x`` (4 floats), ``c`` (bool), ``n`` (int64) and constants."""
    made = helper.make_node(op, inputs, ["y"], name="odd", **attrs)
    ports = {"x": ("float32", [4]), "c": ("bool", []), "n": ("int64", [])}
    read = {name: ports[name] for name in inputs if name in ports} or {"x": ports["x"]}
    return make_model([made], read, ["y"], known or {})


def scan(
    state: Sequence[int] = (3,), row: Sequence[int] = (3,), axis: int = 0, result: int = 0
) -> onnx.ModelProto:
    """Over the rows of ``[2, 3]``, with a body that declares these dims."""
    port = helper.make_tensor_value_info
    nodes = [helper.make_node("Add", ["s", "r"], ["t"]), helper.make_node("Exp", ["t"], ["e"])]
    body = helper.make_graph(
        nodes, "body", [port("s", TensorProto.FLOAT, state), port("r", TensorProto.FLOAT, row)],
        [port(n, TensorProto.FLOAT, None) for n in "te"],
    )  # fmt: skip
    made = helper.make_node(
        "Scan", ["x", "xs"], ["y", "ys"], "odd", body=body, num_scan_inputs=1,
        scan_input_axes=[axis], scan_output_axes=[result],
    )  # fmt: skip
    return make_model([made], {"x": ("float32", [3]), "xs": ("float32", [2, 3])}, ["y", "ys"])


def without_inputs(model: onnx.ModelProto) -> onnx.ModelProto:
    del model.graph.node[0].input[:]
    return model


def without_type(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.node[0].attribute[0].type = 0
    return model


def window(op: str = "MaxPool", **attrs: object) -> onnx.ModelProto:
    made = helper.make_node(op, ["x"], ["y"], name="odd", **attrs)
    return make_model([made], {"x": ("float32", [1, 1, 8, 8])}, ["y"])


def transposed(**attrs: object) -> onnx.ModelProto:
    return conv(op="ConvTranspose", **attrs)


def conv(window: tuple[int, int] = (3, 3), op: str = "Conv", **attrs: object) -> onnx.ModelProto:
    made = helper.make_node(op, ["x", "w"], ["y"], name="odd", **attrs)
    weight = np.ones((1, 1, *window), np.float32)
    return make_model([made], {"x": ("float32", [1, 1, 8, 8])}, ["y"], {"w": weight})


def of_opset(version: int) -> onnx.ModelProto:
    model = node("Relu", "x")
    model.opset_import.add(domain="com.microsoft", version=version)
    return model


def grid(**attrs: object) -> onnx.ModelProto:
    made = helper.make_node("GridSample", ["x", "w"], ["y"], name="odd", **attrs)
    known = {"w": np.zeros((1, 2, 2, 2), np.float32)}
    return make_model([made], {"x": ("float32", [1, 1, 8, 8])}, ["y"], known)


def twice(which: str) -> onnx.ModelProto:
    model = weighted(numpy_helper.from_array(X, "w"))
    field = getattr(model.graph, which)
    field.append(field[0])
    return model


def of_type(which: str) -> onnx.ModelProto:
    model = weighted(numpy_helper.from_array(X, "w"))
    getattr(model.graph, which)[0].type.tensor_type.elem_type = 77
    return model


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


#: What is wrong -> the model, and words of its sentence.
CASES: dict[str, tuple[Callable[[], onnx.ModelProto], list[str]]] = {
    "dims_without_data": (lambda: weighted(tensor([HUGE], raw_data=X.tobytes())), ["'w'"]),
    "dims_without_floats": (lambda: weighted(tensor([HUGE], float_data=X)), ["'w'"]),
    "no_data": (lambda: weighted(tensor([HUGE])), ["'w'"]),
    "dims_that_wrap": (lambda: weighted(tensor([1 << 33, 1 << 31], raw_data=b"")), ["'w'"]),
    "negative_dim": (lambda: weighted(tensor([-4], float_data=X)), ["'w'", "Negative"]),
    "more_data": (lambda: weighted(tensor([2], float_data=X)), ["'w'", "[2]", "4"]),
    "more_raw_data": (lambda: weighted(tensor([2], raw_data=X.tobytes())), ["'w'", "4"]),
    "packed_data": (lambda: weighted(tensor([2], TensorProto.INT4, raw_data=b"123")), ["'w'", "6"]),
    "unknown_type": (lambda: weighted(tensor([4], 77, raw_data=X.tobytes())), ["'w'", "77"]),
    "type_0": (lambda: weighted(tensor([4], 0, raw_data=X.tobytes())), ["'w'"]),
    "input_of_unknown_type": (lambda: of_type("input"), ["'x'", "77"]),
    "output_of_unknown_type": (lambda: of_type("output"), ["'y'", "77"]),
    "cast_to_unknown": (lambda: node("Cast", "x", to=77), ["Cast 'odd'", "77"]),
    "constant": (lambda: node("Constant", value=tensor([HUGE], float_data=X)), ["'odd'", "value"]),
    "sparse_outside": (lambda: weighted(sparse(i64(1, 9), [4])), ["'w'", "outside", "[4]"]),
    "sparse_before": (lambda: weighted(sparse(i64(-1, 2), [4])), ["'w'", "outside"]),
    "sparse_outside_2d": (lambda: weighted(sparse(i64([0, 9], [1, 1]), [2, 2])), ["outside"]),
    "sparse_huge": (lambda: weighted(sparse(i64(1, 2), [HUGE])), ["'w'", "sparse"]),
    "sparse_wraps": (lambda: weighted(sparse(i64(1, 2), [1 << 33, 1 << 33])), ["'w'", "sparse"]),
    "sparse_negative": (lambda: weighted(sparse(i64(1, 2), [-4])), ["'w'", "sparse"]),
    "sparse_count": (lambda: weighted(sparse(i64(1, 2, 3), [4])), ["2 values", "[3]"]),
    "sparse_rank": (lambda: weighted(sparse(i64([[0, 1]]), [2, 2])), ["2 values"]),
    "sparse_floats": (lambda: weighted(sparse(X[:2], [4])), ["float"]),
    "input_twice": (lambda: twice("input"), ["input 'x'", "2 times"]),
    "weight_twice": (lambda: twice("initializer"), ["weight 'w'", "2 times"]),
    "if_two_inputs": (
        lambda: node("If", "c", "x", then_branch=relu("a"), else_branch=relu("b")),
        ["If 'odd'", "2 inputs"],
    ),
    "if_no_input": (
        lambda: node("If", then_branch=relu("a"), else_branch=relu("b")),
        ["If 'odd'", "0 inputs"],
    ),
    "if_one_branch": (lambda: node("If", "c", then_branch=relu()), ["'odd'", "'else_branch'"]),
    "if_numbers": (lambda: node("If", "c", then_branch=1, else_branch=2), ["'odd'", "GRAPH"]),
    "if_no_result": (
        lambda: node("If", "c", then_branch=graph_of([]), else_branch=relu()),
        ["'odd'", "'then_branch'", "0 outputs"],
    ),
    "if_floats": (
        lambda: node("If", "x", then_branch=relu("a"), else_branch=relu("b")),
        ["If 'odd'"],
    ),
    "loop_no_body": (lambda: node("Loop", "n", "", "x"), ["Loop 'odd'", "'body'"]),
    "loop_short_body": (
        lambda: node("Loop", "n", "", "x", body=graph_of([], ["i", "c0"], ["c0"])),
        ["Loop 'odd'", "2 inputs", "3"],
    ),
    "loop_no_input": (
        lambda: without_inputs(node("Loop", "n", "", body=relu())),
        ["Loop 'odd'", "0 inputs"],
    ),
    "loop_no_result": (
        lambda: node("Loop", "n", "", "x", body=graph_of([], ["i", "c0", "s"], ["c0"])),
        ["Loop 'odd'", "1 outputs"],
    ),
    "scan_no_body": (lambda: node("Scan", "x", num_scan_inputs=1), ["Scan 'odd'", "'body'"]),
    "scan_of_nine": (
        lambda: node("Scan", "x", num_scan_inputs=9, body=relu()),
        ["Scan 'odd'", "num_scan_inputs=9"],
    ),
    "scan_axis": (lambda: scan(axis=3), ["Scan 'odd'", "scan_input_axes", "axis 3"]),
    "scan_result_axis": (lambda: scan(result=-3), ["Scan 'odd'", "scan_output_axes", "axis -3"]),
    "scan_rows_of_another_size": (lambda: scan(row=[5]), ["Scan 'odd'", "5", "body's 'r' is"]),
    "scan_state_of_another_size": (lambda: scan(state=[4]), ["Scan 'odd'", "4", "body's 's'"]),
    "inputs": (lambda: node("Relu", "x", "x", "x"), ["Relu 'odd'", "3 inputs"]),
    "operand_left_out": (lambda: node("Concat", "", axis=0), ["Concat 'odd'", "operand 0"]),
    "operand_between": (lambda: node("Where", "c", "", "x"), ["Where 'odd'", "operand 1"]),
    "opset_of_the_future": (lambda: of_opset(1 << 40), ["'com.microsoft'", str(1 << 40)]),
    "opset_below_zero": (lambda: of_opset(-3), ["'com.microsoft'", "-3"]),
    "complex_steps": (
        lambda: node("Slice", "x", "s", "s", "s", "k", known={"s": i64(0), "k": np.ones(1, "c8")}),
        ["Slice 'odd'", "operand 4", "complex64"],
    ),
    "complex_limit": (
        lambda: node("Add", "x", "k", known={"k": np.ones(1, "c16")}),
        ["Add 'odd'", "operand 1", "complex128"],
    ),
    **{
        f"GridSample_{name}": (
            lambda name=name: grid(**{name: "?"}),
            ["GridSample 'odd'", name, "'?'"],
        )
        for name in ("mode", "padding_mode")
    },
    **{
        f"{op}_of_many": (
            lambda op=op: make_model(
                [helper.make_node(op, ["x", "n"], ["y"], name="odd")],
                {"x": ("float32", [4]), "n": ("int64", [46_341])},
                ["y"],
            ),
            [f"{op} 'odd'", "46341 elements", "64"],
        )
        for op in ("Expand", "Reshape", "Tile", "Unsqueeze")
    },
    "Resize_mode": (
        lambda: node("Resize", "x", "", "k", mode="?", known={"k": np.full(1, 2, "f4")}),
        ["Resize 'odd'", "mode '?'"],
    ),
    "no_inputs": (lambda: without_inputs(node("Identity", "x")), ["Identity 'odd'", "0 inputs"]),
    "attribute_type": (lambda: node("Softmax", "x", axis="last"), ["'axis'", "STRING", "INT"]),
    "no_attribute_type": (
        lambda: without_type(node("Shape", "x", start=1)),
        ["'start'", "no type"],
    ),
    "no_kernel_shape": (lambda: window(), ["MaxPool 'odd'", "'kernel_shape'", "missing"]),
    **{
        f"{op}_{name}": (
            lambda op=op, name=name: window(op, **{"kernel_shape": [2, 2], name: [0, 0]}),
            [f"{op} 'odd'", f"{name}=[0, 0]"],
        )
        for op in ("MaxPool", "AveragePool", "LpPool")
        for name in ("kernel_shape", "strides")
    },
    **{
        f"{op}_pads": (
            lambda op=op: window(op, kernel_shape=[2, 2], pads=[0, -1, 0, 0]),
            [f"{op} 'odd'", "pads=[0, -1, 0, 0]", "at least 0"],
        )
        for op in ("MaxPool", "AveragePool", "LpPool")
    },
    "Conv_pads": (lambda: conv(pads=[0, 0, -1, -1]), ["pads=[0, 0, -1, -1]", "at least 0"]),
    "output_padding": (
        lambda: transposed(output_padding=[-1, 0], strides=[2, 2]),
        ["output_padding=[-1, 0]", "at least 0"],
    ),
    "output_padding_of_a_stride": (
        lambda: transposed(output_padding=[2, 0], strides=[2, 2]),
        ["ConvTranspose 'odd'", "output_padding [2, 0]", "strides"],
    ),
    "negative_window": (lambda: window(kernel_shape=[-2, 2]), ["kernel_shape=[-2, 2]"]),
    **{
        f"{op}_{name}": (
            lambda op=op, name=name, number=number: node(op, "x", **{name: number}),
            [f"{op} 'odd'", f"{name}={number}"],
        )
        for op, name, number in (
            ("LRN", "size", -2),
            ("SpaceToDepth", "blocksize", 0),
            ("DepthToSpace", "blocksize", -7),
        )
    },
    "GatherND_batch_dims": (
        lambda: node("GatherND", "x", "k", known={"k": i64(0)}, batch_dims=-9),
        ["GatherND 'odd'", "batch_dims=-9"],
    ),
    "DepthToSpace_blocksize_of_64_bits": (
        lambda: node("DepthToSpace", "x", blocksize=-1 << 63),
        ["DepthToSpace 'odd'", "blocksize", str(-1 << 63)],
    ),
    **{
        f"{op}_{name}_of_32_bits": (
            lambda op=op, name=name, number=number: node(op, "x", **{name: number}),
            [f"{op} 'odd'", name, str((1 << 32) + 1)],
        )
        for op, name, number in (
            ("Concat", "axis", (1 << 32) + 1),
            ("Softmax", "axis", (1 << 32) + 1),
            ("Transpose", "perm", [0, (1 << 32) + 1, 2]),
            ("MaxPool", "kernel_shape", [1, (1 << 32) + 1]),
        )
    },
    **{
        f"RoiAlign_of_{size}": (
            lambda size=size: make_model(
                [helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], output_height=size)],
                {"x": ("float32", [1, 2, 8, 8]), "r": ("float32", [2, 4]), "b": ("int64", [2])},
                ["y"],
            ),
            ["'y'", str(size)],
        )
        for size in (-1, -1 << 63, 1 << 40)
    },
    "axes_of_window": (lambda: window(kernel_shape=[2, 2], strides=[1]), ["strides=[1]"]),
    "kernel_shape_of_another_weight": (lambda: conv(kernel_shape=[5, 5]), ["[5, 5]", "[3, 3]"]),
    "axes_of_strides": (lambda: conv(strides=[1]), ["Conv 'odd'", "strides is [1]"]),
    "axes_of_pads": (lambda: conv(pads=[1, 1]), ["Conv 'odd'", "pads is [1, 1]"]),
    "weight_of_no_size": (lambda: conv((0, 0)), ["Conv 'odd'", "[0, 0]"]),
    "huge_input": (
        lambda: make_model(
            [helper.make_node("Relu", ["x"], ["y"])], {"x": ("float32", [HUGE])}, ["y"]
        ),
        ["input 'x'", str(HUGE)],
    ),
    "huge_depth_to_space": (
        lambda: make_model(
            [helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2)],
            {"x": ("float32", [1, "c", "h", (1 << 31) - 1])},
            ["y"],
        ),
        ["'y'", "4294967294"],
    ),
    "where_of_two_types": (
        lambda: node("Where", "c", "k", "x", known={"k": np.ones(1, bool)}),
        ["Where 'odd'", "bool", "float"],
    ),
    **{
        f"{op}_of_many": (
            lambda op=op: node(op, "k", known={"k": np.array((1 << 31) - 1)}),
            [f"{op} 'odd'", "2147483647 elements"],
        )
        for op in ("BlackmanWindow", "HammingWindow", "HannWindow")
    },
    "Range_of_many": (
        lambda: node(
            "Range",
            "k",
            "m",
            "o",
            known={
                "k": np.array(0),
                "m": np.array((1 << 31) - 1),
                "o": np.array(1),
            },
        ),
        ["Range 'odd'", "2147483647 elements"],
    ),
    "huge_sum": (
        lambda: make_model(
            [helper.make_node("Add", ["x", "z"], ["y"])],
            {"x": ("float32", [1 << 19, 1]), "z": ("float32", [1, 1 << 19])},
            ["y"],
        ),
        ["'y'", "[524288, 524288]"],
    ),
}

#: Results of constants that would take terabytes: operator -> its operands.
GROWING: dict[str, list[np.ndarray]] = {
    "ConstantOfShape": [i64(HUGE)],
    "Expand": [X[:1], i64(HUGE)],
    "Tile": [X[:1], i64(HUGE)],
    "Range": [np.array(0.0), np.array(1e12), np.array(1.0)],
    "OneHot": [i64(1, 2), np.array(HUGE), X[:2]],
    "Pad": [X[:1], i64(HUGE, HUGE)],
    "Resize": [np.ones((1, 1, 1, 1), "f4"), X[:0], X[:0], i64(1, 1, 1 << 19, 1 << 19)],
    "MatMul": [np.ones((1 << 19, 1), "f4"), np.ones((1, 1 << 19), "f4")],
    "Add": [np.ones((1 << 19, 1), "f4"), np.ones((1, 1 << 19), "f4")],
    "Where": [np.ones((1 << 19, 1), bool), np.ones((1, 1 << 19), "f4"), X[:1]],
}


@pytest.fixture(autouse=True)
def little_memory() -> object:
    """Less than what these models claim."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def sentence(model: onnx.ModelProto, kind: type[MegccError]) -> str:
    with pytest.raises(kind) as caught:
        from_onnx(model)
    message = str(caught.value)
    assert "\n" not in message and "Unable to allocate" not in message
    return message


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_so_is_said(case: str) -> None:
    model, words = CASES[case]
    message = sentence(model(), MegccError)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("op", GROWING)
def test_constants_are_not_made_of_claims(op: str) -> None:
    known = {f"i{k}": a for k, a in enumerate(GROWING[op])}
    nodes = [
        helper.make_node(op, list(known), ["big"], name="odd"),
        helper.make_node("Cast", ["big"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["cast"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    sentence(make_model(nodes, {"x": ("float32", [4])}, ["y"], known), UnsupportedError)


def test_constants_that_double() -> None:
    names = ["w", *(f"c{k}" for k in range(40))]
    nodes = [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in pairwise(names)]
    nodes += [
        helper.make_node("ReduceSum", [names[-1]], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    model = make_model(nodes, {"x": ("float32", [4])}, ["y"], {"w": X})
    assert "elements of constants" in sentence(model, UnsupportedError)


@pytest.mark.parametrize("name", ["main", "made"])
def test_a_value_may_have_the_name_of_a_function(name: str) -> None:
    nodes = [helper.make_node("Relu", ["x"], [name]), helper.make_node("Exp", [name], ["y"])]
    imported = from_onnx(make_model(nodes, {"x": ("float32", [4])}, [name, "y"]))
    assert [port.name for port in imported.outputs] == [name, "y"]
    assert "main" in [gvar.name_hint for gvar in imported.mod.get_global_vars()]


def test_a_message_is_one_line() -> None:
    nodes = [helper.make_node("No\nsuch", ["x"], ["y"], name="of\ntwo lines")]
    sentence(make_model(nodes, {"x": ("float32", [4])}, ["y"]), UnsupportedError)
    assert str(InputError("a\nb")) == "a b"
