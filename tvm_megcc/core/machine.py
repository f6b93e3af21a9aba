"""The machines there are code for: the only table of architectures and their features.

A machine is an architecture and the features that its CPU must have beyond what every CPU of the
architecture has. Enters: a name as a person types it. Leaves: a `Machine`, which knows what a
compiler must be told, how a program finds out what its CPU can do, and what runs it elsewhere.
A new machine is a row here (and, for vectors of its own, a header ``megcc_simd_<name>.h``).

Example
-------
>>> machine("aarch64+dotprod").name, machine("x86+avx512").flags[:2]
('arm64+dotprod', ('-mavx2', '-mfma'))
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import or_

from tvm_megcc.errors import InputError


@dataclass(frozen=True, slots=True)
class Feature:
    """A CPU feature: instructions that some CPUs of an architecture have.

    Attributes
    ----------
    name : str
        As in ``arm64+dotprod``: the compiler's own name, or that of the group's newest member.
    llvm : tuple of str
        LLVM's names of its parts, all of which a CPU must have.
    cpuinfo : tuple of str
        The same in Linux's ``/proc/cpuinfo``.
    flags : tuple of str
        Compiler options; or ``+name`` for an extension of `Architecture.march`.
    macros : tuple of str
        Macros that a compiler then defines.
    bits : (int, int)
        Bits of the two words that ``runtime/src/megcc_machine.c`` reads of a CPU: HWCAP and HWCAP2
        on Arm, CPUID 1:ECX and 7:EBX on x86, with AVX512_VNNI and AVX-VNNI, which stand
        elsewhere, as the lowest two bits of the second.
    everywhere : bool
        Whether all C becomes faster by it, so that every kernel is compiled with it; else only the
        kernels are whose header names it.
    tuning : bool
        Whether it only orders instructions: every CPU of the architecture runs the code, and `bits`
        are 0.
    vectors : bool
        As `Architecture.vectors`, for an architecture of which only some CPUs have vectors.
    """

    name: str
    llvm: tuple[str, ...]
    cpuinfo: tuple[str, ...]
    flags: tuple[str, ...]
    macros: tuple[str, ...]
    bits: tuple[int, int]
    everywhere: bool = False
    tuning: bool = False
    vectors: bool = False


@dataclass(frozen=True, slots=True)
class Architecture:
    """A family of CPUs that one binary can be for.

    Attributes
    ----------
    name, aliases : str, tuple of str
        Our name, and others that people type.
    sign : str
        Regular expression that finds it in ``uname -m``, a march or a target triple.
    macro : str
        Preprocessor condition; empty for portable C, which is whatever no other one takes.
    flags : tuple of str
        Options with which any compiler makes code for it.
    enough : str
        Macro of a compiler that needs none of `flags`. CMake, which puts a package's flags behind
        the user's, leaves them out then.
    soft : tuple of str
        A macro and a flag: a compiler that defines the macro is told the flag, too. On Arm, such
        a compiler does not use the unit for floats; the flag changes no calling convention. Goes
        with `enough`.
    march : str
        The architecture whose extensions the features are that are given as ``+name``.
    family, processor : str
        How the emitted Makefile (first part of the compiler's machine, Arm's 32-bit ones being
        ``arm``) and CMake (regular expression) tell it; ``cortexm`` is what both call a compiler
        for 32-bit Arm without an operating system that is not told which CPU.
    triple, llvm : str, tuple of str
        LLVM's target, and features without which a CPU of that target is none of this architecture.
    elf : int
        Machine number in ELF files.
    compiler, packages, qemu : str
        Cross compiler, the Debian packages that bring it, emulator; no emulator where programs
        have no operating system.
    features : tuple of Feature
        In the order of a machine's name. One that includes another stands behind it.
    includes : tuple of (str, str)
        Pairs of features: the first never comes without the second.
    reading : (int, int)
        So many instructions of four lanes are executed in the time in which so many bytes are read
        from memory. Weights that are large enough to matter are in no cache. (0, 1) where forms of
        a kernel are compared by instructions alone: these are what is measured there.
    vectors : bool
        Whether generated loops are written with vectors of floats.
    ram_is_scarce : bool
        Whether RAM runs out before time does: a kernel's workspace may not raise the arena there,
        whatever the user prefers.
    """

    name: str
    aliases: tuple[str, ...] = ()
    sign: str = "(?!)"
    macro: str = ""
    flags: tuple[str, ...] = ()
    enough: str = ""
    soft: tuple[str, ...] = ()
    march: str = ""
    family: str = ""
    processor: str = ""
    triple: str = ""
    llvm: tuple[str, ...] = ()
    elf: int = -1
    compiler: str = ""
    packages: str = ""
    qemu: str = ""
    features: tuple[Feature, ...] = ()
    includes: tuple[tuple[str, str], ...] = ()
    reading: tuple[int, int] = (0, 1)
    vectors: bool = False
    ram_is_scarce: bool = False


_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")

#: The table. "portable" is any C99 compiler and CPU.
TABLE = (
    Architecture("portable"),
    Architecture(
        "arm64",
        aliases=("aarch64", "arm64-v8a", "armv8", "armv8-a"),
        sign=r"aarch64|arm64|armv[89](\.\d)?-a",
        macro="defined(__aarch64__)",
        vectors=True,
        march="armv8.2-a",
        family="aarch64",
        processor="^(aarch64|arm64|ARM64)",
        triple="aarch64-linux-gnu",
        elf=183,
        compiler="aarch64-linux-gnu-gcc",
        packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        qemu="qemu-aarch64",
        features=(
            Feature(
                "dotprod", ("dotprod",), ("asimddp",), ("+dotprod",),
                ("__ARM_FEATURE_DOTPROD",), (1 << 20, 0),
            ),
            Feature(
                "i8mm", ("i8mm",), ("i8mm",), ("+i8mm",),
                ("__ARM_FEATURE_MATMUL_INT8",), (0, 1 << 13),
            ),
            Feature(
                "fp16", ("fullfp16",), ("fphp", "asimdhp"), ("+fp16",),
                ("__ARM_FEATURE_FP16_VECTOR_ARITHMETIC",), (1 << 9 | 1 << 10, 0),
            ),
            Feature(
                "inorder", ("inorder",), ("inorder",), ("-DMEGCC_IN_ORDER",),
                ("MEGCC_IN_ORDER",), (0, 0), everywhere=True, tuning=True,
            ),
            Feature(
                "a53", ("a53",), ("a53",), ("-DMEGCC_A53",),
                ("MEGCC_A53",), (0, 0), everywhere=True, tuning=True,
            ),
        ),
        includes=(("a53", "inorder"),),
    ),
    Architecture(
        "armv7",
        aliases=("arm", "armeabi-v7a", "armv7a", "armv7-a", "armv7l", "armhf"),
        sign=r"armv7(?!e?-?m)|armv8l|\barm-(?!none)|armhf|gnueabihf|armeabi",
        macro="(defined(__arm__) && __ARM_ARCH_PROFILE != 'M')",
        vectors=True,
        flags=("-march=armv7-a", "-mfpu=neon"),
        enough="__ARM_NEON",
        soft=("__SOFTFP__", "-mfloat-abi=softfp"),
        family="arm",
        processor="^arm([^6]|$)",
        triple="armv7-linux-gnueabihf",
        llvm=("neon", "v7"),
        elf=40,
        compiler="arm-linux-gnueabihf-gcc",
        packages="gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
        qemu="qemu-arm",
        features=(
            Feature(
                "fma", ("vfp4",), ("vfpv4",), ("-mfpu=neon-vfpv4",),
                ("__ARM_FEATURE_FMA",), (1 << 16, 0), everywhere=True,
            ),
        ),
    ),
    Architecture(
        "cortexm",
        aliases=("armv6-m", "armv7-m", "armv7e-m", "armv8-m"),
        sign=r"thumb|armv[67]e?-?m|armv8(\.1)?-?m|\barm-none-eabi",
        macro="(defined(__arm__) && __ARM_ARCH_PROFILE == 'M')",
        flags=("-mthumb", "-march=armv6-m"),
        family="cortexm",
        processor="^cortexm$",
        triple="thumbv7m-none-eabi",
        llvm=("mclass",),
        compiler="arm-none-eabi-gcc",
        packages="gcc-arm-none-eabi libnewlib-arm-none-eabi",
        ram_is_scarce=True,
        features=(
            Feature(
                "dsp", ("dsp",), ("edsp",), ("-march=armv7e-m",),
                ("__ARM_FEATURE_DSP", "__ARM_FEATURE_SIMD32"), (1 << 7, 0), everywhere=True,
            ),
            # Helium. No Linux runs on its CPUs, so no word of Linux's has bits of it.
            Feature(
                "mve", ("mve",), ("mve",), ("-march=armv8.1-m.main+mve", "-mfloat-abi=softfp"),
                ("__ARM_FEATURE_MVE",), (0, 1 << 30), everywhere=True,
            ),
            Feature(
                "mve.fp", ("mve.fp",), ("mve.fp",),
                ("-march=armv8.1-m.main+mve.fp", "-mfloat-abi=softfp"),
                ("__ARM_FEATURE_MVE", "__ARM_FP"), (0, 1 << 31), everywhere=True, vectors=True,
            ),
        ),
        includes=(("mve", "dsp"), ("mve.fp", "dsp"), ("mve.fp", "mve")),
    ),
    Architecture(
        "x86",
        aliases=("x86_64", "x86-64", "amd64", "x64"),
        sign=r"x86|amd64|i[3-6]86",
        macro="(defined(__x86_64__) || defined(__i386__))",
        vectors=True,
        family="x86_64",
        processor="^(x86_64|AMD64|amd64|i[3-6]86)",
        triple="x86_64-linux-gnu",
        llvm=("sse2",),
        elf=62,
        compiler="x86_64-linux-gnu-gcc",
        packages="gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
        qemu="qemu-x86_64",
        features=(
            Feature(
                "avx2", ("avx2", "fma", "f16c"), ("avx2", "fma", "f16c"),
                ("-mavx2", "-mfma", "-mf16c"), ("__AVX2__", "__FMA__"),
                (1 << 12 | 1 << 28 | 1 << 29, 1 << 5), everywhere=True,
            ),
            Feature(
                "avxvnni", ("avxvnni",), ("avx_vnni",), ("-mavxvnni",), ("__AVXVNNI__",),
                (0, 1 << 1),
            ),
            Feature(
                "avx512", _AVX512, _AVX512, tuple(f"-m{name}" for name in _AVX512),
                tuple(f"__{name.upper()}__" for name in _AVX512),
                (0, 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31), everywhere=True,
            ),
            Feature(
                "avx512vnni", ("avx512vnni",), ("avx512_vnni",), ("-mavx512vnni",),
                ("__AVX512VNNI__",), (0, 1 << 0),
            ),
        ),
        includes=(
            ("avxvnni", "avx2"), ("avx512", "avx2"), ("avx512vnni", "avx512"),
            ("avx512vnni", "avx2"),
        ),
        reading=(2, 3),  # 118 GFLOP/s beside 22 GB/s
    ),
)  # fmt: skip

#: Architectures by name.
ROWS = {row.name: row for row in TABLE}

#: Names of the architectures.
ARCHITECTURES = tuple(ROWS)

#: The features of arm64 that say how code is ordered, by the CPUs they are for: those that execute
#: in order. LLVM's table does not say it.
TUNING = {
    **dict.fromkeys(("cortex-a34", "cortex-a35", "cortex-a53"), frozenset(("inorder", "a53"))),
    **dict.fromkeys(("cortex-a55", "cortex-a510", "cortex-a520"), frozenset(("inorder",))),
}

#: The features that a kernel may name in its header, by architecture.
FEATURES = {row.name: tuple(f.name for f in row.features) for row in TABLE}


@dataclass(frozen=True, slots=True)
class Machine:
    """An architecture with features: the target of a package or kernel, or a computer.

    Attributes
    ----------
    arch : Architecture
    features : tuple of Feature
        In the table's order, with those that they include.
    """

    arch: Architecture
    features: tuple[Feature, ...] = ()

    @property
    def name(self) -> str:
        """``arm64+dotprod``: without the features that others include."""
        names = [f.name for f in self.features]
        included = {b for a, b in self.arch.includes if a in names}
        return "+".join([self.arch.name, *(n for n in names if n not in included)])

    @property
    def ident(self) -> str:
        """The name as part of a C identifier or a path."""
        return self.name.replace("+", "_").replace(".", "_")

    @property
    def vectors(self) -> bool:
        """Whether generated loops are written with vectors of floats."""
        return self.arch.vectors or any(f.vectors for f in self.features)

    @property
    def extra_flags(self) -> tuple[str, ...]:
        """Compiler options beyond `Architecture.flags`."""
        given = [flag for f in self.features for flag in f.flags]
        last = {flag.partition("=")[0]: flag for flag in given}  # of -march=, as of -mfpu=
        flags = list(last.values())
        extensions = "".join(flag for flag in flags if flag.startswith("+"))
        march = [f"-march={self.arch.march}{extensions}"] if extensions else []
        return (*march, *(flag for flag in flags if not flag.startswith("+")))

    @property
    def flags(self) -> tuple[str, ...]:
        """All compiler options."""
        return (*self.arch.flags, *self.extra_flags)

    @property
    def macros(self) -> tuple[str, ...]:
        """Macros that a compiler with `flags` defines for the features."""
        return tuple(macro for f in self.features for macro in f.macros)

    @property
    def bits(self) -> tuple[int, int]:
        """Bits that a CPU must have in the two words of `Feature.bits`."""
        low, high = zip((0, 0), *(f.bits for f in self.features), strict=True)
        return reduce(or_, low), reduce(or_, high)

    @property
    def needs(self) -> tuple[str, ...]:
        """LLVM's names of the features that its CPU must have."""
        return tuple(name for f in self.features if not f.tuning for name in f.llvm)

    def includes(self, other: Machine) -> bool:
        """Whether code compiled for `other` runs on this machine."""
        needed = {f for f in other.features if not f.tuning}
        return other.arch.name == "portable" or (
            other.arch == self.arch and needed <= set(self.features)
        )

    def only(self, features: Collection[str]) -> Machine:
        """The machine with those of its features that serve all code, and `features`."""
        kept = (f for f in self.features if f.everywhere or f.name in features)
        return replace(self, features=tuple(kept))


