"""Which kernel serves a product; what the kernels compute is in cases/matmul.py."""

from __future__ import annotations

import pytest
from cases import matmul

from tvm_megcc.core.machine import ARCHITECTURES
from tvm_megcc.dims import symbol
from tvm_megcc.kernels import constants, registry
from tvm_megcc.kernels.contract import contract


def _facts(**row: int) -> dict[str, object]:
    types = dict.fromkeys(contract("matmul").variables, "f32")
    return {**types, **matmul.facts({"m": 5, "n": 40, "k": 9, **row})}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_matmul_selection(arch: str) -> None:
    own = "_x86" if arch == "x86" else ""
    for const, stem in ((1, f"matmul_f32_packed{own}"), (0, f"matmul_f32_dynamic{own}")):
        for trans in (0, 1):
            facts = _facts(rhs_const=const, trans_b=trans)
            assert registry.select("matmul", arch, facts).stem == stem


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_row_known_to_be_one_has_a_kernel_of_its_own(arch: str) -> None:
    facts = {**_facts(m=1, rhs_const=1), "m": symbol("m", 1, 100)}
    own = "_x86" if arch == "x86" else ""
    assert registry.select("matmul", arch, _facts(m=1, rhs_const=1)).stem == f"matmul_f32_row{own}"
    assert registry.select("matmul", arch, facts).stem == f"matmul_f32_packed{own}"


def test_matmul_is_split_by_blocks_of_rows_and_by_columns() -> None:
    kernel = registry.select("matmul", "arm64", _facts(m=7, rhs_const=1))
    sizes = constants.of_text(kernel.sources())
    row = _facts(m=1, rhs_const=1)
    columns = -(-40 // sizes["MEGCC_GEMM_UNIT"])
    assert registry.select("matmul", "arm64", row).work(row) == columns
    assert kernel.work(_facts(b=3, m=7, rhs_const=1)) == columns
    assert kernel.work(_facts(b=2, m=sizes["MEGCC_GEMM_BLOCK"], rhs_const=1)) == 2 * columns
