"""This computer as a machine of `tvm_megcc.core.machine`.

Example
-------
>>> is_native(host_arch()), is_native("portable")
(True, True)
"""

from __future__ import annotations

import platform
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tvm_megcc.core.machine import Architecture, architecture_in, machine, of_features


@cache
def host_arch() -> str:
    """This machine with its features: "x86+avx2", "arm64+dotprod+fp16", or else "portable"."""
    row = architecture_in(platform.machine())
    if row is None:
        return "portable"
    try:
        words = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:  # no Linux
        return of_features(row, _features_by_llvm(row)).name
    return of_features(row, words, cpuinfo=True).name


def _features_by_llvm(row: Architecture) -> set[str]:
    """This CPU's features by LLVM; where LLVM cannot ask the CPU, those of a CPU of its name."""
    tvm: Any = import_module("tvm")  # it holds LLVM, and is loaded for nothing else here
    ask = tvm.get_global_func
    found = ask("tvm.codegen.llvm.GetHostCPUFeatures")()
    if features := {str(name) for name, has in found.items() if has}:
        return features
    cpu = str(ask("tvm.codegen.llvm.GetHostCPUName")())
    target = tvm.target.Target({"kind": "llvm", "mtriple": row.triple, "mcpu": cpu})
    return {str(name) for name in tvm.target.codegen.llvm_get_cpu_features(target)}


def is_native(arch: str) -> bool:
    """Whether programs built for machine `arch` run on this one without qemu."""
    return machine(host_arch()).includes(machine(arch))


def is_own_family(arch: str) -> bool:
    """Whether this machine's own compiler makes programs for machine `arch`."""
    return machine(arch).arch.name in ("portable", machine(host_arch()).arch.name)
