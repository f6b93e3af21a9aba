"""Conv, ConvTranspose, FusedConv against ONNX Runtime."""

import pytest

from tests.frontend.running import assert_close, by_onnxruntime, run
from tests.ops.cases import Weight, check_node, node_model, rand
from tests.ops.together import Case, Open, check_together
from tvm_megcc.frontend import from_onnx

CONV = {
    "plain": ((1, 3, 7, 8), (4, 3, 3, 3), {}),
    "bias, stride, asymmetric padding": (
        (2, 3, 7, 8), (4, 3, 3, 2), dict(strides=[2, 1], pads=[1, 0, 2, 1], bias=True)),
    "depthwise, dilated": ((1, 4, 9, 9), (4, 1, 3, 3), dict(group=4, dilations=[2, 2])),
    "grouped": ((1, 4, 5, 5), (6, 2, 1, 1), dict(group=2, bias=True)),
    "same upper": ((1, 2, 7, 8), (3, 2, 4, 3), dict(auto_pad="SAME_UPPER", strides=[2, 3])),
    "same lower": ((1, 2, 7, 8), (3, 2, 4, 3), dict(auto_pad="SAME_LOWER", strides=[2, 2])),
    "valid": ((1, 2, 7, 8), (3, 2, 4, 3), dict(auto_pad="VALID")),
    "one dim": ((2, 3, 11), (4, 3, 3), dict(pads=[2, 0], strides=[2], bias=True)),
    "three dims": ((1, 2, 4, 5, 6), (3, 2, 2, 3, 3), dict(pads=[0, 1, 1, 1, 1, 1], bias=True)),
}  # fmt: skip

TRANSPOSE = {
    "interleaved": ((1, 3, 4, 5), (3, 2, 2, 3), dict(strides=[2, 3], bias=True)),
    "stride 1, padded": ((1, 3, 5, 5), (3, 4, 3, 3), dict(pads=[1, 1, 1, 1])),
    "strided": ((2, 3, 4, 5), (3, 2, 3, 3), dict(strides=[2, 2], pads=[1, 0, 1, 1], bias=True)),
    "output padding": (
        (1, 2, 4, 4), (2, 3, 3, 3), dict(strides=[2, 3], pads=[1, 1, 1, 1], output_padding=[1, 2])),
    "grouped, dilated": ((1, 4, 5, 4), (4, 2, 3, 2), dict(group=2, dilations=[2, 1])),
    "output shape": ((1, 2, 4, 4), (2, 2, 3, 3), dict(strides=[2, 2], output_shape=[8, 9])),
    "same upper": ((1, 2, 4, 4), (2, 2, 3, 3), dict(strides=[2, 2], auto_pad="SAME_UPPER")),
    "padded past the kernel": ((1, 1, 6, 6), (1, 1, 2, 2), dict(pads=[2, 2, 2, 2])),
    "overlapping": (
        (2, 3, 4, 5), (3, 2, 4, 6), dict(strides=[2, 3], pads=[1, 0, 1, 2], bias=True)),
    "overlapping, output padding": (
        (1, 2, 4, 3), (2, 3, 4, 4), dict(strides=[2, 2], pads=[0, 1, 1, 2], output_padding=[1, 1])),
    "overlapping, one dim": ((1, 2, 6), (2, 3, 8), dict(strides=[4], pads=[2, 2], bias=True)),
    "overlapping, output shape": (
        (1, 2, 4, 4), (2, 2, 4, 4), dict(strides=[2, 2], output_shape=[9, 8], bias=True)),
    "one dim": ((1, 2, 6), (2, 3, 4), dict(strides=[3], bias=True)),
    "three dims": ((1, 2, 2, 3, 2), (2, 1, 2, 2, 2), dict(strides=[2, 2, 2])),
}  # fmt: skip


@pytest.mark.parametrize("case", CONV)
def test_conv(case):
    data, weight, attrs = CONV[case]
    operands = [rand(*data), Weight(rand(*weight, seed=1))]
    if attrs.get("bias"):
        operands.append(Weight(rand(weight[0], seed=2)))
    check_node("Conv", operands, 11, **{k: v for k, v in attrs.items() if k != "bias"})


