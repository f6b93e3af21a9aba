"""Runs every kernel file on every case row of its operator, on every architecture.

A new kernel needs nothing here: the registry finds its file, and the rows of its operator in
``tests/kernels/cases/<op>.py`` that fit its ``when`` and ``dtype`` become its cases. A new operator
is one such module::

    CASES = [{"n": 1, "h": 4, ...}, ...]          # rows
    HALVES = CASES[::2]                           # optional: rows that are cases in f16, too: its
                                                  #   f32 operands and results, rounded
    def facts(row) -> dict                        # optional: completes a row to all facts of the
                                                  #   operator (default: the row, dtype "f32")
    def operands(facts, rng) -> [array, ...]      # the inputs, as the op header orders them,
                                                  #   unpacked: `pack` is applied here
    def reference(facts, inputs) -> [array, ...]  # NumPy; shape and dtype of every output
    def check(facts, got, want) -> str            # optional, instead of the header's `tolerance`:
                                                  #   "" or why not

What a row says besides facts (``dtype`` for one) is for its module alone: a call's types are those
of the arrays, and all of it is checked against the op header.

The instances that the cases of one target need become one executable (``driver.c``, built and run
by ``runner.py``), run once per session. Per case it runs the kernel over aligned memory, memory
that ends at an unreadable page, over memory aligned to one element with the work range split at
random (in any order, and from last to first, each range in the workspace of one of three workers),
in the memory of the inputs its header names, and with the output as far before the first
input, in the same memory, as the header's ``overlap`` says; all must give the same bits, leave the
inputs and the bytes around outputs and workspace alone, and touch no page outside their tensors.

`TARGETS` are gcc, clang and gcc with sanitizers on this machine, and under qemu arm64, armv7 and
kernels that only a Cortex-M has, those of Helium on a board, where every page can be read;
host_gcc has all instances of portable kernels, the others a few of each (a board one), and all of
their own.
`FORMS` compile, for size and for cores that execute in order, the kernels that have a form for it.
Run one kernel on one target: ``pytest tests/kernels -k 'host_gcc and pool2d_nhwc_f32'``.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.closeness import compare
from tvm_megcc.codegen_c.sources import headers
from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.core.machine import ROWS, machine
from tvm_megcc.core.this_machine import host_arch, is_native
from tvm_megcc.kernels.contract import Tensor, contract
from tvm_megcc.kernels.kernel_file import KernelFile

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # so that `cases` is found whatever directory pytest starts in


@dataclass(frozen=True)
class Target:
    """A compiler, its flags and how to run what it makes; `arch` is a machine of ours."""

    name: str
    arch: str
    cc: str
    flags: tuple[str, ...]
    runner: tuple[str, ...] = ()
    packages: str = "gcc"
    most: int = 1000  # instances per kernel file, where compiling all would take too long
    portable: int = 1000  # the same, of portable kernels, all of which one target has
    optimised: int = 1000  # instances per kernel file with `flags`' own -O; the others have -Og
    own: bool = False  # `flags` are all: the machine's would be for no operating system
    board: str = ""  # qemu's board that runs the program, which then has bare/libc.h

    def flags_for(self, features: Collection[str] = ()) -> tuple[str, ...]:
        """The flags of a kernel that needs these features of the machine."""
        return self.flags if self.own else (*self.flags, *machine(self.arch).only(features).flags)

    def missing(self) -> str:
        """Why the target cannot run here ("" when it can)."""
        absent = [tool for tool in (self.cc, *self.runner[:1]) if not shutil.which(tool)]
        return f"{', '.join(absent)} not found: apt install {self.packages}" if absent else ""


# What the checks left out find, AddressSanitizer finds as well; they are half of the compile time.
_SANITIZE = (
    "-g1", "-fsanitize=address,undefined", "-fno-sanitize=null,object-size,pointer-overflow",
    "-fno-sanitize-recover=all",
)  # fmt: skip
#: So many instances of a kernel file are optimised as in a package. What the macros of the others
#: choose is seen at -Og, too, which takes half the time to compile (on armv7 four fifths).
OPTIMISED = 4
_HOST, _BASE = host_arch(), machine(host_arch()).arch.name
# The middle of three widths of vectors, where this machine has them.
_MIDDLE = next((m for m in ("x86+avxvnni", "x86+avx2") if is_native(m)), _HOST)


def _every(arch: str) -> str:
    """The machine of an architecture that has all features not in every kernel anyway."""
    return "+".join([arch, *(f.name for f in ROWS[arch].features if not f.everywhere)])


TARGETS = (
    Target("host_gcc", _HOST, "gcc", ("-O2",), most=12, optimised=OPTIMISED),
    Target("host_clang", _BASE, "clang", ("-O1",), (), "clang", portable=3),
    Target("host_sanitizers", _MIDDLE, "gcc", ("-O1", *_SANITIZE), most=4),
    *(
        Target(a, _every(a), ROWS[a].compiler, ("-O2", "-static"), (ROWS[a].qemu,),
               f"qemu-user {ROWS[a].packages}", portable=3, optimised=optimised)
        for a, optimised in (("arm64", OPTIMISED), ("armv7", 1000))
    ),
    # The instructions of a Cortex-M's DSP extension are those of every Armv7-A, in Thumb-2, too.
    Target("cortexm", "cortexm+dsp", ROWS["armv7"].compiler,
           ("-O2", "-static", "-mthumb", "-march=armv7-a+fp", "-mfloat-abi=hard"),
           (ROWS["armv7"].qemu,), f"qemu-user {ROWS['armv7'].packages}", most=8, portable=0,
           own=True),
    # No other CPU has Helium's instructions, and qemu-arm has no Cortex-M in all its versions.
    # Of a portable kernel one instance is enough: five targets have more.
    *(
        Target(name, arch, ROWS["cortexm"].compiler, (*flags, "-O2", "-ffreestanding"),
               ("qemu-system-arm",), "gcc-arm-none-eabi qemu-system-arm", most=most,
               portable=portable, own=True, board="mps3-an547")
        for name, arch, flags, most, portable in (
            ("helium", "cortexm+mve.fp", ("-mcpu=cortex-m55", "-mfloat-abi=hard"), 8, 1),
            ("helium_integers", "cortexm+mve",
             ("-mthumb", "-march=armv8.1-m.main+mve", "-mfloat-abi=hard"), 3, 0),
        )
    ),
)  # fmt: skip
_SMALL = tuple(
    Target(f"{t.name}_small", t.arch, t.cc, ("-Os", *t.flags[1:]), t.runner, t.packages, most=1)
    for t in TARGETS
    if t.name in ("arm64", "armv7")
)


def _ordered(feature: str) -> tuple[Target, ...]:
    """Of the targets for the kernels whose code is in another order there."""
    arm64 = next(t for t in TARGETS if t.name == "arm64")
    arch = f"arm64+{feature}"
    return (
        Target(
            f"arm64_{feature}", arch, arm64.cc, arm64.flags, arm64.runner, arm64.packages, most=1
        ),
    )


# Floats are functions, as on a Cortex-M3: sums become bytes again in integers.
_SOFT = Target(
    "soft_floats", "cortexm", "arm-linux-gnueabi-gcc",
    ("-O2", "-static", "-mthumb", "-march=armv7-a", "-mfloat-abi=soft"), (ROWS["armv7"].qemu,),
    "gcc-arm-linux-gnueabi libc6-dev-armel-cross qemu-user", portable=3, own=True,
)  # fmt: skip

#: Targets for the kernels that ask for a macro, by the macro.
FORMS = {
    "MEGCC_SMALL": _SMALL,
    "MEGCC_SOFT_FLOATS": (_SOFT,),
    "MEGCC_IN_ORDER": _ordered("inorder"),
    "MEGCC_A53": _ordered("a53"),
}


def asks_for(kernel: KernelFile, macro: str) -> bool:
    """Whether a kernel's text, or that of its headers, asks whether `macro` is defined."""
    body = kernel.sources()
    texts = {"": body, **headers([body])}
    return any(macro in text for path, text in texts.items() if path != "megcc_kernel.h")


