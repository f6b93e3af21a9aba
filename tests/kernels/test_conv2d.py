"""Which kernel serves a convolution; what the kernels compute is in cases/conv2d.py."""

from __future__ import annotations

import pytest
from cases import conv2d

from tvm_megcc.core.machine import ARCHITECTURES
from tvm_megcc.kernels import constants, registry
from tvm_megcc.kernels.contract import contract

_IMAGE = {"h": 14, "w": 14, "pt": 1, "pl": 1, "pb": 1, "pr": 1}
_POINT = {"h": 7, "w": 7, "kh": 1, "kw": 1}


def _facts(**row: int) -> dict[str, object]:
    return {**dict.fromkeys(contract("conv2d").variables, "f32"), **conv2d.facts(row)}


def _chosen(arch: str, **row: int) -> str:
    return registry.select("conv2d", arch, _facts(**row)).stem


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_conv2d_selection(arch: str) -> None:
    gemm = "conv2d_nhwc_f32_gemm" + ("_x86" if arch == "x86" else "")
    assert _chosen(arch, ic=3, oc=32, **_IMAGE) == gemm
    assert _chosen(arch, ic=320, oc=1280, **_POINT) == gemm
    assert _chosen(arch, ic=32, oc=32, g=4, **_IMAGE) == gemm.replace("_x86", "_few_x86")
    assert _chosen(arch, ic=32, oc=32, g=32, **_IMAGE) == "dwconv2d_nhwc_f32_3x3"
    assert _chosen(arch, ic=32, oc=32, g=32, kh=5, kw=5, sh=2, sw=2, **_IMAGE).endswith("5x5")
    assert _chosen(arch, ic=32, oc=32, g=32, dh=2, dw=2, **_IMAGE).endswith("3x3")
    assert _chosen(arch, ic=32, oc=32, g=32, sh=2, sw=2, dw=2, **_IMAGE) == "dwconv2d_nhwc_f32"
    assert _chosen(arch, ic=32, oc=32, g=32, sw=3, **_IMAGE) == "dwconv2d_nhwc_f32"
    assert _chosen(arch, ic=32, oc=32, g=32, kh=5, kw=7, **_IMAGE) == "dwconv2d_nhwc_f32_w7"
    assert _chosen(arch, ic=32, oc=32, g=32, kh=7, kw=7, sw=2, **_IMAGE) == "dwconv2d_nhwc_f32"
    assert _chosen(arch, ic=6, oc=4, g=2, **_IMAGE) == "conv2d_nhwc_f32_ref"


def test_conv2d_instances_are_shared_by_shapes() -> None:
    """Sizes are read at run time: only what changes inner loops makes another instance."""
    a = _facts(ic=16, oc=24, **_IMAGE)
    b = _facts(ic=96, oc=32, dh=2, sw=2, **_POINT)
    kernel = registry.select("conv2d", "arm64", a)
    assert kernel.instance(a) == kernel.instance(b)
    assert kernel.instance(a) != kernel.instance({**a, "act": 1})


def test_conv2d_workspace_is_what_a_block_needs() -> None:
    """A table for the pixels there are, and patches for border pixels of few channels."""
    kernel = next(k for k in registry.kernels() if k.stem == "conv2d_nhwc_f32_gemm")
    sizes = constants.of_text(kernel.sources())
    entry, block, few = (
        sizes[name] for name in ("MEGCC_GEMM_ENTRY", "MEGCC_GEMM_BLOCK", "MEGCC_CONV_FEW")
    )

    def workspace(**row: int) -> int:
        return kernel.workspace(_facts(oc=8, **row))

    # A block of pixels of rows of 14 touches so many rows, which have two border pixels each.
    rows = (block - 2) // 14 + 2
    assert workspace(ic=3, **_IMAGE) == block * 3 * entry + 3 * 3 * 4 + 2 * rows * 27 * 4
    assert workspace(ic=few + 1, **_IMAGE) == block * 9 * entry + 4 * (few + 1)
    assert workspace(ic=64, **{**_IMAGE, "h": 2, "w": 3}) == 6 * 9 * entry + 64 * 4
    # A spectrum: one long kernel row and no padding.
    assert workspace(ic=1, h=1, w=1024, kh=1, kw=256, sw=128) == 7 * entry + 256 * 4
