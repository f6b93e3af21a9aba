"""``Makefile`` and ``CMakeLists.txt`` of a package, and what other builds want beside them.

Enters: the package's name in C, the machines that have files of their own, and whether code is to
be small. Leaves: text.

Example
-------
>>> from ..machine import machine
>>> print(makefile("net", [machine("x86+avx2")]).split("more features")[1].splitlines()[1])
obj/src/kernels/x86_avx2/%.o: MACHINE := $(if $(call for,x86_64),-mavx2 -mfma -mf16c)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tvm_megcc.codegen_c.sources import filled
from tvm_megcc.core.contents import Content
from tvm_megcc.core.machine import TABLE, Architecture, Machine, machine

#: Optimisation flags. Where code is to be small, the library's kernels are compiled for size: some
#: then leave out forms of their loops (``MEGCC_SMALL``).
MAKE_FAST = """\
# Kernels want speed; what is around them is a fraction of the time and may be small.
OPT := -O3
obj/src/megcc_%.o obj/megcc_%.o obj/runner/%.o obj/main.o: OPT := -Os"""
MAKE_SMALL = """\
# --optimize size: kernels of the library have less code when compiled for size. Generated ones
# are plain loops, which compilers make vectors of at -O3 only.
OPT := -Os
obj/src/kernels/megcc_tir_%.o: OPT := -O3"""
MAKE_SMALL_MACHINE = "obj/src/kernels/{}/megcc_tir_%.o: OPT := -O3"
CMAKE_FAST = """\
  # Kernels want -O3; CMake's Release gives it to gcc and clang."""
CMAKE_SMALL = """\
  # --optimize size: kernels of the library have less code when compiled for size. Generated ones
  # are plain loops, which compilers make vectors of at -O3 only.
  target_compile_options(${model} PRIVATE -Os)
  file(GLOB generated src/kernels/megcc_tir_*.c src/kernels/*/megcc_tir_*.c)
  if(generated)
    set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS -O3)
  endif()"""


def makefile(ident: str, machines: Sequence[Machine], *, small: bool = False) -> str:
    bases = [
        f"BASE += $(if $(call for,{row.family}),{' '.join(_make_base(row))})"
        for row in TABLE
        if row.flags
    ]
    rows = [
        f"obj/src/kernels/{m.ident}/%.o: MACHINE := "
        f"$(if $(call for,{m.arch.family}),{' '.join(m.extra_flags)})"
        for m in machines
    ]
    small_rows = [MAKE_SMALL, *(MAKE_SMALL_MACHINE.format(m.ident) for m in machines)]
    return _filled("Makefile", ident, "\n".join(small_rows) if small else MAKE_FAST, bases, rows)


def cmake(ident: str, machines: Sequence[Machine], *, small: bool = False) -> str:
    bases = [line for row in TABLE if row.flags for line in _cmake_base(row)]
    rows = [
        line
        for m in machines
        for line in (
            f'  if(processor MATCHES "{m.arch.processor}")',
            f"    file(GLOB sources src/kernels/{m.ident}/*.c)",
            f"    set_source_files_properties(${{sources}} PROPERTIES COMPILE_FLAGS"
            f' "{" ".join(m.extra_flags)}")',
            "  endif()",
        )
    ]
    return _filled("CMakeLists.txt", ident, CMAKE_SMALL if small else CMAKE_FAST, bases, rows)


def _make_base(row: Architecture) -> list[str]:
    """The flags of an architecture, in front of the user's; of `soft` where the compiler is."""
    return [*row.flags, *([f"$(call where,{','.join(row.soft)})"] if row.soft else [])]


def _cmake_base(row: Architecture) -> list[str]:
    """The flags of an architecture, which stand behind the user's.

    They are the library's own where a compiler may have what is needed without them, and a
    program's calling convention is not to change. Else, on a Cortex-M, they say which
    instructions there are, and the program is compiled with them, too.
    """
    flags = " ".join(row.flags)
    found = [f'  if(processor MATCHES "{row.processor}")']
    if not row.enough:
        return [*found, f"    target_compile_options(${{model}} PUBLIC {flags})", "  endif()"]
    macro, flag = row.soft
    return [
        *found,
        f"    megcc_has({row.enough})",
        f"    if(NOT MEGCC_HAS{row.enough})",
        f"      target_compile_options(${{model}} PRIVATE {flags})",
        f"      megcc_has({macro})",
        f"      if(MEGCC_HAS{macro})",
        f"        target_compile_options(${{model}} PRIVATE {flag})",
        "      endif()",
        "    endif()",
        "  endif()",
    ]


def pkg_config(ident: str, version: str) -> str:
    """pkg-config's file, which make and CMake fill with the place of installation."""
    return filled("package.pc.in", IDENT=ident, VERSION=version)


def zephyr(ident: str, machines: Sequence[str]) -> dict[str, Content]:
    """The files of a module of Zephyr, in packages for microcontrollers."""
    if not _is_for_microcontrollers(machines):
        return {}
    paths = ("zephyr/CMakeLists.txt", "zephyr/module.yml")
    return {path: filled(path, IDENT=ident) for path in paths}


def platformio(ident: str, version: str, machines: Sequence[str]) -> dict[str, Content]:
    """PlatformIO's manifest, in packages for microcontrollers; `version` has three numbers."""
    if not _is_for_microcontrollers(machines):
        return {}
    return {"library.json": filled("library.json", IDENT=ident, VERSION=version)}


def cmsis_pack(
    ident: str, version: str, machines: Sequence[str], paths: Collection[str]
) -> dict[str, Content]:
    """The description of a CMSIS-Pack of these files, in packages for microcontrollers.

    `version` has three numbers.
    """
    if not _is_for_microcontrollers(machines):
        return {}
    rows = [
        f'        <file category="{category}" name="{path}"/>'
        for path in sorted(paths)
        if (category := _category(path))
    ]
    text = filled("pack.pdsc", IDENT=ident, VERSION=version, FILES="\n".join(rows))
    return {f"tvm_megcc.{ident}.pdsc": text}


def _category(path: str) -> str:
    """What a file is in a CMSIS-Pack; "" for one that is no part of the library."""
    if path == "include/megcc_pool.h":  # of threads, which need an operating system
        return ""
    folder, end = path.split("/")[0], path.rsplit(".")[-1]
    kinds = {"include": {"h": "header"}, "src": {"c": "source"}}
    return {**kinds, "model": {"c": "source", "bin": "other"}}.get(folder, {}).get(end, "")


def _is_for_microcontrollers(machines: Sequence[str]) -> bool:
    return bool({"cortexm", "portable"} & {machine(name).arch.name for name in machines})


def _filled(name: str, ident: str, opt: str, bases: list[str], rows: list[str]) -> str:
    """Text of a build file from its template; empty blocks are left out with their comments."""
    lines: list[str] = []
    for line in filled(name, IDENT=ident).splitlines():
        if line == "@OPT@":
            lines.append(opt)
        elif line == "@BASES@":
            lines += bases
        elif line == "@MACHINES@":
            lines = [*lines, *rows] if rows else lines[:-1]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
