"""The facts of one kernel, which are a row of a kernel file, and what they say of a call.

Enters: what `kernels.header` read, and the facts of a call. Leaves: whether the kernel serves it,
with which macros, and what that takes.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tvm_megcc.codegen_c.kernel_rows import text_of
from tvm_megcc.core.machine import machine
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Dim, Size, Undecided, typical
from tvm_megcc.kernels.contract import Contract, contract
from tvm_megcc.kernels.expression import Expression, Fact
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
    lets : mapping
        Formulas that the others name.
    tune : tuple of (macro, values)
        What `tvmc tune` may set; without, the file's own values hold.
    settings : tuple of (macro, value)
        What is set of it: every formula of the header counts with it.
    """

    path: Path
    stem: str
    op: str
    types: Types
    archs: tuple[str, ...]
    isa: str
    features: tuple[str, ...]
    when: Expression
    rank: Expression
    params: tuple[tuple[str, Expression], ...]
    pack: tuple[tuple[str, Packing], ...]
    workspace_bytes: Expression
    work_extent: Expression
    unit_cost: Expression
    lets: Mapping[str, Expression] = field(default_factory=dict, repr=False)
    inplace: tuple[str, ...] = ()
    overlap_bytes: Expression = field(default_factory=lambda: Expression("-1"))
    largest_error: Expression = field(default_factory=lambda: Expression("0"))
    call_instructions: Expression | None = None
    weight_bytes: Expression = field(default_factory=lambda: Expression("0"))
    exact: bool = True
    optimize: tuple[str, ...] = OPTIMIZE
    tune: tuple[tuple[str, tuple[int, ...]], ...] = ()
    settings: tuple[tuple[str, int], ...] = ()

    @property
    def candidate(self) -> str:
        """The kernel and what is set of it, as records and reports name it."""
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

    def refusal(self, arch: str, facts: Mapping[str, Fact]) -> str:
        """Why the kernel does not apply, or an empty string when it does."""
        mine = machine(arch)
        if mine.arch.name not in self.archs and "portable" not in self.archs:
            return f"is for {', '.join(self.archs)}"
        if missing := self._missing(arch):
            wanted = machine("+".join([arch, *missing])).name
            return f"needs {', '.join(missing)}, as --arch {wanted} has"
        if why := self.types.refusal(facts):
            return why
        try:
            if not self.when(facts):
                return f"wants {self.when.spelled_out}"
        except Undecided as undecided:
            return f"wants {self.when.spelled_out}, but {undecided}"
        known = [(m, value) for m, value in self.params if value.names <= facts.keys()]
        symbolic = [macro for macro, value in known if isinstance(value(facts), Dim)]
        if symbolic:
            return f"wants a constant {symbolic[0]}"
        return (
            ""
            if self.ranked(facts) is not None
            else f"ranks {self.rank.spelled_out}, which may change"
        )

    def ranked(self, facts: Mapping[str, Fact]) -> int | None:
        """The rank for a call; None where it depends on the shapes at run time."""
        try:
            rank = self.rank(facts)
        except Undecided:
            return None
        return None if isinstance(rank, Dim) else int(rank)

    def instance(self, facts: Mapping[str, Fact]) -> Kernel:
        """The kernel with its macros set: equal parameters give equal symbols."""
        defines = tuple((macro, str(_plain(value(facts)))) for macro, value in self.params)
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

    def attrs(self, facts: Mapping[str, Fact]) -> tuple[Size, ...]:
        """The ``attr`` array: facts in the order of the op header; floats by their bits."""
        return tuple(_bits(facts[name]) for name in self.contract.attributes)

    def signature(self, facts: Mapping[str, Fact]) -> tuple[str, tuple[str, ...]]:
        """What a program has where the kernel serves a call: its symbol, and its attributes."""
        return self.instance(facts).symbol, tuple(str(attr) for attr in self.attrs(facts))

    def sources(self) -> str:
        """The C text that instances are compiled from."""
        return text_of(self.path.read_text(encoding="utf-8"), self.stem)

    def work(self, facts: Mapping[str, Fact]) -> Size:
        return _size(self.work_extent(facts))

    def cost(self, facts: Mapping[str, Fact]) -> int:
        """Operations in one unit of work; of usual sizes where they are symbolic."""
        return max(1, typical(_size(self.unit_cost(facts))))

    def packings(self, facts: Mapping[str, Fact]) -> tuple[tuple[str, Packing], ...]:
        """How the operands that a call has are packed: some are there in some calls only."""
        there = [operand.name for operand in self.contract.inputs_of(facts)]
        return tuple(row for row in self.pack if row[0] in there)

    def workspace(self, facts: Mapping[str, Fact]) -> Size:
        return _size(self.workspace_bytes(facts))

    def instructions(self, facts: Mapping[str, Fact]) -> int | None:
        """About how many a whole call takes, of usual sizes; None where the header does not say."""
        if self.call_instructions is None:
            return None
        return typical(_size(self.call_instructions(facts)))

    def weights(self, facts: Mapping[str, Fact]) -> int:
        """Bytes of the packed constants that depend on the kernel, where its header says."""
        return typical(_size(self.weight_bytes(facts)))

    def overlap(self, facts: Mapping[str, Fact]) -> Size | None:
        """Bytes by which the output may begin before the first operand; None where it may not."""
        found = _size(self.overlap_bytes(facts))
        return None if found == -1 else found

    def tolerance(self, facts: Mapping[str, Fact]) -> float:
        """Largest error over largest magnitude; 0: equal to the bit."""
        limit = self.largest_error(facts)
        assert isinstance(limit, int | float), f"{self.stem}: tolerance {limit!r}"
        return float(limit)


def _size(value: Fact) -> Size:
    return value if isinstance(value, Dim) else int(value)


def _plain(value: Fact) -> Fact:
    return int(value) if isinstance(value, bool) else value


def _identifier(value: str) -> str:
    """A parameter's value as part of a C identifier."""
    if re.fullmatch(r"\w+", value):
        return value
    return (
        "m" + value[1:]
        if re.fullmatch(r"-\d+", value)
        else (hashlib.sha256(value.encode()).hexdigest()[:8])
    )


def _bits(value: Fact) -> Size:
    if isinstance(value, Dim):
        return value
    if isinstance(value, float):
        return int(struct.unpack("<i", struct.pack("<f", value))[0])
    if not isinstance(value, int):
        raise TypeError(f"attribute value {value!r} is not a number")
    return int(value)