@cache
def machine(name: str) -> Machine:
    """The machine called `name`, in any of its spellings: ``x86_64``, ``arm64+fp16+dotprod``.

    Raises
    ------
    InputError
        An architecture that is not in the table, or a feature that it has not.
    """
    first, *wanted = name.strip().lower().split("+")
    row = next((r for r in TABLE if first in (r.name, *r.aliases)), None)
    if row is None:
        known = ", ".join(("host", *ARCHITECTURES))
        raise InputError(f"architecture {first!r} is not known; choose from {known}")
    return _with(row, wanted)


def _with(row: Architecture, wanted: Iterable[str]) -> Machine:
    names = set(wanted)
    for feature in wanted:
        if feature not in FEATURES[row.name]:
            owner = next((a for a, names in FEATURES.items() if feature in names), None)
            fact = "" if owner is None else f", which belongs to {owner}"
            known = ", ".join(FEATURES[row.name])
            remedy = f"name some of {known}" if known else f"leave out '+{feature}'"
            raise InputError(f"{row.name} has no feature {feature!r}{fact}; {remedy}")
        names |= {b for a, b in row.includes if a == feature}
    return Machine(row, tuple(f for f in row.features if f.name in names))


def of_features(row: Architecture, has: Collection[str], *, cpuinfo: bool = False) -> Machine:
    """The machine of a CPU of which LLVM (or ``/proc/cpuinfo``) lists these features."""
    found: list[str] = []
    for feature in row.features:
        names = set(feature.cpuinfo if cpuinfo else feature.llvm)
        included = {b for a, b in row.includes if a == feature.name}
        if names <= set(has) and included <= set(found):
            found.append(feature.name)
    return _with(row, found)


def best_first(names: Collection[str]) -> list[str]:
    """Machines of one architecture in the order in which a program tries them."""

    def newest(name: str) -> list[bool]:
        mine = machine(name).features
        return [f in mine for f in reversed(machine(name).arch.features)]

    return sorted(names, key=lambda name: (len(machine(name).features), newest(name)), reverse=True)


def by_architecture(names: Iterable[str]) -> dict[str, list[str]]:
    """Architecture -> the machines of it among `names`, best first; architectures in order."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(machine(name).arch.name, []).append(name)
    return {arch: best_first(groups[arch]) for arch in sorted(groups)}


def architecture_in(text: str) -> Architecture | None:
    """The architecture named by a march, a target triple or a ``uname -m``; None: unknown."""
    return next((row for row in TABLE if re.search(row.sign, text.lower())), None)
