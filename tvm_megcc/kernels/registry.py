"""The kernels there are, and which one serves a call.

A kernel is a C file ``codegen_c/kernels/<operator>/<stem>.c``; its facts stand in its header
comment (grammar: docs/adding-a-kernel.md), and what it is called with in its operator's contract.
Enters: an operator, an architecture and the facts of one call, its types among them
(`contract.Contract.completed`). Leaves: the applicable kernel with the highest rank.

Example
-------
>>> kernel = select("conv2d", "arm64", facts)          # doctest: +SKIP
>>> kernel.instance(facts).symbol                      # doctest: +SKIP
'megcc_conv2d_nhwc_f32_gemm_neon64_act1_residual0'
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path

import tvm_megcc.codegen_c as codegen_c
from tvm_megcc.core.machine import ARCHITECTURES, FEATURES, machine
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Dim, Size, Undecided, typical
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.kernels import constants, types
from tvm_megcc.kernels.contract import Contract, contract
from tvm_megcc.kernels.expression import Expression, Fact
from tvm_megcc.kernels.types import Types

KERNEL_DIR = Path(codegen_c.__file__).parent / "kernels"

_KEYS = {
    "kernel", "op", "dtype", "arch", "isa", "when", "rank", "params", "pack", "workspace", "work",
    "inplace", "overlap", "tolerance", "cost", "instructions", "weights", "exact",
    "optimize", "tune",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Packing:
    """``name(**options)`` of `tvm_megcc.kernels.packing`, applied to a constant operand."""

    name: str
    options: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The facts of one kernel file.

    Attributes
    ----------
    tune : tuple of (macro, values)
        What `tvmc tune` may set; without, the file's own values hold.
    settings : tuple of (macro, value)
        What is set of it: every formula of the header counts with it.
    """

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

    @property
    def path(self) -> Path:
        return KERNEL_DIR / self.op / f"{self.stem}.c"

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
                return f"wants {self.when.text}"
        except Undecided as undecided:
            return f"wants {self.when.text}, but {undecided}"
        known = [(m, value) for m, value in self.params if value.names <= facts.keys()]
        symbolic = [macro for macro, value in known if isinstance(value(facts), Dim)]
        if symbolic:
            return f"wants a constant {symbolic[0]}"
        return "" if self.ranked(facts) is not None else f"ranks {self.rank.text}, which may change"

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


def parse(path: Path, settings: tuple[tuple[str, int], ...] = ()) -> KernelFile:
    """Read the header comment of a kernel file.

    Parameters
    ----------
    path : path
    settings : tuple of (macro, value)
        Of what the header lets be tuned.

    Raises
    ------
    ValueError
        When the header misses a key, has an unknown one, or does not fit the file's name.
    """
    keys = _keys(path)
    if "like" in keys:
        # Two instances of one driver: what the other header says holds here, too.
        keys = {**_keys(path.with_name(f"{keys.pop('like')}.c")), **keys}
    missing = {"kernel", "op", "dtype", "arch", "rank", "work", "cost"} - keys.keys()
    unknown = keys.keys() - _KEYS
    if missing or unknown:
        raise ValueError(f"{path.name}: missing keys {sorted(missing)}, unknown {sorted(unknown)}")
    archs = tuple(a.strip() for a in keys["arch"].split(","))
    if keys["kernel"] != path.stem or not set(archs) <= set(ARCHITECTURES):
        raise ValueError(f"{path.name}: `kernel` must be {path.stem}, `arch` of {ARCHITECTURES}")
    if keys["op"] != path.parent.name:
        raise ValueError(f"{path.name}: a kernel of {keys['op']} stands in {path.parent.name}/")
    given = {*_macros(keys), *contract(keys["op"]).variables}
    numbers = constants.of_text(path.read_text(encoding="utf-8"), given, dict(settings))
    made = replace(_made(path.stem, archs, keys, numbers), settings=settings)
    _check_names(made)
    return made


def _keys(path: Path) -> dict[str, str]:
    """The lines of a header comment, each with those that go on with it."""
    if not path.is_file():
        raise ValueError(f"{path.name}: there is no such kernel to be like")
    keys: dict[str, str] = {}
    last = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"// (\w+):\s*(.*?)\s*", line)
        more = re.fullmatch(r"//   +(.*?)\s*", line)
        if match:
            last = match[1]
            keys[last] = match[2]
        elif more and last:
            keys[last] += " " + more[1]
        else:
            break
    return keys


