"""Modules that call functions of the user's: in a package, in a library, and with none there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
n = TypeVar("n")


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 3), "float32"), w: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.call_dps_packed("scale_rows", (a, w, 4), out_ty=R.Tensor((n, 3), "float32"))
            y = R.add(b, a)
            R.output(y)
        return y
"""

SOURCE = """
#include "net.h"

void scale_rows(const megcc_extern_tensor_t *tensor, const int32_t *attr) {
  const float *x = tensor[0].data, *w = tensor[1].data;
  float *y = tensor[2].data;
  for (int32_t i = 0; i < tensor[2].dims[0]; ++i)
    for (int32_t k = 0; k < tensor[2].dims[1]; ++k, ++x, ++y) *y = *x * w[k] * (float)attr[0];
}
"""

X = np.float32([[1, -2, 3], [4, 5, -6]])


@pytest.fixture
def net(tmp_path: Path) -> list[object]:
    """The arguments that name the model and its weights; its C file is beside it."""
    (tmp_path / "net.py").write_text(SCRIPT)
    (tmp_path / "scale.c").write_text(SOURCE)
    np.savez(tmp_path / "w.npz", w=np.float32([1, 2, 3]))
    np.savez(tmp_path / "x.npz", x=X)
    return [tmp_path / "net.py", "--params", tmp_path / "w.npz", "--quiet"]


def check(tvmc: Callable, folder: Path, out: Path) -> None:
    ran = tvmc("run", out, "--inputs", folder / "x.npz", "--outputs", folder / "y.npz")
    assert ran.status == 0, ran.err
    a = np.maximum(X, 0)
    np.testing.assert_array_equal(np.load(folder / "y.npz")["output"], a * [4, 8, 12] + a)


@pytest.mark.slow
def test_package_with_its_function(tvmc: Callable, net: list, tmp_path: Path) -> None:
    out = tmp_path / "pkg"
    assert tvmc("compile", *net, "-o", out, "--extern", tmp_path / "scale.c").status == 0
    declared = (out / "include" / "net.h").read_text()
    assert "//   (f32[n, 3], f32[3]) -> (f32[n, 3]), integers: 1\nvoid scale_rows(" in declared
    check(tvmc, tmp_path, out)


@pytest.mark.slow
def test_library_with_its_function(tvmc: Callable, net: list, tmp_path: Path) -> None:
    out = tmp_path / "net.so"
    assert tvmc("compile", *net, "-o", out, "--extern", tmp_path / "scale.c").status == 0
    check(tvmc, tmp_path, out)


@pytest.mark.slow
def test_function_that_nobody_defines(tvmc: Callable, net: list, tmp_path: Path) -> None:
    said = "tvmc: the model calls scale_rows, which nobody defines; give the C file with --extern"
    assert tvmc("compile", *net, "-o", tmp_path / "net.so").sentence().startswith(said)
    assert tvmc("compile", *net, "-o", tmp_path / "pkg").status == 0
    assert tvmc("run", tmp_path / "pkg", "--shapes", "x:[2,3]").sentence().startswith(said)
    (tmp_path / "pkg" / "src" / "scale.c").write_text(SOURCE)  # as a user of the package would
    check(tvmc, tmp_path, tmp_path / "pkg")


def test_sources_that_cannot_be(tvmc: Callable, net: list, model: Path, tmp_path: Path) -> None:
    out = ["-o", tmp_path / "pkg", "--extern"]
    (tmp_path / "megcc_mine.c").write_text(SOURCE)
    for name, words in (
        ("none.c", "cannot be read"),
        ("net.py", "are C, in .c files"),
        ("megcc_mine.c", "the package has another file src/megcc_mine.c; rename yours"),
    ):
        assert words in tvmc("compile", *net, *out, tmp_path / name).sentence()
    said = tvmc("compile", model, *out, tmp_path / "scale.c").sentence()
    assert "the model calls no function of yours" in said
