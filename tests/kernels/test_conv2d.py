"""Which kernel serves a convolution; what the kernels compute is in cases/conv2d.py."""

from __future__ import annotations

import pytest
from cases import conv2d

from tvm_megcc.kernels import registry

_IMAGE = {"h": 14, "w": 14, "pt": 1, "pl": 1, "pb": 1, "pr": 1}
_POINT = {"h": 7, "w": 7, "kh": 1, "kw": 1}


def _chosen(arch: str, **row: int) -> str:
    return registry.select("conv2d", arch, {"dtype": "f32", **conv2d.facts(row)}).stem


@pytest.mark.parametrize("arch", registry.ARCHITECTURES)
def test_conv2d_selection(arch: str) -> None:
    gemm = "conv2d_nhwc_f32_gemm" + ("_x86" if arch == "x86" else "")
    assert _chosen(arch, ic=3, oc=32, **_IMAGE) == gemm
    assert _chosen(arch, ic=320, oc=1280, **_POINT) == gemm
    assert _chosen(arch, ic=32, oc=32, g=4, **_IMAGE) == gemm
    assert _chosen(arch, ic=32, oc=32, g=32, **_IMAGE) == "dwconv2d_nhwc_f32_3x3"
    assert _chosen(arch, ic=32, oc=32, g=32, kh=5, kw=5, sh=2, sw=2, **_IMAGE).endswith("5x5")
    assert _chosen(arch, ic=32, oc=32, g=32, dh=2, dw=2, **_IMAGE) == "dwconv2d_nhwc_f32"
    assert _chosen(arch, ic=32, oc=32, g=32, sw=3, **_IMAGE) == "dwconv2d_nhwc_f32"
    assert _chosen(arch, ic=6, oc=4, g=2, **_IMAGE) == "conv2d_nhwc_f32_ref"


def test_conv2d_instances_are_shared_by_shapes() -> None:
    """Sizes are read at run time: only what changes inner loops makes another instance."""
    a = {"dtype": "f32", **conv2d.facts({"ic": 16, "oc": 24, **_IMAGE})}
    b = {"dtype": "f32", **conv2d.facts({"ic": 96, "oc": 32, "dh": 2, "sw": 2, **_POINT})}
    kernel = registry.select("conv2d", "arm64", a)
    assert kernel.instance(a) == kernel.instance(b)
    assert kernel.instance(a) != kernel.instance({**a, "act": 1})


def test_conv2d_workspace_covers_the_patches() -> None:
    """An image of few channels copies border pixels; many channels need only the table."""
    kernel = next(k for k in registry.kernels() if k.stem == "conv2d_nhwc_f32_gemm")
    few = {"dtype": "f32", **conv2d.facts({"ic": 3, "oc": 8, **_IMAGE})}
    many = {"dtype": "f32", **conv2d.facts({"ic": 64, "oc": 8, **_IMAGE})}
    table = 96 * 9 * 8
    assert kernel.workspace(few) == table + 3 * 3 * 4 + 96 * 27 * 4
    assert kernel.workspace(many) == table + 64 * 3 * 4
