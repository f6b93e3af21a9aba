"""What leaves the importer: ports, parameters, folding, shapes, determinism."""

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, parser

from tests.frontend.running import check, make_model, run
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.frontend import InputInfo, OutputInfo, from_onnx

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs, outputs, **attrs)


def operators(imported) -> set[str]:
    """Names of the Relax operators in the module."""
    found = set()

    def visit(expr):
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op):
            found.add(expr.op.name)

    tvm.relax.analysis.post_order_visit(imported.mod["main"], visit)
    return found


def test_names_dtypes_and_order_are_the_models():
    nodes = [node("Neg", ["in/1.x:0"], ["out b"]), node("Cast", ["2"], ["a"], to=TensorProto.INT8)]
    ports = {"in/1.x:0": ("float32", [2, 3]), "2": ("int64", [])}
    imported = from_onnx(make_model(nodes, ports, ["out b", "a"]))
    assert imported.inputs == (InputInfo("in/1.x:0", "f32", (2, 3)), InputInfo("2", "i64", ()))
    assert imported.outputs == (OutputInfo("out b", "f32", (2, 3)), OutputInfo("a", "i8", ()))
    results = run(imported, {"in/1.x:0": X, "2": np.array(5)})
    np.testing.assert_array_equal(results[0], -X)
    assert results[1].shape == () and results[1] == 5


def test_name_of_the_model(tmp_path):
    model = make_model([node("Neg", ["x"], ["y"])], {"x": ("float32", [2])}, ["y"])
    onnx.save_model(model, tmp_path / "little.onnx")
    assert from_onnx(tmp_path / "little.onnx").name == "little"
    assert from_onnx(model).name == "graph"


def test_initialisers_listed_as_inputs_are_weights():
    model = make_model([node("Add", ["x", "w"], ["y"])], {"x": ("float32", [2, 3])}, ["y"],
                       {"w": X})  # fmt: skip
    model.graph.input.insert(0, helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3]))
    imported = check(model, {"x": X})
    assert [port.name for port in imported.inputs] == ["x"]


def test_input_straight_to_output_and_a_value_twice():
    nodes = [node("Relu", ["x"], ["h"]), node("Identity", ["h"], ["a"]),
             node("Identity", ["h"], ["b"]), node("Identity", ["x"], ["c"])]  # fmt: skip
    imported = from_onnx(make_model(nodes, {"x": ("float32", [2, 3])}, ["a", "b", "c"]))
    returned = imported.mod["main"].body.body
    assert returned.fields[0].same_as(returned.fields[1])
    assert returned.fields[2].same_as(imported.mod["main"].params[0])
    first, second, third = run(imported, {"x": X})
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(third, X)


def test_output_that_is_a_constant():
    model = make_model([node("Shape", ["x"], ["s"]), node("Relu", ["x"], ["y"])],
                       {"x": ("float32", [2, 3])}, ["s", "y"])  # fmt: skip
    assert run(from_onnx(model), {"x": X})[0].tolist() == [2, 3]


def test_shape_arithmetic_vanishes():
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Shape", ["h"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "zeros"], ["n1"]),
        node("Concat", ["n1", "rest"], ["shape"], axis=0),
        node("Reshape", ["h", "shape"], ["y"]),
    ]
    weights = {"zero": np.array(0), "zeros": np.array([0]), "rest": np.array([-1, 1])}
    model = make_model(nodes, {"x": ("float32", ["n", 3])}, ["y"], weights)
    imported = from_onnx(model, {"x": (2, 3)})
    assert operators(imported) == {"relax.nn.relu", "relax.reshape"}
    assert imported.outputs[0].shape == (2, 3, 1)
    symbolic = from_onnx(model)
    assert operators(symbolic) == {"relax.nn.relu", "relax.reshape"}
    assert symbolic.outputs[0].shape == ("n", 3, 1)


def test_constants_are_folded_and_dropout_dropped():
    nodes = [
        node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(X)),
        node("Mul", ["c", "w"], ["cw"]),
        node("Dropout", ["x"], ["h"]),
        node("Add", ["h", "cw"], ["y"]),
    ]
    imported = check(make_model(nodes, {"x": ("float32", [2, 3])}, ["y"], {"w": X}), {"x": X})
    assert operators(imported) == {"relax.add"}


def test_large_results_are_not_folded():
    nodes = [node("ConstantOfShape", ["s"], ["big"]), node("Add", ["x", "big"], ["y"])]
    model = make_model(nodes, {"x": ("float32", [1])}, ["y"], {"s": np.array([2000, 2000])})
    assert "relax.full" in operators(from_onnx(model))


def branches(condition: str) -> onnx.ModelProto:
    text = """
        <ir_version: 9, opset_import: ["" : 17]>
        agraph (float[N, 3] x, bool flag) => (float[N, 3] y) <int64[1] two = {2}> {
            size = Shape <start = 0, end = 1> (x)
            known = Equal (size, two)
            y = If (CONDITION) <
                then_branch = yes () => (float[N, 3] a) { a = Relu (x) },
                else_branch = no () => (float[N, 3] b) { b = Neg (x) }
            >
        }"""
    return parser.parse_model(text.replace("CONDITION", condition))


