"""Requests of fusion for kernels, and anchors: patterns of what kernels compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from tvm import relax
from tvm.relax.dpl import DFPattern, is_op, wildcard

from tvm_megcc.core.preference import DEFAULT, Preference
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
    preference : Preference
        The user's preference, read for operators whose arithmetic has an option.
    """

    def __init__(
        self,
        exprs: Mapping[str, relax.Expr],
        symbols: Symbols,
        preference: Preference = DEFAULT,
    ) -> None:
        super().__init__(exprs)
        self.symbols, self.preference = symbols, preference

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
        All attributes and facts in that header; type variables after `checked`.
    operands : mapping
        The inputs by their names there; a NumPy array is a new constant.
    """

    op: str
    facts: Mapping[str, Fact]
    operands: Mapping[str, relax.Expr | np.ndarray]

    def checked(self, value: relax.Expr, symbols: Symbols) -> Request:
        """Add the types of operands to the facts, and sort the inputs in kernel order.

        Parameters
        ----------
        value : Expr
            The kernel's result.
        symbols : Symbols
            The function's dims.

        Raises
        ------
        ValueError
            For a call that the operator does not allow: see `Contract.completed`.
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
        Its result; None: that of the anchor.
    """

    request: Request | None
    value: relax.Expr | None = None


def _tensor(operand: relax.Expr | np.ndarray, symbols: Symbols) -> Tensor:
    if isinstance(operand, np.ndarray):
        return Tensor(dtype_name(operand.dtype), operand.shape)
    return Tensor(dtype_of(operand), shape_of(operand, symbols))


@dataclass(frozen=True, slots=True)
class Anchor:
    """An operator that kernels compute, and the steps that they can add before they store.

    Attributes
    ----------
    name : str
    pattern : DFPattern
        Its calls, mostly one.
    parts : mapping
        Names of parts that ``build`` reads.
    build : callable
        Parts and epilogue -> a request, or None to decline.
    steps : tuple of Step
        Steps of the epilogue within one kernel call (`tvm_megcc.fuse.epilogue`).
    again : tuple of DFPattern
        Calls of the pattern that the kernel repeats: others may use their values, too.
    instead : callable, or None
        Parts and epilogue -> the kernel calls without this anchor, which is taken only if it costs
        fewer instructions. None: it is always taken.
    elementwise : bool
        Whether it must take a whole chain of elementwise operators: a longer chain is generated
        code, which passes over memory once.
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
        """Name of the operator of the pattern's last call."""
        return root_of(self.pattern)

    def others(self, parts: Parts, tail: Tail) -> list[Instead]:
        """Kernel calls without this anchor; none if it is always taken."""
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
