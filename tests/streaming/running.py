"""Programs of packages, all with the same flags: so their builds share the kernels' objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tvm_megcc.core.this_machine import is_own_family
from tvm_megcc.host import package, toolchain


def built(
    code: Path, arch: str, out: Path, flags: Sequence[str] = (), *, threads: bool = False
) -> Path:
    """The package's program; on this machine sanitizers watch it."""
    is_own = is_own_family(arch)
    flags = [*flags, *([] if is_own else ["-O1"])]
    return toolchain.build(
        code, arch, build_dir=out, sanitize=is_own, extra_cflags=flags, threads=threads
    )


def outputs(
    code: Path, feeds: Mapping[str, np.ndarray], flags: Sequence[str] = (), threads: int = 1
) -> list[bytes]:
    """What the package makes of these inputs."""
    (found,) = outputs_of_each(code, [feeds], flags, threads)
    return found


def outputs_of_each(
    code: Path,
    several: Sequence[Mapping[str, np.ndarray]],
    flags: Sequence[str] = (),
    threads: int = 1,
) -> list[list[bytes]]:
    """What the package makes of inputs, of each of several sets of them."""
    opened = package.load(code)
    (arch,) = opened.archs
    program = built(code, arch, code.with_name(f"{code.name}_build"), flags, threads=threads > 1)
    args = ["--threads", str(threads)] if threads > 1 else []
    runs = (
        toolchain.run_package(program, arch, feeds, opened.manifest, args=args) for feeds in several
    )
    return [[array.tobytes() for array in run.outputs.values()] for run in runs]