def test_known_condition_takes_its_branch():
    assert operators(from_onnx(branches("known"), {"x": (2, 3)})) == {"relax.nn.relu"}
    assert operators(from_onnx(branches("known"), {"x": (5, 3)})) == {"relax.negative"}


@pytest.mark.parametrize("flag", [False, True])
def test_condition_of_the_run_time_selects(flag):
    imported = from_onnx(branches("flag"), {"x": (2, 3)})
    (result,) = run(imported, {"x": X, "flag": np.array(flag)})
    np.testing.assert_array_equal(result, np.maximum(X, 0) if flag else -X)


def test_branches_of_different_ranks():
    model = branches("flag")
    no = model.graph.node[2].attribute[1].g
    no.node[0].op_type = "ReduceSum"
    no.node[0].attribute.append(helper.make_attribute("keepdims", 0))
    with pytest.raises(UnsupportedError, match="If 'y': 'y' has 2 dims .* 0 in the other"):
        from_onnx(model, {"x": (2, 3)})


def test_local_and_standard_functions_are_inlined():
    text = """
        <ir_version: 9, opset_import: ["" : 18, "local" : 1]>
        agraph (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
            y = local.twice (x)
            z = Celu <alpha = 2.0> (x)
        }
        <opset_import: ["" : 18], domain: "local">
        twice (a) => (b) { b = Add (a, a) }"""
    check(parser.parse_model(text), {"x": X})


def test_half_precision_is_computed_in_single():
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Softmax", ["h"], ["y"])]
    ports = {"x": ("float16", [2, 64])}
    weight = np.random.default_rng(0).standard_normal((64, 3)).astype(np.float16)
    data = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float16)
    imported = check(make_model(nodes, ports, ["y"], {"w": weight}), {"x": data}, 1e-3)
    assert (imported.inputs[0].dtype, imported.outputs[0].dtype) == ("f16", "f16")


def test_half_precision_input_straight_to_output():
    model = make_model([node("Identity", ["x"], ["y"])], {"x": ("float16", [2])}, ["y"])
    imported = from_onnx(model)
    assert imported.mod["main"].body.body.same_as(imported.mod["main"].params[0])


def test_half_precision_of_an_output_without_a_type():
    model = make_model([node("Relu", ["x"], ["y"])], {"x": ("float16", [2])}, ["y"])
    model.graph.output[0].ClearField("type")
    assert from_onnx(model).outputs[0].dtype == "f16"


def two_inputs() -> onnx.ModelProto:
    ports = {"a": ("float32", ["batch", 3]), "b": ("float32", ["batch", "width"])}
    return make_model([node("Concat", ["a", "b"], ["y"], axis=1)], ports, ["y"])


def test_shapes_fix_a_dim_wherever_its_name_stands():
    imported = from_onnx(two_inputs(), {"a": (4, 3)})
    assert [port.shape for port in imported.inputs] == [(4, 3), (4, "width")]
    assert imported.outputs[0].shape == (4, "width + 3")


def test_shapes_name_and_keep_dims():
    imported = from_onnx(two_inputs(), {"a": ("n", None), "b": (-1, 5)})
    assert [port.shape for port in imported.inputs] == [("n", 3), ("n", 5)]
    assert imported.outputs[0].shape == ("n", 8)


def test_unnamed_dims_are_distinct():
    model = two_inputs()
    for port in model.graph.input:
        port.type.tensor_type.shape.dim[0].dim_param = "?"
    imported = from_onnx(model, {"a": (2, 3), "b": (2, 4)})
    assert imported.outputs[0].shape == (2, 7)


@pytest.mark.parametrize(
    ("shapes", "parts"),
    [
        ({"c": (1, 2)}, ["'c' is no input", "'a', 'b'"]),
        ({"a": (1, 2, 3)}, ["'a'", "3 dims given", "2"]),
        ({"a": (1, 7)}, ["'a'", "dim 1 is 3", "not 7"]),
        ({"a": (1, 3), "b": (2, 4)}, ["'b'", "'batch' is 1", "not 2"]),
        ({"a": (-2, 3)}, ["'a'", "dim 0 is -2"]),
    ],
)
def test_shapes_that_do_not_fit(shapes, parts):
    with pytest.raises(InputError) as caught:
        from_onnx(two_inputs(), shapes)
    for part in parts:
        assert part in str(caught.value)


def test_input_without_shape():
    model = two_inputs()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(InputError, match="'a': the model gives no shape"):
        from_onnx(model)
    assert from_onnx(model, {"a": (2, 3), "b": (2, 4)}).outputs[0].shape == (2, 7)


def test_import_is_deterministic():
    scripts = {from_onnx(two_inputs(), {"a": (4, 3)}).mod.script(show_meta=True) for _ in range(3)}
    assert len(scripts) == 1


