"""Elementwise operators, activations and reductions against ONNX Runtime."""

import numpy as np
import pytest

from tests.ops.cases import Weight, check_node, node_model, rand
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.frontend import from_onnx

FLOATS = [rand(2, 3, 4), rand(3, 1, seed=1)]
WHOLE = [rand(2, 3, dtype="int32"), rand(2, 3, seed=1, dtype="int32") * 2 + 1]


@pytest.mark.parametrize(
    "op", ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean", "Less", "Greater",
           "LessOrEqual", "GreaterOrEqual", "Equal"]
)  # fmt: skip
def test_two_floats(op):
    data = [abs(FLOATS[0]), FLOATS[1]] if op == "Pow" else FLOATS
    check_node(op, data)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Equal", "Less", "Max"])
def test_two_integers(op):
    check_node(op, WHOLE)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_two_booleans(op):
    check_node(op, [rand(3, 4, dtype="bool"), rand(4, seed=1, dtype="bool")])


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_any_number_of_operands(op):
    check_node(op, [rand(2, 3)])
    check_node(op, [rand(2, 3), rand(1, 3, seed=1), rand(2, 1, seed=2)])


@pytest.mark.parametrize("op", ["Add", "Mul", "Div", "Equal"])
def test_scalars_of_i64_keep_their_type(op):
    check_node(op, [rand(2, 3, dtype="int64"), Weight(7, "int64")])


@pytest.mark.parametrize("divisor", [4.0, -0.5, 3.0])
def test_div_by_constant(divisor):
    check_node("Div", [rand(2, 3), Weight(divisor, "float32")])


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 0.5, -1.5])
def test_pow_by_constant(exponent):
    check_node("Pow", [abs(rand(2, 3)), Weight(exponent, "float32")])


@pytest.mark.parametrize("kinds", [("float32", "int64"), ("int32", "float32"), ("int64", "int64")])
def test_pow_of_mixed_types(kinds):
    base = abs(rand(2, 3, dtype=kinds[0])) + 1
    exponent = np.array([[0, 1, 3], [2, 4, 1]]).astype(kinds[1])
    check_node("Pow", [base, exponent], 15)


@pytest.mark.parametrize(
    ("low", "high"),
    [(-0.5, 0.5), (None, 0.5), (-0.5, None), (0.0, None), (None, None), (0.5, -0.5)],
)
@pytest.mark.parametrize("kind", ["known", "run time"])
def test_clip(low, high, kind):
    wrap = Weight if kind == "known" else np.asarray
    bounds = [None if b is None else wrap(b, "float32") for b in (low, high)]
    while bounds and bounds[-1] is None:
        bounds.pop()
    check_node("Clip", [rand(3, 4), *bounds], 13)


def test_clip_opset_6():
    check_node("Clip", [rand(3, 4)], 6, min=0.0, max=0.7)


def test_clip_integers():
    check_node("Clip", [rand(3, 4, dtype="int32"), Weight(-5, "int32"), Weight(9, "int32")], 13)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [("HardSigmoid", {}), ("HardSigmoid", dict(alpha=0.3, beta=0.4)), ("HardSwish", {}),
     ("Elu", dict(alpha=1.5)), ("Elu", {}), ("LeakyRelu", dict(alpha=0.2)),
     ("LeakyRelu", dict(alpha=1.5)), ("LeakyRelu", dict(alpha=-0.1)), ("Softsign", {})],
)  # fmt: skip
def test_activation(op, attrs):
    check_node(op, [rand(3, 5) * 3], 16, **attrs)


@pytest.mark.parametrize("slope", [(3, 1, 1), (1,), (1, 1, 1), (2, 3, 4, 5), (5,), (3, 4, 1)])
def test_prelu(slope):
    check_node("PRelu", [rand(2, 3, 4, 5), Weight(rand(*slope, seed=1))], 16)


@pytest.mark.parametrize("opset", [9, 13])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax(op, axis, opset):
    check_node(op, [rand(2, 3, 4)], opset, axis=axis % 3 if opset < 11 else axis)


REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"]  # fmt: skip


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduction_with_attribute(op):
    check_node(op, [abs(rand(2, 3, 4))], 11, axes=[0, -1], keepdims=0)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduction_with_operand(op):
    check_node(op, [abs(rand(2, 3, 4)), Weight([1], "int64")], 18)


@pytest.mark.parametrize("noop", [0, 1])
def test_reduction_without_axes(noop):
    check_node("ReduceSum", [rand(2, 3)], 18, noop_with_empty_axes=noop)
    check_node("ReduceMax", [rand(2, 3)], 11)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("axis", [-1, 1])
def test_layernormalization(axis, outputs):
    shape = (4,) if axis == -1 else (3, 4)
    weights = [Weight(rand(*shape, seed=1)), Weight(rand(*shape, seed=2))]
    check_node("LayerNormalization", [rand(2, 3, 4), *weights], 17, outputs=outputs, axis=axis)


def test_layernormalization_without_bias():
    check_node("LayerNormalization", [rand(2, 3, 4), Weight(rand(4, seed=1))], 17)


def test_batchnormalization():
    stats = [Weight(rand(3, seed=i)) for i in range(3)] + [Weight(abs(rand(3, seed=3)))]
    check_node("BatchNormalization", [rand(2, 3, 4, 5), *stats], 15, epsilon=1e-3)


def test_batchnormalization_of_one_axis():
    """It has one channel then, as ONNX says."""
    operands = [rand(5), *(Weight(np.array([v], np.float32)) for v in (2, 1, 0.5, 3))]
    check_node("BatchNormalization", operands, 15)
    model, _ = node_model("BatchNormalization", [rand(5), *[rand(5)] * 4], 15)
    with pytest.raises(UnsupportedError, match="the one channel"):
        from_onnx(model)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("flags", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm(flags, known):
    lhs = rand(2, 3) if not flags[0] else rand(3, 2)
    rhs = rand(3, 4, seed=1) if not flags[1] else rand(4, 3, seed=1)
    wrap = Weight if known else np.asarray
    operands = [lhs, wrap(rhs), wrap(rand(4, seed=2))]
    check_node("Gemm", operands, 13, alpha=0.5, beta=2.0, transA=flags[0], transB=flags[1])


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("b h i d, b h j d -> b h i j", [(2, 3, 4, 5), (2, 3, 6, 5)]),
     ("bhij,bhjd->bihd", [(2, 3, 4, 5), (2, 3, 5, 6)]), ("ij,jk", [(2, 3), (3, 4)]),
     ("i,j->ij", [(3,), (4,)]), ("ij->ji", [(2, 3)]), ("abc,cd,d->ab", [(2, 3, 4), (4, 5), (5,)]),
     ("ijk,ik->j", [(2, 3, 4), (2, 4)]),
     # One of a letter's dims is 1.
     ("ij,jk->ik", [(2, 1), (3, 4)]), ("ij,j->i", [(2, 3), (1,)]), ("ii,i->i", [(3, 3), (1,)]),
     ("ij,ij,jk->ik", [(2, 1), (1, 3), (3, 2)]),
     # An implied output begins with the axes of the ellipses.
     ("...ij,...jk", [(2, 3, 4), (2, 4, 5)]), ("...ii", [(2, 3, 3)]),
     ("b...,...a", [(3, 2), (2, 4)])],
)  # fmt: skip
def test_einsum(equation, shapes):
    operands = [rand(*shape, seed=i) for i, shape in enumerate(shapes)]
    check_node("Einsum", operands, 13, equation=equation)
