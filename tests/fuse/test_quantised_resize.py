"""Linear resizing of quantised tensors: which of it one kernel call takes, and what it is told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build
from tests.passes.test_quantised import held, quantize
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.kernels.contract import codes
from tvm_megcc.ops.common.resample import Axis, Options, taps

op = relax.op
SHAPE = (2, 6, 8, 5)
COORDINATES = ("half_pixel", "asymmetric", "align_corners")
EVEN, CUT = (codes("qresize2d")[name] for name in ("EVEN", "CUT"))


def resized(
    x: relax.Expr, size: tuple[int, int] = (12, 16), coordinates: str = "half_pixel", **more: str
) -> relax.Expr:
    attrs = {"layout": "NHWC", "method": "linear", **more}
    return op.image.resize2d(x, size, coordinate_transformation_mode=coordinates, **attrs)


def found(body: Callable[..., relax.Expr], shape: tuple[int, ...] = SHAPE) -> list[dict]:
    """The facts of the calls of qresize2d that a function becomes."""
    matches = find_matches(build(body, shape)["main"], "portable").values()
    return [dict(m.request.facts) for m in matches if m.request.op == "qresize2d"]


#: Name -> function, some facts of the call.
TAKEN: dict[str, tuple[Callable[..., relax.Expr], dict[str, object]]] = {
    "quantised again": (
        lambda x: quantize(resized(held(x, 0.5)), 0.25, 1),
        {"round": EVEN, "sixteenths": 1, "oh": 12, "ow": 16, "c": 5, "x_zero": 3, "y_zero": 1,
         "scale": 2.0, "low": -128, "high": 127},
    ),
    "relu": (lambda x: quantize(op.nn.relu(resized(held(x)))), {"low": 3, "scale": 1.0}),
    "to the other type": (
        lambda x: quantize(resized(held(x, dtype="uint8")), 0.3, 9),
        {"X": "u8", "Y": "i8", "y_zero": 9},
    ),
    "of integers": (
        lambda x: resized(quantize(x, dtype="uint8")),
        {"round": CUT, "scale": 1.0, "x_zero": 0, "y_zero": 0, "low": 0, "high": 255},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_one_kernel_takes_it(name: str) -> None:
    body, facts = TAKEN[name]
    (call,) = found(body)
    assert {fact: call[fact] for fact in facts} == facts


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_weights_that_are_sixteenths_are_known(coordinates: str) -> None:
    """Wherever the rule says so; and for the factors by which networks resize."""
    known = set()
    for size in (1, 2, 3, 4, 5, 8, 9, 16, 17):
        for out in (1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 24, 32, 33, 64, 65, 80, 144):
            if coordinates == "align_corners" and out == 1:
                continue  # TVM divides by zero
            shape = (1, size, 4, 3)
            body = lambda x, o=out: quantize(resized(held(x), (o, 4), coordinates))  # noqa: E731
            (call,) = found(body, shape)
            options = Options("linear", coordinates, "floor")
            _, weights = taps(Axis(size, out, float(np.float32(out) / np.float32(size))), options)
            if call["sixteenths"]:
                assert (weights * 16 == np.rint(weights * 16)).all(), (size, out)
                known.add((size, out))
    grown = {"half_pixel": (4, 32), "asymmetric": (4, 64), "align_corners": (5, 65)}[coordinates]
    assert {(4, 4), grown} <= known


LEFT: dict[str, Callable[..., relax.Expr]] = {
    "not quantised again": lambda x: resized(held(x)),
    "of floats": lambda x: quantize(resized(x)),
    "cubes": lambda x: quantize(resized(held(x), method="cubic")),
    "channels first": lambda x: quantize(resized(held(x), layout="NCHW")),
    "more between": lambda x: quantize(op.exp(resized(held(x)))),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_no_kernel_takes(name: str) -> None:
    assert found(LEFT[name]) == []