def _features(name: str, isa: str, archs: Iterable[str]) -> tuple[str, ...]:
    """The features that a kernel's ``isa`` names, which all its architectures have."""
    features = tuple(w for w in re.split(r"[\s,+]+", isa) if w not in ("none", "simd"))
    for arch in archs:
        if foreign := [f for f in features if f not in FEATURES[arch]]:
            raise ValueError(
                f"{name}: `isa` names {', '.join(foreign)}, which {arch} has not; write none,"
                f" simd or features of tvm_megcc/core/machine.py:"
                f" {', '.join(FEATURES[arch]) or 'none'}"
            )
    return features


def _made(
    stem: str, archs: tuple[str, ...], keys: Mapping[str, str], numbers: Mapping[str, int]
) -> KernelFile:
    def formula(key: str, default: str = "") -> Expression:
        return Expression(keys.get(key) or default, numbers)

    operator = contract(keys["op"])
    isa = keys.get("isa", "none")
    return KernelFile(
        stem=stem,
        op=operator.op,
        types=types.parse(keys["dtype"], operator),
        archs=archs,
        isa=isa,
        features=_features(f"{stem}.c", isa, archs),
        when=formula("when", "1"),
        rank=formula("rank"),
        params=tuple((m, Expression(text, numbers)) for m, text in _params(keys)),
        pack=tuple(_packings(keys.get("pack", ""), operator, numbers)),
        workspace_bytes=formula("workspace", "0"),
        work_extent=formula("work"),
        unit_cost=formula("cost"),
        overlap_bytes=formula("overlap", "-1"),
        largest_error=formula("tolerance", "0"),
        call_instructions=formula("instructions") if "instructions" in keys else None,
        weight_bytes=formula("weights", "0"),
        exact=_exact(keys),
        optimize=_optimize(keys),
        tune=_tune(keys, numbers),
        inplace=tuple(
            operator.operand(name.strip()).name
            for name in keys.get("inplace", "").split(",")
            if name.strip()
        ),
    )


def _exact(keys: Mapping[str, str]) -> bool:
    word = keys.get("exact", "yes")
    if word not in ("yes", "no"):
        raise ValueError(f"{keys['kernel']}.c: exact: {word!r} is neither yes nor no")
    return word == "yes"


def _optimize(keys: Mapping[str, str]) -> tuple[str, ...]:
    words = tuple(keys["optimize"].split()) if "optimize" in keys else OPTIMIZE
    for word in words:
        if word not in OPTIMIZE:
            names = ", ".join(OPTIMIZE)
            raise ValueError(f"{keys['kernel']}.c: optimize: {word!r} is none of {names}")
    return words


