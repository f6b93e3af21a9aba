"""The steps of a program: calls of kernels, choices, loops, checks, sizes that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tvm_megcc.core.program.bands import Images, Path, Rows
from tvm_megcc.dims import Size


@dataclass(frozen=True, slots=True)
class Kernel:
    """One C function: an instance of a file under ``codegen_c/kernels`` or generated from TIR.

    Attributes
    ----------
    symbol : str
        C identifier; equal symbols mean equal source.
    template : str
        Name of the kernel (a row of a kernel file), or ``""`` for a generated one.
    defines : tuple of (macro, value)
        Parameters of the instance, in the order in which they are printed.
    source : str
        Body of a generated kernel (a full C file), else ``""``.
    inplace : tuple of int
        Operands whose memory the (only) output may take over, best first.
    rows : tuple of int
        Elements of a part of each operand of a generated kernel: the operand and the work are as
        many parts, and part k of the work touches no other part of the operand. 0: the operand
        has no such parts. Empty where nothing is known.
    features : tuple of str
        Of the machine's features, those without which the kernel does not compile.
    extern : str
        Name of the function that it calls and that the package's user defines, else ``""``.
    """

    symbol: str
    template: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    source: str = ""
    inplace: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    features: tuple[str, ...] = ()
    extern: str = ""


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
    nodes : tuple of str
        Of the model's nodes (``Conv 'name'``), those that this call computes or is a part of.
    multiply_adds : Size
        Of a convolution or matrix product; 0 for others and where it is not known.
    rows : Rows or None
        The band that each iteration of the innermost loop computes; None: all of it.
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
    nodes: tuple[str, ...] = ()
    multiply_adds: Size = 0
    rows: Rows | None = None

    @property
    def reads(self) -> tuple[int, ...]:
        return self.operands[: len(self.operands) - self.n_outputs]

    @property
    def writes(self) -> tuple[int, ...]:
        return self.operands[len(self.operands) - self.n_outputs :]


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
    """Set sizes during a run: ``symbols[k]`` becomes ``sizes[k]``.

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

    Steps that read the checked value come later in the program; no operand says so.

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
class Draw:
    """Write to ``target`` the key and number of a draw, from which random numbers follow.

    Draws stay in their order: each has the next number.

    Attributes
    ----------
    target : int
        Tensor id, ``u32[4]``.
    seed : int or None
        The key (64 bits) of a node that has one; None: the context's.
    name : str
        Name of the model's node.
    """

    target: int
    seed: int | None = None
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
class Slide:
    """Move the rows of a line buffer that are still read to its beginning.

    Attributes
    ----------
    tensor : int
        Tensor id.
    row_bytes : Size
    base : Path
        The row that lies at the tensor's first byte from this iteration on.
    made : Path
        The first row that is not there yet.
    name : str
        Name of the model's node whose result it is.
    images : Images
        Where each image begins, nothing stays.
    """

    tensor: int
    row_bytes: Size
    base: Path
    made: Path
    name: str = ""
    images: Images = Images()


@dataclass(frozen=True, slots=True)
class Store:
    """Write a size to a tensor, for a loop whose number of iterations follows from the shapes.

    Attributes
    ----------
    target : int
        Tensor id (``i64``, one element).
    size : Size
    name : str
        Name of the model's node.
    """

    target: int
    size: Size
    name: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """Write rows of an input, from ``made.at(t)`` to ``made.at(t + 1)``, to its line buffer.

    Attributes
    ----------
    tensor : int
        Tensor id of the line buffer.
    source : int
        Tensor id of the input port; no other step reads it.
    row_bytes : int
        Of one of the planes.
    base : Path
        The row that lies at the tensor's first byte from this iteration on.
    made : Path
        The first row that is not there yet.
    name : str
        Name of the input.
    planes : int
        The input has so many planes one after the other; the line buffer has those of a row.
    images : Images
    """

    tensor: int
    source: int
    row_bytes: int
    base: Path
    made: Path
    name: str = ""
    planes: int = 1
    images: Images = Images()


@dataclass(frozen=True, slots=True)
class If:
    """The steps up to the matching `Else` are run if ``condition`` (``bool``) is true.

    If it is not, those from there to the matching `End` are.
    """

    condition: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Else:
    """The beginning of the other branch of an `If`."""

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
    over : tuple of int
        Empty, or two tensors: an image that the loop reads by bands, and a result that may begin
        ``overlap`` bytes before it in the same memory, if nothing reads the image behind the loop.
    overlap : int
    """

    counter: int
    limit: int | None = None
    condition: int | None = None
    name: str = ""
    over: tuple[int, ...] = ()
    overlap: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """The end of an `If` or a `Loop`."""

    name: str = ""


Step = Call | Load | Let | Check | Draw | Copy | Store | Slide | Feed | If | Else | Loop | End


#: The fields of each step that hold a tensor id, None, or a tuple of ids.
_TENSORS: dict[type, tuple[str, ...]] = {
    Call: ("operands", "workspace"),
    Load: ("source",),
    Check: ("condition",),
    Draw: ("target",),
    Copy: ("target", "source", "row"),
    Store: ("target",),
    Slide: ("tensor",),
    Feed: ("tensor", "source"),
    If: ("condition",),
    Loop: ("counter", "limit", "condition", "over"),
}


def operands_of(step: Step) -> tuple[int, ...]:
    """Every tensor that a step touches, its workspace included."""
    found: list[int] = []
    for name in _TENSORS.get(type(step), ()):
        value = getattr(step, name)
        if value is not None:
            found += value if isinstance(value, tuple) else [value]
    return tuple(found)


def ends_of(step: Step) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tensors whose data a step reads, and tensors that it writes."""
    match step:
        case Call():
            return step.reads, step.writes
        case Copy():
            return (step.source,), (step.target,)
        case Feed():
            return (step.source,), (step.tensor,)
        case Draw() | Store():
            return (), (step.target,)
        case Check():
            return (step.condition,), ()
    return (), ()


def with_operands(step: Step, number: Callable[[int], int]) -> Step:
    """`step` with every tensor id that it holds replaced by ``number`` of it."""
    changed: dict[str, Any] = {}
    for name in _TENSORS.get(type(step), ()):
        value = getattr(step, name)
        if value is not None:
            is_tuple = isinstance(value, tuple)
            changed[name] = tuple(map(number, value)) if is_tuple else number(value)
    return replace(step, **changed)
