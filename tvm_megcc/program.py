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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tvm_megcc import dtypes
from tvm_megcc.dims import Size, Symbol, at, product, symbols

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
        return dtypes.nbytes(self.dtype, product(self.shape))


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
    features : tuple of str
        Of the machine's features, those without which the kernel does not compile.
    """

    symbol: str
    template: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    source: str = ""
    inplace: tuple[int, ...] = ()
    features: tuple[str, ...] = ()


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
    overlap : Size or None
        Bytes by which the output may begin before the first operand in the same memory (or more),
        as the kernel has read what it then overwrites; None: they must not overlap.
    cost : int
        About how many operations one unit of the work takes.
    workers : int
        How many equal parts the workspace has, one for each worker that may run the call at once.
    """

    kernel: int
    operands: tuple[int, ...]
    n_outputs: int
    attrs: tuple[Size, ...] = ()
    work: Size = 1
    workspace: int | None = None
    name: str = ""
    overlap: Size | None = None
    cost: int = 1
    workers: int = 1


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


@dataclass(frozen=True, slots=True)
class Let:
    """Sizes that become others during a run: ``symbols[k]`` becomes ``sizes[k]``.

    A loop's state changes its size from iteration to iteration, and the branches of an If give
    results of different sizes. Several Lets may set the same symbols.

    Attributes
    ----------
    symbols : tuple of int
        Positions in ``Program.symbols``.
    sizes : tuple of Size
    name : str
        Name of the model's node.
    """

    symbols: tuple[int, ...]
    sizes: tuple[Size, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """End the run unless ``condition`` (``bool``, one element) is true.

    What reads the value that is checked comes later in the program: no operand of it says so.

    Attributes
    ----------
    condition : int
        Tensor id.
    name : str
        The model's node, as messages call it.
    """

    condition: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy tensor ``source`` to tensor ``target``.

    Attributes
    ----------
    target, source : int
        Tensor ids; their dims agree, but for what only the run shows.
    row : int or None
        Tensor id of a number (``i64``): only that row, counted by the first dim, of the target (or,
        with ``into`` False, of the source) is copied.
    into : bool
        Whether ``row`` counts the target's rows.
    backwards : bool
        Whether it counts them from the last one.
    name : str
        Name of the model's node.
    """

    target: int
    source: int
    row: int | None = None
    into: bool = True
    backwards: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class If:
    """The steps up to the matching `Else` are run if ``condition`` (``bool``) is true.

    If it is not, those from there to the matching `End` are.
    """

    condition: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Else:
    """Where the other branch of an `If` begins."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """The steps up to the matching `End` are run as long as the conditions hold.

    Attributes
    ----------
    counter : int
        Tensor id (``i64``, one element) of the number of iterations that have been run.
    limit : int or None
        Tensor id (``i64``) of a number that ``counter`` stays below.
    condition : int or None
        Tensor id (``bool``) of what must be true.
    """

    counter: int
    limit: int | None = None
    condition: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """Where an `If` or a `Loop` ends."""

    name: str = ""


Step = Call | Load | Let | Check | Copy | If | Else | Loop | End


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
        depth = 0
        for n, step in enumerate(self.calls):
            depth -= isinstance(step, Else | End)
            lines.append(f"  {n:4d}: {'  ' * depth}{self._shown(step, show)}  // {step.name}")
            depth += isinstance(step, If | Else | Loop)
        lines += [f"  output {p.name!r} = {show(p.tensor)}" for p in self.outputs]
        return "\n".join(lines)

    def _shown(self, step: Step, show: Callable[[int], str]) -> str:
        """A step as text; tensors as `show` writes them."""
        match step:
            case Load():
                names = ", ".join(self.symbols[k].name for k in step.symbols)
                return f"{names} = load({show(step.source)})"
            case Let():
                names = ", ".join(self.symbols[k].name for k in step.symbols)
                return f"{names} = {', '.join(map(str, step.sizes))}"
            case Copy():
                number = "" if step.row is None else show(step.row)
                row = f"[{'-1 - ' * step.backwards}{number}]" if number else ""
                ends = (row, "") if step.into else ("", row)
                return f"{show(step.target)}{ends[0]} = {show(step.source)}{ends[1]}"
            case Check():
                return f"check {show(step.condition)}"
            case If():
                return f"if {show(step.condition)}"
            case Loop():
                parts = [] if step.condition is None else [show(step.condition)]
                if step.limit is not None:
                    parts.append(f"{show(step.counter)} < {show(step.limit)}")
                return f"while {' and '.join(parts)}, counting {show(step.counter)}"
            case Else() | End():
                return type(step).__name__.lower()
        cut = len(step.operands) - step.n_outputs
        reads = ", ".join(map(show, step.operands[:cut]))
        writes = ", ".join(map(show, step.operands[cut:]))
        scratch = f" workspace {show(step.workspace)}" if step.workspace is not None else ""
        return (
            f"{writes} = {self.kernels[step.kernel].symbol}({reads})"
            f" attrs {list(step.attrs)} work {step.work} x {step.cost}{scratch}"
        )


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
    """The symbols that are set during the run."""
    setters = (step for step in program.calls if isinstance(step, Load | Let))
    return frozenset(program.symbols[k] for step in setters for k in step.symbols)


def waits_for_data(program: Program, tensor: Tensor) -> bool:
    """Whether a dim of the tensor is set during the run."""
    data = data_symbols(program)
    return any(symbols(dim) & data for dim in tensor.shape)


def operands_of(step: Step) -> tuple[int, ...]:
    """Every tensor that a step touches, its workspace included."""
    match step:
        case Load():
            return (step.source,)
        case Copy():
            return (step.target, step.source, *_present(step.row))
        case If() | Check():
            return (step.condition,)
        case Loop():
            return (step.counter, *_present(step.limit, step.condition))
        case Call():
            return (*step.operands, *_present(step.workspace))
    return ()


def _present(*tensors: int | None) -> tuple[int, ...]:
    return tuple(t for t in tensors if t is not None)


def with_operands(step: Step, number: Callable[[int], int]) -> Step:
    """`step` with every tensor id that it holds replaced by ``number`` of it."""

    def maybe(tensor: int | None) -> int | None:
        return None if tensor is None else number(tensor)

    match step:
        case Load():
            return replace(step, source=number(step.source))
        case Copy():
            return replace(
                step,
                target=number(step.target),
                source=number(step.source),
                row=maybe(step.row),
            )
        case If() | Check():
            return replace(step, condition=number(step.condition))
        case Loop():
            return replace(
                step,
                counter=number(step.counter),
                limit=maybe(step.limit),
                condition=maybe(step.condition),
            )
        case Call():
            return replace(
                step,
                operands=tuple(map(number, step.operands)),
                workspace=maybe(step.workspace),
            )
    return step


def regions(program: Program) -> dict[int, int]:
    """The step with which each `If`, `Else` and `Loop` ends: the `Else`, or the `End`."""
    open_steps: list[int] = []
    found: dict[int, int] = {}
    for number, step in enumerate(program.calls):
        if isinstance(step, Else | End):
            found[open_steps.pop()] = number
        if isinstance(step, If | Else | Loop):
            open_steps.append(number)
    assert not open_steps, "an If or a Loop does not end"
    return found


def live_steps(program: Program) -> dict[int, tuple[int, int]]:
    """First and last step during which each storage of the arena is live, but for what ports need.

    What is used both in a loop and outside of it, a port's storage too, is live during the whole
    loop: the next iteration finds in it what this one has left.
    """
    found: dict[int, tuple[int, int]] = {}
    for number, step in enumerate(program.calls):
        for tensor in operands_of(step):
            at = program.tensors[tensor].location
            if at.space == "arena":
                first, _ = found.get(at.index, (number, number))
                found[at.index] = first, number
    around = loops(program)
    if around:
        ports = {program.tensors[p.tensor].location for p in (*program.inputs, *program.outputs)}
        outside = {at.index for at in ports if at.space == "arena"}
        found = {s: _around(span, around, s in outside) for s, span in found.items()}
    return found


def loops(program: Program) -> list[tuple[int, int]]:
    """First and last step of each loop, inner ones first."""
    ends = regions(program)
    found = [(n, ends[n]) for n, step in enumerate(program.calls) if isinstance(step, Loop)]
    return sorted(found, key=lambda loop: loop[1] - loop[0])


def _around(span: tuple[int, int], found: list[tuple[int, int]], is_port: bool) -> tuple[int, int]:
    first, last = span
    for begin, end in found:
        if begin < first and last < end and not is_port:
            continue  # of one iteration
        if first <= end and last >= begin:
            first, last = min(first, begin), max(last, end)
    return first, last


def programs_of(found: Program | Bundle) -> tuple[Program, ...]:
    """The programs of a bundle, or the one that there is."""
    return tuple(v.program for v in found.variants) if isinstance(found, Bundle) else (found,)


def sized(program: Program, values: Mapping[str, int]) -> Program:
    """`program` as it is for given symbols: every size a number, no symbol left."""

    def number(size: Size) -> int:
        return at(size, values)

    def call(step: Step) -> Step:
        if not isinstance(step, Call):
            return step
        overlap = None if step.overlap is None else number(step.overlap)
        attrs = tuple(map(number, step.attrs))
        return replace(step, attrs=attrs, work=number(step.work), overlap=overlap)

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