def _tune(
    keys: Mapping[str, str], numbers: Mapping[str, int]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """``BLOCK=32,64 UNROLL=1,2``: macros that have one value in the file, and further ones.

    A value that is the file's own is left out: of files that are alike each has its own.
    """
    found = []
    for word in keys.get("tune", "").split():
        match = re.fullmatch(r"(\w+)=(\d+(?:,\d+)*)", word)
        if match is None or match[1] not in numbers:
            raise ValueError(
                f"{keys['kernel']}.c: tune: {word!r} is no macro of the file with values, as in"
                " BLOCK=32,64"
            )
        values = (int(value) for value in match[2].split(","))
        found.append((match[1], tuple(v for v in values if v != numbers[match[1]])))
    return tuple(found)


def _check_names(kernel: KernelFile) -> None:
    """Refuse a formula that names neither a fact of the operator nor a constant of the file."""
    formulas = {
        "when": kernel.when, "rank": kernel.rank, "workspace": kernel.workspace_bytes,
        "work": kernel.work_extent, "cost": kernel.unit_cost, "overlap": kernel.overlap_bytes,
        "tolerance": kernel.largest_error, "weights": kernel.weight_bytes, **dict(kernel.params),
    }  # fmt: skip
    if kernel.call_instructions is not None:
        formulas["instructions"] = kernel.call_instructions
    for key, formula in formulas.items():
        for name in sorted(formula.names - kernel.contract.names):
            raise ValueError(
                f"{kernel.stem}.c: {key}: {name!r} is neither a fact of {kernel.op} nor one number"
                " in the file's macros"
            )


def _params(keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """``ACT=act KH=kh``: an expression with spaces stands in parentheses."""
    return re.findall(r"(\w+)=(\((?:[^()]|\([^()]*\))*\)|\S+)", keys.get("params", ""))


def _macros(keys: Mapping[str, str]) -> set[str]:
    """The macros that an instance gives: what the file has for them is a default."""
    return {"MEGCC_SYMBOL", *(macro for macro, _ in _params(keys))}


def _packings(
    text: str, operator: Contract, numbers: Mapping[str, int]
) -> Iterator[tuple[str, Packing]]:
    """``w=gemm_panels(nr=NR)``: operand, packer and its options."""
    for operand, name, options in re.findall(r"(\w+)=(\w+)(?:\(([^)]*)\))?", text):
        pairs = [option.split("=") for option in options.split(",") if option.strip()]
        values = [(k.strip(), Expression(v.strip(), numbers)) for k, v in pairs]
        for option, value in values:
            if value.names:
                raise ValueError(f"{operator.op}: pack: {option}={value.text} is no one number")
        chosen = tuple((option, value.number({})) for option, value in values)
        yield operator.operand(operand).name, Packing(name, chosen)


@cache
def kernels() -> tuple[KernelFile, ...]:
    """All kernel files, sorted by name."""
    return tuple(parse(path) for path in sorted(KERNEL_DIR.glob("*/*.c"), key=lambda p: p.stem))


def listed() -> list[KernelFile]:
    """All kernel files by operator, the ones that are tried first in front."""
    return sorted(kernels(), key=lambda k: (k.op, -_usual_rank(k), k.stem))


def _usual_rank(kernel: KernelFile) -> float:
    """The rank; beyond all numbers where it depends on the call."""
    return inf if kernel.rank.names else float(kernel.ranked({}) or 0)


def candidates(op: str, arch: str, facts: Mapping[str, Fact]) -> list[tuple[KernelFile, str]]:
    """Kernels of `op`, best rank first, each with why it does not apply ("" when it does)."""
    rows = [(k, k.refusal(arch, facts)) for k in kernels() if k.op == op]
    return sorted(rows, key=lambda row: (bool(row[1]), -(row[0].ranked(facts) or 0), row[0].stem))


def alternatives(op: str, arch: str, facts: Mapping[str, Fact]) -> tuple[KernelFile, ...]:
    """The applicable kernels of the highest rank: between several, `choice` decides by their costs.

    The first is the one that all others are compared with: exact, of every mode of `--optimize`,
    and of the fewest instructions.

    Raises
    ------
    ValueError
        When several kernels have that rank and one does not say what a call costs: the header of
        one must change.
    """
    rows = [k for k, why in candidates(op, arch, facts) if not why]
    best = [k for k in rows if k.ranked(facts) == rows[0].ranked(facts)]
    silent = [k for k in best if k.call_instructions is None]
    if len(best) > 1 and silent:
        other = next(k for k in best if k is not silent[0])
        first, second = sorted((silent[0].stem, other.stem))
        raise ValueError(
            f"{op} on {arch}: {first} and {second} both apply with rank {best[0].ranked(facts)};"
            f" give one of them another rank, or both `instructions` (facts: {dict(facts)})"
        )

    def order(k: KernelFile) -> tuple[bool, bool, int | Dim, str]:
        return not k.exact, k.optimize != OPTIMIZE, k.instructions(facts) or 0, k.stem

    return tuple(sorted(best, key=order))


def choices(op: str, arch: str, facts: Mapping[str, Fact]) -> tuple[KernelFile, ...]:
    """All applicable kernels of any rank, best rank first, then what may be set of the best.

    The first are those of `alternatives`, which are what there is without measuring.
    """
    first = alternatives(op, arch, facts)
    others = [k for k, why in candidates(op, arch, facts) if not why and k not in first]
    return (*first, *others, *(form for kernel in first for form in settings(kernel)))


def settings(kernel: KernelFile) -> tuple[KernelFile, ...]:
    """A kernel with each value that its header lets be set, one at a time."""
    rows = [((macro, value),) for macro, values in kernel.tune for value in values]
    return tuple(_set(kernel.path, row) for row in rows)


_set = cache(parse)


def find(op: str, arch: str, facts: Mapping[str, Fact]) -> KernelFile | None:
    """The best applicable kernel, exact where it can be, or None; errors as `alternatives`."""
    return next(iter(alternatives(op, arch, facts)), None)


def select(op: str, arch: str, facts: Mapping[str, Fact]) -> KernelFile:
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


def explain(op: str, arch: str, facts: Mapping[str, Fact]) -> str:
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
        rank = kernel.rank.text if why else kernel.ranked(facts)
        lines.append(f"{kernel.stem} (rank {rank}): {verdict}")
    return "\n".join(lines) or f"there is no kernel for {op}"


def _costs(kernel: KernelFile, facts: Mapping[str, Fact]) -> str:
    """What `choice` weighs."""
    limits = "" if kernel.exact else ", not with --exact"
    if kernel.optimize != OPTIMIZE:
        limits += f", only with --optimize {' or '.join(kernel.optimize)}"
    return (
        f", about {kernel.instructions(facts):,} instructions, {kernel.weights(facts):,} bytes of"
        f" weights, {typical(kernel.workspace(facts)):,} of workspace{limits}"
    )
