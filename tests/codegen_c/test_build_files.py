"""Makefile and CMakeLists.txt: what is optimised how."""

from __future__ import annotations

from tvm_megcc.codegen_c.emit.build_files import cmake, makefile
from tvm_megcc.core.machine import machine

_MACHINES = [machine("arm64+inorder")]


def test_kernels_are_optimised_for_speed() -> None:
    assert "\nOPT := -O3\n" in makefile("net", _MACHINES) and "-Os" not in cmake("net", _MACHINES)


def test_small_packages_have_generated_kernels_fast() -> None:
    """In every folder of kernels: those of a machine's own flags, too."""
    lines = makefile("net", _MACHINES, small=True).splitlines()
    assert "OPT := -Os" in lines
    for folder in ("", "arm64_inorder/"):
        assert f"obj/src/kernels/{folder}megcc_tir_%.o: OPT := -O3" in lines
    assert "PRIVATE -Os)" in cmake("net", _MACHINES, small=True)
