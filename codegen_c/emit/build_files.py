"""``Makefile`` and ``CMakeLists.txt`` of a package: which machine's files take which flags.

Enters: the machines that have files of their own. Leaves: text.

Example
-------
>>> from ..machine import machine
>>> print(makefile([machine("x86+avx2")]).split("more features")[1].splitlines()[1])
obj/src/kernels/x86_avx2/%.o: MACHINE := $(if $(call for,x86_64),-mavx2 -mfma -mf16c)
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm_megcc.codegen_c.sources import package_text
from tvm_megcc.core.machine import TABLE, Machine


def makefile(machines: Iterable[Machine]) -> str:
    bases = [
        f"BASE += $(if $(call for,{row.family}),{' '.join(row.flags)})"
        for row in TABLE
        if row.flags
    ]
    rows = [
        f"obj/src/kernels/{m.ident}/%.o: MACHINE := "
        f"$(if $(call for,{m.arch.family}),{' '.join(m.extra_flags)})"
        for m in machines
    ]
    return _filled("Makefile", bases, rows)


def cmake(machines: Iterable[Machine]) -> str:
    bases = [
        line
        for row in TABLE
        if row.flags
        for line in (
            f'  if(CMAKE_SYSTEM_PROCESSOR MATCHES "{row.processor}")',
            f"    target_compile_options(model PUBLIC {' '.join(row.flags)})",
            "  endif()",
        )
    ]
    rows = [
        line
        for m in machines
        for line in (
            f'  if(CMAKE_SYSTEM_PROCESSOR MATCHES "{m.arch.processor}")',
            f"    file(GLOB sources src/kernels/{m.ident}/*.c)",
            f"    set_source_files_properties(${{sources}} PROPERTIES COMPILE_FLAGS"
            f' "{" ".join(m.extra_flags)}")',
            "  endif()",
        )
    ]
    return _filled("CMakeLists.txt", bases, rows)


def _filled(name: str, bases: list[str], rows: list[str]) -> str:
    """The template with its two marks replaced; a block without lines goes with its comment."""
    lines: list[str] = []
    for line in package_text(name).splitlines():
        if line == "@BASES@":
            lines += bases
        elif line == "@MACHINES@":
            lines = [*lines, *rows] if rows else lines[:-1]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
