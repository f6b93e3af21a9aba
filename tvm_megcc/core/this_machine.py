"""What this computer is, as a machine of `tvm_megcc.core.machine`.

Example
-------
>>> is_native(host_arch()), is_native("portable")
(True, True)
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

from tvm_megcc.core.machine import architecture_in, machine, of_features


@cache
def host_arch() -> str:
    """This machine with its features: "x86+avx2", "arm64+dotprod+fp16", or else "portable"."""
    row = architecture_in(platform.machine())
    if row is None:
        return "portable"
    try:
        words = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:  # no Linux: LLVM has other ways to ask
        from tvm_ffi import get_global_func

        found = get_global_func("codegen.llvm.GetHostCPUFeatures")()
        return of_features(row, {str(name) for name, has in found.items() if has}).name
    return of_features(row, words, cpuinfo=True).name


def is_native(arch: str) -> bool:
    """Whether programs built for machine `arch` run on this one without qemu."""
    return machine(host_arch()).includes(machine(arch))


def is_own_family(arch: str) -> bool:
    """Whether this machine's own compiler makes programs for machine `arch`."""
    return machine(arch).arch.name in ("portable", machine(host_arch()).arch.name)