def is_run(kernel: KernelFile, target: Target) -> bool:
    """Whether a target is to run a kernel: portable ones have targets enough."""
    return kernel.runs_on(target.arch) and (target.portable > 0 or "portable" not in kernel.archs)


@dataclass(frozen=True, eq=False)
class Case:
    """One row of an operator with its data; shared by all kernels of the operator."""

    module: Any
    index: int
    facts: Mapping[str, Any]
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    row: Mapping[str, Any]

    def complaint(self, got: list[np.ndarray], limit: float) -> str:
        """What is wrong with the outputs ("" when nothing is); `limit`: see `compare`."""
        if hasattr(self.module, "check"):
            return self.module.check(self.facts, got, list(self.outputs))
        complaints = (compare(g, w, limit) for g, w in zip(got, self.outputs, strict=True))
        return "; ".join(c for c in complaints if c)


def case_modules() -> dict[str, Any]:
    """Operator -> its module of case rows."""
    found = pkgutil.iter_modules([str(HERE / "cases")])
    return {m.name: importlib.import_module(f"cases.{m.name}") for m in found}


@cache
def cases_of(op: str) -> tuple[Case, ...]:
    module = case_modules().get(op)
    return () if module is None else cases_from(module)


def cases_from(module: Any) -> tuple[Case, ...]:
    """The cases of a module's rows."""
    result = []
    rows = [*((row, False) for row in module.CASES), *((row, True) for row in _halves(module))]
    for index, (row, half) in enumerate(rows):
        facts = {"dtype": "f32", **(module.facts(dict(row)) if hasattr(module, "facts") else row)}
        rng = np.random.default_rng(index)
        with np.errstate(all="ignore"):
            inputs = _stored(module.operands(facts, rng), half)
            outputs = _stored(module.reference(facts, list(inputs)), half)
        facts = completed(module.__name__.rpartition(".")[2], facts, inputs, outputs)
        result.append(Case(module, index, facts, inputs, outputs, row))
    return tuple(result)


