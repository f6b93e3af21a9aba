"""Choice between the loop arrangements of a generated kernel.

Without measurements only the usual one is made. With them (`kernels.tuned`) a TIR function is a
task like a call of a library's kernel. Its facts are its usual C, the types and shapes of its
buffers, and the sizes of its dynamic dims in the first call; later calls get the same kernel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tvm import tirx
from tvm.ir import PrimType

from tvm_megcc.codegen_c.tir import CANDIDATES, USUAL, GeneratedKernel, Knobs, emit_prim_func
from tvm_megcc.core.machine import machine
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.dims import Size
from tvm_megcc.kernels import tuned
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.kernels.tuned import Task

#: The operator's name in records, and the kernel's.
OPERATOR, STEM = "generated", "tir"


@dataclass(frozen=True, slots=True)
class Form:
    """A generated kernel as `kernels.tuned.Candidate`.

    Attributes
    ----------
    kernel : GeneratedKernel
    knobs : Knobs
    attrs : tuple of str
        The attributes of a call of it.
    """

    kernel: GeneratedKernel
    knobs: Knobs
    attrs: tuple[str, ...]
    stem: ClassVar[str] = STEM
    exact: ClassVar[bool] = True  # the knobs keep the order of sums
    optimize: ClassVar[tuple[str, ...]] = OPTIMIZE

    @property
    def settings(self) -> tuple[tuple[str, int], ...]:
        return self.knobs.settings

    @property
    def candidate(self) -> str:
        return " ".join([STEM, *(f"{name}={value}" for name, value in self.settings)])

    def signature(self, facts: object) -> tuple[str, tuple[str, ...]]:
        return self.kernel.symbol, self.attrs

    def sources(self) -> str:
        return nameless(self.kernel)


def nameless(kernel: GeneratedKernel) -> str:
    """C text without the symbol, which depends on the place in the model."""
    return kernel.source.replace(kernel.symbol, "kernel")


def generated(func: tirx.PrimFunc, prefix: str, arch: str, dims: Sequence[Size]) -> GeneratedKernel:
    """Kernel of a TIR function, whose dynamic dims are `dims` in its first call."""
    vectors = machine(arch).vectors
    usual = emit_prim_func(func, prefix, vectors=vectors)
    known = tuned.current()
    if known is None:
        return usual
    facts = _facts(func, usual, dims)
    task = Task.of(OPERATOR, arch, facts)
    if not known.knows(task):
        return usual
    forms = _forms(func, prefix, usual, tuple(map(str, dims)), vectors)
    return tuned.best(known, task, facts, forms).kernel


def _facts(func: tirx.PrimFunc, usual: GeneratedKernel, dims: Sequence[Size]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {
        "text": hashlib.sha256(nameless(usual).encode()).hexdigest()[:16],
        **{f"s{k}": size for k, size in enumerate(dims)},
    }
    buffers = [param for param in func.params if not isinstance(param.ty, PrimType)]
    for k, buffer in enumerate(buffers):
        sizes = (str(d.value) if isinstance(d, tirx.IntImm) else "?" for d in buffer.ty.shape)
        facts[f"p{k}"] = f"{buffer.ty.dtype}[{','.join(sizes)}]"
    return facts


def _forms(
    func: tirx.PrimFunc, prefix: str, usual: GeneratedKernel, attrs: tuple[str, ...], vectors: bool
) -> list[Form]:
    """All different kernels of a function, the usual one first."""
    found = {nameless(usual): Form(usual, USUAL, attrs)}
    for knobs in CANDIDATES:
        kernel = emit_prim_func(func, prefix, knobs, vectors=vectors)
        found.setdefault(nameless(kernel), Form(kernel, knobs, attrs))
    return list(found.values())
