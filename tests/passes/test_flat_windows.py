"""WindowsTo2d: what becomes of 1-D and 3-D windows, and that the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from tests.closeness import assert_close
from tvm_megcc.passes import WindowsTo2d

from . import support

nn = relax.op.nn
_WEIGHT = np.random.default_rng(1).standard_normal((6, 2, 1, 3, 2)).astype(np.float32)


def conv3d(depth: int = 1, **options: object):
    weight = relax.const(np.repeat(_WEIGHT, depth, axis=2))
    return lambda x: nn.conv3d(x, weight, groups=2, **options)


FLAT = {
    "conv1d": (lambda x: nn.conv1d(x, relax.const(_WEIGHT[:, :, 0, 0]), 2, (1, 0), groups=2),
               (2, 4, 9), ["expand_dims", "expand_dims", "nn.conv2d", "squeeze"]),
    "max_pool1d": (lambda x: nn.max_pool1d(x, 3, 2, (1, 0)), (2, 4, 9),
                   ["expand_dims", "nn.max_pool2d", "squeeze"]),
    "conv3d, one plane": (conv3d(strides=(1, 2, 1), padding=(0, 2, 1, 0, 1, 0)), (2, 4, 1, 7, 5),
                          ["squeeze", "squeeze", "nn.conv2d", "expand_dims"]),
    "conv3d, planes": (conv3d(dilation=(1, 2, 1)), (2, 4, 3, 7, 5),
                       ["squeeze", "permute_dims", "reshape", "nn.conv2d", "reshape",
                        "permute_dims"]),
    "avg_pool3d, planes": (lambda x: nn.avg_pool3d(x, (1, 3, 2), (1, 2, 2), (0, 1, 1, 0, 1, 0)),
                           (2, 4, 3, 7, 5),
                           ["permute_dims", "reshape", "nn.avg_pool2d", "reshape",
                            "permute_dims"]),
}  # fmt: skip
KEPT = {
    "depth 2": (conv3d(depth=2), (1, 4, 3, 7, 5)),
    "stride in depth": (conv3d(strides=(2, 1, 1)), (1, 4, 3, 7, 5)),
    "padding in depth": (conv3d(padding=(1, 0, 0, 0, 0, 0)), (1, 4, 3, 7, 5)),
    "pool of depth 2": (lambda x: nn.max_pool3d(x, (2, 1, 1)), (1, 4, 3, 7, 5)),
    "channels last": (
        lambda x: nn.max_pool3d(x, (1, 2, 2), layout="NDHWC", out_layout="NDHWC"),
        (1, 3, 7, 5, 4),
    ),
}


@pytest.mark.parametrize("name", sorted(FLAT))
def test_windows_of_one_plane_become_two_dimensional(name: str) -> None:
    body, shape, expected = FLAT[name]
    before = support.build(body, shape)
    after = WindowsTo2d()(before)
    assert support.operators(after) == ["relax." + op for op in expected]
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    (want,), (got,) = support.run(before, x), support.run(after, x)
    assert_close(got, want)


_BIAS = np.arange(6, dtype=np.float32)


def line(x: relax.Expr) -> relax.Expr:
    return nn.conv1d(x, relax.const(_WEIGHT[:, :, 0, 0]), 1, 1, groups=2)


def biased(x: relax.Expr) -> relax.Expr:
    return nn.relu(relax.op.add(relax.const(_BIAS.reshape(1, 6, 1)), line(x)))


def volume(x: relax.Expr) -> relax.Expr:
    scaled = relax.op.multiply(conv3d()(x), relax.const(_BIAS.reshape(6, 1, 1, 1)))
    return relax.op.tanh(relax.op.subtract(scaled, relax.const(1.5, "float32")))


def residual(x: relax.Expr) -> relax.Expr:
    return relax.op.add(nn.relu(line(x)), line(x))


def other(x: relax.Expr) -> relax.Expr:
    return relax.op.add(line(x), relax.op.exp(relax.op.max(x, axis=[1, 2], keepdims=True)))


CONV = ["expand_dims", "expand_dims", "nn.conv2d"]
FOLLOWED = {
    "bias and activation": (biased, (2, 4, 9), [*CONV, "add", "nn.relu", "squeeze"]),
    "normalised planes": (volume, (2, 4, 1, 7, 5), ["squeeze", "squeeze", "nn.conv2d", "multiply",
                                                    "subtract", "tanh", "expand_dims"]),
    "residual": (residual, (2, 4, 9), [*CONV, "nn.relu", *CONV, "add", "squeeze"]),
    "what is no plane": (other, (2, 4, 9), [*CONV, "squeeze", "max", "exp", "add"]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FOLLOWED))
def test_what_follows_element_by_element_is_done_in_the_plane(name: str) -> None:
    body, shape, expected = FOLLOWED[name]
    before = support.build(body, shape)
    after = relax.transform.DeadCodeElimination()(WindowsTo2d()(before))
    assert support.operators(after) == ["relax." + op for op in expected]
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    (want,), (got,) = support.run(before, x), support.run(after, x)
    assert_close(got, want)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_other_windows_stay(name: str) -> None:
    before = support.build(*KEPT[name])
    tvm.ir.assert_structural_equal(WindowsTo2d()(before), before)


def test_planes_of_a_symbolic_depth() -> None:
    d, h = (tirx.Var(name, "int64") for name in "dh")
    before = support.build(conv3d(), (2, 4, d, h, 5))
    after = WindowsTo2d()(before)
    assert "relax.nn.conv2d" in support.operators(after)
    x = np.random.default_rng(2).standard_normal((2, 4, 3, 6, 5)).astype(np.float32)
    (want,), (got,) = support.run(before, x), support.run(after, x)
    assert_close(got, want)