def _halves(module: Any) -> Sequence[Mapping[str, Any]]:
    return getattr(module, "HALVES", ())


def _stored(arrays: Sequence[np.ndarray], half: bool) -> tuple[np.ndarray, ...]:
    """The arrays of a case, those of f32 perhaps as f16."""
    kept = (a.astype(np.float16) if half and a.dtype == np.float32 else a for a in arrays)
    return tuple(np.ascontiguousarray(a) for a in kept)


def completed(
    op: str, row: Mapping[str, Any], inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
) -> dict[str, Any]:
    """The facts of a call, those of its types included, if it is one by the operator's header."""
    known = contract(op)
    facts = {name: value for name, value in row.items() if name in known.facts}
    names = [operand.name for operand in (*known.inputs_of(facts), *known.outputs)]
    arrays = [*inputs, *outputs]
    tensors = {
        name: Tensor(of_numpy(a.dtype.name).name, a.shape)
        for name, a in zip(names, arrays, strict=True)
    }
    return known.completed(facts, tensors)


def applicable(kernel: KernelFile, target: Target) -> list[Case]:
    """The cases that a kernel file runs on a target."""
    cases = [c for c in cases_of(kernel.op) if not kernel.refusal(target.arch, c.facts)]
    symbols = sorted({kernel.instance(c.facts).symbol for c in cases})
    most = min(target.most, target.portable) if "portable" in kernel.archs else target.most
    kept = spread(symbols, most)
    return [c for c in cases if kernel.instance(c.facts).symbol in kept]


def spread(symbols: Sequence[str], most: int) -> set[str]:
    """So many instances at most, evenly over the names of a kernel file's.

    By an odd step, as an even one may leave out one of a macro's values.
    """
    return set(symbols[:: -(-len(symbols) // most) | 1])
