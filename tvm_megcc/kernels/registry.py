"""The kernels there are, and which one serves a call.

A kernel is a C file under ``codegen_c/kernels``; its facts stand in its header comment (grammar:
docs/adding-a-kernel.md). Enters: an operator, an architecture and the facts of one call. Leaves:
the applicable kernel with the highest rank.

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
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import tvm_megcc.codegen_c as codegen_c
from tvm_megcc.dims import Dim, Size, Undecided, typical
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.kernels.expression import Expression, Fact
from tvm_megcc.machine import ARCHITECTURES, FEATURES, machine
from tvm_megcc.program import Kernel

_ROOT = Path(codegen_c.__file__).parent
KERNEL_DIR = _ROOT / "kernels"
OP_DIR = _ROOT / "include" / "op"

_KEYS = {
    "kernel", "op", "dtype", "arch", "isa", "when", "rank", "params", "pack", "workspace", "work",
    "inplace", "layout", "overlap", "cost",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Packing:
    """``name(**options)`` of `tvm_megcc.kernels.packing`, applied to a constant operand."""

    name: str
    options: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The facts of one kernel file."""

    stem: str
    op: str
    dtypes: tuple[str, ...]
    archs: tuple[str, ...]
    isa: str
    features: tuple[str, ...]
    when: Expression
    rank: int
    params: tuple[tuple[str, Expression], ...]
    pack: tuple[tuple[int, Packing], ...]
    workspace_bytes: Expression
    work_extent: Expression
    unit_cost: Expression
    inplace: tuple[Expression, ...] = ()
    overlap_bytes: Expression = field(default_factory=lambda: Expression("-1"))

    @property
    def path(self) -> Path:
        return KERNEL_DIR / f"{self.stem}.c"

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
        if facts.get("dtype") not in self.dtypes:
            return f"takes {', '.join(self.dtypes)}, not {facts.get('dtype')}"
        try:
            if not self.when(facts):
                return f"wants {self.when.text}"
        except Undecided as undecided:
            return f"wants {self.when.text}, but {undecided}"
        known = [(m, value) for m, value in self.params if value.names <= facts.keys()]
        symbolic = [macro for macro, value in known if isinstance(value(facts), Dim)]
        return f"wants a constant {symbolic[0]}" if symbolic else ""

    def instance(self, facts: Mapping[str, Fact]) -> Kernel:
        """The kernel with its macros set: equal parameters give equal symbols."""
        defines = tuple((macro, str(_plain(value(facts)))) for macro, value in self.params)
        suffix = "".join(f"_{m.lower()}{_identifier(v)}" for m, v in defines)
        symbol = f"megcc_{self.stem}{suffix}"
        operands = tuple(int(operand(facts)) for operand in self.inplace)
        return Kernel(
            symbol,
            template=self.stem,
            defines=defines,
            inplace=operands,
            features=self.features,
        )

    def attrs(self, facts: Mapping[str, Fact]) -> tuple[Size, ...]:
        """The ``attr`` array: facts in the order of the op header; floats by their bits."""
        return tuple(_bits(facts[name]) for name in attribute_names(self.op))

    def work(self, facts: Mapping[str, Fact]) -> Size:
        return _size(self.work_extent(facts))

    def cost(self, facts: Mapping[str, Fact]) -> int:
        """Operations in one unit of work; of usual sizes where they are symbolic."""
        return max(1, typical(_size(self.unit_cost(facts))))

    def workspace(self, facts: Mapping[str, Fact]) -> Size:
        return _size(self.workspace_bytes(facts))

    def overlap(self, facts: Mapping[str, Fact]) -> Size | None:
        """Bytes by which the output may begin before the first operand; None where it may not."""
        found = _size(self.overlap_bytes(facts))
        return None if found == -1 else found


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


@cache
def attribute_names(op: str) -> tuple[str, ...]:
    """Attributes of an operator, in lower case, in the order of ``include/op/<op>.h``'s enum."""
    text = (OP_DIR / f"{op}.h").read_text()
    body = re.search(r"enum\s*\{(.*?)\}", text, re.S)
    prefix = op.upper() + "_"
    names = (
        re.findall(r"^\s*(\w+)\s*(?:=\s*0\s*)?,?", _strip_comments(body.group(1)), re.M)
        if body
        else []
    )
    bad = [n for n in names if not n.startswith(prefix)]
    if not names or names[-1] != prefix + "ATTRS" or bad:
        raise ValueError(
            f"op/{op}.h: one enum of {prefix}... that ends with {prefix}ATTRS is needed"
        )
    return tuple(n[len(prefix) :].lower() for n in names[:-1])