def test_no_elements():
    nodes = [node("Relu", ["x"], ["h"]), node("Concat", ["h", "w"], ["y"], axis=0)]
    model = make_model(nodes, {"x": ("float32", [0, 3])}, ["y"], {"w": X})
    check(model, {"x": np.zeros((0, 3), np.float32)})


def test_branch_that_could_not_run_is_an_error_when_it_is_taken():
    text = """
        <ir_version: 9, opset_import: ["" : 17]>
        agraph (float[1, 1, 1] x, bool flag) => (float[1, 1, 1, 1] y)
        <float[1, 1, 1] w = {2.0}, float[1, 1, 1] r = {0.5}, int64[1] zero = {0}> {
            rank4 = Unsqueeze (x, zero)
            y = If (flag) <
                then_branch = yes () => (float[1, 1, 1, 1] a) {
                    a = RNN <hidden_size = 1> (rank4, w, r)
                },
                else_branch = no () => (float[1, 1, 1, 1] b) { b = Neg (rank4) }
            >
        }"""
    words = "If 'y': a run that takes its then branch ends with an error .* 4 dims, not 3"
    with pytest.warns(UserWarning, match=words):
        imported = from_onnx(parser.parse_model(text))
    assert {"relax.negative", "relax.logical_not", "relax.call_pure_packed"} < operators(imported)


def test_slice_of_a_symbolic_dim_to_its_end():
    weights = {name: np.array([value]) for name, value in
               [("start", 1), ("end", 2**63 - 1), ("axis", 0)]}  # fmt: skip
    nodes = [node("Slice", ["x", "start", "end", "axis"], ["y"])]
    model = make_model(nodes, {"x": ("float32", ["n", 3])}, ["y"], weights)
    assert from_onnx(model).outputs[0].shape == ("max(n - 1, 0)", 3)


@pytest.mark.parametrize("flag", [False, True])
def test_branches_and_bodies_call_functions_of_the_module(flag):
    """What an operator writes as a tensor expression is a function beside those of Relax."""
    text = """
        <ir_version: 9, opset_import: ["" : 17]>
        agraph (float[5] x, bool flag, int64 n) => (float[5] y, float[M, 1] z) {
            axis = Constant <value_int = 0> ()
            s = CumSum (x, axis)
            y = If (flag) <then_branch = yes () => (t) { t = CumSum (s, axis) },
                           else_branch = no () => (e) { e = CumSum <reverse = 1> (x, axis) }>
            true = Constant <value = bool {1}> ()
            z = Loop (n, true) <body = step (int64 i, bool c) => (bool d, float[1] r) {
                d = Identity (c)
                one = Constant <value_ints = [1]> ()
                shape = Constant <value_ints = [-1]> ()
                first = Reshape (i, shape)
                end = Add (first, one)
                r = Slice (x, first, end)
            }>
        }"""
    x = np.arange(5, dtype=np.float32)
    imported = from_onnx(parser.parse_model(text))
    y, z = run(imported, {"x": x, "flag": np.array(flag), "n": np.array(4)})
    np.testing.assert_array_equal(y, x.cumsum().cumsum() if flag else x[::-1].cumsum()[::-1])
    np.testing.assert_array_equal(z, x[:4, None])


def test_scan_of_opset_8_scans_each_example():
    text = """
        <ir_version: 3, opset_import: ["" : 8]>
        agraph (float[2, 3] start, float[2, 4, 3] x) => (float[2, 3] last, float[2, 4, 3] sums) {
            last, sums = Scan <num_scan_inputs = 1, directions = [1],
                body = step (float[3] s, float[3] r) => (float[3] t, float[3] u) {
                    t = Add (s, r)
                    u = Identity (t)
                }> (, start, x)
        }"""
    rng = np.random.default_rng(0)
    start, x = (rng.random(shape, np.float32) for shape in [(2, 3), (2, 4, 3)])
    imported = from_onnx(parser.parse_model(text))
    last, sums = run(imported, {"start": start, "x": x})
    want = start[:, None] + x[:, ::-1].cumsum(1)
    np.testing.assert_allclose(sums, want, rtol=1e-6)
    np.testing.assert_allclose(last, want[:, -1], rtol=1e-6)


@pytest.mark.parametrize(("op", "known"), [
    ("Slice", {"a": np.array([0, 1]), "b": np.array([1])}),
    ("OneHot", {"d": np.array(5), "v": np.ones(0, np.float32)}),
])  # fmt: skip
def test_operands_that_do_not_fit_are_named_by_their_types(op, known):
    model = make_model(
        [helper.make_node(op, ["x", *known], ["y"], "odd")],
        {"x": ("float32", [2, 3])},
        ["y"],
        known,
    )
    with pytest.raises(
        UnsupportedError, match=rf"^{op} 'odd': .*float32\[2, 3\] and .*;"
    ) as caught:
        from_onnx(model)
    assert "\n" not in str(caught.value)
