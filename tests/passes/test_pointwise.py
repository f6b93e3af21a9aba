"""PointwiseProducts: which convolutions become products, and that they compute the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build, operators, run
from tvm_megcc.passes import PointwiseProducts, stages
from tvm_megcc.relax_tools.kernel_calls import kernels_of

op = relax.op
RNG = np.random.default_rng(0)
X = (2, 6, 4, 5)


def weights(*shape: int, axis: int | None = 0, dtype: str = "int8") -> relax.Expr:
    numbers = RNG.integers(0, 100, shape).astype(dtype)
    scales = () if axis is None else (shape[axis],)
    scale, zero = RNG.uniform(0.01, 0.02, scales), RNG.integers(0, 9, scales)
    arrays = (numbers, np.float32(scale), zero.astype(dtype))
    return op.dequantize(*(relax.const(a, str(a.dtype)) for a in arrays), axis=axis or 0)


def conv(w: Callable[[], relax.Expr], **attrs: object) -> Callable[[relax.Expr], relax.Expr]:
    return lambda x: op.nn.conv2d(x, w(), **attrs)


TAKEN = {
    "a scale for each output": conv(lambda: weights(8, 6, 1, 1)),
    "one scale": conv(lambda: weights(8, 6, 1, 1, axis=None, dtype="uint8")),
    "a scale for each input": conv(lambda: weights(8, 6, 1, 1, axis=1)),
}


def shared(x: relax.Expr) -> relax.Expr:
    w = weights(6, 6, 1, 1)
    return op.nn.conv2d(op.nn.conv2d(x, w), w)


LEFT = {
    "three taps": conv(lambda: weights(8, 6, 3, 1)),
    "strides": conv(lambda: weights(8, 6, 1, 1), strides=[1, 2]),
    "padding": conv(lambda: weights(8, 6, 1, 1), padding=[0, 1]),
    "groups": conv(lambda: weights(8, 3, 1, 1), groups=2),
    "weights of two": shared,
    "wider numbers": conv(lambda: weights(8, 6, 1, 1, dtype="int32")),
    "floats": lambda x: op.nn.conv2d(x, relax.const(np.ones((8, 6, 1, 1), np.float32))),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_product_of_pixels(name: str) -> None:
    before = build(TAKEN[name], X)
    after = PointwiseProducts()(before)
    found = operators(after)
    assert found.count("relax.matmul") == 1 and "relax.nn.conv2d" not in found
    x = RNG.standard_normal(X).astype(np.float32)
    (want,), (got,) = run(before, x), run(after, x)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", LEFT)
def test_other_convolutions_stay(name: str) -> None:
    assert "relax.matmul" not in operators(PointwiseProducts()(build(LEFT[name], X)))


def test_nothing_is_moved_around_it() -> None:
    """Between convolutions it is one call, with what follows it."""

    def body(x: relax.Expr) -> relax.Expr:
        kernel = relax.const(RNG.standard_normal((6, 6, 3, 3)).astype("float32"))
        bias = relax.const(np.ones((1, 6, 1, 1), np.float32))
        first = op.nn.conv2d(x, kernel, padding=1)
        mid = op.nn.relu(op.add(op.add(op.nn.conv2d(first, weights(6, 6, 1, 1)), bias), first))
        return op.nn.conv2d(mid, kernel, padding=1)

    mod = build(body, (1, 6, 4, 5))
    for name, stage in stages("arm64").items():
        mod = stage(mod)
        if name == "materialise":
            templates = [kernel.template for kernel in kernels_of(mod).values()]
    assert sorted({t.partition("_f32")[0] for t in templates}) == [
        "conv2d_nhwc", "matmul_wq", "transpose_simd",
    ]  # fmt: skip
    calls = [kernel for kernel in kernels_of(mod).values() if kernel.template == "matmul_wq_f32"]
    assert [("RESIDUAL", "1") in k.defines and ("BIAS", "1") in k.defines for k in calls] == [True]
