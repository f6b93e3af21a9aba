"""What fusion asks of the kernels, and the form in which Relax has what they compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from tvm import relax
from tvm.relax.dpl import DFPattern, is_op, wildcard

from tvm_megcc.dims import Size
from tvm_megcc.fuse.epilogue import Step, Tail
from tvm_megcc.fuse.graph import root_of
from tvm_megcc.kernels.contract import Tensor, contract
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.exprs import constant, dtype_name, dtype_of, shape_of
from tvm_megcc.relax_tools.shape_exprs import Symbols


class Parts(dict[str, relax.Expr]):
    """The expressions of an anchor by name; ``root`` is the call that gives its value.

    Attributes
    ----------
    symbols : Symbols
        The dims of the function around them.
    """

    def __init__(self, exprs: Mapping[str, relax.Expr], symbols: Symbols) -> None:
        super().__init__(exprs)
        self.symbols = symbols

    def shape_of(self, expr: relax.Expr) -> tuple[Size, ...] | None:
        """As `relax_tools.exprs.shape_of`."""
        return shape_of(expr, self.symbols)


Build = Callable[[Parts, Tail], "Request | None"]
Others = Callable[[Parts, Tail], "list[Instead]"]


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel call in the making.

    Attributes
    ----------
    op : str
        Kernel operator, a file ``codegen_c/include/op/<op>.h``.
    facts : mapping
        Everything that header lists, attributes and facts alike; the type variables once it is
        `checked`.
    operands : mapping
        The inputs by their names there; a NumPy array is a constant made here.
    """

    op: str
    facts: Mapping[str, Fact]
    operands: Mapping[str, relax.Expr | np.ndarray]

    def checked(self, value: relax.Expr, symbols: Symbols) -> Request:
        """The request with the types of its operands among the facts, inputs in kernel order.

        Parameters
        ----------
        value : Expr
            What the kernel will compute.
        symbols : Symbols
            The function's dims.

        Raises
        ------
        ValueError
            When it is no call of the operator: see `Contract.completed`.
        """
        known = contract(self.op)
        (result,) = known.outputs
        tensors = {name: _tensor(operand, symbols) for name, operand in self.operands.items()}
        facts = known.completed(self.facts, {**tensors, result.name: _tensor(value, symbols)})
        ordered = {o.name: self.operands[o.name] for o in known.inputs_of(facts)}
        return Request(self.op, facts, ordered)


@dataclass(frozen=True, slots=True)
class Instead:
    """A kernel call that would be made without an anchor.

    Attributes
    ----------
    request : Request, or None
        None where no kernel would be asked.
    value : Expr, or None
        What it computes; None: what the anchor does.
    """

    request: Request | None
    value: relax.Expr | None = None


def _tensor(operand: relax.Expr | np.ndarray, symbols: Symbols) -> Tensor:
    if isinstance(operand, np.ndarray):
        return Tensor(dtype_name(operand.dtype), operand.shape)
    return Tensor(dtype_of(operand), shape_of(operand, symbols))


@dataclass(frozen=True, slots=True)
class Anchor:
    """An operator that kernels compute, and what they can do to its value before they store it.

    Attributes
    ----------
    name : str
    pattern : DFPattern
        The calls that it is made of; most are one call.
    parts : mapping
        Names of what ``build`` reads.
    build : callable
        The parts, and what follows the operator -> a request, or None to decline.
    steps : tuple of Step
        What may follow it within one kernel call (`tvm_megcc.fuse.epilogue`).
    again : tuple of DFPattern
        Calls of the pattern that the kernel does for itself: others may use their values, too.
    instead : callable, or None
        The parts, and what follows the operator -> the kernel calls that would compute the same
        without this anchor, which is taken where it costs fewer instructions. None: always.
    elementwise : bool
        It is used only where it takes a whole chain of elementwise operators: a longer chain stays
        in one piece, which generated code computes in one pass over memory.
    """

    name: str
    pattern: DFPattern
    parts: Mapping[str, DFPattern]
    build: Build
    steps: tuple[Step, ...] = field(default=())
    again: tuple[DFPattern, ...] = ()
    instead: Others | None = None
    elementwise: bool = False

    @property
    def root(self) -> str:
        """Name of the operator whose call the pattern ends with."""
        return root_of(self.pattern)

    def others(self, parts: Parts, tail: Tail) -> list[Instead]:
        """What `instead` says; nothing where the anchor is taken always."""
        return [] if self.instead is None else self.instead(parts, tail)


def anchor_of(op: str, name: str, build: Build, elementwise: bool = False) -> Anchor:
    """The anchor of a single call of an operator, whose first operand `build` reads as ``x``."""
    x = wildcard()
    pattern = is_op(op)(x, varg_default_wildcard=True)
    return Anchor(name, pattern, {"x": x}, build, elementwise=elementwise)


def channel_vector(expr: relax.Expr | None, channels: Size) -> np.ndarray | None:
    """A constant that broadcasts along the last axis only, as ``[channels]``; else None."""
    array = constant(expr)
    if array is None or not isinstance(channels, int):
        return None
    if array.size == 1:
        return np.full(channels, array.reshape(-1)[0], array.dtype)
    if array.size == channels and array.ndim and array.shape[-1] == channels:
        return np.ascontiguousarray(array.reshape(-1))
    return None
