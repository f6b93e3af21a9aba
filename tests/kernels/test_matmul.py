"""Which kernel serves a product; what the kernels compute is in cases/matmul.py."""

from __future__ import annotations

import pytest
from cases import matmul

from tvm_megcc.kernels import registry


def _facts(**row: int) -> dict[str, object]:
    return {"dtype": "f32", **matmul.facts({"m": 5, "n": 40, "k": 9, **row})}


@pytest.mark.parametrize("arch", registry.ARCHITECTURES)
def test_matmul_selection(arch: str) -> None:
    packed = "matmul_f32_packed" + ("_x86" if arch == "x86" else "")
    chosen = [registry.select("matmul", arch, _facts(rhs_const=const)).stem for const in (0, 1)]
    assert chosen == ["matmul_f32_dynamic", packed]


def test_matmul_one_row_is_split_by_columns() -> None:
    kernel = registry.select("matmul", "arm64", _facts(m=1, rhs_const=1))
    assert kernel.work(_facts(m=1, rhs_const=1)) == 5
    assert kernel.work(_facts(m=7, rhs_const=1)) == 7
    assert kernel.work(_facts(b=3, m=7, rhs_const=1)) == 21