@pytest.mark.parametrize("case", TRANSPOSE)
def test_convtranspose(case):
    data, weight, attrs = TRANSPOSE[case]
    operands = [rand(*data), Weight(rand(*weight, seed=1))]
    if attrs.get("bias"):
        operands.append(Weight(rand(weight[1] * attrs.get("group", 1), seed=2)))
    check_node("ConvTranspose", operands, 11, **{k: v for k, v in attrs.items() if k != "bias"})


@pytest.mark.slow
def test_overlapping_convtranspose_of_open_sizes(tmp_path):
    """In one package, also with weights and a bias of the run time."""
    attrs = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    given = [Weight(rand(3, 2, 4, 4, seed=1)), Weight(rand(2, seed=2))]
    computed = [rand(3, 2, 4, 4, seed=1), rand(2, seed=2)]
    image = Open(rand(2, 3, 5, 6), ["n", 3, "h", "w"])
    cases = [Case("ConvTranspose", [image, *rest], attrs, 11) for rest in (given, computed)]
    check_together(cases, tmp_path)


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("more", [{}, {"output_padding": [0, 1]}, {"dilations": [1, 3]}])
def test_a_same_convtranspose_has_input_times_stride_elements(auto, more):
    """ONNX Runtime has fewer where the kernel reaches no further, unless it is told the number."""
    operands = [rand(1, 2, 3, 4), Weight(rand(2, 3, 1, 2, seed=1)), Weight(rand(3, seed=2))]
    attrs = {"auto_pad": auto, "strides": [3, 4], **more}
    model, feeds = node_model("ConvTranspose", operands, 11, **attrs)
    told, _ = node_model("ConvTranspose", operands, 11, output_shape=[9, 16], **attrs)
    found = run(from_onnx(model), feeds)
    assert found[0].shape == (1, 3, 9, 16)
    assert_close(found, by_onnxruntime(told, feeds))


def test_conv_weight_of_the_run_time():
    check_node("Conv", [rand(1, 2, 5, 5), rand(3, 2, 3, 3, seed=1), rand(3, seed=2)], 11)


@pytest.mark.slow
def test_a_kernel_has_weights_of_the_run_time(tmp_path):
    """Every form, in one package, by the kernel that packs them."""
    cases = []
    for name, (data, weight, attrs) in CONV.items():
        if name not in ("one dim", "three dims"):
            bias = [Weight(rand(weight[0], seed=2))] if attrs.get("bias") else []
            rest = {k: v for k, v in attrs.items() if k != "bias"}
            cases.append(Case("Conv", [rand(*data), rand(*weight, seed=1), *bias], rest, 11))
    # StyleGAN: a group for each image of the batch.
    cases.append(Case("Conv", [rand(1, 15, 8, 9), rand(12, 5, 3, 3)], {"group": 3}, 11))
    check_together(cases, tmp_path)
    kernels = {path.name.split("_f32")[0] for path in tmp_path.rglob("src/kernels/**/*.c")}
    assert "megcc_conv2d_computed" in kernels
    assert not any("conv2d" in name and name.startswith("megcc_tir") for name in kernels)


@pytest.mark.parametrize(
    ("activation", "params"),
    [("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4]),
     ("Sigmoid", []), ("Tanh", [])],
)  # fmt: skip
def test_fusedconv(activation, params):
    operands = [rand(1, 2, 5, 5), Weight(rand(3, 2, 3, 3, seed=1)), Weight(rand(3, seed=2))]
    attrs = {"activation_params": params} if params else {}
    check_node("FusedConv", operands, 11, domain="com.microsoft", activation=activation, **attrs)


def test_fusedconv_residual():
    operands = [rand(1, 2, 5, 5), Weight(rand(3, 2, 3, 3, seed=1)), Weight(rand(3, seed=2)),
                rand(1, 3, 3, 3, seed=3)]  # fmt: skip
    check_node("FusedConv", operands, 11, domain="com.microsoft", activation="Relu")