def _strip_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def parse(path: Path) -> KernelFile:
    """Read the header comment of a kernel file.

    Raises
    ------
    ValueError
        When the header misses a key, has an unknown one, or does not fit the file's name.
    """
    keys: dict[str, str] = {}
    last = ""
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"// (\w+):\s*(.*?)\s*", line)
        more = re.fullmatch(r"//   +(.*?)\s*", line)
        if match:
            last = match[1]
            keys[last] = match[2]
        elif more and last:
            keys[last] += " " + more[1]
        else:
            break
    missing = {"kernel", "op", "dtype", "arch", "rank", "work", "cost"} - keys.keys()
    unknown = keys.keys() - _KEYS
    if missing or unknown:
        raise ValueError(f"{path.name}: missing keys {sorted(missing)}, unknown {sorted(unknown)}")
    archs = tuple(a.strip() for a in keys["arch"].split(","))
    if keys["kernel"] != path.stem or not set(archs) <= set(ARCHITECTURES):
        raise ValueError(f"{path.name}: `kernel` must be {path.stem}, `arch` of {ARCHITECTURES}")
    isa = keys.get("isa", "none")
    features = tuple(w for w in re.split(r"[\s,+]+", isa) if w not in ("none", "simd"))
    for arch in archs:
        if foreign := [f for f in features if f not in FEATURES[arch]]:
            raise ValueError(
                f"{path.name}: `isa` names {', '.join(foreign)}, which {arch} has not; write none,"
                f" simd or features of tvm_megcc/machine.py: {', '.join(FEATURES[arch]) or 'none'}"
            )
    return KernelFile(
        stem=path.stem,
        op=keys["op"],
        dtypes=tuple(d.strip() for d in keys["dtype"].split(",")),
        archs=archs,
        isa=isa,
        features=features,
        when=Expression(keys.get("when") or "1"),
        rank=int(keys["rank"]),
        params=tuple(_parse_params(keys.get("params", ""))),
        pack=tuple(_parse_pack(keys.get("pack", ""))),
        workspace_bytes=Expression(keys.get("workspace") or "0"),
        work_extent=Expression(keys["work"]),
        unit_cost=Expression(keys["cost"]),
        overlap_bytes=Expression(keys.get("overlap") or "-1"),
        inplace=tuple(
            Expression(i.strip()) for i in keys.get("inplace", "").split(",") if i.strip()
        ),
    )


def _parse_params(text: str) -> list[tuple[str, Expression]]:
    """``ACT=act KH=kh``: an expression with spaces stands in parentheses."""
    found = re.findall(r"(\w+)=(\((?:[^()]|\([^()]*\))*\)|\S+)", text)
    return [(name, Expression(value)) for name, value in found]


def _parse_pack(text: str) -> list[tuple[int, Packing]]:
    result = []
    for index, name, options in re.findall(r"(\d+)=(\w+)(?:\(([^)]*)\))?", text):
        pairs = [o.split("=") for o in options.split(",") if o.strip()]
        result.append((int(index), Packing(name, tuple((k.strip(), int(v)) for k, v in pairs))))
    return result


@cache
def kernels() -> tuple[KernelFile, ...]:
    """All kernel files, sorted by name."""
    return tuple(parse(path) for path in sorted(KERNEL_DIR.glob("*.c")))


def candidates(op: str, arch: str, facts: Mapping[str, Fact]) -> list[tuple[KernelFile, str]]:
    """Kernels of `op`, best rank first, each with why it does not apply ("" when it does)."""
    rows = [(k, k.refusal(arch, facts)) for k in kernels() if k.op == op]
    return sorted(rows, key=lambda row: (bool(row[1]), -row[0].rank, row[0].stem))


def find(op: str, arch: str, facts: Mapping[str, Fact]) -> KernelFile | None:
    """The best applicable kernel, or None.

    Raises
    ------
    ValueError
        When the two best kernels have equal rank: the header of one must change.
    """
    rows = [k for k, why in candidates(op, arch, facts) if not why]
    if len(rows) > 1 and rows[0].rank == rows[1].rank:
        raise ValueError(
            f"{op} on {arch}: {rows[0].stem} and {rows[1].stem} both apply with rank"
            f" {rows[0].rank};"
            f" give one of them another rank (facts: {dict(facts)})"
        )
    return rows[0] if rows else None


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
    """One line per candidate: chosen, outranked, or why it does not apply."""
    lines = []
    best: KernelFile | None = None
    for kernel, why in candidates(op, arch, facts):
        if why:
            verdict = why
        elif best is None:
            best, verdict = kernel, "chosen"
        else:
            verdict = f"outranked by {best.stem} ({best.rank})"
        lines.append(f"{kernel.stem} (rank {kernel.rank}): {verdict}")
    return "\n".join(lines) or f"there is no kernel for {op}"
