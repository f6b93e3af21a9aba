"""Which convolutions of a module get Winograd's transforms, by what the user prefers."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import build
from tvm_megcc.core.preference import Preference, Spending
from tvm_megcc.passes import MaterialiseKernels
from tvm_megcc.relax_tools.kernel_calls import kernels_of, spending_of

op = relax.op
LARGE, SMALL = (1, 64, 64, 32), (1, 7, 7, 64)

CONV = "conv2d_nhwc_f32_"


def conv(x: relax.Expr, ic: int, oc: int, size: int = 3) -> relax.Expr:
    weight = np.random.default_rng(oc).standard_normal((oc, size, size, ic)).astype("float32")
    layout = {"data_layout": "NHWC", "kernel_layout": "OHWI"}
    return op.nn.conv2d(x, relax.const(weight), padding=size // 2, **layout)


def chosen(
    mod: tvm.IRModule, *preference: object, prefix: str = CONV, arch: str = "arm64"
) -> tuple[list[str], Spending]:
    """The convolutions' kernels in order, without what all names begin with; what was spent."""
    after = MaterialiseKernels(arch, Preference(*preference))(mod)
    known = kernels_of(after)
    names = [
        str(binding.value.args[0].global_symbol)
        for block in after["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call) and len(binding.value.args) > 1
    ]
    spending = spending_of(after)
    assert spending is not None and spending.preference == Preference(*preference)
    templates = [known[n].template for n in names]
    return [t.removeprefix(prefix) for t in templates if t.startswith(prefix)], spending


def two(x: relax.Expr) -> relax.Expr:
    """A convolution that gains by transforms, then one of more weights that needs more memory."""
    return op.mean(conv(conv(x, 32, 16), 16, 64, 5), [1, 2])


def test_modes_spend_as_they_say() -> None:
    mod = build(two, LARGE)
    assert chosen(mod, "speed")[0] == ["winograd6", "gemm"]
    found, spent = chosen(mod, "balanced")
    assert found == ["winograd2", "gemm"]
    assert 0 < spent.spent_bytes <= spent.allowed_bytes == spent.weight_bytes // 4
    assert spent.calls == 1 and spent.instructions < spent.instructions_before
    found, spent = chosen(mod, "size")
    assert found == ["gemm", "gemm"]
    assert (spent.spent_bytes, spent.allowed_bytes) == (0, 0)
    assert spent.instructions == spent.instructions_before


@pytest.mark.parametrize("optimize", ["speed", "balanced", "size"])
def test_exact_keeps_direct_forms(optimize: str) -> None:
    assert chosen(build(two, LARGE), optimize, True)[0] == ["gemm", "gemm"]


def test_the_budget_is_of_the_whole_module() -> None:
    """Weights that have nothing to do with convolutions count, equal ones once."""

    def with_dense(x: relax.Expr) -> relax.Expr:
        dense = relax.const(np.ones((64, 4096), "float32"))
        return op.matmul(two(x), dense)

    found, spent = chosen(build(with_dense, LARGE), "balanced")
    assert found == ["winograd6", "gemm"]
    assert spent.weight_bytes == 4 * (9 * 32 * 16 + 25 * 16 * 64 + 64 * 4096)


def test_equal_weights_are_spent_on_once() -> None:
    """The same convolution twice."""
    weight = conv(relax.Var("x", relax.TensorType(LARGE, "float32")), 32, 32).args[1]
    layout = {"data_layout": "NHWC", "kernel_layout": "OHWI", "padding": 1}

    def twice(x: relax.Expr) -> relax.Expr:
        return op.nn.conv2d(op.nn.conv2d(x, weight, **layout), weight, **layout)

    found, spent = chosen(build(twice, LARGE), "speed")
    assert found == ["winograd6", "winograd6"]
    assert spent.spent_bytes == 4 * 32 * 32 * (64 - 9)


def test_where_a_transform_does_not_pay() -> None:
    """One pixel, a stride, a dilation."""
    layout = {"data_layout": "NHWC", "kernel_layout": "OHWI"}

    def one(ic: int, oc: int, **more: object):
        weight = relax.const(np.ones((oc, 3, 3, ic), "float32"))
        return lambda x: op.nn.conv2d(x, weight, **layout, **more)

    for body, shape in [
        (one(64, 64, padding=1), (1, 1, 1, 64)),
        (one(32, 32, strides=2), LARGE),
        (one(32, 32, dilation=2), LARGE),
    ]:
        assert chosen(build(body, shape), "speed")[0] == ["gemm"], shape


def test_a_workspace_may_not_raise_what_a_model_needs() -> None:
    """Small tensors and many channels: the transformed tiles would be most of the memory."""
    mod = build(lambda x: conv(conv(x, 64, 64), 64, 64), SMALL)
    assert chosen(mod, "speed")[0] == ["winograd4", "winograd4"]
    assert chosen(mod, "balanced")[0] == ["gemm", "gemm"]


def test_open_dims_count_with_their_usual_sizes() -> None:
    height, width = (tvm.tirx.Var(name, "int64") for name in ("height", "width"))
    mod = build(lambda x: conv(x, 32, 32), (1, height, width, 32))
    found, spent = chosen(mod, "speed")
    assert found == ["winograd6"] and spent.instructions < spent.instructions_before
    assert chosen(mod, "speed", True)[0] == ["gemm"]


WIDE = (1, 14, 14, 256)


def wide(x: relax.Expr) -> relax.Expr:
    """A convolution of one tap, and as large a product."""
    weight = np.random.default_rng(1).standard_normal((256, 256)).astype("float32")
    return op.matmul(conv(x, 256, 256, 1), relax.const(weight))


def test_strassen_for_speed_only() -> None:
    """Not even where the budget would allow it; not with ``--exact``."""
    dense = np.ones((256, 4096), "float32")
    mod = build(lambda x: op.matmul(op.mean(wide(x), [1, 2]), relax.const(dense)), WIDE)
    for preference, form, product in [
        (("speed",), "strassen", "strassen"),
        (("speed", True), "gemm", "packed"),
        (("balanced",), "gemm", "packed"),
        (("size",), "gemm", "packed"),
    ]:
        found, spent = chosen(mod, *preference)
        assert (found, spent.calls) == ([form], 2), preference
        assert chosen(mod, *preference, prefix="matmul_f32_")[0][0] == product, preference
        assert spent.spent_bytes == (form == "strassen") * 4 * 2 * 256 * 256 * 3 // 4


@pytest.mark.parametrize(("pixels", "ic", "oc"), [(1, 1024, 1024), (3136, 32, 64), (196, 48, 512)])
def test_where_strassen_does_not_pay(pixels: int, ic: int, oc: int) -> None:
    """One pixel, few channels, channels that do not split."""
    mod = build(lambda x: conv(x, ic, oc, 1), (1, pixels, 1, ic))
    assert chosen(mod, "speed")[0] == ["gemm"]


@pytest.mark.parametrize(
    ("optimize", "pixels", "form"),
    [
        ("speed", 3136, "packed_rows_armv7"),
        ("balanced", 3136, "packed_rows_armv7"),
        ("size", 3136, "gemm"),  # a kernel less in the package
        ("speed", 1, "gemm"),
    ],
)
def test_armv7_copies_the_pixels_of_a_tile(optimize: str, pixels: int, form: str) -> None:
    """A kernel that is for some modes only is never what the others begin with."""
    mod = build(lambda x: conv(conv(x, 24, 96, 1), 96, 24, 1), (1, pixels, 1, 24))
    assert chosen(mod, optimize, arch="armv7")[0] == [form, form]


@pytest.mark.parametrize("optimize", ["speed", "balanced", "size"])
def test_no_workspace_raises_the_arena_of_a_cortex_m(optimize: str) -> None:
    """Winograd's and Strassen's workspaces, of small tensors and of large ones."""

    def kernels(mod: tvm.IRModule, arch: str) -> list[str]:
        products, _ = chosen(mod, optimize, arch=arch, prefix="matmul_f32_")
        return chosen(mod, optimize, arch=arch)[0] + products

    small = build(lambda x: conv(conv(x, 64, 64), 64, 64), SMALL)
    assert kernels(small, "cortexm+dsp") == ["gemm", "gemm"]
    assert kernels(build(wide, WIDE), "cortexm+dsp") == ["gemm", "packed"]
    # The second convolution needs more than the first one with its transforms.
    free = build(two, LARGE)
    assert kernels(free, "cortexm+dsp") == kernels(free, "arm64")
