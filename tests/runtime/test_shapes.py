"""Shapes that change in the C VM: the API, allocators that fail, forged images, poison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm_megcc import package, toolchain

from . import changing
from .test_runtime import HOST, compile_and_run


def test_api_and_failing_allocators(tmp_path: Path) -> None:
    compile_and_run("test_shapes.c", [changing.write(tmp_path / "changing")], tmp_path)


@pytest.mark.parametrize("flags", [(), ("-DMEGCC_DEBUG",)], ids=["release", "poison"])
def test_outputs_of_any_size(tmp_path: Path, flags: tuple[str, ...]) -> None:
    where = changing.write(tmp_path / "changing")
    exe = toolchain.build(where, HOST, build_dir=tmp_path / "b", sanitize=True, extra_cflags=flags)
    manifest = package.load(where).manifest
    assert manifest["outputs"][2]["shape"] == ["3*m"]
    rng = np.random.default_rng(0)
    for n in (0, 1, 3, 8):
        for shift in (-9, 0, 9):  # none, some and all are positive
            x = (rng.standard_normal((n, 4)) + shift).astype("float32")
            b = rng.standard_normal(n).astype("float32")
            found = toolchain.run_package(exe, HOST, {"x": x, "b": b}, manifest).outputs
            for name, want in changing.expected(x, b).items():
                np.testing.assert_allclose(found[name], want, rtol=1e-5)
