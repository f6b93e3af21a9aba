"""Where code counts, calls whose activations are bounds share an instance of a kernel."""

from __future__ import annotations

import struct

import numpy as np
from tvm import relax

from tests.passes.support import build
from tvm_megcc.core.preference import Preference
from tvm_megcc.kernels.contract import contract
from tvm_megcc.passes import MaterialiseKernels
from tvm_megcc.relax_tools.kernel_calls import kernel_call_of, kernels_of
from tvm_megcc.relax_tools.shape_exprs import symbols_of

op = relax.op


def conv(x: relax.Expr) -> relax.Expr:
    weight = np.random.default_rng(0).standard_normal((8, 1, 1, 8)).astype("float32")
    layout = {"data_layout": "NHWC", "kernel_layout": "OHWI"}
    return op.nn.conv2d(x, relax.const(weight), **layout)


def calls(body, optimize: str) -> list[tuple[str, tuple[float, float]]]:
    """Of each convolution: the end of its symbol, and the bounds that it passes."""
    after = MaterialiseKernels("arm64", Preference(optimize))(build(body, (1, 4, 4, 8)))
    known = kernels_of(after)
    at = contract("conv2d").attributes.index("act_a")
    found = []
    for block in after["main"].body.blocks:
        for binding in block.bindings:
            call = kernel_call_of(binding.value, symbols_of(after["main"]))
            if call is not None and call.symbol in known:
                bits = struct.pack("<2i", *(int(a) for a in call.attrs[at : at + 2]))
                found.append((call.symbol.partition("gemm_")[2], struct.unpack("<2f", bits)))
    return found


def bounded(x: relax.Expr) -> relax.Expr:
    return op.clip(conv(op.nn.relu(conv(conv(x)))), 0, 6)


def test_bounds_become_one_instance() -> None:
    inf = float("inf")
    assert calls(bounded, "size") == [
        ("act2_residual0", (-inf, inf)), ("act2_residual0", (0, inf)), ("act2_residual0", (0, 6)),
    ]  # fmt: skip


def test_speed_keeps_what_each_call_wants() -> None:
    assert [name for name, _ in calls(bounded, "balanced")] == [
        "act0_residual0", "act1_residual0", "act2_residual0",
    ]  # fmt: skip


def test_one_activation_stays_what_it_is() -> None:
    found = calls(lambda x: op.nn.relu(conv(op.sigmoid(conv(op.nn.relu(conv(x)))))), "size")
    assert [name for name, _ in found] == ["act1_residual0", "act3_residual0", "act1_residual0"]
