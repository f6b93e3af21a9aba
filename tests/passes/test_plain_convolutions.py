"""PlainConvolutions: every form of a transposed convolution, and what joins it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import PlainConvolutions, stages

op, nn = relax.op, relax.op.nn
IMAGE = (2, 4, 5, 6)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def number(value: float, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.asarray(value, dtype))


def of_bytes(*shape: int, axis: int | None = 1) -> relax.Expr:
    values = np.random.default_rng(1).integers(-127, 128, shape).astype(np.int8)
    count = () if axis is None else (shape[axis],)
    scales = np.random.default_rng(2).uniform(0.01, 0.02, count).astype(np.float32)
    zero = number(0, "int8")
    return op.dequantize(relax.const(values), relax.const(scales), zero, axis=axis or 0)


#: Name -> shape of the weights, what the call says.
FORMS: dict[str, tuple[tuple[int, ...], dict[str, object]]] = {
    "one step": ((4, 3, 3, 3), {}),
    "padded": ((4, 3, 3, 2), {"padding": [1, 0, 1, 1]}),
    "padded by more than the kernel": ((4, 3, 2, 2), {"padding": [2, 1, 3, 2]}),
    "spread": ((4, 3, 3, 3), {"strides": [2, 3], "padding": 1}),
    "larger": ((4, 3, 3, 3), {"strides": 2, "padding": [0, 1, 1, 0], "output_padding": 1}),
    "dilated": ((4, 3, 2, 3), {"strides": 2, "dilation": [2, 3]}),
    "gaps": ((4, 3, 2, 1), {"strides": 3}),
    "groups": ((4, 3, 3, 3), {"strides": 2, "groups": 2}),
    "depthwise": ((4, 1, 2, 2), {"strides": 2, "groups": 4}),
    "tiles": ((4, 3, 2, 3), {"strides": [2, 3]}),
    "tiles of one": ((4, 3, 1, 1), {}),
    "tiles that are padded": ((4, 3, 2, 2), {"strides": 2, "padding": 1}),
    "tiles that overlap": ((4, 3, 4, 6), {"strides": 2, "padding": [1, 2, 1, 2]}),
    "overlapping, larger": (
        (4, 3, 4, 6),
        {"strides": [2, 3], "padding": [0, 1, 1, 2], "output_padding": [1, 2]},
    ),
    "overlapping, one dim in steps of one": ((4, 3, 3, 4), {"strides": [1, 2]}),
    "larger than the kernel reaches": ((4, 3, 4, 4), {"strides": 2, "output_padding": 1}),
}


#: What zeros are put into: kernels that are no multiple of the stride, dilated ones, groups.
SPREAD = (
    "spread", "larger", "dilated", "gaps", "groups", "depthwise", "larger than the kernel reaches",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_they_compute_the_same(name: str) -> None:
    shape, attrs = FORMS[name]
    w, channels = relax.const(floats(*shape)), shape[1] * int(str(attrs.get("groups", 1)))
    bias = relax.const(floats(1, channels, 1, 1, seed=3))
    before = build(lambda x: op.add(nn.conv2d_transpose(x, w, **attrs), bias), IMAGE)
    after = PlainConvolutions()(before)
    assert relax.analysis.check_well_formed(after)
    found = operators(after)
    assert found.count("relax.nn.conv2d") == 1 and "relax.nn.conv2d_transpose" not in found
    assert ("relax.nn.pad" in found) == (name in SPREAD)
    x = floats(*IMAGE, seed=7)
    for want, got in zip(run(before, x), run(after, x), strict=True):
        assert_close(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 3])
def test_of_other_ranks(rank: int) -> None:
    w = relax.const(floats(4, 3, *[3] * rank))
    function = getattr(nn, f"conv{rank}d_transpose")
    before = build(lambda x: function(x, w, strides=2, padding=1), (2, 4, *[5] * rank))
    after = PlainConvolutions()(before)
    assert f"relax.nn.conv{rank}d" in operators(after)
    x = floats(2, 4, *[5] * rank)
    for want, got in zip(run(before, x), run(after, x), strict=True):
        assert_close(got, want)


@pytest.mark.slow
@pytest.mark.parametrize(("strides", "axis"), [(1, 1), (2, None), (3, 1)])
def test_quantised_ones_compute_in_8_bits(strides: int, axis: int | None) -> None:
    """The spread input is bytes, zeros of which are the zero point; the bias joins the sums."""
    step, zero = number(0.05), number(-3, "int8")

    def body(x: relax.Expr) -> relax.Expr:
        w = of_bytes(4, 3, 2, 2, axis=axis)
        steps = np.broadcast_to(w.args[1].value.numpy() * np.float32(0.05), 3)
        added = relax.const(np.array([500, -700, 30], np.int32)), relax.const(steps.copy())
        bias = op.reshape(op.dequantize(*added, number(0, "int32"), axis=0), (1, 3, 1, 1))
        data = op.dequantize(op.quantize(x, step, zero), step, zero)
        y = op.add(nn.conv2d_transpose(data, w, strides=strides), bias)
        return op.quantize(y, number(0.1), number(5, "int8"))

    before = build(body, IMAGE)
    after = before
    for name in ("canonicalise", "layout"):
        after = stages("portable")[name](after)
    matches = find_matches(after["main"], "portable").values()
    (facts,) = [m.request.facts for m in matches if m.request.op == "qconv2d"]
    assert facts["out"] == 2 and not facts["offset"]  # 8 bits; the bias is one of integers
    x = floats(*IMAGE, seed=7)
    for want, got in zip(run(before, x), run(after, x), strict=True):
        assert np.abs(want.astype(int) - got).max() <= 1


LEFT: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "weights that are computed": lambda x: nn.conv2d_transpose(x, op.permute_dims(x, [1, 0, 2, 3])),
    "scales of its own inputs": lambda x: nn.conv2d_transpose(x, of_bytes(4, 3, 2, 2, axis=0)),
    "channels last": lambda x: nn.conv2d_transpose(
        x, relax.const(floats(6, 3, 2, 2)), data_layout="NHWC"
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_others_stay(name: str) -> None:
    mod = build(LEFT[name], IMAGE)
    assert "relax.nn.conv2d" not in operators(PlainConvolutions()(mod))
