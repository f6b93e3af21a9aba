"""ChannelsLast: NHWC convolutions, and transposes that move down and cancel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax, tirx

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.passes import ChannelsLast

RNG = np.random.default_rng(0)
PERMUTE = "relax.permute_dims"


def _const(*shape: int) -> relax.Expr:
    return relax.const(RNG.standard_normal(shape).astype("float32"))


def _conv(x: relax.Expr, cin: int, cout: int) -> relax.Expr:
    return relax.op.nn.conv2d(x, _const(cout, cin, 3, 3), padding=1)


def _check(body: Callable[..., relax.Expr], transposes: int, *shapes: tuple[int, ...]) -> None:
    before = build(body, *shapes)
    after = ChannelsLast()(before)
    assert relax.analysis.check_well_formed(after)
    assert operators(after).count(PERMUTE) == transposes, after.script(show_meta=False)
    inputs = [RNG.standard_normal(s).astype("float32") for s in shapes]
    for a, b in zip(run(before, *inputs), run(after, *inputs), strict=True):
        assert_close(b, a)


SHAPE = (1, 3, 6, 8)
CHAINS: dict[str, tuple[Callable[[relax.Expr], relax.Expr], int]] = {
    "relu": (relax.op.nn.relu, 2),
    "bias": (lambda y: relax.op.add(y, _const(1, 4, 1, 1)), 2),
    "bias_of_lower_rank": (lambda y: relax.op.add(y, _const(4, 1, 1)), 2),
    "scalar": (lambda y: relax.op.multiply(y, relax.const(2.0)), 2),
    "self": (lambda y: relax.op.multiply(y, relax.op.sigmoid(y)), 2),
    "max_pool": (lambda y: relax.op.nn.max_pool2d(y, [2, 2], [2, 2]), 2),
    "avg_pool": (lambda y: relax.op.nn.avg_pool2d(y, [2, 2], [1, 1], [1, 1, 1, 1]), 2),
    "resize": (lambda y: relax.op.image.resize2d(y, (12, 16), layout="NCHW"), 2),
    "mean_keep": (lambda y: relax.op.mean(y, axis=[2, 3], keepdims=True), 2),
    "mean_drop": (lambda y: relax.op.mean(y, axis=[2, 3]), 1),
    "mean_channels": (lambda y: relax.op.mean(y, axis=[1]), 1),
    "argmax_channels": (lambda y: relax.op.argmax(relax.op.round(y), axis=1), 1),
    "argmax_negative_axis_keep": (lambda y: relax.op.argmax(y, axis=-1, keepdims=True), 2),
    "argmin_rows": (lambda y: relax.op.argmin(relax.op.round(y), axis=2), 2),
    "argmax_all": (relax.op.argmax, 2),
    "divide_by_maximum": (lambda y: relax.op.divide(y, relax.op.max(y)), 2),
    "scale_of_all": (lambda y: relax.op.multiply(relax.op.max(y), relax.op.min(y)), 1),
    "scalar_quantised": (lambda y: relax.op.dequantize(
        relax.op.quantize(relax.op.max(y), relax.const(0.5), relax.const(3, "int8")),
        relax.const(0.5), relax.const(3, "int8")), 1),
    "softmax_channels": (lambda y: relax.op.nn.softmax(y, axis=1), 2),
    "prelu": (lambda y: relax.op.nn.prelu(y, _const(4), axis=1), 2),
    "pad": (lambda y: relax.op.nn.pad(y, [0, 0, 0, 1, 1, 2, 3, 0]), 2),
    "slice": (lambda y: relax.op.strided_slice(y, [1, 3], [1, 0], [3, 8], [1, 2]), 2),
    "split": (lambda y: relax.op.split(y, 2, axis=1)[1], 2),
    "reshape": (lambda y: relax.op.reshape(y, (4, 48)), 2),
    "reshape_all": (lambda y: relax.op.reshape(y, (192,)), 2),
    "reshape_spatial": (lambda y: relax.op.reshape(y, (1, 4, 48)), 2),
    "reshape_spatial_transposed": (
        lambda y: relax.op.permute_dims(relax.op.reshape(y, (1, 4, 48)), [0, 2, 1]), 1,
    ),
    "squeeze": (lambda y: relax.op.squeeze(y, axis=[0]), 2),
    "expand": (lambda y: relax.op.expand_dims(y, axis=[2, 5]), 2),
    "shuffle": (
        lambda y: relax.op.reshape(
            relax.op.permute_dims(relax.op.reshape(y, (1, 2, 2, 6, 8)), [0, 2, 1, 3, 4]),
            (1, 4, 6, 8),
        ), 3,
    ),
    "own_transpose": (lambda y: relax.op.permute_dims(y, [0, 2, 3, 1]), 1),
    "own_transpose_reshape": (
        lambda y: relax.op.reshape(relax.op.permute_dims(y, [0, 2, 3, 1]), (1, 96, 2)), 1,
    ),
    "flip": (lambda y: relax.op.flip(y, axis=2), 2),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_channels_last_after_conv(name: str) -> None:
    tail, transposes = CHAINS[name]
    _check(lambda x: tail(_conv(x, 3, 4)), transposes, SHAPE)


@pytest.mark.slow
def test_channels_last_between_convs_moves_nothing() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = relax.op.nn.relu(_conv(x, 3, 4))
        z = relax.op.concat([y, _conv(y, 4, 5)], axis=1)
        return _conv(relax.op.add(z, relax.op.sigmoid(z)), 9, 2)

    _check(body, 2, SHAPE)


def test_channels_last_gate_of_another_order() -> None:
    def body(x: relax.Expr, gate: relax.Expr) -> relax.Expr:
        return _conv(relax.op.multiply(_conv(x, 3, 4), gate), 4, 4)

    _check(body, 3, SHAPE, (1, 4, 1, 1))


def test_channels_last_without_spatial_operators_is_identity() -> None:
    _check(lambda x: relax.op.nn.relu(x), 0, SHAPE)


def test_channels_last_result_used_twice_is_transposed_once() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = _conv(x, 3, 4)
        return relax.Tuple([relax.op.flip(y, axis=2), relax.op.flip(y, axis=3)])

    _check(body, 2, SHAPE)


def test_pixels_of_open_sizes_stay_where_they_are() -> None:
    """A deconvolution by products: two rows and columns of every pixel, of sizes that may be 0."""
    height, width = (tirx.Var(name, "int64") for name in ("height", "width"))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([1, 3, 4 * height, width], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = _conv(x, 3, 8)
            split = relax.ShapeExpr([1, 2, 2, 2, 4 * height, width])
            moved = relax.op.permute_dims(relax.op.reshape(y, split), [0, 1, 4, 2, 5, 3])
            whole = relax.op.reshape(moved, relax.ShapeExpr([1, 2, 8 * height, 2 * width]))
            result = builder.emit_output(relax.op.nn.relu(_conv(whole, 2, 2)))
        builder.emit_func_output(result)
    after = ChannelsLast()(builder.get())
    permuted = [b.value for b in after["main"].body.blocks[0].bindings]
    ranks = [v.ty.ndim for v in permuted if isinstance(v, relax.Call) and v.op.name == PERMUTE]
    assert ranks == [4, 6, 4], after.script(show_meta=False)  # in, the pixels, out


def test_a_size_that_is_checked_stays_between_the_transposes() -> None:
    height = tirx.Var("height", "int64")
    x = relax.Var("x", relax.TensorType((1, 3, height, 8), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(_conv(x, 3, 4))
            checked = builder.match_cast(y, relax.TensorType((1, 4, 6, 8), "float32"))
            out = builder.emit_output(relax.op.nn.relu(checked))
        builder.emit_func_output(out)
    after = ChannelsLast()(builder.get())
    assert relax.analysis.check_well_formed(after)
    assert operators(after).count(PERMUTE) == 2
    data = RNG.standard_normal(SHAPE).astype("float32")
    (want,), (found,) = run(builder.get(), data), run(after, data)
    assert_close(found, want)


#: Forms of NHWC convolutions that importers make: the weights' shape, their layout, groups.
NHWC = {
    "tflite": ((3, 3, 6, 4), "HWIO", 1),
    "tflite_groups": ((3, 3, 2, 9), "HWIO", 3),
    "tflite_depthwise": ((3, 3, 12, 1), "HWOI", 6),
    "torch_weights": ((4, 6, 3, 3), "OIHW", 1),
    "ours": ((4, 3, 3, 6), "OHWI", 1),
}


def _channels_last_conv(form: str) -> Callable[[relax.Expr], relax.Expr]:
    shape, layout, groups = NHWC[form]
    weight = _const(*shape)
    return lambda x: relax.op.nn.conv2d(
        x, weight, strides=(2, 1), padding=1, groups=groups, data_layout="NHWC",
        kernel_layout=layout,
    )  # fmt: skip


@pytest.mark.parametrize("form", NHWC)
def test_channels_last_takes_any_layout_of_weights(form: str) -> None:
    """Kernels read OHWI: constant weights are turned here, the image not at all."""
    before = build(_channels_last_conv(form), (1, 5, 7, 6))
    after = ChannelsLast()(before)
    assert operators(after) == ["relax.nn.conv2d"]
    old, new = (mod["main"].body.blocks[0].bindings[0].value for mod in (before, after))
    assert str(new.attrs.kernel_layout) == "OHWI"
    assert int(new.attrs.groups) == NHWC[form][2]
    order = ["OHWI".index(letter) for letter in NHWC[form][1]]
    weights = new.args[1].value.numpy().transpose(order)
    np.testing.assert_array_equal(weights, old.args[1].value.numpy())
