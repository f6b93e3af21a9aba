"""``Program``: the flat, frozen, printable description between Relax and C.

``lower`` makes a `Program` without addresses, ``memory.place`` gives every arena tensor its
offset, ``codegen_c`` turns it into files. It knows nothing of Relax and nothing of C.

Example
-------
>>> t = Tensor("x", "f32", (1, 4), Location("input", 0))
>>> t.nbytes
16
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

#: dtype name -> bytes of one element. The order is the code used in the model file and in C.
DTYPES: dict[str, int] = {
    "f32": 4, "f64": 8, "f16": 2, "bf16": 2, "bool": 1, "i8": 1, "u8": 1,
    "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8,
}  # fmt: skip

#: Bytes to which arena tensors and weights are aligned unless a plan says otherwise.
ALIGNMENT = 64

Space = Literal["arena", "weight", "input", "output"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a tensor's first byte is.

    Attributes
    ----------
    space : {"arena", "weight", "input", "output"}
    index : int
        Position in ``Program.weights`` / ``inputs`` / ``outputs``; for ``"arena"``, the *storage*
        id before planning (tensors with one id share one block), the pool's number afterwards.
    offset : int
        Bytes from the start of that weight, port or storage (after planning: of that pool).
    """

    space: Space
    index: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dense row-major array; views are tensors with the same storage and an offset."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    location: Location

    @property
    def nbytes(self) -> int:
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
    attrs : tuple of int
        The kernel's ``attr`` argument, 32-bit each; a float is stored by its bits.
    work : int
        Extent of the kernel's parallel dimension (0: nothing to do, the call is skipped).
    workspace : int or None
        Tensor id of the scratch bytes (dtype ``u8``) that live during this call only.
    name : str
        Name of the model's node(s), for profiles and error messages.
    """

    kernel: int
    operands: tuple[int, ...]
    n_outputs: int
    attrs: tuple[int, ...] = ()
    work: int = 1
    workspace: int | None = None
    name: str = ""


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
    ``("arena", ...)``.
    """

    name: str
    arch: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    tensors: tuple[Tensor, ...]
    kernels: tuple[Kernel, ...]
    calls: tuple[Call, ...]
    weights: tuple[Weight, ...]
    arena_bytes: int | None = None
    plan: MemoryPlan | None = None

    def __str__(self) -> str:
        def show(i: int) -> str:
            t = self.tensors[i]
            place = f"{t.location.space}[{t.location.index}]+{t.location.offset}"
            return f"%{i}:{t.dtype}{list(t.shape)}@{place}"

        lines = [f"program {self.name!r} for {self.arch}, arena {self.arena_bytes} bytes"]
        lines += [f"  input {p.name!r} = {show(p.tensor)}" for p in self.inputs]
        for n, c in enumerate(self.calls):
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
