"""``Program``: the flat, frozen, printable description between Relax and C.

``lower`` makes a `Program` without addresses, ``memory.place`` gives every arena tensor its
offset, ``codegen_c`` turns it into files. It knows nothing of Relax and nothing of C.

Sizes are ``int`` or, in a program of symbolic shapes, `tvm_megcc.dims.Dim`. Such a program has no
addresses: `memory.place` gives it `Storage` blocks that stand upon one another, and the VM works
out the addresses when the shapes of the inputs change. A `Bundle` holds several programs of one
model, each for some of the shapes.

Example
-------
>>> t = Tensor("x", "f32", (1, 4), Location("input", 0))
>>> t.nbytes
16
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from tvm_megcc.dims import Size, Symbol, at, symbols

#: dtype name -> bytes of one element. The order is the code used in the model file and in C.
DTYPES: dict[str, int] = {
    "f32": 4, "f64": 8, "f16": 2, "bf16": 2, "bool": 1, "i8": 1, "u8": 1,
    "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8,
}  # fmt: skip

#: Bytes to which arena tensors and weights are aligned unless a plan says otherwise.
ALIGNMENT = 64

Space = Literal["arena", "weight", "input", "output", "block"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a tensor's first byte is.

    Attributes
    ----------
    space : {"arena", "weight", "input", "output", "block"}
    index : int
        Position in ``Program.weights`` / ``inputs`` / ``outputs``; for ``"arena"``, the *storage*
        id before planning (tensors with one id share one block), the pool's number afterwards;
        for ``"block"``, position in ``Program.storages`` (planned programs of symbolic shapes).
    offset : Size
        Bytes from the start of that weight, port, block or storage (after planning: of that pool).
    """

    space: Space
    index: int = 0
    offset: Size = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dense row-major array; views are tensors with the same storage and an offset."""

    name: str
    dtype: str
    shape: tuple[Size, ...]
    location: Location

    @property
    def nbytes(self) -> Size:
        return prod(self.shape) * DTYPES[self.dtype]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One C function: an instance of a file under ``codegen_c/kernels`` or generated from TIR.

    Attributes
    ----------
    symbol : str
        C identifier; equal symbols mean equal source.
    template : str
        Stem of the kernel file, or ``""`` for a generated kernel.
    defines : tuple of (macro, value)
        Parameters of the instance, in the order in which they are printed.
    source : str
        Body of a generated kernel (a full C file), else ``""``.
    inplace : tuple of int
        Operands whose memory the (only) output may take over, best first.
    """

    symbol: str
    template: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    source: str = ""
    inplace: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """Run ``kernels[kernel]`` over ``[0, work)``.

    Attributes
    ----------
    operands : tuple of int
        Tensor ids, inputs first, then outputs: the kernel's ``ptr`` argument.
    n_outputs : int
        How many of the operands, counted from the end, are written.
    attrs : tuple of Size
        The kernel's ``attr`` argument, 32-bit each; a float is stored by its bits.
    work : Size
        Extent of the kernel's parallel dimension (0: nothing to do, the call is skipped).
    workspace : int or None
        Tensor id of the scratch bytes (dtype ``u8``) that live during this call only.
    name : str
        Name of the model's node(s), for profiles and error messages.
    """

    kernel: int
    operands: tuple[int, ...]
    n_outputs: int
    attrs: tuple[Size, ...] = ()
    work: Size = 1
    workspace: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Read sizes that depend on data: ``symbols[k]`` becomes element ``k`` of tensor ``source``.

    Attributes
    ----------
    source : int
        Tensor id, ``i32`` or ``i64``.
    symbols : tuple of int
        Positions in ``Program.symbols``.
    name : str
        Name of the model's node.
    """

    source: int
    symbols: tuple[int, ...]
    name: str = ""


Step = Call | Load


@dataclass(frozen=True, slots=True)
class Port:
    """A model input or output: its name exactly as in the model, and its tensor id."""

    name: str
    tensor: int


@dataclass(frozen=True, slots=True)
class Weight:
    """Constant bytes, packed for the kernel that reads them; equal bytes are stored once."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Pool:
    """One of the caller's buffers for activations: its name, and how many bytes are used of it."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Block:
    """Where one storage lives: `offset` in pool number `pool`, during calls ``[first, last)``."""

    name: str
    first: int
    last: int
    bytes: int
    pool: int
    offset: int


@dataclass(frozen=True, slots=True)
class Requirement:
    """Two sizes that the model needs to be equal: shapes for which they differ are refused."""

    a: Size
    b: Size
    name: str


@dataclass(frozen=True, slots=True)
class Storage:
    """A block of the arena of a program whose sizes are symbolic.

    It stands, aligned, on the highest end of the blocks below it, and is as large as the tensors in
    it need.

    Attributes
    ----------
    name : str
    alignment : int
        Bytes.
    below : tuple of int
        Numbers, all smaller than its own, of the blocks that it stands on.
    first, last : int
        Live during calls ``[first, last)``.
    dynamic : bool
        Not in the arena: its size depends on data, so the VM asks the caller's allocator for it.
    """

    name: str
    alignment: int
    below: tuple[int, ...]
    first: int
    last: int
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How ``memory.place`` came to its addresses.

    Attributes
    ----------
    planner : str
        Which planner won.
    lower_bound : int
        Bytes below which no plan for these blocks can go.
    naive_bytes : int
        Bytes if every block had a place of its own.
    peak_step : int
        Number of a call during which the most bytes are live.
    blocks : tuple of Block
    pools : tuple of Pool
        One ("arena") unless several were asked for.
    """

    planner: str
    lower_bound: int
    naive_bytes: int
    peak_step: int
    blocks: tuple[Block, ...]
    pools: tuple[Pool, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A whole model for one architecture.

    ``arena_bytes``, the total of all pools, and ``plan`` are None until ``memory.place`` has run.
    A port's tensor has location ``("input"|"output", k)`` or, when the port lives in the arena,
    ``("arena", ...)``. A program of symbolic shapes has ``symbols``; ``memory.place`` gives it
    ``storages`` and leaves ``arena_bytes`` and ``plan`` None; where all its symbols are bounded,
    ``arena_limit`` is the arena that does for all sizes.
    """

    name: str
    arch: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    tensors: tuple[Tensor, ...]
    kernels: tuple[Kernel, ...]
    calls: tuple[Step, ...]
    weights: tuple[Weight, ...]
    arena_bytes: int | None = None
    plan: MemoryPlan | None = None
    symbols: tuple[Symbol, ...] = ()
    storages: tuple[Storage, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    arena_limit: int | None = None

    def __str__(self) -> str:
        def show(i: int) -> str:
            t = self.tensors[i]
            place = f"{t.location.space}[{t.location.index}]+{t.location.offset}"
            return f"%{i}:{t.dtype}{list(t.shape)}@{place}"

        lines = [f"program {self.name!r} for {self.arch}, arena {self.arena_bytes} bytes"]
        lines += [f"  input {p.name!r} = {show(p.tensor)}" for p in self.inputs]
        lines += [f"  require {r.a} == {r.b}  // {r.name}" for r in self.requirements]
        for n, c in enumerate(self.calls):
            if isinstance(c, Load):
                names = ", ".join(self.symbols[k].name for k in c.symbols)
                lines.append(f"  {n:4d}: {names} = load({show(c.source)})  // {c.name}")
                continue
            cut = len(c.operands) - c.n_outputs
            reads = ", ".join(map(show, c.operands[:cut]))
            writes = ", ".join(map(show, c.operands[cut:]))
            scratch = f" workspace {show(c.workspace)}" if c.workspace is not None else ""
            lines.append(
                f"  {n:4d}: {writes} = {self.kernels[c.kernel].symbol}({reads})"
                f" attrs {list(c.attrs)} work {c.work}{scratch}  // {c.name}"
            )
        lines += [f"  output {p.name!r} = {show(p.tensor)}" for p in self.outputs]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class PortType:
    """What a model accepts at an input: each dim is a number or one symbol."""

    name: str
    dtype: str
    dims: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """``low <= symbol < high``; ``high`` is None when there is no end."""

    symbol: int
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Variant:
    """A program, and for which sizes it is: all of ``guard`` must hold."""

    guard: tuple[Range, ...]
    program: Program


@dataclass(frozen=True, slots=True)
class Bundle:
    """One model for one architecture as several programs, each for some of the shapes.

    The variants are tried in order. Their ports agree in name, order, dtype and rank.
    """

    name: str
    arch: str
    symbols: tuple[Symbol, ...]
    inputs: tuple[PortType, ...]
    variants: tuple[Variant, ...]


def bundle_of(program: Program) -> Bundle:
    """A program for all shapes that it accepts."""
    inputs = tuple(
        PortType(p.name, program.tensors[p.tensor].dtype, program.tensors[p.tensor].shape)
        for p in program.inputs
    )
    data = data_symbols(program)
    of_inputs = tuple(s for s in program.symbols if s not in data)
    return Bundle(program.name, program.arch, of_inputs, inputs, (Variant((), program),))


def data_symbols(program: Program) -> frozenset[Symbol]:
    """The symbols that are read from data during the run."""
    loads = (step for step in program.calls if isinstance(step, Load))
    return frozenset(program.symbols[k] for load in loads for k in load.symbols)


def waits_for_data(program: Program, tensor: Tensor) -> bool:
    """Whether a dim of the tensor is read from data during the run."""
    data = data_symbols(program)
    return any(symbols(dim) & data for dim in tensor.shape)


def operands_of(step: Step) -> tuple[int, ...]:
    """Every tensor that a step touches, its workspace included."""
    if isinstance(step, Load):
        return (step.source,)
    return step.operands if step.workspace is None else (*step.operands, step.workspace)


def programs_of(found: Program | Bundle) -> tuple[Program, ...]:
    """The programs of a bundle, or the one that there is."""
    return tuple(v.program for v in found.variants) if isinstance(found, Bundle) else (found,)


def sized(program: Program, values: Mapping[str, int]) -> Program:
    """`program` as it is for given symbols: every size a number, no symbol left."""

    def number(size: Size) -> int:
        return at(size, values)

    def call(step: Step) -> Step:
        if isinstance(step, Load):
            return step
        return replace(step, attrs=tuple(map(number, step.attrs)), work=number(step.work))

    def tensor(t: Tensor) -> Tensor:
        location = replace(t.location, offset=number(t.location.offset))
        return replace(t, shape=tuple(map(number, t.shape)), location=location)

    return replace(
        program,
        tensors=tuple(map(tensor, program.tensors)),
        calls=tuple(map(call, program.calls)),
        symbols=(),
        requirements=(),
    )
