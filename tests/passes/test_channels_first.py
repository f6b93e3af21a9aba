"""ChannelsFirst: later passes make of a model in other layouts what they make of one in NCHW.

Each network is built channels first, as ONNX models are, and in the layouts of other importers.
The stages make the same module of both, so the test holds for every pass and matcher that reads the
name of a layout, and for those to come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import ChannelsFirst, stages

op, nn = relax.op, relax.op.nn
PERMUTE = "relax.permute_dims"


@dataclass(frozen=True, slots=True)
class Form:
    """Layouts of data and weights; networks are given numbers as ONNX has them."""

    data: str
    kernel: str

    @property
    def canonical(self) -> str:
        return "NC" + "".join(c for c in "DHW" if c in self.data)

    def entered(self, x: relax.Expr) -> relax.Expr:
        """The network's input, which is channels last, in this form."""
        last = self.canonical.replace("C", "") + "C"
        return _permuted(x, [last.index(c) for c in self.data])

    def left(self, y: relax.Expr) -> relax.Expr:
        last = self.canonical.replace("C", "") + "C"
        return _permuted(y, [self.data.index(c) for c in last])

    def weights(self, array: np.ndarray, given: str) -> np.ndarray:
        """Of the layout `given`, in that of this form."""
        return np.ascontiguousarray(array.transpose([given.index(c) for c in self.kernel]))

    def channels(self, array: np.ndarray) -> relax.Expr:
        """A vector as importers let it broadcast along the channels."""
        if self.data.endswith("C"):
            return relax.const(array)
        return relax.const(array.reshape([-1 if c == "C" else 1 for c in self.data]))

    def axis(self, letter: str) -> int:
        return self.data.index(letter)


def _permuted(x: relax.Expr, axes: list[int]) -> relax.Expr:
    return x if axes == sorted(axes) else op.permute_dims(x, axes)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def number(value: float, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.asarray(value, dtype))


def quantised(x: relax.Expr, step: float, zero: int, form: Form) -> relax.Expr:
    axis = form.data.index("C")
    return op.quantize(x, number(step), number(zero, "int32"), axis=axis, out_dtype="int8")


def real(x: relax.Expr, step: float, zero: int, form: Form) -> relax.Expr:
    return op.dequantize(x, number(step), number(zero, "int32"), axis=form.data.index("C"))


def of_bytes(form: Form, given: str, shape: Sequence[int]) -> relax.Expr:
    """Weights of 8 bits with a scale for each output channel."""
    values = np.random.default_rng(1).integers(-127, 128, shape).astype(np.int8)
    scales = np.random.default_rng(2).uniform(0.01, 0.02, shape[0]).astype(np.float32)
    axis = form.kernel.index("O")
    return op.dequantize(
        relax.const(form.weights(values, given)), relax.const(scales), number(0, "int32"), axis=axis
    )


def conv(function: Callable[..., relax.Expr], x: relax.Expr, w: relax.Expr, form: Form,
         **more: object) -> relax.Expr:  # fmt: skip
    return function(x, w, data_layout=form.data, kernel_layout=form.kernel, **more)


