"""The kernels there are, and which one serves a call.

A kernel is a row of a C file ``codegen_c/kernels/<operator>/<file>.c``; its facts stand in the
header comment (`kernels.header`), and what it is called with in its operator's contract.
Enters: an operator, an architecture and the facts of one call, its types among them
(`contract.Contract.completed`). Leaves: the applicable kernel with the highest rank.

Example
-------
>>> kernel = select("conv2d", "arm64", facts)          # doctest: +SKIP
>>> kernel.instance(facts).symbol                      # doctest: +SKIP
'megcc_conv2d_nhwc_f32_gemm_act1_residual0'
"""

from __future__ import annotations

from functools import cache
from math import inf
from pathlib import Path

import tvm_megcc.codegen_c as codegen_c
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.dims import Dim, typical
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.kernels.expression import Facts
from tvm_megcc.kernels.header import parse, parse_all
from tvm_megcc.kernels.kernel_file import KernelFile

KERNEL_DIR = Path(codegen_c.__file__).parent / "kernels"


@cache
def kernels() -> tuple[KernelFile, ...]:
    """All kernels, sorted by name."""
    every = (kernel for folder in KERNEL_DIR.iterdir() for kernel in kernels_of(folder.name))
    return tuple(sorted(every, key=lambda kernel: kernel.stem))


def operators() -> tuple[str, ...]:
    """The names of the operators that have kernels, sorted; no kernel is read for them."""
    return tuple(sorted(folder.name for folder in KERNEL_DIR.iterdir() if folder.is_dir()))


@cache
def kernels_of(op: str) -> tuple[KernelFile, ...]:
    """The kernels of an operator, whose files are in a folder of its name, sorted by name.

    Raises
    ------
    ValueError
        When two files have a kernel of one name; errors as `header.parse`.
    """
    found: dict[str, KernelFile] = {}
    for path in sorted((KERNEL_DIR / op).glob("*.c")):
        for kernel in parse_all(path):
            if kernel.stem in found:
                other = found[kernel.stem].path.name
                raise ValueError(f"{path.name}: kernel {kernel.stem} is in {other}, too")
            found[kernel.stem] = kernel
    return tuple(found[stem] for stem in sorted(found))


def listed() -> list[KernelFile]:
    """All kernels by operator, the ones that are tried first in front."""
    return sorted(kernels(), key=lambda k: (k.op, -_usual_rank(k), k.stem))


def _usual_rank(kernel: KernelFile) -> float:
    """The rank; beyond all numbers where it depends on the call."""
    return inf if kernel.formulas["rank"].names else float(kernel.ranked({}) or 0)


def candidates(op: str, arch: str, facts: Facts) -> list[tuple[KernelFile, str]]:
    """Kernels of `op`, best rank first, each with why it does not apply ("" when it does)."""
    rows = [(k, k.refusal(arch, facts)) for k in kernels_of(op)]
    return sorted(rows, key=lambda row: (bool(row[1]), -(row[0].ranked(facts) or 0), row[0].stem))


def alternatives(op: str, arch: str, facts: Facts) -> tuple[KernelFile, ...]:
    """The applicable kernels of the highest rank: between several, `choice` decides by their costs.

    The first is the one that all others are compared with: exact, of every mode of `--optimize`,
    of the smallest workspace, and of the fewest instructions.

    Raises
    ------
    ValueError
        When several kernels have that rank and one does not say what a call costs: the header of
        one must change.
    """
    rows = [k for k, why in candidates(op, arch, facts) if not why]
    best = [k for k in rows if k.ranked(facts) == rows[0].ranked(facts)]
    silent = [k for k in best if "instructions" not in k.formulas]
    if len(best) > 1 and silent:
        other = next(k for k in best if k is not silent[0])
        first, second = sorted((silent[0].stem, other.stem))
        raise ValueError(
            f"{op} on {arch}: {first} and {second} both apply with rank {best[0].ranked(facts)};"
            f" give one of them another rank, or both `instructions` (facts: {dict(facts)})"
        )

    def order(k: KernelFile) -> tuple[bool, bool, int, int | Dim, str]:
        cost = typical(k.workspace(facts)), k.instructions(facts) or 0
        return not k.exact, k.optimize != OPTIMIZE, *cost, k.stem

    return tuple(sorted(best, key=order))


def choices(op: str, arch: str, facts: Facts) -> tuple[KernelFile, ...]:
    """All applicable kernels of any rank, with what may be set of the best, by what they promise.

    The first are those of `alternatives`, which are what there is without measuring. Then come
    their settings: a kernel of a lower rank is seldom better.
    """
    first = alternatives(op, arch, facts)
    others = [k for k, why in candidates(op, arch, facts) if not why and k not in first]
    return (*first, *(form for kernel in first for form in settings(kernel)), *others)


def settings(kernel: KernelFile) -> tuple[KernelFile, ...]:
    """Variants of a kernel that differ from it in one value which its header allows to set."""
    rows = [((macro, value),) for macro, values in kernel.tune for value in values]
    return tuple(_set(kernel.path, kernel.stem, row) for row in rows)


_set = cache(parse)


def find(op: str, arch: str, facts: Facts) -> KernelFile | None:
    """The best applicable kernel, exact where it can be, or None; errors as `alternatives`."""
    return next(iter(alternatives(op, arch, facts)), None)


def select(op: str, arch: str, facts: Facts) -> KernelFile:
    """The best applicable kernel.

    Raises
    ------
    UnsupportedError
        When no kernel applies; the message says why each candidate lost.
    """
    kernel = find(op, arch, facts)
    if kernel is None:
        raise UnsupportedError(f"no {op} kernel for {arch}: {explain(op, arch, facts)}")
    return kernel


def explain(op: str, arch: str, facts: Facts) -> str:
    """One line per candidate: chosen, an alternative to it, outranked, or why it does not apply."""
    lines = []
    equals = alternatives(op, arch, facts)
    best = equals[0] if equals else None
    for kernel, why in candidates(op, arch, facts):
        if why or best is None:
            verdict = why
        elif kernel not in equals:
            verdict = f"outranked by {best.stem} ({best.ranked(facts)})"
        else:
            verdict = "chosen" if kernel is best else "alternative"
            verdict += _costs(kernel, facts) if len(equals) > 1 else ""
        rank = kernel.formulas["rank"].text if why else kernel.ranked(facts)
        lines.append(f"{kernel.stem} (rank {rank}): {verdict}")
    return "\n".join(lines) or f"there is no kernel for {op}"


def _costs(kernel: KernelFile, facts: Facts) -> str:
    """The costs that `choice` compares, as text."""
    limits = "" if kernel.exact else ", not with --exact"
    if kernel.optimize != OPTIMIZE:
        limits += f", only with --optimize {' or '.join(kernel.optimize)}"
    return (
        f", about {kernel.instructions(facts):,} instructions, {kernel.weights(facts):,} bytes of"
        f" weights, {typical(kernel.workspace(facts)):,} of workspace{limits}"
    )
