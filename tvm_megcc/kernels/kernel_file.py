"""The facts of one kernel, a row of a kernel file, applied to a call.

Enters: facts that `kernels.header` read, and the facts of a call. Leaves: whether the kernel serves
the call, with which macros, at which cost.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tvm_megcc.codegen_c.kernel_rows import text_of
from tvm_megcc.core.machine import machine
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Dim, Size, Undecided, typical
from tvm_megcc.kernels.contract import Contract, contract
from tvm_megcc.kernels.expression import Expression, Fact, Facts
from tvm_megcc.kernels.types import Types


@dataclass(frozen=True, slots=True)
class Packing:
    """``name(**options)`` of `tvm_megcc.kernels.packing`, applied to a constant operand."""

    name: str
    options: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The facts of one kernel.

    Attributes
    ----------
    path : Path
        The C file, which may have several kernels.
    features : tuple of str
        CPU features without which the kernel does not compile.
    formulas : mapping
        Header key -> expression over a call's facts, of the keys in `header.FORMULAS`.
    exact : bool
        Whether the kernel computes the operator's own sum, not one that is equal but for rounding.
    optimize : tuple of str
        The modes of ``--optimize`` in which the kernel may be chosen.
    tune : tuple of (macro, values)
        Values that `tvmc tune` may try beside the file's own.
    settings : tuple of (macro, value)
        The values that are set: every formula of the header counts with them.
    """

    path: Path
    stem: str
    op: str
    types: Types
    archs: tuple[str, ...]
    isa: str
    features: tuple[str, ...]
    formulas: Mapping[str, Expression]
    params: tuple[tuple[str, Expression], ...]
    pack: tuple[tuple[str, Packing], ...]
    inplace: tuple[str, ...] = ()
    exact: bool = True
    optimize: tuple[str, ...] = OPTIMIZE
    tune: tuple[tuple[str, tuple[int, ...]], ...] = ()
    settings: tuple[tuple[str, int], ...] = ()

    @property
    def candidate(self) -> str:
        """The kernel's name and its settings, as in records and reports."""
        return " ".join([self.stem, *(f"{macro}={value}" for macro, value in self.settings)])

    @property
    def contract(self) -> Contract:
        return contract(self.op)

    def runs_on(self, arch: str) -> bool:
        """Whether the kernel is for a machine, for some calls at least."""
        archs = {machine(arch).arch.name, "portable"}
        return not archs.isdisjoint(self.archs) and not self._missing(arch)

    def _missing(self, arch: str) -> list[str]:
        has = {f.name for f in machine(arch).features}
        return [name for name in self.features if name not in has]

    def refusal(self, arch: str, facts: Facts) -> str:
        """Why the kernel does not apply, or an empty string when it does."""
        mine = machine(arch)
        if mine.arch.name not in self.archs and "portable" not in self.archs:
            return f"is for {', '.join(self.archs)}"
        if missing := self._missing(arch):
            wanted = machine("+".join([arch, *missing])).name
            return f"needs {', '.join(missing)}, as --arch {wanted} has"
        if why := self.types.refusal(facts):
            return why
        when = self.formulas["when"]
        try:
            if not when(facts):
                return f"wants {when.spelled_out}"
        except Undecided as undecided:
            return f"wants {when.spelled_out}, but {undecided}"
        known = [(m, value) for m, value in self.params if value.names <= facts.keys()]
        symbolic = [macro for macro, value in known if isinstance(value(facts), Dim)]
        if symbolic:
            return f"wants a constant {symbolic[0]}"
        if self.ranked(facts) is None:
            return f"ranks {self.formulas['rank'].spelled_out}, which may change"
        return ""

    def ranked(self, facts: Facts) -> int | None:
        """The rank for a call; None where it depends on the shapes at run time."""
        try:
            rank = self.formulas["rank"](facts)
        except Undecided:
            return None
        return None if isinstance(rank, Dim) else int(rank)

    def instance(self, facts: Facts) -> Kernel:
        """The kernel with its macros set: equal parameters give equal symbols."""
        values = ((macro, value(facts)) for macro, value in self.params)
        defines = tuple((m, str(int(v) if isinstance(v, bool) else v)) for m, v in values)
        defines += tuple((macro, str(value)) for macro, value in self.settings)
        suffix = "".join(f"_{m.lower()}{_identifier(v)}" for m, v in defines)
        symbol = f"megcc_{self.stem}{suffix}"
        inputs = [operand.name for operand in self.contract.inputs_of(facts)]
        return Kernel(
            symbol,
            template=self.stem,
            defines=defines,
            inplace=tuple(inputs.index(name) for name in self.inplace if name in inputs),
            features=self.features,
        )

    def attrs(self, facts: Facts) -> tuple[Size, ...]:
        """The ``attr`` array: facts in the order of the op header; floats by their bits."""
        return tuple(bits_of(facts[name]) for name in self.contract.attributes)

    def signature(self, facts: Facts) -> tuple[str, tuple[str, ...]]:
        """Symbol and attributes of a program's call."""
        return self.instance(facts).symbol, tuple(str(attr) for attr in self.attrs(facts))

    def sources(self) -> str:
        """The C text that instances are compiled from."""
        return text_of(self.path.read_text(encoding="utf-8"), self.stem)

    def work(self, facts: Facts) -> Size:
        """Units of work of a call, which threads may share."""
        return self._size("work", facts)

    def cost(self, facts: Facts) -> int:
        """Operations in one unit of work, for usual sizes: whether a call is worth splitting."""
        return max(1, typical(self._size("cost", facts)))

    def packings(self, facts: Facts) -> tuple[tuple[str, Packing], ...]:
        """The packing of each operand that a call has: some are there in some calls only."""
        there = [operand.name for operand in self.contract.inputs_of(facts)]
        return tuple(row for row in self.pack if row[0] in there)

    def workspace(self, facts: Facts) -> Size:
        """Bytes of scratch memory for each thread of a call."""
        return self._size("workspace", facts)

    def instructions(self, facts: Facts) -> int | None:
        """About how many instructions a whole call takes, for usual sizes; None: not known."""
        known = "instructions" in self.formulas
        return typical(self._size("instructions", facts)) if known else None

    def weights(self, facts: Facts) -> int:
        """Bytes of the packed constants; 0 where no kernel of equal rank packs them otherwise."""
        return typical(self._size("weights", facts))

    def overlap(self, facts: Facts) -> Size | None:
        """Bytes by which the output may begin before the first operand; None where it may not."""
        found = self._size("overlap", facts)
        return None if found == -1 else found

    def tolerance(self, facts: Facts) -> float:
        """Largest error over largest magnitude; 0: equal to the bit."""
        limit = self.formulas["tolerance"](facts)
        assert isinstance(limit, int | float), f"{self.stem}: tolerance {limit!r}"
        return float(limit)

    def _size(self, key: str, facts: Facts) -> Size:
        value = self.formulas[key](facts)
        return value if isinstance(value, Dim) else int(value)


def _identifier(value: str) -> str:
    """A parameter's value as part of a C identifier."""
    if re.fullmatch(r"\w+", value):
        return value
    if re.fullmatch(r"-\d+", value):
        return "m" + value[1:]
    return hashlib.sha256(value.encode()).hexdigest()[:8]


def bits_of(value: Fact) -> Size:
    """A fact as an attribute of a call: a float by its bits, a size as it is."""
    if isinstance(value, Dim):
        return value
    if isinstance(value, float):
        return int(struct.unpack("<i", struct.pack("<f", value))[0])
    if not isinstance(value, int):
        raise TypeError(f"attribute value {value!r} is not a number")
    return int(value)