def integers(groups: int) -> Callable[[relax.Expr, Form], relax.Expr]:
    """A convolution, its bias and its activation as TFLite has them: `IntegerForm`."""

    def body(x: relax.Expr, form: Form) -> relax.Expr:
        shape = (6 if groups == 6 else 8, 6 // groups, 3, 3)
        w = of_bytes(form, "OIHW", shape)
        steps = w.args[1].value.numpy() * np.float32(0.05)
        counts = np.arange(-3, shape[0] - 3, dtype=np.int32)
        bias = op.dequantize(relax.const(counts), relax.const(steps), number(0, "int32"), axis=0)
        if form.data == "NCHW":
            bias = op.reshape(bias, (1, shape[0], 1, 1))
        y = conv(nn.conv2d, real(quantised(x, 0.05, -3, form), 0.05, -3, form), w, form, padding=1,
                 groups=groups)  # fmt: skip
        return op.clip(quantised(op.add(y, bias), 0.1, -8, form), -8, 100)

    return body


def normalised(x: relax.Expr, form: Form) -> relax.Expr:
    """Normalisation before and behind, which go into the weights: `FoldScaleShift`."""
    of_input = op.add(op.multiply(x, form.channels(floats(6, seed=3))), form.channels(floats(6)))
    w = relax.const(form.weights(floats(8, 6, 3, 3), "OIHW"))
    statistics = [relax.const(np.abs(floats(8, seed=k)) + 1) for k in range(4)]
    y = conv(nn.conv2d, of_input, w, form)
    y = nn.batch_norm(nn.relu(y), *statistics, axis=form.axis("C"))[0]
    w = relax.const(form.weights(floats(8, 8, 1, 1), "OIHW"))
    return op.multiply(conv(nn.conv2d, y, w, form), form.channels(floats(8, seed=5)))


def pointwise(x: relax.Expr, form: Form) -> relax.Expr:
    """Floats by weights of bytes, of one tap: `PointwiseProducts`."""
    y = conv(nn.conv2d, x, of_bytes(form, "OIHW", (8, 6, 1, 1)), form)
    return nn.relu(op.add(y, form.channels(floats(8))))


def lines(x: relax.Expr, form: Form) -> relax.Expr:
    """One dimension: `WindowsTo2d`."""
    y = conv(nn.conv1d, x, relax.const(form.weights(floats(8, 6, 3), "OIW")), form, padding=1)
    y = nn.relu(op.add(y, form.channels(floats(8))))
    y = nn.max_pool1d(y, 2, 2, layout=form.data)
    return nn.avg_pool1d(y, 2, 1, layout=form.data)


def volumes(x: relax.Expr, form: Form) -> relax.Expr:
    """Windows of one plane, and of several."""
    y = conv(nn.conv3d, x, relax.const(form.weights(floats(4, 6, 1, 3, 3), "OIDHW")), form)
    y = nn.avg_pool3d(y, (1, 2, 2), layout=form.data)
    return conv(nn.conv3d, y, relax.const(form.weights(floats(4, 4, 2, 1, 1), "OIDHW")), form)


def pooled(x: relax.Expr, form: Form) -> relax.Expr:
    """`ChannelsLast`, and matchers of pooling and resizing."""
    y = nn.max_pool2d(x, (2, 3), (1, 2), (0, 1, 1, 0), layout=form.data)
    y = op.image.resize2d(nn.avg_pool2d(y, 2, 1, layout=form.data), (6, 7), layout=form.data)
    y = op.concat([y, nn.relu(y)], axis=form.axis("C"))
    return nn.adaptive_avg_pool2d(y, 1, layout=form.data)


def moved(x: relax.Expr, form: Form) -> relax.Expr:
    """What moves bytes: `QuantisedMoves`."""
    y = nn.max_pool2d(real(quantised(x, 0.05, -3, form), 0.05, -3, form), 2, layout=form.data)
    y = op.image.resize2d(y, (8, 9), layout=form.data, method="nearest_neighbor",
                          coordinate_transformation_mode="asymmetric",
                          rounding_method="floor")  # fmt: skip
    return quantised(y, 0.05, -3, form)


def upwards(x: relax.Expr, form: Form) -> relax.Expr:
    w = relax.const(form.weights(floats(6, 4, 3, 3), "IOHW"))
    y = conv(nn.conv2d_transpose, x, w, form, strides=2, output_padding=1)
    return nn.relu(op.add(y, form.channels(floats(4))))


LINE, IMAGE, VOLUME = (2, 9, 6), (2, 7, 8, 6), (1, 3, 5, 6, 6)
FIRST = {3: Form("NCW", "OIW"), 4: Form("NCHW", "OIHW"), 5: Form("NCDHW", "OIDHW")}
UPWARDS = Form("NCHW", "IOHW")

#: Network, shape of its input, its forms besides those of ONNX.
ROWS: dict[str, tuple[Callable[[relax.Expr, Form], relax.Expr], tuple[int, ...], list[str]]] = {
    "integers": (integers(1), IMAGE, ["NHWC HWIO", "NHWC OHWI", "NHWC OIHW"]),
    "integers_groups": (integers(2), IMAGE, ["NHWC HWIO", "NHWC OHWI"]),
    "integers_depthwise": (integers(6), IMAGE, ["NHWC HWOI", "NHWC HWIO"]),
    "normalised": (normalised, IMAGE, ["NHWC HWIO", "NHWC HWOI", "NCHW HWIO", "CHWN IHWO"]),
    "pointwise": (pointwise, IMAGE, ["NHWC HWIO", "NHWC HWOI", "NHWC OHWI"]),
    "lines": (lines, LINE, ["NWC WIO", "NWC OWI"]),
    "volumes": (volumes, VOLUME, ["NDHWC DHWIO", "NDHWC OIDHW"]),
    "pooled": (pooled, IMAGE, ["NHWC HWIO"]),
    "moved": (moved, IMAGE, ["NHWC HWIO"]),
    "upwards": (upwards, IMAGE, ["NHWC IOHW", "NHWC HWIO", "NHWC HWOI"]),
}
CASES = [(name, form) for name, row in ROWS.items() for form in row[2]]


def network(name: str, form: Form) -> tvm.IRModule:
    body, shape, _ = ROWS[name]
    return build(lambda x: form.left(body(form.entered(x), form)), shape)


def first(name: str) -> Form:
    return UPWARDS if name == "upwards" else FIRST[len(ROWS[name][1])]


def laid_out(mod: tvm.IRModule) -> tvm.IRModule:
    """As the stages leave it in which layouts are looked at."""
    for name in ("canonicalise", "layout"):
        mod = stages("cortexm+dsp")[name](mod)
    return mod


@pytest.mark.parametrize(("name", "layouts"), CASES)
def test_passes_make_the_same_of_every_layout(name: str, layouts: str) -> None:
    other = laid_out(network(name, Form(*layouts.split())))
    one = laid_out(network(name, first(name)))
    kernels = [
        sorted(match.request.op for match in find_matches(mod["main"], "cortexm+dsp").values())
        for mod in (one, other)
    ]
    assert kernels[0] == kernels[1]
    assert operators(other).count(PERMUTE) == operators(one).count(PERMUTE)
    tvm.ir.assert_structural_equal(other["main"], one["main"])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*ROWS} - {"upwards", "integers_groups", "moved"}))
def test_it_computes_the_same(name: str) -> None:
    """As TVM's own code for these layouts, which there is for all but transposed convolutions."""
    before = network(name, Form(*ROWS[name][2][0].split()))
    after = ChannelsFirst()(before)
    assert relax.analysis.check_well_formed(after)
    x = floats(*ROWS[name][1], seed=7)
    for want, got in zip(run(before, x), run(after, x), strict=True):
        assert_close(got, want)


@pytest.mark.parametrize("name", ROWS)
def test_models_of_onnx_stay(name: str) -> None:
    before = network(name, first(name))
    assert ChannelsFirst()(before).same_as(before)


def test_layouts_of_blocks_stay() -> None:
    w = relax.const(floats(2, 2, 3, 3, 4, 4))
    before = build(
        lambda x: nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o"), (1, 2, 6, 6, 4)
    )
    tvm.ir.assert_structural_equal(ChannelsFirst()(before), before)
