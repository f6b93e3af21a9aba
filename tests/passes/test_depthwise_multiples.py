"""DepthwiseMultiples: several outputs a channel, their bias, and what stays one convolution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import DepthwiseMultiples, stages

op, nn = relax.op, relax.op.nn
IMAGE = (2, 4, 9, 8)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def convolution(
    multiple: int, kernel: tuple[int, int] = (3, 3), **attrs: object
) -> Callable[[relax.Expr], relax.Expr]:
    weights = relax.const(floats(4 * multiple, 1, *kernel))
    return lambda x: nn.conv2d(x, weights, groups=4, **attrs)


#: Name -> outputs of a channel, dims of the kernel, what the call says.
FORMS: dict[str, tuple[int, tuple[int, int], dict[str, object]]] = {
    "two": (2, (3, 3), {}),
    "three, in steps": (3, (5, 3), {"strides": [2, 1], "padding": [2, 1, 2, 1]}),
    "eight, dilated": (8, (3, 2), {"dilation": [2, 3], "padding": 3}),
    "one tap": (2, (1, 1), {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_they_compute_the_same(name: str, biased: bool) -> None:
    multiple, kernel, attrs = FORMS[name]
    made = convolution(multiple, kernel, **attrs)
    bias = relax.const(floats(1, 4 * multiple, 1, 1, seed=3))
    before = build(lambda x: op.add(made(x), bias) if biased else made(x), IMAGE)
    after = DepthwiseMultiples()(before)
    assert operators(after).count("relax.nn.conv2d") == multiple
    assert operators(after).count("relax.add") == multiple * biased
    x = floats(*IMAGE, seed=7)
    for got, want in zip(run(after, x), run(before, x), strict=True):
        assert_close(got, want, 1e-5)


LEFT: dict[str, tuple[Callable[[relax.Expr], relax.Expr], tuple[int, ...]]] = {
    "one output a channel": (convolution(1), IMAGE),
    "nine outputs a channel": (convolution(9), IMAGE),
    "three channels": (
        lambda x: nn.conv2d(x, relax.const(floats(6, 1, 3, 3)), groups=3), (2, 3, 9, 8)),
    "two channels a group": (
        lambda x: nn.conv2d(x, relax.const(floats(8, 2, 3, 3)), groups=2), IMAGE),
    "no groups": (lambda x: nn.conv2d(x, relax.const(floats(8, 4, 3, 3))), IMAGE),
    "channels last": (
        lambda x: nn.conv2d(x, relax.const(floats(8, 1, 3, 3)), groups=4, data_layout="NHWC"),
        (2, 9, 8, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_one_convolution(name: str) -> None:
    body, shape = LEFT[name]
    assert operators(DepthwiseMultiples()(build(body, shape))).count("relax.nn.conv2d") == 1


def test_another_summand_stays() -> None:
    """One for each pixel is none of the parts'."""
    made = convolution(2)
    image = relax.const(floats(1, 8, 7, 6))
    after = DepthwiseMultiples()(build(lambda x: op.add(made(x), image), IMAGE))
    assert operators(after)[-1] == "relax.add"


def test_what_follows_is_done_before_they_are_interleaved() -> None:
    """Otherwise an image of bytes is interleaved as one of 32 bits."""
    made = convolution(2)
    scales = relax.const(floats(1, 8, 1, 1, seed=4))
    step, zero = relax.const(np.float32(0.25)), relax.const(np.int8(3))

    def body(x: relax.Expr) -> relax.Expr:
        scaled = op.clip(op.multiply(scales, nn.relu(made(x))), -5, 5)
        return op.quantize(scaled, step, zero, axis=0)

    before = build(body, IMAGE)
    after = DepthwiseMultiples()(before)
    assert operators(after)[-4:] == [
        "relax.concat", "relax.reshape", "relax.permute_dims", "relax.reshape"]  # fmt: skip
    assert operators(after).count("relax.quantize") == 2
    x = floats(*IMAGE, seed=7)
    (got,), (want,) = run(after, x), run(before, x)
    assert got.dtype == want.dtype == np.int8
    assert np.abs(got.astype(int) - want.astype(int)).max() <= 1


def test_a_value_that_is_used_twice_is_computed_once() -> None:
    made = convolution(2)

    def body(x: relax.Expr) -> relax.Expr:
        value = relax.BlockBuilder.current().emit(made(x))
        return op.add(nn.relu(value), value)

    assert operators(DepthwiseMultiples()(build(body, IMAGE))).count("relax.nn.relu") == 1


def test_depthwise_kernels_serve_them() -> None:
    mod = build(convolution(2, (7, 7), padding=3), (1, 4, 16, 16))
    for name in ("canonicalise", "layout"):
        mod = stages("arm64")[name](mod)
    matches = find_matches(mod["main"], "arm64").values()
    kernels = [m.kernels[0].stem for m in matches if m.request.op == "conv2d"]
    assert len(kernels) == 2
    assert all(name.startswith("dwconv2d") for name in kernels)
